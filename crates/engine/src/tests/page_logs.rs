//! Dirty pages that leave memory without being written: what a log that comes round, a crash and a clean stop make of them.

use super::*;
use env::Env;
use parking_lot::Mutex;

const ROWS: u32 = 4_000;

/// A few dozen frames for some 300 leaves.
fn small() -> EngineOptions {
    EngineOptions { buffer_pool_bytes: 64 * 4200, page_log_bytes: Some(100_000), ..options() }
}

fn value(number: u32, version: u32) -> Vec<u8> {
    [&[7; 150][..], &number.to_be_bytes(), &version.to_be_bytes()].concat()
}

async fn set(engine: &Arc<Engine>, tree: TreeId, number: u32, version: u32) {
    let mut writer = repeatable(engine);
    writer.update(tree, &number.to_be_bytes(), &value(number, version), WAIT).await.unwrap();
    writer.commit().await.unwrap();
}

async fn check_all(engine: &Arc<Engine>, tree: TreeId, versions: &[u32]) {
    let mut reader = repeatable(engine);
    for (number, version) in (0..).zip(versions) {
        let row = reader.get(tree, &u32::to_be_bytes(number), ReadMode::Snapshot).await.unwrap();
        assert_eq!(row, Some(value(number, *version)), "row {number}");
    }
}

async fn make(engine: &Arc<Engine>) -> TreeId {
    make_rows(engine, ROWS).await
}

async fn make_rows(engine: &Arc<Engine>, rows: u32) -> TreeId {
    let mut writer = repeatable(engine);
    let tree = writer.create_tree().await.unwrap();
    for number in 0..rows {
        let key = number.to_be_bytes();
        writer.insert(tree, &key, &value(number, 0), Uniqueness::Key, WAIT).await.unwrap();
    }
    writer.commit().await.unwrap();
    tree
}

/// Changes rows at random until the log has grown by so many bytes.
async fn change_some(
    engine: &Arc<Engine>,
    env: &Env,
    tree: TreeId,
    log_bytes: u64,
    versions: &Mutex<Vec<u32>>,
) {
    let end = engine.stats().log_end_lsn + log_bytes;
    while engine.stats().log_end_lsn < end {
        let number = env.random.u64() as u32 % ROWS;
        let version = versions.lock()[number as usize] + 1;
        set(engine, tree, number, version).await;
        versions.lock()[number as usize] = version;
    }
}

#[test]
fn they_outlive_a_log_that_comes_round_a_crash_and_a_stop() {
    let versions = Mutex::new(vec![0; ROWS as usize]);
    let versions = &versions;
    let world = World::new(31, SimOptions::default());
    let env = world.env();
    let life = async move {
        let engine = Engine::open(env.clone(), small()).await.unwrap();
        let tree = make(&engine).await;
        let dropped = make(&engine).await;
        let capacity = engine.stats().log_capacity_bytes;
        set(&engine, dropped, 9, 1).await;
        change_some(&engine, &env, tree, capacity, versions).await;
        let mut writer = repeatable(&engine);
        writer.drop_tree(dropped).await.unwrap();
        writer.commit().await.unwrap();
        change_some(&engine, &env, tree, 2 * capacity, versions).await;
        let stats = engine.stats();
        assert!(stats.dirty_pages_left > 1_000 && stats.dirty_pages_returned > 1_000, "{stats:?}");
        assert!(stats.page_logs_renewed > 100 && stats.dirty_pages_absent > 50, "{stats:?}");
        assert!(stats.page_log_bytes < 110_000 && engine.log_age() < capacity / 2, "{stats:?}");
        tree
    };
    let tree = world.block_on(life).unwrap();
    let world = world.crash(SimOptions::default());
    let env = world.env();
    let life = async move {
        let engine = Engine::open(env.clone(), small()).await.unwrap();
        assert!(engine.stats().dirty_pages_absent > 50, "{:?}", engine.stats());
        change_some(&engine, &env, tree, 200_000, versions).await;
        let expected = versions.lock().clone();
        check_all(&engine, tree, &expected).await;
        engine.close().await.unwrap();
    };
    world.block_on(life).unwrap();
    let env = world.env();
    let life = async move {
        let engine = Engine::open(env, small()).await.unwrap();
        let stats = engine.stats();
        assert!(stats.dirty_pages_absent > 50 && stats.pages_behind == 0, "{stats:?}");
        assert!(engine.log_age() < 200_000, "what they lack was logged again: {}", engine.log_age());
        let expected = versions.lock().clone();
        check_all(&engine, tree, &expected).await;
        engine.verify().await.unwrap();
        engine.close().await.unwrap();
    };
    world.block_on(life).unwrap();
}

#[test]
fn with_less_memory_for_logs_pages_are_written() {
    let world = World::new(33, SimOptions::default());
    let env = world.env();
    let run = async move {
        let versions = Mutex::new(vec![0; ROWS as usize]);
        let engine = Engine::open(env.clone(), small()).await.unwrap();
        let tree = make(&engine).await;
        change_some(&engine, &env, tree, 4 << 20, &versions).await;
        let before = engine.stats();
        assert!(before.dirty_pages_absent > 50, "{before:?}");
        engine.pool.page_logs().set_budget(before.page_log_bytes / 2);
        engine.write_absent_beyond_budget().await.unwrap();
        let after = engine.stats();
        assert!(after.page_log_bytes <= before.page_log_bytes / 2, "{after:?}");
        let expected = versions.lock().clone();
        check_all(&engine, tree, &expected).await;
        engine.close().await.unwrap();
    };
    world.block_on(run).unwrap();
}

