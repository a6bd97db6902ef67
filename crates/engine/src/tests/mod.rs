//! Tests of the whole engine on the simulated machine.

mod anomalies;
mod backup;
mod crash;
mod damage;
mod freed;
mod isolation;
mod last_key;
mod late;
mod late_crash;
mod load;
mod locking;
mod marks;
mod observers;
mod page_logs;
mod prepared;
mod recovery;
mod redo;
mod row_runs;
mod runs;
mod scans;
mod spill;
mod spill_locks;
mod spill_lookup;
mod stress;
mod tuning;
mod writes;

use crate::{
    AccessMode, Cursor, Direction, Engine, EngineError, EngineOptions, EntryBatch, Isolation, KeyRange,
    LockMode, ReadMode, Transaction, TreeId, Uniqueness, WaitPolicy,
};
use env::sim::{SimOptions, World};
use std::panic::{catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

pub(super) const WAIT: WaitPolicy = WaitPolicy::Wait { timeout_us: 1_000_000 };
pub(super) const EXCLUSIVE: ReadMode = ReadMode::Locking(LockMode::Exclusive, WAIT);
pub(super) const SHARED: ReadMode = ReadMode::Locking(LockMode::Shared, WAIT);
pub(super) const CATALOG: TreeId = TreeId::CATALOG;

pub(super) fn options() -> EngineOptions {
    EngineOptions {
        page_size_bytes: 4096,
        buffer_pool_bytes: 2 << 20,
        redo_capacity_bytes: 4 << 20,
        ..EngineOptions::default()
    }
}

/// Runs a test on a new simulated machine with an open engine, and verifies and closes it at the end.
pub(super) fn with_engine<F>(test: impl FnOnce(Arc<Engine>) -> F)
where
    F: Future<Output = ()>,
{
    let world = World::new(42, SimOptions::default());
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env, options()).await.expect("open");
        test(engine.clone()).await;
        engine.verify().await.expect("verify");
        engine.close().await.expect("close");
    };
    world.block_on(run).unwrap();
}

pub(super) fn begin(engine: &Arc<Engine>, isolation: Isolation) -> Transaction {
    engine.begin(isolation, AccessMode::ReadWrite)
}

/// Two transactions that each change what the other has changed: `two`, which has done less, is the victim.
pub(super) async fn run_into_deadlock(one: &mut Transaction, two: &mut Transaction) {
    set(one, "a", "one").await.unwrap();
    set(one, "a", "one again").await.unwrap();
    set(two, "b", "two").await.unwrap();
    let mut first = pin!(set(one, "b", "one"));
    assert!(waits(&mut first));
    assert_eq!(set(two, "a", "two").await, Err(EngineError::Deadlock));
    first.await.unwrap();
}

pub(super) fn repeatable(engine: &Arc<Engine>) -> Transaction {
    begin(engine, Isolation::RepeatableRead)
}

pub(super) async fn put(transaction: &mut Transaction, key: &str, value: &str) -> Result<(), EngineError> {
    transaction.insert(CATALOG, key.as_bytes(), value.as_bytes(), Uniqueness::Key, WAIT).await
}

pub(super) async fn set(transaction: &mut Transaction, key: &str, value: &str) -> Result<(), EngineError> {
    transaction.update(CATALOG, key.as_bytes(), value.as_bytes(), WAIT).await
}

pub(super) async fn remove(transaction: &mut Transaction, key: &str) -> Result<(), EngineError> {
    transaction.delete(CATALOG, key.as_bytes(), WAIT).await
}

pub(super) async fn read(
    transaction: &mut Transaction,
    key: &str,
    mode: ReadMode,
) -> Result<Option<String>, EngineError> {
    let value = transaction.get(CATALOG, key.as_bytes(), mode).await?;
    Ok(value.map(|value| String::from_utf8(value).expect("the tests write text")))
}

/// What a new transaction sees.
pub(super) async fn committed(engine: &Arc<Engine>, key: &str) -> Option<String> {
    let mut transaction = repeatable(engine);
    read(&mut transaction, key, ReadMode::Snapshot).await.expect("read")
}

