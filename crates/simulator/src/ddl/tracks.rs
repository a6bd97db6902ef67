//! What the sessions do: made up in the rehearsal with the state after each unit, played in the performance.
//!
//! Invariant: a unit is visible as a whole, so after a crash a track is in the state before or after the unit that was on
//! its way. Called by the performance.

use super::planted::{PlantedDdlFault, fail_wrongly, perform_wrongly};
use super::server::{Client, open};
use super::spills;
use super::state::State;
use super::statements::{Author, Texts, first_definitions, first_rows};
use super::structure::check_structure;
use crate::ddl::options::DdlOptions;
use env::Env;
use env::sim::SeededRandom;
use instance::Instance;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Something that happens as a whole, and what exists after it.
pub(super) struct Unit {
    pub texts: Texts,
    answers: Vec<String>,
    after: State,
}

/// What one session does, and how far it is.
pub(super) struct Track {
    before: State,
    pub units: Vec<Unit>,
    /// What its session sets first.
    settings: &'static str,
    progress: Progress,
}

/// Units that are done and asked for; they differ by one while a unit is on its way.
#[derive(Default)]
pub(super) struct Progress {
    done: Cell<usize>,
    asked: Cell<usize>,
    /// Statements that their temporary files failed.
    failures: Cell<u64>,
}

impl Track {
    pub fn after(&self, units: usize) -> &State {
        units.checked_sub(1).map_or(&self.before, |last| &self.units[last].after)
    }

    /// The last unit that was asked for.
    pub fn on_its_way(&self) -> Option<&[String]> {
        let last = self.progress.asked.get().checked_sub(1)?;
        Some(&self.units[last].texts)
    }

    /// Statements that their temporary files failed.
    pub fn failures(&self) -> u64 {
        self.progress.failures.get()
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
    pub fn place(&self, found: &State) -> Result<usize, String> {
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

pub(super) struct Tracks {
    pub definitions: Track,
    pub rows: Track,
    /// Statements that need temporary files.
    pub spills: Track,
}

impl Tracks {
    pub fn units(&self) -> usize {
        [&self.definitions, &self.rows, &self.spills].map(|track| track.units.len()).iter().sum()
    }
}

/// Makes the statements up on a machine without crashes.
pub(super) async fn rehearse(env: Env, options: DdlOptions) -> Result<Tracks, String> {
    let server = open(env, true).await?;
    let random = SeededRandom::new(options.seed ^ 0xdd1);
    let author = Author { server: &server, random: &random };
    let mut definitions = Track::starting_at(State::of_definitions(&server).await?, NO_SETTINGS);
    let mut rows = Track::starting_at(State::of_rows(&server).await?, NO_SETTINGS);
    let mut spills = Track::starting_at(State::of_spills(&server).await?, spills::SETTINGS);
    let mut client = definitions.connect(&server).await?;
    let mut first = first_definitions().into_iter();
    for _ in 0..options.units {
        let texts = first.next().unwrap_or_else(|| author.definition());
        let answers = perform(&mut client, &texts).await;
        definitions.add(texts, answers, State::of_definitions(&server).await?);
    }
    client = rows.connect(&server).await?;
    let mut first = first_rows().into_iter();
    for _ in 0..options.units {
        let texts = first.next().unwrap_or_else(|| author.rows());
        let answers = perform(&mut client, &texts).await;
        rows.add(texts, answers, State::of_rows(&server).await?);
    }
    client = spills.connect(&server).await?;
    for texts in spills::texts(&random, options.units) {
        let answers = perform(&mut client, &texts).await;
        spills.add(texts, answers, State::of_spills(&server).await?);
    }
    drop(client);
    check_structure(&server).await.map_err(|what| format!("in the rehearsal: {what}"))?;
    Ok(Tracks { definitions, rows, spills })
}

const NO_SETTINGS: &str = "DO 0";

impl Track {
    fn starting_at(before: State, settings: &'static str) -> Track {
        Track { before, units: Vec::new(), settings, progress: Progress::default() }
    }

    /// From its first unit to its last, kept as its progress.
    pub fn whole(&self) -> (Range<usize>, &Progress) {
        (0..self.units.len(), &self.progress)
    }

    fn add(&mut self, texts: Texts, answers: Vec<String>, after: State) {
        self.units.push(Unit { texts, answers, after });
    }

    async fn connect(&self, server: &Arc<Instance>) -> Result<Client, String> {
        let mut client = Client::connect(server);
        let answer = client.query(self.settings).await;
        if answer.is_error { Err(format!("{}: {}", self.settings, answer.end)) } else { Ok(client) }
    }
}

async fn perform(client: &mut Client, texts: &[String]) -> Vec<String> {
    let mut answers = Vec::new();
    for text in texts {
        answers.push(client.query(text).await.text());
    }
    answers
}

/// Plays units of a track, and notes how far it is.
pub(super) async fn play(
    server: &Arc<Instance>,
    track: &Track,
    (units, progress): (Range<usize>, &Progress),
    fault: PlantedDdlFault,
) -> Result<(), String> {
    let mut client = track.connect(server).await?;
    for place in units {
        let unit = &track.units[place];
        progress.asked.set(place + 1);
        if fault == PlantedDdlFault::AcknowledgeEarly {
            progress.done.set(place + 1);
        }
        let answers = match perform_wrongly(server, &mut client, &unit.texts, fault).await {
            Some(()) => unit.answers.clone(),
            None => perform_again(server, &mut client, &unit.texts, (&progress.failures, fault)).await,
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

/// A statement that its temporary files fail has done nothing: it is asked again.
async fn perform_again(
    server: &Arc<Instance>,
    client: &mut Client,
    texts: &[String],
    (failures, fault): (&Cell<u64>, PlantedDdlFault),
) -> Vec<String> {
    for _ in 0..spills::ATTEMPTS_MAX {
        let answers = perform(client, texts).await;
        if texts.len() > 1 || !answers.iter().any(|answer| spills::is_failure(answer)) {
            return answers;
        }
        failures.set(failures.get() + 1);
        server.temporary().set_limit(u64::MAX);
        fail_wrongly(server, client, fault).await;
    }
    perform(client, texts).await
}
