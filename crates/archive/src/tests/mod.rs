//! The archive and restores on the simulated machine: a writer notes what it has committed at which LSN and time, and databases
//! restored as of random moments have that, no more and no less. Crashes and starts, a full disk and foreign archives come in between.
mod failures;
mod increment_crashes;
mod increments;
mod page_repairs;
mod retention;

use crate::*;
use engine::{
    AccessMode, BackupProgress, Engine, EngineError, EngineOptions, Isolation, ReadMode, TreeId, Uniqueness,
    WaitPolicy,
};
use env::sim::{SeededRandom, SimOptions, World};
use env::{Env, OpenOptions};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const WAIT: WaitPolicy = WaitPolicy::Wait { timeout_us: 1_000_000 };
const COUNTER: &[u8] = b"counter";

fn options() -> EngineOptions {
    EngineOptions {
        page_size_bytes: 4096,
        buffer_pool_bytes: 2 << 20,
        redo_capacity_bytes: 4 << 20,
        ..EngineOptions::default()
    }
}

/// The same machine with a directory of its disk for a disk.
async fn inside(env: &Env, directory: &str) -> Env {
    env.disk.create_dir(directory).await.unwrap();
    env.disk.sync_dir("").await.unwrap();
    Env { disk: env::sim::inside(env.disk.clone(), directory), ..env.clone() }
}

/// What the writer has done: state `n` was begun and acknowledged at these times, and is complete at this LSN.
#[derive(Clone, Copy, Debug)]
struct State {
    begun_us: u64,
    acknowledged_us: u64,
    lsn: u64,
}

/// What a test remembers when the machine stops.
#[derive(Default)]
struct Notes {
    /// State `n` at index `n - 1`.
    states: Mutex<Vec<State>>,
    lines: Mutex<Vec<(Severity, String)>>,
    stop: AtomicBool,
    running: AtomicBool,
}

impl Notes {
    fn count(&self) -> u64 {
        self.states.lock().len() as u64
    }

    fn has_line(&self, part: &str) -> bool {
        self.lines.lock().iter().any(|(_, line)| line.contains(part))
    }
}

/// A database on the disk with its archive beside it, opened as the server does it.
async fn open(env: &Env, notes: &Arc<Notes>) -> (Arc<Engine>, Result<Arc<Archive>, ArchiveError>) {
    let archive = inside(env, "archive").await.disk;
    let begin = engine::log_begin(env).await.unwrap();
    let needed = archived_to(archive.clone()).await.unwrap();
    let keep_log_from = needed.filter(|place| begin.is_some_and(|begin| begin < *place));
    let engine = Engine::open(env.clone(), EngineOptions { keep_log_from, ..options() }).await.unwrap();
    let told = notes.clone();
    let tell = move |severity, line: &str| told.lines.lock().push((severity, line.to_owned()));
    let config = ArchiveConfig {
        name: "archive".into(),
        disk: archive,
        keep_seconds: 0,
        log_begin: None,
        tell: Box::new(tell),
    };
    let archive = Archive::start(env, engine.clone(), config).await;
    engine.release_opening_hold();
    (engine, archive)
}

async fn count_to(engine: &Arc<Engine>, number: u64) -> Result<(), EngineError> {
    let mut transaction = engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
    // Long and incompressible enough that the log is used up.
    let mut value = number.to_be_bytes().to_vec();
    let mut noise = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    value.resize_with(900, || {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        noise as u8
    });
    let done = transaction.update(TreeId::CATALOG, COUNTER, &value, WAIT).await;
    if done == Err(EngineError::NotFound) {
        transaction.insert(TreeId::CATALOG, COUNTER, &value, Uniqueness::Key, WAIT).await?;
    }
    let key = [b"row".as_slice(), &(number % 700).to_be_bytes()].concat();
    let done = transaction.update(TreeId::CATALOG, &key, &value, WAIT).await;
    if done == Err(EngineError::NotFound) {
        transaction.insert(TreeId::CATALOG, &key, &value, Uniqueness::Key, WAIT).await?;
    }
    transaction.commit().await
}

