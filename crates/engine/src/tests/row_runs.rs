//! Locks of long locking scans, which are ranges of rows: they keep others out as locks of single rows do.

use super::*;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

const ROWS: u32 = 600;

fn name(number: u32) -> String {
    format!("{number:05}")
}

async fn with_rows(engine: &Arc<Engine>) {
    let mut transaction = repeatable(engine);
    for number in 0..ROWS {
        put(&mut transaction, &name(number * 2), "1").await.unwrap();
    }
    transaction.commit().await.unwrap();
    // What new snapshots see needs no older versions.
    let _ = engine.prune(usize::MAX);
    assert_eq!(engine.stats().row_table_entries, 0);
}

fn below(number: u32) -> KeyRange {
    KeyRange { upper: Some(name(number).into_bytes()), upper_excluded: true, ..KeyRange::default() }
}

async fn lock_below(transaction: &mut Transaction, number: u32, direction: Direction, mode: ReadMode) {
    let rows = collect(transaction, CATALOG, below(number), direction, mode).await.unwrap();
    assert_eq!(rows.len() as u32, number.div_ceil(2));
}

async fn may(transaction: &mut Transaction, number: u32, mode: LockMode) -> bool {
    let mode = ReadMode::Locking(mode, WaitPolicy::NoWait);
    let read = transaction.get(CATALOG, name(number).as_bytes(), mode).await;
    assert!(matches!(read, Ok(_) | Err(EngineError::LockNotAvailable)), "{read:?}");
    read.is_ok()
}

#[test]
fn rows_of_a_long_scan_have_no_entries_and_are_locked() {
    for direction in [Direction::Forward, Direction::Backward] {
        with_engine(|engine| async move {
            with_rows(&engine).await;
            let mut one = repeatable(&engine);
            lock_below(&mut one, 1000, direction, SHARED).await;
            assert!(engine.stats().row_table_entries < 100, "{:?}", engine.stats());
            assert_eq!(engine.active_transactions()[0].locks, 500);
            let mut two = repeatable(&engine);
            for number in (0..1200).step_by(14) {
                assert!(may(&mut two, number, LockMode::Shared).await, "{number}");
                assert_eq!(may(&mut two, number, LockMode::Exclusive).await, number >= 1000, "{number}");
            }
            two.rollback().await.unwrap();
            let mut three = repeatable(&engine);
            {
                let mut update = pin!(set(&mut three, "00500", "3"));
                assert!(waits(&mut update));
                one.commit().await.unwrap();
                update.await.unwrap();
            }
            three.commit().await.unwrap();
            assert!(engine.locks().is_empty());
            assert_eq!(committed(&engine, "00500").await.as_deref(), Some("3"));
        });
    }
}

#[test]
fn a_row_in_use_ends_a_run_and_another_follows() {
    with_engine(|engine| async move {
        with_rows(&engine).await;
        let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
        assert!(may(&mut two, 700, LockMode::Exclusive).await);
        {
            let mut scan = pin!(all(&mut one, EXCLUSIVE));
            assert!(waits(&mut scan));
            // What lies behind the row is not locked yet.
            let mut three = repeatable(&engine);
            assert!(may(&mut three, 702, LockMode::Exclusive).await);
            assert!(!may(&mut three, 698, LockMode::Shared).await);
            three.rollback().await.unwrap();
            two.rollback().await.unwrap();
            assert_eq!(scan.await.unwrap().len() as u32, ROWS);
        }
        let mut three = repeatable(&engine);
        assert!(!may(&mut three, 702, LockMode::Shared).await);
        assert!(!may(&mut three, 700, LockMode::Shared).await);
        assert!(put(&mut one, "00701", "own").await.is_ok());
        three.rollback().await.unwrap();
        one.commit().await.unwrap();
    });
}

#[test]
fn scans_that_wait_for_each_other_are_a_deadlock() {
    with_engine(|engine| async move {
        with_rows(&engine).await;
        let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
        lock_below(&mut one, 800, Direction::Forward, EXCLUSIVE).await;
        let upper = KeyRange { lower: Some(name(1000).into_bytes()), ..KeyRange::default() };
        let rows = collect(&mut two, CATALOG, upper, Direction::Forward, EXCLUSIVE).await.unwrap();
        assert_eq!(rows.len(), 100);
        {
            let mut first = pin!(set(&mut one, "01100", "one"));
            assert!(waits(&mut first));
            // The one that has locked more goes on.
            assert_eq!(set(&mut two, "00100", "two").await, Err(EngineError::Deadlock));
            first.await.unwrap();
        }
        one.commit().await.unwrap();
        assert_eq!(committed(&engine, "01100").await.as_deref(), Some("one"));
    });
}

/// Scans and look-ups that add one to what they read, on several threads: no change is lost.
#[test]
fn scans_side_by_side_lose_nothing() {
    const THREADS: u32 = 4;
    const ROUNDS: u32 = 40;
    let engine = Engine::in_memory();
    env::local::block_on(with_rows(&engine));
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (engine, done) = (&engine, &done);
            scope.spawn(move || {
                env::local::block_on(async {
                    for round in 0..ROUNDS {
                        let key = name((thread * 331 + round * 97) % ROWS * 2);
                        match add_one(engine, &key, round % 3 == 0).await {
                            Ok(()) => done.fetch_add(1, Relaxed),
                            Err(EngineError::Deadlock | EngineError::LockWaitTimeout) => 0,
                            Err(error) => panic!("{error:?}"),
                        };
                    }
                });
            });
        }
    });
    env::local::block_on(async {
        let mut transaction = repeatable(&engine);
        let rows = all(&mut transaction, ReadMode::Snapshot).await.unwrap();
        let sum: u64 = rows.iter().map(|row| row[6..].parse::<u64>().expect("a number")).sum();
        assert!(done.load(Relaxed) > 0);
        assert_eq!(sum, u64::from(ROWS) + done.load(Relaxed));
    });
}

async fn add_one(engine: &Arc<Engine>, key: &str, looks_up: bool) -> Result<(), EngineError> {
    let mut transaction = repeatable(engine);
    let value = if looks_up {
        read(&mut transaction, key, EXCLUSIVE).await?.expect("a row")
    } else {
        let rows = all(&mut transaction, EXCLUSIVE).await?;
        let found = rows.iter().find_map(|row| row.strip_prefix(&format!("{key}=")));
        found.expect("a row").to_owned()
    };
    let next = value.parse::<u64>().expect("a number") + 1;
    set(&mut transaction, key, &next.to_string()).await?;
    transaction.commit().await
}
