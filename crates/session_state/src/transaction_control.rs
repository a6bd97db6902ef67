//! The session's transaction: when it begins, what holds it open, how it ends.
//!
//! | state     | `current` | `explicit` | left by                                             |
//! |-----------|-----------|------------|-----------------------------------------------------|
//! | none      | no        | no         | START TRANSACTION, any statement                    |
//! | statement | yes       | no         | the end of the autocommit statement: commit or undo |
//! | explicit  | yes       | yes        | COMMIT, ROLLBACK, an implicit commit, a deadlock    |
//!
//! Invariant: metadata locks are held until a transaction that used their tables has ended, and no longer. Where
//! a rollback goes on in the background (the connection was lost, the disk is full), they go with it.
use catalog::{LockGuard, LockOwner};
use datum::SqlError;
use engine::{AccessMode, Engine, EngineError, Isolation, PreparedTransaction, Savepoint, Transaction};
use smallvec::SmallVec;
use std::pin::pin;
use std::sync::Arc;

use instance::ConnectionId;

/// Characteristics of the next transaction only (SET TRANSACTION without a scope).
#[derive(Clone, Copy, Debug, Default)]
pub struct NextCharacteristics {
    pub isolation: Option<Isolation>,
    pub access: Option<AccessMode>,
}

#[derive(Default)]
pub struct TransactionControl {
    pub current: Option<Transaction>,
    /// Begun by START TRANSACTION, or by a statement while autocommit is off.
    pub explicit: bool,
    pub access: AccessMode,
    pub next: NextCharacteristics,
    /// Grows with each transaction that begins, so that observers tell one from the next.
    pub begun: u64,
    /// Some statement of it has used a table.
    pub touched: bool,
    /// `None` stands for the begin: nothing had been used when the savepoint was set.
    savepoints: Vec<(String, Option<Savepoint>)>,
    /// The connection, as observers of lock waits know the transactions.
    connection: u64,
    /// Most transactions use one table.
    pub locks: SmallVec<[LockGuard; 1]>,
}

impl TransactionControl {
    pub fn of(connection: ConnectionId) -> TransactionControl {
        let mut control = TransactionControl::default();
        control.connection = u64::from(connection.0);
        control
    }

    pub fn is_open(&self) -> bool {
        self.current.is_some() && self.explicit
    }

    /// Begins a transaction; a session's characteristics yield to those of SET TRANSACTION.
    pub fn begin(&mut self, engine: &Arc<Engine>, isolation: Isolation, access: AccessMode, explicit: bool) {
        debug_assert!(self.current.is_none(), "the earlier transaction has ended");
        let next = std::mem::take(&mut self.next);
        self.access = next.access.unwrap_or(access);
        // Whether a statement may write is asked before it runs: temporary tables are written in any transaction.
        let mut transaction = engine.begin(next.isolation.unwrap_or(isolation), AccessMode::ReadWrite);
        transaction.set_label(self.connection);
        self.current = Some(transaction);
        self.begun += 1;
        self.explicit = explicit;
        self.touched = false;
        self.savepoints.clear();
    }

    pub fn has_changes(&self) -> bool {
        self.current.as_ref().is_some_and(Transaction::has_changes)
    }

    pub async fn commit(&mut self) -> Result<(), EngineError> {
        self.locks_follow_changes();
        let transaction = self.current.take();
        let result = match transaction {
            Some(transaction) => pin!(transaction.commit()).await,
            None => Ok(()),
        };
        self.ended();
        result
    }

    /// The same without a wait for the log; only for a transaction that is there.
    pub async fn commit_behind(&mut self) -> Result<engine::UnsettledCommit, EngineError> {
        self.locks_follow_changes();
        let transaction = self.current.take().expect("an applier has begun a transaction");
        let result = pin!(transaction.commit_behind()).await;
        self.ended();
        result
    }

    pub async fn rollback(&mut self) -> Result<(), EngineError> {
        self.locks_follow_changes();
        let transaction = self.current.take();
        let result = match transaction {
            Some(transaction) => transaction.rollback().await,
            None => Ok(()),
        };
        self.ended();
        result
    }

    /// Prepares the transaction, which is no longer this session's then; its metadata locks go with it, as `owner`'s.
    pub async fn prepare(
        &mut self,
        xid: &[u8],
        owner: LockOwner,
    ) -> Result<PreparedTransaction, EngineError> {
        let mut transaction = self.current.take().expect("a branch has a transaction until it has ended");
        let mut locks = std::mem::take(&mut self.locks);
        locks.iter_mut().for_each(|lock| lock.pass_to(owner));
        transaction.keep_until_ended(locks);
        let prepared = pin!(transaction.prepare(xid)).await;
        self.ended();
        prepared
    }

    /// Hands the metadata locks to a transaction that may have to be rolled back without this.
    fn locks_follow_changes(&mut self) {
        if let Some(transaction) = self.current.as_mut().filter(|transaction| transaction.has_changes()) {
            transaction.keep_until_ended(std::mem::take(&mut self.locks));
        }
    }

    fn ended(&mut self) {
        self.explicit = false;
        self.savepoints.clear();
        self.locks.clear();
    }

    /// SAVEPOINT name; an earlier one of the name is replaced.
    pub fn set_savepoint(&mut self, name: &str) {
        let Some(transaction) = &self.current else { return };
        let savepoint = self.touched.then(|| transaction.savepoint());
        self.savepoints.retain(|(earlier, _)| !same_savepoint(earlier, name));
        self.savepoints.push((name.to_owned(), savepoint));
    }

    /// ROLLBACK TO; later savepoints are forgotten. `None` when there is no such savepoint.
    pub async fn rollback_to(&mut self, name: &str) -> Option<Result<(), EngineError>> {
        let position = self.savepoints.iter().position(|(earlier, _)| same_savepoint(earlier, name))?;
        self.savepoints.truncate(position + 1);
        match (self.savepoints[position].1, &mut self.current) {
            (_, None) => None,
            (Some(savepoint), Some(transaction)) => Some(transaction.rollback_to(savepoint).await),
            (None, Some(_)) => Some(self.start_over().await),
        }
    }

    /// Back to where nothing had been used: locks and the snapshot go as well, only the savepoints stay.
    async fn start_over(&mut self) -> Result<(), EngineError> {
        let Some(transaction) = self.current.take() else { return Ok(()) };
        let anew = transaction.begin_anew(self.connection);
        let rolled_back = transaction.rollback().await;
        self.current = Some(anew);
        self.touched = false;
        self.locks.clear();
        rolled_back
    }

    pub fn has_savepoint(&self, name: &str) -> bool {
        self.savepoints.iter().any(|(earlier, _)| same_savepoint(earlier, name))
    }

    /// RELEASE SAVEPOINT; false when there is none of the name.
    pub fn release_savepoint(&mut self, name: &str) -> bool {
        match self.savepoints.iter().position(|(earlier, _)| same_savepoint(earlier, name)) {
            Some(position) => {
                self.savepoints.truncate(position);
                true
            }
            None => false,
        }
    }
}

impl Drop for TransactionControl {
    fn drop(&mut self) {
        self.locks_follow_changes();
    }
}

fn same_savepoint(left: &str, right: &str) -> bool {
    left.to_lowercase() == right.to_lowercase()
}

/// An engine error outside of any table.
pub fn transaction_error(error: EngineError) -> SqlError {
    table::engine_error("transaction", error)
}
