//! The virtual tables whose rows are sessions, accounts or variables.
use std::any::Any;
use std::sync::{Arc, Weak};

use crate::view::ViewColumn::{NullLongText, NullNumber, NullText, Number, Signed, Text};
use crate::view::{ViewColumn, view_definition};
use auth::{Account, Privilege, PrivilegeSet, Scope};
use catalog::{INFORMATION_SCHEMA, Viewer};
use datum::{SqlError, Value};
use schema::{LocalFuture, TableDef, VirtualTable};

use crate::status;
use crate::wait_tables;
use instance::ConnectionId;
use instance::Instance;

type Rows = Vec<Vec<Value>>;

struct ServerTable {
    definition: Arc<TableDef>,
    /// The server owns the table, so the table cannot own the server.
    server: Weak<Instance>,
    rows: fn(&Instance, &Viewer) -> Rows,
}

impl VirtualTable for ServerTable {
    fn definition(&self) -> &Arc<TableDef> {
        &self.definition
    }

    fn rows<'a>(&'a self, viewer: &'a dyn Any) -> LocalFuture<'a, Result<Rows, SqlError>> {
        let rows = match (self.server.upgrade(), viewer.downcast_ref::<Viewer>()) {
            (Some(server), Some(viewer)) => (self.rows)(&server, viewer),
            _ => Rows::new(),
        };
        Box::pin(async move { Ok(rows) })
    }
}

const PROCESS_COLUMNS: &[ViewColumn] = &[
    Number("ID"),
    Text("USER", 32),
    Text("HOST", 261),
    NullText("DB", 64),
    Text("COMMAND", 16),
    Signed("TIME"),
    NullText("STATE", 64),
    NullLongText("INFO"),
];
const VARIABLE_COLUMNS: &[ViewColumn] = &[Text("VARIABLE_NAME", 64), NullText("VARIABLE_VALUE", 1024)];
const USER_COLUMNS: &[ViewColumn] = &[
    Text("Host", 255),
    Text("User", 32),
    Text("plugin", 64),
    NullLongText("authentication_string"),
    Text("account_locked", 1),
    Text("ssl_type", 9),
    Text("Super_priv", 1),
    Text("Grant_priv", 1),
    NullNumber("max_user_connections"),
];

/// Database and table of each.
pub fn all(server: &Weak<Instance>) -> Vec<(&'static str, Arc<dyn VirtualTable>)> {
    let table = |database: &'static str, name: &str, columns, rows| {
        let definition = view_definition(database, name, columns);
        let table: Arc<dyn VirtualTable> = Arc::new(ServerTable { definition, server: server.clone(), rows });
        (database, table)
    };
    let log = |definition: Arc<TableDef>| {
        let rows: fn(&Instance, &Viewer) -> Rows = |_, _| Rows::new();
        let table: Arc<dyn VirtualTable> = Arc::new(ServerTable { definition, server: server.clone(), rows });
        ("mysql", table)
    };
    vec![
        log(crate::log_tables::general_log()),
        log(crate::log_tables::slow_log()),
        table(INFORMATION_SCHEMA, "PROCESSLIST", PROCESS_COLUMNS, processes),
        table("performance_schema", "processlist", PROCESS_COLUMNS, processes),
        table("performance_schema", "threads", wait_tables::THREAD_COLUMNS, wait_tables::threads),
        table("performance_schema", "data_locks", status::LOCK_COLUMNS, status::data_locks),
        table("performance_schema", "data_lock_waits", status::WAIT_COLUMNS, status::data_lock_waits),
        table("performance_schema", "metadata_locks", status::METADATA_LOCK_COLUMNS, status::metadata_locks),
        table("sys", "innodb_lock_waits", status::SYS_LOCK_WAIT_COLUMNS, status::sys_lock_waits),
        table(INFORMATION_SCHEMA, "INNODB_TRX", status::TRANSACTION_COLUMNS, status::transactions),
        table(INFORMATION_SCHEMA, "INNODB_METRICS", status::METRIC_COLUMNS, status::metrics),
        table("performance_schema", "global_variables", VARIABLE_COLUMNS, global_variables),
        table(
            "performance_schema",
            "variables_metadata",
            &[Text("VARIABLE_NAME", 64), Text("VARIABLE_SCOPE", 12), NullLongText("DOCUMENTATION")],
            variables_metadata,
        ),
        table("performance_schema", "global_status", VARIABLE_COLUMNS, global_status),
        table("performance_schema", "session_status", VARIABLE_COLUMNS, session_status),
        table(
            INFORMATION_SCHEMA,
            "USER_PRIVILEGES",
            &[
                Text("GRANTEE", 292),
                Text("TABLE_CATALOG", 512),
                Text("PRIVILEGE_TYPE", 64),
                Text("IS_GRANTABLE", 3),
            ],
            user_privileges,
        ),
        table(
            INFORMATION_SCHEMA,
            "SCHEMA_PRIVILEGES",
            &[
                Text("GRANTEE", 292),
                Text("TABLE_CATALOG", 512),
                Text("TABLE_SCHEMA", 64),
                Text("PRIVILEGE_TYPE", 64),
                Text("IS_GRANTABLE", 3),
            ],
            schema_privileges,
        ),
        table(
            INFORMATION_SCHEMA,
            "TABLE_PRIVILEGES",
            &[
                Text("GRANTEE", 292),
                Text("TABLE_CATALOG", 512),
                Text("TABLE_SCHEMA", 64),
                Text("TABLE_NAME", 64),
                Text("PRIVILEGE_TYPE", 64),
                Text("IS_GRANTABLE", 3),
            ],
            table_privileges,
        ),
        table("mysql", "user", USER_COLUMNS, users),
    ]
}

