//! Row locks, gaps, unique checks, waits, timeouts and deadlocks.

use super::*;

#[test]
fn a_writer_waits_for_a_writer() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1")]).await;
        let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
        set(&mut one, "a", "2").await.unwrap();
        {
            let mut update = pin!(set(&mut two, "a", "3"));
            assert!(waits(&mut update));
            assert_eq!(engine.active_transactions().len(), 2);
            let waiting = engine.active_transactions().into_iter().find_map(|info| info.waiting).unwrap();
            assert_eq!((waiting.key.as_slice(), waiting.blockers.len()), (b"a".as_slice(), 1));
            one.commit().await.unwrap();
            update.await.unwrap();
        }
        two.commit().await.unwrap();
        assert_eq!(committed(&engine, "a").await.as_deref(), Some("3"));
    });
}

#[test]
fn waiting_ends_with_rollback_too() {
    with_engine(|engine| async move {
        let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
        put(&mut one, "a", "1").await.unwrap();
        {
            let mut insert = pin!(put(&mut two, "a", "2"));
            assert!(waits(&mut insert));
            one.rollback().await.unwrap();
            insert.await.unwrap();
        }
        two.commit().await.unwrap();
        assert_eq!(committed(&engine, "a").await.as_deref(), Some("2"));
    });
}

#[test]
fn a_wait_times_out_and_the_transaction_goes_on() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1")]).await;
        let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
        set(&mut one, "a", "2").await.unwrap();
        put(&mut two, "b", "1").await.unwrap();
        assert_eq!(set(&mut two, "a", "3").await, Err(EngineError::LockWaitTimeout));
        two.commit().await.unwrap();
        one.commit().await.unwrap();
        assert_eq!(committed(&engine, "b").await.as_deref(), Some("1"));
        assert_eq!(engine.stats().lock_timeouts, 1);
    });
}

#[test]
fn waits_that_end_in_time_leave_no_timer() {
    let world = World::new(42, SimOptions::default());
    let env = world.env();
    let run = async {
        let clock = env.clock.clone();
        let engine = Engine::open(env, options()).await.expect("open");
        fill(&engine, &[("a", "1")]).await;
        // What the engine does in the background for a moment after a commit.
        clock.sleep(100_000).await;
        let before = world.timer_count();
        for _ in 0..200 {
            let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
            set(&mut one, "a", "2").await.unwrap();
            {
                let mut update = pin!(set(&mut two, "a", "3"));
                assert!(waits(&mut update));
                assert_eq!(world.timer_count(), before + 1, "the wait has a time limit");
                one.rollback().await.unwrap();
                update.await.unwrap();
            }
            two.rollback().await.unwrap();
        }
        assert_eq!(world.timer_count(), before);
        let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
        set(&mut one, "a", "2").await.unwrap();
        let start_us = clock.now_us();
        assert_eq!(set(&mut two, "a", "3").await, Err(EngineError::LockWaitTimeout));
        let waited_us = clock.now_us() - start_us;
        assert!((1_000_000..1_001_000).contains(&waited_us), "{waited_us}");
        one.rollback().await.unwrap();
        two.rollback().await.unwrap();
        engine.close().await.expect("close");
    };
    world.block_on(run).unwrap();
}

#[test]
fn a_dropped_wait_leaves_the_queue() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1")]).await;
        let (mut one, mut two, mut three) = (repeatable(&engine), repeatable(&engine), repeatable(&engine));
        set(&mut one, "a", "2").await.unwrap();
        {
            let mut killed = pin!(set(&mut two, "a", "3"));
            assert!(waits(&mut killed));
        }
        {
            let mut update = Box::pin(set(&mut two, "a", "3"));
            assert!(waits(&mut update.as_mut()));
        }
        {
            let mut update = pin!(set(&mut three, "a", "4"));
            assert!(waits(&mut update));
            one.commit().await.unwrap();
            update.await.unwrap();
        }
        three.commit().await.unwrap();
        two.rollback().await.unwrap();
        assert_eq!(committed(&engine, "a").await.as_deref(), Some("4"));
    });
}

