//! CHECK constraints in data definition: names that are unique in a database, and rows that are there already. The names that
//! follow a table when it is renamed are looked at here too, those of foreign keys among them.
use std::collections::BTreeSet;
use std::sync::Arc;

use catalog::RowRule;
use datum::{SqlError, error_code};
use definition::{ER_CHECK_CONSTRAINT_DUP_NAME, newly_enforced};
use executor::check_row;
use plan::RowRules;
use schema::TableDef;

use crate::caller::Caller;

impl Caller<'_> {
    /// Error 3822: names of CHECK constraints are unique in their database. `before` is the table as it was.
    pub(crate) fn check_check_names(
        &self,
        before: Option<&TableDef>,
        after: &TableDef,
    ) -> Result<(), SqlError> {
        if after.checks.is_empty() {
            return Ok(());
        }
        for other in self.instance().catalog().tables(&after.database) {
            let other = other.definition();
            if before.is_some_and(|before| before.id == other.id) {
                continue;
            }
            for check in &after.checks {
                if other.checks.iter().any(|taken| taken.name.eq_ignore_ascii_case(&check.name)) {
                    return Err(ER_CHECK_CONSTRAINT_DUP_NAME.with(&[&check.name]));
                }
            }
        }
        Ok(())
    }

    /// Errors 1826 and 3822 of names that follow their tables: they are unique in their database when all tables have their new names.
    pub(super) fn check_renamed_constraints(
        &self,
        changed: &[(Arc<TableDef>, TableDef)],
    ) -> Result<(), SqlError> {
        let databases: BTreeSet<&str> = changed.iter().map(|(_, after)| after.database.as_str()).collect();
        for database in databases {
            let stays = |id| !changed.iter().any(|(before, _)| before.id == id);
            let present = self.instance().catalog().tables(database);
            let others = present.iter().map(|table| &**table.definition()).filter(|table| stays(table.id));
            let renamed = changed.iter().map(|(_, after)| after).filter(|after| after.database == database);
            let tables: Vec<&TableDef> = renamed.chain(others).collect();
            let keys = tables.iter().flat_map(|table| table.foreign_keys.iter().map(|key| key.name.as_str()));
            if let Some(name) = repeated(keys) {
                return Err(error_code::ER_FK_DUP_NAME.with(&[&name]));
            }
            let checks = tables.iter().flat_map(|table| table.checks.iter().map(|check| check.name.as_str()));
            if let Some(name) = repeated(checks) {
                return Err(ER_CHECK_CONSTRAINT_DUP_NAME.with(&[&name]));
            }
        }
        Ok(())
    }

    /// What tells rows that break constraints which are new, or enforced from now on, if there are such constraints.
    pub(crate) fn new_rule(
        &self,
        before: &TableDef,
        after: &Arc<TableDef>,
    ) -> Result<Option<Box<RowRule<'static>>>, SqlError> {
        let names: Vec<&str> = newly_enforced(before, after).map(|check| check.name.as_str()).collect();
        if names.is_empty() {
            return Ok(None);
        }
        let Some(rules) = self.row_rules(after)? else { return Ok(None) };
        let checks = rules.checks.iter().filter(|check| names.contains(&check.name.as_str()));
        let rules =
            RowRules { generated: Vec::new(), checks: checks.cloned().collect(), ..RowRules::default() };
        let context = self.change_context();
        Ok(Some(Box::new(move |row| check_row(&rules, row, &context))))
    }
}

/// The first name that comes twice, in whatever letters.
fn repeated<'n>(names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let mut seen = BTreeSet::new();
    let mut names = names;
    names.find(|name| !seen.insert(name.to_ascii_lowercase()))
}
