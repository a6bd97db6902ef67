//! The log against the simulated disk: what was acknowledged survives every crash, and what comes back is a
//! prefix of what was appended.

mod support;

use env::sim::{Fault, Outcome, SimOptions, World};
use env::sync::Mutex;
use env::{Env, IoOp};
use std::collections::BTreeMap;
use std::sync::Arc;
use support::{group, read_all};
use wal::{AppendError, FlushMode, GroupLsns, Lsn, Priority, Wal, WalError, WalGroup, WalOptions, WalReader};

/// What a run has told its clients.
#[derive(Default, Clone)]
struct Ledger {
    appended: BTreeMap<u64, GroupLsns>,
    acknowledged: BTreeMap<u64, Lsn>,
    checkpoint: Lsn,
}

fn append_next(
    wal: &Wal,
    ledger: &Mutex<Ledger>,
    next: &Mutex<u64>,
    limit: u64,
) -> Result<Option<(u64, GroupLsns)>, AppendError> {
    let mut next = next.lock();
    let number = *next;
    if number >= limit {
        return Ok(None);
    }
    let lsns = wal.append(&group(number))?;
    *next += 1;
    ledger.lock().appended.insert(number, lsns);
    Ok(Some((number, lsns)))
}

/// Appends from several tasks, with checkpoints, over a few segments.
async fn workload(env: Env, wal: Arc<Wal>, ledger: Arc<Mutex<Ledger>>, first: u64, groups: u64) {
    let mut tasks = Vec::new();
    let next = Arc::new(Mutex::new(first));
    for _ in 0..4 {
        let (wal, ledger, next) = (wal.clone(), ledger.clone(), next.clone());
        let done = Arc::new(env::sync::Event::new());
        tasks.push(done.clone());
        let task = async move {
            loop {
                let (number, lsns) = match append_next(&wal, &ledger, &next, first + groups) {
                    Ok(Some(appended)) => appended,
                    Ok(None) => break,
                    Err(AppendError::Full) => {
                        wal.wait_for_space(40 << 10, Priority::Normal).await.unwrap();
                        continue;
                    }
                    Err(error) => panic!("{error}"),
                };
                if number % 4 != 3 {
                    wal.wait_durable(lsns.end).await.unwrap();
                    ledger.lock().acknowledged.insert(number, lsns.end);
                }
                if number % 10 == 0 {
                    let durable = wal.durable_lsn();
                    wal.truncate_before(durable);
                    ledger.lock().checkpoint = durable;
                }
            }
            done.set();
        };
        env.spawner.spawn("appender", Box::pin(task));
    }
    for task in tasks {
        task.wait().await;
    }
}

/// Recovers a crashed disk and checks it against the ledger; returns the world with the log open again.
fn check_recovery(world: &World, ledger: &Ledger) -> Wal {
    let env = world.env();
    let known_durable = ledger.acknowledged.values().copied().max().unwrap_or(Lsn::ZERO);
    let found = world.block_on(read_all(&env, ledger.checkpoint, known_durable)).unwrap();
    let found = found.unwrap_or_else(|error| panic!("recovery failed: {error}"));
    let end = found.last().map_or(Lsn::ZERO, |(_, end)| *end);
    let expected =
        ledger.appended.iter().filter(|(_, lsns)| lsns.end >= ledger.checkpoint && lsns.end <= end);
    let expected: Vec<(u64, Lsn)> = expected.map(|(number, lsns)| (*number, lsns.end)).collect();
    assert_eq!(found, expected, "the log is a prefix of what was appended, from the checkpoint on");
    assert!(end >= known_durable.max(ledger.checkpoint).min(end.max(known_durable)));
    let open = Wal::open(&env, WalOptions::tiny(), ledger.checkpoint, known_durable);
    world.block_on(open).unwrap().unwrap()
}

#[test]
fn acknowledged_groups_survive_a_crash_at_every_operation() {
    let mut crash_points = 0;
    for seed in 0..4 {
        let world = World::new(seed, SimOptions::default());
        let env = world.env();
        let wal = world.block_on(Wal::create(&env, WalOptions::tiny())).unwrap().unwrap();
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let run = workload(env, Arc::new(wal), ledger.clone(), 0, 250);
        let outcome = world.block_on_observed(run, |world| {
            crash_points += 1;
            let known = ledger.lock().clone();
            let image = world.crash_image(crash_points, SimOptions::default());
            check_recovery(&image, &known);
        });
        outcome.unwrap();
        assert_eq!(ledger.lock().appended.len(), 250);
    }
    assert!(crash_points > 500, "{crash_points}");
}

