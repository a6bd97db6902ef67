//! Stored programs as instructions: made once from their text, shared by all sessions.
//!
//! `Program` is what a body becomes: slots instead of names, jumps instead of blocks, and pieces of SQL that stay text.
//! `compile` makes it; `Frame` is one run's state of blocks and handlers. The session runs the instructions, because the
//! pieces of SQL are statements of its own. `next_execution` tells when an event is due.
#![forbid(unsafe_code)]

mod compile;
mod condition;
mod frame;
mod instruction;
mod interval;
mod schedule;

pub use compile::compile;
pub use condition::{Class, RaisedCondition};
pub use frame::{Frame, Reaction};
pub use instruction::{
    CursorPlace, HandlerPlace, Instruction, PieceNames, PiecePlace, Program, RowSlot, Slot,
};
pub use interval::{EventInterval, EventUnit, NoInterval, numbers_in};
pub use schedule::{next_execution, second_of};