/// All keys and values of a scan, as "key=value".
pub(super) async fn collect(
    transaction: &mut Transaction,
    tree: TreeId,
    range: KeyRange,
    direction: Direction,
    mode: ReadMode,
) -> Result<Vec<String>, EngineError> {
    let mut cursor: Cursor = transaction.scan(tree, range, direction, mode);
    let mut batch = EntryBatch::default();
    while cursor.next_batch(transaction, 3, &mut batch).await? {}
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(batch.iter().map(|(key, value)| format!("{}={}", text(key), text(value))).collect())
}

pub(super) async fn all(transaction: &mut Transaction, mode: ReadMode) -> Result<Vec<String>, EngineError> {
    collect(transaction, CATALOG, KeyRange::all(), Direction::Forward, mode).await
}

/// Inserts rows in a transaction of their own.
pub(super) async fn fill(engine: &Arc<Engine>, rows: &[(&str, &str)]) {
    let mut transaction = repeatable(engine);
    for (key, value) in rows {
        put(&mut transaction, key, value).await.expect("insert");
    }
    transaction.commit().await.expect("commit");
}

/// Polls once: true when the future has to wait.
pub(super) fn waits<F: Future>(future: &mut Pin<&mut F>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(future.as_mut().poll(&mut context), Poll::Pending)
}

/// Drops the future, like a killed query, when it has not ended after this many polls.
pub(super) async fn cut_off<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(context).map(Some)
    })
    .await
}

/// Runs one seed after the other, `ENGINE_CRASH_SEEDS` of them from `ENGINE_CRASH_FIRST` on; says how to replay one that
/// fails. Answers how many.
fn run_seeds(default: u64, run: impl Fn(u64) + std::panic::RefUnwindSafe) -> u64 {
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse::<u64>().ok());
    let seeds = number("ENGINE_CRASH_SEEDS").unwrap_or(default);
    let first = number("ENGINE_CRASH_FIRST").unwrap_or(1);
    for seed in first..first + seeds {
        if let Err(panic) = catch_unwind(|| run(seed)) {
            eprintln!("replay with ENGINE_CRASH_FIRST={seed} ENGINE_CRASH_SEEDS=1");
            resume_unwind(panic);
        }
    }
    seeds
}

#[test]
fn an_empty_database_opens_again() {
    let world = World::new(1, SimOptions::default());
    for _ in 0..3 {
        let env = world.env();
        let run = async move {
            let engine = Engine::open(env, options()).await.expect("open");
            engine.verify().await.expect("verify");
            engine.close().await.expect("close");
        };
        world.block_on(run).unwrap();
    }
}

#[test]
fn the_engine_works_on_a_real_disk() {
    let directory = std::env::temp_dir().join(format!("engine-test-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    for life in 0..3 {
        let spawner = Arc::new(env::local::ThreadSpawner::new(2));
        let env = env::real_env(&directory, spawner).expect("real environment");
        env::local::block_on(async {
            let engine = Engine::open(env, options()).await.expect("open");
            for earlier in 0..life {
                let key = format!("k{earlier}");
                assert_eq!(committed(&engine, &key).await.as_deref(), Some("v"), "life {life}");
            }
            fill(&engine, &[(&format!("k{life}"), "v")]).await;
            engine.verify().await.expect("verify");
            // The second life ends without a close.
            if life != 1 {
                engine.close().await.expect("close");
            }
        });
    }
    std::fs::remove_dir_all(&directory).expect("the directory can be removed");
}

#[test]
fn the_engine_in_memory_works_on_threads() {
    let engine = Engine::in_memory();
    env::local::block_on(async {
        fill(&engine, &[("a", "1"), ("b", "2")]).await;
        assert_eq!(committed(&engine, "b").await.as_deref(), Some("2"));
        let mut pinned = pin!(committed(&engine, "a"));
        assert!(!waits(&mut pinned), "a read of a resident page never waits");
    });
}
