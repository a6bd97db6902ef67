//! Prepared transactions: what others see of them, how they end, and what restarts make of them.

use super::*;
use crate::PreparedTransaction;

const NOW: WaitPolicy = WaitPolicy::NoWait;

/// Runs `work` on a machine and stops it there.
fn life<F>(world: World, options: EngineOptions, work: impl FnOnce(Arc<Engine>) -> F) -> World
where
    F: Future<Output = ()>,
{
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env, options).await.expect("open");
        work(engine).await;
    };
    world.block_on(run).unwrap();
    world.crash(SimOptions::default())
}

fn machine() -> World {
    World::new(23, SimOptions::default())
}

/// So little memory for undo that a transaction of a few changes spills.
fn tiny() -> EngineOptions {
    EngineOptions { undo_memory_bytes: 2_000, ..options() }
}

async fn only_recovered(engine: &Arc<Engine>) -> PreparedTransaction {
    let mut recovered = engine.take_recovered();
    assert_eq!(recovered.len(), 1, "one was prepared");
    assert_eq!(engine.take_recovered().len(), 0, "they are given out once");
    recovered.remove(0)
}

/// Changes `a`, removes `b` and adds `new`; `c` is changed back, and `d` only locked.
async fn change(engine: &Arc<Engine>, isolation: Isolation) -> Transaction {
    let mut transaction = begin(engine, isolation);
    set(&mut transaction, "a", "x").await.unwrap();
    set(&mut transaction, "a", &"long".repeat(2_000)).await.unwrap();
    remove(&mut transaction, "b").await.unwrap();
    put(&mut transaction, "new", "1").await.unwrap();
    let savepoint = transaction.savepoint();
    set(&mut transaction, "c", "x").await.unwrap();
    transaction.rollback_to(savepoint).await.unwrap();
    read(&mut transaction, "d", EXCLUSIVE).await.unwrap();
    transaction
}

const ROWS: [(&str, &str); 4] = [("a", "1"), ("b", "1"), ("c", "1"), ("d", "1")];

async fn end(prepared: &mut PreparedTransaction, commits: bool) {
    let decided = if commits { prepared.commit().await } else { prepared.rollback().await };
    decided.unwrap();
}

async fn check_undecided(engine: &Arc<Engine>) {
    let mut reader = repeatable(engine);
    assert_eq!(all(&mut reader, ReadMode::Snapshot).await.unwrap(), ["a=1", "b=1", "c=1", "d=1"]);
    for key in ["a", "b", "new"] {
        let locked = read(&mut reader, key, ReadMode::Locking(LockMode::Shared, NOW)).await;
        assert_eq!(locked, Err(EngineError::LockNotAvailable), "{key}");
        let written = reader.insert(CATALOG, key.as_bytes(), b"2", Uniqueness::Key, NOW).await;
        assert_eq!(written, Err(EngineError::LockNotAvailable), "{key}");
    }
}

async fn check_committed(engine: &Arc<Engine>) {
    assert_eq!(committed(engine, "a").await.map(|value| value.len()), Some(8_000));
    let others = ["b", "c", "d", "new"];
    let mut found = Vec::new();
    for key in others {
        found.push(committed(engine, key).await);
    }
    let one = Some("1".to_owned());
    assert_eq!(found, [None, one.clone(), one.clone(), one]);
    check_free(engine).await;
}

async fn check_rolled_back(engine: &Arc<Engine>) {
    let mut reader = repeatable(engine);
    assert_eq!(all(&mut reader, ReadMode::Snapshot).await.unwrap(), ["a=1", "b=1", "c=1", "d=1"]);
    drop(reader);
    check_free(engine).await;
}

/// Once what a crash has cut off is undone, nothing is locked any more, and no page is lost.
async fn check_free(engine: &Arc<Engine>) {
    engine.finish_background().await;
    let mut writer = repeatable(engine);
    for key in ["a", "b", "c", "d", "new", "d+"] {
        read(&mut writer, key, ReadMode::Locking(LockMode::Exclusive, NOW)).await.unwrap();
        let _ = writer.insert(CATALOG, key.as_bytes(), b"2", Uniqueness::Key, NOW).await;
    }
    writer.rollback().await.unwrap();
    engine.finish_background().await;
    let report = engine.verify().await.unwrap();
    assert_eq!(report.other_pages, report.long_value_pages, "pages are lost: {report:?}");
}

