//! The storage engine as a subject of simulation, with sizes so small that a run meets splits, evictions,
//! checkpoints and segment borders.

use crate::subject::{Refusal, Rows, Subject, Table};
use engine::{
    AccessMode, Direction, Engine, EngineError, EngineOptions, EntryBatch, Isolation, KeyRange, LockMode,
    PreparedTransaction, ReadMode, Savepoint, SegmentOptions, StoreKind, Transaction, TreeId, Uniqueness,
    WaitPolicy,
};
use env::Env;
use std::sync::Arc;

const WAIT: WaitPolicy = WaitPolicy::Wait { timeout_us: 50_000 };
const BATCH: usize = 16;
/// The largest page size that `open` draws; the store on disk may have any of them.
const PAGE_BYTES_MAX: u64 = 8192;
/// The smallest log, so that it comes round within a run.
const REDO_CAPACITY_BYTES: u64 = 2 << 20;
/// About what the pool keeps beside the page.
const FRAME_OVERHEAD_BYTES: u64 = 256;

impl Subject for Engine {
    type Transaction = Transaction;
    type Prepared = PreparedTransaction;
    const PREPARES: bool = true;

    async fn open(env: Env) -> Result<Arc<Self>, String> {
        // Some lives evict all the time, others never; the page size only counts at the first start.
        let frames = [36, 64, 256][env.random.u64() as usize % 3];
        let page_size_bytes = [4096, 4096, 8192][env.random.u64() as usize % 3];
        let options = EngineOptions {
            page_size_bytes,
            buffer_pool_bytes: frames * (PAGE_BYTES_MAX + FRAME_OVERHEAD_BYTES),
            redo_capacity_bytes: REDO_CAPACITY_BYTES,
            // In half of the lives a transaction of a few changes moves them to pages.
            undo_memory_bytes: [0, 0, 1, 4_000][env.random.u64() as usize % 4],
            store: if env.random.u64().is_multiple_of(2) { StoreKind::InPlace } else { segments() },
            ..EngineOptions::default()
        };
        Engine::open(env, options).await.map_err(|error| error.to_string())
    }

    fn begin(self: &Arc<Self>, variant: u64) -> Transaction {
        let isolation =
            if variant.is_multiple_of(3) { Isolation::ReadCommitted } else { Isolation::RepeatableRead };
        Engine::begin(self, isolation, AccessMode::ReadWrite)
    }

    fn begin_statement(transaction: &mut Transaction) {
        transaction.begin_statement();
    }

    async fn insert(
        transaction: &mut Transaction,
        table: Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), Refusal> {
        transaction.insert(TreeId(table.0), key, value, Uniqueness::Key, WAIT).await.map_err(refusal)
    }

    async fn update(
        transaction: &mut Transaction,
        table: Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), Refusal> {
        transaction.update(TreeId(table.0), key, value, WAIT).await.map_err(refusal)
    }

    async fn delete(transaction: &mut Transaction, table: Table, key: &[u8]) -> Result<(), Refusal> {
        transaction.delete(TreeId(table.0), key, WAIT).await.map_err(refusal)
    }

    async fn get(
        transaction: &mut Transaction,
        table: Table,
        key: &[u8],
        lock: bool,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        let mode = if lock { ReadMode::Locking(LockMode::Exclusive, WAIT) } else { ReadMode::Snapshot };
        let read = transaction.get(TreeId(table.0), key, mode).await;
        read.map_err(|error| read_refusal(transaction, lock, error))
    }

    async fn scan(transaction: &mut Transaction, table: Table, lock: bool) -> Result<Rows, Refusal> {
        let mode = if lock { ReadMode::Locking(LockMode::Shared, WAIT) } else { ReadMode::Snapshot };
        let mut cursor = transaction.scan(TreeId(table.0), KeyRange::all(), Direction::Forward, mode);
        let mut rows = Rows::new();
        let mut batch = EntryBatch::default();
        loop {
            batch.clear();
            let read = cursor.next_batch(transaction, BATCH, &mut batch).await;
            let more = read.map_err(|error| read_refusal(transaction, lock, error))?;
            rows.extend(batch.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
            if !more {
                return Ok(rows);
            }
        }
    }

    async fn create_table(transaction: &mut Transaction) -> Result<Table, Refusal> {
        transaction.create_tree().await.map(|tree| Table(tree.0)).map_err(refusal)
    }

    async fn drop_table(transaction: &mut Transaction, table: Table) -> Result<(), Refusal> {
        transaction.drop_tree(TreeId(table.0)).await.map_err(refusal)
    }

    fn savepoint(transaction: &Transaction) -> u64 {
        transaction.savepoint().0
    }

    async fn rollback_to(transaction: &mut Transaction, savepoint: u64) -> Result<(), Refusal> {
        transaction.rollback_to(Savepoint(savepoint)).await.map_err(refusal)
    }

    async fn commit(transaction: Transaction) -> Result<(), Refusal> {
        transaction.commit().await.map_err(refusal)
    }

    async fn rollback(transaction: Transaction) -> Result<(), Refusal> {
        transaction.rollback().await.map_err(refusal)
    }

    async fn prepare(transaction: Transaction, number: u64) -> Result<PreparedTransaction, Refusal> {
        transaction.prepare(&number.to_le_bytes()).await.map_err(refusal)
    }

    async fn decide(mut prepared: PreparedTransaction, commit: bool) -> Result<(), Refusal> {
        let decided = if commit { prepared.commit().await } else { prepared.rollback().await };
        decided.map_err(refusal)
    }

    fn recovered(self: &Arc<Self>) -> Vec<(u64, PreparedTransaction)> {
        let number = |xid: &[u8]| xid.try_into().map_or(u64::MAX, u64::from_le_bytes);
        self.take_recovered().into_iter().map(|prepared| (number(prepared.xid()), prepared)).collect()
    }

    async fn close(&self) -> Result<(), String> {
        Engine::close(self).await.map_err(|error| error.to_string())
    }

    async fn verify(&self) -> Result<(), String> {
        // Nobody may change anything meanwhile, and what the last life left unfinished is still being undone.
        self.finish_background().await;
        Engine::verify(self).await.map(drop).map_err(|error| error.to_string())
    }
}

/// Small segments, so that the cleaner and the map's checkpoints have work.
fn segments() -> StoreKind {
    StoreKind::Segments(SegmentOptions {
        segment_bytes: 128 << 10,
        segments_per_file: 16,
        fill_target_percent: 90,
        ..SegmentOptions::default()
    })
}

/// Only a snapshot that outlives its statement can be older than a table: another client has created that since.
fn read_refusal(transaction: &Transaction, lock: bool, error: EngineError) -> Refusal {
    let keeps_snapshot = !lock && transaction.isolation() >= Isolation::RepeatableRead;
    match error {
        EngineError::SnapshotTooOld if keeps_snapshot => Refusal::Statement(error.to_string()),
        _ => refusal(error),
    }
}

fn refusal(error: EngineError) -> Refusal {
    match error {
        EngineError::DuplicateKey { .. } | EngineError::NotFound | EngineError::RecordChanged => {
            Refusal::Mismatch
        }
        error if error.rolled_back() => Refusal::Transaction,
        EngineError::LockWaitTimeout | EngineError::LockNotAvailable | EngineError::DiskFull => {
            Refusal::Statement(error.to_string())
        }
        other => Refusal::Fatal(other.to_string()),
    }
}
