//! What transactions cost in device operations, as the engine counts them: figures without the noise of a device.
//!
//!     cargo run --release -p engine --example device_operations -- [segments|in-place] [ROWS] [DIRECTORY]
//!
//! Rows of 190 bytes, a pool of a seventh of them; each row is first updated once on average, at random, which
//! scatters the pages of a store that writes out of place. Then transactions of ten reads, four ranges of 100 rows
//! and three updates, all uniform; one line for each window of them. DIRECTORY should lie in memory (/dev/shm).

use engine::{
    AccessMode, Direction, Engine, EngineOptions, EntryBatch, Isolation, KeyRange, ReadMode, SegmentOptions,
    StoreKind, TreeId, Uniqueness, WaitPolicy,
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
    let store = match arguments.first().map_or("segments", String::as_str) {
        "in-place" => StoreKind::InPlace,
        "segments" => StoreKind::Segments(SegmentOptions::default()),
        other => return eprintln!("the store is 'segments' or 'in-place', not '{other}'"),
    };
    let rows: u64 = arguments.get(1).and_then(|rows| rows.parse().ok()).unwrap_or(400_000);
    let directory = arguments.get(2).map_or("/dev/shm/evenkeel-device-operations", String::as_str);
    let _ = std::fs::remove_dir_all(directory);
    let env = real_env(Path::new(directory), Arc::new(ThreadSpawner::new(2))).expect("a writable directory");
    let options = EngineOptions {
        buffer_pool_bytes: (rows * ROW_BYTES as u64 / 7).max(8 << 20),
        redo_capacity_bytes: 64 << 20,
        store,
        ..EngineOptions::default()
    };
    block_on(measure(env, options, rows));
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

async fn measure(env: Env, options: EngineOptions, rows: u64) {
    let engine = Engine::open(env, options).await.expect("an engine");
    let tree = load(&engine, rows).await;
    let start = std::time::Instant::now();
    together(&engine, rows, rows / CLIENTS / 10, tree, |client| client.update(10)).await;
    eprintln!("scattered in {:.0} s", start.elapsed().as_secs_f64());
    println!("reads/tx  KB read/tx  writes/tx  KB written/tx");
    let per_client = rows / 400 / CLIENTS;
    for _ in 0..WINDOWS {
        let before = operations(&engine);
        together(&engine, rows, per_client, tree, Client::mixed).await;
        let after = operations(&engine);
        let each = |index: usize| (after[index] - before[index]) as f64 / (per_client * CLIENTS) as f64;
        println!("{:8.2}  {:10.1}  {:9.2}  {:13.1}", each(0), each(1) / 1024.0, each(2), each(3) / 1024.0);
    }
    engine.close().await.expect("a clean end");
}

async fn load(engine: &Arc<Engine>, rows: u64) -> TreeId {
    let mut transaction = engine.begin(Isolation::ReadCommitted, AccessMode::ReadWrite);
    let tree = transaction.create_tree().await.expect("a tree");
    transaction.commit().await.expect("a commit");
    for first in (0..rows).step_by(1000) {
        let mut transaction = engine.begin(Isolation::ReadCommitted, AccessMode::ReadWrite);
        for key in first..(first + 1000).min(rows) {
            let row = [key as u8; ROW_BYTES];
            let inserted = transaction.insert(tree, &key.to_be_bytes(), &row, Uniqueness::Key, WAIT).await;
            inserted.expect("a new key");
        }
        transaction.commit().await.expect("a commit");
    }
    tree
}

struct Client {
    engine: Arc<Engine>,
    keys: Keys,
    tree: TreeId,
}

/// Runs `steps` transactions on each client's thread.
async fn together<F>(engine: &Arc<Engine>, rows: u64, steps: u64, tree: TreeId, step: F)
where
    F: for<'a> Fn(&'a mut Client) -> BoxFuture<'a, ()> + Copy + Send,
{
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let seed = 0x9E37_79B9_7F4A_7C15 ^ (number + 1) ^ next_seed();
            let mut client = Client { engine: engine.clone(), keys: Keys(seed, rows), tree };
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
                let row = [key as u8; ROW_BYTES];
                if transaction.update(self.tree, &key.to_be_bytes(), &row, WAIT).await.is_err() {
                    // The victim of a deadlock.
                    return;
                }
            }
            transaction.commit().await.expect("a commit");
        })
    }

    fn mixed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut transaction = self.engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
            for _ in 0..10 {
                let key = self.keys.next().to_be_bytes();
                transaction.get(self.tree, &key, ReadMode::Snapshot).await.expect("a read");
            }
            for _ in 0..4 {
                let first = self.keys.next();
                let range = KeyRange {
                    lower: Some(first.to_be_bytes().into()),
                    upper: Some((first + 99).to_be_bytes().into()),
                    ..KeyRange::default()
                };
                let mut cursor = transaction.scan(self.tree, range, Direction::Forward, ReadMode::Snapshot);
                let mut batch = EntryBatch::default();
                while cursor.next_batch(&mut transaction, 256, &mut batch).await.expect("a range") {}
            }
            transaction.commit().await.expect("a commit");
            self.update(3).await;
        })
    }
}
