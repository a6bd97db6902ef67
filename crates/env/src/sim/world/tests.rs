//! The simulated machine repeats itself, keeps what was synced, and loses what was not.

use super::*;
use crate::sim::Fault;
use crate::{File, IoBuf, IoErrorKind, IoOp, OpenOptions};
use std::collections::BTreeSet;

async fn create(env: &Env, path: &str) -> Arc<dyn File> {
    env.disk.open(path, OpenOptions::create().direct()).await.unwrap()
}

async fn write(file: &dyn File, offset: u64, byte: u8) {
    let (_, result) = file.write_at(offset, IoBuf::copy_of(&[byte; 4096])).await;
    result.unwrap();
}

async fn workload(env: Env) {
    env.disk.create_dir("d").await.unwrap();
    env.disk.sync_dir("").await.unwrap();
    let file = create(&env, "d/f").await;
    env.disk.sync_dir("d").await.unwrap();
    for block in 0..4 {
        let (file, clock) = (file.clone(), env.clock.clone());
        let task = async move {
            clock.sleep(block).await;
            for round in 0..10 {
                write(&*file, block * 4096, round).await;
                file.sync().await.unwrap();
            }
        };
        env.spawner.spawn("writer", Box::pin(task));
    }
    env.clock.sleep(1_000_000).await;
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let world = World::new(seed, SimOptions::default());
        world.block_on(workload(world.env())).unwrap();
        (world.trace_hash(), world.changes(), world.now_us())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
}

#[test]
fn synced_bytes_survive_a_crash_at_every_operation() {
    for crash_at in 0.. {
        let options = SimOptions { crash_at: Some(crash_at), ..SimOptions::default() };
        let world = World::new(crash_at, options);
        let env = world.env();
        let synced = Arc::new(Mutex::new(0u8));
        let progress = synced.clone();
        let outcome = world.block_on(async move {
            let file = create(&env, "f").await;
            env.disk.sync_dir("").await.unwrap();
            for round in 1..=20 {
                write(&*file, 0, round).await;
                file.sync().await.unwrap();
                *progress.lock() = round;
            }
        });
        let synced = *synced.lock();
        let world = world.crash(SimOptions::default());
        let content = world.content("f").unwrap_or_default();
        if synced > 0 {
            // Only the next round may have left traces, and only whole or sector-wise.
            assert!(content.chunks(512).any(|sector| sector[0] >= synced) || synced == 20, "round {synced}");
            assert_eq!(content.len(), 4096);
        }
        if outcome == Outcome::Done(()) {
            assert_eq!(content, [20; 4096]);
            return;
        }
        assert_eq!(outcome, Outcome::Crashed);
    }
}

#[test]
fn observed_crash_images_leave_the_run_alone() {
    let plain = World::new(9, SimOptions::default());
    plain.block_on(workload(plain.env())).unwrap();
    let observed = World::new(9, SimOptions::default());
    let mut images = BTreeSet::new();
    let outcome = observed.block_on_observed(workload(observed.env()), |world| {
        images.insert(world.crash_image(0, SimOptions::default()).content("d/f"));
    });
    outcome.unwrap();
    assert_eq!(plain.trace_hash(), observed.trace_hash());
    assert!(images.len() > 20, "{} different remains", images.len());
}

#[test]
fn a_dead_lock_is_reported() {
    let world = World::new(1, SimOptions::default());
    assert_eq!(world.block_on(crate::sync::Notify::new().notified()), Outcome::Stalled);
}

#[test]
fn faults_strike_the_operation_they_name() {
    let world = World::new(1, SimOptions::default());
    world.set_faults(&[Fault::input_output_error(IoOp::Write, "f", 1), {
        Fault::input_output_error(IoOp::Sync, "f", 1).sticky()
    }]);
    let env = world.env();
    let outcome = world.block_on(async move {
        let file = create(&env, "f").await;
        let mut results = Vec::new();
        for _ in 0..3 {
            results.push(file.write_at(0, IoBuf::zeroed(4096)).await.1.is_ok());
            results.push(file.sync().await.is_ok());
        }
        results
    });
    assert_eq!(outcome.unwrap(), [true, true, false, false, true, false]);
}

#[test]
fn a_full_disk_refuses_growth_only() {
    let options = SimOptions { capacity_bytes: Some(8192), ..SimOptions::default() };
    let world = World::new(1, options);
    let env = world.env();
    let outcome = world.block_on(async move {
        let file = create(&env, "f").await;
        file.allocate(8192).await.unwrap();
        write(&*file, 4096, 1).await;
        let (_, full) = file.write_at(8192, IoBuf::zeroed(4096)).await;
        let (_, past_the_end) = file.read_at(8192, IoBuf::zeroed(4096)).await;
        (full.unwrap_err().kind, past_the_end.unwrap_err().kind)
    });
    assert_eq!(outcome.unwrap(), (IoErrorKind::NoSpace, IoErrorKind::EndOfFile));
}

#[test]
fn a_killed_process_leaves_its_completed_writes() {
    let world = World::new(3, SimOptions::default());
    let env = world.env();
    world.block_on(async move { write(&*create(&env, "f").await, 0, 7).await }).unwrap();
    let world = world.kill(SimOptions::default());
    assert_eq!(world.content("f").unwrap(), [7; 4096]);
    let lost = (0..50).any(|salt| {
        world.crash_image(salt, SimOptions::default()).content("f").is_none_or(|content| content != [7; 4096])
    });
    assert!(lost, "the writes are still unsynced");
}

#[test]
#[should_panic(expected = "two operations overlap")]
fn overlapping_writes_are_refused() {
    let world = World::new(1, SimOptions::default());
    let env = world.env();
    let _ = world.block_on(async move {
        let file = create(&env, "f").await;
        let first = file.write_at(0, IoBuf::zeroed(8192));
        let second = file.write_at(4096, IoBuf::zeroed(4096));
        (first.await.1, second.await.1)
    });
}
