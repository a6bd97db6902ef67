//! The virtual tables over the instance: their list, and what they have in common.
//!
//! Rows are made by a function of the instance and of who looks; each family of tables has a file.
use std::any::Any;
use std::sync::{Arc, Weak};

use catalog::{INFORMATION_SCHEMA, Viewer};
use datum::{SqlError, Value, error_code};
use instance::Instance;
use schema::{LocalFuture, TableDef, VirtualTable};

use crate::information_schema::shapes;
use crate::table::Table;
use crate::view::view_definition;
use crate::{accounts, identifiers, log_tables, processes, statistics, status, variables};
use crate::{information_schema, performance_schema, sys};

const PERFORMANCE_SCHEMA: &str = "performance_schema";

type Rows = Vec<Vec<Value>>;

/// What are views in MySQL: results are named as their columns are, in whichever case a statement names them.
const NAMED_BY_COLUMNS: &[&str] = &[
    "ADMINISTRABLE_ROLE_AUTHORIZATIONS",
    "COLUMNS_EXTENSIONS",
    "INNODB_DATAFILES",
    "INNODB_FIELDS",
    "INNODB_TABLESPACES_BRIEF",
    "JSON_DUALITY_VIEWS",
    "JSON_DUALITY_VIEW_COLUMNS",
    "JSON_DUALITY_VIEW_LINKS",
    "JSON_DUALITY_VIEW_TABLES",
    "KEYWORDS",
    "LIBRARIES",
    "RESOURCE_GROUPS",
    "ROUTINE_LIBRARIES",
    "SCHEMATA_EXTENSIONS",
    "ST_GEOMETRY_COLUMNS",
    "ST_SPATIAL_REFERENCE_SYSTEMS",
    "ST_UNITS_OF_MEASURE",
    "TABLESPACES_EXTENSIONS",
    "TABLES_EXTENSIONS",
    "TABLE_CONSTRAINTS_EXTENSIONS",
    "USER_ATTRIBUTES",
];

struct InstanceTable {
    definition: Arc<TableDef>,
    /// The instance owns the table, so the table cannot own the instance.
    instance: Weak<Instance>,
    rows: fn(&Instance, &Viewer) -> Rows,
    /// Error 1227 for who may not see the sessions of others.
    needs_process: bool,
    truncate: Option<fn(&Instance)>,
}

impl VirtualTable for InstanceTable {
    fn definition(&self) -> &Arc<TableDef> {
        &self.definition
    }

    fn names_results(&self) -> bool {
        self.definition.database == INFORMATION_SCHEMA
            && NAMED_BY_COLUMNS.contains(&self.definition.name.as_str())
    }

    fn truncate(&self) -> bool {
        match (self.truncate, self.instance.upgrade()) {
            (Some(truncate), Some(instance)) => {
                truncate(&instance);
                true
            }
            _ => false,
        }
    }

    fn rows<'a>(&'a self, viewer: &'a dyn Any) -> LocalFuture<'a, Result<Rows, SqlError>> {
        if self.needs_process
            && viewer.downcast_ref::<Viewer>().is_none_or(|viewer| !viewer.sees_all_sessions)
        {
            let error = error_code::ER_SPECIFIC_ACCESS_DENIED_ERROR.with(&[&"PROCESS"]);
            return Box::pin(async move { Err(error) });
        }
        let mut rows = match (self.instance.upgrade(), viewer.downcast_ref::<Viewer>()) {
            (Some(instance), Some(viewer)) => (self.rows)(&instance, viewer),
            _ => Rows::new(),
        };
        if self.definition.database == INFORMATION_SCHEMA {
            rows.iter_mut().for_each(|row| shapes::fit(&self.definition, row));
        }
        let width = self.definition.columns.len();
        debug_assert!(rows.iter().all(|row| row.len() == width), "{}", self.definition.name);
        Box::pin(async move { Ok(rows) })
    }
}

