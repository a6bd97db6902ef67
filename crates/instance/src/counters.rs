//! The counters behind SHOW STATUS.
//!
//! Each session has its own, in its entry of the process list; the server keeps those of ended sessions. Each is one
//! atomic that its session alone adds to; a reader sees each counter's value of some recent moment, not one moment
//! of all of them.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use executor::Work;

macro_rules! counters {
    ($($field:ident = $name:literal;)*) => {
        #[derive(Debug, Default)]
        pub struct Counters { $(pub $field: AtomicU64,)* }

        impl Counters {
            /// Name and value of each counter.
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$(($name, self.$field.load(Relaxed)),)*]
            }

            /// Adds another set of counters.
            pub fn add(&self, other: &Counters) {
                $(self.$field.fetch_add(other.$field.load(Relaxed), Relaxed);)*
            }
        }
    };
}

counters! {
    bytes_received = "Bytes_received";
    bytes_sent = "Bytes_sent";
    com_admin_commands = "Com_admin_commands";
    com_alter_db = "Com_alter_db";
    com_alter_instance = "Com_alter_instance";
    com_alter_table = "Com_alter_table";
    com_alter_user = "Com_alter_user";
    com_alter_user_default_role = "Com_alter_user_default_role";
    com_analyze = "Com_analyze";
    com_begin = "Com_begin";
    com_change_db = "Com_change_db";
    com_check = "Com_check";
    com_checksum = "Com_checksum";
    com_commit = "Com_commit";
    com_create_db = "Com_create_db";
    com_create_index = "Com_create_index";
    com_create_role = "Com_create_role";
    com_create_table = "Com_create_table";
    com_create_user = "Com_create_user";
    com_dealloc_sql = "Com_dealloc_sql";
    com_delete = "Com_delete";
    com_delete_multi = "Com_delete_multi";
    com_do = "Com_do";
    com_drop_db = "Com_drop_db";
    com_drop_index = "Com_drop_index";
    com_drop_role = "Com_drop_role";
    com_drop_table = "Com_drop_table";
    com_drop_user = "Com_drop_user";
    com_drop_view = "Com_drop_view";
    com_empty_query = "Com_empty_query";
    com_execute_sql = "Com_execute_sql";
    com_explain_other = "Com_explain_other";
    com_flush = "Com_flush";
    com_grant = "Com_grant";
    com_grant_roles = "Com_grant_roles";
    com_help = "Com_help";
    com_insert = "Com_insert";
    com_insert_select = "Com_insert_select";
    com_kill = "Com_kill";
    com_lock_instance = "Com_lock_instance";
    com_lock_tables = "Com_lock_tables";
    com_optimize = "Com_optimize";
    com_prepare_sql = "Com_prepare_sql";
    com_release_savepoint = "Com_release_savepoint";
    com_purge = "Com_purge";
    com_purge_before_date = "Com_purge_before_date";
    com_rename_table = "Com_rename_table";
    com_rename_user = "Com_rename_user";
    com_repair = "Com_repair";
    com_replace = "Com_replace";
    com_replace_select = "Com_replace_select";
    com_reset = "Com_reset";
    com_restart = "Com_restart";
    com_revoke = "Com_revoke";
    com_revoke_roles = "Com_revoke_roles";
    com_rollback = "Com_rollback";
    com_rollback_to_savepoint = "Com_rollback_to_savepoint";
    com_savepoint = "Com_savepoint";
    com_select = "Com_select";
    com_set_option = "Com_set_option";
    com_set_password = "Com_set_password";
    com_set_role = "Com_set_role";
    com_show_binary_log_status = "Com_show_binary_log_status";
    com_show_binlogs = "Com_show_binlogs";
    com_show_charsets = "Com_show_charsets";
    com_show_collations = "Com_show_collations";
    com_show_create_db = "Com_show_create_db";
    com_show_create_table = "Com_show_create_table";
    com_show_create_user = "Com_show_create_user";
    com_show_databases = "Com_show_databases";
    com_show_engine_logs = "Com_show_engine_logs";
    com_show_engine_mutex = "Com_show_engine_mutex";
    com_show_engine_status = "Com_show_engine_status";
    com_show_errors = "Com_show_errors";
    com_show_events = "Com_show_events";
    com_show_fields = "Com_show_fields";
    com_show_function_status = "Com_show_function_status";
    com_show_grants = "Com_show_grants";
    com_show_keys = "Com_show_keys";
    com_show_open_tables = "Com_show_open_tables";
    com_show_plugins = "Com_show_plugins";
    com_show_privileges = "Com_show_privileges";
    com_show_procedure_status = "Com_show_procedure_status";
    com_show_processlist = "Com_show_processlist";
    com_show_profile = "Com_show_profile";
    com_show_profiles = "Com_show_profiles";
    com_show_replica_status = "Com_show_replica_status";
    com_show_replicas = "Com_show_replicas";
    com_show_status = "Com_show_status";
    com_show_storage_engines = "Com_show_storage_engines";
    com_show_table_status = "Com_show_table_status";
    com_show_tables = "Com_show_tables";
    com_show_triggers = "Com_show_triggers";
    com_show_variables = "Com_show_variables";
    com_show_warnings = "Com_show_warnings";
    com_shutdown = "Com_shutdown";
    com_stmt_close = "Com_stmt_close";
    com_stmt_execute = "Com_stmt_execute";
    com_stmt_fetch = "Com_stmt_fetch";
    com_stmt_prepare = "Com_stmt_prepare";
    com_stmt_reprepare = "Com_stmt_reprepare";
    com_stmt_reset = "Com_stmt_reset";
    com_truncate = "Com_truncate";
    com_unlock_instance = "Com_unlock_instance";
    com_unlock_tables = "Com_unlock_tables";
    com_update = "Com_update";
    com_update_multi = "Com_update_multi";
    com_xa_commit = "Com_xa_commit";
    com_xa_end = "Com_xa_end";
    com_xa_prepare = "Com_xa_prepare";
    com_xa_recover = "Com_xa_recover";
    com_xa_rollback = "Com_xa_rollback";
    com_xa_start = "Com_xa_start";
    created_tmp_disk_tables = "Created_tmp_disk_tables";
    created_tmp_tables = "Created_tmp_tables";
    handler_commit = "Handler_commit";
    handler_delete = "Handler_delete";
    handler_read_first = "Handler_read_first";
    handler_read_key = "Handler_read_key";
    handler_read_last = "Handler_read_last";
    handler_read_next = "Handler_read_next";
    handler_read_prev = "Handler_read_prev";
    handler_read_rnd_next = "Handler_read_rnd_next";
    handler_rollback = "Handler_rollback";
    handler_savepoint = "Handler_savepoint";
    handler_savepoint_rollback = "Handler_savepoint_rollback";
    handler_update = "Handler_update";
    handler_write = "Handler_write";
    max_execution_time_exceeded = "Max_execution_time_exceeded";
    max_execution_time_set = "Max_execution_time_set";
    plan_cache_hits = "Evenkeel_plan_cache_hits";
    plan_cache_misses = "Evenkeel_plan_cache_misses";
    queries = "Queries";
    questions = "Questions";
    rows_examined = "Evenkeel_rows_examined";
    rows_sent = "Evenkeel_rows_sent";
    select_full_join = "Select_full_join";
    select_full_range_join = "Select_full_range_join";
    select_range = "Select_range";
    select_scan = "Select_scan";
    slow_queries = "Slow_queries";
    sort_merge_passes = "Sort_merge_passes";
    sort_range = "Sort_range";
    sort_rows = "Sort_rows";
    sort_scan = "Sort_scan";
    table_open_cache_hits = "Table_open_cache_hits";
}

impl Counters {
    /// What one execution did.
    pub fn add_work(&self, work: &Work) {
        for (counter, number) in [
            (&self.handler_read_first, work.first_reads),
            (&self.handler_read_last, work.last_reads),
            (&self.handler_read_key, work.key_reads),
            (&self.handler_read_next, work.next_reads),
            (&self.handler_read_prev, work.previous_reads),
            (&self.handler_read_rnd_next, work.scan_steps),
            (&self.handler_write, work.inserts),
            (&self.handler_update, work.updates),
            (&self.handler_delete, work.deletes),
            (&self.sort_rows, work.sorted_rows),
            (&self.sort_merge_passes, work.merge_passes),
            (&self.created_tmp_disk_tables, work.disk_tables),
            (&self.rows_examined, work.rows_examined),
        ] {
            add(counter, number);
        }
    }
}

/// Adds one to a counter of a session, whose own task alone may do so: no other processor is kept from it meanwhile.
pub fn count(counter: &AtomicU64) {
    add(counter, 1);
}

/// Adds a number, which is mostly 0; as `count`.
pub fn add(counter: &AtomicU64, number: u64) {
    if number > 0 {
        counter.store(counter.load(Relaxed).wrapping_add(number), Relaxed);
    }
}
