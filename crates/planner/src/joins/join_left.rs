//! Outer joins: how the inner side is connected to the rows before it. Called by `join_order`.
use crate::joins::build::{Build, take_covered};
use crate::joins::join_list::{Item, JoinList};
use crate::joins::join_parts::{is_late, positions_of};
use crate::joins::join_source::Way;
use crate::joins::or_parts::add_parts;
use crate::planner::Planner;
use crate::price::price;
use binder::block::Block;
use datum::SqlError;
use expression::Expr;
use plan::{JoinKind, NestedLoop, Node, NodeKind};

impl Planner<'_> {
    pub fn place_left(
        &mut self,
        block: &mut Block,
        build: &mut Build,
        mut inner: JoinList,
        on: Vec<Expr>,
    ) -> Result<(), SqlError> {
        let outer = build.node.take().expect("the left side of an outer join is placed first");
        let inner_sources = inner.sources();
        let before = build.placed;
        let node = match inner.items.as_slice() {
            [Item::Source(source)]
                if !inner.conditions.iter().chain(&on).any(|condition| is_late(block, condition)) =>
            {
                let source = *source;
                let mut conditions = std::mem::take(&mut inner.conditions);
                conditions.extend(on);
                add_parts(block, &mut conditions, 1 << source);
                let connection = self.connection(block, source, &conditions, before);
                let hash = connection.prefers_hash(self.rows_wanted(block, &outer));
                let keeps_all = !build.is_inner && connection.keeps_all;
                let (choice, ordered, once) = (connection.choice, build.ordered, build.is_one_row());
                let keeps_table = build.is_inner && !self.builds_correlated;
                let way = Way { choice, hash, keeps_outer: false, keeps_all, keeps_table, ordered, once };
                self.join_source(block, outer, source, way, conditions, before, JoinKind::Left)?
            }
            _ => {
                let hashed = match self.may_keep_list(block, inner_sources) {
                    true => self.hashed_side(block, &outer, (&inner, &on), build, JoinKind::Left)?,
                    false => None,
                };
                let mut looked_block = block.clone();
                let looked = self.looked_up_list(&mut looked_block, outer, inner, on, before)?;
                let (node, planned) = match hashed {
                    Some(hashed) if price(&hashed.0) < price(&looked) => hashed,
                    _ => (looked, looked_block),
                };
                *block = planned;
                node
            }
        };
        build.placed |= inner_sources;
        let usable = take_covered(block, build);
        build.node = Some(crate::queries::nodes::filter(node, usable));
        Ok(())
    }

    /// Whether the rows of the sources may be read once, before it is known which of them are needed.
    fn may_keep_list(&self, block: &Block, sources: u64) -> bool {
        let is_locked = |source: usize| block.sources[source].lock.is_some();
        block.row_goal.is_none()
            && !(0..block.sources.len()).any(|source| sources >> source & 1 == 1 && is_locked(source))
    }

    /// The inner side joined again for each row.
    fn looked_up_list(
        &mut self,
        block: &mut Block,
        outer: Node,
        mut inner: JoinList,
        on: Vec<Expr>,
        before: u64,
    ) -> Result<Node, SqlError> {
        let (inner_sources, rows) = (inner.sources(), outer.estimate.rows);
        inner.conditions.extend(on);
        let (inner, _) = self.plan_list(block, inner, before, None)?;
        let join = NestedLoop {
            outer: Box::new(outer),
            inner: Box::new(inner),
            kind: JoinKind::Left,
            on: Vec::new(),
            inner_positions: positions_of(block, inner_sources),
        };
        Ok(Node::new(NodeKind::NestedLoop(Box::new(join)), block.frame.len(), rows))
    }
}
