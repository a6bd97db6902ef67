//! What transactions see of each other at each isolation level, by point reads and scans.

use super::*;

#[test]
fn repeatable_read_keeps_its_first_snapshot() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1"), ("b", "1")]).await;
        let mut reader = repeatable(&engine);
        assert_eq!(read(&mut reader, "a", ReadMode::Snapshot).await.unwrap().as_deref(), Some("1"));
        let mut writer = repeatable(&engine);
        set(&mut writer, "a", "2").await.unwrap();
        remove(&mut writer, "b").await.unwrap();
        put(&mut writer, "c", "2").await.unwrap();
        writer.commit().await.unwrap();
        reader.begin_statement();
        assert_eq!(all(&mut reader, ReadMode::Snapshot).await.unwrap(), ["a=1", "b=1"]);
        assert_eq!(all(&mut reader, SHARED).await.unwrap(), ["a=2", "c=2"], "a locking read is current");
        set(&mut reader, "a", "3").await.unwrap();
        assert_eq!(all(&mut reader, ReadMode::Snapshot).await.unwrap(), ["a=3", "b=1"]);
    });
}

#[test]
fn read_committed_sees_more_with_every_statement() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1")]).await;
        let mut reader = begin(&engine, Isolation::ReadCommitted);
        reader.begin_statement();
        assert_eq!(all(&mut reader, ReadMode::Snapshot).await.unwrap(), ["a=1"]);
        fill(&engine, &[("b", "2")]).await;
        assert_eq!(all(&mut reader, ReadMode::Snapshot).await.unwrap(), ["a=1"], "within a statement");
        reader.begin_statement();
        assert_eq!(all(&mut reader, ReadMode::Snapshot).await.unwrap(), ["a=1", "b=2"]);
    });
}

#[test]
fn read_uncommitted_sees_the_newest_version() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1")]).await;
        let mut writer = repeatable(&engine);
        set(&mut writer, "a", "2").await.unwrap();
        let mut reader = begin(&engine, Isolation::ReadUncommitted);
        assert_eq!(all(&mut reader, ReadMode::Snapshot).await.unwrap(), ["a=2"]);
        assert_eq!(committed(&engine, "a").await.as_deref(), Some("1"));
    });
}

#[test]
fn scans_go_both_ways_within_their_bounds() {
    with_engine(|engine| async move {
        let rows: Vec<(String, String)> = (0..300).map(|n| (format!("k{n:03}"), format!("v{n}"))).collect();
        let mut writer = repeatable(&engine);
        for (key, value) in &rows {
            put(&mut writer, key, &value.repeat(20)).await.unwrap();
        }
        writer.commit().await.unwrap();
        let mut reader = repeatable(&engine);
        for (lower, upper) in [(0, 300), (10, 11), (10, 10), (5, 250), (299, 300)] {
            for (lower_excluded, upper_excluded) in
                [(false, false), (true, false), (false, true), (true, true)]
            {
                let key = |n: usize| Some(format!("k{n:03}").into_bytes());
                let range = KeyRange { lower: key(lower), lower_excluded, upper: key(upper), upper_excluded };
                let first = lower + usize::from(lower_excluded);
                let last = (upper + 1).saturating_sub(usize::from(upper_excluded)).min(300);
                let expected: Vec<String> = (first..last.max(first)).map(|n| format!("k{n:03}")).collect();
                for mode in [ReadMode::Snapshot, SHARED] {
                    let keys = |rows: Vec<String>| -> Vec<String> {
                        rows.iter().map(|row| row[..4].to_string()).collect()
                    };
                    let forward = collect(&mut reader, CATALOG, range.clone(), Direction::Forward, mode);
                    assert_eq!(keys(forward.await.unwrap()), expected, "{range:?}");
                    let backward = collect(&mut reader, CATALOG, range.clone(), Direction::Backward, mode);
                    let mut backward = keys(backward.await.unwrap());
                    backward.reverse();
                    assert_eq!(backward, expected, "{range:?}");
                }
            }
        }
    });
}

