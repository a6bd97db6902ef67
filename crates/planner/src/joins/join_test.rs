//! Semijoins and antijoins in a block's joins: for each row by look-ups, through a hash table of all that could match, or
//! (semijoins) with the different values of the inner side as a table that can drive.
//!
//! Called by `join_order` once the tables are there that the conditions of a match read. The cheapest way is taken.
use crate::joins::build::Build;
use crate::joins::costs::rows_left;
use crate::joins::hash_side::is_self_contained;
use crate::joins::join_list::{Item, JoinList, Test};
use crate::joins::join_parts::equality_sides;
use crate::planner::Planner;
use crate::price::price;
use crate::queries::nodes::project;
use crate::rewrites::semijoin::tells_apart;
use binder::Switch;
use binder::block::{Block, Source, SourceColumn, SourceKind};
use datum::SqlError;
use expression::{ComparisonOperator, Expr, ExprKind};
use plan::{JoinKind, NestedLoop, Node, NodeKind};

/// Plans are made with each of so many semijoins driving, and without.
pub const DRIVING_MAX: usize = 4;

/// A row of an inner side that is locked is not locked for nothing, unless that is so much cheaper, or look-ups lock
/// about as many.
const LOCKED_GAIN: f64 = 10.0;
const LOCKED_MORE: f64 = 2.0;
/// So few rows are always looked up where they are locked.
const LOCKED_FEW: f64 = 1000.0;

impl Planner<'_> {
    /// Whether all tables are there that a match is looked for with.
    pub fn is_test_ready(&self, block: &Block, test: &Test, placed: u64) -> bool {
        let own = test.inner.sources();
        let is_missing = |condition: &Expr| block.sources_of(condition) & !(placed | own) != 0;
        !test.on.iter().any(is_missing) && !test.inner.any_condition(&is_missing)
    }

    /// Keeps the rows with a match, or without one.
    pub fn place_test(&mut self, block: &mut Block, build: &mut Build, test: Test) -> Result<(), SqlError> {
        let outer = build.node.take().expect("a semijoin's left side comes first");
        let own = test.inner.sources();
        let rows = outer.rows_passing();
        let kind = if test.anti { JoinKind::Anti } else { JoinKind::Semi };
        let before = build.placed;
        let hashed = self.hashed_side(block, &outer, (&test.inner, &test.on), build, kind)?;
        let mut looked_block = block.clone();
        let mut list = test.inner.clone();
        list.conditions.extend(test.on.iter().cloned());
        let (inner, _) = self.plan_list(&mut looked_block, list, before, None)?;
        let looked_rows = rows * rows_read(&inner);
        let join = NestedLoop {
            outer: Box::new(outer),
            inner: Box::new(inner),
            kind,
            on: Vec::new(),
            inner_positions: Vec::new(),
        };
        let looked = Node::new(NodeKind::NestedLoop(Box::new(join)), block.frame.len(), rows_left(rows));
        let is_locked = |source: usize| block.sources[source].lock.is_some();
        let locks = (0..block.sources.len()).any(|source| own >> source & 1 == 1 && is_locked(source));
        let gain = |hashed: &Node| {
            let hashed_rows = inner_of(hashed).map_or(f64::INFINITY, rows_read);
            let locks_more = looked_rows < LOCKED_FEW || hashed_rows > looked_rows * LOCKED_MORE;
            if locks && locks_more { LOCKED_GAIN } else { 1.0 }
        };
        build.node = Some(match hashed {
            Some((hashed, hashed_block)) if price(&hashed) * gain(&hashed) < price(&looked) => {
                *block = hashed_block;
                hashed
            }
            _ => {
                *block = looked_block;
                looked
            }
        });
        build.placed |= own;
        Ok(())
    }

    /// The list with the values of one of its semijoins as a table, and the block that has this table; `None` where a row
    /// could find several of these values.
    pub fn with_driving(
        &mut self,
        block: &Block,
        list: &JoinList,
        place: usize,
    ) -> Result<Option<(Block, JoinList)>, SqlError> {
        let Item::Test(test) = &list.items[place] else { return Ok(None) };
        let own = test.inner.sources();
        let mut block = block.clone();
        let (mut pairs, mut inner_only) = (Vec::new(), Vec::new());
        for condition in &test.on {
            if block.sources_of(condition) & !own == 0 {
                inner_only.push(condition.clone());
                continue;
            }
            let Some((outer, inner, mode)) = equality_sides(&block, condition, !own, own) else {
                return Ok(None);
            };
            if !tells_apart(&inner.ty.column, mode) {
                return Ok(None);
            }
            pairs.push((outer, inner, mode, condition.ty.clone()));
        }
        let reads_outer = |condition: &Expr| block.sources_of(condition) & !own != 0;
        let switches = &self.context.switches;
        let keeps_values = [Switch::Materialization, Switch::LooseScan, Switch::DuplicateWeedout];
        if test.anti
            || !keeps_values.into_iter().any(|switch| switches.has(switch))
            || pairs.is_empty()
            || block.sources.len() >= crate::rewrites::merge::SOURCES_MAX
            || test.inner.any_condition(&reads_outer)
            || !is_self_contained(&block, own)
        {
            return Ok(None);
        }
        let mut inner = test.inner.clone();
        inner.conditions.extend(inner_only);
        let (node, _) = self.plan_cheapest(&mut block, inner, None)?;
        let rows = node.rows_passing();
        let node = project(node, pairs.iter().map(|(_, inner, ..)| inner.clone()).collect());
        let column =
            |(at, (_, inner, ..)): (usize, &(Expr, Expr, _, _))| Expr::column(at, inner.ty.column.clone());
        let keys: Vec<Expr> = pairs.iter().enumerate().map(column).collect();
        let width = keys.len();
        let columns = keys.iter().map(|key| SourceColumn {
            name: String::new(),
            column_type: key.ty.column.clone(),
            hidden: false,
            invisible: true,
        });
        let columns = columns.collect();
        let different = Node::new(NodeKind::Distinct { input: Box::new(node), keys }, width, rows);
        let source = block.sources.len();
        block.sources.push(Source::made(
            format!("<subquery{}>", source + 1),
            columns,
            SourceKind::Derived(Some(Box::new(different))),
        ));
        let mut list = list.clone();
        list.items[place] = Item::Source(source);
        for (column, (outer, _, mode, ty)) in pairs.into_iter().enumerate() {
            let value = Box::new(block.column_expr(source, column));
            let kind = ExprKind::Compare(ComparisonOperator::Equal, mode, Box::new(outer), value);
            list.conditions.push(Expr { kind, ty });
        }
        Ok(Some((block, list)))
    }
}

/// The inner side of a hash join.
fn inner_of(node: &Node) -> Option<&Node> {
    match &node.kind {
        NodeKind::HashJoin(join) => Some(&join.inner),
        _ => None,
    }
}

/// The rows of tables that one run reads, and locks if they are locked.
fn rows_read(node: &Node) -> f64 {
    match &node.kind {
        NodeKind::NestedLoop(join) => {
            rows_read(&join.outer) + join.outer.rows_passing() * rows_read(&join.inner)
        }
        NodeKind::HashJoin(join) => rows_read(&join.outer) + rows_read(&join.inner),
        NodeKind::Filter { input, .. } => rows_read(input),
        NodeKind::Apply(apply) => rows_read(&apply.input),
        _ => node.estimate.rows,
    }
}
