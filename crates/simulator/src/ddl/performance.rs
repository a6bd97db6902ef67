//! One seed: the rehearsal, the performance with its crashes, and the check of every image.

use super::builder::build_beside;
use super::server::{Client, open};
use super::state::State;
use super::statements::{Author, Texts, first_definitions, first_rows};
use super::structure::check_structure;
use crate::many::{Budget, Summary};
use crate::run::{Report, Violation, caught, crash_later};
use datum::SqlError;
use env::Env;
use env::sim::{Outcome, SeededRandom, SimOptions, World};
use instance::Instance;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

const STEPS_MAX: u64 = 20_000_000;
/// As a worker of the server has.
const STACK_BYTES: usize = 16 << 20;
/// So many units are repeated after a recovery.
const UNITS_AFTER: usize = 2;

/// A rule that the performance breaks, to show that it is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedDdlFault {
    None,
    /// A DROP TABLE of several tables is several changes.
    SplitDrops,
    /// A RENAME TABLE of several tables is several changes.
    SplitRenames,
    /// A statement counts as done when it begins.
    AcknowledgeEarly,
    /// DROP TABLE commits the dictionary first and the trees after it.
    LeaveTrees,
    /// DROP TABLE commits the trees first and the dictionary after it.
    LeaveDefinition,
}

#[derive(Debug, Clone)]
pub struct DdlOptions {
    pub seed: u64,
    /// Check only this crash point (as a failure names it); None checks all.
    pub crash_point: Option<u64>,
    /// How often the machine crashes again during one recovery, at most.
    pub recovery_crashes: usize,
    /// Changes of definitions, and as many transactions beside.
    pub units: usize,
    pub fault: PlantedDdlFault,
}

impl DdlOptions {
    pub fn new(seed: u64) -> Self {
        Self { seed, crash_point: None, recovery_crashes: 2, units: 20, fault: PlantedDdlFault::None }
    }

    fn violation(&self, crash_point: Option<u64>, what: String) -> Violation {
        Violation { seed: self.seed, crash_point, fault: None, subject: " --ddl 1", what }
    }

    fn sim(&self) -> SimOptions {
        SimOptions { steps_max: STEPS_MAX, ..SimOptions::default() }
    }
}

/// Something that happens as a whole, and what exists after it.
struct Unit {
    texts: Texts,
    answers: Vec<String>,
    after: State,
}

/// What one session does, and how far it is.
struct Track {
    before: State,
    units: Vec<Unit>,
    progress: Progress,
}

/// Units that are done and asked for; they differ by one while a unit is on its way.
#[derive(Default)]
struct Progress {
    done: Cell<usize>,
    asked: Cell<usize>,
}

impl Track {
    fn after(&self, units: usize) -> &State {
        units.checked_sub(1).map_or(&self.before, |last| &self.units[last].after)
    }

    /// The least that the counters are after so many units. Values of rows that were undone are remembered as soon as
    /// something later is committed, so those of the last units that changed nothing may be forgotten.
    fn certain(&self, units: usize) -> BTreeMap<String, u64> {
        let mut certain = self.after(units).kept_counters.clone();
        for before in (0..units).rev() {
            let (earlier, later) = (self.after(before), self.after(before + 1));
            if earlier.lines != later.lines {
                break;
            }
            for (table, counter) in &mut certain {
                *counter = (*counter).min(earlier.kept_counters.get(table).copied().unwrap_or(1));
            }
        }
        certain
    }

    /// Which of the possible states was found.
    fn place(&self, found: &State) -> Result<usize, String> {
        let (done, asked) = (self.progress.done.get(), self.progress.asked.get());
        let statement = self.units.get(done).map_or("the end", |unit| unit.texts[0].as_str());
        let mut what = format!("neither before nor after: {statement}\n");
        for place in done..=asked {
            let expected = self.after(place);
            let difference = match expected.lines == found.lines {
                true => match expected.check_counters(&self.certain(place), self.after(asked), found) {
                    Ok(()) => return Ok(place),
                    Err(difference) => difference,
                },
                false => expected.difference(found),
            };
            what += &format!(" beside the state after {place} units:\n{difference}\n");
        }
        Err(what)
    }
}

struct Tracks {
    definitions: Track,
    rows: Track,
}

/// Makes the statements up on a machine without crashes.
async fn rehearse(env: Env, options: DdlOptions) -> Result<Tracks, String> {
    let server = open(env, true).await?;
    let random = SeededRandom::new(options.seed ^ 0xdd1);
    let author = Author { server: &server, random: &random };
    let mut definitions = Track::starting_at(State::of_definitions(&server).await?);
    let mut rows = Track::starting_at(State::of_rows(&server).await?);
    let (mut definer, mut writer) = (Client::connect(&server), Client::connect(&server));
    let mut first = first_definitions().into_iter();
    for _ in 0..options.units {
        let texts = first.next().unwrap_or_else(|| author.definition());
        let answers = perform(&mut definer, &texts).await;
        let after = State::of_definitions(&server).await?;
        definitions.units.push(Unit { texts, answers, after });
    }
    let mut first = first_rows().into_iter();
    for _ in 0..options.units {
        let texts = first.next().unwrap_or_else(|| author.rows());
        let answers = perform(&mut writer, &texts).await;
        rows.units.push(Unit { texts, answers, after: State::of_rows(&server).await? });
    }
    drop((definer, writer));
    check_structure(&server).await.map_err(|what| format!("in the rehearsal: {what}"))?;
    Ok(Tracks { definitions, rows })
}

impl Track {
    fn starting_at(before: State) -> Track {
        Track { before, units: Vec::new(), progress: Progress::default() }
    }
}

