//! A dump of the database `mysql` played on this server: its privilege tables become accounts and grants.
//!
//! Such a dump drops each table, makes it anew and fills it. The tables here are made from the accounts, so DROP and CREATE
//! do nothing, and INSERT changes accounts: each row takes the place of what the account had. Rows of tables that mean nothing
//! here are left out with a warning. Accounts that the dump does not have stay.
mod grants;
mod row;
mod user;

use auth::{AccountStore, DynamicPrivilege, Privilege};
use datum::{ErrorCode, SqlError, Value, error_code};
use parser::ast::{AlterSpecification, Insert, InsertSource, ObjectName, StatementKind};

use crate::caller::Caller;
use row::Row;
use session::Shield;
use session::{Done, Effects, Request};

/// Tables of `mysql` that MySQL's dumps have and this server has no use for.
const WITHOUT_MEANING: &[&str] = &[
    "component",
    "engine_cost",
    "func",
    "gtid_executed",
    "help_category",
    "help_keyword",
    "help_relation",
    "help_topic",
    "innodb_index_stats",
    "innodb_table_stats",
    "ndb_binlog_index",
    "password_history",
    "plugin",
    "replication_asynchronous_connection_failover",
    "replication_asynchronous_connection_failover_managed",
    "replication_group_configuration_version",
    "replication_group_member_actions",
    "server_cost",
    "servers",
    "slave_master_info",
    "slave_relay_log_info",
    "slave_worker_info",
    "time_zone",
    "time_zone_leap_second",
    "time_zone_name",
    "time_zone_transition",
    "time_zone_transition_type",
];

/// Puts one row of a privilege table into the accounts.
type Apply = fn(&AccountStore, &Row) -> Result<(), SqlError>;

/// In the order in which their rows need each other.
const PRIVILEGE_TABLES: &[(&str, Apply)] = &[
    ("user", user::apply),
    ("db", grants::database),
    ("tables_priv", grants::table),
    ("columns_priv", grants::column),
    ("procs_priv", grants::routine),
    ("proxies_priv", grants::proxy),
    ("global_grants", grants::dynamic),
    ("role_edges", grants::role),
    ("default_roles", grants::default_role),
];

impl Caller<'_> {
    /// Runs the statement if it is part of such a dump.
    pub(super) async fn import_statement(
        &mut self,
        kind: &StatementKind<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Option<Done>, SqlError> {
        let tables: Vec<ObjectName<'_>> = match kind {
            StatementKind::DropTable(dropped) if !dropped.temporary => dropped.tables.to_vec(),
            StatementKind::CreateTable(created) if !created.temporary => vec![created.name],
            StatementKind::AlterTable(alter) if only_keys(alter.specifications) => vec![alter.table],
            StatementKind::LockTables(locked) => locked.iter().map(|locked| locked.table).collect(),
            StatementKind::Insert(insert) => vec![insert.table],
            _ => return Ok(None),
        };
        if tables.is_empty() || !tables.iter().all(|table| self.imported_name(*table).is_some()) {
            return Ok(None);
        }
        self.require_super_or(&[DynamicPrivilege::SystemUser], "SUPER or SYSTEM_USER")?;
        self.require_global(Privilege::CreateUser)?;
        match kind {
            StatementKind::Insert(insert) => {
                let name = self.imported_name(insert.table).unwrap_or_default();
                Box::pin(self.import_rows(&name, insert, request, shield)).await.map(Some)
            }
            _ => Ok(Some(Done::ok())),
        }
    }

    /// The table's name if it is one of `mysql` that a dump has.
    fn imported_name(&self, table: ObjectName<'_>) -> Option<String> {
        let name = self.table_name(table).ok().filter(|name| name.database == "mysql")?;
        let lower = name.name.to_lowercase();
        let is_known = WITHOUT_MEANING.contains(&lower.as_str())
            || PRIVILEGE_TABLES.iter().any(|(table, _)| *table == lower)
            || matches!(lower.as_str(), "general_log" | "slow_log");
        is_known.then_some(lower)
    }

    async fn import_rows(
        &mut self,
        table: &str,
        insert: &Insert<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let InsertSource::Values(rows) = insert.source else {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"INSERT .. SELECT into system tables"]));
        };
        let Some((_, apply)) = PRIVILEGE_TABLES.iter().find(|(name, _)| *name == table) else {
            self.shared().warning(ER_ROWS_LEFT_OUT.with(&[&rows.len(), &table]));
            return Ok(Done::ok());
        };
        let names = self.insert_columns(table, insert)?;
        let mut read = Vec::with_capacity(rows.len());
        for values in rows {
            if values.len() != names.len() {
                return Err(error_code::ER_WRONG_VALUE_COUNT.plain());
            }
            let values = self.evaluate(values, request, shield).await?;
            let values: Vec<Value> = values.into_iter().map(|(value, _)| value).collect();
            read.push(Row::new(names.clone(), values));
        }
        self.change_stored_accounts(shield, |accounts| read.iter().try_for_each(|row| apply(accounts, row)))
            .await?;
        Ok(Done::Ok(Effects { affected_rows: rows.len() as u64, ..Effects::default() }))
    }

    /// The columns that the values are for: those named, or all of the table.
    fn insert_columns(&self, table: &str, insert: &Insert<'_>) -> Result<Vec<String>, SqlError> {
        if let Some(columns) = insert.columns {
            return Ok(columns.iter().map(|column| column.name.to_lowercase()).collect());
        }
        let absent = || error_code::ER_NO_SUCH_TABLE.with(&[&"mysql", &table]);
        let found = self.instance().virtual_tables.find("mysql", table).ok_or_else(absent)?;
        Ok(found.definition().columns.iter().map(|column| column.name.to_lowercase()).collect())
    }
}

/// ALTER TABLE .. DISABLE KEYS, as dumps write it around rows.
fn only_keys(specifications: &[AlterSpecification<'_>]) -> bool {
    !specifications.is_empty()
        && specifications.iter().all(|specification| {
            matches!(specification, AlterSpecification::DisableKeys | AlterSpecification::EnableKeys)
        })
}

const ER_ROWS_LEFT_OUT: ErrorCode =
    ErrorCode::new(1105, "HY000", "%s rows of mysql.%s mean nothing to this server and are left out");