#[test]
fn a_scan_sees_its_snapshot_while_others_write() {
    with_engine(|engine| async move {
        let mut writer = repeatable(&engine);
        for n in 0..200 {
            put(&mut writer, &format!("k{n:03}"), "old").await.unwrap();
        }
        writer.commit().await.unwrap();
        let mut reader = repeatable(&engine);
        let mut cursor = reader.scan(CATALOG, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
        let mut batch = EntryBatch::default();
        let mut step = 0;
        while cursor.next_batch(&mut reader, 10, &mut batch).await.unwrap() {
            let mut writer = repeatable(&engine);
            for n in 0..200 {
                match (n + step) % 4 {
                    0 => drop(set(&mut writer, &format!("k{n:03}"), &format!("new{step}")).await),
                    1 => drop(remove(&mut writer, &format!("k{n:03}")).await),
                    2 => drop(put(&mut writer, &format!("k{n:03}x{step}"), "more").await),
                    _ => {}
                }
            }
            if step % 2 == 0 {
                writer.commit().await.unwrap()
            } else {
                writer.rollback().await.unwrap()
            }
            step += 1;
        }
        assert_eq!(batch.len(), 200);
        assert!(batch.iter().all(|(_, value)| value == b"old"));
    });
}

#[test]
fn an_old_snapshot_does_not_keep_every_version() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "first"), ("b", "first")]).await;
        let mut old = repeatable(&engine);
        old.take_snapshot();
        for round in 0..300 {
            let mut writer = repeatable(&engine);
            set(&mut writer, "a", &format!("{round}")).await.unwrap();
            if round == 100 {
                remove(&mut writer, "b").await.unwrap();
            }
            writer.commit().await.unwrap();
            if round == 150 {
                engine.merge_history().await.unwrap();
            }
        }
        let mut middle = repeatable(&engine);
        middle.take_snapshot();
        fill(&engine, &[("c", "later")]).await;
        engine.merge_history().await.unwrap();
        assert!(engine.stats().history_length <= 4, "{:?}", engine.stats());
        assert_eq!(all(&mut old, ReadMode::Snapshot).await.unwrap(), ["a=first", "b=first"]);
        assert_eq!(all(&mut middle, ReadMode::Snapshot).await.unwrap(), ["a=299"]);
        drop((old, middle));
        fill(&engine, &[("d", "later")]).await;
        assert_eq!(engine.stats().history_length, 0);
        assert_eq!(engine.stats().row_table_entries, 0);
        assert_eq!(engine.count_records(CATALOG).await.unwrap(), 3);
    });
}

#[test]
fn nothing_is_visible_before_it_is_durable() {
    let world = World::new(7, SimOptions::default());
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env, options()).await.unwrap();
        let mut writer = repeatable(&engine);
        put(&mut writer, "a", "1").await.unwrap();
        let mut commit = pin!(writer.commit());
        assert!(waits(&mut commit), "a commit waits for the disk");
        assert_eq!(committed(&engine, "a").await, None);
        commit.await.unwrap();
        assert_eq!(committed(&engine, "a").await.as_deref(), Some("1"));
    };
    world.block_on(run).unwrap();
}

/// Whoever has met a commit in the row table waits until the next snapshot sees it, also between the stamp and the word of it.
#[test]
fn a_commit_that_is_just_being_stamped_is_waited_for() {
    use std::sync::atomic::Ordering;
    let engine = Engine::in_memory();
    env::local::block_on(async {
        fill(&engine, &[("a", "1")]).await;
        engine.flush_log().await.unwrap();
    });
    let lsn = engine.wal.durable_lsn().0;
    let stamping = engine.versions.history.lock();
    engine.commits.last_lsn.store(lsn - 1, Ordering::Release);
    let (told, hears) = std::sync::mpsc::channel();
    let waiter = std::thread::spawn({
        let engine = engine.clone();
        move || {
            env::local::block_on(engine.acknowledge(lsn)).unwrap();
            told.send(engine.visible_lsn()).unwrap();
        }
    });
    let early = hears.recv_timeout(std::time::Duration::from_millis(100));
    assert!(early.is_err(), "the next snapshot would not see it: {early:?}");
    engine.commits.last_lsn.store(lsn, Ordering::Release);
    drop(stamping);
    assert_eq!(hears.recv().unwrap(), lsn);
    waiter.join().unwrap();
}
