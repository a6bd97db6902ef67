//! Stored programs in a session: their definitions, calls, and the interpreter.
//!
//! `definition` creates and drops them, `made` makes instructions of a stored text, `call` begins a procedure, `host`
//! what runs inside of a statement (functions and triggers), `run` carries instructions out, `piece` the SQL in them, `kept` what is kept of it,
//! `event` and `event_schedule` define events, `scheduler` starts them, `event_run` executes one.
//! `context` changes and restores what a program has for itself: account, mode, database.
//!
//! Invariant: however a program ends, KILL in its middle included, the session is afterwards as it was before.
mod alter;
mod automatic;
mod call;
mod context;
mod definition;
mod diagnostics;
mod event;
mod event_run;
mod event_schedule;
mod host;
mod kept;
mod made;
mod permission;
mod piece;
mod run;
mod scheduler;
mod signal;
mod store;
mod trigger;

pub(crate) use context::{ProgramStack, Strictness};
pub use event_run::EventRun;
pub use scheduler::schedule_events;
