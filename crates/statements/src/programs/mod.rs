//! Definitions of stored programs: CREATE, ALTER and DROP of procedures, functions, triggers and events.
//!
//! Invariant: what is stored has been compiled once. `trigger` also moves and drops triggers with their tables. What runs
//! programs stands in `session::program`.
mod alter;
mod automatic;
mod definition;
mod event;
mod event_schedule;
mod permission;
mod trigger;
