//! Transactions larger than their share of memory: what others read and wait for, rollback, restart.

use super::*;
use std::sync::atomic::Ordering::Relaxed;

pub(super) const ROWS: u32 = 200;

/// So little memory for undo that a transaction of a few changes spills.
pub(super) fn tiny() -> EngineOptions {
    EngineOptions { undo_memory_bytes: 2_000, ..options() }
}

pub(super) fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// A machine with `ROWS` rows, on which `test` runs.
pub(super) fn with_rows<F>(test: impl FnOnce(Arc<Engine>) -> F) -> World
where
    F: Future<Output = ()>,
{
    let world = World::new(17, SimOptions::default());
    life(&world, |engine| async move {
        let mut filler = repeatable(&engine);
        for number in 0..ROWS {
            filler.insert(CATALOG, &key(number), &value(b'o', number), Uniqueness::Key, WAIT).await.unwrap();
        }
        filler.commit().await.unwrap();
        test(engine).await;
    });
    world
}

/// Opens the engine on the machine and leaves it there without a close.
pub(super) fn life<F>(world: &World, test: impl FnOnce(Arc<Engine>) -> F)
where
    F: Future<Output = ()>,
{
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env, tiny()).await.expect("open");
        test(engine).await;
    };
    world.block_on(run).unwrap();
}

/// Some are long enough for an overflow chain.
fn value(letter: u8, number: u32) -> Vec<u8> {
    let length = if number.is_multiple_of(16) { 3_000 } else { 40 };
    let mut value = vec![letter; length];
    value.extend_from_slice(&number.to_be_bytes());
    value
}

/// Changes every row: deletes some, inserts others, updates the rest, some twice.
pub(super) async fn change_all(transaction: &mut Transaction) {
    for number in 0..ROWS {
        let (key, new) = (key(number), value(b'n', number));
        match number % 5 {
            0 => transaction.delete(CATALOG, &key, WAIT).await.unwrap(),
            1 => {
                transaction.delete(CATALOG, &key, WAIT).await.unwrap();
                transaction.insert(CATALOG, &key, &new, Uniqueness::Key, WAIT).await.unwrap();
            }
            2 => {
                transaction.update(CATALOG, &key, &value(b'm', number), WAIT).await.unwrap();
                transaction.update(CATALOG, &key, &new, WAIT).await.unwrap();
            }
            _ => transaction.update(CATALOG, &key, &new, WAIT).await.unwrap(),
        }
        let more = key_of_new(number);
        transaction.insert(CATALOG, &more, b"more", Uniqueness::Key, WAIT).await.unwrap();
    }
}

fn key_of_new(number: u32) -> Vec<u8> {
    [&key(number)[..], b"+"].concat()
}

pub(super) type Rows = Vec<(Vec<u8>, Vec<u8>)>;

pub(super) fn old_rows() -> Rows {
    (0..ROWS).map(|number| (key(number).to_vec(), value(b'o', number))).collect()
}

fn new_rows() -> Rows {
    let mut rows = Vec::new();
    for number in 0..ROWS {
        if number % 5 != 0 {
            rows.push((key(number).to_vec(), value(b'n', number)));
        }
        rows.push((key_of_new(number), b"more".to_vec()));
    }
    rows
}

pub(super) async fn rows(transaction: &mut Transaction, direction: Direction, mode: ReadMode) -> Rows {
    let mut cursor = transaction.scan(CATALOG, KeyRange::all(), direction, mode);
    let mut batch = EntryBatch::default();
    while cursor.next_batch(transaction, 7, &mut batch).await.unwrap() {}
    let mut rows: Rows = batch.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
    if direction == Direction::Backward {
        rows.reverse();
    }
    rows
}

