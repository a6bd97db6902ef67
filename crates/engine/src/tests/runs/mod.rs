//! Old versions in runs: what old snapshots read, what is left behind, and what goes wrong alone.

mod full_disk;

use super::*;
use env::sim::SeededRandom;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Every merge moves everything that a snapshot needs.
fn tiny() -> EngineOptions {
    EngineOptions { version_memory_bytes: 1, buffer_pool_bytes: 512 << 10, ..options() }
}

fn with_runs<F>(seed: u64, test: impl FnOnce(Arc<Engine>) -> F) -> World
where
    F: Future<Output = ()>,
{
    with_options(seed, tiny(), test)
}

fn with_options<F>(seed: u64, options: EngineOptions, test: impl FnOnce(Arc<Engine>) -> F) -> World
where
    F: Future<Output = ()>,
{
    let world = World::new(seed, SimOptions::default());
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env, options).await.expect("open");
        test(engine.clone()).await;
        settle(&engine).await;
        engine.close().await.expect("close");
    };
    world.block_on(run).unwrap();
    world
}

/// Checks that nothing is left of any run.
async fn settle(engine: &Arc<Engine>) {
    fill(engine, &[("zz", "a commit prunes")]).await;
    engine.finish_background().await;
    let stats = engine.stats();
    assert_eq!((stats.version_runs, stats.history_length, stats.row_table_entries), (0, 0, 0), "{stats:?}");
    assert_eq!(stats.history_bytes, 0, "{stats:?}");
    let report = engine.verify().await.unwrap();
    assert_eq!(report.other_pages, report.long_value_pages, "{report:?}");
    assert_eq!(report.trees, 2, "{report:?}");
    assert_eq!(engine.versions.history.lock().pending_chains(0).count(), 0);
}

fn key(number: u64) -> Vec<u8> {
    // Of two lengths, which a run keeps apart.
    let mut key = number.to_be_bytes()[6..].to_vec();
    key.resize(2 + number as usize % 2, 0);
    key
}

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