async fn write(env: &Env, engine: &Arc<Engine>, notes: &Notes) {
    let begun_us = env.clock.unix_us();
    if count_to(engine, notes.count() + 1).await.is_err() {
        return env.clock.sleep(1000).await;
    }
    let (acknowledged_us, lsn) = (env.clock.unix_us(), engine.stats().log_end_lsn);
    notes.states.lock().push(State { begun_us, acknowledged_us, lsn });
}

fn start_writer(env: &Env, engine: &Arc<Engine>, notes: &Arc<Notes>, pause_us: u64) {
    let (env, engine, notes) = (env.clone(), engine.clone(), notes.clone());
    notes.stop.store(false, Ordering::SeqCst);
    notes.running.store(true, Ordering::SeqCst);
    let spawner = env.spawner.clone();
    let work = async move {
        while !notes.stop.load(Ordering::SeqCst) {
            write(&env, &engine, &notes).await;
            env.clock.sleep(pause_us).await;
        }
        notes.running.store(false, Ordering::SeqCst);
    };
    spawner.spawn("writer", Box::pin(work));
}

async fn stop_writer(env: &Env, notes: &Notes) {
    notes.stop.store(true, Ordering::SeqCst);
    while notes.running.load(Ordering::SeqCst) {
        env.clock.sleep(1000).await;
    }
}

async fn wait_for(env: &Env, notes: &Notes, count: u64) {
    while notes.count() < count {
        env.clock.sleep(1000).await;
    }
}

async fn back_up(env: &Env, engine: &Arc<Engine>, directory: &str) -> u64 {
    let target = inside(env, directory).await.disk;
    engine.back_up(target, &BackupProgress::default()).await.unwrap().to_lsn
}

/// Restores as of a moment and answers which state that has.
async fn restored_state(env: &Env, from: &str, until: Until, name: &str) -> Result<u64, ArchiveError> {
    let backup = inside(env, from).await;
    let archive = inside(env, "archive").await.disk;
    let target = inside(env, name).await;
    let restored = restore(&backup, Some(archive), target.disk.clone(), until, &|_| Ok(())).await?;
    assert!(restored.to_lsn >= restored.backup.1);
    Ok(state_of(&target).await)
}

/// Opens and verifies a restored database, removes it, and answers which state it had.
async fn state_of(target: &Env) -> u64 {
    let engine = Engine::open(target.clone(), options()).await.unwrap();
    engine.verify().await.unwrap();
    let mut reader = engine.begin(Isolation::RepeatableRead, AccessMode::ReadOnly);
    let value = reader.get(TreeId::CATALOG, COUNTER, ReadMode::Snapshot).await.unwrap();
    drop(reader);
    engine.close().await.unwrap();
    for part in ["data", "wal"] {
        for file in target.disk.list(part).await.unwrap() {
            // A segment may just be getting another name.
            let _ = target.disk.remove(&format!("{part}/{file}")).await;
        }
    }
    value.map_or(0, |value| u64::from_be_bytes(value[..8].try_into().unwrap()))
}

/// Restores at random moments between the backup and the end of the archive, and compares with the notes.
async fn check_moments(env: &Env, notes: &Notes, from: &str, to_lsn: u64, seed: u64, rounds: usize) {
    let random = SeededRandom::new(seed);
    let states = notes.states.lock().clone();
    let first = states.partition_point(|state| state.lsn < to_lsn) + 1;
    assert!(first + 20 < states.len(), "there is something to choose from");
    for round in 0..rounds {
        let index = first + random.below(states.len() - first);
        let state = states[index];
        let name = format!("restored-{seed}-{round}");
        if round % 2 == 0 {
            let found = restored_state(env, from, Until::Lsn(state.lsn), &name).await.unwrap();
            assert_eq!(found, index as u64 + 1, "as of LSN {}", state.lsn);
            continue;
        }
        let moment = state.begun_us + random.below(3000) as u64;
        let found = restored_state(env, from, Until::Time(moment), &name).await.unwrap();
        let least = states.partition_point(|state| state.acknowledged_us < moment) as u64;
        // What begins in the same millisecond may have no time of its own.
        let most = states.partition_point(|state| state.begun_us <= moment + 1000) as u64;
        assert!((least..=most).contains(&found), "{found} is not between {least} and {most}");
    }
}

