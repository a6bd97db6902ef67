//! The whole store, with segments of four pages, under a schedule explorer: loads, write-backs, frees, the cleaner, the
//! checkpoint and the reuse of segments race as threads do, with a switch possible at every lock, word and gate.
//!
//! What is explored is the store's own code (`sync` lets the explorer in), on a disk in memory whose operations end in
//! any order (`disk`). The schedules are random ones and those of few changes of priority (PCT), which starve one task
//! for long. It is no proof: schedules are drawn, and memory is sequentially consistent here, so the fences of the gates
//! are not put to the test.

mod disk;

use super::sync::{Exploration, set_exploration};
use super::{PlantedFault, SegmentOptions, SegmentStore};
use crate::{PageBatch, PageFault, PageId, PageKind, PageSize, PageStore, StoreError, TreeId, header};
use disk::MemoryDisk;
use env::sim::{SimOptions, World};
use env::{BoxFuture, Env, IoBuf, Spawner};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const PAGES: u64 = 24;

struct TaskSpawner;

impl Spawner for TaskSpawner {
    fn spawn(&self, _: &'static str, future: BoxFuture<'static, ()>) {
        drop(shuttle::future::spawn(future));
    }
}

fn env_on(disk: MemoryDisk) -> Env {
    let rest = World::new(1, SimOptions::default()).env();
    Env { disk: Arc::new(disk), spawner: Arc::new(TaskSpawner), ..rest }
}

/// What one page was asked to become: writes, and frees (true), by version. Versions of a page only grow.
#[derive(Default)]
struct History {
    asked: Vec<(u64, bool)>,
    acknowledged: u64,
}

#[derive(Default)]
struct Model {
    pages: Mutex<BTreeMap<u64, History>>,
    next_version: AtomicU64,
}

impl Model {
    fn with<R>(&self, page: u64, work: impl FnOnce(&mut History) -> R) -> R {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        work(pages.entry(page).or_default())
    }

    fn ask(&self, pages: &[u64], is_free: bool) -> u64 {
        let version = self.next_version.fetch_add(1, Ordering::SeqCst) + 1;
        pages.iter().for_each(|page| self.with(*page, |history| history.asked.push((version, is_free))));
        version
    }

    fn acknowledge(&self, pages: &[u64], version: u64) {
        pages.iter().for_each(|page| self.with(*page, |history| history.acknowledged = version));
    }

    /// A load that began when `oldest` was acknowledged has found this version, or no page.
    fn expect(&self, page: u64, oldest: u64, found: Option<u64>) {
        self.with(page, |history| {
            let fits = |(version, is_free): &(u64, bool)| match found {
                Some(found) => found == *version && !is_free,
                None => *is_free,
            };
            let never_written = found.is_none() && oldest == 0;
            let allowed = never_written || history.asked.iter().any(|asked| asked.0 >= oldest && fits(asked));
            assert!(
                allowed,
                "page {page} is {found:?}: {oldest} was acknowledged, asked {:?}",
                history.asked
            );
        });
    }
}

async fn write(store: &SegmentStore, model: &Model, pages: &[u64]) {
    let version = model.ask(pages, false);
    let mut batch = PageBatch::new(PageSize::K4, pages.len());
    for page in pages {
        let mut bytes = vec![version as u8; PageSize::K4.bytes()];
        header::format(&mut bytes, PageId(*page), PageKind::Overflow, TreeId(3));
        header::set_lsn(&mut bytes, version);
        batch.push(PageId(*page), &bytes);
    }
    store.write_batch(batch).await.expect("the disk is sound and large");
    model.acknowledge(pages, version);
}

async fn free(store: &SegmentStore, model: &Model, pages: &[u64]) {
    let version = model.ask(pages, true);
    let ids: Vec<PageId> = pages.iter().copied().map(PageId).collect();
    store.free(&ids).await.expect("the disk is sound and large");
    model.acknowledge(pages, version);
}

async fn load(store: &SegmentStore, model: &Model, page: u64) {
    let oldest = model.with(page, |history| history.acknowledged);
    let (buffer, result) = store.read(PageId(page), IoBuf::zeroed(4096)).await;
    match result {
        Ok(()) => model.expect(page, oldest, Some(header::lsn(buffer.as_slice()))),
        Err(StoreError::Corrupt(corrupt)) if corrupt.fault == PageFault::Absent => {
            model.expect(page, oldest, None);
        }
        Err(error) => panic!("page {page} cannot be read: {error}"),
    }
}

/// Who works on the store at the same time, each a number of times.
#[derive(Clone, Copy)]
struct Race {
    loads: u64,
    /// Batches of whole segments of other pages: they bring about cleaning and reuse.
    batches: u64,
    /// Rewrites of the pages that are loaded.
    rewrites: u64,
    frees: u64,
    fault: PlantedFault,
}

const ALL: Race = Race { loads: 2, batches: 12, rewrites: 3, frees: 2, fault: PlantedFault::None };

#[derive(Default)]
struct Totals {
    cleaned: AtomicU64,
    cycles: AtomicU64,
    retried: AtomicU64,
}

