//! CHECK constraints of CREATE and ALTER TABLE: their words, their names, the columns they read.
use catalog::NAME_LENGTH_MAX;
use datum::{SqlError, error_code};
use parser::ast::{CheckConstraint, Ident};
use schema::{CheckDef, ReferentialAction};

use super::conditions::*;
use super::draft::{DefinitionContext, TableDraft, same_name};
use super::row_expression::{Purpose, columns_read, text_of};
use crate::draft::CheckDraft;

/// A constraint of the table, or of one column of it. One without a name gets the next number at once: its errors tell
/// the name.
pub fn add_check(
    check: &CheckConstraint<'_>,
    column: Option<Ident<'_>>,
    draft: &mut TableDraft,
    context: &DefinitionContext<'_>,
) -> Result<(), SqlError> {
    let name = match check.constraint {
        Some(name) if !name.name.is_empty() => {
            if name.name.chars().count() > NAME_LENGTH_MAX {
                return Err(error_code::ER_TOO_LONG_IDENT.with(&[&name.name]));
            }
            name.name.to_owned()
        }
        _ => {
            draft.check_number += 1;
            CheckDef::generated_name(&draft.name, draft.check_number)
        }
    };
    let condition = text_of(&check.expr, Purpose::Check, &name, context)?;
    let definition = CheckDef { name, condition, enforced: check.enforced };
    draft.checks.push(CheckDraft { definition, column: column.map(|column| column.name.to_owned()) });
    Ok(())
}

/// The last number among the names that the server made for the table's constraints.
pub fn last_number(checks: &[CheckDef], table: &str) -> u32 {
    checks.iter().filter_map(|check| check.generated_number(table)).max().unwrap_or(0)
}

impl TableDraft {
    pub fn check_position(&self, name: &str) -> Option<usize> {
        self.checks.iter().position(|check| same_name(&check.definition.name, name))
    }

    /// Checks names and columns of the constraints.
    pub(crate) fn finish_checks(&self) -> Result<(), SqlError> {
        for (position, check) in self.checks.iter().enumerate() {
            let name = &check.definition.name;
            if self.check_position(name) != Some(position) {
                return Err(ER_CHECK_CONSTRAINT_DUP_NAME.with(&[name]));
            }
            for read in columns_read(&check.definition.condition) {
                if check.column.as_ref().is_some_and(|own| !same_name(own, &read)) {
                    return Err(ER_COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN.with(&[name]));
                }
                let at = self.column_position(&read);
                let at = at.ok_or_else(|| Purpose::Check.unknown_column(name, &read))?;
                let column = &self.columns[at].definition;
                if column.auto_increment {
                    return Err(ER_CHECK_CONSTRAINT_REFERS_AUTO_INCREMENT_COLUMN.with(&[name]));
                }
                self.check_no_action_on(&column.name, name)?;
            }
        }
        Ok(())
    }

    /// Error 3823: what a foreign key changes by itself cannot be checked.
    fn check_no_action_on(&self, column: &str, check: &str) -> Result<(), SqlError> {
        for key in &self.foreign_keys {
            let acts = key.on_update.changes_children()
                || matches!(key.on_delete, ReferentialAction::SetNull | ReferentialAction::SetDefault)
                || key.on_update == ReferentialAction::SetDefault;
            if acts && key.columns.iter().any(|own| same_name(own, column)) {
                return Err(ER_CHECK_CONSTRAINT_CLAUSE_USING_FK_REFER_ACTION_COLUMN
                    .with(&[&column, &check, &key.name]));
            }
        }
        Ok(())
    }
}
