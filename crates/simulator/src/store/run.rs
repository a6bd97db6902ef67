//! One seed of the page store's crash matrix, and many.

use super::errors::run_store_error;
use super::life::{Life, Trouble, read, read_record};
use super::model::Model;
use crate::many::{Budget, Summary};
use crate::run::{Report, Violation, caught};
use env::Env;
use env::sim::{Outcome, SeededRandom, SimOptions, World};
use env::sync::Mutex;
use pagestore::segments::PlantedFault;
use pagestore::{PageSize, PageStore, SegmentOptions, SegmentStore, StoreError};
use std::sync::Arc;
use std::time::Instant;

const SECOND_LIVES_ONE_IN: usize = 24;
const SECOND_LIFE_OPERATIONS: usize = 12;
pub(super) const STEPS_MAX: u64 = 4_000_000;

#[derive(Debug, Clone)]
pub struct StoreOptions {
    pub seed: u64,
    /// Check only this crash point (as a failure names it); None checks all.
    pub crash_point: Option<u64>,
    /// How often the machine crashes again during one recovery, at most.
    pub recovery_crashes: usize,
    pub clients: usize,
    /// Per client.
    pub operations: usize,
    /// Pages in use, by all clients.
    pub pages: usize,
    /// Page ids are multiples of this, so that the map has several leaves.
    pub stride: u64,
    /// Errors of the disk are injected, so operations may fail.
    pub has_errors: bool,
    /// A rule that the store breaks.
    pub fault: PlantedFault,
}

impl StoreOptions {
    pub fn new(seed: u64) -> Self {
        let stride = [1, 1, 17, 131][seed as usize % 4];
        Self {
            seed,
            crash_point: None,
            recovery_crashes: 3,
            clients: 3,
            operations: 60,
            pages: 48 + (seed as usize / 4 % 4) * 16,
            stride,
            has_errors: false,
            fault: PlantedFault::None,
        }
    }

    /// Some stores are always nearly full, some checkpoint all the time; files are small.
    pub(super) fn store(&self) -> SegmentOptions {
        let random = SeededRandom::new(self.seed ^ 0x5707e);
        SegmentOptions {
            segments_per_file: [5, 16, 64][random.below(3)],
            fill_target_percent: [60, 80, 99, 99][random.below(4)],
            fill_max_percent: [80, 90, 95][random.below(3)],
            cycle_share: [1, 2, 4, 16][random.below(4)],
            ids_per_page: self.stride as u32,
            fault: self.fault,
            ..SegmentOptions::tiny()
        }
    }

    pub(super) fn violation(&self, crash_point: Option<u64>, what: String) -> Violation {
        Violation { seed: self.seed, crash_point, fault: None, subject: " --store 1", what }
    }
}

/// Runs one seed to its end or to the first violation.
pub fn run_store_seed(options: &StoreOptions) -> Result<Report, Violation> {
    let capacity_bytes = (options.seed.is_multiple_of(5)).then_some(2 << 20);
    let sim = SimOptions { capacity_bytes, steps_max: STEPS_MAX, ..SimOptions::default() };
    let world = World::new(options.seed, sim);
    let model = Arc::new(Mutex::new(Model::default()));
    let (mut report, mut found) = (Report::default(), None);
    let life = first_life(world.env(), options.clone(), model.clone());
    let mut observe = |world: &World| {
        let point = world.changes();
        if options.crash_point.is_some_and(|only| only != point) {
            return;
        }
        report.crash_points += 1;
        let checked = caught(|| check_crash(world, point, options, &model, &mut report));
        if let Err(what) = checked {
            found = Some(options.violation(Some(point), what));
            world.halt();
        }
    };
    let outcome = caught(|| Ok(world.block_on_observed(life, &mut observe)));
    if let Some(found) = found {
        return Err(found);
    }
    let violation = |what| options.violation(None, what);
    match outcome.map_err(violation)? {
        Outcome::Done(Ok(())) => {}
        Outcome::Done(Err(what)) => return Err(violation(what)),
        Outcome::Crashed => return Err(violation("the machine crashed unasked".into())),
        Outcome::Stalled => return Err(violation("the workload hangs".into())),
    }
    let model = model.lock();
    if let Some(what) = model.violation.clone() {
        return Err(violation(what));
    }
    report.commits = model.acknowledged;
    report.trace = world.trace_hash();
    Ok(report)
}

pub(super) async fn first_life(
    env: Env,
    options: StoreOptions,
    model: Arc<Mutex<Model>>,
) -> Result<(), String> {
    let text = |error: StoreError| error.to_string();
    let store = SegmentStore::create(&env, "", PageSize::K4, options.store()).await.map_err(text)?;
    model.lock().created = true;
    let count = options.pages as u64 * options.stride;
    store.extend(count).await.map_err(text)?;
    model.lock().page_count = count;
    let seed = options.seed;
    Life::new(Arc::new(store), model, options, seed, 1).run(&env).await
}

