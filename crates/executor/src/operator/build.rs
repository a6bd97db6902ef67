//! From plan nodes to operators.
use super::Operator;
use super::aggregate::AggregateRows;
use super::apply::ApplyRows;
use super::common_table::KeptScan;
use super::derived::DerivedScan;
use super::distinct::DistinctRows;
use super::filter::FilterRows;
use super::hash_join::HashJoinRows;
use super::initialise::InitialiseRows;
use super::json_table::JsonTableRows;
use super::limit::LimitRows;
use super::measured::MeasuredRows;
use super::nested_loop::NestedLoopRows;
use super::project::ProjectRows;
use super::recursive::RecursiveRows;
use super::row_source::{BaseRow, NoRow, ValueRows};
use super::set_difference::SetDifferenceRows;
use super::sort::SortRows;
use super::table_scan::TableScan;
use super::union::UnionRows;
use super::virtual_scan::VirtualScan;
use super::window::WindowRows;
use plan::{Node, NodeKind};

/// The operator tree borrows the plan.
pub fn build(node: &Node) -> Box<dyn Operator + '_> {
    let width = node.width;
    match &node.kind {
        NodeKind::Dual => Box::new(BaseRow::new(width)),
        NodeKind::Nothing => Box::new(NoRow),
        NodeKind::Values { rows } => Box::new(ValueRows::new(rows)),
        NodeKind::Table(access) => Box::new(TableScan::new(access)),
        NodeKind::Virtual(access) => Box::new(VirtualScan::new(access)),
        NodeKind::Derived { input, projection, filter, .. } => {
            Box::new(DerivedScan::new(input, projection, filter))
        }
        NodeKind::JsonTable(table) => Box::new(JsonTableRows::new(table)),
        NodeKind::Lateral(lateral) => Box::new(DerivedScan::lateral(lateral)),
        NodeKind::Common(table) => Box::new(KeptScan::of_table(table)),
        NodeKind::Round(round) => Box::new(KeptScan::of_round(round)),
        NodeKind::Recursive(recursive) => Box::new(RecursiveRows::new(recursive)),
        NodeKind::Filter { input, predicates } => Box::new(FilterRows::new(build(input), predicates)),
        NodeKind::Project { input, expressions } => Box::new(ProjectRows::new(input, expressions)),
        NodeKind::Sort { input, keys, limit } => Box::new(SortRows::new(input, keys, limit.as_ref())),
        NodeKind::Limit { input, count, offset } => {
            Box::new(LimitRows::new(build(input), width, count, offset.as_ref()))
        }
        NodeKind::Distinct { input, keys } => Box::new(DistinctRows::new(build(input), keys)),
        NodeKind::Aggregate(aggregate) => Box::new(AggregateRows::new(aggregate, width)),
        NodeKind::Window(window) => Box::new(WindowRows::new(window)),
        NodeKind::Measured { input, measure } => Box::new(MeasuredRows::new(input, measure)),
        NodeKind::NestedLoop(join) => Box::new(NestedLoopRows::new(join, width)),
        NodeKind::HashJoin(join) => Box::new(HashJoinRows::new(join, width)),
        NodeKind::UnionAll { inputs } => Box::new(UnionRows::new(inputs)),
        NodeKind::SetDifference { left, right, intersect, all, left_keys, right_keys } => {
            let rows = Box::new(SetDifferenceRows::new(left, right, *intersect, *all, left_keys, right_keys));
            if *all { rows } else { Box::new(DistinctRows::new(rows, left_keys)) }
        }
        NodeKind::Apply(apply) => Box::new(ApplyRows::new(apply)),
        NodeKind::Initialise(initialise) => Box::new(InitialiseRows::new(initialise)),
    }
}
