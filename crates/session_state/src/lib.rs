//! The parts of a session that do not know it: results, diagnostics, privileges, user variables, what a statement
//! is given and how it ends.
//!
//! Invariant: nothing here runs a statement. The crate `session` owns one of each part and has the life of a statement;
//! families of statements above it use the parts through `session`.
#![forbid(unsafe_code)]

pub mod command_counters;
pub mod connection_info;
pub mod diagnostics;
pub mod ended;
pub mod event_name;
pub mod guard;
pub mod numbered;
pub mod open_handlers;
pub mod outcome;
pub mod prepared_list;
pub mod privileges;
pub mod reach;
pub mod replication_waits;
pub mod result;
mod role_graph;
pub mod shared_state;
pub mod sight;
pub mod sink;
pub mod transaction_control;
pub mod user_variable;
pub mod view_columns;
pub mod watch;
pub mod xa;
