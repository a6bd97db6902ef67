//! The classic anomalies (Adya's names, the cases that Hermitage made popular), with what each isolation
//! level allows. The levels behave as InnoDB's do, so that applications see no difference: plain reads come
//! from a snapshot, changes and locking reads see the newest committed rows.

use super::*;
use Isolation::{ReadCommitted, ReadUncommitted, RepeatableRead};

const PLAIN: ReadMode = ReadMode::Snapshot;

async fn two(engine: &Arc<Engine>, isolation: Isolation) -> (Transaction, Transaction) {
    fill(engine, &[("1", "10"), ("2", "20")]).await;
    (begin(engine, isolation), begin(engine, isolation))
}

/// A plain read as a statement of its own.
async fn look(transaction: &mut Transaction, key: &str) -> Option<String> {
    transaction.begin_statement();
    read(transaction, key, PLAIN).await.unwrap()
}

async fn look_all(transaction: &mut Transaction) -> Vec<String> {
    transaction.begin_statement();
    all(transaction, PLAIN).await.unwrap()
}

fn value(text: &str) -> Option<String> {
    Some(text.into())
}

#[test]
fn g0_dirty_writes_never_happen() {
    for isolation in [ReadUncommitted, ReadCommitted, RepeatableRead] {
        with_engine(|engine| async move {
            let (mut one, mut other) = two(&engine, isolation).await;
            set(&mut one, "1", "11").await.unwrap();
            {
                let mut blocked = pin!(set(&mut other, "1", "12"));
                assert!(waits(&mut blocked));
                set(&mut one, "2", "21").await.unwrap();
                one.commit().await.unwrap();
                blocked.await.unwrap();
            }
            set(&mut other, "2", "22").await.unwrap();
            other.commit().await.unwrap();
            let mut reader = begin(&engine, RepeatableRead);
            assert_eq!(look_all(&mut reader).await, ["1=12", "2=22"]);
        });
    }
}

#[test]
fn g1a_and_g1b_aborted_and_intermediate_reads_only_when_uncommitted_is_asked_for() {
    for isolation in [ReadUncommitted, ReadCommitted, RepeatableRead] {
        with_engine(|engine| async move {
            let (mut one, mut other) = two(&engine, isolation).await;
            set(&mut one, "1", "101").await.unwrap();
            let dirty = isolation == ReadUncommitted;
            assert_eq!(look(&mut other, "1").await, value(if dirty { "101" } else { "10" }));
            set(&mut one, "1", "11").await.unwrap();
            assert_eq!(look(&mut other, "1").await, value(if dirty { "11" } else { "10" }));
            one.rollback().await.unwrap();
            assert_eq!(look(&mut other, "1").await, value("10"));
        });
    }
}

#[test]
fn g1c_circular_information_flow_is_prevented() {
    for isolation in [ReadCommitted, RepeatableRead] {
        with_engine(|engine| async move {
            let (mut one, mut other) = two(&engine, isolation).await;
            set(&mut one, "1", "11").await.unwrap();
            set(&mut other, "2", "22").await.unwrap();
            assert_eq!(look(&mut one, "2").await, value("20"));
            assert_eq!(look(&mut other, "1").await, value("10"));
        });
    }
}

#[test]
fn otv_an_observed_transaction_does_not_vanish() {
    for isolation in [ReadCommitted, RepeatableRead] {
        with_engine(|engine| async move {
            let (mut one, mut two) = two(&engine, isolation).await;
            let mut three = begin(&engine, isolation);
            set(&mut one, "1", "11").await.unwrap();
            set(&mut one, "2", "19").await.unwrap();
            {
                let mut blocked = pin!(set(&mut two, "1", "12"));
                assert!(waits(&mut blocked));
                one.commit().await.unwrap();
                blocked.await.unwrap();
            }
            assert_eq!(look(&mut three, "1").await, value("11"));
            set(&mut two, "2", "18").await.unwrap();
            assert_eq!(look(&mut three, "2").await, value("19"));
            two.commit().await.unwrap();
            let committed_later = isolation == ReadCommitted;
            assert_eq!(look(&mut three, "2").await, value(if committed_later { "18" } else { "19" }));
            assert_eq!(look(&mut three, "1").await, value(if committed_later { "12" } else { "11" }));
        });
    }
}

#[test]
fn pmp_a_predicate_read_changes_at_read_committed_only() {
    for isolation in [ReadCommitted, RepeatableRead] {
        with_engine(|engine| async move {
            let (mut one, mut other) = two(&engine, isolation).await;
            assert_eq!(look_all(&mut one).await.len(), 2);
            put(&mut other, "3", "30").await.unwrap();
            other.commit().await.unwrap();
            let phantom = isolation == ReadCommitted;
            assert_eq!(look_all(&mut one).await.len(), if phantom { 3 } else { 2 });
        });
    }
}

