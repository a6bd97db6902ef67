//! Conditions on an expression that a generated column or an index part has: they become conditions on the column, whose
//! indexes then serve them.
//!
//! Only operands of comparisons are replaced, and only where the column compares as the expression does, so that no
//! result changes. Called for the conditions of every block before its access paths are chosen.
use crate::planner::Planner;
use binder::block::{Block, Position, SourceKind};
use datum::SqlError;
use expression::{Expr, ExprKind};
use schema::TableDef;
use std::sync::Arc;

/// A generated column that an index begins with or contains.
struct Candidate {
    source: usize,
    column: usize,
    /// Over the frame of the block.
    expr: Expr,
    /// It is the array of a multi-valued index.
    is_array: bool,
}

impl Planner<'_> {
    /// Lets conditions name generated columns in place of their expressions.
    pub fn use_generated_columns(&self, block: &mut Block, conditions: &mut [Expr]) -> Result<(), SqlError> {
        let tables: Vec<(usize, Arc<TableDef>)> = block
            .sources
            .iter()
            .enumerate()
            .filter_map(|(number, source)| match &source.kind {
                SourceKind::Stored { table, .. } => Some((number, table.clone())),
                _ => None,
            })
            .filter(|(_, table)| table.columns.iter().any(|column| column.generated.is_some()))
            .collect();
        for (source, table) in tables {
            for candidate in self.candidates(block, source, &table)? {
                for condition in &mut *conditions {
                    self.replace_operands(block, condition, &candidate);
                }
            }
        }
        Ok(())
    }

    fn candidates(
        &self,
        block: &mut Block,
        source: usize,
        table: &Arc<TableDef>,
    ) -> Result<Vec<Candidate>, SqlError> {
        let mut candidates = Vec::new();
        for (column, definition) in table.columns.iter().enumerate() {
            let is_indexed =
                table.indexes.iter().flat_map(|index| &index.parts).any(|part| part.column == column);
            if definition.generated.is_none() || !is_indexed {
                continue;
            }
            let bound = binder::bind_generated(column, table, self.catalog, self.context)?;
            let Some(mut expr) = bound else { continue };
            // What the statement never reads cannot be part of its conditions.
            let mut read = Vec::new();
            binder::walk::positions(&expr, &mut read);
            let is_read = |&column: &usize| block.frame.contains(&Position::Column { source, column });
            if !matches!(expr.kind, ExprKind::Column(_)) && !read.is_empty() && read.iter().all(is_read) {
                block.read_row_of(source, &mut expr);
                let is_array = definition.array_of.is_some();
                if !is_array || crate::paths::array_index::is_usable(block, source, column) {
                    candidates.push(Candidate { source, column, expr, is_array });
                }
            }
        }
        // Of several arrays of one document that which an index begins with is best.
        let leads = |column: usize| table.indexes.iter().any(|index| index.parts[0].column == column);
        candidates.sort_by_key(|candidate| !leads(candidate.column));
        Ok(candidates)
    }

    fn replace_operands(&self, block: &mut Block, condition: &mut Expr, candidate: &Candidate) {
        match &mut condition.kind {
            ExprKind::And(parts) | ExprKind::Or(parts) => {
                parts.iter_mut().for_each(|part| self.replace_operands(block, part, candidate));
            }
            _ if candidate.is_array => {
                let array = (candidate.source, candidate.column);
                self.use_array(block, condition, array, &candidate.expr);
            }
            ExprKind::TruthTest(_, operand) => self.replace(block, operand, candidate),
            ExprKind::Compare(_, _, left, right) => {
                self.replace(block, left, candidate);
                self.replace(block, right, candidate);
            }
            ExprKind::In { operand, .. }
            | ExprKind::Between { operand, .. }
            | ExprKind::Like { operand, .. } => self.replace(block, operand, candidate),
            _ => {}
        }
    }

    fn replace(&self, block: &mut Block, operand: &mut Expr, candidate: &Candidate) {
        let column_type = &block.sources[candidate.source].columns[candidate.column].column_type;
        let (from, to) = (&operand.ty.column, column_type);
        let compares_alike = from.kind.is_integer() && to.kind.is_integer()
            || from.kind.is_string() && to.kind.is_string() && from.collation == to.collation
            || std::mem::discriminant(&from.kind) == std::mem::discriminant(&to.kind) && !to.kind.is_string();
        if !compares_alike || !self.is_same(operand, &candidate.expr) {
            return;
        }
        let coercibility = operand.ty.coercibility;
        *operand = block.column_expr(candidate.source, candidate.column);
        operand.ty.coercibility = coercibility;
    }

    /// The same expression; literals of the statement may have become parameters, whose values then decide the plan.
    pub fn is_same(&self, written: &Expr, kept: &Expr) -> bool {
        let mut constants = Vec::new();
        if !has_same_shape(written, kept, &mut constants) {
            return false;
        }
        let bind = &self.context.bind;
        let is_equal =
            |(written, value): &(&Expr, &datum::Value)| bind.peek(written).as_ref() == Some(*value);
        if !constants.iter().all(is_equal) {
            return false;
        }
        constants.iter().for_each(|(written, _)| bind.decide_by(written));
        true
    }
}

