//! One seed: the rehearsal, the performance with its crashes, and the check of every image.

use super::builder::build_beside;
use super::planted::{PlantedDdlFault, concerns};
use super::server::open;
use super::spills;
use super::state::{State, States};
use super::structure::{check_structure, check_temporary};
use super::tracks::{Progress, Track, Tracks, play, rehearse};
use crate::ddl::options::DdlOptions;
use crate::ddl::options::STEPS_MAX;
use crate::many::{Budget, Summary};
use crate::run::{Report, Violation, caught, crash_later};
use env::Env;
use env::sim::{Outcome, SeededRandom, SimOptions, World};
use instance::Instance;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

/// As a worker of the server has.
const STACK_BYTES: usize = 16 << 20;
/// So many units are repeated after a recovery.
const UNITS_AFTER: usize = 2;

impl DdlOptions {
    /// Whether the machine crashes here. With a planted fault only where it strikes: the rest is as without.
    fn checks(&self, point: u64, tracks: &Tracks) -> bool {
        let is_chosen = || SeededRandom::new(self.seed.rotate_left(32) ^ point).below(self.one_in) == 0;
        match (self.crash_point, self.fault) {
            (Some(only), _) => only == point,
            (None, PlantedDdlFault::None) => is_chosen(),
            // A file is kept until a crash: it shows at the end.
            (None, PlantedDdlFault::KeepFile) => false,
            (None, PlantedDdlFault::LeaveRow) => tracks.spills.failures() > 0 && is_chosen(),
            (None, fault) => {
                tracks.definitions.on_its_way().is_some_and(|texts| concerns(texts, fault)) && is_chosen()
            }
        }
    }
}

