//! SHOW and DESCRIBE: result sets made from the catalog, the variables, the counters and the process list.
mod accounts;
mod binary_log;
mod columns;
mod conditions;
mod create;
mod databases;
mod empty;
mod filter;
mod indexes;
mod profiles;
mod programs;
mod replica_status;
mod server;
mod sessions;
mod tables;
mod variables;
mod views;

pub(crate) use accounts::{put_hexadecimal, put_quoted};

use datum::{SqlError, Value, error_code};
use parser::ast::{Show, ShowFilter};

use crate::caller::Caller;
use session::MadeRows;
use session::{Done, Named, Request, Shield};

impl Caller<'_> {
    pub(crate) async fn show(
        &mut self,
        show: &Show<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        self.ready_shown(show).await?;
        let (rows, filter) = match *show {
            Show::Status { scope, filter } => (self.show_status(scope).await?, filter),
            Show::BinaryLogs => (self.show_binary_logs().await?, ShowFilter::None),
            Show::BinaryLogStatus => (self.show_binary_log_status().await?, ShowFilter::None),
            Show::LogEvents { relay: false, log_name, position, limit, .. } => {
                let wanted = binary_log::WantedEvents { file: log_name, position, limit };
                (self.show_binlog_events(wanted).await?, ShowFilter::None)
            }
            Show::LogEvents { relay: true, log_name, channel, .. } => {
                (self.show_relay_log_events(log_name, channel)?, ShowFilter::None)
            }
            Show::ReplicaStatus { channel } => (self.show_replica_status(channel).await?, ShowFilter::None),
            Show::Engines => (self.show_engines().await?, ShowFilter::None),
            _ => self.show_rows(show)?,
        };
        let filtered = self.filter_rows(rows, filter, request, shield).await?;
        Ok(Done::Made(filtered))
    }

    /// The rows of a system table, of which the session knows the name only.
    async fn system_rows(&mut self, database: &str, table: &str) -> Result<Vec<Vec<Value>>, SqlError> {
        let viewer = self.viewer();
        match self.instance().virtual_tables.find(database, table) {
            Some(table) => table.rows(&*viewer).await,
            None => Err(error_code::ER_NO_SUCH_TABLE.with(&[&database, &table])),
        }
    }

    /// Makes the tables ready whose counters or statistics are shown.
    async fn ready_shown(&self, show: &Show<'_>) -> Result<(), SqlError> {
        let catalog = self.instance().catalog();
        let tables = match *show {
            Show::TableStatus { database, filter } => self.status_tables(database, filter)?,
            Show::Index { table, .. } | Show::CreateTable(table) => {
                let name = self.table_name(table)?;
                match self.resolve(&name.database, &name.name) {
                    Some(Named::Stored(table)) => vec![table],
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        };
        for table in tables {
            catalog.ready_unless_changing(&table, self.lock_owner()).await?;
        }
        Ok(())
    }

    /// All rows, and the filter that is still to be applied to them.
    fn show_rows<'a>(&self, show: &Show<'a>) -> Result<(MadeRows, ShowFilter<'a>), SqlError> {
        let unfiltered = |rows: MadeRows| Ok((rows, ShowFilter::None));
        match *show {
            Show::Databases(filter) => Ok((self.show_databases(filter), filter)),
            Show::Tables { full, database, filter, .. } => {
                Ok((self.show_tables(full, database, filter)?, filter))
            }
            Show::OpenTables { database, filter } => Ok((self.show_open_tables(database), filter)),
            Show::TableStatus { database, filter } => Ok((self.show_table_status(database, filter)?, filter)),
            Show::Columns { full, table, filter, .. } => Ok((self.show_columns(full, table)?, filter)),
            Show::Index { table, filter, .. } => Ok((self.show_indexes(table)?, filter)),
            Show::CreateTable(table) => unfiltered(self.show_create_table(table)?),
            Show::CreateView(view) => unfiltered(self.show_create_view(view)?),
            Show::CreateDatabase { if_not_exists, name } => {
                unfiltered(self.show_create_database(name.name, if_not_exists)?)
            }
            Show::CreateUser(user) => unfiltered(self.show_create_user(user)?),
            Show::Variables { scope, filter } => Ok((self.show_variables(scope), filter)),
            Show::CharacterSet(filter) => Ok((server::character_sets(), filter)),
            Show::Collation(filter) => Ok((server::collations(), filter)),
            Show::ProcessList { full } => unfiltered(self.show_process_list(full)),
            Show::Engine { engine, what } => {
                unfiltered(self.show_engine(engine.map(|name| name.name), what)?)
            }
            Show::Warnings(limit) => unfiltered(self.show_conditions(false, limit)?),
            Show::Errors(limit) => unfiltered(self.show_conditions(true, limit)?),
            Show::CountWarnings => unfiltered(self.show_condition_count(false)),
            Show::CountErrors => unfiltered(self.show_condition_count(true)),
            Show::Grants { user, using } => unfiltered(self.show_grants(user, using)?),
            Show::Privileges => unfiltered(server::privileges()),
            Show::Plugins => unfiltered(server::plugins()),
            Show::Triggers { database, filter, .. } => Ok((self.show_triggers(database)?, filter)),
            Show::Events { database, filter } => Ok((self.show_events(database)?, filter)),
            Show::RoutineStatus { kind, filter } => Ok((self.show_routine_status(kind), filter)),
            Show::CreateStored { kind, name } => unfiltered(self.show_create_program(kind, name)?),
            Show::Profiles => unfiltered(self.show_profiles()),
            Show::Profile { types, query, limit } => unfiltered(self.show_profile(types, query, limit)?),
            Show::Replicas => unfiltered(self.show_replicas()),
            // As in a MySQL that is not built for debugging.
            Show::RoutineCode { .. } => {
                Err(ER_FEATURE_DISABLED.with(&[&"SHOW PROCEDURE|FUNCTION CODE", &"--with-debug"]))
            }
            _ => Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"this SHOW statement"])),
        }
    }
}

const ER_FEATURE_DISABLED: datum::ErrorCode = datum::ErrorCode::new(
    1289,
    "HY000",
    "The '%s' feature is disabled; you need MySQL built with '%s' to have it working",
);