/// What `transaction` reads in every way.
async fn check_reads(transaction: &mut Transaction, expect: &Rows) {
    for direction in [Direction::Forward, Direction::Backward] {
        assert!(rows(transaction, direction, ReadMode::Snapshot).await == *expect, "{direction:?}");
    }
    for number in 0..ROWS {
        let read = transaction.get(CATALOG, &key(number), ReadMode::Snapshot).await.unwrap();
        let wanted = expect.iter().find(|(found, _)| *found == key(number)).map(|(_, value)| value.clone());
        assert!(read == wanted, "row {number}");
    }
}

pub(super) fn spilled(engine: &Engine) -> u64 {
    engine.stats.spilled_changes.load(Relaxed)
}

/// Waits until no background task runs, and checks that nothing is left of any spill.
pub(super) async fn settle(engine: &Arc<Engine>) {
    engine.finish_background().await;
    assert!(!engine.spills.exist());
    let report = engine.verify().await.unwrap();
    assert_eq!(report.other_pages, report.long_value_pages, "{report:?}");
    assert_eq!(report.trees, 2, "{report:?}");
}

#[test]
fn each_reads_its_own_time() {
    with_rows(|engine| async move {
        let mut before = repeatable(&engine);
        before.take_snapshot();
        let mut one = repeatable(&engine);
        change_all(&mut one).await;
        assert!(spilled(&engine) > u64::from(2 * ROWS), "{}", spilled(&engine));
        assert!(engine.stats().row_table_entries < 30, "{:?}", engine.stats());
        let mut other = repeatable(&engine);
        check_reads(&mut before, &old_rows()).await;
        check_reads(&mut other, &old_rows()).await;
        check_reads(&mut one, &new_rows()).await;
        one.commit().await.unwrap();
        check_reads(&mut before, &old_rows()).await;
        check_reads(&mut other, &old_rows()).await;
        let mut after = repeatable(&engine);
        check_reads(&mut after, &new_rows()).await;
        after.rollback().await.unwrap();
        before.rollback().await.unwrap();
        assert!(engine.spills.exist(), "a snapshot still needs it");
        check_reads(&mut other, &old_rows()).await;
        other.rollback().await.unwrap();
        settle(&engine).await;
    });
}

#[test]
fn versions_before_and_after_a_spill_are_kept_apart() {
    with_rows(|engine| async move {
        let mut snapshots = Vec::new();
        let mut expect = Vec::new();
        for round in 0..6u8 {
            let mut snapshot = repeatable(&engine);
            snapshot.take_snapshot();
            expect.push(rows(&mut snapshot, Direction::Forward, ReadMode::Snapshot).await);
            snapshots.push(snapshot);
            // A small one, then a large one.
            let mut writer = repeatable(&engine);
            let count = if round % 2 == 0 { 3 } else { 40 };
            for number in 0..count {
                writer.update(CATALOG, &key(number), &value(b'0' + round, number), WAIT).await.unwrap();
                if number % 2 == 1 {
                    writer.update(CATALOG, &key(number), &[round; 7], WAIT).await.unwrap();
                }
            }
            writer.commit().await.unwrap();
        }
        for (snapshot, expect) in snapshots.iter_mut().zip(&expect) {
            check_reads(snapshot, expect).await;
        }
        drop(snapshots);
        fill(&engine, &[("zz", "a commit prunes")]).await;
        settle(&engine).await;
    });
}

#[test]
fn own_changes_are_seen_over_spilled_ones_of_others() {
    for own_spills in [false, true] {
        with_rows(|engine| async move {
            let mut reader = repeatable(&engine);
            reader.take_snapshot();
            let mut other = repeatable(&engine);
            change_all(&mut other).await;
            other.commit().await.unwrap();
            reader.update(CATALOG, &key(3), b"own", WAIT).await.unwrap();
            if own_spills {
                reader.work.spill().await.unwrap();
            }
            let read = reader.get(CATALOG, &key(3), ReadMode::Snapshot).await.unwrap();
            assert_eq!(read.as_deref(), Some(&b"own"[..]));
            let read = reader.get(CATALOG, &key(4), ReadMode::Snapshot).await.unwrap();
            assert_eq!(read, Some(value(b'o', 4)));
            reader.rollback().await.unwrap();
            settle(&engine).await;
        });
    }
}