#[test]
fn crashes_of_recovered_logs_keep_their_promises_too() {
    for seed in 0..150 {
        let mut world = World::new(seed, SimOptions::default());
        let env = world.env();
        let mut wal = world.block_on(Wal::create(&env, WalOptions::tiny())).unwrap().unwrap();
        let mut ledger = Ledger::default();
        for life in 0..5u64 {
            let shared = Arc::new(Mutex::new(ledger.clone()));
            let first = life * 1000;
            let limit = world.changes() + 1 + (seed * 7 + life * 11) % 60;
            let progress = shared.clone();
            let (env, log) = (world.env(), Arc::new(wal));
            // Stop in the middle by racing the work against a count of operations.
            let stop = Arc::new(env::sync::Event::new());
            let (stopper, finished) = (stop.clone(), stop.clone());
            let run = workload(env.clone(), log, progress, first, 30);
            env.spawner.spawn(
                "workload",
                Box::pin(async move {
                    run.await;
                    finished.set();
                }),
            );
            let outcome = world.block_on_observed(stop.wait(), |world| {
                if world.changes() >= limit {
                    stopper.set();
                }
            });
            assert_eq!(outcome, Outcome::Done(()));
            ledger = shared.lock().clone();
            world = if (life + seed) % 2 == 0 {
                world.crash(SimOptions::default())
            } else {
                world.kill(SimOptions::default())
            };
            wal = check_recovery(&world, &ledger);
            // What did not come back never will.
            let known = ledger.acknowledged.values().copied().max().unwrap_or(Lsn::ZERO);
            let found = world.block_on(read_all(&world.env(), ledger.checkpoint, known)).unwrap().unwrap();
            let end = found.last().map_or(ledger.checkpoint, |(_, end)| *end);
            ledger.appended.retain(|_, lsns| lsns.end <= end);
        }
    }
}

/// Appends groups `0..count` one flush at a time.
async fn append_each(env: &Env, count: u64) -> (Wal, Vec<GroupLsns>) {
    let wal = Wal::create(env, WalOptions::tiny()).await.unwrap();
    let mut all = Vec::new();
    for number in 0..count {
        wal.wait_for_space(40 << 10, Priority::Normal).await.unwrap();
        let lsns = wal.append(&group(number)).unwrap();
        wal.wait_durable(lsns.end).await.unwrap();
        all.push(lsns);
    }
    (wal, all)
}

#[test]
fn a_tail_torn_at_any_byte_is_cut_at_a_group() {
    let world = World::new(5, SimOptions::default());
    let env = world.env();
    let (wal, lsns) = world.block_on(append_each(&env, 7)).unwrap();
    drop(wal);
    let path = "wal/0000000000000000";
    let whole = world.content(path).unwrap();
    let last = lsns.last().unwrap().end.0 as usize;
    for cut in (4096..=last).rev().step_by(37).chain(last - 64..last) {
        world.damage(path, |content| {
            content.copy_from_slice(&whole);
            content[cut..].fill(0);
        });
        let found = world.block_on(read_all(&env, Lsn::ZERO, Lsn::ZERO)).unwrap();
        let found = found.unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        let expected: Vec<_> = lsns.iter().filter(|lsns| lsns.end.0 as usize <= cut).collect();
        assert_eq!(found.len(), expected.len(), "cut at {cut}");
    }
}

#[test]
fn damage_before_a_known_durable_point_is_refused_with_its_place() {
    let world = World::new(6, SimOptions::default());
    let env = world.env();
    let (wal, lsns) = world.block_on(append_each(&env, 6)).unwrap();
    drop(wal);
    let path = "wal/0000000000000000";
    let whole = world.content(path).unwrap();
    // The third group is behind two flushes, and later chunks witness that it was durable.
    let victim = lsns[2].start.0 as usize;
    for byte in [victim, victim + 1, victim - 64, victim - 1] {
        world.damage(path, |content| {
            content.copy_from_slice(&whole);
            content[byte] ^= 0x10;
        });
        match world.block_on(read_all(&env, Lsn::ZERO, Lsn::ZERO)).unwrap() {
            Err(WalError::Damaged { file, offset, .. }) => {
                assert_eq!(file, path);
                assert_eq!(offset, victim as u64 - 64);
            }
            other => panic!("byte {byte}: {other:?}"),
        }
    }
    // Damage in the very last chunk looks like a torn tail, unless the caller knows better.
    let last = lsns[5];
    world.damage(path, |content| {
        content.copy_from_slice(&whole);
        content[last.start.0 as usize] ^= 1;
    });
    assert_eq!(world.block_on(read_all(&env, Lsn::ZERO, Lsn::ZERO)).unwrap().unwrap().len(), 5);
    let refused = world.block_on(read_all(&env, Lsn::ZERO, last.end)).unwrap();
    assert!(matches!(refused, Err(WalError::Damaged { .. })));
}

