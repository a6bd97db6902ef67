//! Opening before redo is over: what users find meanwhile, and what another crash leaves.

use super::*;
use env::Env;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

const ROWS: u32 = 900;
/// Everything fits; a few pages fit; one page.
const MEMORY: [u64; 3] = [0, 20_000, 1];

fn with_memory(redo_memory_bytes: u64) -> EngineOptions {
    EngineOptions { redo_memory_bytes, ..options() }
}

fn value(number: u32, version: u8) -> Vec<u8> {
    [&number.to_be_bytes()[..], &[version; 200]].concat()
}

async fn set_all(engine: &Arc<Engine>, tree: TreeId, version: u8) {
    let mut writer = repeatable(engine);
    for number in 0..ROWS {
        writer.update(tree, &number.to_be_bytes(), &value(number, version), WAIT).await.unwrap();
    }
    writer.commit().await.unwrap();
}

async fn check(engine: &Arc<Engine>, tree: TreeId, number: u32, version: u8) {
    let row = repeatable(engine).get(tree, &number.to_be_bytes(), ReadMode::Snapshot).await.unwrap();
    assert!(row == Some(value(number, version)), "row {number} as of {version}: {row:?}");
}

async fn check_all(engine: &Arc<Engine>, tree: TreeId, version: u8) {
    for number in 0..ROWS {
        check(engine, tree, number, version).await;
    }
}

/// A machine that crashed when a tree of many leaves had been written, stopped, and changed everywhere.
fn crashed(seed: u64) -> (World, TreeId) {
    let world = World::new(seed, SimOptions::default());
    let env = world.env();
    let work = async move {
        let engine = Engine::open(env.clone(), with_memory(0)).await.unwrap();
        let mut writer = repeatable(&engine);
        let tree = writer.create_tree().await.unwrap();
        for number in 0..ROWS {
            writer
                .insert(tree, &number.to_be_bytes(), &value(number, 0), Uniqueness::Key, WAIT)
                .await
                .unwrap();
        }
        writer.commit().await.unwrap();
        engine.close().await.unwrap();
        let engine = Engine::open(env, with_memory(0)).await.unwrap();
        set_all(&engine, tree, 1).await;
        tree
    };
    let tree = world.block_on(work).unwrap();
    (world.crash(SimOptions::default()), tree)
}

async fn open(env: Env, memory: u64) -> Arc<Engine> {
    Engine::open(env, with_memory(memory)).await.unwrap()
}

#[test]
fn pages_catch_up_when_they_are_needed_and_all_in_the_end() {
    for memory in MEMORY {
        // With a few seeds redo is over when the engine is open.
        let (world, tree) = crashed(2);
        let env = world.env();
        let run = async move {
            let engine = open(env, memory).await;
            let behind = engine.stats().pages_behind;
            assert!(behind > 20, "the database is open before redo: {behind}");
            check(&engine, tree, ROWS - 1, 1).await;
            check(&engine, tree, ROWS / 2, 1).await;
            let mut writer = repeatable(&engine);
            writer.update(tree, &7u32.to_be_bytes(), &value(7, 2), WAIT).await.unwrap();
            writer.commit().await.unwrap();
            engine.finish_background().await;
            assert_eq!(engine.stats().pages_behind, 0);
            check(&engine, tree, 7, 2).await;
            set_all(&engine, tree, 3).await;
            check_all(&engine, tree, 3).await;
            engine.verify().await.unwrap();
            engine.close().await.unwrap();
        };
        world.block_on(run).unwrap();
    }
}

#[test]
fn a_crash_before_the_end_of_redo_loses_nothing() {
    let left_behind = AtomicU64::new(0);
    for memory in MEMORY {
        let (mut world, tree) = crashed(2);
        let changed = Mutex::new(BTreeSet::new());
        for life in 0..24 {
            // The first lives end while the database opens.
            world = world.crash(SimOptions { crash_at: Some(1 + 7 * life), ..SimOptions::default() });
            let env = world.env();
            let run = async {
                let engine = open(env, memory).await;
                let row = life as u32 * 30;
                let mut writer = repeatable(&engine);
                writer.update(tree, &row.to_be_bytes(), &value(row, 2), WAIT).await.unwrap();
                // A checkpoint must not pass what the other pages lack, whatever was written meanwhile.
                engine.checkpoint(false).await.unwrap();
                left_behind.fetch_add(u64::from(engine.stats().pages_behind > 0), Ordering::Relaxed);
                writer.commit().await.unwrap();
                changed.lock().insert(row);
                engine.pool.flush_all().await.unwrap();
                engine.checkpoint(false).await.unwrap();
                engine.close().await.unwrap();
            };
            world.block_on(run);
        }
        let world = world.crash(SimOptions::default());
        let env = world.env();
        let run = async {
            let engine = open(env, memory).await;
            let mut reader = repeatable(&engine);
            for number in 0..ROWS {
                let row = reader.get(tree, &number.to_be_bytes(), ReadMode::Snapshot).await.unwrap();
                let was_tried = number % 30 == 0 && number < 24 * 30;
                let is_new = row == Some(value(number, 2)) && was_tried;
                let is_old = row == Some(value(number, 1)) && !changed.lock().contains(&number);
                assert!(is_new || is_old, "row {number}: {row:?}");
            }
            drop(reader);
            engine.finish_background().await;
            engine.pool.flush_all().await.unwrap();
            engine.checkpoint(false).await.unwrap();
            let age = engine.log_age();
            assert!(age < 10_000, "the log is given up when nothing is behind: {age}");
            engine.verify().await.unwrap();
            engine.close().await.unwrap();
        };
        world.block_on(run).unwrap();
    }
    let lives = left_behind.into_inner();
    assert!(lives >= 5, "checkpoints were made while pages were behind: {lives}");
}

#[test]
fn a_hot_row_does_not_fill_the_memory() {
    let (world, tree) = crashed(3);
    let env = world.env();
    let work = async move {
        let engine = open(env, 0).await;
        for round in 0..2000u32 {
            let mut writer = repeatable(&engine);
            let row = [&round.to_be_bytes()[..], &[7; 150]].concat();
            writer.update(tree, &9u32.to_be_bytes(), &row, WAIT).await.unwrap();
            writer.commit().await.unwrap();
        }
    };
    world.block_on(work).unwrap();
    let world = world.crash(SimOptions::default());
    let env = world.env();
    let run = async move {
        // The log of the hot leaf alone would be ten times as much.
        let engine = open(env, 100_000).await;
        let row = repeatable(&engine).get(tree, &9u32.to_be_bytes(), ReadMode::Snapshot).await.unwrap();
        assert_eq!(row, Some([&1999u32.to_be_bytes()[..], &[7; 150]].concat()));
        check(&engine, tree, 8, 1).await;
        engine.verify().await.unwrap();
        engine.close().await.unwrap();
    };
    world.block_on(run).unwrap();
}