async fn rows(transaction: &mut Transaction, direction: Direction) -> Rows {
    let mut cursor = transaction.scan(CATALOG, KeyRange::all(), direction, ReadMode::Snapshot);
    let mut batch = EntryBatch::default();
    while cursor.next_batch(transaction, 7, &mut batch).await.unwrap() {}
    batch.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// Writes rows `range`, each with the letter, in transactions of a few changes; every fifth row goes.
async fn change(engine: &Arc<Engine>, range: std::ops::Range<u64>, letter: u8, model: &mut Rows) {
    let numbers: Vec<u64> = range.collect();
    for some in numbers.chunks(3) {
        let mut writer = repeatable(engine);
        write(&mut writer, some, letter, model).await;
        writer.commit().await.unwrap();
    }
}

/// Writes them too and takes it all back.
async fn change_in_vain(engine: &Arc<Engine>, range: std::ops::Range<u64>, letter: u8, model: &Rows) {
    let mut writer = repeatable(engine);
    write(&mut writer, &range.collect::<Vec<_>>(), letter, &mut model.clone()).await;
    writer.rollback().await.unwrap();
}

async fn write(writer: &mut Transaction, numbers: &[u64], letter: u8, model: &mut Rows) {
    for number in numbers {
        let (key, value) = (key(*number), value(letter, *number));
        let is_there = model.contains_key(&key);
        if is_there && number % 5 == u64::from(letter) % 5 {
            writer.delete(CATALOG, &key, WAIT).await.unwrap();
            model.remove(&key);
            continue;
        }
        match is_there {
            true => writer.update(CATALOG, &key, &value, WAIT).await.unwrap(),
            false => writer.insert(CATALOG, &key, &value, Uniqueness::Key, WAIT).await.unwrap(),
        }
        model.insert(key, value);
    }
}

/// Some are long enough for an overflow chain.
fn value(letter: u8, number: u64) -> Vec<u8> {
    vec![letter; if number.is_multiple_of(16) { 3_000 } else { 40 }]
}

#[test]
fn snapshots_of_all_ages_read_their_time() {
    let (moved, joined, lookups) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    for seed in 1..=6 {
        let (moved, joined, lookups) = (&moved, &joined, &lookups);
        with_runs(seed, |engine| async move {
            read_at_all_ages(&engine, seed).await;
            moved.fetch_add(engine.stats().versions_moved, Relaxed);
            joined.fetch_add(engine.stats().version_runs_joined, Relaxed);
            lookups.fetch_add(engine.stats().version_run_lookups, Relaxed);
        });
    }
    let (moved, joined, lookups) = (moved.into_inner(), joined.into_inner(), lookups.into_inner());
    eprintln!("{moved} versions moved, {joined} runs joined, {lookups} look-ups");
    assert!(moved > 1_000 && joined > 50 && lookups > 1_000);
}

async fn read_at_all_ages(engine: &Arc<Engine>, seed: u64) {
    let random = SeededRandom::new(seed);
    let mut model = Rows::new();
    let mut readers: Vec<(Transaction, Rows)> = Vec::new();
    change(engine, 0..300, b'a', &mut model).await;
    for round in 0..40u8 {
        if readers.len() < 5 && random.below(2) == 0 {
            let mut reader = repeatable(engine);
            reader.take_snapshot();
            readers.push((reader, model.clone()));
        }
        let start = random.below(300) as u64;
        let end = start + random.below(60) as u64;
        change(engine, start..end, b'b' + round % 20, &mut model).await;
        if random.below(3) == 0 {
            engine.finish_background().await;
        }
        if random.below(3) == 0 {
            change_in_vain(engine, start..end, b'c' + round % 20, &model).await;
        }
        if readers.is_empty() {
            continue;
        }
        let index = random.below(readers.len());
        let (reader, expect) = &mut readers[index];
        let direction = if random.below(2) == 0 { Direction::Forward } else { Direction::Backward };
        assert!(rows(reader, direction).await == *expect, "seed {seed}, round {round}");
        for _ in 0..20 {
            let key = key(random.below(360) as u64);
            let read = reader.get(CATALOG, &key, ReadMode::Snapshot).await.unwrap();
            assert!(read.as_ref() == expect.get(&key), "seed {seed}, round {round}, {key:?}");
        }
        if random.below(6) == 0 {
            readers.swap_remove(index);
        }
    }
    for (mut reader, expect) in readers {
        assert!(rows(&mut reader, Direction::Forward).await == expect, "seed {seed}, at the end");
    }
}

/// Changes all of 100 rows behind the transactions' snapshots and waits until their versions are in runs.
async fn change_behind(engine: &Arc<Engine>, letter: u8, model: &mut Rows) {
    change(engine, 0..100, letter, model).await;
    engine.finish_background().await;
    // What came while the last part was being moved.
    engine.merge_history().await.unwrap();
    engine.finish_background().await;
    assert!(engine.stats().version_runs > 0 && engine.stats().row_table_entries < 10, "{:?}", engine.stats());
}

#[test]
fn own_changes_are_seen_over_others_that_are_not() {
    with_runs(7, |engine| async move {
        let mut model = Rows::new();
        change(&engine, 0..100, b'a', &mut model).await;
        let mut reader = repeatable(&engine);
        reader.take_snapshot();
        let mut expect = model.clone();
        change_behind(&engine, b'c', &mut model).await;
        for number in [1, 2, 16] {
            reader.update(CATALOG, &key(number), b"own", WAIT).await.unwrap();
            expect.insert(key(number), b"own".to_vec());
        }
        assert!(rows(&mut reader, Direction::Forward).await == expect);
        reader.rollback().await.unwrap();
    });
}

/// Whether the undo is in memory or in a spill, it leaves the ghosts by which the old versions are found.
/// Whoever keeps an index in step is told that the snapshot shows another row, also when what it shows has moved.
#[test]
fn a_change_passes_the_snapshot_over_a_change_in_a_run() {
    with_runs(3, async |engine| {
        let mut model = Rows::new();
        change(&engine, 1..4, b'a', &mut model).await;
        let mut reader = repeatable(&engine);
        assert_eq!(rows(&mut reader, Direction::Forward).await, model);
        change(&engine, 1..4, b'b', &mut model).await;
        engine.finish_background().await;
        assert!(engine.stats().version_runs > 0);
        let row = key(1);
        reader.get(CATALOG, &row, ReadMode::Locking(LockMode::Exclusive, WAIT)).await.unwrap();
        assert!(reader.passes_snapshot(CATALOG, &row) && reader.has_passed_snapshot());
        reader.rollback().await.unwrap();
    });
}

#[test]
fn what_an_insert_took_the_place_of_stays_when_it_is_undone() {
    for (seed, undo_memory_bytes) in [(8, options().undo_memory_bytes), (9, 1)] {
        with_options(seed, EngineOptions { undo_memory_bytes, ..tiny() }, |engine| async move {
            let mut model = Rows::new();
            change(&engine, 0..100, b'a', &mut model).await;
            let mut reader = repeatable(&engine);
            reader.take_snapshot();
            let expect = model.clone();
            change_behind(&engine, b'c', &mut model).await;
            assert_eq!(model.len(), 80);
            change_in_vain(&engine, 0..100, b'd', &model).await;
            assert!(rows(&mut reader, Direction::Forward).await == expect);
        });
    }
}

#[test]
fn with_snapshot_isolation_moved_changes_count() {
    with_runs(8, |engine| async move {
        let mut model = Rows::new();
        change(&engine, 0..200, b'a', &mut model).await;
        let with_snapshot = async || {
            let mut transaction = repeatable(&engine);
            transaction.set_snapshot_isolation(true);
            transaction.get(CATALOG, &key(199), ReadMode::Snapshot).await.unwrap();
            transaction
        };
        let (mut writes, mut reads) = (with_snapshot().await, with_snapshot().await);
        change_behind(&engine, b'c', &mut model).await;
        let changed = Err(EngineError::RecordChanged);
        assert_eq!(writes.update(CATALOG, &key(2), b"late", WAIT).await, changed);
        // Row 4 was deleted meanwhile.
        assert_eq!(writes.insert(CATALOG, &key(4), b"late", Uniqueness::Key, WAIT).await, changed);
        writes.update(CATALOG, &key(151), b"late", WAIT).await.unwrap();
        writes.rollback().await.unwrap();
        assert_eq!(reads.get(CATALOG, &key(3), EXCLUSIVE).await, Err(EngineError::RecordChanged));
        assert!(reads.get(CATALOG, &key(152), EXCLUSIVE).await.unwrap().is_some());
        reads.rollback().await.unwrap();
        // Who has a newer snapshot is not concerned.
        let mut late = with_snapshot().await;
        late.update(CATALOG, &key(2), b"late", WAIT).await.unwrap();
        late.rollback().await.unwrap();
    });
}

#[test]
fn rows_that_come_and_go_leave_nothing_but_for_snapshot_isolation() {
    for strict in [false, true] {
        with_runs(14, |engine| async move {
            let mut model = Rows::new();
            change(&engine, 0..100, b'a', &mut model).await;
            let mut reader = repeatable(&engine);
            reader.set_snapshot_isolation(strict);
            let expect = rows(&mut reader, Direction::Forward).await;
            let new_key =
                |round: u32, number: u32| [b"new", &(round * 100 + number).to_be_bytes()[..]].concat();
            for round in 0..30 {
                let mut writer = repeatable(&engine);
                for number in 0..20 {
                    writer
                        .insert(CATALOG, &new_key(round, number), b"new", Uniqueness::Key, WAIT)
                        .await
                        .unwrap();
                    if round > 0 {
                        writer.delete(CATALOG, &new_key(round - 1, number), WAIT).await.unwrap();
                    }
                }
                writer.commit().await.unwrap();
                engine.finish_background().await;
            }
            assert!(rows(&mut reader, Direction::Forward).await == expect);
            let (stats, records) = (engine.stats(), engine.count_records(CATALOG).await.unwrap());
            match strict {
                // 600 came, 580 of them went; joining runs has dealt with most.
                false => {
                    assert!(stats.version_run_entries < 400, "{stats:?}");
                    assert!(records < 100 + 300, "{records}");
                }
                true => {
                    assert!(stats.version_run_entries >= 600, "{stats:?}");
                    let inserted = reader.insert(CATALOG, &new_key(3, 3), b"", Uniqueness::Key, WAIT).await;
                    assert_eq!(inserted, Err(EngineError::RecordChanged));
                }
            }
            reader.rollback().await.unwrap();
        });
    }
}

#[test]
fn a_restart_frees_what_runs_have_left() {
    for closes in [false, true] {
        let world = World::new(9, SimOptions::default());
        let env = world.env();
        let model = async move {
            let engine = Engine::open(env, tiny()).await.unwrap();
            let mut model = Rows::new();
            change(&engine, 0..100, b'a', &mut model).await;
            let mut reader = repeatable(&engine);
            reader.take_snapshot();
            change_behind(&engine, b'c', &mut model).await;
            drop(reader);
            if closes {
                engine.close().await.unwrap();
            }
            model
        };
        let model = world.block_on(model).unwrap();
        let world = world.crash(SimOptions::default());
        let env = world.env();
        let check = async move {
            let engine = Engine::open(env, tiny()).await.unwrap();
            assert!(rows(&mut repeatable(&engine), Direction::Forward).await == model);
            settle(&engine).await;
        };
        world.block_on(check).unwrap();
    }
}

#[test]
fn a_damaged_run_is_an_error_for_its_readers_alone() {
    let world = World::new(11, SimOptions::default());
    let env = world.env();
    let run = async {
        let engine =
            Engine::open(env, EngineOptions { buffer_pool_bytes: 256 << 10, ..tiny() }).await.unwrap();
        let mut model = Rows::new();
        change(&engine, 0..400, b'a', &mut model).await;
        let mut reader = repeatable(&engine);
        reader.take_snapshot();
        change(&engine, 0..400, b'c', &mut model).await;
        engine.finish_background().await;
        // The old values are in runs alone, and in pages that nobody reads any more.
        engine.pool.flush_all().await.unwrap();
        let mut damaged = 0;
        for path in world.paths().into_iter().filter(|path| path.starts_with("data/")) {
            let content = world.content(&path).unwrap();
            for page in (0..content.len()).step_by(4096) {
                let leaf = content[page..].iter().take(4096).filter(|byte| **byte == b'a').count();
                if leaf > 2_000 && leaf < 3_500 {
                    world.flip_bit(&path, (page + 3_000) * 8);
                    damaged += 1;
                }
            }
        }
        assert!(damaged > 0);
        // Push the pages out of memory.
        let mut other = repeatable(&engine);
        let tree = other.create_tree().await.unwrap();
        for number in 0..400u64 {
            other.insert(tree, &number.to_be_bytes(), &[1; 900], Uniqueness::Key, WAIT).await.unwrap();
        }
        other.commit().await.unwrap();
        engine.pool.flush_all().await.unwrap();
        let mut errors = 0;
        for number in 0..400 {
            let read = reader.get(CATALOG, &key(number), ReadMode::Snapshot).await;
            errors += u32::from(matches!(read, Err(EngineError::CorruptPage { .. })));
        }
        assert!(errors > 0);
        assert_eq!(engine.failure(), None);
        assert!(rows(&mut repeatable(&engine), Direction::Forward).await == model);
        drop(reader);
        change(&engine, 0..400, b'd', &mut model).await;
        engine.finish_background().await;
        assert_eq!((engine.failure(), engine.stats().version_runs), (None, 0));
        assert!(rows(&mut repeatable(&engine), Direction::Forward).await == model);
    };
    world.block_on(run).unwrap();
}