#[test]
fn p4_a_lost_update_is_possible_without_a_locking_read_and_impossible_with_one() {
    with_engine(|engine| async move {
        let (mut one, mut other) = two(&engine, RepeatableRead).await;
        assert_eq!(look(&mut one, "1").await, value("10"));
        assert_eq!(look(&mut other, "1").await, value("10"));
        set(&mut one, "1", "11").await.unwrap();
        one.commit().await.unwrap();
        // As with InnoDB: the change applies to the newest row.
        set(&mut other, "1", "12").await.unwrap();
        other.commit().await.unwrap();

        let (mut one, mut other) = (begin(&engine, RepeatableRead), begin(&engine, RepeatableRead));
        assert_eq!(read(&mut one, "1", EXCLUSIVE).await.unwrap(), value("12"));
        {
            let mut blocked = pin!(read(&mut other, "1", EXCLUSIVE));
            assert!(waits(&mut blocked));
            set(&mut one, "1", "13").await.unwrap();
            one.commit().await.unwrap();
            assert_eq!(blocked.await.unwrap(), value("13"));
        }
    });
}

#[test]
fn g_single_read_skew_happens_at_read_committed_only() {
    for isolation in [ReadCommitted, RepeatableRead] {
        with_engine(|engine| async move {
            let (mut one, mut other) = two(&engine, isolation).await;
            assert_eq!(look(&mut one, "1").await, value("10"));
            set(&mut other, "1", "12").await.unwrap();
            set(&mut other, "2", "18").await.unwrap();
            other.commit().await.unwrap();
            let skew = isolation == ReadCommitted;
            assert_eq!(look(&mut one, "2").await, value(if skew { "18" } else { "20" }));
        });
    }
}

#[test]
fn g2_write_skew_needs_locking_reads_to_be_prevented() {
    with_engine(|engine| async move {
        let (mut one, mut other) = two(&engine, RepeatableRead).await;
        assert_eq!(look_all(&mut one).await.len(), 2);
        assert_eq!(look_all(&mut other).await.len(), 2);
        set(&mut one, "1", "11").await.unwrap();
        set(&mut other, "2", "21").await.unwrap();
        one.commit().await.unwrap();
        other.commit().await.unwrap();

        // With shared locks, as SERIALIZABLE takes them, one of the two becomes a victim.
        let (mut one, mut other) = (begin(&engine, RepeatableRead), begin(&engine, RepeatableRead));
        all(&mut one, SHARED).await.unwrap();
        all(&mut other, SHARED).await.unwrap();
        {
            let mut blocked = pin!(set(&mut one, "1", "12"));
            assert!(waits(&mut blocked));
            assert_eq!(set(&mut other, "2", "22").await, Err(EngineError::Deadlock));
            blocked.await.unwrap();
        }
        one.commit().await.unwrap();
    });
}

#[test]
fn g2_phantoms_are_kept_out_of_locked_ranges() {
    with_engine(|engine| async move {
        let (mut one, mut other) = two(&engine, RepeatableRead).await;
        all(&mut one, SHARED).await.unwrap();
        all(&mut other, SHARED).await.unwrap();
        {
            let mut blocked = pin!(put(&mut one, "3", "30"));
            assert!(waits(&mut blocked));
            assert_eq!(put(&mut other, "4", "42").await, Err(EngineError::Deadlock));
            blocked.await.unwrap();
        }
        one.commit().await.unwrap();
        let mut reader = begin(&engine, RepeatableRead);
        assert_eq!(look_all(&mut reader).await, ["1=10", "2=20", "3=30"]);
    });
}

#[test]
fn with_snapshot_isolation_the_first_committer_wins() {
    with_engine(|engine| async move {
        fill(&engine, &[("1", "10"), ("2", "20"), ("4", "40")]).await;
        let exclusive = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::NoWait);
        let with_snapshot = async |wanted: bool| {
            let mut transaction = begin(&engine, RepeatableRead);
            transaction.set_snapshot_isolation(wanted);
            look(&mut transaction, "4").await;
            transaction
        };
        let (mut updates, mut reads, mut scans) =
            (with_snapshot(true).await, with_snapshot(true).await, with_snapshot(true).await);
        let (mut inserts, mut puts_back, mut loose) =
            (with_snapshot(true).await, with_snapshot(true).await, with_snapshot(false).await);
        let mut first = begin(&engine, RepeatableRead);
        set(&mut first, "1", "11").await.unwrap();
        remove(&mut first, "2").await.unwrap();
        put(&mut first, "3", "30").await.unwrap();
        first.commit().await.unwrap();
        let changed = Err(EngineError::RecordChanged);
        assert_eq!(set(&mut updates, "1", "12").await, changed);
        assert_eq!(put(&mut inserts, "3", "31").await, changed);
        assert_eq!(put(&mut puts_back, "2", "21").await, changed);
        assert_eq!(read(&mut reads, "2", exclusive).await, Err(EngineError::RecordChanged));
        assert_eq!(all(&mut scans, exclusive).await, Err(EngineError::RecordChanged));
        // Locks that were taken before the change was seen last until the caller rolls back.
        reads.rollback().await.unwrap();
        scans.rollback().await.unwrap();
        // What has not changed can be locked, and without the option what has.
        assert_eq!(read(&mut updates, "4", exclusive).await.unwrap(), value("40"));
        updates.rollback().await.unwrap();
        assert_eq!(read(&mut loose, "1", exclusive).await.unwrap(), value("11"));
        // A transaction without a snapshot has nothing that could have changed.
        let mut late = begin(&engine, RepeatableRead);
        late.set_snapshot_isolation(true);
        loose.rollback().await.unwrap();
        set(&mut late, "1", "13").await.unwrap();
        assert_eq!(look(&mut late, "1").await, value("13"));
        set(&mut late, "1", "14").await.unwrap();
    });
}
