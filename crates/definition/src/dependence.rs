//! What depends on a column: generated columns, defaults, index parts and constraints that read it.
//!
//! None of them follows a column to another name, so a column that is read can neither be dropped nor renamed while its
//! readers stay. ALTER TABLE asks here; `TableDraft::finish` asks whether what is read may be.
use datum::{SqlError, error_code};
use schema::{ColumnDefault, Generation, ReferentialAction};

use super::conditions::*;
use super::draft::{TableDraft, same_name};
use super::row_expression::{Purpose, columns_read};

impl TableDraft {
    /// Drops the constraints that read the dropped column alone.
    pub(crate) fn drop_checks_of(&mut self, column: &str) {
        self.checks.retain(|check| {
            let read = columns_read(&check.definition.condition);
            !matches!(read.as_slice(), [only] if same_name(only, column))
        });
    }

    /// Error for a column that goes or gets another name while something reads it. `gone` are the names that the
    /// statement takes away.
    pub(crate) fn check_not_read(&self, gone: &[String]) -> Result<(), SqlError> {
        let missing = |text: &str| {
            let read = columns_read(text);
            gone.iter().find(|name| read.iter().any(|read| same_name(read, name)))
        };
        for check in &self.checks {
            if let Some(name) = missing(&check.definition.condition) {
                return Err(ER_DEPENDENT_BY_CHECK_CONSTRAINT.with(&[&check.definition.name, name]));
            }
        }
        for column in &self.columns {
            let definition = &column.definition;
            if let Some(name) = definition.generated.as_ref().and_then(|made| missing(&made.expression)) {
                return Err(match definition.hidden {
                    true => ER_DEPENDENT_BY_FUNCTIONAL_INDEX.with(&[name]),
                    false => error_code::ER_DEPENDENT_BY_GENERATED_COLUMN.with(&[name]),
                });
            }
            if let ColumnDefault::Expression { text } = &definition.default
                && let Some(name) = missing(text)
            {
                return Err(ER_DEPENDENT_BY_DEFAULT_GENERATED_VALUE.with(&[name, &self.name]));
            }
        }
        Ok(())
    }

    /// Checks which columns the expressions of columns read.
    pub(crate) fn finish_column_expressions(&self) -> Result<(), SqlError> {
        for (position, column) in self.columns.iter().enumerate() {
            match (&column.definition.generated, &column.definition.default) {
                (Some(made), _) => self.check_generated(position, made)?,
                (None, ColumnDefault::Expression { text }) => self.check_default(position, text)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Errors 3104, 3733 and 1215: what foreign keys do by themselves has to leave stored generated columns right.
    pub(crate) fn check_foreign_key_actions(&self) -> Result<(), SqlError> {
        for key in self.foreign_keys.iter().filter(|key| !key.exists) {
            for (column, definition) in key
                .columns
                .iter()
                .filter_map(|name| Some((name, &self.columns[self.column_position(name)?].definition)))
            {
                if definition.is_virtual() {
                    return Err(ER_FK_CANNOT_USE_VIRTUAL_COLUMN.with(&[&key.name, column]));
                }
                let clause = match (key.on_update, key.on_delete) {
                    (ReferentialAction::Cascade, _) => "ON UPDATE CASCADE",
                    (ReferentialAction::SetNull, _) => "ON UPDATE SET NULL",
                    (_, ReferentialAction::SetNull) => "ON DELETE SET NULL",
                    _ => "",
                };
                if definition.generated.is_some() && !clause.is_empty() {
                    return Err(ER_WRONG_FK_OPTION_FOR_GENERATED_COLUMN.with(&[&clause]));
                }
                let acts = key.on_update.changes_children() || key.on_delete.changes_children();
                if acts && self.is_read_by_stored(column) {
                    return Err(error_code::ER_CANNOT_ADD_FOREIGN.plain());
                }
            }
        }
        Ok(())
    }

    fn is_read_by_stored(&self, column: &str) -> bool {
        let stored = self.columns.iter().filter_map(|other| other.definition.generated.as_ref());
        stored
            .filter(|generated| generated.stored)
            .any(|generated| columns_read(&generated.expression).iter().any(|read| same_name(read, column)))
    }

    fn check_generated(&self, position: usize, made: &Generation) -> Result<(), SqlError> {
        let own = &self.columns[position].definition;
        let purpose = if own.hidden { Purpose::IndexPart } else { Purpose::Generated };
        for name in columns_read(&made.expression) {
            let at = self.column_position(&name);
            let at = at.ok_or_else(|| purpose.unknown_column(&own.name, &name))?;
            let read = &self.columns[at].definition;
            if read.auto_increment {
                return Err(match own.hidden {
                    true => ER_FUNCTIONAL_INDEX_REF_AUTO_INCREMENT.with(&[&index_of_part(&own.name)]),
                    false => ER_GENERATED_COLUMN_REF_AUTO_INC.with(&[&own.name]),
                });
            }
            if read.generated.is_some() && at >= position && !own.hidden {
                return Err(error_code::ER_GENERATED_COLUMN_NON_PRIOR.plain());
            }
        }
        Ok(())
    }

    fn check_default(&self, position: usize, text: &str) -> Result<(), SqlError> {
        let own = &self.columns[position].definition;
        for name in columns_read(text) {
            let at = self.column_position(&name);
            let at = at.ok_or_else(|| Purpose::Default.unknown_column(&own.name, &name))?;
            let read = &self.columns[at].definition;
            if read.auto_increment {
                return Err(ER_DEFAULT_VAL_GENERATED_REF_AUTO_INC.with(&[&own.name]));
            }
            let is_made =
                read.generated.is_some() || matches!(read.default, ColumnDefault::Expression { .. });
            if is_made && at >= position {
                return Err(ER_DEFAULT_VAL_GENERATED_NON_PRIOR.with(&[&own.name]));
            }
        }
        Ok(())
    }
}

/// The index that a hidden column is a part of.
fn index_of_part(hidden: &str) -> String {
    hidden.split('!').nth(2).unwrap_or_default().to_owned()
}
