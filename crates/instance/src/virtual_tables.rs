//! The virtual tables of `information_schema`, `performance_schema` and `mysql`, by name.
use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::canonical_database;
use schema::VirtualTable;

pub struct VirtualTables {
    /// By database and upper-case name: the names of `information_schema` ignore case.
    tables: BTreeMap<(&'static str, String), Arc<dyn VirtualTable>>,
}

impl VirtualTables {
    pub fn new(tables: Vec<(&'static str, Arc<dyn VirtualTable>)>) -> VirtualTables {
        let keyed = tables
            .into_iter()
            .map(|(database, table)| ((database, table.definition().name.to_uppercase()), table));
        VirtualTables { tables: keyed.collect() }
    }

    pub fn find(&self, database: &str, name: &str) -> Option<Arc<dyn VirtualTable>> {
        let database = canonical_database(database);
        let key =
            self.tables.keys().find(|(of, table)| *of == database && table.eq_ignore_ascii_case(name))?;
        self.tables.get(key).cloned()
    }

    /// The tables of one database in the order of their names.
    pub fn of_database(&self, database: &str) -> Vec<Arc<dyn VirtualTable>> {
        let database = canonical_database(database);
        self.tables.iter().filter(|((of, _), _)| *of == database).map(|(_, table)| table.clone()).collect()
    }
}
