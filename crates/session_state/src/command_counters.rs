//! Which `Com_..` counter a statement belongs to. Called by `dispatch` for every statement that it runs; those with a
//! plan are counted with their plan, because a kept plan has no statement.
use std::sync::atomic::AtomicU64;

use parser::ast::{self, MaintenanceKind, RoutineKind, Show, StatementKind, XaStatement};
use plan::{DuplicateRule, InsertSource, NodeKind, Plan, PlanKind};

use instance::Counters;

/// The counter of a statement without a plan; `None` for what MySQL does not count, or what is not supported.
pub fn counter_of<'c>(kind: &StatementKind<'_>, counters: &'c Counters) -> Option<&'c AtomicU64> {
    use StatementKind::*;
    Some(match kind {
        Empty => &counters.com_empty_query,
        Do(_) => &counters.com_do,
        AlterTable(_) => &counters.com_alter_table,
        CreateTable(_) => &counters.com_create_table,
        DropTable(_) => &counters.com_drop_table,
        RenameTable(_) => &counters.com_rename_table,
        TruncateTable(_) => &counters.com_truncate,
        CreateIndex(_) => &counters.com_create_index,
        DropIndex(_) => &counters.com_drop_index,
        CreateDatabase(_) => &counters.com_create_db,
        AlterDatabase(_) => &counters.com_alter_db,
        DropDatabase(_) => &counters.com_drop_db,
        DropView(_) => &counters.com_drop_view,
        Use(_) => &counters.com_change_db,
        Set(_) | SetTransaction(_) => &counters.com_set_option,
        StartTransaction(_) | Begin => &counters.com_begin,
        Commit(_) => &counters.com_commit,
        Rollback(_) => &counters.com_rollback,
        RollbackToSavepoint(_) => &counters.com_rollback_to_savepoint,
        Savepoint(_) => &counters.com_savepoint,
        ReleaseSavepoint(_) => &counters.com_release_savepoint,
        Xa(statement) => counter_of_xa(statement, counters),
        LockTables(_) => &counters.com_lock_tables,
        UnlockTables => &counters.com_unlock_tables,
        Show(show) => return counter_of_show(show, counters),
        LockInstance => &counters.com_lock_instance,
        UnlockInstance => &counters.com_unlock_instance,
        AlterInstance(_) => &counters.com_alter_instance,
        Help(_) => &counters.com_help,
        ResetPersist { .. } | ResetBinaryLogs(_) => &counters.com_reset,
        Restart => &counters.com_restart,
        Shutdown => &counters.com_shutdown,
        Explain(_) => &counters.com_explain_other,
        Kill(_) => &counters.com_kill,
        StatementKind::PurgeBinaryLogs(purge) => match purge {
            ast::PurgeBinaryLogs::To(_) => &counters.com_purge,
            ast::PurgeBinaryLogs::Before(_) => &counters.com_purge_before_date,
        },
        Flush(_) => &counters.com_flush,
        MaintainTable(maintain) => match maintain.kind {
            MaintenanceKind::Analyze => &counters.com_analyze,
            MaintenanceKind::Check => &counters.com_check,
            MaintenanceKind::Checksum => &counters.com_checksum,
            MaintenanceKind::Optimize => &counters.com_optimize,
            MaintenanceKind::Repair => &counters.com_repair,
        },
        Prepare { .. } => &counters.com_prepare_sql,
        Execute { .. } => &counters.com_execute_sql,
        Deallocate(_) => &counters.com_dealloc_sql,
        CreateUser(_) => &counters.com_create_user,
        AlterUser(_) => &counters.com_alter_user,
        DropUser(_) => &counters.com_drop_user,
        RenameUser(_) => &counters.com_rename_user,
        CreateRole(_) => &counters.com_create_role,
        DropRole(_) => &counters.com_drop_role,
        Grant(_) => &counters.com_grant,
        GrantRole(_) => &counters.com_grant_roles,
        Revoke(_) => &counters.com_revoke,
        RevokeRole(_) => &counters.com_revoke_roles,
        SetRole(_) => &counters.com_set_role,
        SetDefaultRole(_) => &counters.com_alter_user_default_role,
        SetPassword(_) => &counters.com_set_password,
        _ => return None,
    })
}

