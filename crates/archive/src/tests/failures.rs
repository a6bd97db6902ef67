//! What goes wrong beside an archive: the machine stops anywhere, the archive's disk is full or broken, a folder has another history.
use super::*;
use env::IoErrorKind;
use env::sim::{Fault, FaultEffect, Outcome};

/// Goes on counting where the database is: the last commit before a crash may not have been acknowledged.
pub(super) async fn take_up(env: &Env, engine: &Arc<Engine>, notes: &Notes) {
    let mut reader = engine.begin(Isolation::RepeatableRead, AccessMode::ReadOnly);
    let value = reader.get(TreeId::CATALOG, COUNTER, ReadMode::Snapshot).await.unwrap();
    let found = value.map_or(0, |value| u64::from_be_bytes(value[..8].try_into().unwrap()));
    drop(reader);
    let noted = notes.count();
    assert!(found == noted || found == noted + 1, "{found} is not {noted} or one more");
    if found > noted {
        let last_us = notes.states.lock().last().map_or(0, |state| state.acknowledged_us);
        let lsn = engine.stats().log_end_lsn;
        let state = State { begun_us: last_us, acknowledged_us: env.clock.unix_us(), lsn };
        notes.states.lock().push(state);
    }
}

async fn life(env: Env, notes: Arc<Notes>, commits: u64, makes_backup: bool) -> u64 {
    // The clock of a new simulated machine begins anew, and a commit that was cut off may be later than the last one noted.
    let last_us = notes.states.lock().last().map_or(0, |state| state.acknowledged_us + 1_000_000);
    env.clock.sleep(last_us.saturating_sub(env.clock.unix_us())).await;
    let (engine, archive) = open(&env, &notes).await;
    let archive = archive.unwrap();
    take_up(&env, &engine, &notes).await;
    let to_lsn = if makes_backup { back_up(&env, &engine, "backup").await } else { 0 };
    for _ in 0..commits {
        write(&env, &engine, &notes).await;
        env.clock.sleep(20_000).await;
    }
    archive.close().await.unwrap();
    engine.close().await.unwrap();
    to_lsn
}

/// One machine that stops at random operations of the disk, then restores of what it has archived.
fn run(seed: u64) -> usize {
    let notes = Arc::new(Notes::default());
    let random = SeededRandom::new(seed);
    let mut world = World::new(seed, SimOptions::default());
    let to_lsn = world.block_on(life(world.env(), notes.clone(), 20, true)).unwrap();
    let mut stops = 0;
    for _ in 0..6 {
        let operations = [40, 150, 600][random.below(3)];
        world.set_crash_at(Some(world.changes() + random.below(operations) as u64));
        match world.block_on(life(world.env(), notes.clone(), 120, false)) {
            Outcome::Done(_) => {}
            Outcome::Stalled => panic!("seed {seed}: stalled"),
            _ => stops += 1,
        }
        let next = SimOptions::default();
        world = if random.below(3) == 0 { world.kill(next) } else { world.crash(next) };
    }
    world.block_on(life(world.env(), notes.clone(), 30, false)).unwrap();
    assert!(!notes.has_line("lacks"), "seed {seed}: a gap");
    let env = world.env();
    let check = async move {
        check_moments(&env, &notes, "backup", to_lsn, seed, 4).await;
        let all = restored_state(&env, "backup", Until::End, "all").await.unwrap();
        assert_eq!(all, notes.count());
        let check = check_folder(&*inside(&env, "archive").await.disk).await.unwrap();
        assert!(check.faults.is_empty() && check.gaps.is_empty(), "{check:?}");
    };
    world.block_on(check).unwrap();
    stops
}

