//! `x IN (SELECT ..)` in WHERE as a join with the different values of the subquery, so that few of them can drive.
//!
//! Invariant: each row comes out as often as before: a value of the subquery is there once, and values that DISTINCT tells
//! apart are never equal to the same `x`. A subquery that reads the block around it stays what it is, and so does one in
//! a block that runs for each row of another. Called by `select_build` for the conditions with subqueries.
use crate::planner::Planner;
use binder::Switch;
use binder::block::{Block, Source, SourceColumn, SourceKind, SubqueryPlan};
use binder::bound::JoinTree;
use binder::walk::subquery_number;
use datum::{ColumnType, CompareMode, TypeKind};
use expression::{ComparisonOperator, Expr, ExprKind};
use plan::{ApplyKind, Node, NodeKind, Quantifier};

/// As many tables a block may have.
const SOURCES_MAX: usize = 61;

impl Planner<'_> {
    /// Takes the conditions out that become joins: adds their tables to the tree and gives the joins' conditions.
    pub fn join_subqueries(
        &self,
        block: &mut Block,
        tree: &mut Option<JoinTree>,
        conditions: &mut Vec<Expr>,
    ) -> Vec<Expr> {
        let mut joins = Vec::new();
        if self.builds_correlated || !self.context.switches.has(Switch::Semijoin) {
            return joins;
        }
        conditions.retain(|condition| {
            let Some(left) = tree.take() else { return true };
            match self.join_of(block, condition) {
                Some((source, join)) => {
                    joins.push(join);
                    let right = Box::new(JoinTree::Source(source));
                    *tree = Some(JoinTree::Inner {
                        left: Box::new(left),
                        right,
                        on: Vec::new(),
                        straight: false,
                    });
                    false
                }
                None => {
                    *tree = Some(left);
                    true
                }
            }
        });
        joins
    }

    fn join_of(&self, block: &mut Block, condition: &Expr) -> Option<(usize, Expr)> {
        let number = subquery_number(condition)?;
        let pending = &block.subqueries[number];
        let ApplyKind::Quantified { comparison, quantifier: Quantifier::Any } = &pending.kind else {
            return None;
        };
        let ExprKind::Compare(ComparisonOperator::Equal, mode, left, right) = &comparison.condition.kind
        else {
            return None;
        };
        let SubqueryPlan::Built { node: query, .. } = &pending.query else { return None };
        let (mode, column_type) = (*mode, right.ty.column.clone());
        let [(slot, value)] = pending.left.as_slice() else { return None };
        let is_plain = !pending.placed
            && pending.correlation.is_empty()
            && left.kind == ExprKind::Slot(*slot)
            && right.kind == ExprKind::Column(0)
            && tells_apart(&column_type, mode)
            && block.sources.len() < SOURCES_MAX
            && block.sources_of(value) != 0
            && !binder::walk::any(value, &binder::walk::is_volatile);
        if !is_plain {
            return None;
        }
        let (value, ty) = (value.clone(), comparison.condition.ty.clone());
        let query = (**query).clone();
        block.subqueries[number].placed = true;
        let (width, rows) = (query.width, query.estimate.rows);
        let keys = vec![Expr::column(0, column_type.clone())];
        let different = NodeKind::Distinct { input: Box::new(query), keys };
        let source = block.sources.len();
        block.sources.push(Source::made(
            format!("<subquery{}>", number + 2),
            vec![SourceColumn { name: String::new(), column_type, hidden: false, invisible: true }],
            SourceKind::Derived(Some(Box::new(Node::new(different, width, rows)))),
        ));
        let column = Box::new(block.column_expr(source, 0));
        let kind = ExprKind::Compare(ComparisonOperator::Equal, mode, Box::new(value), column);
        Some((source, Expr { kind, ty }))
    }
}

/// Whether different values of the type are different in comparisons by `mode` too.
pub fn tells_apart(column_type: &ColumnType, mode: CompareMode) -> bool {
    let kind = &column_type.kind;
    match mode {
        CompareMode::Integer => kind.is_integer(),
        CompareMode::Decimal => kind.is_integer() || matches!(kind, TypeKind::Decimal { .. }),
        CompareMode::Double => matches!(kind, TypeKind::Double { .. }),
        CompareMode::Text(collation) => column_type.is_text() && column_type.collation == collation,
        CompareMode::DateTime => matches!(kind, TypeKind::Date | TypeKind::DateTime { .. }),
        CompareMode::Date => *kind == TypeKind::Date,
        CompareMode::FixedReal(_) | CompareMode::Time | CompareMode::Json => false,
    }
}