async fn perform(client: &mut Client, texts: &[String]) -> Vec<String> {
    let mut answers = Vec::new();
    for text in texts {
        answers.push(client.query(text).await.end);
    }
    answers
}

/// Plays units of a track.
async fn play(
    server: &Arc<Instance>,
    units: &[Unit],
    progress: &Progress,
    fault: PlantedDdlFault,
) -> Result<(), String> {
    let mut client = Client::connect(server);
    for (place, unit) in units.iter().enumerate() {
        progress.asked.set(place + 1);
        if fault == PlantedDdlFault::AcknowledgeEarly {
            progress.done.set(place + 1);
        }
        let answers = match perform_wrongly(server, &mut client, &unit.texts, fault).await {
            Some(()) => unit.answers.clone(),
            None => perform(&mut client, &unit.texts).await,
        };
        if answers != unit.answers {
            return Err(format!(
                "{:?} was answered {answers:?}, in the rehearsal {:?}",
                unit.texts, unit.answers
            ));
        }
        progress.done.set(place + 1);
    }
    Ok(())
}

/// Does the statement in the way of the planted fault; `None` if the fault does not concern it.
async fn perform_wrongly(
    server: &Arc<Instance>,
    client: &mut Client,
    texts: &[String],
    fault: PlantedDdlFault,
) -> Option<()> {
    use PlantedDdlFault::{LeaveDefinition, LeaveTrees, SplitDrops, SplitRenames};
    let [text] = texts else { return None };
    let word = if fault == SplitRenames { "RENAME TABLE " } else { "DROP TABLE " };
    let list = text.strip_prefix(word)?;
    match fault {
        SplitDrops | SplitRenames => {
            for part in list.split(", ") {
                client.query(&format!("{word}{part}")).await;
            }
            Some(())
        }
        LeaveTrees | LeaveDefinition if !list.contains(',') => {
            let (database, table) = list.split_once('.')?;
            let catalog = server.catalog();
            let table = catalog.table(database, table)?;
            let definition = table.definition();
            if !catalog.children_of(database, &definition.name).is_empty() {
                return None;
            }
            let dropped: Result<(), SqlError> = async {
                let (mut first, mut second) = (catalog.begin_change(), catalog.begin_change());
                if fault == LeaveTrees {
                    first.remove_definition(definition).await?;
                    second.drop_trees(definition).await?;
                } else {
                    first.drop_trees(definition).await?;
                    second.remove_definition(definition).await?;
                }
                first.commit().await?;
                second.commit().await
            }
            .await;
            dropped.ok()
        }
        _ => None,
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
    let world = World::new(options.seed, options.sim());
    let (mut report, mut found) = (Report::default(), None);
    let env = world.env();
    let life = async {
        let server = open(env.clone(), false).await?;
        let Tracks { definitions, rows } = &tracks;
        let definer = play(&server, &definitions.units, &definitions.progress, options.fault);
        let done = Cell::new(false);
        let players = async {
            let played =
                both(definer, play(&server, &rows.units, &rows.progress, PlantedDdlFault::None)).await;
            done.set(true);
            played
        };
        both(players, build_beside(&env, &server, options.units, &done)).await?;
        recovered_places(&server, &tracks).await?;
        check_structure(&server).await
    };
    let mut observe = |world: &World| {
        let point = world.changes();
        if found.is_some() || options.crash_point.is_some_and(|only| only != point) {
            return;
        }
        report.crash_points += 1;
        if let Err(what) = caught(|| check_crash(world, point, options, &tracks, &mut report)) {
            found = Some(options.violation(Some(point), what));
            world.halt();
        }
    };
    let outcome = caught(|| Ok(world.block_on_observed(life, &mut observe)));
    if let Some(found) = found {
        return Err(found);
    }
    let ended = outcome.and_then(|outcome| finished(outcome, "the performance"));
    ended.map_err(|what| options.violation(None, what))?;
    report.commits = (tracks.definitions.units.len() + tracks.rows.units.len()) as u64;
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
type Places = (usize, usize);

async fn recover_and_check(env: Env, tracks: &Tracks) -> Result<(Arc<Instance>, Places), String> {
    let server = open(env, false).await.map_err(|what| format!("recovery failed: {what}"))?;
    let places = recovered_places(&server, tracks).await?;
    check_structure(&server).await.map_err(|what| format!("after recovery: {what}"))?;
    Ok((server, places))
}

async fn recovered_places(server: &Arc<Instance>, tracks: &Tracks) -> Result<Places, String> {
    let definitions = tracks.definitions.place(&State::of_definitions(server).await?)?;
    let rows = tracks.rows.place(&State::of_rows(server).await?)?;
    Ok((definitions, rows))
}

/// The recovered server does what comes next as if nothing had been. Of the definitions only if it gives the same
/// AUTO_INCREMENT values: a restart forgets those that no row was written with.
async fn go_on(server: Arc<Instance>, tracks: &Tracks, (definitions, rows): Places) -> Result<(), String> {
    let next = |track: &Track, place: usize| place..(place + UNITS_AFTER).min(track.units.len());
    let present = State::of_definitions(&server).await?.counters;
    let is_alike = present == tracks.definitions.after(definitions).counters;
    let definitions =
        if is_alike { next(&tracks.definitions, definitions) } else { definitions..definitions };
    let rows = next(&tracks.rows, rows);
    let (end, progress) = (definitions.end, [Progress::default(), Progress::default()]);
    let both = both(
        play(&server, &tracks.definitions.units[definitions], &progress[0], PlantedDdlFault::None),
        play(&server, &tracks.rows.units[rows], &progress[1], PlantedDdlFault::None),
    );
    both.await.map_err(|what| format!("after recovery: {what}"))?;
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
