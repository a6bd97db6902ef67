//! Stored programs in a session: calls, and the interpreter. Their definitions stand in the crate `statements`.
//!
//! `names` locks them, `made` makes instructions of a stored text, `call` begins a procedure, `host`
//! what runs inside of a statement (functions and triggers), `run` carries instructions out, `piece` the SQL in them, `kept` what is kept of it,
//! `event_body` runs that of an event.
//! `context` changes and restores what a program has for itself: account, mode, database.
//!
//! Invariant: however a program ends, KILL in its middle included, the session is afterwards as it was before.
mod call;
mod context;
mod diagnostics;
mod event_body;
mod host;
mod kept;
mod made;
mod names;
mod permission;
mod piece;
mod reaction;
mod run;
mod signal;
mod store;
mod value_use;

pub(crate) use context::{ProgramStack, Strictness};
pub use made::{program_kind, shared_of};