/// Pages that nobody needs any more give their memory back, if others want it.
#[test]
fn logs_that_nobody_needs_make_room() {
    let world = World::new(32, SimOptions::default());
    let env = world.env();
    let run = async move {
        let options = EngineOptions { page_log_bytes: Some(30_000), ..small() };
        let engine = Engine::open(env.clone(), options).await.unwrap();
        let (cold, hot) = (make(&engine).await, make(&engine).await);
        let before = engine.pool.page_logs().absent_pages();
        for number in (0..ROWS).step_by(16) {
            set(&engine, cold, number, 1).await;
        }
        let mut of_cold = engine.pool.page_logs().absent_pages();
        of_cold.retain(|page| !before.contains(page));
        assert!(of_cold.len() > 50, "{}", of_cold.len());
        let capacity = engine.stats().log_capacity_bytes;
        let versions = Mutex::new(vec![0; ROWS as usize]);
        change_some(&engine, &env, hot, 10 * capacity, &versions).await;
        let now = engine.pool.page_logs().absent_pages();
        let left = of_cold.iter().filter(|page| now.contains(page)).count();
        assert!(left * 4 < of_cold.len() && !now.is_empty(), "{left} of {}", of_cold.len());
        let expected = versions.into_inner();
        check_all(&engine, hot, &expected).await;
        engine.verify().await.unwrap();
        engine.close().await.unwrap();
    };
    world.block_on(run).unwrap();
}

/// Pages that stay in memory are written for their age a few at a time, however rarely there is a checkpoint.
#[test]
fn old_pages_in_memory_are_written_evenly() {
    const PAGE_COUNT: u32 = 1_500;
    const ROWS_PER_PAGE: u32 = 16;
    let world = World::new(34, SimOptions::default());
    let env = world.env();
    let run = async move {
        let large =
            EngineOptions { buffer_pool_bytes: 2500 * 4200, page_log_bytes: Some(1 << 20), ..small() };
        let engine = Engine::open(env.clone(), large).await.unwrap();
        let tree = make_rows(&engine, PAGE_COUNT * ROWS_PER_PAGE).await;
        engine.pool.flush_all().await.unwrap();
        let capacity = engine.stats().log_capacity_bytes;
        let mut version = 0;
        let mut grow_log = async |bytes: u64| {
            let end = engine.stats().log_end_lsn + bytes;
            while engine.stats().log_end_lsn < end {
                version += 1;
                set(&engine, tree, 0, version).await;
            }
        };
        let mut written = Vec::new();
        for number in 0..2 * PAGE_COUNT {
            let before = engine.pool.pages_written();
            if number < PAGE_COUNT {
                set(&engine, tree, (number + 1) * ROWS_PER_PAGE - 1, 1).await;
            }
            grow_log(capacity / 3072).await;
            written.push(engine.pool.pages_written() - before);
        }
        let (most, all) = (written.iter().max().unwrap(), written.iter().sum::<u64>());
        assert!(all >= u64::from(PAGE_COUNT) / 2, "{all}: {written:?}");
        // Some 32 wait for each other, so that a batch is worth its syncs.
        assert!(*most * 26 <= all, "{most} of {all} at once: {written:?}");
        engine.verify().await.unwrap();
        engine.close().await.unwrap();
    };
    world.block_on(run).unwrap();
}

/// A stop makes the logs of all pages that are not in memory equally old, and so does a crash.
#[test]
fn those_renewed_together_come_due_one_after_another() {
    const STEPS: u64 = 512;
    let versions = Mutex::new(vec![0; ROWS as usize]);
    let versions = &versions;
    let world = World::new(35, SimOptions::default());
    let env = world.env();
    let life = async move {
        let engine = Engine::open(env.clone(), small()).await.unwrap();
        let (tree, other) = (make(&engine).await, make(&engine).await);
        change_some(&engine, &env, tree, engine.stats().log_capacity_bytes, versions).await;
        engine.close().await.unwrap();
        (tree, other)
    };
    let (tree, other) = world.block_on(life).unwrap();
    let env = world.env();
    let life = async move {
        let engine = Engine::open(env, small()).await.unwrap();
        assert!(engine.stats().dirty_pages_absent > 50, "{:?}", engine.stats());
        let capacity = engine.stats().log_capacity_bytes;
        let mut version = 0;
        let mut renewed = Vec::new();
        for _ in 0..STEPS / 2 {
            let before = engine.stats();
            while engine.stats().log_end_lsn < before.log_end_lsn + capacity / STEPS {
                version += 1;
                set(&engine, other, 0, version).await;
            }
            renewed.push(engine.stats().page_logs_renewed - before.page_logs_renewed);
        }
        let (most, all) = (renewed.iter().max().unwrap(), renewed.iter().sum::<u64>());
        assert!(all > 50 && most * 8 < all, "{most} of {all} in one step of the log: {renewed:?}");
        let expected = versions.lock().clone();
        check_all(&engine, tree, &expected).await;
        engine.close().await.unwrap();
    };
    world.block_on(life).unwrap();
}
