//! Subqueries of a bound block get their places in its frame, and the operators that fill them.
//!
//! A subquery in a branch that need not be evaluated gets a guard: what must hold for its value to be asked for.
use crate::queries::window::PlacedWindows;
use binder::block::{Block, PendingSubquery, Position, SubqueryPlan};
use binder::bound::BoundSelect;
use binder::walk::{any, for_each_operand_mut, has_subquery, is_volatile, replace, subquery_number};
use datum::ColumnType;
use expression::{Expr, ExprKind, TruthTest};
use plan::{Apply, Node, NodeKind};

/// The subqueries that have no position yet (those outside of WHERE), with their numbers.
pub fn pending_of(block: &Block) -> Vec<(usize, PendingSubquery)> {
    let waiting = block.subqueries.iter().enumerate().filter(|(_, subquery)| !subquery.placed);
    waiting.map(|(number, subquery)| (number, subquery.clone())).collect()
}

/// Gives each subquery in `exprs` a position in the block's frame and returns what fills them.
pub fn place_subqueries(block: &mut Block, exprs: Vec<&mut Expr>) -> Vec<Apply> {
    let mut placing = Placing { block, in_joins: false, applies: Vec::new(), places: Vec::new() };
    exprs.into_iter().for_each(|expr| placing.place_in(expr, &mut Vec::new()));
    placing.applies
}

/// The same for conditions of ON, whose values are found among the joins.
pub fn place_on_subqueries(block: &mut Block, exprs: Vec<&mut Expr>) {
    let mut placing = Placing { block, in_joins: true, applies: Vec::new(), places: Vec::new() };
    exprs.into_iter().for_each(|expr| placing.place_in(expr, &mut Vec::new()));
    let applies = placing.applies;
    block.on_applies.extend(applies);
}

/// The same for what is evaluated before rows are grouped; `others` may read the same subqueries.
pub fn place_before_groups(block: &mut Block, exprs: Vec<&mut Expr>, others: Vec<&mut Expr>) -> Vec<Apply> {
    let mut placing = Placing { block, in_joins: false, applies: Vec::new(), places: Vec::new() };
    exprs.into_iter().for_each(|expr| placing.place_in(expr, &mut Vec::new()));
    for other in others {
        replace(other, &mut |part| {
            let number = subquery_number(part)?;
            let (_, position) = placing.places.iter().find(|(known, _)| *known == number)?;
            Some(value_at(*position, part))
        });
    }
    placing.applies
}

struct Placing<'b> {
    block: &'b mut Block,
    in_joins: bool,
    applies: Vec<Apply>,
    /// (subquery, position).
    places: Vec<(usize, usize)>,
}

