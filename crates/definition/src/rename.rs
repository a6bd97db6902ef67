//! RENAME: the names of tables pair by pair, and what follows a name.
use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::{Catalog, check_index_name};
use datum::{SqlError, error_code};
use schema::{CheckDef, TableDef, ViewDef, generated_name, generated_number};

use super::table_name::TableName;

/// The names of tables and views while RENAME works through its pairs.
#[derive(Default)]
pub struct Names {
    /// New name of a table or view, or `None` for a name that has become free.
    present: BTreeMap<TableName, Option<Renamed>>,
}

#[derive(Clone)]
enum Renamed {
    Table(Arc<TableDef>),
    View(Arc<ViewDef>),
}

impl Names {
    fn find(&self, catalog: &Catalog, name: &TableName) -> Option<Renamed> {
        if let Some(definition) = self.present.get(name) {
            return definition.clone();
        }
        match catalog.table(&name.database, &name.name) {
            Some(handle) => Some(Renamed::Table(handle.definition().clone())),
            None => catalog.view(&name.database, &name.name).map(Renamed::View),
        }
    }

    /// One pair.
    pub fn rename(&mut self, catalog: &Catalog, from: &TableName, to: &TableName) -> Result<(), SqlError> {
        // MySQL looks at the new name first.
        if self.find(catalog, to).is_some() {
            return Err(error_code::ER_TABLE_EXISTS_ERROR.with(&[&to.name]));
        }
        let Some(definition) = self.find(catalog, from) else {
            catalog.require_database(&from.database)?;
            return Err(error_code::ER_NO_SUCH_TABLE.with(&[&from.database, &from.name]));
        };
        catalog.require_database(&to.database)?;
        if matches!(definition, Renamed::View(_)) && from.database != to.database {
            return Err(error_code::ER_FORBID_SCHEMA_CHANGE.with(&[&from.database, &to.database]));
        }
        self.present.insert(from.clone(), None);
        self.present.insert(to.clone(), Some(definition));
        Ok(())
    }

    /// The views under their new names.
    pub fn moved_views(&self) -> Vec<(TableName, Arc<ViewDef>)> {
        let view = |(name, renamed): (&TableName, &Option<Renamed>)| match renamed {
            Some(Renamed::View(view)) => Some((name.clone(), view.clone())),
            _ => None,
        };
        self.present.iter().filter_map(view).collect()
    }

    /// The tables under their new names.
    pub fn moved(self) -> Vec<(TableName, Arc<TableDef>)> {
        let table = |(name, renamed): (TableName, Option<Renamed>)| match renamed {
            Some(Renamed::Table(table)) => Some((name, table)),
            _ => None,
        };
        self.present.into_iter().filter_map(table).collect()
    }
}

/// The constraints of a table that is made like another: all get names of the server.
pub fn checks_like(source: &TableDef, name: &str) -> Vec<CheckDef> {
    let mut checks = source.checks.clone();
    checks.sort_by_key(|check| check.name.to_lowercase());
    for (position, check) in checks.iter_mut().enumerate() {
        check.name = CheckDef::generated_name(name, position as u32 + 1);
    }
    checks
}

/// Tables take other names: `to` says which. The keys of `table` follow their parents, and names of keys and
/// constraints that were generated from the table's own name follow that; error 1059 where they become too long.
pub fn follow_renames(
    table: &mut TableDef,
    to: impl Fn(&TableName) -> Option<TableName>,
) -> Result<(), SqlError> {
    let own = to(&TableName::of(table));
    for key in &mut table.foreign_keys {
        if let Some(parent) = to(&TableName::parent_of(key)) {
            key.parent_database = parent.database;
            key.parent_table = parent.name;
        }
        if let Some(own) = &own
            && let Some(number) = generated_number(&key.name, &table.name)
        {
            key.name = generated_name(&own.name, number);
            check_index_name(&key.name)?;
        }
    }
    table.foreign_keys.sort_by_cached_key(|key| key.name.to_lowercase());
    if let Some(own) = own {
        for check in &mut table.checks {
            if let Some(number) = check.generated_number(&table.name) {
                check.name = CheckDef::generated_name(&own.name, number);
                check_index_name(&check.name)?;
            }
        }
        table.database = own.database;
        table.name = own.name;
    }
    Ok(())
}