#[test]
fn others_find_spilled_rows_locked() {
    with_rows(|engine| async move {
        let mut one = repeatable(&engine);
        change_all(&mut one).await;
        let mut two = repeatable(&engine);
        for number in 0..ROWS {
            let no_wait = ReadMode::Locking(LockMode::Shared, WaitPolicy::NoWait);
            let read = two.get(CATALOG, &key(number), no_wait).await;
            assert_eq!(read, Err(EngineError::LockNotAvailable), "row {number}");
            let written = two.update(CATALOG, &key(number), b"two", WaitPolicy::NoWait).await;
            assert_eq!(written, Err(EngineError::LockNotAvailable), "row {number}");
            let more = key_of_new(number);
            let inserted = two.insert(CATALOG, &more, b"two", Uniqueness::Key, WaitPolicy::NoWait).await;
            assert_eq!(inserted, Err(EngineError::LockNotAvailable), "row {number}");
        }
        let skip = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::SkipLocked);
        assert_eq!(rows(&mut two, Direction::Forward, skip).await, []);
        let key = key(7);
        {
            let mut waiting = pin!(two.update(CATALOG, &key, b"two", WAIT));
            assert!(waits(&mut waiting));
            one.commit().await.unwrap();
            waiting.await.unwrap();
        }
        two.commit().await.unwrap();
        let mut reader = repeatable(&engine);
        let read = reader.get(CATALOG, &key, ReadMode::Snapshot).await.unwrap();
        assert_eq!(read.as_deref(), Some(&b"two"[..]));
        reader.rollback().await.unwrap();
        settle(&engine).await;
    });
}

#[test]
fn a_deadlock_over_spilled_rows_is_found() {
    with_rows(|engine| async move {
        let mut two = repeatable(&engine);
        two.insert(CATALOG, b"zz", b"two", Uniqueness::Key, WAIT).await.unwrap();
        let mut one = repeatable(&engine);
        change_all(&mut one).await;
        let key = key(3);
        let mut waiting = pin!(two.update(CATALOG, &key, b"two", WAIT));
        assert!(waits(&mut waiting));
        {
            let mut inserting = pin!(one.insert(CATALOG, b"zz", b"one", Uniqueness::Key, WAIT));
            assert!(waits(&mut inserting));
            assert_eq!(waiting.await, Err(EngineError::Deadlock));
            inserting.await.unwrap();
        }
        one.commit().await.unwrap();
        settle(&engine).await;
    });
}

#[test]
fn a_spilled_transaction_rolls_back() {
    with_rows(|engine| async move {
        let mut before = repeatable(&engine);
        before.take_snapshot();
        let mut one = repeatable(&engine);
        change_all(&mut one).await;
        one.rollback().await.unwrap();
        check_reads(&mut before, &old_rows()).await;
        let mut after = repeatable(&engine);
        assert!(rows(&mut after, Direction::Forward, EXCLUSIVE).await == old_rows());
        after.rollback().await.unwrap();
        before.rollback().await.unwrap();
        settle(&engine).await;
    });
}

#[test]
fn a_dropped_transaction_with_a_spill_is_rolled_back() {
    with_rows(|engine| async move {
        let mut one = repeatable(&engine);
        change_all(&mut one).await;
        drop(one);
        settle(&engine).await;
        let mut after = repeatable(&engine);
        check_reads(&mut after, &old_rows()).await;
    });
}

