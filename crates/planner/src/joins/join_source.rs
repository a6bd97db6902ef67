//! How one more table is connected to rows of others: by look-ups, or through a hash table.
//!
//! Called by `join_order` and `join_left` with the way that `join_cost` prefers.
use crate::joins::join_parts::{equality_sides, positions_of};
use crate::paths::choice::Choice;
use crate::planner::Planner;
use binder::block::{Block, SourceKind};
use binder::walk::{any, is_volatile};
use datum::SqlError;
use expression::Expr;
use plan::{HashJoin, JoinKind, NestedLoop, Node, NodeKind};

/// How one more table is connected; `hash` also where its path could look rows up.
pub struct Way {
    pub choice: Choice,
    pub hash: bool,
    /// The outer rows come in an order that is wanted.
    pub ordered: bool,
    /// The rows so far are what the hash table keeps.
    pub keeps_outer: bool,
    /// Without an equality the inner rows are kept, and all of them compared with each outer row.
    pub keeps_all: bool,
    /// The join is run again and again for rows that it reads nothing of for its hash table.
    pub keeps_table: bool,
    /// Nothing is gained by a hash table, since there is one row at most.
    pub once: bool,
}

/// Outer rows that may be needed for one of the result.
const ROWS_FOR_ONE: f64 = 10.0;

impl Planner<'_> {
    /// Of how many rows of the outer side the inner one is asked: no more than a LIMIT needs.
    pub fn rows_wanted(&self, block: &Block, outer: &Node) -> f64 {
        let rows = outer.rows_passing();
        block.row_goal.map_or(rows, |goal| rows.min(goal * ROWS_FOR_ONE))
    }

    /// Connects one more table: by lookups when its access path reads values of the tables before it, else by a hash
    /// table over an equality, else by comparing each row with all of it, which is kept or read again.
    #[expect(clippy::too_many_arguments, reason = "the parts of one join, used once")]
    pub fn join_source(
        &mut self,
        block: &mut Block,
        outer: Node,
        source: usize,
        Way { choice, hash, keeps_outer, keeps_all, keeps_table, ordered, once }: Way,
        conditions: Vec<Expr>,
        before: u64,
        kind: JoinKind,
    ) -> Result<Node, SqlError> {
        let own = 1u64 << source;
        let rows = outer.rows_passing() * choice.rows_out.max(if kind == JoinKind::Left { 1.0 } else { 0.0 });
        let inner_positions = positions_of(block, own);
        let width = block.frame.len();
        let keeps_all = keeps_all && hash && !once;
        let hash = !once && (hash || !choice.reads_outer) && self.hashes(block, own);
        let (equalities, rest): (Vec<Expr>, Vec<Expr>) = conditions
            .into_iter()
            .partition(|condition| hash && equality_sides(block, condition, before, own).is_some());
        if equalities.is_empty() && !keeps_all {
            let inner = self.access_node(block, source, choice, rest)?;
            let join = NestedLoop {
                outer: Box::new(outer),
                inner: Box::new(inner),
                kind,
                on: Vec::new(),
                inner_positions,
            };
            return Ok(Node::new(NodeKind::NestedLoop(Box::new(join)), width, rows));
        }
        let (inner_only, on): (Vec<Expr>, Vec<Expr>) =
            rest.into_iter().partition(|condition| block.sources_of(condition) & !own == 0);
        let choice = self.choose(block, source, &inner_only, 0, None);
        let is_stored = matches!(block.sources[source].kind, SourceKind::Stored { .. });
        let differs = inner_only.iter().any(|condition| any(condition, &is_volatile));
        let inner = self.access_node(block, source, choice, inner_only)?;
        let (mut outer_keys, mut inner_keys) = (Vec::new(), Vec::new());
        let mut modes = Vec::new();
        for condition in equalities {
            let (outer_key, inner_key, mode) =
                equality_sides(block, &condition, before, own).expect("partitioned by this");
            outer_keys.push(outer_key);
            inner_keys.push(inner_key);
            modes.push(mode);
        }
        let mut join = HashJoin {
            outer: Box::new(outer),
            inner: Box::new(inner),
            kind,
            outer_keys,
            inner_keys,
            modes,
            on,
            inner_positions,
            keeps_order: ordered,
            keeps_table: keeps_table && is_stored && !differs,
        };
        if keeps_outer && !join.outer_keys.is_empty() {
            join.keeps_table = false;
            std::mem::swap(&mut join.outer, &mut join.inner);
            std::mem::swap(&mut join.outer_keys, &mut join.inner_keys);
            join.inner_positions = (0..width).filter(|at| !join.inner_positions.contains(at)).collect();
        }
        Ok(Node::new(NodeKind::HashJoin(Box::new(join)), width, rows))
    }
}