fn processes(server: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for entry in server.processes().all() {
        let activity = entry.activity();
        if !viewer.sees_all_sessions && activity.user != viewer.user {
            continue;
        }
        rows.push(vec![
            Value::UInt(u64::from(entry.id.0)),
            Value::bytes(&activity.user),
            Value::bytes(&activity.host),
            activity.database.as_deref().map_or(Value::Null, Value::bytes),
            Value::bytes(activity.command),
            Value::Int(activity.since.elapsed().as_secs() as i64),
            Value::bytes(entry.shown_state(&activity, server.catalog().locks())),
            activity.info().map_or(Value::Null, Value::bytes),
        ]);
    }
    rows
}

fn global_variables(server: &Instance, _: &Viewer) -> Rows {
    variables::all()
        .filter(|id| id.definition().has_global())
        .map(|id| vec![Value::bytes(id.definition().name), Value::bytes(server.globals.get(id).display())])
        .collect()
}

fn variables_metadata(_: &Instance, _: &Viewer) -> Rows {
    let row = |id: variables::VariableId| {
        let definition = id.definition();
        let scope = match definition.scope {
            variables::Scope::Global => "GLOBAL",
            variables::Scope::Both => "SESSION",
            variables::Scope::Session => "SESSION_ONLY",
        };
        [definition.name, scope, definition.doc].map(Value::bytes).to_vec()
    };
    variables::all().map(row).collect()
}

fn status_rows(values: Vec<status::StatusValue>) -> Rows {
    values.into_iter().map(|(name, value)| vec![Value::bytes(name), Value::bytes(value)]).collect()
}

fn global_status(server: &Instance, _: &Viewer) -> Rows {
    status_rows(status::global_status(server))
}

fn session_status(server: &Instance, viewer: &Viewer) -> Rows {
    let id = u32::try_from(viewer.connection_id).map(ConnectionId);
    let Some(entry) = id.ok().and_then(|id| server.processes().find(id)) else { return Rows::new() };
    status_rows(status::session_status(server, &entry.counters))
}

/// The accounts that the viewer may look at: all with access to `mysql`, else the own one.
fn visible_accounts(server: &Instance, viewer: &Viewer) -> Vec<Arc<Account>> {
    let sees_all = (viewer.sees)("mysql", Some("user"));
    let accounts = server.accounts().all().into_iter();
    accounts.filter(|account| sees_all || account.name.user == viewer.user).collect()
}

fn grantee(account: &Account) -> Value {
    Value::bytes(format!("'{}'@'{}'", account.name.user, account.name.host.as_str()))
}

/// A row for each privilege of each scope that `scope_columns` accepts.
fn privilege_rows(
    server: &Instance,
    viewer: &Viewer,
    scope_columns: fn(&Scope) -> Option<Vec<Value>>,
) -> Rows {
    let mut rows = Rows::new();
    for account in visible_accounts(server, viewer) {
        for (scope, privileges) in account.grants.iter() {
            let Some(columns) = scope_columns(scope) else { continue };
            let grantable = privileges.has(Privilege::GrantOption.into());
            let plain: PrivilegeSet = privileges.without(Privilege::GrantOption.into());
            for privilege in plain.iter() {
                let mut row = vec![grantee(&account), Value::bytes("def")];
                row.extend(columns.iter().cloned());
                row.push(Value::bytes(privilege.name()));
                row.push(Value::bytes(if grantable { "YES" } else { "NO" }));
                rows.push(row);
            }
        }
    }
    rows
}

fn user_privileges(server: &Instance, viewer: &Viewer) -> Rows {
    privilege_rows(server, viewer, |scope| matches!(scope, Scope::Global).then(Vec::new))
}

fn schema_privileges(server: &Instance, viewer: &Viewer) -> Rows {
    privilege_rows(server, viewer, |scope| match scope {
        Scope::Database(database) => Some(vec![Value::bytes(database)]),
        _ => None,
    })
}

fn table_privileges(server: &Instance, viewer: &Viewer) -> Rows {
    privilege_rows(server, viewer, |scope| match scope {
        Scope::Table(database, table) => Some(vec![Value::bytes(database), Value::bytes(table)]),
        _ => None,
    })
}

fn users(server: &Instance, viewer: &Viewer) -> Rows {
    let yes_no = |condition: bool| Value::bytes(if condition { "Y" } else { "N" });
    let row = |account: Arc<Account>| {
        let has = |privilege: Privilege| account.grants.permit(privilege.into(), &Scope::Global);
        vec![
            Value::bytes(account.name.host.as_str()),
            Value::bytes(&account.name.user),
            Value::bytes(account.credential.plugin().name()),
            Value::bytes(account.credential.stored()),
            yes_no(account.locked),
            Value::bytes(if account.requires_tls { "ANY" } else { "" }),
            yes_no(has(Privilege::Super)),
            yes_no(has(Privilege::GrantOption)),
            Value::UInt(0),
        ]
    };
    visible_accounts(server, viewer).into_iter().map(row).collect()
}
