//! Pages that the engine no longer uses can be used again: after drops, deletes, and on a full disk.

use super::*;

fn on_engine<F>(sim: SimOptions, test: impl FnOnce(Arc<Engine>) -> F)
where
    F: Future<Output = ()>,
{
    let world = World::new(7, sim);
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env, options()).await.expect("open");
        test(engine.clone()).await;
        engine.verify().await.expect("verify");
    };
    world.block_on(run).unwrap();
}

/// How many pages the space map says are in use.
async fn used(engine: &Engine) -> u64 {
    let mut count = 0;
    for region in 0.. {
        let used = engine.pool.run(|| engine.space.used_pages(&engine.pool, region)).await;
        let Some(pages) = used.unwrap() else { break };
        count += pages.len() as u64;
    }
    count
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

/// Waits until fewer pages are in use than that: how soon the background comes to it is the machine's matter.
async fn shrinks_below(engine: &Arc<Engine>, pages: u64) {
    for _ in 0..10 {
        calm(engine).await;
        if used(engine).await < pages {
            return;
        }
    }
    panic!("{} pages are in use, and should be less than {pages}", used(engine).await);
}

#[test]
fn the_pages_of_a_dropped_table_are_used_again() {
    on_engine(SimOptions::default(), |engine| async move {
        let kept = filled_tree(&engine, 200).await;
        let before = used(&engine).await;
        let dropped = filled_tree(&engine, 2000).await;
        let full = used(&engine).await;
        assert!(full > before + 700, "{before} {full}");
        let page_count = engine.pool.store().page_count();
        drop_tree(&engine, dropped).await;
        shrinks_below(&engine, before + 20).await;
        let again = filled_tree(&engine, 1900).await;
        engine.pool.flush_all().await.unwrap();
        assert_eq!(engine.pool.store().page_count(), page_count, "the store need not grow");
        for tree in [kept, again] {
            let mut reader = repeatable(&engine);
            let row = reader.get(tree, &key(160), ReadMode::Snapshot).await.unwrap();
            assert_eq!(row, Some(vec![160; 9000]));
        }
    });
}

#[test]
fn the_pages_of_deleted_rows_become_free() {
    on_engine(SimOptions::default(), |engine| async move {
        let tree = filled_tree(&engine, 2000).await;
        let full = used(&engine).await;
        for step in 0..20 {
            let mut transaction = repeatable(&engine);
            for number in (step * 100..step * 100 + 100).filter(|number| number % 20 != 7) {
                transaction.delete(tree, &key(number), WAIT).await.unwrap();
            }
            transaction.commit().await.unwrap();
        }
        shrinks_below(&engine, full / 4).await;
        let mut reader = repeatable(&engine);
        assert_eq!(reader.get(tree, &key(27), ReadMode::Snapshot).await.unwrap(), Some(vec![27; 400]));
    });
}

/// Fills the disk, then makes room by a drop: nothing is lost, and there is room again.
#[test]
fn a_full_disk_can_be_emptied() {
    let sim = SimOptions { capacity_bytes: Some(24 << 20), ..SimOptions::default() };
    on_engine(sim, |engine| async move {
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
        let full = used(&engine).await;
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
