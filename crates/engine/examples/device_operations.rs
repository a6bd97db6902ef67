//! What transactions cost in device operations, as the engine counts them: figures without the noise of a device.
//!
//!     cargo run --release -p engine --example device_operations -- [ROWS] [DIRECTORY] [LATE]
//!
//! Rows of 190 bytes, a pool of a seventh of them; each row is first updated once on average, at random. Then
//! transactions of ten reads, four ranges of 100 rows and three updates, all uniform; one line for each window of them. DIRECTORY should lie in memory (/dev/shm).
//!
//! With LATE there is also an index of random numbers, which each update changes and nobody reads: a row's number is
//! in its first bytes. LATE is what changes of its leaves may take while these are not in memory, in bytes, or "share".

use engine::{
    AccessMode, Direction, Engine, EngineError, EngineOptions, EntryBatch, Isolation, KeyRange, LockMode,
    ReadMode, Transaction, TreeId, Uniqueness, WaitPolicy,
};
use env::local::{ThreadSpawner, block_on};
use env::{BoxFuture, Env, real_env};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const ROW_BYTES: usize = 190;
const WAIT: WaitPolicy = WaitPolicy::Wait { timeout_us: 10_000_000 };
const CLIENTS: u64 = 16;
const WINDOWS: usize = 8;

/// xorshift: the same keys in each run.
struct Keys(u64, u64);

impl Keys {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % self.1
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rows: u64 = arguments.first().and_then(|rows| rows.parse().ok()).unwrap_or(400_000);
    let directory = arguments.get(1).map_or("/dev/shm/evenkeel-device-operations", String::as_str);
    let late = arguments.get(2).map(String::as_str);
    let _ = std::fs::remove_dir_all(directory);
    let env = real_env(Path::new(directory), Arc::new(ThreadSpawner::new(2))).expect("a writable directory");
    let options = EngineOptions {
        buffer_pool_bytes: (rows * ROW_BYTES as u64 / 7).max(8 << 20),
        redo_capacity_bytes: 64 << 20,
        late_change_bytes: late.and_then(|late| late.parse().ok()),
        ..EngineOptions::default()
    };
    block_on(measure(env, options, rows, late.is_some()));
    let _ = std::fs::remove_dir_all(directory);
}

/// Reads, bytes read, writes and bytes written so far, of pages and log together.
fn operations(engine: &Engine) -> [u64; 4] {
    let stats = engine.stats();
    let (data, log) = (stats.data_io, stats.log_io);
    [
        data.reads + log.reads,
        data.bytes_read + log.bytes_read,
        data.writes + log.writes,
        data.bytes_written + log.bytes_written,
    ]
}

async fn measure(env: Env, options: EngineOptions, rows: u64, indexed: bool) {
    let engine = Engine::open(env, options).await.expect("an engine");
    let tree = load(&engine, rows, indexed).await;
    let start = std::time::Instant::now();
    together(&engine, rows, rows / CLIENTS / 10, tree, |client| client.update(10)).await;
    eprintln!("updated in {:.0} s", start.elapsed().as_secs_f64());
    println!("reads/tx  KB read/tx  writes/tx  KB written/tx");
    let per_client = rows / 400 / CLIENTS;
    for _ in 0..WINDOWS {
        let before = operations(&engine);
        together(&engine, rows, per_client, tree, Client::mixed).await;
        let after = operations(&engine);
        let each = |index: usize| (after[index] - before[index]) as f64 / (per_client * CLIENTS) as f64;
        println!("{:8.2}  {:10.1}  {:9.2}  {:13.1}", each(0), each(1) / 1024.0, each(2), each(3) / 1024.0);
    }
    let stats = engine.stats();
    let (merged, leaves) = (stats.late_changes_merged, stats.late_leaves_merged);
    println!(
        "{} changes made late, {merged} of them applied to {leaves} leaves",
        stats.late_changes_buffered
    );
    engine.close().await.expect("a clean end");
}

/// The rows' tree and that of the index.
#[derive(Clone, Copy)]
struct Table {
    rows: TreeId,
    index: Option<TreeId>,
}

/// A row of the number that the index is of.
fn row_of(number: u64) -> [u8; ROW_BYTES] {
    let mut row = [number as u8; ROW_BYTES];
    row[..8].copy_from_slice(&number.to_be_bytes());
    row
}

fn entry_of(row: &[u8], key: u64) -> Vec<u8> {
    [&row[..8], &key.to_be_bytes()].concat()
}