#[test]
fn until_it_is_decided_others_see_nothing_and_wait() {
    for commits in [true, false] {
        with_engine(|engine| async move {
            fill(&engine, &ROWS).await;
            let mut prepared = change(&engine, Isolation::RepeatableRead).await.prepare(b"x").await.unwrap();
            assert_eq!(prepared.xid(), b"x");
            check_undecided(&engine).await;
            let mut old = repeatable(&engine);
            old.take_snapshot();
            let mut waiter = repeatable(&engine);
            {
                let mut waiting = pin!(set(&mut waiter, "a", "2"));
                assert!(waits(&mut waiting));
                end(&mut prepared, commits).await;
                waiting.await.unwrap();
            }
            waiter.rollback().await.unwrap();
            assert_eq!(read(&mut old, "a", ReadMode::Snapshot).await.unwrap().as_deref(), Some("1"));
            drop(old);
            if commits { check_committed(&engine).await } else { check_rolled_back(&engine).await }
        });
    }
}

#[test]
fn it_survives_restarts_until_it_is_decided() {
    for (commits, options) in [(true, options()), (false, options()), (true, tiny()), (false, tiny())] {
        let (first, later) = (options.clone(), options.clone());
        let mut world = life(machine(), first, |engine| async move {
            fill(&engine, &ROWS).await;
            drop(change(&engine, Isolation::RepeatableRead).await.prepare(b"x").await.unwrap());
            check_undecided(&engine).await;
        });
        for close in [false, true, false] {
            world = life(world, later.clone(), |engine| async move {
                check_undecided(&engine).await;
                // What was only locked is free after a restart.
                let mut other = repeatable(&engine);
                set(&mut other, "d", "2").await.unwrap();
                other.rollback().await.unwrap();
                if close {
                    engine.close().await.unwrap();
                }
            });
        }
        world = life(world, later.clone(), |engine| async move {
            let mut prepared = only_recovered(&engine).await;
            assert_eq!(prepared.xid(), b"x");
            assert_eq!(prepared.trees().into_iter().collect::<Vec<_>>(), [CATALOG]);
            end(&mut prepared, commits).await;
            if commits { check_committed(&engine).await } else { check_rolled_back(&engine).await }
        });
        life(world, later, |engine| async move {
            assert_eq!(engine.take_recovered().len(), 0);
            if commits { check_committed(&engine).await } else { check_rolled_back(&engine).await }
        });
    }
}

#[test]
fn checkpoints_pass_it() {
    for options in [options(), tiny()] {
        let later = options.clone();
        let world = life(machine(), options, |engine| async move {
            fill(&engine, &ROWS).await;
            drop(change(&engine, Isolation::RepeatableRead).await.prepare(b"x").await.unwrap());
            fill_the_log(&engine).await;
        });
        let world = life(world, later.clone(), |engine| async move {
            check_undecided_beside(&engine).await;
            fill_the_log(&engine).await;
        });
        life(world, later, |engine| async move {
            check_undecided_beside(&engine).await;
            only_recovered(&engine).await.commit().await.unwrap();
            assert_eq!(committed(&engine, "new").await.as_deref(), Some("1"));
            assert_eq!(committed(&engine, "b").await, None);
        });
    }
}

/// Other work, until the log has come round several times.
async fn fill_the_log(engine: &Arc<Engine>) {
    let start = engine.stats().log_end_lsn;
    let mut round = 0;
    while engine.stats().log_end_lsn < start + 3 * engine.stats().log_capacity_bytes {
        let mut transaction = repeatable(engine);
        for key in 0u32..100 {
            let key = [b'k', key as u8];
            let value = vec![round; 200];
            match transaction.update(CATALOG, &key, &value, WAIT).await {
                Err(EngineError::NotFound) => {
                    transaction.insert(CATALOG, &key, &value, Uniqueness::Key, WAIT).await.unwrap();
                }
                other => other.unwrap(),
            }
        }
        transaction.commit().await.unwrap();
        round = round.wrapping_add(1);
    }
}

async fn check_undecided_beside(engine: &Arc<Engine>) {
    assert_eq!(committed(engine, "a").await.as_deref(), Some("1"));
    assert_eq!(committed(engine, "b").await.as_deref(), Some("1"));
    assert_eq!(committed(engine, "new").await, None);
    let mut writer = repeatable(engine);
    let locked = writer.update(CATALOG, b"a", b"2", NOW).await;
    assert_eq!(locked, Err(EngineError::LockNotAvailable));
}