fn counter_of_xa<'c>(statement: &XaStatement<'_>, counters: &'c Counters) -> &'c AtomicU64 {
    match statement {
        XaStatement::Start { .. } => &counters.com_xa_start,
        XaStatement::End { .. } => &counters.com_xa_end,
        XaStatement::Prepare(_) => &counters.com_xa_prepare,
        XaStatement::Commit { .. } => &counters.com_xa_commit,
        XaStatement::Rollback(_) => &counters.com_xa_rollback,
        XaStatement::Recover { .. } => &counters.com_xa_recover,
    }
}

fn counter_of_show<'c>(show: &Show<'_>, counters: &'c Counters) -> Option<&'c AtomicU64> {
    Some(match show {
        Show::Databases(_) => &counters.com_show_databases,
        Show::Tables { .. } => &counters.com_show_tables,
        Show::OpenTables { .. } => &counters.com_show_open_tables,
        Show::TableStatus { .. } => &counters.com_show_table_status,
        Show::Columns { .. } => &counters.com_show_fields,
        Show::Index { .. } => &counters.com_show_keys,
        Show::CreateTable(_) | Show::CreateView(_) => &counters.com_show_create_table,
        Show::CreateDatabase { .. } => &counters.com_show_create_db,
        Show::CreateUser(_) => &counters.com_show_create_user,
        Show::RoutineStatus { kind: RoutineKind::Procedure, .. } => &counters.com_show_procedure_status,
        Show::RoutineStatus { .. } => &counters.com_show_function_status,
        Show::Triggers { .. } => &counters.com_show_triggers,
        Show::Events { .. } => &counters.com_show_events,
        Show::Variables { .. } => &counters.com_show_variables,
        Show::Status { .. } => &counters.com_show_status,
        Show::CharacterSet(_) => &counters.com_show_charsets,
        Show::Collation(_) => &counters.com_show_collations,
        Show::ProcessList { .. } => &counters.com_show_processlist,
        Show::Engines => &counters.com_show_storage_engines,
        Show::Engine { what: "MUTEX", .. } => &counters.com_show_engine_mutex,
        Show::Engine { what: "LOGS", .. } => &counters.com_show_engine_logs,
        Show::Engine { .. } => &counters.com_show_engine_status,
        Show::Warnings(_) | Show::CountWarnings => &counters.com_show_warnings,
        Show::Errors(_) | Show::CountErrors => &counters.com_show_errors,
        Show::Grants { .. } => &counters.com_show_grants,
        Show::Privileges => &counters.com_show_privileges,
        Show::Plugins => &counters.com_show_plugins,
        Show::Profile { .. } => &counters.com_show_profile,
        Show::Profiles => &counters.com_show_profiles,
        Show::BinaryLogs => &counters.com_show_binlogs,
        Show::BinaryLogStatus => &counters.com_show_binary_log_status,
        Show::ReplicaStatus { .. } => &counters.com_show_replica_status,
        Show::Replicas => &counters.com_show_replicas,
        _ => return None,
    })
}

/// The counter of a statement with a plan.
pub fn counter_of_plan<'c>(plan: &Plan, counters: &'c Counters) -> &'c AtomicU64 {
    match &plan.kind {
        PlanKind::Query(_) => &counters.com_select,
        PlanKind::Insert(insert) => {
            let is_replace = matches!(insert.duplicates, DuplicateRule::Replace);
            match (&insert.source, is_replace) {
                (InsertSource::Rows(_), false) => &counters.com_insert,
                (InsertSource::Rows(_), true) => &counters.com_replace,
                (InsertSource::Query(_), false) => &counters.com_insert_select,
                (InsertSource::Query(_), true) => &counters.com_replace_select,
            }
        }
        PlanKind::Update(update) if joins(&update.input.kind) => &counters.com_update_multi,
        PlanKind::Update(_) => &counters.com_update,
        PlanKind::Delete(delete) if joins(&delete.input.kind) => &counters.com_delete_multi,
        PlanKind::Delete(_) => &counters.com_delete,
    }
}

/// Whether the rows to change come from several tables.
pub fn joins(node: &NodeKind) -> bool {
    match node {
        NodeKind::NestedLoop(_) | NodeKind::HashJoin(_) => true,
        NodeKind::Filter { input, .. } | NodeKind::Project { input, .. } | NodeKind::Limit { input, .. } => {
            joins(&input.kind)
        }
        NodeKind::Sort { input, .. } => joins(&input.kind),
        NodeKind::Apply(apply) => joins(&apply.input.kind),
        NodeKind::Initialise(initialise) => joins(&initialise.input.kind),
        _ => false,
    }
}
