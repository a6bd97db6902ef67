//! A replica: the receiver and the applier of a channel, and the copy that a replica begins with.
//!
//! The receiver connects to a source, asks for its binary log from behind what is applied, and fills the relay.
//!
//! Invariant: each connection begins where the applier stands, so nothing that was received and lost needs to be known; between
//! two attempts to connect it sleeps, and it wakes for events, for heartbeats and when it is asked to stop.
//!
//! `receiver` is the loop with its attempts, `greeting` what is asked of a source before its events, `stream` the events. `apply` makes their changes
//! here. `copy`
//! makes a new server the copy that a replica begins with.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod apply;
mod confirmations;
mod copy;
mod greeting;
mod receiver;
mod stream;

pub use apply::apply_channel;
pub use copy::{CopyPlan, CopySource, Facts, InsertText, copy, literal, quoted};
pub use receiver::receive;
