//! `t JOIN u ON t.a = u.x OR t.b = u.y` as one join for each arm of the OR, so that each has an equality to look rows up by, or for
//! the keys of a hash table.
//!
//! Invariant: two rows that several arms join come out once: of the first arm that is true for them. Called by `join_order` for
//! lists of plain tables whose plan is not cheap; the cheaper plan is taken.
use crate::joins::join_list::{Item, JoinList};
use crate::joins::join_parts::{equality_sides, is_late};
use crate::planner::Planner;
use crate::price::price;
use binder::block::{Block, SourceKind};
use binder::walk::{any, is_volatile, split_conjuncts};
use expression::{Expr, ExprKind, TruthTest};
use plan::{Node, NodeKind};

/// A plan that costs less is not compared with others.
const CHEAP: f64 = 500.0;
/// An OR of more arms stays one condition.
const ARMS_MAX: usize = 4;

impl Planner<'_> {
    /// The plan with a join for each arm, if an OR connects tables and that is cheaper.
    pub fn joined_by_arms(&mut self, block: &Block, list: &JoinList, plain: &Node) -> Option<Node> {
        if price(plain) < CHEAP || self.builds_correlated || block.row_goal.is_some() || list.straight {
            return None;
        }
        let is_plain = |item: &Item| match item {
            Item::Source(source) => {
                let source = &block.sources[*source];
                matches!(source.kind, SourceKind::Stored { .. }) && source.lock.is_none()
            }
            _ => false,
        };
        let differs = |condition: &Expr| is_late(block, condition) || any(condition, &is_volatile);
        if list.items.len() < 2 || !list.items.iter().all(is_plain) || list.any_condition(&differs) {
            return None;
        }
        let place = list.conditions.iter().position(|condition| connects_by_arms(block, condition))?;
        let mut rest = list.clone();
        let or = rest.conditions.remove(place);
        let ExprKind::Or(arms) = &or.kind else { return None };
        let mut inputs = Vec::with_capacity(arms.len());
        for (number, arm) in arms.iter().enumerate() {
            let mut list = rest.clone();
            list.conditions.extend(split_conjuncts(arm.clone()));
            list.conditions.extend(arms[..number].iter().map(|before| not_true(before, &or)));
            let mut block = block.clone();
            let width = block.frame.len();
            let (node, _) = self.plan_list(&mut block, list, 0, None).ok()?;
            if block.frame.len() != width {
                return None;
            }
            inputs.push(node);
        }
        let rows = inputs.iter().map(Node::rows_passing).sum();
        let node = Node::new(NodeKind::UnionAll { inputs }, block.frame.len(), rows);
        (price(&node) < price(plain)).then_some(node)
    }
}

/// Whether each arm of an OR has an equality between two of the tables.
fn connects_by_arms(block: &Block, condition: &Expr) -> bool {
    let ExprKind::Or(arms) = &condition.kind else { return false };
    let set = block.sources_of(condition);
    let is_edge = |part: &Expr| {
        let sources = (0..block.sources.len()).map(|source| 1u64 << source);
        let mut own = sources.filter(|own| set & own != 0);
        own.any(|own| equality_sides(block, part, set & !own, own).is_some())
    };
    let connects = |arm: &Expr| match &arm.kind {
        ExprKind::And(parts) => parts.iter().any(is_edge),
        _ => is_edge(arm),
    };
    (2..=ARMS_MAX).contains(&arms.len()) && set.count_ones() >= 2 && arms.iter().all(connects)
}

/// The arm is false or unknown.
fn not_true(arm: &Expr, or: &Expr) -> Expr {
    let test = ExprKind::TruthTest(TruthTest::NotTrue, Box::new(arm.clone()));
    Expr { kind: test, ty: or.ty.clone() }
}