#[test]
fn every_flipped_bit_is_noticed_or_outside_the_log() {
    let world = World::new(8, SimOptions::default());
    let env = world.env();
    let (wal, lsns) = world.block_on(append_each(&env, 5)).unwrap();
    drop(wal);
    let path = "wal/0000000000000000";
    let end = lsns[4].end;
    let intact = world.block_on(read_all(&env, Lsn::ZERO, end)).unwrap().unwrap();
    for bit in (0..end.0 as usize * 8).step_by(101) {
        world.flip_bit(path, bit);
        match world.block_on(read_all(&env, Lsn::ZERO, end)).unwrap() {
            Ok(found) => assert_eq!(found, intact, "bit {bit} is padding"),
            Err(error) => assert!(matches!(error, WalError::Damaged { .. })),
        }
        world.flip_bit(path, bit);
    }
}

#[test]
fn leftovers_of_an_earlier_run_never_come_back() {
    let world = World::new(11, SimOptions::default());
    let env = world.env();
    let path = "wal/0000000000000000";
    let large = |number: u64| {
        let mut group = WalGroup::new();
        group.push(1, number, &[7; 28_000]);
        group
    };
    // Three chunks in one flush: no witness says that the first was durable before the others.
    let lsns = world
        .block_on(async {
            let wal = Wal::create(&env, WalOptions::tiny()).await.unwrap();
            let lsns: Vec<GroupLsns> = (1..=3).map(|number| wal.append(&large(number)).unwrap()).collect();
            wal.wait_durable(lsns[2].end).await.unwrap();
            lsns
        })
        .unwrap();
    // The first of them is torn, the others arrived. Two lives follow; the first leaves the same bytes again.
    world.damage(path, |content| content[lsns[0].start.0 as usize + 100] ^= 1);
    for _ in 0..2 {
        let count = world
            .block_on(async {
                let wal = Wal::open(&env, WalOptions::tiny(), Lsn::ZERO, Lsn::ZERO).await.unwrap();
                let mut reader = WalReader::open(&env, "wal", Lsn::ZERO, Lsn::ZERO).await.unwrap();
                let mut count = 0;
                while reader.next_group().await.unwrap().is_some() {
                    count += 1;
                }
                drop(wal);
                count
            })
            .unwrap();
        assert_eq!(count, 0);
    }
    // Fill up to exactly the place where a leftover begins; it must not join.
    world
        .block_on(async {
            let wal = Wal::open(&env, WalOptions::tiny(), Lsn::ZERO, Lsn::ZERO).await.unwrap();
            let mut last = 0;
            loop {
                let mut filler = WalGroup::new();
                filler.push(9, 9, b"x");
                let lsns = wal.append(&filler).unwrap();
                wal.wait_durable(lsns.end).await.unwrap();
                last += 1;
                let mut reader = WalReader::open(&env, "wal", Lsn::ZERO, Lsn::ZERO).await.unwrap();
                let mut count = 0;
                while let Some(group) = reader.next_group().await.unwrap() {
                    assert_eq!(group.records().next().unwrap().1.txn, 9, "a leftover came back");
                    count += 1;
                }
                assert_eq!(count, last);
                if last == 20 {
                    break;
                }
            }
        })
        .unwrap();
}

#[test]
fn a_recycled_segment_starts_empty() {
    let world = World::new(12, SimOptions::default());
    let env = world.env();
    world
        .block_on(async {
            let wal = Wal::create(&env, WalOptions::tiny()).await.unwrap();
            let mut checkpoint = Lsn::ZERO;
            for number in 0..400 {
                wal.wait_for_space(40 << 10, Priority::Normal).await.unwrap();
                let lsns = wal.append(&group(number)).unwrap();
                wal.wait_durable(lsns.end).await.unwrap();
                checkpoint = lsns.start;
                wal.truncate_before(checkpoint);
                assert!(wal.used_bytes() <= 2 * (128 << 10));
            }
            wal.close().await.unwrap();
            let found = read_all(&env, checkpoint, wal.durable_lsn()).await.unwrap();
            assert_eq!(found.len(), 1);
            assert!(env.disk.list("wal").await.unwrap().len() <= 9, "segments are recycled");
        })
        .unwrap();
}