#[test]
fn a_savepoint_within_a_spill_is_reached() {
    for end in 0..3 {
        with_rows(|engine| async move {
            let mut before = repeatable(&engine);
            before.take_snapshot();
            let mut one = repeatable(&engine);
            for number in 0..20 {
                one.update(CATALOG, &key(number), &value(b's', number), WAIT).await.unwrap();
            }
            let savepoint = one.savepoint();
            let at_savepoint = rows(&mut one, Direction::Forward, ReadMode::Snapshot).await;
            change_all(&mut one).await;
            one.rollback_to(savepoint).await.unwrap();
            check_reads(&mut one, &at_savepoint).await;
            check_reads(&mut before, &old_rows()).await;
            let mut two = repeatable(&engine);
            let locked = two.update(CATALOG, &key(100), b"two", WaitPolicy::NoWait).await;
            assert_eq!(locked, Err(EngineError::LockNotAvailable), "locks outlive the savepoint");
            two.rollback().await.unwrap();
            // The same once more, and to the end.
            change_all(&mut one).await;
            let expect = match end {
                0 => {
                    one.rollback_to(savepoint).await.unwrap();
                    one.commit().await.unwrap();
                    at_savepoint
                }
                1 => {
                    one.commit().await.unwrap();
                    new_rows()
                }
                _ => {
                    one.rollback().await.unwrap();
                    old_rows()
                }
            };
            check_reads(&mut before, &old_rows()).await;
            before.rollback().await.unwrap();
            let mut after = repeatable(&engine);
            check_reads(&mut after, &expect).await;
            after.rollback().await.unwrap();
            settle(&engine).await;
        });
    }
}

#[test]
fn a_spill_that_is_cut_off_anywhere_loses_nothing() {
    for polls in 0..40 {
        with_rows(|engine| async move {
            let mut one = repeatable(&engine);
            for number in 0..20 {
                one.update(CATALOG, &key(number), &value(b's', number), WAIT).await.unwrap();
            }
            let savepoint = one.savepoint();
            let at_savepoint = rows(&mut one, Direction::Forward, ReadMode::Snapshot).await;
            for number in 10..14 {
                one.delete(CATALOG, &key(number), WAIT).await.unwrap();
                one.insert(CATALOG, &key_of_new(number), b"x", Uniqueness::Key, WAIT).await.unwrap();
            }
            cut_off(one.work.spill(), polls).await;
            cut_off(one.rollback_to(savepoint), polls / 2).await;
            one.rollback_to(savepoint).await.unwrap();
            check_reads(&mut one, &at_savepoint).await;
            let mut other = repeatable(&engine);
            check_reads(&mut other, &old_rows()).await;
            other.rollback().await.unwrap();
            for number in 10..18 {
                one.update(CATALOG, &key(number), &value(b's', number), WAIT).await.unwrap();
            }
            cut_off(one.work.spill(), polls).await;
            if polls % 2 == 0 {
                one.commit().await.unwrap();
            } else {
                one.rollback().await.unwrap();
            }
            let mut after = repeatable(&engine);
            let expect = if polls % 2 == 0 { at_savepoint } else { old_rows() };
            check_reads(&mut after, &expect).await;
            after.rollback().await.unwrap();
            settle(&engine).await;
        });
    }
}

#[test]
fn a_restart_undoes_what_was_spilled() {
    let mut world = with_rows(|engine| async move {
        let mut one = repeatable(&engine);
        change_all(&mut one).await;
        one.create_tree().await.unwrap();
        let mut two = repeatable(&engine);
        put(&mut two, "zz", "two").await.unwrap();
        two.commit().await.unwrap();
        // What `one` did last is in the log alone.
        engine.checkpoint(false).await.unwrap();
        std::mem::forget(one);
    });
    let mut expect = old_rows();
    expect.push((b"zz".to_vec(), b"two".to_vec()));
    for _ in 0..2 {
        world = world.crash(SimOptions::default());
        let expect = expect.clone();
        life(&world, |engine| async move {
            let mut reader = repeatable(&engine);
            check_reads(&mut reader, &expect).await;
            reader.rollback().await.unwrap();
            settle(&engine).await;
        });
    }
}

