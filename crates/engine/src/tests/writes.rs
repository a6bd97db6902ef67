//! Insert, update, delete, savepoints, rollback, limits, long values, new and dropped trees.

use super::*;

#[test]
fn changes_are_visible_after_commit_only() {
    with_engine(|engine| async move {
        let mut one = repeatable(&engine);
        put(&mut one, "a", "1").await.unwrap();
        assert_eq!(read(&mut one, "a", ReadMode::Snapshot).await.unwrap().as_deref(), Some("1"));
        assert_eq!(committed(&engine, "a").await, None);
        one.commit().await.unwrap();
        assert_eq!(committed(&engine, "a").await.as_deref(), Some("1"));
    });
}

#[test]
fn rollback_restores_every_kind_of_change() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1"), ("b", "2")]).await;
        let mut one = repeatable(&engine);
        put(&mut one, "c", "3").await.unwrap();
        set(&mut one, "a", "changed").await.unwrap();
        set(&mut one, "a", "changed twice, and much longer than before").await.unwrap();
        remove(&mut one, "b").await.unwrap();
        put(&mut one, "b", "again").await.unwrap();
        remove(&mut one, "c").await.unwrap();
        one.rollback().await.unwrap();
        let mut two = repeatable(&engine);
        assert_eq!(all(&mut two, ReadMode::Snapshot).await.unwrap(), ["a=1", "b=2"]);
        assert_eq!(all(&mut two, EXCLUSIVE).await.unwrap(), ["a=1", "b=2"]);
    });
}

#[test]
fn a_savepoint_undoes_what_came_after_it() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1")]).await;
        let mut one = repeatable(&engine);
        put(&mut one, "b", "2").await.unwrap();
        let savepoint = one.savepoint();
        put(&mut one, "c", "3").await.unwrap();
        remove(&mut one, "a").await.unwrap();
        one.rollback_to(savepoint).await.unwrap();
        let mut other = repeatable(&engine);
        let taken = other.update(CATALOG, b"a", b"x", WaitPolicy::NoWait).await;
        assert_eq!(taken, Err(EngineError::LockNotAvailable), "locks are kept");
        one.commit().await.unwrap();
        drop(other);
        let mut two = repeatable(&engine);
        assert_eq!(all(&mut two, ReadMode::Snapshot).await.unwrap(), ["a=1", "b=2"]);
    });
}

#[test]
fn errors_of_single_writes_change_nothing() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1")]).await;
        let mut one = repeatable(&engine);
        let duplicate = put(&mut one, "a", "2").await;
        assert_eq!(duplicate, Err(EngineError::DuplicateKey { existing_key: b"a".to_vec() }));
        assert_eq!(set(&mut one, "x", "2").await, Err(EngineError::NotFound));
        assert_eq!(remove(&mut one, "x").await, Err(EngineError::NotFound));
        assert!(!one.has_changes());
        let long = vec![b'k'; 5000];
        let refused = one.insert(CATALOG, &long, b"", Uniqueness::Key, WAIT).await;
        assert!(matches!(refused, Err(EngineError::TooLarge { .. })), "{refused:?}");
        // Also where the leaf is not looked at.
        let refused = one.insert_unseen(CATALOG, &long, b"", WAIT).await;
        assert!(matches!(refused, Err(EngineError::TooLarge { .. })), "{refused:?}");
        let refused = one.delete_unseen(CATALOG, &long, b"", WAIT).await;
        assert!(matches!(refused, Err(EngineError::TooLarge { .. })), "{refused:?}");
        drop(one);
        let mut reader = engine.begin(Isolation::RepeatableRead, AccessMode::ReadOnly);
        assert_eq!(put(&mut reader, "b", "2").await, Err(EngineError::ReadOnly));
        let missing = reader.get(TreeId(999), b"a", ReadMode::Snapshot).await;
        assert_eq!(missing, Err(EngineError::NoSuchTree(TreeId(999))));
    });
}

