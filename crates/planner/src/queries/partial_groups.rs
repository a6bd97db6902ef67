//! GROUP BY .. WITH ROLLUP over groups instead of rows: what is sorted is one row for each group, made by a hash table.
//!
//! Invariant: each aggregate of several groups is what it is of all their rows, to the last digit. Called by `select_grouped`
//! where the rows are many.
use crate::planner::Planner;
use expression::{AggregateCall, Expr};
use plan::{Aggregate, AggregateColumn, Node, NodeKind};

/// Fewer rows are sorted as they are.
const ROWS_MIN: f64 = 1000.0;

impl Planner<'_> {
    /// The groups of `input` without ROLLUP, and the expressions and aggregates that roll them up; `None` where rows are needed.
    pub fn partial_groups(
        &self,
        input: &Node,
        groups: &[Expr],
        aggregates: &[AggregateCall],
        rows: f64,
    ) -> Option<(Node, Vec<Expr>, Vec<AggregateCall>)> {
        if input.estimate.rows < ROWS_MIN {
            return None;
        }
        let column = |position: usize, expr_type: &expression::ExprType| {
            let column = Expr::column(position, expr_type.column.clone());
            Expr { ty: expr_type.clone(), ..column }
        };
        let parts = aggregates.iter().enumerate();
        let parts = parts.map(|(at, call)| call.of_parts(column(groups.len() + at, &call.ty)));
        let rolled: Vec<AggregateCall> = parts.collect::<Option<_>>()?;
        let keys = groups.iter().enumerate().map(|(at, group)| column(at, &group.ty)).collect();
        let aggregate = Aggregate {
            input: Box::new(input.clone()),
            groups: groups.to_vec(),
            aggregates: aggregates.iter().map(|call| AggregateColumn { call: call.clone() }).collect(),
            carried: Vec::new(),
            ordered: false,
            single: false,
            rollup: false,
        };
        let width = groups.len() + aggregates.len();
        Some((Node::new(NodeKind::Aggregate(Box::new(aggregate)), width, rows), keys, rolled))
    }
}
