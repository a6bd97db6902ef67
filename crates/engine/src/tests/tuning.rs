//! Settings that change while the engine works.

use super::*;
use crate::FlushAtCommit;

async fn fill(engine: &Arc<Engine>, prefix: &str, rows: u32) -> u64 {
    let mut oldest_age = 0;
    let value = "v".repeat(900);
    for chunk in 0..rows.div_ceil(100) {
        let mut transaction = repeatable(engine);
        for number in 0..100 {
            put(&mut transaction, &format!("{prefix}{chunk:05}{number:03}"), &value).await.expect("insert");
        }
        transaction.commit().await.expect("commit");
        oldest_age = oldest_age.max(engine.log_age());
    }
    oldest_age
}

/// Waits until the engine's figures are so.
async fn until(engine: &Arc<Engine>, is_so: impl Fn(&crate::EngineStats) -> bool) {
    for _ in 0..1000 {
        if is_so(&engine.stats()) {
            return;
        }
        engine.env.clock.sleep(10_000).await;
    }
    panic!("it did not come to that: {:?}", engine.stats());
}

#[test]
fn the_log_grows_and_shrinks_under_load() {
    with_engine(|engine| async move {
        const SMALL: u64 = 4 << 20;
        const LARGE: u64 = 64 << 20;
        assert_eq!(engine.stats().log_capacity_bytes, SMALL);
        assert!(fill(&engine, "a", 8_000).await <= SMALL);
        engine.set_redo_capacity(LARGE);
        assert_eq!(engine.stats().log_capacity_bytes, LARGE, "growth holds at once");
        let age = fill(&engine, "b", 16_000).await;
        assert!(age > SMALL, "the log may be longer now: {age}");
        engine.set_redo_capacity(SMALL);
        fill(&engine, "c", 4_000).await;
        until(&engine, |stats| stats.log_capacity_bytes == SMALL).await;
        let age = fill(&engine, "d", 8_000).await;
        assert!(age <= SMALL, "the log is {age} bytes long");
    });
}

/// Commits without waiting for the disk. Answers where the log ends.
async fn commit_lazily(engine: &Arc<Engine>) -> wal::Lsn {
    engine.set_flush_at_commit(FlushAtCommit::Lazy);
    let mut transaction = repeatable(engine);
    put(&mut transaction, "k", "v").await.expect("insert");
    transaction.commit().await.expect("commit");
    let end = engine.wal.end_lsn();
    assert!(engine.wal.durable_lsn() < end, "nobody waited for the disk");
    end
}

#[test]
fn a_lazy_commit_is_durable_a_second_later() {
    with_engine(|engine| async move {
        let end = commit_lazily(&engine).await;
        engine.env.clock.sleep(1_100_000).await;
        assert!(engine.wal.durable_lsn() >= end);
        engine.set_flush_at_commit(FlushAtCommit::Durable);
        let mut transaction = repeatable(&engine);
        put(&mut transaction, "l", "v").await.expect("insert");
        transaction.commit().await.expect("commit");
        assert!(engine.wal.durable_lsn() >= engine.wal.end_lsn());
    });
}

#[test]
fn a_flushed_log_is_durable_at_once() {
    with_engine(|engine| async move {
        let end = commit_lazily(&engine).await;
        engine.flush_log().await.expect("flush");
        assert!(engine.wal.durable_lsn() >= end);
    });
}

#[test]
fn budgets_follow_the_sizes_of_pool_and_log() {
    let world = World::new(44, SimOptions::default());
    let env = world.env();
    let run = async move {
        let large = EngineOptions { buffer_pool_bytes: 64 << 20, redo_capacity_bytes: 1 << 30, ..options() };
        let engine = Engine::open(env, large).await.expect("open");
        let budgets = &engine.budgets;
        let budgets = || {
            [budgets.undo_bytes(), budgets.late_bytes(), budgets.page_log_bytes()].map(|bytes| bytes >> 20)
        };
        assert_eq!(budgets(), [32, 4, 32]);
        engine.set_buffer_pool_bytes(32 << 20);
        assert_eq!(budgets(), [16, 2, 16]);
        engine.set_redo_capacity(16 << 20);
        assert_eq!(budgets(), [4, 1, 2]);
        engine.set_buffer_pool_bytes(64 << 20);
        engine.set_redo_capacity(1 << 30);
        assert_eq!(budgets(), [32, 4, 32]);
        engine.close().await.expect("close");
    };
    world.block_on(run).unwrap();
}

#[test]
fn writers_slow_down_to_the_limits_and_none_fails() {
    with_engine(|engine| async move {
        engine.set_write_cap(Some(500));
        engine.set_dirty_share_max(0.2);
        let before = (engine.env.clock.now_us(), engine.pool.pages_written());
        fill(&engine, "w", 6_000).await;
        let stats = engine.stats();
        assert!(stats.pool_pages_dirty * 100 <= stats.pool_pages_total * 22, "{stats:?}");
        let seconds = (engine.env.clock.now_us() - before.0) as f64 / 1e6;
        let written = engine.pool.pages_written() - before.1;
        assert!(written as f64 <= 500.0 * (seconds + 0.5), "{written} pages in {seconds} s");
    });
}