/// What a read brings may be wrong where the disk is right: nothing is cut, or called damaged, for that.
#[test]
fn a_bit_that_is_wrong_on_the_way_cuts_nothing() {
    let world = World::new(21, SimOptions::default());
    let env = world.env();
    world
        .block_on(async {
            let wal = Wal::create(&env, WalOptions::tiny()).await.unwrap();
            for number in 0..40 {
                wal.wait_for_space(40 << 10, Priority::Normal).await.unwrap();
                let lsns = wal.append(&group(number)).unwrap();
                wal.wait_durable(lsns.end).await.unwrap();
            }
            wal.close().await.unwrap();
            let whole = read_all(&env, Lsn::ZERO, Lsn::ZERO).await.unwrap();
            assert_eq!(whole.len(), 40);
            for after in 0..10 {
                let (op, effect) = (Some(IoOp::Read), env::sim::FaultEffect::FlippedRead);
                world.set_faults(&[Fault { op, path: "wal".into(), after, sticky: false, effect }]);
                let found = read_all(&env, Lsn::ZERO, Lsn::ZERO).await;
                assert!(found.as_ref() == Ok(&whole), "read {after}: {:?}", found.map(|found| found.len()));
            }
        })
        .unwrap();
}

#[test]
fn a_flush_covers_what_was_written_without_one() {
    for seed in 0..40 {
        let world = World::new(seed, SimOptions::default());
        let env = world.env();
        let run = async {
            let options = WalOptions { flush_mode: FlushMode::Written, ..WalOptions::tiny() };
            let wal = Wal::create(&env, options).await.unwrap();
            for number in 1..3 {
                let written = wal.append(&group(number)).unwrap();
                wal.wait_commit(written.end).await.unwrap();
            }
            let last = wal.append(&group(3)).unwrap();
            wal.wait_durable(last.end).await.unwrap();
            last.end
        };
        let durable = world.block_on(run).unwrap();
        let world = world.crash(SimOptions::default());
        let found = world.block_on(read_all(&world.env(), Lsn::ZERO, durable)).unwrap().unwrap();
        let found: Vec<u64> = found.into_iter().map(|(number, _)| number).collect();
        assert_eq!(found, [1, 2, 3], "seed {seed}");
    }
}

/// A sync fails and the process is killed. What the next opening finds, the kernel may lose in a power cut; but from then
/// on it counts.
#[test]
fn what_a_failed_sync_left_in_doubt_is_written_again() {
    let mut in_doubt = 0;
    for seed in 0..60 {
        let options = WalOptions::with_capacity(8 << 20);
        let world = World::new(seed, SimOptions::default());
        let env = world.env();
        let first = async {
            let wal = Wal::create(&env, options.clone()).await.unwrap();
            let end = wal.append(&group(1)).unwrap().end;
            wal.wait_durable(end).await.unwrap();
            world.set_faults(&[Fault::input_output_error(IoOp::Sync, "wal/0", 0)]);
            let end = wal.append(&group(2)).unwrap().end;
            wal.wait_durable(end).await.unwrap_err();
        };
        world.block_on(first).unwrap();
        let world = world.kill(SimOptions::default());
        let env = world.env();
        let second = async {
            let found = read_all(&env, Lsn::ZERO, Lsn::ZERO).await.unwrap();
            let wal = Wal::open(&env, options.clone(), Lsn::ZERO, Lsn::ZERO).await.unwrap();
            let end = wal.append(&group(3)).unwrap().end;
            wal.wait_durable(end).await.unwrap();
            found.into_iter().map(|(number, _)| number).chain([3]).collect::<Vec<_>>()
        };
        let counted = world.block_on(second).unwrap();
        in_doubt += u32::from(counted.contains(&2));
        let world = world.crash(SimOptions::default());
        let env = world.env();
        let third = async { read_all(&env, Lsn::ZERO, Lsn::ZERO).await.unwrap() };
        let left: Vec<u64> = world.block_on(third).unwrap().into_iter().map(|(number, _)| number).collect();
        assert_eq!(left, counted, "seed {seed}");
    }
    assert!(in_doubt > 30, "{in_doubt}");
}
