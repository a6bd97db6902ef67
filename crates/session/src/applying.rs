//! What a session knows that applies another server's transactions, and how it begins and ends them.
//!
//! Invariant: how far the channel has come is stored in the transaction that brings it there (decision 0054). Used by the applier
//! in `replica`; the logs ask what is applied.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use binlog::GtidEvent;
use datum::SqlError;
use engine::{AccessMode, Isolation, Transaction, UnsettledCommit};
use instance::replication::{Applied, Channel};

use instance::{Instance, ProcessEntry};

use crate::families::Families;
use crate::session::Session;
use session_state::connection_info::ConnectionInfo;
use session_state::guard::Shield;
use session_state::transaction_control::transaction_error;

/// The transaction of another server that a session applies.
pub struct Applying {
    /// Where the events come from.
    pub channel: Arc<Channel>,
    /// The identifier and the moments of the transaction.
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
    /// Of a channel that has come so far.
    pub fn new(channel: Arc<Channel>, next: Applied) -> Applying {
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

    /// Another transaction begins.
    pub fn forget_stored(&self) {
        self.is_stored.store(false, Ordering::Release);
    }

    /// Whether a commit has stored it.
    pub fn is_stored(&self) -> bool {
        self.is_stored.load(Ordering::Acquire)
    }
}

impl Session {
    /// A session that applies what comes through a channel: with all rights, and without a client.
    pub fn of_applier(
        instance: Arc<Instance>,
        families: &'static dyn Families,
        connection: ConnectionInfo,
        channel: Arc<Channel>,
    ) -> Session {
        let mut session = Session::new(instance, families, connection);
        session.privileges.set_unlimited();
        session.process.update(|activity| activity.command = ProcessEntry::DAEMON);
        let applied = channel.applied();
        session.applying = Some(Box::new(Applying::new(channel, applied)));
        session
    }

    /// What an applier's session applies; `None` for every other session.
    pub fn applying_mut(&mut self) -> Option<&mut Applying> {
        self.applying.as_deref_mut()
    }

    /// Whether it does what another server has done already.
    pub fn applies_for_source(&self) -> bool {
        self.applying.is_some()
    }

    /// The open transaction, for rows that are changed without a plan.
    pub fn open_transaction(&mut self) -> Option<&mut Transaction> {
        self.transaction.current.as_mut()
    }

    /// Begins a transaction of the source, if none is open.
    pub fn begin_applied(&mut self) {
        let engine = self.instance.engine().clone();
        let transaction = &mut self.transaction;
        if transaction.current.is_none() {
            transaction.begin(&engine, Isolation::ReadCommitted, AccessMode::ReadWrite, true);
            transaction.touched = true;
        }
    }

    /// Stores in the open transaction how far the channel comes with it.
    pub async fn store_applied(&mut self) -> Result<(), SqlError> {
        match (&self.applying, self.transaction.current.as_mut()) {
            (Some(applying), Some(transaction)) => applying.store(transaction).await,
            _ => Ok(()),
        }
    }

    /// Commits without waiting until that is durable.
    pub async fn commit_applied(&mut self) -> Result<UnsettledCommit, SqlError> {
        let passage = self.pass_to_commit().await?;
        let shield = Shield::default();
        shield.raise();
        let commit = self.transaction.commit_behind().await.map_err(transaction_error)?;
        drop(passage);
        self.leave_passage();
        Ok(commit)
    }

    /// ROLLBACK of the source: what the transaction has done is not wanted.
    pub async fn roll_back_applied(&mut self) -> Result<(), SqlError> {
        self.transaction.rollback().await.map_err(transaction_error)
    }

    /// Nothing is left of a transaction that has begun. Nobody waits for it, and recovery would undo it as well.
    pub async fn give_up_applied(&mut self) {
        let _ = self.transaction.rollback().await;
        self.xa = None;
        self.leave_passage();
    }

    /// The statement is over: whoever closes the gate of changes waits no more for it.
    pub fn leave_passage(&mut self) {
        self.statement_passage = None;
    }

    /// The account for which the events' statements are run.
    pub fn act_as(&mut self, user: &str, host: &str) {
        self.privileges.act_as(user, host);
        (self.connection.account_user, self.connection.account_host) = (user.to_owned(), host.to_owned());
    }
}