#[test]
fn a_database_opens_with_another_log_capacity() {
    let world = World::new(43, SimOptions::default());
    let env = world.env();
    let run = async move {
        for (number, redo_capacity_bytes) in [64 << 20, 4 << 20, 128 << 20].into_iter().enumerate() {
            let engine = Engine::open(env.clone(), EngineOptions { redo_capacity_bytes, ..options() });
            let engine = engine.await.expect("open");
            assert_eq!(engine.stats().log_capacity_bytes, redo_capacity_bytes);
            fill(&engine, &format!("{number}"), 2_000).await;
            engine.close().await.expect("close");
        }
    };
    world.block_on(run).unwrap();
}

/// Also with a transaction that has to be undone, whose records are far back in the log.
#[test]
fn a_database_opens_with_a_far_smaller_log_than_it_has() {
    const SMALL: u64 = 4 << 20;
    let world = World::new(45, SimOptions::default());
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env, EngineOptions { redo_capacity_bytes: 128 << 20, ..options() });
        let engine = engine.await.expect("open");
        let mut unfinished = repeatable(&engine);
        put(&mut unfinished, "unfinished", "x").await.expect("insert");
        std::mem::forget(unfinished);
        let mut round = 0;
        while engine.log_age() < 36 << 20 {
            fill(&engine, &format!("{round}"), 2_000).await;
            round += 1;
        }
    };
    world.block_on(run).unwrap();
    let world = world.crash(SimOptions::default());
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env, EngineOptions { redo_capacity_bytes: SMALL, ..options() });
        let engine = engine.await.expect("open");
        until(&engine, |stats| stats.log_capacity_bytes == SMALL).await;
        assert_eq!(committed(&engine, "unfinished").await, None);
        assert!(fill(&engine, "after", 2_000).await <= SMALL);
        engine.verify().await.expect("verify");
        engine.close().await.expect("close");
    };
    world.block_on(run).unwrap();
}

/// Logs of dirty pages that fitted into the log before must not keep it from becoming shorter.
#[test]
fn logs_of_dirty_pages_shrink_with_the_log() {
    let world = World::new(46, SimOptions::default());
    let env = world.env();
    let run = async move {
        const SMALL: u64 = 4 << 20;
        let large =
            EngineOptions { redo_capacity_bytes: 64 << 20, page_log_bytes: Some(8 << 20), ..options() };
        let engine = Engine::open(env, large).await.expect("open");
        let value = "v".repeat(400);
        for chunk in 0..640 {
            let mut transaction = repeatable(&engine);
            for number in 0..100 {
                put(&mut transaction, &format!("{chunk:05}{number:03}"), &value).await.expect("insert");
            }
            transaction.commit().await.expect("commit");
        }
        engine.pool.flush_all().await.expect("flush");
        for chunk in 0..640 {
            let mut transaction = repeatable(&engine);
            for number in (0..100).step_by(9) {
                set(&mut transaction, &format!("{chunk:05}{number:03}"), "short").await.expect("update");
            }
            transaction.commit().await.expect("commit");
        }
        assert!(engine.stats().page_log_bytes > SMALL / 8, "{:?}", engine.stats());
        engine.set_redo_capacity(SMALL);
        until(&engine, |stats| stats.log_capacity_bytes == SMALL && stats.page_log_bytes <= SMALL / 8).await;
        engine.close().await.expect("close");
    };
    world.block_on(run).unwrap();
}

/// One commit record may name many long values, and groups are as small as the log was when it was made.
#[test]
fn a_commit_that_frees_many_long_values_fits_into_the_log() {
    let world = World::new(47, SimOptions::default());
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env, EngineOptions { buffer_pool_bytes: 64 << 20, ..options() });
        let engine = engine.await.expect("open");
        engine.set_redo_capacity(1 << 30);
        let value = "v".repeat(1_100);
        let key = |number: u32| format!("{number:06}");
        for chunk in 0..17 {
            let mut transaction = repeatable(&engine);
            for number in 0..1000 {
                put(&mut transaction, &key(chunk * 1000 + number), &value).await.expect("insert");
            }
            transaction.commit().await.expect("commit");
        }
        let mut transaction = repeatable(&engine);
        for number in 0..17_000 {
            remove(&mut transaction, &key(number)).await.expect("delete");
        }
        transaction.commit().await.expect("commit");
        engine.finish_background().await;
        engine.verify().await.expect("verify");
        engine.close().await.expect("close");
    };
    world.block_on(run).unwrap();
}
