//! What the engine no longer uses leaves the page store: after drops, deletes, restarts, and on a full disk.

use super::*;
use crate::{SegmentOptions, StoreKind};
use pagestore::PageId;

fn segment_options() -> EngineOptions {
    let segments = SegmentOptions {
        segment_bytes: 128 << 10,
        segments_per_file: 16,
        fill_target_percent: 90,
        ..SegmentOptions::default()
    };
    EngineOptions { store: StoreKind::Segments(segments), ..options() }
}

fn on_segments<F>(sim: SimOptions, test: impl FnOnce(Arc<Engine>) -> F) -> World
where
    F: Future<Output = ()>,
{
    let world = World::new(7, sim);
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env, segment_options()).await.expect("open");
        test(engine.clone()).await;
        engine.verify().await.expect("verify");
    };
    world.block_on(run).unwrap();
    world
}

/// How many pages the store has an image of.
fn stored(engine: &Engine) -> u64 {
    let store = engine.pool.store();
    (0..store.page_count()).filter(|page| store.holds(PageId(*page))).count() as u64
}

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// A new tree with so many rows of 400 bytes; every eighth row is a long value.
async fn filled_tree(engine: &Arc<Engine>, rows: u32) -> TreeId {
    let mut transaction = repeatable(engine);
    let tree = transaction.create_tree().await.unwrap();
    for number in 0..rows {
        let value = vec![number as u8; if number % 8 == 0 { 9000 } else { 400 }];
        transaction.insert(tree, &key(number), &value, Uniqueness::Key, WAIT).await.unwrap();
    }
    transaction.commit().await.unwrap();
    tree
}

async fn drop_tree(engine: &Arc<Engine>, tree: TreeId) {
    let mut transaction = repeatable(engine);
    transaction.drop_tree(tree).await.unwrap();
    transaction.commit().await.unwrap();
}

/// Waits for background work, with some statements in between that drive it.
async fn calm(engine: &Arc<Engine>) {
    for _ in 0..20 {
        fill(engine, &[("calm", "1")]).await;
        let mut transaction = repeatable(engine);
        remove(&mut transaction, "calm").await.unwrap();
        transaction.commit().await.unwrap();
        engine.env.clock.sleep(20_000).await;
    }
}

/// Waits until the store has fewer pages than that: how soon the background comes to it is the machine's matter.
async fn shrinks_below(engine: &Arc<Engine>, pages: u64) {
    for _ in 0..10 {
        calm(engine).await;
        if stored(engine) < pages {
            return;
        }
    }
    panic!("{} pages are there, and should be less than {pages}", stored(engine));
}

/// Everything is behind a checkpoint, and the store knows.
async fn settle(engine: &Arc<Engine>) {
    for _ in 0..3 {
        engine.pool.flush_all().await.unwrap();
        engine.renew_page_logs(engine.wal.end_lsn()).await.unwrap();
        engine.checkpoint(false).await.unwrap();
        engine.start_freeing();
        calm(engine).await;
    }
}

#[test]
fn a_dropped_table_leaves_the_store() {
    on_segments(SimOptions::default(), |engine| async move {
        let kept = filled_tree(&engine, 200).await;
        engine.pool.flush_all().await.unwrap();
        let before = stored(&engine);
        let dropped = filled_tree(&engine, 2000).await;
        engine.pool.flush_all().await.unwrap();
        let full = stored(&engine);
        assert!(full > before + 700, "{before} {full}");
        drop_tree(&engine, dropped).await;
        // Most of it goes without being asked.
        shrinks_below(&engine, full / 2).await;
        settle(&engine).await;
        let after = stored(&engine);
        assert!(after < before + 20, "{before} {full} {after}");
        // The pages can be used again.
        let again = filled_tree(&engine, 500).await;
        engine.pool.flush_all().await.unwrap();
        for tree in [kept, again] {
            let mut reader = repeatable(&engine);
            let row = reader.get(tree, &key(160), ReadMode::Snapshot).await.unwrap();
            assert_eq!(row, Some(vec![160; 9000]));
        }
    });
}