/// Database and table of each.
pub fn all(instance: &Weak<Instance>) -> Vec<(&'static str, Arc<dyn VirtualTable>)> {
    let table = |database: &'static str, name: &str, columns, rows| {
        let definition = view_definition(database, name, columns);
        let (instance, needs_process) = (instance.clone(), is_for_process(name));
        let table: Arc<dyn VirtualTable> =
            Arc::new(InstanceTable { definition, instance, rows, needs_process, truncate: None });
        (database, table)
    };
    let log = |definition: Arc<TableDef>, rows: fn(&Instance, &Viewer) -> Rows, truncate: fn(&Instance)| {
        let (instance, truncate) = (instance.clone(), Some(truncate));
        let table: Arc<dyn VirtualTable> =
            Arc::new(InstanceTable { definition, instance, rows, needs_process: false, truncate });
        ("mysql", table)
    };
    vec![
        log(log_tables::general_log(), log_tables::general_rows, |instance| {
            instance.logs.general_rows.clear();
        }),
        log(log_tables::slow_log(), log_tables::slow_rows, |instance| instance.logs.slow_rows.clear()),
        table(INFORMATION_SCHEMA, "PROCESSLIST", processes::PROCESS_COLUMNS, processes::processes),
        table(PERFORMANCE_SCHEMA, "processlist", processes::PROCESS_COLUMNS, processes::processes),
        table(PERFORMANCE_SCHEMA, "threads", processes::THREAD_COLUMNS, processes::threads),
        table(PERFORMANCE_SCHEMA, "data_locks", status::LOCK_COLUMNS, status::data_locks),
        table(PERFORMANCE_SCHEMA, "data_lock_waits", status::WAIT_COLUMNS, status::data_lock_waits),
        table(PERFORMANCE_SCHEMA, "metadata_locks", status::METADATA_LOCK_COLUMNS, status::metadata_locks),
        table("sys", "innodb_lock_waits", status::SYS_LOCK_WAIT_COLUMNS, status::sys_lock_waits),
        table("sys", "x$innodb_lock_waits", status::SYS_LOCK_WAIT_COLUMNS, status::sys_lock_waits),
        table(INFORMATION_SCHEMA, "INNODB_TRX", status::TRANSACTION_COLUMNS, status::transactions),
        table(INFORMATION_SCHEMA, "INNODB_METRICS", status::METRIC_COLUMNS, status::metrics),
        table(
            PERFORMANCE_SCHEMA,
            "global_variables",
            variables::VARIABLE_COLUMNS,
            variables::global_variables,
        ),
        table(
            PERFORMANCE_SCHEMA,
            "variables_metadata",
            variables::METADATA_COLUMNS,
            variables::variables_metadata,
        ),
        table(PERFORMANCE_SCHEMA, "global_status", variables::VARIABLE_COLUMNS, variables::global_status),
        table(PERFORMANCE_SCHEMA, "session_status", variables::VARIABLE_COLUMNS, variables::session_status),
        table("mysql", "innodb_table_stats", statistics::TABLE_COLUMNS, statistics::tables),
        table("mysql", "innodb_index_stats", statistics::INDEX_COLUMNS, statistics::indexes),
    ]
    .into_iter()
    .chain(accounts::all().into_iter().map(|(database, definition, rows)| {
        let instance = instance.clone();
        let table: Arc<dyn VirtualTable> =
            Arc::new(InstanceTable { definition, instance, rows, needs_process: false, truncate: None });
        (database, table)
    }))
    .chain(declared(instance))
    .collect()
}

/// The tables that say everything of themselves.
fn declared(instance: &Weak<Instance>) -> impl Iterator<Item = (&'static str, Arc<dyn VirtualTable>)> + '_ {
    let tables =
        [performance_schema::all(), sys::all(), information_schema::of_instance(), identifiers::all()]
            .concat();
    tables.into_iter().map(|table| {
        let Table { database, shape, rows, truncate, needs_process } = table;
        let (definition, instance) = (shape.definition(database), instance.clone());
        let table: Arc<dyn VirtualTable> =
            Arc::new(InstanceTable { definition, instance, rows, needs_process, truncate });
        (database, table)
    })
}

/// MySQL asks for PROCESS when it fills these.
fn is_for_process(name: &str) -> bool {
    matches!(name, "INNODB_TRX" | "INNODB_METRICS")
}
