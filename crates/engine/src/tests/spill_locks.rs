//! Locks of rows that a transaction has not changed, when they are too many for memory.

use super::spill::{ROWS, key, life, old_rows, rows, settle, with_rows};
use super::*;

/// Every second row.
fn some_rows() -> impl Iterator<Item = u32> {
    (0..ROWS).step_by(2)
}

async fn lock_some(transaction: &mut Transaction, mode: LockMode) {
    for number in some_rows() {
        transaction.get(CATALOG, &key(number), ReadMode::Locking(mode, WAIT)).await.unwrap();
    }
}

/// Whether another transaction gets a row's lock at once.
async fn may_lock(engine: &Arc<Engine>, number: u32, mode: LockMode) -> bool {
    let mut other = repeatable(engine);
    let read = ReadMode::Locking(mode, WaitPolicy::NoWait);
    let read = other.get(CATALOG, &key(number), read).await;
    other.rollback().await.unwrap();
    assert!(matches!(read, Ok(_) | Err(EngineError::LockNotAvailable)), "{read:?}");
    read.is_ok()
}

#[test]
fn locks_of_rows_that_are_only_read_leave_memory_and_hold() {
    with_rows(|engine| async move {
        let mut one = repeatable(&engine);
        one.take_snapshot();
        let mut two = repeatable(&engine);
        two.update(CATALOG, &key(8), b"after the snapshot", WAIT).await.unwrap();
        two.commit().await.unwrap();
        lock_some(&mut one, LockMode::Shared).await;
        assert!(engine.stats().row_table_entries < 30, "{:?}", engine.stats());
        assert!(one.work.state().spill().is_some());
        for number in 0..ROWS {
            assert!(may_lock(&engine, number, LockMode::Shared).await, "{number}");
            assert_eq!(may_lock(&engine, number, LockMode::Exclusive).await, number % 2 == 1, "{number}");
        }
        // Locked is not changed.
        assert!(rows(&mut one, Direction::Forward, ReadMode::Snapshot).await == old_rows());

        let (mut waiting, mut beside) = (repeatable(&engine), repeatable(&engine));
        beside.get(CATALOG, &key(4), ReadMode::Locking(LockMode::Shared, WAIT)).await.unwrap();
        let fourth = key(4);
        let mut update = Box::pin(waiting.update(CATALOG, &fourth, b"new", WAIT));
        assert!(waits(&mut update.as_mut()));
        one.work.spill().await.unwrap();
        beside.commit().await.unwrap();
        assert!(waits(&mut update.as_mut()), "the spilled lock alone is in the way");
        // Stronger locks and changes of rows with spilled locks, and back to what was locked before.
        let savepoint = one.savepoint();
        for number in some_rows().filter(|number| number % 8 == 0) {
            let exclusive = ReadMode::Locking(LockMode::Exclusive, WAIT);
            one.get(CATALOG, &key(number), exclusive).await.unwrap();
            one.update(CATALOG, &key(number), b"mine", WAIT).await.unwrap();
        }
        one.work.spill().await.unwrap();
        one.rollback_to(savepoint).await.unwrap();
        assert!(rows(&mut one, Direction::Forward, ReadMode::Snapshot).await == old_rows());
        for number in some_rows().filter(|number| *number != 4) {
            let is_free = number % 8 != 0;
            assert_eq!(may_lock(&engine, number, LockMode::Shared).await, is_free, "{number}");
        }
        one.commit().await.unwrap();
        update.await.unwrap();
        waiting.rollback().await.unwrap();
        for number in 0..ROWS {
            assert!(may_lock(&engine, number, LockMode::Exclusive).await, "{number}");
        }
        settle(&engine).await;
    });
}

#[test]
fn spilled_locks_end_with_a_rollback_and_with_a_crash() {
    let world = with_rows(|engine| async move {
        let mut one = repeatable(&engine);
        assert_eq!(
            rows(&mut one, Direction::Backward, ReadMode::Locking(LockMode::Exclusive, WAIT)).await,
            old_rows()
        );
        assert!(engine.stats().row_table_entries < 30, "{:?}", engine.stats());
        assert!(!may_lock(&engine, 7, LockMode::Shared).await);
        one.rollback().await.unwrap();
        assert!(may_lock(&engine, 7, LockMode::Exclusive).await);
        settle(&engine).await;
        let mut left = repeatable(&engine);
        left.update(CATALOG, &key(3), b"never", WAIT).await.unwrap();
        lock_some(&mut left, LockMode::Exclusive).await;
        left.work.spill().await.unwrap();
        engine.wal.wait_durable(engine.wal.end_lsn()).await.unwrap();
        std::mem::forget(left);
    });
    life(&world, |engine| async move {
        settle(&engine).await;
        let mut one = repeatable(&engine);
        assert!(
            rows(&mut one, Direction::Forward, ReadMode::Locking(LockMode::Exclusive, WAIT)).await
                == old_rows()
        );
        one.commit().await.unwrap();
        settle(&engine).await;
    });
}
