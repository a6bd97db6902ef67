//! The applier of a channel: takes events of another server from the relay and makes the same changes here.
//!
//! Invariant: what a transaction changes and how far the channel has come are one commit, which nobody waits for before the
//! next transaction begins (decision 0054). After an error nothing of the transaction is left and the applier has ended. The
//! program gives it a task.
//!
//! `applier` goes through the events, `ahead` has their pages read before, `waiting` waits for them, `gathering` hands whole transactions to `workers`, `ending` commits,
//! `columns` fits rows to the table, `rows` changes it, `find` looks
//! a row up, `created` makes tables whose rows follow, `filtering` leaves out what filters say, `prepared` has XA transactions, `failure` says what went wrong, `statement`
//! runs what comes as text, `settling` waits for commits. `ApplierSession` is the session that they share.
mod ahead;
mod applier;
mod columns;
mod created;
mod ending;
mod failure;
mod filtering;
mod find;
mod gathering;
mod prepared;
mod rows;
mod settling;
mod statement;
mod waiting;
mod workers;

pub use applier::apply_channel;

use std::ops::{Deref, DerefMut};

use session::{Session, transaction_error};

/// The session of an applier or of one of its workers; what they do with it are methods here.
struct ApplierSession(Session);

impl Deref for ApplierSession {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl DerefMut for ApplierSession {
    fn deref_mut(&mut self) -> &mut Session {
        &mut self.0
    }
}

fn engine_failed(error: engine::EngineError) -> datum::SqlError {
    transaction_error(error)
}
