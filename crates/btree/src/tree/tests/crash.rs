//! Power cuts: redo from whatever the disk kept reproduces a state of the model, and loses nothing durable.

use super::bed::{Bed, Rng, TREE, pool_options};
use crate::{Direction, Position, Space, Tree, check_page, redo};
use buffer::BufferPool;
use env::Env;
use env::sim::{Outcome, SimOptions, World};
use pagestore::{InPlaceStore, PageSize, PageStore};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use wal::{Lsn, Wal, WalOptions, WalReader};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// What the test knows about a run, kept outside of the machine that crashes.
#[derive(Default)]
struct Log {
    /// The model after each committed group, by the group's end.
    states: Vec<(Lsn, Model)>,
    /// Acknowledged as durable.
    durable: Lsn,
    tree: Option<Tree>,
}

const FRAMES: usize = 40;

fn wal_options() -> WalOptions {
    WalOptions { capacity_bytes: 8 << 20, ..WalOptions::tiny() }
}

/// Works on a fresh database until it crashes or is done. Now and then it takes a checkpoint.
async fn work(env: Env, seed: u64, operations: usize, log: Arc<Mutex<Log>>) {
    let (bed, tree) = Bed::create(&env, PageSize::K4, FRAMES, wal_options()).await;
    bed.wal.wait_durable(bed.wal.end_lsn()).await.unwrap();
    let start = bed.wal.end_lsn();
    {
        let mut log = log.lock().unwrap();
        log.states.push((start, Model::new()));
        log.durable = start;
        log.tree = Some(tree);
    }
    let mut rng = Rng(seed | 1);
    let mut model = Model::new();
    for operation in 0..operations {
        let key = format!("key-{:04}", rng.below(2500)).into_bytes();
        let lsn = if rng.below(10) < 3 {
            model.remove(&key);
            bed.remove(tree, &key).await.unwrap()
        } else {
            let value = vec![rng.next() as u8; rng.below(300)];
            model.insert(key.clone(), value.clone());
            Some(bed.put(tree, &key, &value).await.unwrap())
        };
        if let Some(lsn) = lsn {
            log.lock().unwrap().states.push((lsn, model.clone()));
        }
        if rng.below(20) == 0 {
            let lsn = bed.wal.end_lsn();
            bed.wal.wait_durable(lsn).await.unwrap();
            log.lock().unwrap().durable = lsn;
        }
        if operation % 150 == 149 {
            bed.pool.flush_through(Lsn(bed.wal.end_lsn().0 / 2)).await.unwrap();
            let checkpoint = bed.pool.min_rec_lsn();
            bed.wal.wait_durable(checkpoint).await.unwrap();
            bed.pool.store().write_superblock(&checkpoint.0.to_le_bytes()).await.unwrap();
        }
    }
}

/// Recovers and returns the content of the tree.
async fn recover(env: Env, tree: Tree, known_durable: Lsn) -> (Vec<(Vec<u8>, Vec<u8>)>, Lsn) {
    let store = Arc::new(InPlaceStore::open(&env, "").await.unwrap());
    let record = store.read_superblock().await.unwrap();
    let from = record.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
    // So little memory that most pages have to wait for another reading of the log.
    let mut collector = redo::Collector::new(store.clone(), check_page, 20_000, redo::Wish::default());
    let mut reader = WalReader::open(&env, "wal", Lsn(from), known_durable).await.unwrap();
    while let Some(group) = reader.next_group().await.unwrap() {
        collector.add(&group).await.unwrap();
    }
    let tail = reader.into_tail();
    let end = tail.end_lsn();
    let wal = Arc::new(Wal::resume(&env, wal_options(), tail).await.unwrap());
    let mut options = pool_options(PageSize::K4, FRAMES);
    options.check = check_page;
    options.apply_page_log = redo::catch_up;
    let pool = BufferPool::open(&env, store.clone(), wal.clone(), options);
    let redo::Collected { now, later, mut through, given_up } = collector.finish();
    assert!(given_up.is_empty());
    let mut last = later.iter().copied().max();
    let mut taken = redo::PageIds::default();
    pool.behind().restore(now, later);
    while pool.behind().count() > 0 {
        pool.catch_up(|| true).await.unwrap();
        if through.is_some() {
            // Somebody waits for the last page.
            let (first, taken_before) = (last.take().into_iter().collect(), taken.clone());
            let wish = redo::Wish { taken_through: through, taken: taken_before, first };
            let mut collector = redo::Collector::new(store.clone(), check_page, 20_000, wish);
            let mut reader = WalReader::open(&env, "wal", Lsn(from), end).await.unwrap().until(end);
            while let Some(group) = reader.next_group().await.unwrap() {
                collector.add(&group).await.unwrap();
            }
            let collected = collector.finish();
            taken.extend(collected.now.keys());
            pool.behind().hand_over(collected.now);
            through = collected.through;
        }
    }
    pool.flush_all().await.unwrap();
    pool.store().write_superblock(&pool.min_rec_lsn().0.to_le_bytes()).await.unwrap();
    let bed = Bed { space: Arc::new(Space::new(&pool)), pool, wal };
    bed.verify(&[tree]).await;
    (bed.scan(tree, Position::start(), Direction::Forward).await, end)
}

/// Crashes at the given disk change, recovers (crashing that too if asked for) and compares. False: the work ended
/// before the crash.
fn crash_and_check(seed: u64, crash_at: u64, crash_recovery_at: Option<u64>) -> bool {
    let log = Arc::new(Mutex::new(Log::default()));
    let world = World::new(seed, SimOptions { crash_at: Some(crash_at), ..SimOptions::default() });
    let outcome = world.block_on(work(world.env(), seed, 1200, log.clone()));
    let (crashed, replay) = match outcome {
        Outcome::Done(()) => (false, "done"),
        Outcome::Crashed => (true, "crashed"),
        Outcome::Stalled => panic!("seed {seed} crash_at {crash_at}: stalled"),
    };
    let log = log.lock().unwrap();
    let Some(tree) = log.tree else { return crashed };
    assert_eq!(tree.id, TREE);
    let mut world = world.crash(SimOptions { crash_at: crash_recovery_at, ..SimOptions::default() });
    let mut outcome = world.block_on(recover(world.env(), tree, Lsn::ZERO));
    if outcome == Outcome::Crashed {
        world = world.crash(SimOptions::default());
        outcome = world.block_on(recover(world.env(), tree, Lsn::ZERO));
    }
    let context = format!("seed {seed}, crash_at {crash_at} ({replay}), recovery {crash_recovery_at:?}");
    let Outcome::Done((entries, end)) = outcome else { panic!("{context}: recovery ended with {outcome:?}") };
    assert!(end >= log.durable, "{context}: the log lost durable groups");
    // The groups of merges and splits lie between those of the model, so the last one before the end counts.
    let (_, expected) =
        log.states.iter().rev().find(|(lsn, _)| *lsn <= end).expect("the first state is durable");
    let expected: Vec<_> = expected.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    assert!(entries == expected, "{context}: recovered a state that never was");
    crashed
}

#[test]
fn a_crash_at_any_disk_change_recovers() {
    for seed in 1..4 {
        let mut crash_at = seed;
        while crash_and_check(seed, crash_at, (crash_at % 3 == 0).then_some(crash_at % 7)) {
            crash_at += 9;
        }
        assert!(crash_at > 100, "the work is long enough to crash often: {crash_at}");
    }
}
