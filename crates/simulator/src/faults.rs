//! Seeds with I/O errors and full disks instead of crashes in mid-run.
//!
//! An I/O error may fail statements or stop the store, but it may not hang it, and after a power cut and a
//! restart without the error nothing acknowledged is missing. A full disk may fail statements only: the store
//! stays up, and works again as soon as there is space.
//!
//! After a failed sync the kernel may show for long what it will lose in the next power cut: a process that is killed in
//! between must not build on it.

use crate::history::Contents;
use crate::run::{Report, RunOptions, Violation, bounded, caught, check_alive, recover_and_check};
use crate::subject::Subject;
use crate::workload::{self, Shared};
use env::sim::{Fault, FaultEffect, Outcome, SeededRandom, SimOptions, World};
use env::{Env, IoErrorKind, IoOp};
use std::sync::Arc;

/// EIO, by its number on Linux.
const INPUT_OUTPUT_ERROR: IoErrorKind = IoErrorKind::Os(5);
const OPS: [IoOp; 9] = [
    IoOp::Read,
    IoOp::Write,
    IoOp::Sync,
    IoOp::Open,
    IoOp::Allocate,
    IoOp::SetLength,
    IoOp::Rename,
    IoOp::SyncDir,
    IoOp::Remove,
];

/// The life after a lost sync.
const LIFE_AFTER_TRANSACTIONS: usize = 20;
const LIFE_AFTER_CUTS_ONE_IN: usize = 12;

/// Runs the fault number `index` of a seed.
pub fn run_fault<S: Subject>(options: &RunOptions, index: u64) -> Result<Report, Violation> {
    let what = caught(|| match index % 4 {
        3 => full_disk::<S>(options, index),
        2 => lost_sync::<S>(options, index),
        _ => input_output_error::<S>(options, index),
    });
    what.map_err(|what| Violation {
        seed: options.seed,
        crash_point: None,
        fault: Some(index),
        subject: "",
        what,
    })
}

fn input_output_error<S: Subject>(options: &RunOptions, index: u64) -> Result<Report, String> {
    let random = SeededRandom::new(options.seed ^ index.rotate_left(40));
    let fault = draw(&random);
    let described = format!("{fault:?}");
    let world = World::new(options.seed.rotate_left(7) ^ index, bounded(options));
    let shared = Shared::new(&Contents::new(), &options.workload);
    // The store is created in peace: an error there only means to try again from nothing.
    match world.block_on(S::open(world.env())) {
        Outcome::Done(Ok(subject)) => {
            world.set_faults(&[fault]);
            let workload =
                workload::run(world.env(), subject, shared.clone(), options.workload.clone(), options.seed);
            finished(world.block_on(workload)).map_err(|what| format!("{what} after {described}"))?;
        }
        Outcome::Done(Err(what)) => return Err(format!("a first start fails: {what}")),
        Outcome::Crashed | Outcome::Stalled => return Err("a first start hangs".into()),
    }
    if let Some(what) = shared.violation.lock().take() {
        return Err(format!("{what} after {described}"));
    }
    let image = world.crash(bounded(options));
    let checked = image.block_on(recover_and_check::<S>(image.env(), &shared.history));
    finished(checked)
        .and_then(|checked| checked.map(drop))
        .map_err(|what| format!("{what} after {described}"))?;
    let commits = shared.history.lock().commits;
    Ok(Report { faults: 1, commits, ..Report::default() })
}

/// A sync fails and the process is killed, perhaps again and again during its openings; when one has succeeded, what it
/// has found must survive every power cut.
fn lost_sync<S: Subject>(options: &RunOptions, index: u64) -> Result<Report, String> {
    let random = SeededRandom::new(options.seed ^ index.rotate_left(40));
    let fault = draw_sync(&random, 300);
    let described = format!("{fault:?}, a kill and a power cut");
    let after = |what: String| format!("{what} after {described}");
    let mut world = World::new(options.seed.rotate_left(7) ^ index, bounded(options));
    let shared = Shared::new(&Contents::new(), &options.workload);
    let subject = finished(world.block_on(S::open(world.env())))??;
    world.set_faults(&[fault]);
    let work = workload::run(world.env(), subject, shared.clone(), options.workload.clone(), options.seed);
    finished(world.block_on(work)).map_err(after)?;
    if let Some(what) = shared.violation.lock().take() {
        return Err(after(what));
    }
    let mut openings_left = random.below(3);
    let (subject, contents) = loop {
        let faults = if openings_left > 0 { vec![draw_sync(&random, 20)] } else { Vec::new() };
        let fails = !faults.is_empty();
        world = world.kill(SimOptions { faults, ..bounded(options) });
        let recovered = finished(world.block_on(recover_and_check::<S>(world.env(), &shared.history)));
        match recovered.map_err(after)? {
            Err(what) if !fails => return Err(after(what)),
            Ok(recovered) if !fails => break recovered,
            Ok(_) | Err(_) => openings_left -= 1,
        }
    };
    let transactions = options.workload.transactions.min(LIFE_AFTER_TRANSACTIONS);
    let life = workload::WorkloadOptions { transactions, ..options.workload.clone() };
    let shared = Shared::new(&contents, &life);
    let (mut cuts, mut result) = (0, Ok(()));
    let mut cut = |world: &World, salt: u64| -> Result<(), String> {
        cuts += 1;
        let image = world.crash_image(salt, bounded(options));
        let history = env::sync::Mutex::new(shared.history.lock().clone());
        let checked = image.block_on(recover_and_check::<S>(image.env(), &history));
        finished(checked).and_then(|checked| checked.map(drop)).map_err(after)
    };
    cut(&world, 0)?;
    let work = workload::run(world.env(), subject, shared.clone(), life, options.seed ^ index);
    let outcome = world.block_on_observed(work, |world| {
        if result.is_ok() && random.below(LIFE_AFTER_CUTS_ONE_IN) == 0 {
            result = cut(world, world.changes());
        }
    });
    result?;
    finished(outcome).map_err(after)?;
    let violation = shared.violation.lock().take().or_else(|| shared.fatal.lock().take());
    violation.map_or(Ok(()), |what| Err(after(what)))?;
    let commits = shared.history.lock().commits;
    Ok(Report { faults: 1, crash_points: cuts, commits, ..Report::default() })
}