impl Placing<'_> {
    /// `guard`: what holds where the expression is evaluated.
    fn place_in(&mut self, expr: &mut Expr, guard: &mut Vec<Expr>) {
        if let Some(number) = subquery_number(expr) {
            let position = self.place(number, guard);
            let mut value = value_at(position, expr);
            value.ty.name = expr.ty.name.clone();
            *expr = value;
            return;
        }
        if !has_subquery(expr) {
            return;
        }
        let known = guard.len();
        match &mut expr.kind {
            ExprKind::Case { operand: None, whens, otherwise } => {
                for (when, then) in whens {
                    self.place_in(when, guard);
                    guard.push(test(TruthTest::True, when));
                    self.place_in(then, guard);
                    guard.pop();
                    guard.push(test(TruthTest::NotTrue, when));
                }
                if let Some(otherwise) = otherwise {
                    self.place_in(otherwise, guard);
                }
            }
            ExprKind::And(operands) => self.place_each(operands, TruthTest::NotFalse, guard),
            ExprKind::Or(operands) => self.place_each(operands, TruthTest::NotTrue, guard),
            ExprKind::Call(function, operands) if matches!(function.name, "coalesce" | "ifnull") => {
                self.place_each(operands, TruthTest::Null, guard);
            }
            _ => for_each_operand_mut(expr, &mut |operand| self.place_in(operand, guard)),
        }
        guard.truncate(known);
    }

    /// Operands of which the next one is evaluated only if the one before passes the test.
    fn place_each(&mut self, operands: &mut [Expr], passes: TruthTest, guard: &mut Vec<Expr>) {
        for operand in operands {
            self.place_in(operand, guard);
            guard.push(test(passes, operand));
        }
    }

    fn place(&mut self, number: usize, guard: &[Expr]) -> usize {
        if let Some((_, position)) = self.places.iter().find(|(known, _)| *known == number) {
            let position = *position;
            // Wanted in two places: found in any case.
            if let Some(apply) = self.applies.iter_mut().find(|apply| apply.position == position) {
                apply.guard.clear();
            }
            return position;
        }
        self.block.subqueries[number].placed = true;
        let mut subquery = self.block.subqueries[number].clone();
        // What it reads may be the value of another subquery, which is then found before.
        for (_, expr) in subquery.left.iter_mut().chain(&mut subquery.correlation) {
            self.place_in(expr, &mut guard.to_vec());
        }
        let read = subquery.left.iter().chain(&subquery.correlation);
        let sources = read.fold(0, |set, (_, expr)| set | self.block.sources_of(expr));
        self.block.frame.push(if self.in_joins {
            Position::OnSubquery { sources }
        } else {
            Position::Subquery
        });
        let position = self.block.frame.len() - 1;
        let is_steady = !guard.iter().any(|expr| any(expr, &is_volatile));
        let guard = if is_steady { guard.to_vec() } else { Vec::new() };
        self.applies.push(Apply { guard, ..apply_of(subquery, position) });
        self.places.push((number, position));
        position
    }
}

fn test(test: TruthTest, operand: &Expr) -> Expr {
    let kind = ExprKind::TruthTest(test, Box::new(operand.clone()));
    let mut expr = Expr { kind, ty: operand.ty.clone() };
    expr.ty.column = ColumnType::bigint().not_null();
    expr.as_truth()
}

/// The column that has a subquery's value.
fn value_at(position: usize, subquery: &Expr) -> Expr {
    let value = Expr::column(position, subquery.ty.column.clone());
    if subquery.ty.is_truth { value.as_truth() } else { value }
}

/// As `place_subqueries`, in the frame of the groups' results.
pub fn place_mapped(
    mut subqueries: Vec<(usize, PendingSubquery)>,
    base: usize,
    bound: &mut BoundSelect,
    windows: &mut PlacedWindows,
) -> Vec<Apply> {
    let numbers: Vec<usize> = subqueries.iter().map(|(number, _)| *number).collect();
    let mut replacement = |part: &Expr| {
        let number = subquery_number(part)?;
        let place = numbers.iter().position(|known| *known == number)?;
        Some(value_at(base + place, part))
    };
    for item in &mut bound.items {
        replace(&mut item.expr, &mut replacement);
    }
    for having in &mut bound.having {
        replace(having, &mut replacement);
    }
    for key in &mut bound.order_by {
        replace(&mut key.expr, &mut replacement);
    }
    windows.exprs_mut().into_iter().for_each(|expr| replace(expr, &mut replacement));
    for (_, subquery) in &mut subqueries {
        for (_, expr) in subquery.left.iter_mut().chain(&mut subquery.correlation) {
            replace(expr, &mut replacement);
        }
    }
    subqueries
        .into_iter()
        .enumerate()
        .map(|(place, (_, subquery))| apply_of(subquery, base + place))
        .collect()
}

fn apply_of(subquery: PendingSubquery, position: usize) -> Apply {
    let SubqueryPlan::Built { node: query, is_steady } = subquery.query else {
        unreachable!("the subqueries of a block are planned before they are placed")
    };
    Apply {
        // The input is set when the operator is stacked.
        input: Box::new(Node::new(NodeKind::Nothing, 0, 0.0)),
        query,
        kind: subquery.kind,
        left: subquery.left,
        position,
        correlation: subquery.correlation,
        guard: Vec::new(),
        is_steady,
    }
}
