//! One transaction that changes every row of a table: how long it takes, and how much memory.
//!
//! ```text
//! large_transaction DIRECTORY fill ROWS             makes the table: rows of 200 bytes, and an index of random keys
//! large_transaction DIRECTORY update commit         changes a column without an index in every row
//! large_transaction DIRECTORY update-indexed commit the indexed column instead
//! large_transaction DIRECTORY open                  opens, waits until the last life is undone, and closes
//! ```
//!
//! `rollback` and `kill` (which ends the process without a word) stand for `commit` as well. The variables POOL_MB,
//! REDO_MB and UNDO_MB change the sizes of the buffer pool, of the log, and of what a transaction keeps in memory.

use engine::{
    AccessMode, Direction, Engine, EngineOptions, EntryBatch, Isolation, KeyRange, LockMode, ReadMode,
    Transaction, TreeId, Uniqueness, WaitPolicy,
};
use std::sync::Arc;
use std::time::Instant;

const WAIT: WaitPolicy = WaitPolicy::Wait { timeout_us: 1_000_000 };
const ROW_BYTES: usize = 200;
const ROWS_PER_COMMIT: u64 = 2_000;
const BATCH_ROWS: usize = 256;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [directory, task, rest @ ..] = arguments.as_slice() else { panic!("a directory and a task") };
    std::fs::create_dir_all(directory).expect("the directory can be made");
    let spawner = Arc::new(env::local::ThreadSpawner::new(2));
    let env = env::real_env(directory.as_ref(), spawner).expect("real environment");
    let defaults = EngineOptions::default();
    let options = EngineOptions {
        buffer_pool_bytes: bytes_of("POOL_MB").unwrap_or(defaults.buffer_pool_bytes),
        redo_capacity_bytes: bytes_of("REDO_MB").unwrap_or(defaults.redo_capacity_bytes),
        undo_memory_bytes: bytes_of("UNDO_MB").unwrap_or(defaults.undo_memory_bytes),
        ..defaults
    };
    env::local::block_on(async {
        let start = Instant::now();
        let engine = Engine::open(env, options).await.expect("open");
        report("open", start);
        match (*task, rest) {
            ("fill", [rows]) => fill(&engine, rows.parse().expect("a number of rows")).await,
            ("update", [end]) => update(&engine, false, end).await,
            ("update-indexed", [end]) => update(&engine, true, end).await,
            ("open", []) => {
                engine.finish_background().await;
                report("what was unfinished is undone", start);
            }
            _ => panic!("unknown task"),
        }
        let start = Instant::now();
        engine.close().await.expect("close");
        report("close", start);
    });
}

/// A number of megabytes that the environment gives.
fn bytes_of(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse::<u64>().ok()? << 20)
}

fn report(what: &str, start: Instant) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("?");
        line.split_whitespace().next().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) / 1024
    };
    let (peak, now) = (field("VmHWM:"), field("VmRSS:"));
    println!("{what}: {:.1} s, {now} MB resident, at most {peak} MB", start.elapsed().as_secs_f64());
}

/// Spreads numbers evenly, so that neighbours in the table are far apart in the index.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn entry_key(value: u64, number: u64) -> Vec<u8> {
    [value.to_be_bytes(), number.to_be_bytes()].concat()
}

async fn fill(engine: &Arc<Engine>, rows: u64) {
    let start = Instant::now();
    let mut one = engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
    let (table, index) = (one.create_tree().await.expect("create"), one.create_tree().await.expect("create"));
    let names = [table.0.to_be_bytes(), index.0.to_be_bytes()].concat();
    one.insert(TreeId::CATALOG, b"table", &names, Uniqueness::Key, WAIT).await.expect("insert");
    for number in 0..rows {
        let mut row = vec![b'x'; ROW_BYTES];
        row[..8].copy_from_slice(&scattered(number).to_be_bytes());
        let entry = entry_key(scattered(number), number);
        one.insert(table, &number.to_be_bytes(), &row, Uniqueness::Key, WAIT).await.expect("insert");
        one.insert(index, &entry, b"", Uniqueness::Key, WAIT).await.expect("insert");
        if number % ROWS_PER_COMMIT == 0 {
            one.commit().await.expect("commit");
            one = engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
        }
    }
    one.commit().await.expect("commit");
    report("fill", start);
}

async fn update(engine: &Arc<Engine>, indexed: bool, end: &str) {
    let start = Instant::now();
    let mut one = engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
    let names = one.get(TreeId::CATALOG, b"table", ReadMode::Snapshot).await.expect("read").expect("a table");
    let tree = |bytes: &[u8]| TreeId(u64::from_be_bytes(bytes.try_into().expect("eight bytes")));
    let (table, index) = (tree(&names[..8]), tree(&names[8..]));
    let lock = ReadMode::Locking(LockMode::Exclusive, WAIT);
    let mut cursor = one.scan(table, KeyRange::all(), Direction::Forward, lock);
    let (mut batch, mut rows, mut more) = (EntryBatch::default(), 0u64, true);
    while more {
        batch.clear();
        more = cursor.next_batch(&mut one, BATCH_ROWS, &mut batch).await.expect("scan");
        for (key, row) in batch.iter() {
            change(&mut one, (table, index), key, row, indexed).await;
        }
        let before = rows;
        rows += batch.len() as u64;
        if before / 500_000 != rows / 500_000 {
            report(&format!("{rows} rows updated"), start);
        }
    }
    report(&format!("{rows} rows updated"), start);
    let start = Instant::now();
    match end {
        "commit" => one.commit().await.expect("commit"),
        "rollback" => one.rollback().await.expect("rollback"),
        "kill" => std::process::abort(),
        _ => panic!("unknown end"),
    }
    report(end, start);
}

async fn change(one: &mut Transaction, trees: (TreeId, TreeId), key: &[u8], row: &[u8], indexed: bool) {
    let mut new = row.to_vec();
    if indexed {
        let number = u64::from_be_bytes(key.try_into().expect("eight bytes"));
        let old = u64::from_be_bytes(row[..8].try_into().expect("eight bytes"));
        new[..8].copy_from_slice(&old.wrapping_add(1).to_be_bytes());
        one.delete(trees.1, &entry_key(old, number), WAIT).await.expect("delete");
        let entry = entry_key(old.wrapping_add(1), number);
        one.insert(trees.1, &entry, b"", Uniqueness::Key, WAIT).await.expect("insert");
    } else {
        new[ROW_BYTES - 1] = new[ROW_BYTES - 1].wrapping_add(1);
    }
    one.update(trees.0, key, &new, WAIT).await.expect("update");
}
