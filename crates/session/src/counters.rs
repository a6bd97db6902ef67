//! The server-wide counters behind SHOW GLOBAL STATUS.
//!
//! Each is one atomic that sessions add to; a reader sees each counter's value of some recent moment, not one
//! moment of all of them.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($field:ident = $name:literal;)*) => {
        #[derive(Debug, Default)]
        pub struct Counters { $(pub $field: AtomicU64,)* }

        impl Counters {
            /// Name and value of each counter, in the order of SHOW STATUS.
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$(($name, self.$field.load(Relaxed)),)*]
            }

            /// Adds another set of counters, as a session does with its own.
            pub fn add(&self, other: &Counters) {
                $(self.$field.fetch_add(other.$field.load(Relaxed), Relaxed);)*
            }
        }
    };
}

counters! {
    bytes_received = "Bytes_received";
    bytes_sent = "Bytes_sent";
    com_alter_table = "Com_alter_table";
    com_begin = "Com_begin";
    com_change_db = "Com_change_db";
    com_commit = "Com_commit";
    com_create_table = "Com_create_table";
    com_delete = "Com_delete";
    com_drop_table = "Com_drop_table";
    com_insert = "Com_insert";
    com_kill = "Com_kill";
    com_replace = "Com_replace";
    com_rollback = "Com_rollback";
    com_select = "Com_select";
    com_set_option = "Com_set_option";
    com_show = "Com_show";
    com_stmt_close = "Com_stmt_close";
    com_stmt_execute = "Com_stmt_execute";
    com_stmt_prepare = "Com_stmt_prepare";
    com_stmt_reset = "Com_stmt_reset";
    com_truncate = "Com_truncate";
    com_update = "Com_update";
    connections = "Connections";
    plan_cache_hits = "Plan_cache_hits";
    plan_cache_misses = "Plan_cache_misses";
    queries = "Queries";
    questions = "Questions";
}

/// Adds one.
pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
