//! `column IS NULL` in WHERE of a DATE or DATETIME column that is NOT NULL: it finds `0000-00-00`, as the manual's
//! chapter on comparison operators tells.
//!
//! Invariant: as in MySQL only conjuncts of WHERE that name the column itself are read so: not ON, HAVING, parts of an OR or
//! columns of a view or query that becomes part of the block. Called where a statement's or view's WHERE is bound.
use crate::binder::Binder;
use crate::block::{Clause, Position, SourceKind};
use crate::walk::split_conjuncts;
use datum::{ColumnType, Date, DateTime, SqlError, TypeKind, Value};
use expression::{ComparisonOperator, Expr, ExprKind, TruthTest};
use parser::ast;

impl<'p> Binder<'p> {
    /// The conjuncts of the WHERE of the innermost block.
    pub fn bind_where(&mut self, filter: Option<&ast::Expr<'p>>) -> Result<Vec<Expr>, SqlError> {
        self.block().clause = Some(Clause::Where);
        let bound = filter.map(|filter| self.bind(filter)).transpose()?;
        if let Some(error) = self.block().on_error.take() {
            return Err(error);
        }
        let conjuncts = bound.map(split_conjuncts).unwrap_or_default();
        conjuncts.into_iter().map(|conjunct| self.with_zero_date(conjunct)).collect()
    }

    fn with_zero_date(&self, conjunct: Expr) -> Result<Expr, SqlError> {
        let Some(column) = asked_for_null(&conjunct) else { return Ok(conjunct) };
        let kind = column.ty.column.kind.clone();
        let zero = match kind {
            TypeKind::Date => Value::Date(Date::ZERO),
            TypeKind::DateTime { .. } => Value::DateTime(DateTime::ZERO),
            _ => return Ok(conjunct),
        };
        let Some(is_optional) = self.named_not_null(column) else { return Ok(conjunct) };
        let bind = &self.context.bind;
        let zero = Expr::literal(zero, ColumnType::new(kind).not_null());
        let is_zero = bind.compare(ComparisonOperator::Equal, column.clone(), zero)?;
        if is_optional { bind.or(vec![is_zero, conjunct]) } else { Ok(is_zero) }
    }

    /// Whether rows may lack the column's table, if the expression is a NOT NULL column of a table, or of a query that
    /// stays one, of any block.
    fn named_not_null(&self, expr: &Expr) -> Option<bool> {
        let (block, position) = match expr.kind {
            ExprKind::Column(position) => (self.blocks.last()?, position),
            ExprKind::Slot(slot) => self.blocks.iter().find_map(|block| {
                let (_, outer) = block.correlations.last()?.iter().find(|(number, _)| *number == slot)?;
                let ExprKind::Column(position) = outer.kind else { return None };
                Some((block, position))
            })?,
            _ => return None,
        };
        let Position::Column { source, column } = *block.frame.get(position)? else { return None };
        let source = &block.sources[source];
        let is_merged = match &source.kind {
            SourceKind::Query(query) => query.merges,
            SourceKind::Common(common) => {
                common.query().is_some_and(|query| self.merges(&query, &source.alias))
            }
            _ => source.origin.is_inner,
        };
        let is_nullable = source.columns[column].column_type.nullable;
        (!is_merged && !is_nullable).then_some(source.optional)
    }
}

/// The operand of `operand IS NULL` and `NOT operand IS NOT NULL`.
fn asked_for_null(condition: &Expr) -> Option<&Expr> {
    match &condition.kind {
        ExprKind::TruthTest(TruthTest::Null, operand) => Some(operand),
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::TruthTest(TruthTest::NotNull, operand) => Some(operand),
            _ => None,
        },
        _ => None,
    }
}
