//! The applier of a channel: takes events of another server from the relay and makes the same changes here.
//!
//! Invariant: what a transaction changes and how far the channel has come are one commit, which nobody waits for before the
//! next transaction begins (decision 0054). After an error nothing of the transaction is left and the applier has ended. The
//! program gives it a task.
//!
//! `applier` goes through the events, `waiting` waits for them, `gathering` hands whole transactions to `workers`, `ending` commits,
//! `columns` fits rows to the table, `rows` changes it, `find` looks
//! a row up, `created` makes tables whose rows follow, `filtering` leaves out what filters say, `prepared` has XA transactions, `failure` says what went wrong, `statement`
//! runs what comes as text, `settling` waits for commits, `copying` is a session in which another server is copied.
mod applier;
mod columns;
mod copying;
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

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use binlog::GtidEvent;
use datum::SqlError;
use engine::Transaction;
use instance::replication::{Applied, Channel};

use crate::transaction_control::transaction_error;

/// The transaction of another server that a session applies.
pub(crate) struct Applying {
    pub channel: Arc<Channel>,
    pub head: GtidEvent,
    /// Of the server that made it first.
    pub server_id: u32,
    /// The flags of the last row event.
    pub rows_flags: u16,
    /// What is applied when it is committed.
    pub next: Applied,
    is_stored: AtomicBool,
}

impl Applying {
    fn new(channel: Arc<Channel>, next: Applied) -> Applying {
        let head = GtidEvent::default();
        Applying { channel, head, server_id: 0, rows_flags: 0, next, is_stored: AtomicBool::new(false) }
    }

    /// Stores in the transaction how far the channel will have come with it.
    pub async fn store(&self, transaction: &mut Transaction) -> Result<(), SqlError> {
        let (bytes, earlier) = (self.next.encode(), self.channel.stored_bytes());
        catalog::put_applied(transaction, &self.channel.name, earlier, &bytes).await
    }

    /// A commit has stored it.
    pub fn stored(&self) {
        self.channel.set_applied(self.next.clone(), Some(self.next.encode().len()));
        self.is_stored.store(true, Ordering::Release);
    }

    fn forget_stored(&self) {
        self.is_stored.store(false, Ordering::Release);
    }

    fn is_stored(&self) -> bool {
        self.is_stored.load(Ordering::Acquire)
    }
}

fn engine_failed(error: engine::EngineError) -> SqlError {
    transaction_error(error)
}
