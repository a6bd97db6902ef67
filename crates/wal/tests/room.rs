//! The log when room, files or the disk itself fail it.

mod support;

use env::sim::{Fault, SimOptions, World};
use env::sync::Mutex;
use env::{IoErrorKind, IoOp};
use std::sync::Arc;
use support::{group, on_log, read_all};
use wal::{AppendError, Lsn, Priority, Wal, WalError, WalOptions};

/// Clients may have opened all files that may be open: whoever needs the next segment waits until some are closed.
#[test]
fn a_log_that_can_open_no_files_waits_until_it_can() {
    for op in [IoOp::Open, IoOp::SyncDir] {
        let world = World::new(20, SimOptions::default());
        on_log(&world, WalOptions::tiny(), async |env, wal| {
            let wal = Arc::new(wal);
            let (checkpoint, is_done) = (Arc::new(Mutex::new(Lsn::ZERO)), Arc::new(Mutex::new(false)));
            let effect = env::sim::FaultEffect::Error(IoErrorKind::TooManyFiles);
            let fault = Fault { op: Some(op), path: "wal".into(), after: 2, sticky: true, effect };
            world.set_faults(&[fault]);
            let writer = {
                let (wal, checkpoint, is_done) = (wal.clone(), checkpoint.clone(), is_done.clone());
                async move {
                    for number in 0..400 {
                        wal.wait_for_space(40 << 10, Priority::Normal).await.unwrap();
                        let lsns = wal.append(&group(number)).unwrap();
                        wal.wait_durable(lsns.end).await.unwrap();
                        *checkpoint.lock() = lsns.start;
                        wal.truncate_before(lsns.start);
                    }
                    *is_done.lock() = true;
                }
            };
            env.spawner.spawn("writer", Box::pin(writer));
            env.clock.sleep(5_000_000).await;
            let stopped_at = *checkpoint.lock();
            env.clock.sleep(1_000_000).await;
            assert!(!*is_done.lock() && *checkpoint.lock() == stopped_at, "it needs a file");
            assert_eq!(wal.failure(), None);
            world.set_faults(&[]);
            env.clock.sleep(5_000_000).await;
            assert!(*is_done.lock(), "it goes on");
            wal.close().await.unwrap();
            let from = *checkpoint.lock();
            assert_eq!(read_all(env, from, wal.durable_lsn()).await.unwrap().len(), 1);
        });
    }
}

#[test]
fn a_failed_write_or_sync_ends_the_log_for_good() {
    for (op, effect) in [(IoOp::Sync, IoErrorKind::Os(5)), (IoOp::Write, IoErrorKind::NoSpace)] {
        let world = World::new(13, SimOptions::default());
        let env = world.env();
        let wal = world.block_on(Wal::create(&env, WalOptions::tiny())).unwrap().unwrap();
        world.block_on(wal.wait_for_space(40 << 10, Priority::Normal)).unwrap().unwrap();
        // Let the task that prepares segments finish, so that the fault meets the flush.
        world.block_on(env.clock.sleep(1_000_000)).unwrap();
        let effect = env::sim::FaultEffect::Partial(effect);
        world.set_faults(&[Fault { op: Some(op), path: "wal".into(), after: 0, sticky: false, effect }]);
        let lsns = wal.append(&group(4)).unwrap();
        let waited = world.block_on(wal.wait_durable(lsns.end)).unwrap();
        assert!(matches!(waited, Err(WalError::Failed(_))), "{waited:?}");
        assert!(matches!(wal.append(&group(5)), Err(AppendError::Failed(_))));
        assert!(world.block_on(wal.wait_durable(lsns.end)).unwrap().is_err(), "it stays failed");
        assert!(wal.durable_lsn() < lsns.end);
    }
}

#[test]
fn a_chunk_that_is_open_when_the_log_fails_takes_no_more() {
    let world = World::new(19, SimOptions::default());
    on_log(&world, WalOptions::tiny(), async |env, wal| {
        wal.wait_for_space(40 << 10, Priority::Normal).await.unwrap();
        env.clock.sleep(1_000_000).await;
        let effect = env::sim::FaultEffect::Partial(IoErrorKind::Os(5));
        let op = Some(IoOp::Write);
        world.set_faults(&[Fault { op, path: "wal".into(), after: 0, sticky: false, effect }]);
        let first = wal.append(&group(2)).unwrap();
        wal.request_flush(first.end);
        // The flusher takes the chunk, and the write has not failed yet.
        let mut second = first;
        while second.start.0 % 4096 != 64 || second == first {
            second = wal.append(&group(2)).unwrap();
            env::yield_now().await;
        }
        wal.wait_durable(first.end).await.unwrap_err();
        assert!(matches!(wal.append(&group(2)), Err(AppendError::Failed(_))));
        assert!(matches!(wal.try_reserve(10, Priority::Normal), Err(AppendError::Failed(_))));
        assert_eq!(wal.end_lsn(), second.end);
    });
}

