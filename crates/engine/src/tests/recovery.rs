//! What a restart finds: committed work, no unfinished work, trees, long values, after kills and crashes.

use super::*;

/// Runs `work` on a machine and stops it there; answers the machine after a crash.
fn crash_after<F>(world: World, work: impl FnOnce(Arc<Engine>) -> F) -> World
where
    F: Future<Output = ()>,
{
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env, options()).await.expect("open");
        work(engine).await;
    };
    world.block_on(run).unwrap();
    world.crash(SimOptions::default())
}

#[test]
fn committed_work_survives_and_unfinished_work_does_not() {
    let world = crash_after(World::new(3, SimOptions::default()), |engine| async move {
        fill(&engine, &[("a", "1"), ("b", "1"), ("c", "1")]).await;
        let mut loser = repeatable(&engine);
        put(&mut loser, "x", "lost").await.unwrap();
        set(&mut loser, "a", "lost").await.unwrap();
        set(&mut loser, "a", "lost again").await.unwrap();
        remove(&mut loser, "b").await.unwrap();
        put(&mut loser, "b", "lost").await.unwrap();
        let savepoint = loser.savepoint();
        remove(&mut loser, "c").await.unwrap();
        loser.rollback_to(savepoint).await.unwrap();
        // Its commit makes the loser's records durable too.
        fill(&engine, &[("d", "1")]).await;
        std::mem::forget(loser);
    });
    crash_after(world, |engine| async move {
        let mut reader = repeatable(&engine);
        assert_eq!(all(&mut reader, ReadMode::Snapshot).await.unwrap(), ["a=1", "b=1", "c=1", "d=1"]);
        engine.finish_background().await;
        assert_eq!(all(&mut reader, ReadMode::Snapshot).await.unwrap(), ["a=1", "b=1", "c=1", "d=1"]);
        engine.verify().await.unwrap();
    });
}

#[test]
fn trees_are_recovered_with_their_rows() {
    let world = crash_after(World::new(4, SimOptions::default()), |engine| async move {
        let mut one = repeatable(&engine);
        let (kept, dropped) = (one.create_tree().await.unwrap(), one.create_tree().await.unwrap());
        for tree in [kept, dropped] {
            for key in 0u32..300 {
                one.insert(tree, &key.to_be_bytes(), &[9; 100], Uniqueness::Key, WAIT).await.unwrap();
            }
        }
        one.commit().await.unwrap();
        let mut two = repeatable(&engine);
        two.drop_tree(dropped).await.unwrap();
        two.commit().await.unwrap();
        let mut loser = repeatable(&engine);
        let unfinished = loser.create_tree().await.unwrap();
        loser.insert(unfinished, b"k", b"v", Uniqueness::Key, WAIT).await.unwrap();
        fill(&engine, &[("trees", &format!("{} {} {}", kept.0, dropped.0, unfinished.0))]).await;
        std::mem::forget(loser);
    });
    crash_after(world, |engine| async move {
        let ids = committed(&engine, "trees").await.unwrap();
        let ids: Vec<TreeId> = ids.split(' ').map(|id| TreeId(id.parse().unwrap())).collect();
        let mut reader = repeatable(&engine);
        let row = reader.get(ids[0], &7u32.to_be_bytes(), ReadMode::Snapshot).await.unwrap();
        assert_eq!(row, Some(vec![9; 100]));
        engine.finish_background().await;
        for gone in &ids[1..] {
            let missing = reader.get(*gone, b"k", ReadMode::Snapshot).await;
            assert_eq!(missing, Err(EngineError::NoSuchTree(*gone)));
        }
        let new = reader.create_tree().await.unwrap();
        assert!(ids.iter().all(|old| new > *old), "tree ids are never used again");
        reader.rollback().await.unwrap();
        engine.verify().await.unwrap();
    });
}