#[test]
fn deleted_rows_leave_the_store() {
    on_segments(SimOptions::default(), |engine| async move {
        let tree = filled_tree(&engine, 2000).await;
        engine.pool.flush_all().await.unwrap();
        let full = stored(&engine);
        for step in 0..20 {
            let mut transaction = repeatable(&engine);
            for number in (step * 100..step * 100 + 100).filter(|number| number % 20 != 7) {
                transaction.delete(tree, &key(number), WAIT).await.unwrap();
            }
            transaction.commit().await.unwrap();
        }
        calm(&engine).await;
        settle(&engine).await;
        let after = stored(&engine);
        assert!(after * 4 < full, "{full} {after}");
        let mut reader = repeatable(&engine);
        assert_eq!(reader.get(tree, &key(27), ReadMode::Snapshot).await.unwrap(), Some(vec![27; 400]));
    });
}

#[test]
fn what_a_crash_made_the_engine_forget_is_found_at_the_next_start() {
    let world = on_segments(SimOptions::default(), |engine| async move {
        let tree = filled_tree(&engine, 2000).await;
        engine.pool.flush_all().await.unwrap();
        // Nobody tells the store.
        engine.checkpointer.freeing.store(true, std::sync::atomic::Ordering::SeqCst);
        drop_tree(&engine, tree).await;
        calm(&engine).await;
        assert!(stored(&engine) > 700);
    });
    let world = world.crash(SimOptions::default());
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env, segment_options()).await.expect("open");
        shrinks_below(&engine, 40).await;
        engine.verify().await.expect("verify");
        engine.close().await.expect("close");
    };
    world.block_on(run).unwrap();
}

/// Fills the disk, then makes room by a drop: nothing is lost, and there is room again.
#[test]
fn a_full_disk_can_be_emptied() {
    let sim = SimOptions { capacity_bytes: Some(24 << 20), ..SimOptions::default() };
    on_segments(sim, |engine| async move {
        let kept = filled_tree(&engine, 500).await;
        let mut big = Vec::new();
        let mut error = None;
        while error.is_none() && big.len() < 100 {
            let mut transaction = repeatable(&engine);
            let tree = transaction.create_tree().await.unwrap();
            for number in 0..1000 {
                let inserted =
                    transaction.insert(tree, &key(number), &[9; 2000], Uniqueness::Key, WAIT).await;
                error = error.or(inserted.err());
            }
            match error {
                None => transaction.commit().await.unwrap(),
                Some(_) => transaction.rollback().await.unwrap(),
            }
            big.push(tree);
        }
        assert_eq!(error, Some(EngineError::DiskFull));
        assert!(big.len() > 2, "{big:?}");
        let unfinished = big.pop();
        engine.pool.flush_all().await.unwrap();
        // Rows that are there can be changed and deleted.
        for step in 0..5 {
            let mut transaction = repeatable(&engine);
            for number in step * 100..step * 100 + 100 {
                match number % 2 {
                    0 => transaction.delete(kept, &key(number), WAIT).await.unwrap(),
                    _ => transaction.update(kept, &key(number), &[5; 400], WAIT).await.unwrap(),
                }
            }
            transaction.commit().await.unwrap();
        }
        engine.pool.flush_all().await.unwrap();
        let full = stored(&engine);
        for tree in big {
            assert_ne!(Some(tree), unfinished);
            drop_tree(&engine, tree).await;
        }
        shrinks_below(&engine, full / 4).await;
        let again = filled_tree(&engine, 1500).await;
        engine.pool.flush_all().await.unwrap();
        let mut reader = repeatable(&engine);
        let row = reader.get(again, &key(1407), ReadMode::Snapshot).await.unwrap();
        assert_eq!(row, Some(vec![127; 400]));
        let row = reader.get(kept, &key(301), ReadMode::Snapshot).await.unwrap();
        assert_eq!(row, Some(vec![5; 400]));
    });
}
