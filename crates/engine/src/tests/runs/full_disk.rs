//! Old versions that cannot move because the disk is full.

use super::*;

#[test]
fn a_full_disk_keeps_versions_in_memory() {
    on_full_disk(12, |engine, mut model| async move {
        let mut reader = repeatable(&engine);
        let expect = rows(&mut reader, Direction::Forward).await;
        for round in 0..20 {
            rewrite(&engine, round, &mut model).await;
            engine.finish_background().await;
        }
        assert!(engine.stats().history_bytes > 100_000, "{:?}", engine.stats());
        assert!(rows(&mut reader, Direction::Forward).await == expect);
    });
}

/// Runs a test on a machine whose disk gets full when some rows are there, and has room again at the end.
fn on_full_disk<F>(seed: u64, test: impl FnOnce(Arc<Engine>, Rows) -> F)
where
    F: Future<Output = ()>,
{
    let world = World::new(seed, SimOptions::default());
    let env = world.env();
    let run = async {
        let engine = Engine::open(env, tiny()).await.unwrap();
        let mut model = Rows::new();
        change(&engine, 0..2_000, b'a', &mut model).await;
        // Until the log has all its files.
        for round in 0..25 {
            rewrite(&engine, round, &mut model).await;
        }
        engine.finish_background().await;
        engine.pool.flush_all().await.unwrap();
        let files = world.paths().into_iter().filter_map(|path| world.content(&path));
        world.set_capacity(Some(files.map(|content| content.len() as u64).sum()));
        test(engine.clone(), model).await;
        world.set_capacity(None);
        assert_eq!(engine.failure(), None);
        settle(&engine).await;
    };
    world.block_on(run).unwrap();
}

#[test]
fn the_oldest_snapshot_is_given_up_before_memory_is() {
    on_full_disk(13, |engine, mut model| async move {
        let mut readers = Vec::new();
        for round in 0..30u8 {
            let mut reader = repeatable(&engine);
            let expect = rows(&mut reader, Direction::Forward).await;
            readers.push((reader, expect));
            rewrite(&engine, round, &mut model).await;
            engine.finish_background().await;
        }
        let (mut given_up, mut right) = (0, 0);
        for (reader, expect) in &mut readers {
            let short = expect.iter().find(|(_, value)| value.len() < 100).unwrap();
            match reader.get(CATALOG, short.0, ReadMode::Snapshot).await {
                Err(EngineError::SnapshotTooOld) => {
                    given_up += 1;
                    let mut cursor =
                        reader.scan(CATALOG, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
                    let scanned = cursor.next_batch(reader, 7, &mut EntryBatch::default()).await;
                    assert_eq!(scanned, Err(EngineError::SnapshotTooOld));
                }
                read => {
                    right += 1;
                    assert_eq!(read.unwrap().as_ref(), Some(short.1));
                    assert!(rows(reader, Direction::Forward).await == *expect);
                }
            }
        }
        assert!(given_up > 0 && right > 0, "{given_up} given up, {right} right, {:?}", engine.stats());
    });
}

/// Updates all short rows.
async fn rewrite(engine: &Arc<Engine>, round: u8, model: &mut Rows) {
    let mut writer = repeatable(engine);
    for (key, value) in model.iter_mut().filter(|(_, value)| value.len() < 100) {
        *value = vec![round; value.len()];
        writer.update(CATALOG, key, value, WAIT).await.unwrap();
    }
    writer.commit().await.unwrap();
}
