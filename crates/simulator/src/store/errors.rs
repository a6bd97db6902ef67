//! The page store on a disk that fails: every kind of operation, once or for good, early and late in a run.
//!
//! Promise: operations may fail and the store may refuse all further work, but it does not hang; and after a crash, an
//! opening that meets an error too, and another without, every page is in the version that was acknowledged last or in
//! one that was asked for later.

use super::life::Trouble;
use super::model::Model;
use super::run::{first_life, recover_and_check};
use crate::run::{Report, Violation, caught};
use crate::store::options::{STEPS_MAX, StoreOptions};
use env::sim::{Fault, FaultEffect, Outcome, SeededRandom, SimOptions, World};
use env::sync::Mutex;
use env::{IoErrorKind, IoOp};
use pagestore::InPlaceStore;
use std::sync::Arc;

/// EIO, by its number on Linux.
const INPUT_OUTPUT_ERROR: IoErrorKind = IoErrorKind::Os(5);
/// What fails, how, and after how many operations of its kind at most: about as many as a run has.
const FAULTS: [(IoOp, FaultEffect, usize); 9] = [
    (IoOp::Write, FaultEffect::Error(INPUT_OUTPUT_ERROR), 400),
    (IoOp::Write, FaultEffect::Partial(INPUT_OUTPUT_ERROR), 400),
    (IoOp::Write, FaultEffect::Partial(IoErrorKind::NoSpace), 400),
    (IoOp::Sync, FaultEffect::Error(INPUT_OUTPUT_ERROR), 300),
    (IoOp::Sync, FaultEffect::Error(IoErrorKind::NoSpace), 300),
    (IoOp::Allocate, FaultEffect::Error(IoErrorKind::NoSpace), 8),
    (IoOp::Read, FaultEffect::Error(INPUT_OUTPUT_ERROR), 300),
    (IoOp::Open, FaultEffect::Error(INPUT_OUTPUT_ERROR), 6),
    (IoOp::SyncDir, FaultEffect::Error(INPUT_OUTPUT_ERROR), 4),
];

/// Runs the error number `index` of a seed.
pub fn run_store_error(options: &StoreOptions, index: u64) -> Result<Report, Violation> {
    let options = StoreOptions { has_errors: true, ..options.clone() };
    let random = SeededRandom::new(options.seed ^ index.rotate_left(40));
    let fault = draw(&random, index);
    let described = format!("{fault:?}");
    caught(|| run(&options, &random, fault)).map_err(|what| Violation {
        fault: Some(index),
        ..options.violation(None, format!("{what} after {described}"))
    })
}

/// All kinds in turn, each once and for good.
fn draw(random: &SeededRandom, index: u64) -> Fault {
    let (op, effect, after_max) = FAULTS[index as usize % FAULTS.len()];
    let sticky = !(index / FAULTS.len() as u64).is_multiple_of(2);
    Fault { op: Some(op), path: String::new(), after: random.below(after_max) as u64, sticky, effect }
}

fn run(options: &StoreOptions, random: &SeededRandom, fault: Fault) -> Result<Report, String> {
    let sim = SimOptions { faults: vec![fault], steps_max: STEPS_MAX, ..SimOptions::default() };
    let world = World::new(options.seed.rotate_left(9) ^ random.below(1 << 20) as u64, sim);
    let model = Arc::new(Mutex::new(Model::default()));
    // Creation may fail; then there is nothing to be lost.
    if let Outcome::Stalled = world.block_on(first_life(world.env(), options.clone(), model.clone())) {
        return Err("the workload hangs".into());
    }
    if let Some(what) = model.lock().violation.take() {
        return Err(what);
    }
    let model = model.lock().clone();
    let next = draw(random, random.below(100) as u64);
    let next = Fault { after: next.after % 24, ..next };
    let sim = SimOptions { faults: vec![next], steps_max: STEPS_MAX, ..SimOptions::default() };
    let image = if random.below(3) == 0 { world.kill(sim) } else { world.crash(sim) };
    let opened = async {
        let opened = InPlaceStore::open(&image.env(), "").await;
        opened.map(drop).map_err(|error| Trouble::new("an opening failed", &error))
    };
    match image.block_on(opened) {
        Outcome::Done(Err(Trouble::Wrong(what))) if model.created => return Err(what),
        Outcome::Stalled => return Err("an opening hangs".into()),
        Outcome::Done(_) | Outcome::Crashed => {}
    }
    let sim = SimOptions { steps_max: STEPS_MAX, ..SimOptions::default() };
    let image = if random.below(3) == 0 { image.kill(sim) } else { image.crash(sim) };
    match image.block_on(recover_and_check(image.env(), options, &model)) {
        Outcome::Done(checked) => checked.map(drop)?,
        Outcome::Crashed | Outcome::Stalled => return Err("recovery hangs".into()),
    }
    Ok(Report { faults: 1, commits: model.acknowledged, ..Report::default() })
}
