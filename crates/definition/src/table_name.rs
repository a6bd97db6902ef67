//! The full name of a table, as statements of data definition pass it around.
use catalog::LockName;
use schema::{ForeignKeyDef, TableDef, ViewDef};

/// A table's full name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableName {
    pub database: String,
    pub name: String,
}

impl TableName {
    /// The table of this descriptor.
    pub fn of(table: &TableDef) -> TableName {
        TableName { database: table.database.clone(), name: table.name.clone() }
    }

    pub fn of_view(view: &ViewDef) -> TableName {
        TableName { database: view.database.clone(), name: view.name.clone() }
    }

    /// The table that the key references.
    pub fn parent_of(key: &ForeignKeyDef) -> TableName {
        TableName { database: key.parent_database.clone(), name: key.parent_table.clone() }
    }

    /// The metadata lock of the table.
    pub fn lock(&self) -> LockName {
        LockName::Table(self.database.as_str().into(), self.name.as_str().into())
    }

    /// The metadata lock of its database.
    pub fn database_lock(&self) -> LockName {
        LockName::Database(self.database.as_str().into())
    }

    /// As error messages name it.
    pub fn dotted(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }
}
