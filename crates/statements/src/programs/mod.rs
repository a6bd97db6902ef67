//! Definitions of stored programs: CREATE, ALTER and DROP of procedures, functions, triggers and events; and the start of
//! events: `scheduler` waits for the next one, `event_run` executes it.
//!
//! Invariant: what is stored has been compiled once. `trigger` also moves and drops triggers with their tables. What runs
//! programs stands in `session::program`.
mod alter;
mod automatic;
mod definition;
mod event;
mod event_run;
mod event_schedule;
mod permission;
mod scheduler;
mod trigger;

pub use event_run::EventRun;
pub use scheduler::schedule_events;
