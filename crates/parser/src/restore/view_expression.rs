//! Parts of expressions that MySQL writes in another way in the definition of a view: windows, and tests of queries.
use super::Restorer;
use super::expression::{operator_text, unit_text};
use crate::ast::{
    Aggregate, BinaryOperator, Expr, ExprKind, FrameBound, FrameUnit, OrderItem, Quantifier, Query,
    WindowFrame, WindowSpecification,
};
use std::fmt::Result;

impl Restorer<'_, '_, '_> {
    /// EXISTS, IN and comparisons with the rows of a query, or the opposite.
    pub fn query_test(&mut self, expr: &Expr<'_>, is_denied: bool) -> Result {
        let negated = match &expr.kind {
            ExprKind::Exists(query) => {
                self.text("exists")?;
                self.operand_query(query, true)?;
                is_denied
            }
            ExprKind::InSubquery { negated, operand, query } => {
                self.in_query(operand, query)?;
                *negated != is_denied
            }
            ExprKind::Quantified(test) => match (test.operator, test.quantifier) {
                (BinaryOperator::Equal, Quantifier::Any) => {
                    self.in_query(test.left, test.query)?;
                    is_denied
                }
                (BinaryOperator::NotEqual, Quantifier::All) => {
                    self.in_query(test.left, test.query)?;
                    !is_denied
                }
                _ => {
                    self.expr(test.left)?;
                    self.text(" ")?;
                    self.text(operator_text(test.operator))?;
                    self.text(if test.quantifier == Quantifier::Any { " any " } else { " all " })?;
                    self.operand_query(test.query, false)?;
                    is_denied
                }
            },
            _ => return self.expr(expr),
        };
        if negated { self.text(" is false") } else { Ok(()) }
    }

    fn in_query(&mut self, operand: &Expr<'_>, query: &Query<'_>) -> Result {
        self.expr(operand)?;
        self.text(" in ")?;
        self.operand_query(query, false)
    }

    /// `count(*)` is kept as `count(0)`.
    pub fn view_count(&mut self, aggregate: &Aggregate<'_>) -> Result {
        self.text("0)")?;
        aggregate.over.as_ref().map_or(Ok(()), |over| self.over(over))
    }

    /// ORDER BY inside of an aggregate.
    pub fn aggregate_order(&mut self, items: &[OrderItem<'_>]) -> Result {
        if self.view().is_none() || items.is_empty() {
            return self.order_by(items);
        }
        self.text(" order by ")?;
        self.separated(",", items, |restorer, item| {
            restorer.expr(&item.expr)?;
            restorer.text(if item.descending { " DESC" } else { " ASC" })
        })
    }

    pub fn view_window(&mut self, specification: &WindowSpecification<'_>) -> Result {
        self.text("(")?;
        if let Some(base) = specification.base {
            self.name(base.name)?;
            self.text(" ")?;
        }
        if !specification.partition_by.is_empty() {
            self.text("PARTITION BY ")?;
            self.exprs(specification.partition_by)?;
            self.text(" ")?;
        }
        if !specification.order_by.is_empty() {
            self.text("ORDER BY ")?;
            self.separated(",", specification.order_by, |restorer, item| {
                restorer.expr(&item.expr)?;
                restorer.text(if item.descending { " desc" } else { "" })
            })?;
            self.text(" ")?;
        }
        if let Some(frame) = &specification.frame {
            self.view_frame(frame)?;
        }
        self.text(") ")
    }

    fn view_frame(&mut self, frame: &WindowFrame<'_>) -> Result {
        self.text(match frame.unit {
            FrameUnit::Rows => "ROWS ",
            FrameUnit::Range => "RANGE ",
            FrameUnit::Groups => "GROUPS ",
        })?;
        self.text("BETWEEN ")?;
        self.view_bound(&frame.start)?;
        self.text(" AND ")?;
        self.view_bound(frame.end.as_ref().unwrap_or(&FrameBound::CurrentRow))
    }

    fn view_bound(&mut self, bound: &FrameBound<'_>) -> Result {
        let (amount, unit, word) = match bound {
            FrameBound::CurrentRow => return self.text("CURRENT ROW"),
            FrameBound::UnboundedPreceding => return self.text("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => return self.text("UNBOUNDED FOLLOWING"),
            FrameBound::Preceding { amount, unit } => (amount, unit, " PRECEDING"),
            FrameBound::Following { amount, unit } => (amount, unit, " FOLLOWING"),
        };
        if unit.is_some() {
            self.text("INTERVAL ")?;
        }
        self.expr(amount)?;
        if let Some(unit) = unit {
            self.text(" ")?;
            self.text(unit_text(*unit))?;
        }
        self.text(word)
    }
}