/// A machine that stopped while a transaction had changed every row of a tree of 100 rows; the tree and the options that
/// decide whether its undo was in memory or in a spill.
fn with_large_loser(undo_memory_bytes: u64) -> (World, TreeId, EngineOptions) {
    let options = EngineOptions { undo_memory_bytes, ..options() };
    let world = World::new(12, SimOptions::default());
    let (env, for_life) = (world.env(), options.clone());
    let run = async move {
        let engine = Engine::open(env, for_life).await.unwrap();
        let mut one = repeatable(&engine);
        let tree = one.create_tree().await.unwrap();
        for key in 0u8..100 {
            one.insert(tree, &[key], &[0; 3000], Uniqueness::Key, WAIT).await.unwrap();
        }
        one.commit().await.unwrap();
        let mut loser = repeatable(&engine);
        for key in 0u8..100 {
            loser.update(tree, &[key], &[1; 3000], WAIT).await.unwrap();
            loser.insert(tree, &[key, 0], b"new", Uniqueness::Key, WAIT).await.unwrap();
        }
        loser.delete(tree, &[50], WAIT).await.unwrap();
        fill(&engine, &[("all before", "is durable")]).await;
        std::mem::forget(loser);
        tree
    };
    let tree = world.block_on(run).unwrap();
    (world.crash(SimOptions::default()), tree, options)
}

async fn check_rows_before(engine: &Arc<Engine>, tree: TreeId) {
    let (all, old) = (KeyRange::all(), "\0".repeat(3000));
    let mut reader = repeatable(engine);
    let found = collect(&mut reader, tree, all, Direction::Forward, ReadMode::Snapshot).await.unwrap();
    assert!(found.len() == 100 && found.iter().all(|row| row.ends_with(&old)));
}

#[test]
fn others_work_while_what_the_last_life_left_is_undone() {
    for undo_memory_bytes in [0, 1] {
        let (world, tree, options) = with_large_loser(undo_memory_bytes);
        let env = world.env();
        let run = async move {
            let engine = Engine::open(env, options).await.unwrap();
            let unfinished = engine.active_transactions();
            assert_eq!(unfinished.len(), 1, "{unfinished:?}");
            let mut other = repeatable(&engine);
            for key in [[50].as_slice(), &[7], &[7, 0]] {
                let locked = other.insert(tree, key, b"other", Uniqueness::Key, WaitPolicy::NoWait).await;
                assert_eq!(locked, Err(EngineError::LockNotAvailable), "{key:?}");
            }
            assert_eq!(engine.active_transactions()[0].id, unfinished[0].id, "it is still being undone");
            check_rows_before(&engine, tree).await;
            other.insert(tree, b"free", b"other", Uniqueness::Key, WAIT).await.unwrap();
            other.update(tree, &[50], b"other", WAIT).await.unwrap();
            other.rollback().await.unwrap();
            check_rows_before(&engine, tree).await;
            engine.finish_background().await;
            check_rows_before(&engine, tree).await;
            assert!(engine.active_transactions().is_empty());
            engine.verify().await.unwrap();
        };
        world.block_on(run).unwrap();
    }
}

#[test]
fn a_drop_waits_for_what_the_last_life_left_in_the_tree() {
    for undo_memory_bytes in [0, 1] {
        let (world, tree, options) = with_large_loser(undo_memory_bytes);
        let env = world.env();
        let run = async move {
            let engine = Engine::open(env, options).await.unwrap();
            let mut one = repeatable(&engine);
            {
                let mut dropping = pin!(one.drop_tree(tree));
                assert!(waits(&mut dropping));
                dropping.await.unwrap();
            }
            assert_eq!(engine.active_transactions().len(), 1, "it was in this tree");
            one.commit().await.unwrap();
            engine.finish_background().await;
            let report = engine.verify().await.unwrap();
            assert_eq!((report.trees, report.other_pages), (2, 0), "{report:?}");
        };
        world.block_on(run).unwrap();
    }
}

#[test]
fn a_close_leaves_what_is_unfinished_to_the_next_life() {
    for undo_memory_bytes in [0, 1] {
        let (world, tree, options) = with_large_loser(undo_memory_bytes);
        for life in 0..4 {
            let (env, options) = (world.env(), options.clone());
            let run = async move {
                let engine = Engine::open(env, options).await.unwrap();
                check_rows_before(&engine, tree).await;
                if life == 3 {
                    engine.finish_background().await;
                    check_rows_before(&engine, tree).await;
                    engine.verify().await.unwrap();
                }
                engine.close().await.unwrap();
                assert_eq!(engine.failure(), None);
            };
            world.block_on(run).unwrap();
        }
    }
}

