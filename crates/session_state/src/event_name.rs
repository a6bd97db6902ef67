//! The kind of each statement as `performance_schema` names it, `statement/sql/` and then as its `Com_..` counter.
use parser::ast::{DropStored, MaintenanceKind, RoutineKind, Show, StatementKind, XaStatement};
use plan::{DuplicateRule, InsertSource, Plan, PlanKind};

/// What every name begins with.
pub const PREFIX: &str = "statement/sql/";
/// Of what could not be read.
pub const ERROR: &str = "statement/sql/error";

macro_rules! name {
    ($kind:literal) => {
        concat!("statement/sql/", $kind)
    };
}

/// The statements that `log_slow_admin_statements` is about.
pub fn is_administrative(name: &str) -> bool {
    const NAMES: [&str; 7] =
        ["alter_table", "analyze", "check", "create_index", "drop_index", "optimize", "repair"];
    name.strip_prefix(PREFIX).is_some_and(|kind| NAMES.contains(&kind))
}

/// A statement that runs a plan; its own name is that of the plan.
pub fn of_plan(plan: &Plan) -> &'static str {
    match &plan.kind {
        PlanKind::Query(_) => name!("select"),
        PlanKind::Insert(insert) => {
            let replaces = matches!(insert.duplicates, DuplicateRule::Replace);
            match (&insert.source, replaces) {
                (InsertSource::Rows(_), false) => name!("insert"),
                (InsertSource::Rows(_), true) => name!("replace"),
                (InsertSource::Query(_), false) => name!("insert_select"),
                (InsertSource::Query(_), true) => name!("replace_select"),
            }
        }
        PlanKind::Update(update) if crate::command_counters::joins(&update.input.kind) => {
            name!("update_multi")
        }
        PlanKind::Update(_) => name!("update"),
        PlanKind::Delete(delete) if crate::command_counters::joins(&delete.input.kind) => {
            name!("delete_multi")
        }
        PlanKind::Delete(_) => name!("delete"),
    }
}

