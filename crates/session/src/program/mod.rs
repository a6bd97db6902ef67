//! Stored programs in a session: calls, and the interpreter. Their definitions stand in the crate `statements`.
//!
//! `names` locks them, `made` makes instructions of a stored text, `call` begins a procedure, `host`
//! what runs inside of a statement (functions and triggers), `run` carries instructions out, `piece` the SQL in them, `kept` what is kept of it,
//! `scheduler` starts events, `event_run` executes one.
//! `context` changes and restores what a program has for itself: account, mode, database.
//!
//! Invariant: however a program ends, KILL in its middle included, the session is afterwards as it was before.
mod call;
mod context;
mod diagnostics;
mod event_run;
mod host;
mod kept;
mod made;
mod names;
mod permission;
mod piece;
mod reaction;
mod run;
mod scheduler;
mod signal;
mod store;

pub use context::ER_NO_SUCH_USER;
pub(crate) use context::{ProgramStack, Strictness};
pub use event_run::EventRun;
pub use made::{program_kind, shared_of};
pub use scheduler::schedule_events;
