//! One seed of the page store's crash matrix, and many.

use super::life::{Life, Trouble, read, read_record};
use super::model::Model;
use crate::run::{Report, Violation, caught};
use crate::store::options::{PlantedStoreFault, StoreOptions};
use env::Env;
use env::sim::{Outcome, SeededRandom, SimOptions, World};
use env::sync::Mutex;
use pagestore::{InPlaceStore, PageSize, PageStore};
use std::sync::Arc;

const SECOND_LIVES_ONE_IN: usize = 24;
const SECOND_LIFE_OPERATIONS: usize = 12;
const COPIES_FILE: &str = "doublewrite.db";

/// Runs one seed to its end or to the first violation.
pub fn run_store_seed(options: &StoreOptions) -> Result<Report, Violation> {
    let world = World::new(options.seed, options.disk());
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
    let store = InPlaceStore::create(&env, "", PageSize::K4).await.map_err(|error| error.to_string())?;
    model.lock().created = true;
    match store.extend(options.page(options.pages as u64)).await {
        Err(error) if !error.is_no_space() => return Err(error.to_string()),
        _ => model.lock().page_count = store.page_count(),
    }
    let seed = options.seed;
    Life::new(Arc::new(store), model, options, seed, 1).run(&env).await;
    Ok(())
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
    let image_options = crash_later(options, &random, options.recovery_crashes > 0);
    let killed = random.below(5) == 0;
    let mut image =
        if killed { world.kill_image(point, image_options) } else { world.crash_image(point, image_options) };
    if options.fault == PlantedStoreFault::LosesCopies && image.paths().iter().any(|path| path == COPIES_FILE)
    {
        image.damage(COPIES_FILE, |bytes| bytes.fill(0));
    }
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
        image = image.crash(crash_later(options, &random, crashes_left > 0));
    }
}

/// Sometimes a crash soon after the start.
fn crash_later(options: &StoreOptions, random: &SeededRandom, wanted: bool) -> SimOptions {
    let crash_at = (wanted && random.below(3) == 0).then(|| random.below(24) as u64);
    SimOptions { crash_at, ..options.disk() }
}

/// Opens what a crash left and compares it with what the clients were told. `None` if there never was a store.
pub(super) async fn recover_and_check(
    env: Env,
    options: &StoreOptions,
    model: &Model,
) -> Result<Option<(InPlaceStore, Model)>, String> {
    let store = match InPlaceStore::open(&env, "").await {
        Ok(store) => store,
        Err(_) if !model.created => return Ok(None),
        Err(error) => return Err(format!("recovery failed: {error}")),
    };
    if store.page_count() < model.page_count {
        return Err(format!("{} pages instead of {}", store.page_count(), model.page_count));
    }
    let mut settled = model.clone();
    for number in 0..options.pages as u64 {
        let page = options.page(number);
        let found = read(&store, page).await.map_err(Trouble::into_text)?;
        model.expect(page, found)?;
        settled.settle(page, found);
    }
    let record = read_record(&store).await?;
    model.expect_record(record)?;
    settled.settle_record(record);
    Ok(Some((store, settled)))
}

/// Uses the recovered store: mostly for a little, sometimes for a second life with crashes of its own.
fn live_on(
    world: &World,
    store: InPlaceStore,
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
        let image = world.crash_image(point, options.disk());
        result = match image.block_on(recover_and_check(image.env(), &options, &model)) {
            Outcome::Done(checked) => checked.map(drop),
            Outcome::Crashed | Outcome::Stalled => Err("recovery hangs".into()),
        };
    });
    result.map_err(|what| format!("in a second life: {what}"))?;
    let complaint = model.lock().violation.take();
    match (outcome, complaint) {
        (_, Some(what)) => Err(format!("in a second life: {what}")),
        (Outcome::Done(()), None) => Ok(()),
        (Outcome::Crashed | Outcome::Stalled, None) => Err("the workload hangs in a second life".into()),
    }
}