#[test]
fn a_deadlock_rolls_one_transaction_back() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1"), ("b", "1")]).await;
        let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
        run_into_deadlock(&mut one, &mut two).await;
        assert!(!two.has_changes());
        one.commit().await.unwrap();
        two.commit().await.unwrap();
        assert_eq!(committed(&engine, "b").await.as_deref(), Some("one"));
        assert_eq!(engine.stats().deadlocks, 1);
    });
}

#[test]
fn policies_other_than_waiting() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1"), ("b", "1"), ("c", "1")]).await;
        let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
        assert_eq!(read(&mut one, "b", EXCLUSIVE).await.unwrap().as_deref(), Some("1"));
        let skip = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::SkipLocked);
        assert_eq!(all(&mut two, skip).await.unwrap(), ["a=1", "c=1"]);
        let now = ReadMode::Locking(LockMode::Shared, WaitPolicy::NoWait);
        assert_eq!(all(&mut two, now).await, Err(EngineError::LockNotAvailable));
        assert_eq!(read(&mut two, "b", skip).await.unwrap(), None);
    });
}

#[test]
fn shared_locks_share() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1")]).await;
        let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
        read(&mut one, "a", SHARED).await.unwrap();
        read(&mut two, "a", SHARED).await.unwrap();
        {
            let mut upgrade = pin!(set(&mut one, "a", "2"));
            assert!(waits(&mut upgrade));
            two.rollback().await.unwrap();
            upgrade.await.unwrap();
        }
        one.commit().await.unwrap();
    });
}

#[test]
fn a_locked_range_keeps_inserts_out_at_repeatable_read() {
    with_engine(|engine| async move {
        fill(&engine, &[("b", "1"), ("d", "1"), ("f", "1")]).await;
        let range =
            KeyRange { lower: Some(b"b".to_vec()), upper: Some(b"e".to_vec()), ..KeyRange::default() };
        let mut one = repeatable(&engine);
        let rows = collect(&mut one, CATALOG, range.clone(), Direction::Forward, EXCLUSIVE).await.unwrap();
        assert_eq!(rows, ["b=1", "d=1"]);
        let mut two = repeatable(&engine);
        put(&mut two, "a", "2").await.unwrap();
        put(&mut two, "g", "2").await.unwrap();
        put(&mut one, "c", "own").await.unwrap();
        {
            let mut insert = pin!(put(&mut two, "e", "2"));
            assert!(waits(&mut insert));
            one.commit().await.unwrap();
            insert.await.unwrap();
        }
        two.commit().await.unwrap();

        let mut three = begin(&engine, Isolation::ReadCommitted);
        collect(&mut three, CATALOG, range, Direction::Backward, EXCLUSIVE).await.unwrap();
        let mut four = repeatable(&engine);
        put(&mut four, "cc", "4").await.unwrap();
        four.commit().await.unwrap();
    });
}

#[test]
fn an_absent_key_can_be_locked() {
    with_engine(|engine| async move {
        let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
        assert_eq!(read(&mut one, "a", EXCLUSIVE).await.unwrap(), None);
        {
            let mut insert = pin!(put(&mut two, "a", "2"));
            assert!(waits(&mut insert));
            put(&mut one, "a", "1").await.unwrap();
            one.commit().await.unwrap();
            assert!(matches!(insert.await, Err(EngineError::DuplicateKey { .. })));
        }
    });
}

#[test]
fn read_committed_unlocks_what_did_not_match() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1"), ("b", "1")]).await;
        let mut one = begin(&engine, Isolation::ReadCommitted);
        read(&mut one, "a", EXCLUSIVE).await.unwrap();
        let mark = one.lock_mark();
        assert_eq!(all(&mut one, EXCLUSIVE).await.unwrap().len(), 2);
        one.unlock_unmatched(CATALOG, b"a", mark);
        one.unlock_unmatched(CATALOG, b"b", mark);
        let mut two = repeatable(&engine);
        let locked = two.update(CATALOG, b"a", b"2", WaitPolicy::NoWait).await;
        assert_eq!(locked, Err(EngineError::LockNotAvailable), "an earlier read locked it");
        two.update(CATALOG, b"b", b"2", WaitPolicy::NoWait).await.unwrap();
    });
}

