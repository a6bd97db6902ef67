//! The storage engine as a subject of simulation, with sizes so small that a run meets splits, evictions,
//! checkpoints and segment borders.
//!
//! Each table but the catalog has an index, a tree that is changed without being read: an entry for each row, at a
//! place that its value gives. Whoever scans a table compares the index, so an entry that is lost, left over or visible
//! at the wrong time is met as soon as anybody looks.

use crate::subject::{Refusal, Rows, Subject, Table};
use engine::{
    AccessMode, Direction, Engine, EngineError, EngineOptions, EntryBatch, Isolation, KeyRange, LockMode,
    Packing, PreparedTransaction, ReadMode, Savepoint, Transaction, TreeId, Uniqueness, WaitPolicy,
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
            // In some lives the log is read in several rounds.
            redo_memory_bytes: [0, 0, 0, 30_000][env.random.u64() as usize % 4],
            // In half of the lives a transaction of a few changes moves them to pages.
            undo_memory_bytes: [0, 0, 1, 4_000][env.random.u64() as usize % 4],
            // In half of the lives what an old snapshot needs moves to runs at once, or soon.
            version_memory_bytes: [0, 0, 1, 4_000][env.random.u64() as usize % 4],
            late_change_bytes: [None, None, Some(2_000), Some(200_000)][env.random.u64() as usize % 4],
            page_log_bytes: [None, Some(0), Some(30_000), Some(400_000)][env.random.u64() as usize % 4],
            // In some lives a part of the pages is compressed in memory.
            packing: [Packing::Never, Packing::Sixteenths(4), Packing::Sixteenths(8)]
                [env.random.u64() as usize % 3],
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
        let savepoint = transaction.savepoint();
        let inserted = insert_row(transaction, table, key, value).await;
        whole(transaction, savepoint, inserted).await
    }

    async fn update(
        transaction: &mut Transaction,
        table: Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), Refusal> {
        let savepoint = transaction.savepoint();
        let updated = update_row(transaction, table, key, value).await;
        whole(transaction, savepoint, updated).await
    }

    async fn delete(transaction: &mut Transaction, table: Table, key: &[u8]) -> Result<(), Refusal> {
        let savepoint = transaction.savepoint();
        let deleted = delete_row(transaction, table, key).await;
        whole(transaction, savepoint, deleted).await
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
        let rows = scan_tree(transaction, TreeId(table.0), mode).await;
        let mut rows = rows.map_err(|error| read_refusal(transaction, lock, error))?;
        let Some(index) = take_index(&mut rows) else { return Ok(rows) };
        if lock && transaction.isolation() < Isolation::RepeatableRead {
            // Nothing keeps others from adding a row between the two scans.
            return Ok(rows);
        }
        let entries = scan_tree(transaction, index, mode).await;
        let entries = entries.map_err(|error| read_refusal(transaction, lock, error))?;
        check_index(&rows, entries, !lock && transaction.has_passed_snapshot()).map_err(Refusal::Fatal)?;
        Ok(rows)
    }

    async fn create_table(transaction: &mut Transaction) -> Result<Table, Refusal> {
        let savepoint = transaction.savepoint();
        let created = create_with_index(transaction).await;
        whole(transaction, savepoint, created).await
    }

    async fn drop_table(transaction: &mut Transaction, table: Table) -> Result<(), Refusal> {
        match index_of(transaction, table).await {
            Ok(Some(index)) => transaction.drop_tree(index).await.map_err(refusal)?,
            Ok(None) => {}
            // Then nobody knows its index any more.
            Err(EngineError::CorruptPage { .. } | EngineError::Corrupt { .. }) => {}
            Err(error) => return Err(refusal(error)),
        }
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

/// In a table, before all rows: the tree of its index.
const INDEX_KEY: &[u8] = b"";
/// So long that an index has several leaves.
const ENTRY_BYTES: usize = 200;
const LOCKED: ReadMode = ReadMode::Locking(LockMode::Exclusive, WAIT);

/// A statement that was refused has changed nothing.
async fn whole<T>(
    transaction: &mut Transaction,
    savepoint: Savepoint,
    done: Result<T, EngineError>,
) -> Result<T, Refusal> {
    match done {
        Err(error) if !error.rolled_back() => {
            transaction.rollback_to(savepoint).await.map_err(not_undone)?;
            Err(refusal(error))
        }
        done => done.map_err(refusal),
    }
}

async fn create_with_index(transaction: &mut Transaction) -> Result<Table, EngineError> {
    let table = transaction.create_tree().await?;
    let index = transaction.create_tree().await?;
    transaction.insert(table, INDEX_KEY, &index.0.to_be_bytes(), Uniqueness::Key, WAIT).await?;
    Ok(Table(table.0))
}

/// `None`: the catalog has none.
async fn index_of(transaction: &mut Transaction, table: Table) -> Result<Option<TreeId>, EngineError> {
    if table == Table::CATALOG {
        return Ok(None);
    }
    let mode = ReadMode::Locking(LockMode::Shared, WAIT);
    let index = transaction.get(TreeId(table.0), INDEX_KEY, mode).await?;
    Ok(index.and_then(|index| index.try_into().ok()).map(|index| TreeId(u64::from_be_bytes(index))))
}

/// Takes what belongs to the index out of a table's rows.
fn take_index(rows: &mut Rows) -> Option<TreeId> {
    let place = rows.iter().position(|(key, _)| key.as_slice() == INDEX_KEY)?;
    let (_, index) = rows.remove(place);
    index.try_into().ok().map(|index| TreeId(u64::from_be_bytes(index)))
}

/// The key of a row's entry: scattered by its value.
fn entry_key(key: &[u8], value: &[u8]) -> Vec<u8> {
    let hash = value.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    [&hash.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes(), key].concat()
}

fn entry_value(key: &[u8]) -> Vec<u8> {
    vec![key.last().copied().unwrap_or_default(); ENTRY_BYTES]
}

/// `shows_older`: others have changed rows since the snapshot, and this transaction has after them, so it sees entries that
/// those rows had before, which whoever reads an index alone has to leave out.
fn check_index(rows: &Rows, mut entries: Rows, shows_older: bool) -> Result<(), String> {
    let mut expected: Vec<_> =
        rows.iter().map(|(key, value)| (entry_key(key, value), entry_value(key))).collect();
    expected.sort();
    if shows_older {
        entries.retain(|entry| expected.binary_search(entry).is_ok());
    }
    if expected == entries {
        return Ok(());
    }
    Err(format!("an index has {} entries, not those of its {} rows", entries.len(), rows.len()))
}

async fn insert_row(
    transaction: &mut Transaction,
    table: Table,
    key: &[u8],
    value: &[u8],
) -> Result<(), EngineError> {
    let index = index_of(transaction, table).await?;
    transaction.insert(TreeId(table.0), key, value, Uniqueness::Key, WAIT).await?;
    transaction.passes_snapshot(TreeId(table.0), key);
    match index {
        Some(index) => {
            transaction.insert_unseen(index, &entry_key(key, value), &entry_value(key), WAIT).await
        }
        None => Ok(()),
    }
}

async fn update_row(
    transaction: &mut Transaction,
    table: Table,
    key: &[u8],
    value: &[u8],
) -> Result<(), EngineError> {
    let Some(index) = index_of(transaction, table).await? else {
        return transaction.update(TreeId(table.0), key, value, WAIT).await;
    };
    let old = transaction.get(TreeId(table.0), key, LOCKED).await?.ok_or(EngineError::NotFound)?;
    transaction.passes_snapshot(TreeId(table.0), key);
    transaction.update(TreeId(table.0), key, value, WAIT).await?;
    transaction.delete_unseen(index, &entry_key(key, &old), &entry_value(key), WAIT).await?;
    transaction.insert_unseen(index, &entry_key(key, value), &entry_value(key), WAIT).await
}

async fn delete_row(transaction: &mut Transaction, table: Table, key: &[u8]) -> Result<(), EngineError> {
    let Some(index) = index_of(transaction, table).await? else {
        return transaction.delete(TreeId(table.0), key, WAIT).await;
    };
    let old = transaction.get(TreeId(table.0), key, LOCKED).await?.ok_or(EngineError::NotFound)?;
    transaction.passes_snapshot(TreeId(table.0), key);
    transaction.delete(TreeId(table.0), key, WAIT).await?;
    transaction.delete_unseen(index, &entry_key(key, &old), &entry_value(key), WAIT).await
}

async fn scan_tree(transaction: &mut Transaction, tree: TreeId, mode: ReadMode) -> Result<Rows, EngineError> {
    let mut cursor = transaction.scan(tree, KeyRange::all(), Direction::Forward, mode);
    let (mut rows, mut batch) = (Rows::new(), EntryBatch::default());
    loop {
        batch.clear();
        let more = cursor.next_batch(transaction, BATCH, &mut batch).await?;
        rows.extend(batch.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
        if !more {
            return Ok(rows);
        }
    }
}

/// Only a snapshot that outlives its statement can be older than a table: another client has created that since.
fn read_refusal(transaction: &Transaction, lock: bool, error: EngineError) -> Refusal {
    let keeps_snapshot = !lock && transaction.isolation() >= Isolation::RepeatableRead;
    match error {
        EngineError::SnapshotTooOld if keeps_snapshot => Refusal::Statement(error.to_string()),
        _ => refusal(error),
    }
}

/// Half a statement must not be committed: its transaction is over, and what drops it has it rolled back.
fn not_undone(error: EngineError) -> Refusal {
    match refusal(error) {
        Refusal::Statement(_) => Refusal::Transaction,
        other => other,
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