/// Both at once, in one task: sessions do not move between threads.
async fn both<L, R>(left: L, right: R) -> Result<(), String>
where
    L: Future<Output = Result<(), String>>,
    R: Future<Output = Result<(), String>>,
{
    let (mut left, mut right) = (pin!(left), pin!(right));
    let (mut left_done, mut right_done) = (false, false);
    poll_fn(|context| {
        if !left_done && let Poll::Ready(result) = left.as_mut().poll(context) {
            result?;
            left_done = true;
        }
        if !right_done && let Poll::Ready(result) = right.as_mut().poll(context) {
            result?;
            right_done = true;
        }
        if left_done && right_done { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await
}

fn finished<T>(outcome: Outcome<Result<T, String>>, what: &str) -> Result<T, String> {
    match outcome {
        Outcome::Done(result) => result,
        Outcome::Crashed => Err(format!("{what}: the machine crashed unasked")),
        Outcome::Stalled => Err(format!("{what} hangs")),
    }
}

/// Runs one seed to its end or to the first violation, on a thread with as much stack as a worker of the server has.
pub fn run_ddl_seed(options: &DdlOptions) -> Result<Report, Violation> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let thread = thread.spawn_scoped(scope, || run_here(options)).expect("a thread starts");
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

fn run_here(options: &DdlOptions) -> Result<Report, Violation> {
    let rehearsal = World::new(options.seed.rotate_left(11), options.sim());
    let tracks =
        caught(|| finished(rehearsal.block_on(rehearse(rehearsal.env(), options.clone())), "the rehearsal"));
    let tracks = tracks.map_err(|what| options.violation(None, what))?;
    drop(rehearsal);
    let mut units = tracks.definitions.units.iter();
    let strikes = options.fault == PlantedDdlFault::None
        || options.fault.is_of_spills()
        || units.any(|unit| concerns(&unit.texts, options.fault));
    if !strikes {
        return Ok(Report::default());
    }
    perform(options, &tracks)
}

fn perform(options: &DdlOptions, tracks: &Tracks) -> Result<Report, Violation> {
    let world = World::new(options.seed, options.sim());
    world.set_faults(&spills::faults(options.seed));
    let (mut report, mut found) = (Report::default(), None);
    let env = world.env();
    let life = async {
        let server = open(env.clone(), false).await?;
        spills::limit_space(&server, options.seed);
        let Tracks { definitions, rows, spills } = tracks;
        let definer = play(&server, definitions, definitions.whole(), options.fault);
        let writer = play(&server, rows, rows.whole(), PlantedDdlFault::None);
        let of_spills = if options.fault.is_of_spills() { options.fault } else { PlantedDdlFault::None };
        let spiller = play(&server, spills, spills.whole(), of_spills);
        let done = Cell::new(false);
        let players = async {
            let played = both(definer, both(writer, spiller)).await;
            done.set(true);
            played
        };
        let first = options.seed as usize;
        both(players, build_beside(&env, &server, (first, options.units), &done)).await?;
        recovered_places(&server, tracks).await?;
        check_temporary(&server)?;
        check_structure(&server).await?;
        Ok(server.temporary().files_created())
    };
    let mut observe = |world: &World| {
        let point = world.changes();
        if found.is_some() || !options.checks(point, tracks) {
            return;
        }
        report.crash_points += 1;
        if let Err(what) = caught(|| check_crash(world, point, options, tracks, &mut report)) {
            found = Some(options.violation(Some(point), what));
            world.halt();
        }
    };
    let outcome = caught(|| Ok(world.block_on_observed(life, &mut observe)));
    if let Some(found) = found {
        return Err(found);
    }
    let ended = outcome.and_then(|outcome| finished(outcome, "the performance"));
    report.temporary_files = ended.map_err(|what| options.violation(None, what))?;
    report.faults = tracks.spills.failures();
    report.commits = tracks.units() as u64;
    report.trace = world.trace_hash();
    Ok(report)
}

/// Cuts the power (or kills the process) in an image of the world, recovers and checks.
fn check_crash(
    world: &World,
    point: u64,
    options: &DdlOptions,
    tracks: &Tracks,
    report: &mut Report,
) -> Result<(), String> {
    let random = SeededRandom::new(options.seed ^ point.rotate_left(32));
    let sim =
        |crashes_left: usize| SimOptions { steps_max: STEPS_MAX, ..crash_later(&random, crashes_left > 0) };
    let mut crashes_left = options.recovery_crashes;
    let killed = random.below(5) == 0;
    let mut image = match killed {
        true => world.kill_image(point, sim(crashes_left)),
        false => world.crash_image(point, sim(crashes_left)),
    };
    loop {
        match image.block_on(recover_and_check(image.env(), tracks)) {
            Outcome::Done(Ok((server, places))) => {
                image.set_crash_at(None);
                return finished(image.block_on(go_on(server, tracks, places)), "the recovered server");
            }
            Outcome::Done(Err(what)) => return Err(what),
            Outcome::Stalled => return Err("recovery hangs".into()),
            Outcome::Crashed => {}
        }
        report.recovery_crashes += 1;
        crashes_left -= 1;
        image = image.crash(sim(crashes_left));
    }
}

/// After how many units of each track.
struct Places {
    definitions: usize,
    rows: usize,
    spills: usize,
    /// Whether the definitions have the next AUTO_INCREMENT values that they had in the rehearsal.
    is_alike: bool,
}

async fn recover_and_check(env: Env, tracks: &Tracks) -> Result<(Arc<Instance>, Places), String> {
    let server = open(env, false).await.map_err(|what| format!("recovery failed: {what}"))?;
    let places = recovered_places(&server, tracks).await?;
    check_temporary(&server)?;
    check_structure(&server).await.map_err(|what| format!("after recovery: {what}"))?;
    Ok((server, places))
}

async fn recovered_places(server: &Arc<Instance>, tracks: &Tracks) -> Result<Places, String> {
    let found = States::read(server).await?;
    let definitions = tracks.definitions.place(&found.definitions)?;
    Ok(Places {
        definitions,
        rows: tracks.rows.place(&found.rows)?,
        spills: tracks.spills.place(&found.spills)?,
        is_alike: found.definitions.counters == tracks.definitions.after(definitions).counters,
    })
}

/// The recovered server does what comes next as if nothing had been. Of the definitions only if it gives the same
/// AUTO_INCREMENT values: a restart forgets those that no row was written with.
async fn go_on(server: Arc<Instance>, tracks: &Tracks, places: Places) -> Result<(), String> {
    let next = |track: &Track, place: usize| place..(place + UNITS_AFTER).min(track.units.len());
    let definitions = match places.is_alike {
        true => next(&tracks.definitions, places.definitions),
        false => places.definitions..places.definitions,
    };
    let (end, apart) = (definitions.end, [(); 3].map(|()| Progress::default()));
    let (rows, spills) = (next(&tracks.rows, places.rows), next(&tracks.spills, places.spills));
    let definer = play(&server, &tracks.definitions, (definitions, &apart[0]), PlantedDdlFault::None);
    let writer = play(&server, &tracks.rows, (rows, &apart[1]), PlantedDdlFault::None);
    let spiller = play(&server, &tracks.spills, (spills, &apart[2]), PlantedDdlFault::None);
    both(definer, both(writer, spiller)).await.map_err(|what| format!("after recovery: {what}"))?;
    let (expected, found) = (tracks.definitions.after(end), State::of_definitions(&server).await?);
    if expected.lines != found.lines {
        return Err(format!("after recovery and what comes next:\n{}", expected.difference(&found)));
    }
    Ok(())
}

/// Runs seeds from `options.seed` on.
pub fn run_ddl_many(options: &DdlOptions, budget: &Budget) -> Result<Summary, Violation> {
    let start = Instant::now();
    let mut summary = Summary::default();
    for seed in (options.seed..).take(usize::try_from(budget.seeds).unwrap_or(usize::MAX)) {
        if budget.time.is_some_and(|time| start.elapsed() >= time) && summary.seeds > 0 {
            break;
        }
        summary.add(&run_ddl_seed(&DdlOptions { seed, ..options.clone() })?);
        summary.seeds += 1;
    }
    summary.elapsed = start.elapsed();
    Ok(summary)
}