#[test]
fn unique_prefixes_are_unique() {
    with_engine(|engine| async move {
        let prefix = Uniqueness::Prefix(2);
        let mut one = repeatable(&engine);
        one.insert(CATALOG, b"aa1", b"", prefix, WAIT).await.unwrap();
        let mut two = repeatable(&engine);
        two.insert(CATALOG, b"bb1", b"", prefix, WAIT).await.unwrap();
        {
            let mut insert = pin!(two.insert(CATALOG, b"aa2", b"", prefix, WAIT));
            assert!(waits(&mut insert));
            one.commit().await.unwrap();
            let existing_key = b"aa1".to_vec();
            assert_eq!(insert.await, Err(EngineError::DuplicateKey { existing_key }));
        }
        two.rollback().await.unwrap();
        let mut three = repeatable(&engine);
        three.delete(CATALOG, b"aa1", WAIT).await.unwrap();
        three.insert(CATALOG, b"aa2", b"", prefix, WAIT).await.unwrap();
        let mut four = repeatable(&engine);
        {
            let mut insert = pin!(four.insert(CATALOG, b"aa3", b"", prefix, WAIT));
            assert!(waits(&mut insert));
            three.rollback().await.unwrap();
            assert!(matches!(insert.await, Err(EngineError::DuplicateKey { .. })));
        }
        four.rollback().await.unwrap();
        let mut five = repeatable(&engine);
        five.delete(CATALOG, b"aa1", WAIT).await.unwrap();
        five.commit().await.unwrap();
        let mut six = repeatable(&engine);
        six.insert(CATALOG, b"aa9", b"", prefix, WAIT).await.unwrap();
        six.commit().await.unwrap();
    });
}

#[test]
fn a_locked_record_may_be_tested_before_waiting() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1"), ("b", "1"), ("c", "1"), ("d", "1"), ("e", "1")]).await;
        let mut other = repeatable(&engine);
        set(&mut other, "b", "2").await.unwrap();
        remove(&mut other, "c").await.unwrap();
        put(&mut other, "cc", "new").await.unwrap();
        assert_eq!(read(&mut other, "d", EXCLUSIVE).await.unwrap().as_deref(), Some("1"));

        let mut one = begin(&engine, Isolation::ReadCommitted);
        one.begin_statement();
        let mut cursor = one.scan(CATALOG, KeyRange::all(), Direction::Forward, EXCLUSIVE);
        cursor.test_before_waiting();
        let (mut batch, mut seen, mut more) = (EntryBatch::default(), Vec::new(), true);
        while more {
            batch.clear();
            more = cursor.next_batch(&mut one, 100, &mut batch).await.unwrap();
            for (index, (key, value)) in batch.iter().enumerate() {
                let lock = if batch.is_unlocked(index) { "unlocked" } else { "locked" };
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                seen.push(format!("{}={} {lock}", text(key), text(value)));
            }
        }
        let expected = ["a=1 locked", "b=1 unlocked", "c=1 unlocked", "d=1 unlocked", "e=1 locked"];
        assert_eq!(seen, expected, "committed versions, and no record that is not committed");

        // The stricter levels wait.
        let mut two = repeatable(&engine);
        let mut cursor = two.scan(CATALOG, KeyRange::all(), Direction::Forward, EXCLUSIVE);
        cursor.test_before_waiting();
        one.rollback().await.unwrap();
        batch.clear();
        cursor.next_batch(&mut two, 100, &mut batch).await.unwrap();
        assert_eq!(batch.len(), 1);
        let waited = cursor.next_batch(&mut two, 100, &mut batch).await;
        assert_eq!(waited, Err(EngineError::LockWaitTimeout));
        two.rollback().await.unwrap();
        other.rollback().await.unwrap();
    });
}
