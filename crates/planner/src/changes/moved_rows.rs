//! Rows that an UPDATE moves along the key it reads by, which it would meet again.
//!
//! Invariant: a plan that may do so collects its rows before the first change, whether the statement gives the new values
//! or a trigger does. Called while an UPDATE is planned, and by who knows the triggers once it is.
use plan::{AccessPath, Node, NodeKind, UpdatePlan};
use schema::{TableDef, TableId};

/// Takes it into account that triggers give these columns of the table's rows new values.
pub fn heed_trigger_values(plan: &mut UpdatePlan, table: TableId, columns: &[usize]) {
    let is_assigned = |column: usize| columns.contains(&column);
    for target in plan.targets.iter_mut().filter(|target| target.table.id == table) {
        plan.collect_first |= reads_assigned(&plan.input, &target.table, &is_assigned);
        target.is_seen &= !moves_rows(&target.table, &is_assigned);
    }
}

/// Whether rows get new clustered keys.
pub(crate) fn moves_rows(table: &TableDef, is_assigned: &dyn Fn(usize) -> bool) -> bool {
    let index = table.clustering_index();
    index.is_some_and(|index| index.parts.iter().any(|part| is_assigned(part.column)))
}

/// Whether the input walks along a key that the statement itself moves rows in: they could be met twice.
pub(crate) fn reads_assigned(node: &Node, table: &TableDef, is_assigned: &dyn Fn(usize) -> bool) -> bool {
    let assigned = |column: usize| {
        table.columns[column].on_update_current_timestamp
            || table.columns[column].generated.is_some()
            || is_assigned(column)
    };
    let clustered = || {
        let index = table.clustering_index();
        index.is_some_and(|index| index.parts.iter().any(|part| assigned(part.column)))
    };
    match &node.kind {
        NodeKind::Table(access) => match &access.path {
            AccessPath::Nothing => false,
            // One row by its own key; of another index the entry that comes in its place is behind it.
            AccessPath::Point { index, .. } if table.clustered_by == Some(table.indexes[*index].id) => false,
            AccessPath::FullScan => clustered(),
            AccessPath::IndexScan { index }
            | AccessPath::Ranges { index, .. }
            | AccessPath::Point { index, .. } => {
                clustered() || table.indexes[*index].parts.iter().any(|part| assigned(part.column))
            }
            AccessPath::Groups { .. }
            | AccessPath::Skip { .. }
            | AccessPath::Merge(_)
            | AccessPath::Keys { .. } => true,
        },
        NodeKind::Filter { input, .. } | NodeKind::Limit { input, .. } => {
            reads_assigned(input, table, is_assigned)
        }
        // These have read all their input before the first row comes out.
        NodeKind::Sort { .. } | NodeKind::Nothing => false,
        _ => true,
    }
}
