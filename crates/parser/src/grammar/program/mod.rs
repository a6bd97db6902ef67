//! Stored programs: their CREATE and ALTER, and the statements of their bodies.
//!
//! Invariant: inside a body every name is looked up where it stands, with the rules of scope; pieces of SQL are parsed in
//! full when the program is created, so that a stored body is always readable under the mode it was created with.
mod create;
mod declare;
mod event;
mod flow;
mod names;
mod rules;
mod statement;

pub use names::ProgramNames;