/// Cuts the power (or kills the process) in an image of the world, recovers and checks.
fn check_crash(
    world: &World,
    point: u64,
    options: &StoreOptions,
    model: &Mutex<Model>,
    report: &mut Report,
) -> Result<(), String> {
    let model = model.lock().clone();
    let random = SeededRandom::new(options.seed ^ point.rotate_left(32));
    let image_options = crash_later(&random, options.recovery_crashes > 0);
    let killed = random.below(5) == 0;
    let mut image =
        if killed { world.kill_image(point, image_options) } else { world.crash_image(point, image_options) };
    let mut crashes_left = options.recovery_crashes;
    loop {
        let again = crashes_left > 0 && random.below(8) == 0;
        match image.block_on(recover_and_check(image.env(), options, &model)) {
            Outcome::Done(Ok(recovered)) if !again => {
                let Some((store, model)) = recovered else { return Ok(()) };
                image.set_crash_at(None);
                return live_on(&image, store, model, point, options, report);
            }
            Outcome::Done(Err(what)) => return Err(what),
            Outcome::Stalled => return Err("recovery hangs".into()),
            Outcome::Done(Ok(_)) | Outcome::Crashed => {}
        }
        report.recovery_crashes += 1;
        crashes_left -= 1;
        image = image.crash(crash_later(&random, crashes_left > 0));
    }
}

/// Sometimes a crash soon after the start.
fn crash_later(random: &SeededRandom, wanted: bool) -> SimOptions {
    let crash_at = (wanted && random.below(3) == 0).then(|| random.below(24) as u64);
    SimOptions { crash_at, steps_max: STEPS_MAX, ..SimOptions::default() }
}

/// Opens what a crash left and compares it with what the clients were told. `None` if there never was a store.
pub(super) async fn recover_and_check(
    env: Env,
    options: &StoreOptions,
    model: &Model,
) -> Result<Option<(SegmentStore, Model)>, String> {
    let store = match SegmentStore::open(&env, "", options.store()).await {
        Ok(store) => store,
        Err(_) if !model.created => return Ok(None),
        Err(error) => return Err(format!("recovery failed: {error}")),
    };
    if store.page_count() < model.page_count {
        return Err(format!("{} pages instead of {}", store.page_count(), model.page_count));
    }
    let mut settled = model.clone();
    for number in 0..options.pages as u64 {
        let page = number * options.stride;
        let found = read(&store, page).await.map_err(Trouble::into_text)?;
        model.expect(page, found)?;
        settled.settle(page, found);
    }
    let record = read_record(&store).await?;
    model.expect_record(record)?;
    settled.settle_record(record);
    store.check().await.map_err(|what| format!("after recovery: {what}"))?;
    Ok(Some((store, settled)))
}

/// Uses the recovered store: mostly for a little, sometimes for a second life with crashes of its own.
fn live_on(
    world: &World,
    store: SegmentStore,
    model: Model,
    point: u64,
    options: &StoreOptions,
    report: &mut Report,
) -> Result<(), String> {
    let random = SeededRandom::new(options.seed ^ point.rotate_left(48));
    let long = random.below(SECOND_LIVES_ONE_IN) == 0;
    let operations = if long { SECOND_LIFE_OPERATIONS } else { 1 };
    let options = StoreOptions { operations, ..options.clone() };
    let model = Arc::new(Mutex::new(model));
    // Versions of a second life differ from all of the first.
    let first_version = 1_000_000 + point * 10_000;
    let life =
        Life::new(Arc::new(store), model.clone(), options.clone(), options.seed ^ point, first_version);
    let mut result = Ok(());
    let env = world.env();
    let outcome = world.block_on_observed(life.run(&env), |world| {
        if result.is_err() || !long {
            return;
        }
        report.crash_points += 1;
        let model = model.lock().clone();
        let sim = SimOptions { steps_max: STEPS_MAX, ..SimOptions::default() };
        let image = world.crash_image(point, sim);
        result = match image.block_on(recover_and_check(image.env(), &options, &model)) {
            Outcome::Done(checked) => checked.map(drop),
            Outcome::Crashed | Outcome::Stalled => Err("recovery hangs".into()),
        };
    });
    result.map_err(|what| format!("in a second life: {what}"))?;
    let complaint = model.lock().violation.take();
    match (outcome, complaint) {
        (_, Some(what)) | (Outcome::Done(Err(what)), None) => Err(format!("in a second life: {what}")),
        (Outcome::Done(Ok(())), None) => Ok(()),
        (Outcome::Crashed | Outcome::Stalled, None) => Err("the workload hangs in a second life".into()),
    }
}

/// Runs seeds from `options.seed` on, one after another.
pub fn run_store_many(options: &StoreOptions, budget: &Budget) -> Result<Summary, Violation> {
    let start = Instant::now();
    let mut summary = Summary::default();
    for seed in options.seed..options.seed.saturating_add(budget.seeds) {
        if budget.time.is_some_and(|time| start.elapsed() >= time) {
            break;
        }
        let fresh = StoreOptions::new(seed);
        let options = StoreOptions { crash_point: options.crash_point, fault: options.fault, ..fresh };
        summary.add(&run_store_seed(&options)?);
        for index in 0..budget.faults {
            summary.add(&run_store_error(&options, index)?);
        }
        summary.seeds += 1;
    }
    summary.elapsed = start.elapsed();
    Ok(summary)
}