#[test]
fn databases_are_restored_as_of_random_moments() {
    let rounds = std::env::var("ARCHIVE_RESTORES").ok().and_then(|text| text.parse().ok()).unwrap_or(50);
    let world = World::new(11, SimOptions::default());
    let env = world.env();
    let run = async move {
        let notes = Arc::new(Notes::default());
        let (engine, archive) = open(&env, &notes).await;
        start_writer(&env, &engine, &notes, 200);
        wait_for(&env, &notes, 500).await;
        let first = back_up(&env, &engine, "first").await;
        wait_for(&env, &notes, 1500).await;
        // A start in between opens another thread of the log.
        stop_writer(&env, &notes).await;
        archive.unwrap().close().await.unwrap();
        engine.close().await.unwrap();
        let (engine, archive) = open(&env, &notes).await;
        start_writer(&env, &engine, &notes, 2000);
        wait_for(&env, &notes, 2500).await;
        let second = back_up(&env, &engine, "second").await;
        wait_for(&env, &notes, 3500).await;
        stop_writer(&env, &notes).await;
        archive.unwrap().close().await.unwrap();
        assert!(engine.stats().checkpoints > 4, "the log was reused meanwhile");
        engine.close().await.unwrap();
        check_moments(&env, &notes, "first", first, 1, rounds / 2).await;
        check_moments(&env, &notes, "second", second, 2, rounds - rounds / 2).await;
        let early = restored_state(&env, "second", Until::Lsn(second - 1), "early").await;
        assert!(matches!(early, Err(ArchiveError::TooNew(_))), "{early:?}");
        let all = restored_state(&env, "first", Until::End, "all").await.unwrap();
        assert_eq!(all, notes.count());
        let check = check_folder(&*inside(&env, "archive").await.disk).await.unwrap();
        assert!(check.faults.is_empty() && check.gaps.is_empty() && check.files.len() > 1, "{check:?}");
    };
    world.block_on(run).unwrap();
}

#[test]
fn every_flipped_bit_of_an_archive_is_named() {
    let world = World::new(12, SimOptions::default());
    let env = world.env();
    let run = async move {
        let notes = Arc::new(Notes::default());
        let (engine, archive) = open(&env, &notes).await;
        for _ in 0..40 {
            write(&env, &engine, &notes).await;
        }
        archive.unwrap().close().await.unwrap();
        engine.close().await.unwrap();
        let disk = inside(&env, "archive").await.disk;
        let check = check_folder(&*disk).await.unwrap();
        assert_eq!((check.faults.len(), check.files.len()), (0, 1));
        let name = check.files[0].name();
        let file = disk.open(&name, OpenOptions::existing()).await.unwrap();
        let length = file.len().await.unwrap() as usize;
        let (whole, _) = file.read_at(0, env::IoBuf::zeroed(length)).await;
        let random = SeededRandom::new(3);
        for _ in 0..60 {
            let mut bytes = whole.as_slice().to_vec();
            bytes[random.below(length)] ^= 1 << random.below(8);
            file.write_at(0, env::IoBuf::copy_of(&bytes)).await.1.unwrap();
            let check = check_folder(&*disk).await.unwrap();
            assert!(check.faults.len() == 1 && check.faults[0].contains(&name), "{:?}", check.faults);
        }
        drop(file);
        disk.remove(&name).await.unwrap();
        assert!(check_folder(&*disk).await.unwrap().faults[0].contains("is missing"));
    };
    world.block_on(run).unwrap();
}
