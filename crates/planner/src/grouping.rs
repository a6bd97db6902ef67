//! Grouped queries: expressions over the tables become expressions over the groups' results.
//!
//! The frame after aggregation: group expressions, aggregates, carried columns, subqueries' values.
use crate::block::{Block, Position, SourceKind};
use crate::walk::{aggregate_number, for_each_operand_mut, subquery_number};
use datum::{SqlError, SqlMode, error_code};
use expression::{ComparisonOperator, Expr, ExprKind};
use schema::IndexKind;

/// What decides how a column outside of GROUP BY is treated.
pub struct Grouping<'b> {
    pub block: &'b Block,
    pub groups: Vec<Expr>,
    pub aggregate_count: usize,
    /// Columns that get their value from a group's first row.
    pub carried: Vec<Expr>,
    /// Whether GROUP BY was written.
    pub explicit: bool,
    pub sql_mode: SqlMode,
    /// WHERE's conjuncts: a column equal to a constant is the same in all rows.
    pub conditions: &'b [Expr],
}

/// Where the expression being mapped stands, for messages.
#[derive(Clone, Copy)]
pub struct Place {
    pub number: usize,
    pub clause: &'static str,
}

impl Grouping<'_> {
    /// Rewrites `expr` from the tables' frame to the groups' frame; subqueries stay numbered slots.
    pub fn map(&mut self, expr: &mut Expr, place: Place) -> Result<(), SqlError> {
        if let Some(group) = self.groups.iter().position(|group| group.kind == expr.kind) {
            expr.kind = ExprKind::Column(group);
            return Ok(());
        }
        if let Some(number) = aggregate_number(expr) {
            expr.kind = ExprKind::Column(self.groups.len() + number);
            return Ok(());
        }
        if subquery_number(expr).is_some() {
            return Ok(());
        }
        if let ExprKind::Column(position) = expr.kind {
            self.check_bare_column(position, place)?;
            let carried = match self.carried.iter().position(|known| known.kind == expr.kind) {
                Some(carried) => carried,
                None => {
                    self.carried.push(expr.clone());
                    self.carried.len() - 1
                }
            };
            expr.kind = ExprKind::Column(self.groups.len() + self.aggregate_count + carried);
            return Ok(());
        }
        let mut result = Ok(());
        for_each_operand_mut(expr, &mut |operand| {
            if result.is_ok() {
                result = self.map(operand, place);
            }
        });
        result
    }

    /// The groups' frame without subqueries.
    pub fn width(&self) -> usize {
        self.groups.len() + self.aggregate_count + self.carried.len()
    }

    fn check_bare_column(&self, position: usize, place: Place) -> Result<(), SqlError> {
        if !self.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY) || self.is_determined(position) {
            return Ok(());
        }
        let name = self.full_name(position);
        if self.explicit {
            Err(error_code::ER_WRONG_FIELD_WITH_GROUP_V2.with(&[&place.number, &place.clause, &name]))
        } else {
            Err(error_code::ER_MIX_OF_GROUP_FUNC_AND_FIELDS.with(&[&place.number, &place.clause, &name]))
        }
    }

    fn full_name(&self, position: usize) -> String {
        match self.block.frame[position] {
            Position::Column { source, column } => {
                let source = &self.block.sources[source];
                let column = &source.columns[column].name;
                match source.database.is_empty() {
                    true => format!("{}.{column}", source.alias),
                    false => format!("{}.{}.{column}", source.database, source.alias),
                }
            }
            Position::RowKey { .. } | Position::Subquery => String::new(),
        }
    }

    /// Whether all rows of a group have the same value there: the column equals a constant, or its table's key is
    /// among the group expressions (or equal to one of them or to a constant).
    fn is_determined(&self, position: usize) -> bool {
        if self.is_fixed(position) {
            return true;
        }
        let Position::Column { source, .. } = self.block.frame[position] else { return true };
        let SourceKind::Stored { table, .. } = &self.block.sources[source].kind else { return false };
        table.indexes.iter().any(|index| {
            index.kind != IndexKind::Plain
                && !index.has_prefix_parts()
                && index.parts.iter().all(|part| {
                    let wanted = Position::Column { source, column: part.column };
                    let nullable = table.columns[part.column].nullable();
                    let placed = self.block.frame.iter().position(|position| *position == wanted);
                    !nullable && placed.is_some_and(|position| self.is_fixed(position))
                })
        })
    }

    /// A group expression, equal to a constant, or equal to a group expression by WHERE.
    fn is_fixed(&self, position: usize) -> bool {
        let is_group = |kind: &ExprKind| self.groups.iter().any(|group| group.kind == *kind);
        let column = ExprKind::Column(position);
        is_group(&column)
            || self.conditions.iter().any(|condition| match &condition.kind {
                ExprKind::Compare(ComparisonOperator::Equal, _, left, right) => {
                    let other = match (left.kind == column, right.kind == column) {
                        (true, _) => right,
                        (_, true) => left,
                        _ => return false,
                    };
                    crate::walk::is_row_independent(other) || is_group(&other.kind)
                }
                _ => false,
            })
    }
}
