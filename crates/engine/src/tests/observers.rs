//! What observers are told: locks, waits, deadlocks, counters.

use super::*;
use crate::{DeadlockObserver, DeadlockReport, LockInfo, LockedItem};
use parking_lot::Mutex;
use std::ops::Bound;

fn row(key: &str) -> LockedItem {
    LockedItem::Row(key.as_bytes().to_vec())
}

fn shown(locks: &[LockInfo]) -> Vec<(u64, LockedItem, LockMode, bool)> {
    locks.iter().map(|lock| (lock.label, lock.what.clone(), lock.mode, lock.granted)).collect()
}

#[test]
fn locks_are_listed_with_who_waits_for_them() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1"), ("b", "1"), ("c", "1")]).await;
        let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
        one.set_label(11);
        two.set_label(22);
        let range = KeyRange { lower: Some(b"b".to_vec()), ..KeyRange::all() };
        collect(&mut one, CATALOG, range, Direction::Forward, SHARED).await.unwrap();
        set(&mut one, "a", "one").await.unwrap();
        {
            let mut waiting = pin!(put(&mut two, "d", "two"));
            assert!(waits(&mut waiting));
            let locks = engine.locks();
            let found = shown(&locks);
            assert!(found.contains(&(11, row("b"), LockMode::Shared, true)), "{found:?}");
            assert!(found.contains(&(11, row("c"), LockMode::Shared, true)), "{found:?}");
            let is_open_end = |lock: &LockInfo| matches!(&lock.what, LockedItem::Range(_, Bound::Unbounded));
            assert!(locks.iter().any(|lock| lock.label == 11 && is_open_end(lock)), "{found:?}");
            let gap = LockedItem::Gap(b"d".to_vec());
            assert!(found.contains(&(22, gap, LockMode::Exclusive, false)), "{found:?}");
            assert!(!found.iter().any(|lock| lock.1 == row("a")), "nobody wants it: {found:?}");
        }
        {
            let mut waiting = pin!(set(&mut two, "a", "two"));
            assert!(waits(&mut waiting));
            let found = shown(&engine.locks());
            assert!(found.contains(&(11, row("a"), LockMode::Exclusive, true)), "{found:?}");
            assert!(found.contains(&(22, row("a"), LockMode::Exclusive, false)), "{found:?}");
        }
        one.commit().await.unwrap();
        two.rollback().await.unwrap();
        assert_eq!(engine.locks(), []);
    });
}

/// Remembers what it was told.
#[derive(Default)]
struct Witness(Mutex<Vec<usize>>);

impl DeadlockObserver for Witness {
    fn describe(&self, label: u64) -> String {
        format!("client {label}")
    }

    fn detected(&self, report: &DeadlockReport) {
        self.0.lock().push(report.victim);
    }
}

#[test]
fn the_latest_deadlock_is_kept() {
    with_engine(|engine| async move {
        let witness = Arc::new(Witness::default());
        engine.observe_deadlocks(witness.clone());
        assert_eq!(engine.latest_deadlock(), None);
        fill(&engine, &[("a", "1"), ("b", "1")]).await;
        let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
        one.set_label(11);
        two.set_label(22);
        run_into_deadlock(&mut one, &mut two).await;
        one.commit().await.unwrap();
        let report = engine.latest_deadlock().expect("it was kept");
        assert_eq!((report.victim, witness.0.lock().as_slice()), (0, &[0][..]));
        let members: Vec<_> = report
            .members
            .iter()
            .map(|member| (member.description.as_str(), &member.holds.what, &member.waits_for.what))
            .collect();
        assert_eq!(members, [("client 22", &row("b"), &row("a")), ("client 11", &row("a"), &row("b"))]);
        assert!(report.members.iter().all(|member| member.holds.granted && !member.waits_for.granted));
        assert_eq!(report.members[1].transaction.undo_records, 2);
    });
}

#[test]
fn input_and_output_are_counted() {
    with_engine(|engine| async move {
        let before = engine.stats();
        assert!(before.data_io.files_open > 0 && before.log_io.files_open > 0, "{before:?}");
        fill(&engine, &[("a", "1")]).await;
        let after = engine.stats();
        assert!(after.log_io.writes > before.log_io.writes && after.log_io.syncs > before.log_io.syncs);
        assert!(after.log_io.bytes_written > before.log_io.bytes_written);
        assert!(after.log_groups > before.log_groups && after.log_durable_lsn > before.log_durable_lsn);
        assert!(after.pool_write_requests > before.pool_write_requests);
        assert!(after.commit_wait.waits > before.commit_wait.waits && after.commit_wait.time_us > 0);
        assert_eq!(after.next_transaction, before.next_transaction + 1);
        assert!(after.log_file_bytes >= after.log_used_bytes, "{after:?}");
        engine.pool.flush_all().await.unwrap();
        let flushed = engine.stats();
        assert!(flushed.data_io.writes > before.data_io.writes && flushed.doublewrite_pages > 0);
        assert_eq!(flushed.pool_oldest_dirty_lsn, flushed.log_end_lsn, "all pages are clean");
    });
}

#[test]
fn waits_for_locks_are_timed() {
    with_engine(|engine| async move {
        fill(&engine, &[("a", "1")]).await;
        let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
        set(&mut one, "a", "one").await.unwrap();
        assert_eq!(set(&mut two, "a", "two").await, Err(EngineError::LockWaitTimeout));
        let stats = engine.stats();
        assert_eq!((stats.lock_waits, stats.lock_wait.waits, stats.lock_waits_current), (1, 1, 0));
        assert!(stats.lock_wait.time_us >= 1_000_000 && stats.lock_wait.time_us_max >= 1_000_000);
        one.rollback().await.unwrap();
    });
}