/// One schedule.
async fn run(race: Race, totals: &Totals) {
    let disk = MemoryDisk::default();
    let env = env_on(disk.clone());
    // Nearly full, and a checkpoint for each segment written.
    let options = SegmentOptions {
        cycle_share: 16,
        fill_target_percent: 99,
        fault: race.fault,
        ..SegmentOptions::tiny()
    };
    let store = SegmentStore::create(&env, "", PageSize::K4, options).await.expect("a store");
    store.extend(PAGES).await.expect("there is room");
    let (store, model) = (Arc::new(store), Arc::new(Model::default()));
    for first in (0..PAGES).step_by(4) {
        write(&store, &model, &[first, first + 1, first + 2, first + 3]).await;
    }
    // One page of each segment stays where it is.
    write(&store, &model, &[1, 2, 3, 5]).await;
    store.settle().await.expect("the disk is sound");
    set_exploration(Exploration::Racing);
    let mut tasks = Vec::new();
    for page in [0, 4] {
        let (store, model) = (store.clone(), model.clone());
        tasks.push(shuttle::future::spawn(async move {
            for _ in 0..race.loads {
                load(&store, &model, page).await;
            }
        }));
    }
    let (other, versions) = (store.clone(), model.clone());
    tasks.push(shuttle::future::spawn(async move {
        for number in 0..race.batches {
            let first = 8 + number * 4 % (PAGES - 8);
            write(&other, &versions, &[first, first + 1, first + 2, first + 3]).await;
        }
    }));
    let (other, versions) = (store.clone(), model.clone());
    tasks.push(shuttle::future::spawn(async move {
        for number in 0..race.rewrites.max(race.frees) {
            if number < race.rewrites {
                write(&other, &versions, &[0, 6]).await;
            }
            if number < race.frees {
                free(&other, &versions, &[4]).await;
                write(&other, &versions, &[4]).await;
            }
        }
    }));
    for task in tasks {
        task.await.expect("no task is aborted");
    }
    set_exploration(Exploration::Calm);
    for page in 0..PAGES {
        load(&store, &model, page).await;
    }
    store.check().await.expect("the store agrees with itself");
    let stats = store.stats();
    totals.cleaned.fetch_add(stats.segments_cleaned, Ordering::Relaxed);
    totals.cycles.fetch_add(stats.cycles, Ordering::Relaxed);
    totals.retried.fetch_add(stats.reads_retried, Ordering::Relaxed);
    drop(store);
    let again = SegmentStore::open(&env_on(disk.copy()), "", options).await.expect("it opens again");
    for page in 0..PAGES {
        load(&again, &model, page).await;
    }
    again.check().await.expect("the store agrees with itself after replay");
}

fn explore(race: Race, scheduler: impl Scheduler + 'static) -> Arc<Totals> {
    let totals = Arc::new(Totals::default());
    let counts = totals.clone();
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 18;
    config.max_steps = shuttle::MaxSteps::FailAfter(10_000_000);
    let body = move || {
        set_exploration(Exploration::Calm);
        shuttle::future::block_on(run(race, &counts));
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| shuttle::Runner::new(scheduler, config).run(body)));
    set_exploration(Exploration::No);
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    totals
}

/// How many schedules; more with EVENKEEL_SCHEDULES.
fn schedules(default: usize) -> usize {
    let wanted = std::env::var("EVENKEEL_SCHEDULES").ok();
    wanted.map_or(default, |text| text.parse().expect("EVENKEEL_SCHEDULES is a number"))
}

fn seed() -> u64 {
    let wanted = std::env::var("EVENKEEL_SIMULATION_SEED").ok();
    wanted.map_or(1, |text| text.parse().expect("EVENKEEL_SIMULATION_SEED is a number"))
}

#[test]
fn pages_are_sound_under_random_schedules() {
    let totals = explore(ALL, RandomScheduler::new_from_seed(seed(), schedules(40)));
    let count = |total: &AtomicU64| total.load(Ordering::Relaxed);
    println!(
        "{} cleaned, {} cycles, {} retried",
        count(&totals.cleaned),
        count(&totals.cycles),
        count(&totals.retried)
    );
    assert!(count(&totals.cleaned) > 0 && count(&totals.cycles) > 0);
}

#[test]
fn pages_are_sound_when_tasks_are_starved() {
    for depth in [2, 3, 6] {
        explore(ALL, PctScheduler::new_from_seed(seed() + depth, depth as usize, schedules(40) / 2));
    }
}

/// The exploration notices a broken rule within so many schedules.
fn is_found(fault: PlantedFault, scheduler: impl Scheduler + 'static) -> bool {
    let race = Race { fault, ..ALL };
    catch_unwind(AssertUnwindSafe(|| explore(race, scheduler))).is_err()
}

#[test]
fn broken_rules_are_found_out() {
    for fault in [PlantedFault::ReuseAtOnce, PlantedFault::ReadWithoutGate] {
        let found = is_found(fault, PctScheduler::new_from_seed(7, 3, 400))
            || is_found(fault, RandomScheduler::new_from_seed(7, 400));
        assert!(found, "{fault:?}");
    }
}
