//! The queue's fairness, deadlock search and abandoned requests.
use super::queue::IDLE_LOCKS_MAX;
use super::*;
use std::pin::pin;
use std::task::Waker;

fn name(table: &str) -> LockName {
    LockName::Table(Arc::from("d"), Arc::from(table))
}

fn poll_once(acquire: Pin<&mut Acquire>) -> Option<Result<LockGuard, LockDeadlock>> {
    match acquire.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

fn take(locks: &Arc<MetadataLocks>, owner: u64, table: &str, mode: LockMode) -> Option<LockGuard> {
    let acquire = pin!(locks.acquire(LockOwner(owner), name(table), mode));
    poll_once(acquire).map(|result| result.expect("no deadlock here"))
}

#[test]
fn a_waiting_exclusive_request_is_not_overtaken() {
    let locks = Arc::new(MetadataLocks::default());
    let first = take(&locks, 1, "t", LockMode::Shared).unwrap();
    let mut alter = pin!(locks.acquire(LockOwner(2), name("t"), LockMode::Exclusive));
    assert!(poll_once(alter.as_mut()).is_none());
    assert!(take(&locks, 3, "t", LockMode::Shared).is_none(), "a newcomer waits behind the ALTER");
    let again = take(&locks, 1, "t", LockMode::Shared).expect("a holder passes the queue");
    drop(first);
    assert!(poll_once(alter.as_mut()).is_none());
    drop(again);
    let guard = poll_once(alter.as_mut()).expect("granted").unwrap();
    assert!(take(&locks, 3, "t", LockMode::Shared).is_none());
    drop(guard);
    assert!(take(&locks, 3, "t", LockMode::Shared).is_some());
    assert!(locks.list().is_empty(), "nobody has a lock");
}

#[test]
fn of_locks_that_nobody_needs_so_many_stay() {
    let locks = Arc::new(MetadataLocks::default());
    let names: Vec<String> = (0..IDLE_LOCKS_MAX + 10).map(|number| number.to_string()).collect();
    for _ in 0..2 {
        let guards: Vec<_> = names.iter().map(|name| take(&locks, 1, name, LockMode::Exclusive)).collect();
        assert_eq!((locks.list().len(), locks.table.lock().idle), (names.len(), 0));
        drop(guards);
        assert_eq!(locks.list().len(), 0);
        let table = locks.table.lock();
        assert_eq!((table.places.len(), table.idle), (IDLE_LOCKS_MAX, IDLE_LOCKS_MAX));
    }
    let (reader, writer) = ("0", "1");
    let guard = take(&locks, 1, reader, LockMode::Shared).unwrap();
    assert!(take(&locks, 2, reader, LockMode::Exclusive).is_none(), "one that stayed is a lock like others");
    assert!(take(&locks, 2, writer, LockMode::Exclusive).is_some());
    drop(guard);
}

#[test]
fn an_abandoned_request_lets_the_next_one_pass() {
    let locks = Arc::new(MetadataLocks::default());
    let reader = take(&locks, 1, "t", LockMode::Shared).unwrap();
    let mut newcomer = pin!(locks.acquire(LockOwner(3), name("t"), LockMode::Shared));
    {
        let mut alter = pin!(locks.acquire(LockOwner(2), name("t"), LockMode::Exclusive));
        assert!(poll_once(alter.as_mut()).is_none());
        assert!(poll_once(newcomer.as_mut()).is_none());
    }
    assert!(poll_once(newcomer.as_mut()).is_some());
    drop(reader);
}

#[test]
fn an_abandoned_request_lets_those_pass_whom_nobody_stops() {
    let locks = Arc::new(MetadataLocks::default());
    let holder = take(&locks, 1, "t", LockMode::NoWrite).unwrap();
    let mut write = pin!(locks.acquire(LockOwner(2), name("t"), LockMode::SharedWrite));
    assert!(poll_once(write.as_mut()).is_none());
    let mut reader = pin!(locks.acquire(LockOwner(4), name("t"), LockMode::Shared));
    {
        let mut alter = pin!(locks.acquire(LockOwner(3), name("t"), LockMode::Exclusive));
        assert!(poll_once(alter.as_mut()).is_none());
        assert!(poll_once(reader.as_mut()).is_none(), "behind the ALTER");
    }
    let reading =
        poll_once(reader.as_mut()).expect("only the write, which does not stop it, is in front").unwrap();
    let mut alter = pin!(locks.acquire(LockOwner(3), name("t"), LockMode::Exclusive));
    assert!(poll_once(alter.as_mut()).is_none());
    drop(holder);
    assert!(poll_once(write.as_mut()).is_none(), "behind the ALTER");
    drop(reading);
    let altering = poll_once(alter.as_mut()).expect("nobody reads any more").unwrap();
    assert!(poll_once(write.as_mut()).is_none());
    drop(altering);
    assert!(poll_once(write.as_mut()).is_some());
}

#[test]
fn a_granted_but_dropped_request_is_released() {
    let locks = Arc::new(MetadataLocks::default());
    let holder = take(&locks, 1, "t", LockMode::Exclusive).unwrap();
    {
        let mut second = pin!(locks.acquire(LockOwner(2), name("t"), LockMode::Exclusive));
        assert!(poll_once(second.as_mut()).is_none());
        drop(holder);
    }
    assert!(take(&locks, 3, "t", LockMode::Exclusive).is_some());
}

#[test]
fn a_circle_of_waits_is_refused() {
    let locks = Arc::new(MetadataLocks::default());
    let _a = take(&locks, 1, "a", LockMode::Shared).unwrap();
    let _b = take(&locks, 2, "b", LockMode::Exclusive).unwrap();
    let mut rename = pin!(locks.acquire(LockOwner(2), name("a"), LockMode::Exclusive));
    assert!(poll_once(rename.as_mut()).is_none());
    let mut statement = pin!(locks.acquire(LockOwner(1), name("b"), LockMode::Shared));
    assert!(matches!(poll_once(statement.as_mut()), Some(Err(LockDeadlock))));
}

#[test]
fn readers_that_forbid_writes_share_with_readers_only() {
    let locks = Arc::new(MetadataLocks::default());
    let _reader = take(&locks, 1, "t", LockMode::NoWrite).unwrap();
    assert!(take(&locks, 2, "t", LockMode::NoWrite).is_some());
    assert!(take(&locks, 2, "t", LockMode::Shared).is_some());
    assert!(take(&locks, 2, "t", LockMode::SharedWrite).is_none());
    assert!(take(&locks, 1, "t", LockMode::SharedWrite).is_some(), "an own lock is no obstacle");
}

#[test]
fn a_reader_does_not_pass_a_waiting_definition_to_write() {
    let locks = Arc::new(MetadataLocks::default());
    let _reader = take(&locks, 1, "t", LockMode::Shared).unwrap();
    let mut alter = pin!(locks.acquire(LockOwner(2), name("t"), LockMode::Exclusive));
    assert!(poll_once(alter.as_mut()).is_none());
    let mut write = pin!(locks.acquire(LockOwner(1), name("t"), LockMode::SharedWrite));
    assert!(matches!(poll_once(write.as_mut()), Some(Err(LockDeadlock))));
}

#[test]
fn a_lock_that_is_passed_on_keeps_others_out_and_its_former_owner_too() {
    let locks = Arc::new(MetadataLocks::default());
    let mut guard = take(&locks, 1, "t", LockMode::SharedWrite).unwrap();
    guard.pass_to(LockOwner(9));
    let mut former = pin!(locks.acquire(LockOwner(1), name("t"), LockMode::Exclusive));
    assert!(poll_once(former.as_mut()).is_none());
    drop(guard);
    assert!(matches!(poll_once(former.as_mut()), Some(Ok(_))));
}

fn politely(locks: &Arc<MetadataLocks>, owner: u64, mode: LockMode) -> Acquire {
    locks.acquire_politely(LockOwner(owner), name("t"), mode)
}

#[test]
fn a_holder_passes_a_polite_request_and_newcomers_do_not() {
    let locks = Arc::new(MetadataLocks::default());
    let reader = take(&locks, 1, "t", LockMode::Shared).unwrap();
    let mut alter = pin!(politely(&locks, 2, LockMode::Exclusive));
    assert!(poll_once(alter.as_mut()).is_none());
    let writer = take(&locks, 1, "t", LockMode::SharedWrite).expect("it has the lock");
    assert!(take(&locks, 3, "t", LockMode::Shared).is_none());
    drop((reader, writer));
    assert!(poll_once(alter.as_mut()).is_some());
}

#[test]
fn everybody_passes_a_request_that_stands_aside_until_the_lock_is_free() {
    let locks = Arc::new(MetadataLocks::default());
    let reader = take(&locks, 1, "t", LockMode::Shared).unwrap();
    let mut alter = pin!(locks.acquire_aside(LockOwner(2), name("t"), LockMode::Exclusive));
    assert!(poll_once(alter.as_mut()).is_none());
    assert_eq!(locks.awaited(LockOwner(2)), Some(name("t")));
    let newcomer = take(&locks, 3, "t", LockMode::SharedWrite).expect("it passes");
    let mut other = pin!(locks.acquire(LockOwner(4), name("t"), LockMode::NoWrite));
    assert!(poll_once(other.as_mut()).is_none());
    drop(newcomer);
    let other = poll_once(other.as_mut()).expect("behind a request that keeps nobody").unwrap();
    drop(reader);
    assert!(poll_once(alter.as_mut()).is_none());
    drop(other);
    assert!(poll_once(alter.as_mut()).is_some());
}

#[test]
fn an_upgradable_lock_lets_all_but_its_like_in_and_passes_those_who_wait() {
    let locks = Arc::new(MetadataLocks::default());
    let own = take(&locks, 1, "t", LockMode::Upgradable).unwrap();
    let writer = take(&locks, 2, "t", LockMode::SharedWrite).expect("writers go on");
    let reader = take(&locks, 3, "t", LockMode::Shared).expect("readers go on");
    let mut other = pin!(locks.acquire(LockOwner(4), name("t"), LockMode::Upgradable));
    assert!(poll_once(other.as_mut()).is_none(), "one definition at a time");
    let mut stop = pin!(politely(&locks, 1, LockMode::NoWrite));
    assert!(poll_once(stop.as_mut()).is_none());
    drop(writer);
    let stopped = poll_once(stop.as_mut()).expect("readers do not matter").unwrap();
    let mut upgrade = pin!(politely(&locks, 1, LockMode::Exclusive));
    assert!(poll_once(upgrade.as_mut()).is_none());
    drop(reader);
    let alone = poll_once(upgrade.as_mut()).expect("in front of the other definition").unwrap();
    assert!(poll_once(other.as_mut()).is_none());
    drop((alone, stopped, own));
    assert!(poll_once(other.as_mut()).is_some());
}

#[test]
fn a_statement_that_waits_for_a_definition_gives_way_to_it() {
    let locks = Arc::new(MetadataLocks::default());
    let _own = take(&locks, 1, "t", LockMode::Upgradable).unwrap();
    let _stopped = take(&locks, 1, "t", LockMode::NoWrite).unwrap();
    let reader = take(&locks, 2, "t", LockMode::Shared).unwrap();
    let mut upgrade = pin!(politely(&locks, 1, LockMode::Exclusive));
    {
        let mut write = pin!(locks.acquire(LockOwner(2), name("t"), LockMode::SharedWrite));
        assert!(poll_once(write.as_mut()).is_none());
        assert!(poll_once(upgrade.as_mut()).is_none());
        assert!(matches!(poll_once(write.as_mut()), Some(Err(LockDeadlock))));
    }
    drop(reader);
    assert!(matches!(poll_once(upgrade.as_mut()), Some(Ok(_))));
}

#[test]
fn a_definition_goes_before_statements_that_wait_already() {
    let locks = Arc::new(MetadataLocks::default());
    let locked = take(&locks, 1, "t", LockMode::Exclusive).unwrap();
    let mut write = pin!(locks.acquire(LockOwner(2), name("t"), LockMode::SharedWrite));
    let mut other = pin!(locks.acquire(LockOwner(3), name("t"), LockMode::Exclusive));
    for manner in [Manner::Polite, Manner::Aside] {
        assert!(poll_once(write.as_mut()).is_none());
        assert!(poll_once(other.as_mut()).is_none(), "as a definition came first");
        let mut rename = pin!(locks.ask(LockOwner(4), name("t"), LockMode::Exclusive, manner));
        assert!(poll_once(rename.as_mut()).is_none());
    }
    let mut rename = pin!(politely(&locks, 4, LockMode::Exclusive));
    assert!(poll_once(rename.as_mut()).is_none());
    drop(locked);
    assert!(poll_once(write.as_mut()).is_none());
    let alone = poll_once(other.as_mut()).expect("it came before the other definition").unwrap();
    assert!(poll_once(rename.as_mut()).is_none());
    drop(alone);
    let renamed = poll_once(rename.as_mut()).expect("before the statement").unwrap();
    assert!(poll_once(write.as_mut()).is_none());
    drop(renamed);
    assert!(poll_once(write.as_mut()).is_some());
}

#[test]
fn a_definition_passes_nobody_whom_it_waits_for() {
    let locks = Arc::new(MetadataLocks::default());
    let reader = take(&locks, 1, "t", LockMode::Shared).unwrap();
    let writer = take(&locks, 2, "t", LockMode::SharedWrite).unwrap();
    let _held = take(&locks, 3, "u", LockMode::Exclusive).unwrap();
    // Waits for the writer, and the reader for it.
    let mut stop = pin!(locks.acquire(LockOwner(3), name("t"), LockMode::NoWrite));
    assert!(poll_once(stop.as_mut()).is_none());
    let mut read = pin!(locks.acquire(LockOwner(1), name("u"), LockMode::Shared));
    assert!(poll_once(read.as_mut()).is_none());
    let mut alter = pin!(politely(&locks, 4, LockMode::Exclusive));
    assert!(poll_once(alter.as_mut()).is_none());
    drop(writer);
    assert!(poll_once(stop.as_mut()).is_some(), "in front of the definition");
    drop(reader);
}

#[test]
fn a_drain_waits_for_those_who_are_there_and_stops_nobody() {
    let locks = Arc::new(MetadataLocks::default());
    let alter = take(&locks, 1, "t", LockMode::Upgradable).unwrap();
    let writer = take(&locks, 2, "t", LockMode::SharedWrite).unwrap();
    let _reader = take(&locks, 3, "t", LockMode::Shared).unwrap();
    let mut drain = pin!(locks.drain(LockOwner(1), name("t"), LockMode::NoWrite));
    let mut poll = || drain.as_mut().poll(&mut Context::from_waker(Waker::noop())).map(|done| done.is_ok());
    assert_eq!(poll(), Poll::Pending);
    assert_eq!(locks.awaited(LockOwner(1)), Some(name("t")));
    let later = take(&locks, 4, "t", LockMode::SharedWrite).expect("nobody waits for a drain");
    assert_eq!(poll(), Poll::Pending);
    drop(writer);
    assert_eq!(poll(), Poll::Ready(true), "who came later does not count");
    assert_eq!(locks.awaited(LockOwner(1)), None);
    // The same session again is somebody else.
    let again = take(&locks, 2, "t", LockMode::SharedWrite).unwrap();
    drop((again, later, alter));
}

#[test]
fn a_drain_does_not_stay_where_another_lock_comes() {
    let locks = Arc::new(MetadataLocks::default());
    let names: Vec<String> = (0..IDLE_LOCKS_MAX).map(|number| number.to_string()).collect();
    drop(names.iter().map(|name| take(&locks, 1, name, LockMode::Shared)).collect::<Vec<_>>());
    let writer = take(&locks, 2, "t", LockMode::SharedWrite).unwrap();
    let mut drain = pin!(locks.drain(LockOwner(1), name("t"), LockMode::NoWrite));
    let mut poll = || drain.as_mut().poll(&mut Context::from_waker(Waker::noop())).map(|done| done.is_ok());
    assert_eq!(poll(), Poll::Pending);
    drop(writer);
    let _other = take(&locks, 3, "u", LockMode::Shared).unwrap();
    assert!(
        locks.table.lock().locks.iter().all(|lock| lock.drains.is_empty()),
        "the lock that it drains is gone"
    );
    assert_eq!(poll(), Poll::Ready(true));
}

#[test]
fn who_waits_for_a_drain_that_waits_for_him_is_told() {
    let locks = Arc::new(MetadataLocks::default());
    let _alter = take(&locks, 1, "t", LockMode::Upgradable).unwrap();
    let _writer = take(&locks, 2, "t", LockMode::SharedWrite).unwrap();
    let mut drain = pin!(locks.drain(LockOwner(1), name("t"), LockMode::NoWrite));
    assert!(drain.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let mut other = pin!(locks.acquire(LockOwner(2), name("t"), LockMode::Upgradable));
    assert_eq!(poll_once(other.as_mut()).map(|result| result.is_err()), Some(true));
}

#[test]
fn old_holders_are_seen() {
    let locks = Arc::new(MetadataLocks::default());
    let _holder = take(&locks, 2, "t", LockMode::Shared).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2));
    let wanted = [(name("t"), LockMode::Exclusive)];
    let is_old =
        |owner, age| locks.have_old_holder(LockOwner(owner), &wanted, std::time::Duration::from_millis(age));
    assert!(is_old(1, 1) && !is_old(1, 60_000));
    assert!(!is_old(2, 1), "nobody waits for himself");
}
