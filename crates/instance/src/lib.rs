//! What all sessions of a server share: engine, catalog, accounts, global variables, plans, process list, locks of
//! applications, XA branches, counters.
//!
//! Invariant: nothing here names a session. Sessions hold an [`Instance`] and enter themselves in its lists; the
//! system tables that show it are joined by the program.
#![forbid(unsafe_code)]

mod account_list;
mod admission;
mod backups;
mod connection_id;
mod counters;
mod engine_settings;
mod event_queue;
mod gauges;
mod host_files;
mod instance;
mod kill;
mod literals;
pub mod logs;
mod piece_rows;
mod plan_cache;
mod plan_shape;
mod process_list;
mod program_cache;
pub mod replication;
mod result_shape;
mod sight;
mod stop;
mod system_tables;
mod table_restore;
mod tls;
mod user_locks;
mod virtual_tables;
mod xa_registry;
mod xid;

pub use account_list::account_names;
pub use admission::{SessionTicket, is_administrator, limit_error, unix_now_us};
pub use backups::{BackupRun, Backups, Directories};
pub use connection_id::ConnectionId;
pub use counters::{Counters, add, count};
pub use event_queue::{DueEvent, EventQueue};
pub use gauges::Gauges;
pub use host_files::{HostFiles, HostPath, read_error, write_error};
pub use instance::{EngineStatus, Instance, InstanceConfig, LogLevel, SleepFuture, Timer};
pub use kill::{Handled, KillKind, KillSwitch};
pub use literals::literal_value;
pub use piece_rows::{IntoTarget, PieceRows};
pub use plan_cache::{
    ParameterClass, PlanCache, PlanEnvironment, PreparedPlan, SettingHint, StatementText, TextKey, TypedPlan,
    is_kept,
};
pub use plan_shape::PlanShape;
pub use process_list::{Activity, OpenTransaction, ProcessEntry, ProcessList};
pub use program_cache::{
    CallArgument, CallInput, CallPiece, ExecutePiece, KeptPiece, PiecePlan, ProgramCache, SharedProgram,
};
pub use result_shape::{ColumnMeta, ColumnTypeCode, Conversion, ResultShape};
pub use sight::{PreparedSight, SessionSight, SightCell};
pub use stop::{StopKind, Stopper};
pub use system_tables::{MakeSystemTables, SystemTables};
pub use table_restore::{RestoreFuture, RestoreMoment, RestoreOrder, RestoredTable, TableRestorer};
pub use tls::TlsControl;
pub use user_locks::UserLocks;
pub use virtual_tables::VirtualTables;
pub use xa_registry::{Deciding, XaClaim, XaRegistry, lock_owner_of};
pub use xid::Xid;
