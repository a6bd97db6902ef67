//! GROUP BY .. WITH ROLLUP over groups instead of rows: what is sorted is one row for each group, made by a hash table.
//!
//! Invariant: each aggregate of several groups is what it is of all their rows, to the last digit. Called by `select_grouped`
//! where the rows are many.
use crate::planner::Planner;
use expression::Expr;
use plan::{Aggregate, AggregateColumn, Node, NodeKind};

/// Fewer rows are sorted as they are.
const ROWS_MIN: f64 = 1000.0;

impl Planner<'_> {
    /// The groups of `rollup` over groups of its input without ROLLUP; `None` where rows are needed.
    pub fn partial_groups(&self, rollup: &Aggregate, rows: f64) -> Option<Aggregate> {
        let Aggregate { input, groups, aggregates, .. } = rollup;
        if !rollup.carried.is_empty() || input.estimate.rows < ROWS_MIN {
            return None;
        }
        let column = |position: usize, expr_type: &expression::ExprType| {
            let column = Expr::column(position, expr_type.column.clone());
            Expr { ty: expr_type.clone(), ..column }
        };
        let parts = aggregates.iter().enumerate();
        let parts =
            parts.map(|(at, AggregateColumn { call })| call.of_parts(column(groups.len() + at, &call.ty)));
        let parts = parts.map(|call| call.map(|call| AggregateColumn { call }));
        let rolled: Vec<AggregateColumn> = parts.collect::<Option<_>>()?;
        let keys = groups.iter().enumerate().map(|(at, group)| column(at, &group.ty)).collect();
        let aggregate = Aggregate {
            input: input.clone(),
            groups: groups.clone(),
            aggregates: aggregates.clone(),
            carried: Vec::new(),
            ordered: false,
            single: false,
            rollup: false,
        };
        let width = groups.len() + aggregates.len();
        let input = Box::new(Node::new(NodeKind::Aggregate(Box::new(aggregate)), width, rows));
        Some(Aggregate { input, groups: keys, aggregates: rolled, carried: Vec::new(), ..*rollup })
    }
}