#[test]
fn long_values_live_in_chains() {
    with_engine(|engine| async move {
        let long = |byte: u8, length: usize| vec![byte; length];
        let mut one = repeatable(&engine);
        for (key, length) in [("a", 1000), ("b", 3000), ("c", 100_000)] {
            let value = long(b'1', length);
            one.insert(CATALOG, key.as_bytes(), &value, Uniqueness::Key, WAIT).await.unwrap();
        }
        one.commit().await.unwrap();
        let mut old = repeatable(&engine);
        old.take_snapshot();
        let mut two = repeatable(&engine);
        two.update(CATALOG, b"c", &long(b'2', 50_000), WAIT).await.unwrap();
        let savepoint = two.savepoint();
        two.update(CATALOG, b"b", &long(b'3', 70_000), WAIT).await.unwrap();
        two.rollback_to(savepoint).await.unwrap();
        two.delete(CATALOG, b"a", WAIT).await.unwrap();
        two.commit().await.unwrap();
        let seen = old.get(CATALOG, b"c", ReadMode::Snapshot).await.unwrap().unwrap();
        assert!(seen == long(b'1', 100_000), "the old version is still there");
        let mut batch = EntryBatch::default();
        let mut cursor = old.scan(CATALOG, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
        while cursor.next_batch(&mut old, 10, &mut batch).await.unwrap() {}
        let lengths: Vec<usize> = batch.iter().map(|(_, value)| value.len()).collect();
        assert_eq!(lengths, [1000, 3000, 100_000]);
        drop(old);
        let mut new = repeatable(&engine);
        let seen = new.get(CATALOG, b"c", ReadMode::Snapshot).await.unwrap().unwrap();
        assert!(seen == long(b'2', 50_000));
        assert_eq!(new.get(CATALOG, b"b", ReadMode::Snapshot).await.unwrap().unwrap().len(), 3000);
    });
}

#[test]
fn trees_come_and_go_with_their_transaction() {
    with_engine(|engine| async move {
        let mut one = repeatable(&engine);
        let tree = one.create_tree().await.unwrap();
        one.insert(tree, b"k", b"v", Uniqueness::Key, WAIT).await.unwrap();
        one.rollback().await.unwrap();
        let mut two = repeatable(&engine);
        let gone = two.get(tree, b"k", ReadMode::Snapshot).await;
        assert_eq!(gone, Err(EngineError::NoSuchTree(tree)));
        let tree = two.create_tree().await.unwrap();
        for key in 0u32..2000 {
            two.insert(tree, &key.to_be_bytes(), &[7; 50], Uniqueness::Key, WAIT).await.unwrap();
        }
        two.commit().await.unwrap();
        let mut three = repeatable(&engine);
        three.drop_tree(tree).await.unwrap();
        three.rollback().await.unwrap();
        let mut four = repeatable(&engine);
        assert!(four.get(tree, &7u32.to_be_bytes(), ReadMode::Snapshot).await.unwrap().is_some());
        four.drop_tree(tree).await.unwrap();
        four.commit().await.unwrap();
        let mut five = repeatable(&engine);
        let gone = five.get(tree, b"k", ReadMode::Snapshot).await;
        assert_eq!(gone, Err(EngineError::NoSuchTree(tree)));
    });
}

#[test]
fn old_versions_and_ghosts_are_pruned() {
    with_engine(|engine| async move {
        let mut one = repeatable(&engine);
        for key in 0u32..500 {
            one.insert(CATALOG, &key.to_be_bytes(), &[1; 40], Uniqueness::Key, WAIT).await.unwrap();
        }
        one.commit().await.unwrap();
        for key in 0u32..500 {
            let mut two = repeatable(&engine);
            two.delete(CATALOG, &key.to_be_bytes(), WAIT).await.unwrap();
            two.commit().await.unwrap();
        }
        fill(&engine, &[("z", "1")]).await;
        fill(&engine, &[("zz", "1")]).await;
        let stats = engine.stats();
        assert!(stats.history_length <= 2, "{stats:?}");
        assert!(stats.row_table_entries <= 2, "{stats:?}");
        let records = engine.count_records(CATALOG).await.unwrap();
        assert!(records <= 5, "{records} records are left");
    });
}

#[test]
fn a_dropped_transaction_is_rolled_back_in_the_background() {
    with_engine(|engine| async move {
        let mut one = repeatable(&engine);
        put(&mut one, "a", "1").await.unwrap();
        drop(one);
        let mut two = repeatable(&engine);
        put(&mut two, "a", "2").await.unwrap();
        two.commit().await.unwrap();
        assert_eq!(committed(&engine, "a").await.as_deref(), Some("2"));
    });
}

#[test]
fn what_a_transaction_keeps_lives_until_it_has_ended() {
    with_engine(|engine| async move {
        let kept = Arc::new(());
        let is_kept = || Arc::strong_count(&kept) > 1;
        let mut dropped = repeatable(&engine);
        put(&mut dropped, "a", "1").await.unwrap();
        dropped.keep_until_ended(kept.clone());
        drop(dropped);
        assert!(is_kept(), "the rollback has not begun");
        while engine.stats().active_writers > 0 {
            assert!(is_kept(), "the rollback has not ended");
            engine.env.clock.sleep(100).await;
        }
        engine.env.clock.sleep(1_000).await;
        assert!(!is_kept());

        let mut cut = repeatable(&engine);
        for key in 0u32..50 {
            cut.insert(CATALOG, &key.to_be_bytes(), b"v", Uniqueness::Key, WAIT).await.unwrap();
        }
        cut.keep_until_ended(kept.clone());
        // Killed in the middle of its own rollback: the rest happens in the background.
        cut_off(cut.rollback(), 0).await;
        assert!(is_kept());
        engine.env.clock.sleep(1_000_000).await;
        assert!(!is_kept());

        let mut committed = repeatable(&engine);
        put(&mut committed, "b", "1").await.unwrap();
        committed.keep_until_ended(kept.clone());
        committed.commit().await.unwrap();
        assert!(!is_kept());
    });
}

/// Takes room in the log until a group of `bytes` fits, but hardly a larger one.
fn leave_log_room(engine: &Engine, bytes: usize) -> Vec<wal::Reservation<'_>> {
    let mut held = Vec::new();
    for step in [64 << 10, 4 << 10, 256, 16] {
        while let Ok(room) = engine.wal.try_reserve(step, wal::Priority::Reserve) {
            if engine.wal.try_reserve(bytes, wal::Priority::Reserve).is_err() {
                break;
            }
            held.push(room);
        }
    }
    held
}

#[test]
fn undo_is_logged_again_as_soon_as_there_is_room_for_it() {
    with_engine(|engine| async move {
        let value = "v".repeat(900);
        let mut first = repeatable(&engine);
        for number in 0..100 {
            put(&mut first, &format!("{number:03}"), &value).await.unwrap();
        }
        first.commit().await.unwrap();
        let mut old = repeatable(&engine);
        for number in 0..100 {
            set(&mut old, &format!("{number:03}"), "short").await.unwrap();
        }
        // The first group is a little longer than this. Waiting for less than it needs would never give the log a turn.
        let (holder, taken) = (engine.clone(), Arc::new(env::sync::Event::new()));
        let is_taken = taken.clone();
        let hold = async move {
            let held = leave_log_room(&holder, 64 << 10);
            is_taken.set();
            holder.env.clock.sleep(1_000).await;
            drop(held);
        };
        engine.env.spawner.spawn("hold room", Box::pin(hold));
        taken.wait().await;
        engine.forward_old_undo(wal::Lsn(u64::MAX)).await.unwrap();
        assert_eq!(engine.stats().undo_forwards, 1);
        old.rollback().await.unwrap();
    });
}
