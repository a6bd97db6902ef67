//! One seed: a workload with a crash image at every operation that changes the disk; every image is recovered
//! and checked, and some recoveries are crashed in turn.
//!
//! The images are taken while the workload goes on, so one run of it yields all its crash points.

use crate::history::{Contents, History, TransactionNumber};
use crate::subject::Subject;
use crate::workload::{self, Shared, WorkloadOptions, read_contents};
use env::Env;
use env::sim::{Outcome, SeededRandom, SimOptions, World};
use env::sync::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const SECOND_LIVES_ONE_IN: usize = 16;
const SECOND_LIFE_TRANSACTIONS: usize = 20;
const SECOND_CRASHES_ONE_IN: usize = 4;
/// Steps of scheduling after which something that has not ended counts as endless; the longest of 400 workloads took 19,334.
const STEPS_MAX: u64 = 1_000_000;
/// So many more for a workload, which may have been asked to be long.
const STEPS_PER_TRANSACTION_MAX: u64 = 1_000;

#[derive(Debug, Clone)]
pub struct RunOptions {
    pub seed: u64,
    /// Check only this crash point (as a failure names it); None checks all.
    pub crash_point: Option<u64>,
    pub workload: WorkloadOptions,
    /// How often the machine crashes again during one recovery, at most.
    pub recovery_crashes: usize,
}

impl RunOptions {
    pub fn new(seed: u64) -> Self {
        Self { seed, crash_point: None, workload: WorkloadOptions::default(), recovery_crashes: 3 }
    }
}

/// What a run has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    pub crash_points: u64,
    /// Crashes during recovery, on top.
    pub recovery_crashes: u64,
    /// Runs with an injected error or a full disk; beside changes of definitions, statements that failed for one.
    pub faults: u64,
    /// Made for statements that do not fit into memory.
    pub temporary_files: u64,
    /// Damaged copies, and those whose damage was noticed; the others were repaired or not concerned.
    pub damages: u64,
    pub damages_noticed: u64,
    pub commits: u64,
    /// Equal for equal runs.
    pub trace: u64,
}

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub seed: u64,
    pub crash_point: Option<u64>,
    /// The number of the injected fault, if it was not a crash.
    pub fault: Option<u64>,
    /// The option that chooses what is simulated, if it is not the engine.
    pub subject: &'static str,
    pub what: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.what)?;
        write!(f, "replay: cargo run --profile test -p simulator -- --seed {}{}", self.seed, self.subject)?;
        if let Some(point) = self.crash_point {
            write!(f, " --crash-point {point}")?;
        }
        if let Some(fault) = self.fault {
            write!(f, " --fault {fault}")?;
        }
        Ok(())
    }
}

/// Runs one seed to its end or to the first violation.
pub fn run_seed<S: Subject>(options: &RunOptions) -> Result<Report, Violation> {
    let seed = options.seed;
    let violation = |crash_point, what| Violation { seed, crash_point, fault: None, subject: "", what };
    let world = World::new(seed, bounded(options));
    let mut report = Report::default();
    let mut found = None;
    let shared = Shared::new(&Contents::new(), &options.workload);
    let (env, work) = (world.env(), shared.clone());
    let workload_options = options.workload.clone();
    let life = async move {
        let subject = S::open(env.clone()).await?;
        workload::run(env, subject.clone(), work, workload_options, seed).await;
        subject.verify().await.map_err(|what| format!("after the workload: {what}"))
    };
    let mut observe = |world: &World| {
        let point = world.changes();
        if options.crash_point.is_some_and(|only| only != point) {
            return;
        }
        report.crash_points += 1;
        let checked = caught(|| check_crash::<S>(world, point, options, &shared, &mut report));
        if let Err(what) = checked {
            found = Some(violation(Some(point), what));
            world.halt();
        }
    };
    let outcome = caught(|| Ok(world.block_on_observed(life, &mut observe)));
    if let Some(found) = found {
        return Err(found);
    }
    match outcome.map_err(|what| violation(None, what))? {
        Outcome::Done(Ok(())) => {}
        Outcome::Done(Err(what)) => return Err(violation(None, what)),
        Outcome::Crashed => return Err(violation(None, "the machine crashed unasked".into())),
        Outcome::Stalled => return Err(violation(None, "the workload hangs".into())),
    }
    if let Some(what) = shared.violation.lock().take() {
        return Err(violation(None, what));
    }
    if let Some(what) = shared.fatal.lock().take() {
        return Err(violation(None, format!("the store stopped without cause: {what}")));
    }
    report.commits = shared.history.lock().commits;
    report.trace = world.trace_hash();
    Ok(report)
}

/// A panic of the subject (a broken invariant) is a violation like any other.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(format!("panic: {}", text.unwrap_or("unknown")))
    })
}

