//! DISTINCT beside GROUP BY and ORDER BY: when it says nothing, and which keys of ORDER BY it allows. Called while a block's
//! ORDER BY is bound, before its rows are grouped.
use crate::binder::Binder;
use crate::bound::SelectItem;
use crate::walk::has_aggregate;
use datum::{SqlError, SqlMode, error_code};
use expression::{Expr, ExprKind};
use parser::ast;

/// Groups are distinct when all that they are told apart by is selected; without GROUP BY there is one.
pub fn are_distinct(items: &[SelectItem], groups: Option<&[Expr]>, rollup: bool) -> bool {
    let is_item = |expr: &Expr| items.iter().any(|item| item.expr.kind == expr.kind);
    match groups {
        Some(groups) => !rollup && groups.iter().all(is_item),
        None => items.iter().any(|item| has_aggregate(&item.expr)),
    }
}

impl<'p> Binder<'p> {
    /// Errors 3065 and 3066 for a key that equal rows of the select list may disagree on: it has to be an item, or to be
    /// made of selected columns and aliases. What subqueries take is checked when they are placed.
    pub fn check_order_of_distinct(
        &mut self,
        number: usize,
        written: &ast::Expr<'p>,
        key: &Expr,
        items: &[SelectItem],
    ) -> Result<(), SqlError> {
        let is_forbidden = self.context.bind.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY);
        if !is_forbidden || items.iter().any(|item| item.expr.kind == key.kind) {
            return Ok(());
        }
        // Of the block's own: an aggregate of a query around it has one value here.
        if has_aggregate(key) && writes_aggregate(written) {
            return Err(error_code::ER_AGGREGATE_IN_ORDER_NOT_SELECT.with(&[
                &number,
                &"ORDER BY clause",
                &"DISTINCT",
            ]));
        }
        let is_named =
            |item: &SelectItem| item.is_alias && any_written(written, &|part| names(part, &item.name));
        let is_given = |item: &&SelectItem| matches!(item.expr.kind, ExprKind::Column(_)) || is_named(item);
        let given: Vec<&Expr> = items.iter().filter(is_given).map(|item| &item.expr).collect();
        let block = self.block();
        let mut unselected = None;
        find_outside(key, &given, &mut |part| {
            unselected = unselected.take().or_else(|| block.column_behind(part));
        });
        match unselected {
            Some((source, column)) => Err(error_code::ER_FIELD_IN_ORDER_NOT_SELECT.with(&[
                &number,
                &"ORDER BY clause",
                &block.sources[source].dotted_name(column),
                &"DISTINCT",
            ])),
            None => Ok(()),
        }
    }
}

/// Visits the parts of `expr` that are in none of `given`.
fn find_outside(expr: &Expr, given: &[&Expr], visit: &mut dyn FnMut(&Expr)) {
    // Whose value it is does not matter.
    let is_any = matches!(&expr.kind, ExprKind::Call(function, _) if function.name == "any_value");
    if is_any || given.iter().any(|given| given.kind == expr.kind) {
        return;
    }
    visit(expr);
    crate::walk::for_each_operand(expr, &mut |operand| find_outside(operand, given, visit));
}

/// Whether an aggregate stands in it, outside of ANY_VALUE.
fn writes_aggregate(expr: &ast::Expr<'_>) -> bool {
    if let ast::ExprKind::Aggregate(aggregate) = &expr.kind {
        return aggregate.kind != ast::AggregateKind::AnyValue;
    }
    let mut found = false;
    expr.for_each_operand(&mut |operand| found = found || writes_aggregate(operand));
    found
}

fn any_written(expr: &ast::Expr<'_>, test: &dyn Fn(&ast::Expr<'_>) -> bool) -> bool {
    let mut found = test(expr);
    expr.for_each_operand(&mut |operand| found = found || any_written(operand, test));
    found
}

/// Whether this is the name by itself.
fn names(part: &ast::Expr<'_>, name: &str) -> bool {
    match part.kind {
        ast::ExprKind::Column(reference) => {
            reference.qualifier.is_none() && crate::same_name::same_name(reference.name, name)
        }
        _ => false,
    }
}