pub fn of_statement(kind: &StatementKind<'_>) -> &'static str {
    use StatementKind::*;
    match kind {
        Empty => name!("empty_query"),
        Query(_) => name!("select"),
        Insert(_) => name!("insert"),
        Update(_) => name!("update"),
        Delete(_) => name!("delete"),
        LoadData(_) => name!("load"),
        Do(_) => name!("do"),
        Call { .. } => name!("call_procedure"),
        Handler(_) => name!("ha_read"),
        CreateTable(_) => name!("create_table"),
        AlterTable(_) => name!("alter_table"),
        DropTable(_) => name!("drop_table"),
        RenameTable(_) => name!("rename_table"),
        TruncateTable(_) => name!("truncate"),
        CreateIndex(_) => name!("create_index"),
        DropIndex(_) => name!("drop_index"),
        CreateDatabase(_) => name!("create_db"),
        AlterDatabase(_) => name!("alter_db"),
        DropDatabase(_) => name!("drop_db"),
        CreateView(_) => name!("create_view"),
        DropView(_) => name!("drop_view"),
        DropStored(dropped) => of_dropped(dropped),
        Use(_) => name!("change_db"),
        Set(_) | SetTransaction(_) => name!("set_option"),
        StartTransaction(_) | Begin => name!("begin"),
        Commit(_) => name!("commit"),
        Rollback(_) => name!("rollback"),
        RollbackToSavepoint(_) => name!("rollback_to_savepoint"),
        Savepoint(_) => name!("savepoint"),
        ReleaseSavepoint(_) => name!("release_savepoint"),
        Xa(statement) => of_xa(statement),
        LockTables(_) => name!("lock_tables"),
        UnlockTables => name!("unlock_tables"),
        LockInstance => name!("lock_instance"),
        UnlockInstance => name!("unlock_instance"),
        AlterInstance(_) => name!("alter_instance"),
        ResetPersist { .. } | ResetBinaryLogs(_) => name!("reset"),
        PurgeBinaryLogs(_) => name!("purge"),
        Show(show) => of_show(show),
        Explain(_) => name!("explain_other"),
        Help(_) => name!("help"),
        Kill(_) => name!("kill"),
        Flush(_) => name!("flush"),
        MaintainTable(maintain) => of_maintenance(maintain.kind),
        Prepare { .. } => name!("prepare_sql"),
        Execute { .. } => name!("execute_sql"),
        Deallocate(_) => name!("dealloc_sql"),
        Signal(_) => name!("signal"),
        GetDiagnostics(_) => name!("get_diagnostics"),
        ChangeReplicationFilter(_) => name!("change_replication_filter"),
        ChangeReplicationSource(_) => name!("change_replication_source"),
        ReplicaControl(_) => name!("replica_start"),
        Shutdown => name!("shutdown"),
        Restart => name!("restart"),
        _ => of_account_statement(kind),
    }
}

fn of_account_statement(kind: &StatementKind<'_>) -> &'static str {
    use StatementKind::*;
    match kind {
        CreateUser(_) => name!("create_user"),
        AlterUser(_) => name!("alter_user"),
        DropUser(_) => name!("drop_user"),
        RenameUser(_) => name!("rename_user"),
        CreateRole(_) => name!("create_role"),
        DropRole(_) => name!("drop_role"),
        Grant(_) => name!("grant"),
        GrantRole(_) => name!("grant_roles"),
        Revoke(_) => name!("revoke"),
        RevokeRole(_) => name!("revoke_roles"),
        SetRole(_) => name!("set_role"),
        SetDefaultRole(_) => name!("alter_user_default_role"),
        SetPassword(_) => name!("set_password"),
        _ => ERROR,
    }
}

fn of_xa(statement: &XaStatement<'_>) -> &'static str {
    match statement {
        XaStatement::Start { .. } => name!("xa_start"),
        XaStatement::End { .. } => name!("xa_end"),
        XaStatement::Prepare(_) => name!("xa_prepare"),
        XaStatement::Commit { .. } => name!("xa_commit"),
        XaStatement::Rollback(_) => name!("xa_rollback"),
        XaStatement::Recover { .. } => name!("xa_recover"),
    }
}

fn of_maintenance(kind: MaintenanceKind) -> &'static str {
    match kind {
        MaintenanceKind::Analyze => name!("analyze"),
        MaintenanceKind::Check => name!("check"),
        MaintenanceKind::Checksum => name!("checksum"),
        MaintenanceKind::Optimize => name!("optimize"),
        MaintenanceKind::Repair => name!("repair"),
    }
}

fn of_dropped(dropped: &DropStored<'_>) -> &'static str {
    match dropped.kind {
        RoutineKind::Procedure => name!("drop_procedure"),
        RoutineKind::Function => name!("drop_function"),
        RoutineKind::Trigger => name!("drop_trigger"),
        RoutineKind::Event => name!("drop_event"),
    }
}

fn of_show(show: &Show<'_>) -> &'static str {
    match show {
        Show::Databases(_) => name!("show_databases"),
        Show::Tables { .. } => name!("show_tables"),
        Show::OpenTables { .. } => name!("show_open_tables"),
        Show::TableStatus { .. } => name!("show_table_status"),
        Show::Columns { .. } => name!("show_fields"),
        Show::Index { .. } => name!("show_keys"),
        Show::CreateTable(_) | Show::CreateView(_) => name!("show_create_table"),
        Show::CreateDatabase { .. } => name!("show_create_db"),
        Show::CreateUser(_) => name!("show_create_user"),
        Show::RoutineStatus { kind: RoutineKind::Procedure, .. } => name!("show_procedure_status"),
        Show::RoutineStatus { .. } => name!("show_function_status"),
        Show::Triggers { .. } => name!("show_triggers"),
        Show::Events { .. } => name!("show_events"),
        Show::Variables { .. } => name!("show_variables"),
        Show::Status { .. } => name!("show_status"),
        Show::CharacterSet(_) => name!("show_charsets"),
        Show::Collation(_) => name!("show_collations"),
        Show::ProcessList { .. } => name!("show_processlist"),
        Show::Engines => name!("show_storage_engines"),
        Show::Engine { what: "MUTEX", .. } => name!("show_engine_mutex"),
        Show::Engine { what: "LOGS", .. } => name!("show_engine_logs"),
        Show::Engine { .. } => name!("show_engine_status"),
        Show::Warnings(_) | Show::CountWarnings => name!("show_warnings"),
        Show::Errors(_) | Show::CountErrors => name!("show_errors"),
        Show::Grants { .. } => name!("show_grants"),
        Show::Privileges => name!("show_privileges"),
        Show::Plugins => name!("show_plugins"),
        Show::Profiles => name!("show_profiles"),
        Show::Profile { .. } => name!("show_profile"),
        Show::BinaryLogs => name!("show_binlogs"),
        Show::BinaryLogStatus => name!("show_binary_log_status"),
        Show::ReplicaStatus { .. } => name!("show_replica_status"),
        Show::Replicas => name!("show_replicas"),
        _ => ERROR,
    }
}