/// Cuts the power (or kills the process) in an image of the world, recovers and checks.
fn check_crash<S: Subject>(
    world: &World,
    point: u64,
    options: &RunOptions,
    shared: &Shared,
    report: &mut Report,
) -> Result<(), String> {
    let random = SeededRandom::new(options.seed ^ point.rotate_left(32));
    let image_options = crash_later(&random, options.recovery_crashes > 0);
    // Mostly the power fails; sometimes only the process dies, and the power, if at all, fails later.
    let killed = random.below(5) == 0;
    let mut image =
        if killed { world.kill_image(point, image_options) } else { world.crash_image(point, image_options) };
    let mut crashes_left = options.recovery_crashes;
    // What a recovery decides is known to the next one.
    let history = Mutex::new(shared.history.lock().clone());
    loop {
        // Recovering twice must give the same as recovering once.
        let again = crashes_left > 0 && random.below(8) == 0;
        let recovery = recover_and_check::<S>(image.env(), &history);
        match image.block_on(recovery) {
            Outcome::Done(Ok((subject, contents))) if !again => {
                image.set_crash_at(None);
                return live_on(&image, subject, contents, point, options, report);
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

/// Uses the recovered store: mostly for one transaction, sometimes for a second life with crashes of its own.
fn live_on<S: Subject>(
    world: &World,
    subject: Arc<S>,
    contents: Contents,
    point: u64,
    options: &RunOptions,
    report: &mut Report,
) -> Result<(), String> {
    let random = SeededRandom::new(options.seed ^ point.rotate_left(48));
    if random.below(SECOND_LIVES_ONE_IN) > 0 {
        return match world.block_on(check_alive(&subject, &contents)) {
            Outcome::Done(result) => result,
            Outcome::Crashed | Outcome::Stalled => Err("the recovered store hangs".into()),
        };
    }
    let transactions = options.workload.transactions.min(SECOND_LIFE_TRANSACTIONS);
    let life = WorkloadOptions { transactions, ..options.workload.clone() };
    let shared = Shared::new(&contents, &life);
    let mut result = Ok(());
    let work = workload::run(world.env(), subject, shared.clone(), life, options.seed ^ point);
    let outcome = world.block_on_observed(work, |world| {
        if result.is_err() || random.below(SECOND_CRASHES_ONE_IN) > 0 {
            return;
        }
        report.crash_points += 1;
        let image = world.crash_image(point, bounded(options));
        let history = Mutex::new(shared.history.lock().clone());
        result = match image.block_on(recover_and_check::<S>(image.env(), &history)) {
            Outcome::Done(checked) => checked.map(drop),
            Outcome::Crashed | Outcome::Stalled => Err("recovery hangs".into()),
        };
    });
    result.map_err(|what| format!("in a second life: {what}"))?;
    if outcome != Outcome::Done(()) {
        return Err("the workload hangs in a second life".into());
    }
    let violation = shared.violation.lock().take().or_else(|| shared.fatal.lock().take());
    violation.map_or(Ok(()), |what| Err(format!("in a second life: {what}")))
}

/// Opens what a crash left and compares it with what the clients were told; decides what is prepared.
pub(crate) async fn recover_and_check<S: Subject>(
    env: Env,
    history: &Mutex<History>,
) -> Result<(Arc<S>, Contents), String> {
    let random = env.random.clone();
    let subject = S::open(env).await.map_err(|what| format!("recovery failed: {what}"))?;
    let recovered = subject.recovered();
    let numbers: Vec<u64> = recovered.iter().map(|(number, _)| *number).collect();
    history.lock().restart(&numbers)?;
    let mut contents = read_contents(&subject).await?;
    history.lock().explain(&contents)?;
    let any_prepared = !recovered.is_empty();
    for (number, prepared) in recovered {
        let (number, commit) = (TransactionNumber(number), random.u64().is_multiple_of(2));
        history.lock().ask_decision(number, commit);
        let decided = S::decide(prepared, commit).await;
        decided.map_err(|refusal| format!("a prepared transaction cannot be decided: {refusal:?}"))?;
        history.lock().decided(number, commit);
    }
    if any_prepared {
        contents = read_contents(&subject).await?;
        history.lock().explain(&contents).map_err(|what| format!("after decisions: {what}"))?;
    }
    subject.verify().await.map_err(|what| format!("after recovery: {what}"))?;
    Ok((subject, contents))
}

/// The recovered store takes a transaction.
pub(crate) async fn check_alive<S: Subject>(subject: &Arc<S>, contents: &Contents) -> Result<(), String> {
    let Some(table) = contents.keys().next_back() else { return Ok(()) };
    let mut transaction = subject.begin(1);
    let key = b"alive".to_vec();
    S::insert(&mut transaction, *table, &key, b"yes")
        .await
        .map_err(|refusal| format!("the recovered store refuses an insert: {refusal:?}"))?;
    S::commit(transaction)
        .await
        .map_err(|refusal| format!("the recovered store refuses a commit: {refusal:?}"))
}

/// A machine on which what does not end is noticed.
pub(crate) fn bounded(options: &RunOptions) -> SimOptions {
    let steps_max = STEPS_MAX + STEPS_PER_TRANSACTION_MAX * options.workload.transactions as u64;
    SimOptions { steps_max, ..SimOptions::default() }
}

/// Sometimes a crash soon after the start.
pub(crate) fn crash_later(random: &SeededRandom, wanted: bool) -> SimOptions {
    let crash_at = (wanted && random.below(3) == 0).then(|| random.below(40) as u64);
    SimOptions { crash_at, steps_max: STEPS_MAX, ..SimOptions::default() }
}