/// One sync fails, of any file or of one kind of files.
fn draw_sync(random: &SeededRandom, after_max: usize) -> Fault {
    let path = ["", "", "wal/", "pages.db", "doublewrite"][random.below(5)];
    Fault::input_output_error(IoOp::Sync, path, random.below(after_max) as u64)
}

fn draw(random: &SeededRandom) -> Fault {
    if random.below(8) == 0 {
        let path = ["wal/", "pages.db"][random.below(2)].into();
        let after = random.below(300) as u64;
        let (op, effect) = (Some(IoOp::Read), FaultEffect::FlippedRead);
        return Fault { op, path, after, sticky: false, effect };
    }
    let op = OPS[random.below(OPS.len())];
    let kind = if random.below(4) == 0 { IoErrorKind::NoSpace } else { INPUT_OUTPUT_ERROR };
    let effect = if random.below(3) == 0 { FaultEffect::Partial(kind) } else { FaultEffect::Error(kind) };
    // Half of the faults strike early, the others anywhere in a run.
    let after = random.below(if random.below(2) == 0 { 20 } else { 300 }) as u64;
    Fault { op: Some(op), path: String::new(), after, sticky: random.below(2) == 0, effect }
}

fn full_disk<S: Subject>(options: &RunOptions, index: u64) -> Result<Report, String> {
    let random = SeededRandom::new(options.seed ^ index.rotate_left(40));
    let world = World::new(options.seed.rotate_left(7) ^ index, bounded(options));
    let shared = Shared::new(&Contents::new(), &options.workload);
    let subject = finished(world.block_on(S::open(world.env())))??;
    let used: usize =
        world.paths().iter().filter_map(|path| world.content(path)).map(|bytes| bytes.len()).sum();
    world.set_capacity(Some((used + random.below(used)) as u64));
    let run =
        |seed| workload::run(world.env(), subject.clone(), shared.clone(), options.workload.clone(), seed);
    finished(world.block_on(run(options.seed))).map_err(|what| format!("{what} on a full disk"))?;
    if let Some(what) = shared.fatal.lock().take() {
        return Err(format!("a full disk stops the store: {what}"));
    }
    world.set_capacity(None);
    let env = world.env();
    let alive = recovered_in_place(&env, &subject, &shared);
    finished(world.block_on(alive))
        .and_then(|alive| alive)
        .map_err(|what| format!("{what} after a full disk"))?;
    if let Some(what) = shared.violation.lock().take() {
        return Err(format!("{what} on a full disk"));
    }
    drop(subject);
    let image = world.crash(bounded(options));
    finished(image.block_on(async {
        let subject = S::open(image.env()).await.map_err(|what| format!("recovery failed: {what}"))?;
        subject.verify().await
    }))
    .and_then(|checked| checked)
    .map_err(|what| format!("{what} after a full disk and a crash"))?;
    let commits = shared.history.lock().commits;
    Ok(Report { faults: 1, commits, ..Report::default() })
}

/// There is space again: everything is there and the store takes changes, without a restart.
async fn recovered_in_place<S: Subject>(env: &Env, subject: &Arc<S>, shared: &Shared) -> Result<(), String> {
    let contents = workload::read_contents(subject).await?;
    shared.history.lock().explain(&contents)?;
    // It may notice the free space only with the next attempt to use some.
    let mut result = Ok(());
    for _ in 0..5 {
        result = check_alive(subject, &contents).await;
        if result.is_ok() {
            break;
        }
        env.clock.sleep(300_000).await;
    }
    result
}

fn finished<T>(outcome: Outcome<T>) -> Result<T, String> {
    match outcome {
        Outcome::Done(value) => Ok(value),
        Outcome::Crashed => Err("the machine crashed unasked".into()),
        Outcome::Stalled => Err("the store hangs".into()),
    }
}
