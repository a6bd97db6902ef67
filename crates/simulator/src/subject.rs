//! What is simulated, seen as narrowly as the workload needs it.
//!
//! The engine is the subject that matters (`engine_subject`). The tests of this crate bring small stores with
//! planted faults, to show that the simulator finds them.

use env::Env;
use std::future::Future;
use std::sync::Arc;

/// Names a table of the subject. `CATALOG` exists from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Table(pub u64);

impl Table {
    pub const CATALOG: Self = Self(1);
}

/// Keys with values, as a scan returns them.
pub type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// Why an operation was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The key exists (insert) or does not (update, delete).
    Mismatch,
    /// The operation had no effect; the transaction goes on.
    Statement(String),
    /// The transaction was rolled back.
    Transaction,
    /// The store is out of order and must be restarted.
    Fatal(String),
}

/// A transactional store of byte keys and values.
pub trait Subject: Send + Sync + Sized + 'static {
    type Transaction: Send;
    /// A transaction that waits for its decision, also after a restart.
    type Prepared: Send;
    /// Whether the store has such.
    const PREPARES: bool;

    /// Opens, recovering if need be, or creates.
    fn open(env: Env) -> impl Future<Output = Result<Arc<Self>, String>> + Send;
    /// Starts a transaction of any kind: `variant` is a random number to choose by.
    fn begin(self: &Arc<Self>, variant: u64) -> Self::Transaction;
    /// A statement of the transaction begins.
    fn begin_statement(transaction: &mut Self::Transaction);
    fn insert(
        transaction: &mut Self::Transaction,
        table: Table,
        key: &[u8],
        value: &[u8],
    ) -> impl Future<Output = Result<(), Refusal>> + Send;
    fn update(
        transaction: &mut Self::Transaction,
        table: Table,
        key: &[u8],
        value: &[u8],
    ) -> impl Future<Output = Result<(), Refusal>> + Send;
    fn delete(
        transaction: &mut Self::Transaction,
        table: Table,
        key: &[u8],
    ) -> impl Future<Output = Result<(), Refusal>> + Send;
    /// A snapshot read, or with `lock` an exclusively locking one.
    fn get(
        transaction: &mut Self::Transaction,
        table: Table,
        key: &[u8],
        lock: bool,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, Refusal>> + Send;
    /// All rows by a snapshot read, or with `lock` by a read that locks them for sharing.
    fn scan(
        transaction: &mut Self::Transaction,
        table: Table,
        lock: bool,
    ) -> impl Future<Output = Result<Rows, Refusal>> + Send;
    fn create_table(
        transaction: &mut Self::Transaction,
    ) -> impl Future<Output = Result<Table, Refusal>> + Send;
    fn drop_table(
        transaction: &mut Self::Transaction,
        table: Table,
    ) -> impl Future<Output = Result<(), Refusal>> + Send;
    fn savepoint(transaction: &Self::Transaction) -> u64;
    fn rollback_to(
        transaction: &mut Self::Transaction,
        savepoint: u64,
    ) -> impl Future<Output = Result<(), Refusal>> + Send;
    fn commit(transaction: Self::Transaction) -> impl Future<Output = Result<(), Refusal>> + Send;
    fn rollback(transaction: Self::Transaction) -> impl Future<Output = Result<(), Refusal>> + Send;
    /// Prepares under a number that no other transaction has.
    fn prepare(
        transaction: Self::Transaction,
        number: u64,
    ) -> impl Future<Output = Result<Self::Prepared, Refusal>> + Send;
    fn decide(prepared: Self::Prepared, commit: bool) -> impl Future<Output = Result<(), Refusal>> + Send;
    /// What the start has found prepared, by number.
    fn recovered(self: &Arc<Self>) -> Vec<(u64, Self::Prepared)>;
    /// Ends the work in order.
    fn close(&self) -> impl Future<Output = Result<(), String>> + Send;
    /// Checks the structure of everything that is stored.
    fn verify(&self) -> impl Future<Output = Result<(), String>> + Send;
}
