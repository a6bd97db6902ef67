//! The system tables: `information_schema`, `performance_schema`, `mysql` and `sys` as virtual tables over an instance.
//!
//! The program joins them to its instance at start through [`join`]; nothing else names them. Rows are made when a
//! statement reads them, from what the instance and the catalog hold at that moment.
#![forbid(unsafe_code)]

mod accounts;
mod identifiers;
mod information_schema;
mod instance_table;
mod log_tables;
mod open_metrics;
mod performance_schema;
mod processes;
mod shape;
mod statistics;
mod status;
mod sys;
mod table;
mod values;
mod variables;
mod view;

use std::sync::{Arc, Weak};

use catalog::Catalog;
use instance::{Instance, SystemTables};

/// Every system table, and the reports that are no tables.
pub fn join(catalog: &Arc<Catalog>, instance: &Weak<Instance>) -> SystemTables {
    let stored = information_schema::all(catalog).into_iter();
    let stored = stored.map(|table| (catalog::INFORMATION_SCHEMA, table));
    let report = status::InnodbReport::default();
    let tables: Vec<_> = stored.chain(instance_table::all(instance)).collect();
    let mut definitions: Vec<_> = tables.iter().map(|(_, table)| table.definition().clone()).collect();
    definitions.sort_by(|left, right| (&left.database, &left.name).cmp(&(&right.database, &right.name)));
    catalog.set_system_tables(definitions);
    SystemTables {
        tables,
        open_metrics: Box::new(open_metrics::text),
        engine_status: Box::new(move |instance| report.text(instance)),
        deadlocks: Arc::new(status::DeadlockWitness::new(instance)),
    }
}
