//! Reading ahead: a cold range is read side by side, and no further than it goes.

use super::*;

const ROWS: u32 = 20_000;

fn key(number: u32) -> Vec<u8> {
    format!("row{number:08}").into_bytes()
}

/// A database with rows in order, in an engine that has read nothing of it but what an open reads.
async fn cold_engine(env: env::Env) -> Arc<Engine> {
    let engine = Engine::open(env.clone(), options()).await.expect("open");
    for chunk in 0..ROWS / 1000 {
        let mut transaction = repeatable(&engine);
        for number in chunk * 1000..(chunk + 1) * 1000 {
            transaction
                .insert(CATALOG, &key(number), &[1; 100], Uniqueness::Key, WAIT)
                .await
                .expect("insert");
        }
        transaction.commit().await.expect("commit");
    }
    engine.close().await.expect("close");
    drop(engine);
    Engine::open(env, EngineOptions { loads_hot_pages: false, ..options() }).await.expect("open again")
}

fn range(from: u32, to: u32) -> KeyRange {
    KeyRange { lower: Some(key(from)), lower_excluded: false, upper: Some(key(to)), upper_excluded: false }
}

#[test]
fn a_cold_range_is_read_side_by_side_and_no_further() {
    let world = World::new(7, SimOptions::default());
    let env = world.env();
    let run = async move {
        let engine = cold_engine(env).await;
        for (direction, first) in [(Direction::Forward, 5_000), (Direction::Backward, 10_000)] {
            let mut transaction = repeatable(&engine);
            // The inner nodes come into memory, the leaves of the range do not.
            transaction.get(CATALOG, &key(first + 300), ReadMode::Snapshot).await.unwrap();
            transaction.get(CATALOG, &key(first - 300), ReadMode::Snapshot).await.unwrap();
            let before = engine.pool.stats();
            let wanted = range(first, first + 99);
            let mut cursor = transaction.scan(CATALOG, wanted, direction, ReadMode::Snapshot);
            let mut batch = EntryBatch::default();
            let mut more = true;
            {
                let mut next = pin!(cursor.next_batch(&mut transaction, 256, &mut batch));
                assert!(waits(&mut next), "the leaves have to be read");
                let during = engine.pool.stats();
                assert_eq!(during.pages_read, before.pages_read, "nothing has been read");
                let in_flight = during.pages_prefetched - before.pages_prefetched;
                assert!(in_flight >= 3, "{direction:?}: {in_flight} leaves are under way");
                if !next.await.unwrap() {
                    more = false;
                }
            }
            while more {
                more = cursor.next_batch(&mut transaction, 256, &mut batch).await.unwrap();
            }
            assert_eq!(batch.len(), 100);
            let after = engine.pool.stats();
            let read = after.pages_read - before.pages_read;
            assert!((3..=5).contains(&read), "{direction:?}: {read} pages of some 35 rows");
            assert!(after.misses - before.misses <= 2, "{direction:?}: {before:?} {after:?}");
        }
        engine.close().await.expect("close");
    };
    world.block_on(run).unwrap();
}

#[test]
fn few_rows_of_a_long_range_read_few_leaves() {
    let world = World::new(8, SimOptions::default());
    let env = world.env();
    let run = async move {
        let engine = cold_engine(env).await;
        let mut transaction = repeatable(&engine);
        transaction.get(CATALOG, &key(4_000), ReadMode::Snapshot).await.unwrap();
        let before = engine.pool.stats();
        let mut cursor =
            transaction.scan(CATALOG, range(5_000, 15_000), Direction::Forward, ReadMode::Snapshot);
        let mut batch = EntryBatch::default();
        assert!(cursor.next_batch(&mut transaction, 10, &mut batch).await.unwrap());
        assert_eq!(batch.len(), 10);
        let after = engine.pool.stats();
        assert_eq!(after.pages_prefetched, before.pages_prefetched);
        assert!(after.pages_read - before.pages_read <= 3, "{before:?} {after:?}");
        engine.close().await.expect("close");
    };
    world.block_on(run).unwrap();
}