#[test]
fn a_rollback_that_has_begun_is_not_taken_back() {
    for options in [options(), tiny()] {
        for polls in 0..40 {
            let later = options.clone();
            let world = life(machine(), options.clone(), |engine| async move {
                fill(&engine, &ROWS).await;
                let mut prepared =
                    change(&engine, Isolation::RepeatableRead).await.prepare(b"x").await.unwrap();
                let begun = cut_off(prepared.rollback(), polls).await;
                if begun.is_none() {
                    std::mem::forget(prepared);
                }
                // Its commit makes the log durable so far.
                fill(&engine, &[("e", "1")]).await;
            });
            life(world, later, |engine| async move {
                for mut prepared in engine.take_recovered() {
                    prepared.rollback().await.unwrap();
                }
                let mut reader = repeatable(&engine);
                let rows = all(&mut reader, ReadMode::Snapshot).await.unwrap();
                assert_eq!(rows, ["a=1", "b=1", "c=1", "d=1", "e=1"], "cut off at {polls}");
            });
        }
    }
}

#[test]
fn a_prepare_that_is_cut_off_is_rolled_back() {
    for polls in 0..12 {
        with_engine(|engine| async move {
            fill(&engine, &ROWS).await;
            let transaction = change(&engine, Isolation::RepeatableRead).await;
            match cut_off(transaction.prepare(b"x"), polls).await {
                None => {}
                Some(prepared) => prepared.unwrap().rollback().await.unwrap(),
            }
            engine.finish_background().await;
            check_rolled_back(&engine).await;
        });
    }
}

#[test]
fn what_is_only_locked_is_free_when_it_is_prepared() {
    let world = life(machine(), options(), |engine| async move {
        fill(&engine, &ROWS).await;
        for commits in [true, false] {
            let mut reader = repeatable(&engine);
            read(&mut reader, "a", EXCLUSIVE).await.unwrap();
            let mut prepared = reader.prepare(b"x").await.unwrap();
            assert_eq!((prepared.id(), prepared.trees().len()), (None, 0));
            check_rolled_back(&engine).await;
            end(&mut prepared, commits).await;
        }
    });
    life(world, options(), |engine| async move {
        assert_eq!(engine.take_recovered().len(), 0);
        check_rolled_back(&engine).await;
    });
}

#[test]
fn ranges_go_at_the_prepare_below_repeatable_read() {
    for (isolation, is_free) in [(Isolation::RepeatableRead, false), (Isolation::ReadCommitted, true)] {
        with_engine(|engine| async move {
            fill(&engine, &[("a", "1"), ("c", "1")]).await;
            let mut scanner = begin(&engine, isolation);
            set(&mut scanner, "a", "2").await.unwrap();
            let state = scanner.work.state();
            let range = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
            engine.locks.intervals.protect(&state, CATALOG, range);
            let mut prepared = scanner.prepare(b"x").await.unwrap();
            let mut writer = repeatable(&engine);
            let inserted = writer.insert(CATALOG, b"b", b"1", Uniqueness::Key, NOW).await;
            assert_eq!(inserted.is_ok(), is_free, "{isolation:?}");
            writer.rollback().await.unwrap();
            prepared.rollback().await.unwrap();
        });
    }
}

#[test]
fn a_transaction_that_makes_trees_cannot_be_prepared() {
    with_engine(|engine| async move {
        let mut maker = repeatable(&engine);
        let tree = maker.create_tree().await.unwrap();
        assert_eq!(maker.prepare(b"x").await.err(), Some(EngineError::NotPreparable));
        engine.finish_background().await;
        let gone = repeatable(&engine).get(tree, b"k", ReadMode::Snapshot).await;
        assert_eq!(gone, Err(EngineError::NoSuchTree(tree)));
    });
}

#[test]
fn many_are_prepared_at_a_time() {
    let world = life(machine(), options(), |engine| async move {
        for number in 0..50u8 {
            let mut transaction = repeatable(&engine);
            transaction.insert(CATALOG, &[number], b"1", Uniqueness::Key, WAIT).await.unwrap();
            drop(transaction.prepare(&[number]).await.unwrap());
        }
    });
    life(world, options(), |engine| async move {
        let recovered = engine.take_recovered();
        assert_eq!(recovered.len(), 50);
        for mut prepared in recovered {
            let is_even = prepared.xid()[0] % 2 == 0;
            end(&mut prepared, is_even).await;
        }
        let mut reader = repeatable(&engine);
        assert_eq!(all(&mut reader, ReadMode::Snapshot).await.unwrap().len(), 25);
    });
}