/// Compares the trees; pairs of a constant that was written and the value that the kept expression has in its place come
/// into `constants`.
fn has_same_shape<'e>(
    written: &'e Expr,
    kept: &'e Expr,
    constants: &mut Vec<(&'e Expr, &'e datum::Value)>,
) -> bool {
    if let ExprKind::Literal(value) = &kept.kind {
        let is_constant = matches!(written.kind, ExprKind::Literal(_) | ExprKind::Parameter(_));
        constants.push((written, value));
        return is_constant && written.ty.column.kind == kept.ty.column.kind;
    }
    let (mut own, mut other) = (Vec::new(), Vec::new());
    binder::walk::for_each_operand(written, &mut |operand| own.push(operand));
    binder::walk::for_each_operand(kept, &mut |operand| other.push(operand));
    own.len() == other.len()
        && written.ty.column.kind == kept.ty.column.kind
        && written.ty.column.collation == kept.ty.column.collation
        && has_same_root(&written.kind, &kept.kind)
        && own.into_iter().zip(other).all(|(own, other)| has_same_shape(own, other, constants))
}

/// Whether the two do the same with their operands.
fn has_same_root(left: &ExprKind, right: &ExprKind) -> bool {
    use ExprKind::*;
    match (left, right) {
        (Column(left), Column(right)) => left == right,
        (TruthTest(left, _), TruthTest(right, _)) => left == right,
        (Compare(left, left_mode, ..), Compare(right, right_mode, ..)) => {
            left == right && left_mode == right_mode
        }
        (Arithmetic(left, ..), Arithmetic(right, ..)) => left == right,
        (Bit(left, ..), Bit(right, ..)) => left == right,
        (Call(left, _), Call(right, _)) => left == right,
        (
            DateAdd { unit: left, subtract: left_subtract, .. },
            DateAdd { unit: right, subtract: right_subtract, .. },
        ) => left == right && left_subtract == right_subtract,
        (Like { negated: left, .. }, Like { negated: right, .. }) => left == right,
        (
            Case { whens: left, operand: left_operand, .. },
            Case { whens: right, operand: right_operand, .. },
        ) => left.len() == right.len() && left_operand.is_some() == right_operand.is_some(),
        (And(_), And(_))
        | (Or(_), Or(_))
        | (Xor(..), Xor(..))
        | (Not(_), Not(_))
        | (Negate(_), Negate(_))
        | (BitNot(_), BitNot(_))
        | (CaseOperand, CaseOperand)
        | (Cast(_), Cast(_))
        | (Relabel(_), Relabel(_)) => true,
        _ => false,
    }
}