#[test]
fn a_restart_drops_the_spill_of_a_committed_transaction() {
    for marked in [false, true] {
        let mut world = with_rows(|engine| async move {
            let mut before = repeatable(&engine);
            before.take_snapshot();
            let mut one = repeatable(&engine);
            change_all(&mut one).await;
            one.commit().await.unwrap();
            if marked {
                engine.env.clock.sleep(50_000).await;
                engine.checkpoint(false).await.unwrap();
            }
            std::mem::forget(before);
        });
        for _ in 0..2 {
            world = world.crash(SimOptions::default());
            life(&world, |engine| async move {
                let mut reader = repeatable(&engine);
                check_reads(&mut reader, &new_rows()).await;
                reader.rollback().await.unwrap();
                settle(&engine).await;
            });
        }
    }
}

#[test]
fn a_transaction_may_outgrow_the_log() {
    with_rows(|engine| async move {
        let mut one = repeatable(&engine);
        let capacity_bytes = engine.stats().log_capacity_bytes;
        let start = engine.stats().log_end_lsn;
        let mut number = ROWS;
        while engine.stats().log_end_lsn < start + 3 * capacity_bytes {
            number += 1;
            one.insert(CATALOG, &key(number), &[3; 300], Uniqueness::Key, WAIT).await.unwrap();
        }
        assert!(engine.stats().row_table_entries < 30, "{:?}", engine.stats());
        one.rollback().await.unwrap();
        let mut two = repeatable(&engine);
        assert!(rows(&mut two, Direction::Forward, ReadMode::Snapshot).await == old_rows());
        two.rollback().await.unwrap();
        settle(&engine).await;
    });
}

#[test]
fn with_snapshot_isolation_spilled_changes_count_and_their_neighbours_do_not() {
    with_rows(|engine| async move {
        let with_snapshot = async || {
            let mut transaction = repeatable(&engine);
            transaction.set_snapshot_isolation(true);
            transaction.get(CATALOG, &key(199), ReadMode::Snapshot).await.unwrap();
            transaction
        };
        let (mut writes, mut reads, mut scans) =
            (with_snapshot().await, with_snapshot().await, with_snapshot().await);
        let mut first = repeatable(&engine);
        for number in (0..40).step_by(2) {
            first.update(CATALOG, &key(number), b"new", WAIT).await.unwrap();
        }
        first.delete(CATALOG, &key(20), WAIT).await.unwrap();
        first.insert(CATALOG, &key_of_new(30), b"more", Uniqueness::Key, WAIT).await.unwrap();
        first.work.spill().await.unwrap();
        assert!(first.work.state().with_undo(|undo| undo.iter().next().is_none()));
        first.commit().await.unwrap();
        assert!(engine.spills.exist());

        let exclusive = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::NoWait);
        let changed = Err(EngineError::RecordChanged);
        assert_eq!(writes.update(CATALOG, &key(2), b"late", WAIT).await, changed);
        assert_eq!(writes.delete(CATALOG, &key(20), WAIT).await, changed);
        assert_eq!(writes.insert(CATALOG, &key(20), b"late", Uniqueness::Key, WAIT).await, changed);
        let key_of_new = key_of_new(30);
        assert_eq!(writes.insert(CATALOG, &key_of_new, b"late", Uniqueness::Key, WAIT).await, changed);
        writes.update(CATALOG, &key(3), b"late", WAIT).await.unwrap();
        writes.commit().await.unwrap();

        assert_eq!(reads.get(CATALOG, &key(4), exclusive).await, Err(EngineError::RecordChanged));
        reads.get(CATALOG, &key(5), exclusive).await.unwrap();
        reads.rollback().await.unwrap();
        let changed_range = KeyRange { lower: Some(key(20).to_vec()), ..KeyRange::all() };
        let mut cursor = scans.scan(CATALOG, changed_range, Direction::Forward, exclusive);
        let found = cursor.next_batch(&mut scans, 1, &mut EntryBatch::default()).await;
        assert_eq!(found, Err(EngineError::RecordChanged), "a ghost of a spilled change");
        scans.rollback().await.unwrap();
        settle(&engine).await;
    });
}