#[test]
fn the_archive_has_all_commits_wherever_the_machine_stops() {
    let seeds = std::env::var("ARCHIVE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    let stops: usize = (0..seeds).map(run).sum();
    assert!(stops > 2 * seeds as usize, "{stops} stops");
}

#[test]
fn a_full_disk_of_the_archive_stops_nobody_and_leaves_a_gap() {
    let world = World::new(21, SimOptions::default());
    let (env, notes) = (world.env(), Arc::new(Notes::default()));
    let begin = {
        let (env, notes) = (env.clone(), notes.clone());
        async move {
            let (engine, archive) = open(&env, &notes).await;
            start_writer(&env, &engine, &notes, 3000);
            wait_for(&env, &notes, 30).await;
            back_up(&env, &engine, "before").await;
            env.clock.sleep(2_000_000).await;
            (engine, archive.unwrap())
        }
    };
    let (engine, archive) = world.block_on(begin).unwrap();
    let fails = |op| Fault {
        op: Some(op),
        path: "archive/".into(),
        after: 0,
        sticky: true,
        effect: FaultEffect::Partial(IoErrorKind::NoSpace),
    };
    world.set_faults(&[fails(env::IoOp::Write)]);
    let short = {
        let (env, notes) = (env.clone(), notes.clone());
        async move {
            env.clock.sleep(2_500_000).await;
            assert!(notes.has_line("cannot be archived"))
        }
    };
    world.block_on(short).unwrap();
    world.set_faults(&[]);
    // A short time leaves no gap.
    let again = {
        let (env, notes) = (env.clone(), notes.clone());
        async move {
            env.clock.sleep(2_500_000).await;
            assert!(notes.has_line("again") && !notes.has_line("lacks"));
            let noted = notes.count();
            env.clock.sleep(1_500_000).await;
            assert!(restored_state(&env, "before", Until::End, "again").await.unwrap() >= noted);
        }
    };
    world.block_on(again).unwrap();
    world.set_faults(&[fails(env::IoOp::Write)]);
    let long = {
        let (env, notes) = (env.clone(), notes.clone());
        async move {
            let noted = notes.count();
            // More than the log can hold.
            wait_for(&env, &notes, noted + 6000).await;
            assert!(notes.has_line("lacks"), "the log was let go");
        }
    };
    world.block_on(long).unwrap();
    world.set_faults(&[]);
    let end = async move {
        env.clock.sleep(2_500_000).await;
        let to_lsn = back_up(&env, &engine, "behind").await;
        let noted = notes.count();
        wait_for(&env, &notes, noted + 50).await;
        stop_writer(&env, &notes).await;
        archive.close().await.unwrap();
        engine.close().await.unwrap();
        let beyond = restored_state(&env, "before", Until::Lsn(to_lsn), "beyond").await;
        assert!(matches!(&beyond, Err(ArchiveError::Unfit(what)) if what.contains("lacks")), "{beyond:?}");
        check_moments(&env, &notes, "behind", to_lsn, 3, 4).await;
        let check = check_folder(&*inside(&env, "archive").await.disk).await.unwrap();
        assert!(check.faults.is_empty() && !check.gaps.is_empty(), "{check:?}");
    };
    world.block_on(end).unwrap();
}

#[test]
fn a_restored_server_is_another_history() {
    let world = World::new(31, SimOptions::default());
    let env = world.env();
    let run = async move {
        let notes = Arc::new(Notes::default());
        let (engine, archive) = open(&env, &notes).await;
        back_up(&env, &engine, "backup").await;
        for _ in 0..60 {
            write(&env, &engine, &notes).await;
        }
        archive.unwrap().close().await.unwrap();
        engine.close().await.unwrap();
        let moment = notes.states.lock()[30].lsn;
        let target = inside(&env, "restored").await;
        let archive = inside(&env, "archive").await.disk;
        let backup = inside(&env, "backup").await;
        let until = Until::Lsn(moment);
        restore(&backup, Some(archive.clone()), target.disk.clone(), until, &|_| Ok(())).await.unwrap();
        let engine = Engine::open(target.clone(), options()).await.unwrap();
        let other = Arc::new(Notes::default());
        for count in [0, 200] {
            // Before it is as far as the archive, and behind that.
            for _ in 0..count {
                write(&env, &engine, &other).await;
            }
            let config = ArchiveConfig {
                name: "archive".into(),
                disk: archive.clone(),
                keep_seconds: 0,
                log_begin: None,
                tell: Box::new(|_, _| ()),
            };
            let started = Archive::start(&target, engine.clone(), config).await;
            assert!(matches!(started.err(), Some(ArchiveError::Unfit(_))), "after {count}");
        }
        engine.close().await.unwrap();
        // Nor does its log go on where the archive's does.
        let last = inside(&env, "last").await;
        let mixed = restore(&target, Some(archive), last.disk, Until::End, &|_| Ok(())).await;
        let to_lsn = mixed.unwrap().to_lsn;
        assert!(to_lsn > moment, "its own log is enough");
    };
    world.block_on(run).unwrap();
}

/// The engine logs behind what is archived, and its last checkpoint is there. Where a segment of the log ends between them, its file is not
/// used again.
#[test]
fn orderly_ends_leave_no_gap() {
    let world = World::new(3, SimOptions::default());
    let env = world.env();
    let notes = Arc::new(Notes::default());
    let told = notes.clone();
    let work = async move {
        let mut crossed = 0;
        for round in 0..100 {
            let (engine, archive) = open(&env, &told).await;
            let archive = archive.expect("the archive goes on");
            for _ in 0..1 + round % 7 {
                write(&env, &engine, &told).await;
            }
            archive.close().await.expect("archived");
            // What the engine still logs until it is closed, and more of it.
            for _ in 0..8 {
                write(&env, &engine, &told).await;
            }
            let archived =
                archived_to(inside(&env, "archive").await.disk).await.unwrap().expect("it has some");
            engine.close().await.expect("closed");
            let begin = engine::log_begin(&env).await.unwrap().expect("there is a log");
            assert!(
                begin <= archived,
                "round {round}: the log begins at {begin}, the archive ends at {archived}"
            );
            crossed += u32::from(begin > 0);
        }
        crossed
    };
    let Outcome::Done(crossed) = world.block_on(work) else { panic!("the machine stopped") };
    assert!(crossed > 0, "the log is used again");
    assert!(!notes.has_line("lacks the log"), "there is a gap: {:?}", notes.lines.lock());
}