#[test]
fn a_clean_close_leaves_nothing_to_replay() {
    let world = World::new(5, SimOptions::default());
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env.clone(), options()).await.unwrap();
        fill(&engine, &[("a", "1")]).await;
        engine.close().await.unwrap();
        let engine = Engine::open(env, options()).await.unwrap();
        let stats = engine.stats();
        assert_eq!(stats.pool_pages_dirty, 0, "{stats:?}");
        assert_eq!(committed(&engine, "a").await.as_deref(), Some("1"));
    };
    world.block_on(run).unwrap();
}

#[test]
fn a_small_log_goes_round_many_times() {
    let world = crash_after(World::new(6, SimOptions::default()), |engine| async move {
        // An old transaction that has written something must not hold the log back.
        let mut old = repeatable(&engine);
        put(&mut old, "old", "1").await.unwrap();
        for round in 0..300 {
            let mut transaction = repeatable(&engine);
            for key in 0u32..100 {
                let key = [b'k', key as u8];
                let value = vec![round as u8; 200];
                match transaction.update(CATALOG, &key, &value, WAIT).await {
                    Err(EngineError::NotFound) => {
                        transaction.insert(CATALOG, &key, &value, Uniqueness::Key, WAIT).await.unwrap();
                    }
                    other => other.unwrap(),
                }
            }
            transaction.commit().await.unwrap();
        }
        let stats = engine.stats();
        assert!(stats.log_end_lsn > 3 * stats.log_capacity_bytes, "{stats:?}");
        assert!(stats.checkpoints > 5, "{stats:?}");
        std::mem::forget(old);
    });
    crash_after(world, |engine| async move {
        let mut reader = repeatable(&engine);
        let rows = all(&mut reader, ReadMode::Snapshot).await.unwrap();
        assert_eq!(rows.len(), 100);
        assert_eq!(committed(&engine, "old").await, None);
        engine.finish_background().await;
        engine.verify().await.unwrap();
    });
}

#[test]
fn a_failed_log_stops_all_changes_and_keeps_what_was_acknowledged() {
    use env::IoOp;
    use env::sim::Fault;
    let world = World::new(8, SimOptions::default());
    let env = world.env();
    let open = env.clone();
    let engine = world.block_on(async move { Engine::open(open, options()).await.unwrap() }).unwrap();
    world.block_on(fill(&engine, &[("a", "1")])).unwrap();
    world.set_faults(&[Fault::input_output_error(IoOp::Sync, "wal", 0).sticky()]);
    let run = async {
        let mut one = repeatable(&engine);
        put(&mut one, "b", "1").await.unwrap();
        let failed = one.commit().await;
        assert!(matches!(failed, Err(EngineError::Io { .. })), "{failed:?}");
        assert!(engine.failure().is_some());
        let mut two = repeatable(&engine);
        assert!(put(&mut two, "c", "1").await.is_err());
    };
    world.block_on(run).unwrap();
    drop(engine);
    let world = world.crash(SimOptions::default());
    crash_after(world, |engine| async move {
        assert_eq!(committed(&engine, "a").await.as_deref(), Some("1"));
    });
}

#[test]
fn a_full_disk_is_an_error_of_the_statement() {
    let world = World::new(9, SimOptions::default());
    let env = world.env();
    let open = env.clone();
    let engine = world.block_on(async move { Engine::open(open, options()).await.unwrap() }).unwrap();
    world.block_on(fill(&engine, &[("a", "1")])).unwrap();
    let used: u64 = world.paths().iter().filter_map(|path| world.content(path)).map(|c| c.len() as u64).sum();
    world.set_capacity(Some(used + (1 << 20)));
    let run = async {
        let mut one = repeatable(&engine);
        let mut refused = None;
        for key in 0u32..100_000 {
            let result = one.insert(CATALOG, &key.to_be_bytes(), &[5; 500], Uniqueness::Key, WAIT).await;
            if let Err(error) = result {
                refused = Some(error);
                break;
            }
        }
        assert_eq!(refused, Some(EngineError::DiskFull));
        one.rollback().await.unwrap();
        assert_eq!(committed(&engine, "a").await.as_deref(), Some("1"));
    };
    world.block_on(run).unwrap();
}