#[test]
fn a_full_disk_refuses_statements_but_not_rollbacks_and_recovers() {
    let world = World::new(14, SimOptions { capacity_bytes: Some(300 << 10), ..SimOptions::default() });
    on_log(&world, WalOptions::tiny(), async |env, wal| {
        let mut number = 0;
        let refused = loop {
            match wal.append(&group(2)) {
                Ok(lsns) => wal.wait_durable(lsns.end).await.unwrap(),
                Err(AppendError::Full) => match wal.wait_for_space(1000, Priority::Normal).await {
                    Ok(()) => {}
                    Err(error) => break error,
                },
                Err(error) => break error,
            }
            number += 1;
            assert!(number < 1000);
        };
        assert_eq!(refused, AppendError::NoSpace);
        for _ in 0..8 {
            let lsns = wal.append_reserve(&group(2)).unwrap();
            wal.wait_durable(lsns.end).await.unwrap();
        }
        assert!(wal.failure().is_none());
        world.set_capacity(None);
        env.clock.sleep(200_000).await;
        assert_eq!(wal.append(&group(2)), Err(AppendError::NoSpace), "it tries again behind the scenes");
        env.clock.sleep(200_000).await;
        wal.append(&group(2)).unwrap();
    });
}

#[test]
fn a_chunk_that_a_rollback_opens_gives_nothing_of_the_reserve_to_others() {
    let world = World::new(18, SimOptions { capacity_bytes: Some(300 << 10), ..SimOptions::default() });
    on_log(&world, WalOptions::tiny(), async |env, wal| {
        let mut refused = 0;
        while refused < 20 {
            if wal.append(&group(2)).is_err() {
                refused += 1;
                wal.wait_durable(wal.end_lsn()).await.unwrap();
                env.clock.sleep(10_000).await;
            }
        }
        // Eight chunks of a block, each with a rest that anybody may fill, which is less than sixty groups.
        for _ in 0..8 {
            wal.append_reserve(&group(2)).unwrap();
            let mut taken = 0;
            while wal.append(&group(3)).is_ok() {
                taken += 1;
            }
            assert!(taken < 60, "{taken}");
            // What was set aside of the reserve goes back to it.
            drop(wal.try_reserve(10, Priority::Reserve));
            assert!(wal.try_reserve(10, Priority::Normal).is_err());
            wal.wait_durable(wal.end_lsn()).await.unwrap();
        }
        let last = loop {
            if let Err(error) = wal.append_reserve(&group(2)) {
                break error;
            }
            wal.wait_durable(wal.end_lsn()).await.unwrap();
        };
        assert_eq!(last, AppendError::NoSpace);
    });
}

#[test]
fn reservations_that_were_given_are_kept_whatever_others_append() {
    for seed in 0..30u64 {
        let world = World::new(seed, SimOptions::default());
        on_log(&world, WalOptions::tiny(), async |env, wal| {
            let mut rooms = Vec::new();
            let mut refused = 0;
            for number in 0..2000u64 {
                let priority = if number % 11 == 3 { Priority::Reserve } else { Priority::Normal };
                match env.random.u64() % 8 {
                    0..=2 => match wal.try_reserve(group(number).encoded_len(), priority) {
                        Ok(room) => rooms.push((number, room)),
                        Err(_) => refused += 1,
                    },
                    3 | 4 if !rooms.is_empty() => {
                        let at = env.random.u64() as usize % rooms.len();
                        let (number, room) = rooms.swap_remove(at);
                        wal.append_reserved(room, &group(number)).unwrap();
                    }
                    5 if priority == Priority::Normal => {
                        refused += wal.append(&group(number)).is_err() as u32
                    }
                    5 => refused += wal.append_reserve(&group(number)).is_err() as u32,
                    6 if number % 3 == 0 => {
                        wal.wait_durable(wal.end_lsn()).await.unwrap();
                        wal.truncate_before(wal.durable_lsn());
                    }
                    7 if number % 40 == 0 => {
                        // All at once, into whatever is left.
                        for (number, room) in rooms.drain(..) {
                            if number % 5 > 0 {
                                wal.append_reserved(room, &group(number)).unwrap();
                            }
                        }
                    }
                    _ => {}
                }
            }
            assert!(refused > 20, "{refused}");
            drop(rooms);
            wal.wait_durable(wal.end_lsn()).await.unwrap();
            wal.truncate_before(wal.durable_lsn());
            wal.wait_for_space(40 << 10, Priority::Normal).await.unwrap();
            assert!(wal.used_bytes() <= 128 << 10);
        });
    }
}

#[test]
fn the_log_waits_for_a_checkpoint_at_its_capacity() {
    let world = World::new(15, SimOptions::default());
    on_log(&world, WalOptions::tiny(), async |env, wal| {
        loop {
            let room = wal.try_reserve(1000, Priority::Normal);
            match room {
                Ok(room) => {
                    let lsns = wal.append_reserved(room, &group(2)).unwrap();
                    wal.wait_durable(lsns.end).await.unwrap();
                }
                Err(error) => {
                    assert_eq!(error, AppendError::Full);
                    env.clock.sleep(10_000).await;
                    if wal.try_reserve(1000, Priority::Normal).is_err() {
                        break;
                    }
                }
            }
        }
        assert!(wal.used_bytes() > 900 << 10 && wal.used_bytes() <= wal.capacity_bytes());
        wal.append_reserve(&group(2)).unwrap();
        wal.wait_durable(wal.end_lsn()).await.unwrap();
        wal.truncate_before(wal.durable_lsn());
        wal.wait_for_space(1000, Priority::Normal).await.unwrap();
    });
}