async fn load(engine: &Arc<Engine>, rows: u64, indexed: bool) -> Table {
    let mut transaction = engine.begin(Isolation::ReadCommitted, AccessMode::ReadWrite);
    let tree = transaction.create_tree().await.expect("a tree");
    let mut index = None;
    if indexed {
        index = Some(transaction.create_tree().await.expect("a tree"));
    }
    transaction.commit().await.expect("a commit");
    let mut numbers = Keys(0x2545_F491_4F6C_DD1D, u64::MAX);
    for first in (0..rows).step_by(1000) {
        let mut transaction = engine.begin(Isolation::ReadCommitted, AccessMode::ReadWrite);
        for key in first..(first + 1000).min(rows) {
            let row = row_of(numbers.next());
            let inserted = transaction.insert(tree, &key.to_be_bytes(), &row, Uniqueness::Key, WAIT).await;
            inserted.expect("a new key");
            if let Some(index) = index {
                let inserted = transaction.insert_unseen(index, &entry_of(&row, key), b"", WAIT).await;
                inserted.expect("a new entry");
            }
        }
        transaction.commit().await.expect("a commit");
    }
    Table { rows: tree, index }
}

struct Client {
    engine: Arc<Engine>,
    keys: Keys,
    numbers: Keys,
    table: Table,
}

/// Runs `steps` transactions on each client's thread.
async fn together<F>(engine: &Arc<Engine>, rows: u64, steps: u64, table: Table, step: F)
where
    F: for<'a> Fn(&'a mut Client) -> BoxFuture<'a, ()> + Copy + Send,
{
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let seed = 0x9E37_79B9_7F4A_7C15 ^ (number + 1) ^ next_seed();
            let (keys, numbers) = (Keys(seed, rows), Keys(seed.rotate_left(9), u64::MAX));
            let mut client = Client { engine: engine.clone(), keys, numbers, table };
            scope.spawn(move || {
                for _ in 0..steps {
                    block_on(step(&mut client));
                }
            });
        }
    });
}

/// Another sequence of keys for each window.
fn next_seed() -> u64 {
    static WINDOW: AtomicU64 = AtomicU64::new(1);
    WINDOW.fetch_add(0x1_0000_0001, Relaxed)
}

impl Client {
    fn update(&mut self, count: usize) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut transaction = self.engine.begin(Isolation::ReadCommitted, AccessMode::ReadWrite);
            let mut keys: Vec<u64> = (0..count).map(|_| self.keys.next()).collect();
            keys.sort_unstable();
            for key in keys {
                let row = row_of(self.numbers.next());
                if self.update_row(&mut transaction, key, &row).await.is_err() {
                    // The victim of a deadlock.
                    return;
                }
            }
            transaction.commit().await.expect("a commit");
        })
    }

    async fn update_row(
        &self,
        transaction: &mut Transaction,
        key: u64,
        row: &[u8],
    ) -> Result<(), EngineError> {
        let Table { rows, index } = self.table;
        let Some(index) = index else {
            return transaction.update(rows, &key.to_be_bytes(), row, WAIT).await;
        };
        let locked = ReadMode::Locking(LockMode::Exclusive, WAIT);
        let old = transaction.get(rows, &key.to_be_bytes(), locked).await?.expect("no row goes away");
        transaction.update(rows, &key.to_be_bytes(), row, WAIT).await?;
        transaction.delete_unseen(index, &entry_of(&old, key), b"", WAIT).await?;
        transaction.insert_unseen(index, &entry_of(row, key), b"", WAIT).await
    }

    fn mixed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut transaction = self.engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
            for _ in 0..10 {
                let key = self.keys.next().to_be_bytes();
                transaction.get(self.table.rows, &key, ReadMode::Snapshot).await.expect("a read");
            }
            for _ in 0..4 {
                let first = self.keys.next();
                let range = KeyRange {
                    lower: Some(first.to_be_bytes().into()),
                    upper: Some((first + 99).to_be_bytes().into()),
                    ..KeyRange::default()
                };
                let mut cursor =
                    transaction.scan(self.table.rows, range, Direction::Forward, ReadMode::Snapshot);
                let mut batch = EntryBatch::default();
                while cursor.next_batch(&mut transaction, 256, &mut batch).await.expect("a range") {}
            }
            transaction.commit().await.expect("a commit");
            self.update(3).await;
        })
    }
}
