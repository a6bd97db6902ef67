//! Every order in which a load, the cleaner, a write-back, a free and the reuse of a segment can meet.
//!
//! A model of the protocol around the page's word that runs the store's own words, gates, segment table and log state,
//! one call after another, on a disk of four-page segments in memory. A step is what the store does without giving up
//! its lock, or an access to a word, a gate or the disk. All interleavings of the steps are tried.

use super::SegmentOptions;
use super::gates::{Gates, Reading};
use super::map::PageMap;
use super::place::{BLOCK_BYTES, Geometry, Place};
use super::state::{Identity, State};
use super::summary::{Effect, Entry, Stream, Summary};
use super::table::Use;
use crate::{PageId, PageSize};
use env::sync::Mutex;
use std::collections::HashMap;

const PAGE: PageId = PageId(0);
const BYTES: u64 = PageSize::K4.bytes() as u64;

/// What lies at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Image {
    page: PageId,
    /// In its header: the chunk.
    sequence: u64,
    /// The write that a copy repeats.
    version: u64,
}

struct Model {
    geometry: Geometry,
    state: Mutex<State>,
    map: PageMap,
    gates: Gates,
    /// By address.
    disk: Mutex<HashMap<u64, Image>>,
    /// The writes and frees (true) of `PAGE`, by sequence.
    changes: Mutex<Vec<(u64, bool)>>,
}

impl Model {
    /// Segment 0 is full and only `PAGE` lives in it, segment 1 is full of life, then come so many free ones.
    fn new(free: u32) -> Self {
        let geometry = Geometry::new(PageSize::K4, &SegmentOptions::tiny());
        let mut state = State::new(geometry, Identity { store: 1, incarnation: 1 }, 1);
        state.table.grow(2 + free);
        let gates = Gates::default();
        gates.grow(2 + free);
        let (map, disk, changes) = (PageMap::new(), Mutex::default(), Mutex::default());
        let model = Self { geometry, state: Mutex::new(state), map, gates, disk, changes };
        for pages in [[0, 1, 2, 3], [1, 2, 3, 4]] {
            let summary = model.place(&pages, Effect::Set).expect("segments are free");
            model.write(&summary, None);
        }
        // As after a checkpoint: nothing of this is in the log.
        model.state.lock().scan_from = 3;
        model
    }

    fn place(&self, pages: &[u64], effect: Effect) -> Option<Summary> {
        let bytes = if effect == Effect::Free { 0 } else { BYTES };
        let mut state = self.state.lock();
        if state.make_room(Stream::Fresh, pages.len() * bytes as usize, 0, &self.gates) == 0 {
            return None;
        }
        let entry = |page: &u64| Entry { subject: *page, effect, bytes, checksum: 0 };
        let summary = state.start(Stream::Fresh, pages.iter().map(entry).collect());
        if pages.contains(&PAGE.0) {
            self.changes.lock().push((summary.sequence, effect == Effect::Free));
        }
        Some(summary)
    }

    /// Writes a chunk and syncs. Between the two only another's sync could see it, which would be an order of its own.
    fn write(&self, summary: &Summary, version: Option<u64>) {
        for (entry, place) in summary.places(self.geometry).filter(|(_, place)| !place.is_nowhere()) {
            let (page, sequence) = (PageId(entry.subject), summary.sequence);
            let image = Image { page, sequence, version: version.unwrap_or(sequence) };
            self.disk.lock().insert(place.address(), image);
        }
        let mut state = self.state.lock();
        state.note_written(summary.sequence);
        let Some((through, _)) = state.begin_epoch() else { return };
        state.end_epoch(through, &self.map);
        state.promote(false);
    }

    fn image_at(&self, place: Place) -> Option<Image> {
        self.disk.lock().get(&place.address()).copied()
    }

    /// The newest change that is in force.
    fn newest(&self) -> u64 {
        let durable = self.state.lock().durable_through;
        let changes = self.changes.lock();
        let installed = changes.iter().map(|(sequence, _)| *sequence).filter(|sequence| *sequence <= durable);
        installed.max().expect("the page was written in the beginning")
    }

    /// Whether a load that began when `oldest` was in force may find this version, or no page.
    fn allows(&self, oldest: u64, found: Option<u64>) -> bool {
        let fits = |(sequence, is_free): &(u64, bool)| match found {
            Some(version) => version == *sequence && !is_free,
            None => *is_free,
        };
        self.changes.lock().iter().any(|change| change.0 >= oldest && fits(change))
    }

    fn check(&self) {
        let place = self.map.load(PAGE);
        let found = (!place.is_nowhere()).then(|| self.image_at(place).expect("it was written"));
        assert!(found.is_none_or(|image| image.page == PAGE), "{found:?}");
        assert!(self.allows(self.newest(), found.map(|image| image.version)), "{found:?}");
        let state = self.state.lock();
        let mut live = vec![0; state.table.len() as usize];
        self.map.for_each(|_, place| live[self.geometry.segment_of(place) as usize] += place.bytes());
        for (segment, entry) in state.table.iter() {
            assert_eq!(entry.live, live[segment as usize], "segment {segment}");
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    More,
    Done,
    /// Nothing has happened; others have to go on first.
    Blocked,
}

/// Does its next step each time it is called.
type Actor<'m> = Box<dyn FnMut() -> Step + 'm>;

/// A load, as in `reader`.
fn load(model: &Model) -> Actor<'_> {
    let (mut step, mut place, mut generation) = (0, Place::NOWHERE, 0);
    let (mut reading, mut image, mut oldest): (Option<Reading<'_>>, _, _) = (None, None, None);
    Box::new(move || {
        let segment = model.geometry.segment_of(place);
        match step {
            0 => {
                let oldest = *oldest.get_or_insert_with(|| model.newest());
                place = model.map.load(PAGE);
                if place.is_nowhere() {
                    assert!(model.allows(oldest, None), "the page has vanished");
                    return Step::Done;
                }
            }
            1 => reading = Some(model.gates.enter(segment)),
            2 if model.map.load(PAGE) == place => generation = model.gates.generation(segment),
            2 => {
                reading = None;
                step = 0;
                return Step::More;
            }
            3 => image = model.image_at(place),
            _ => {
                reading = None;
                let sound = image.filter(|image| image.page == PAGE && image.sequence >= generation);
                if let Some(found) = sound {
                    let oldest = oldest.expect("noted in the first step");
                    assert!(model.allows(oldest, Some(found.version)), "{found:?} after {oldest}");
                    return Step::Done;
                }
                assert_ne!(model.map.load(PAGE), place, "a sound page is reported as damaged");
                step = 0;
                return Step::More;
            }
        }
        step += 1;
        assert_eq!(reading.is_some(), step > 1, "the gate is held while the disk reads");
        Step::More
    })
}

/// A batch or a free, as in `writer`.
fn write<'m>(model: &'m Model, pages: &'static [u64], effect: Effect) -> Actor<'m> {
    let mut placed = None;
    Box::new(move || {
        if let Some(summary) = &placed {
            model.write(summary, None);
            return Step::Done;
        }
        placed = model.place(pages, effect);
        if placed.is_some() { Step::More } else { Step::Blocked }
    })
}

/// The cleaner, as in `cleaner`, with one image to copy.
fn clean(model: &Model) -> Actor<'_> {
    let (mut step, mut segment, mut generation, mut place) = (0, 0, 0, Place::NOWHERE);
    let (mut reading, mut image): (Option<Reading<'_>>, Option<Image>) = (None, None);
    let mut copied: Option<Summary> = None;
    Box::new(move || {
        match step {
            0 => {
                let mut state = model.state.lock();
                let durable = state.durable_through;
                let Some(victim) = state.table.emptiest(2 * BYTES, durable) else { return Step::Done };
                state.table.start_cleaning(victim);
                (segment, generation) = (victim, state.table.get(victim).generation);
                place = model.geometry.place(segment, BLOCK_BYTES as u64, BYTES);
            }
            1 => {
                reading = Some(model.gates.enter(segment));
                let entry = *model.state.lock().table.get(segment);
                if entry.usage != Use::Cleaning || entry.generation != generation {
                    return Step::Done;
                }
            }
            2 => image = model.image_at(place),
            3 => {
                reading = None;
                let sound = image.is_some_and(|found| found.page == PAGE && found.sequence >= generation);
                if model.map.load(PAGE) != place || !sound {
                    return Step::Done;
                }
            }
            4 => {
                let mut state = model.state.lock();
                let moved = model.map.load(PAGE) != place || model.gates.generation(segment) != generation;
                if moved || state.make_room(Stream::Relocated, BYTES as usize, 0, &model.gates) == 0 {
                    return Step::Done;
                }
                let effect = Effect::Replace { from: place.address() };
                let entry = Entry { subject: PAGE.0, effect, bytes: BYTES, checksum: 0 };
                copied = Some(state.start(Stream::Relocated, vec![entry]));
            }
            _ => {
                let version = image.map(|image| image.version);
                model.write(copied.as_ref().expect("placed in the step before"), version);
                return Step::Done;
            }
        }
        step += 1;
        assert_eq!(reading.is_some(), step == 2 || step == 3);
        Step::More
    })
}

/// Runs one schedule: `choose` says which of so many actors goes on. All blocked is an end like any other.
fn run<'m>(model: &'m Model, mut actors: Vec<Actor<'m>>, mut choose: impl FnMut(usize) -> usize) {
    let mut blocked: Vec<Actor<'m>> = Vec::new();
    while !actors.is_empty() {
        let chosen = choose(actors.len());
        match actors[chosen]() {
            Step::Blocked => blocked.push(actors.remove(chosen)),
            Step::Done => {
                drop(actors.remove(chosen));
                actors.append(&mut blocked);
            }
            Step::More => actors.append(&mut blocked),
        }
    }
    drop(blocked);
    model.check();
}

/// Runs all schedules; answers how many there are.
fn explore(free: u32, actors: impl for<'m> Fn(&'m Model) -> Vec<Actor<'m>>) -> u64 {
    // Choice and number of choices, step by step.
    let mut schedule: Vec<(usize, usize)> = Vec::new();
    let mut count = 0;
    loop {
        let model = Model::new(free);
        let mut depth = 0;
        run(&model, actors(&model), |choices| {
            assert!(depth < 100, "an actor does not come to its end");
            if depth == schedule.len() {
                schedule.push((0, choices));
            }
            depth += 1;
            schedule[depth - 1].0
        });
        count += 1;
        while schedule.last().is_some_and(|(chosen, choices)| chosen + 1 == *choices) {
            schedule.pop();
        }
        let Some((chosen, _)) = schedule.last_mut() else { return count };
        *chosen += 1;
    }
}

/// Fills whole segments, so that segment 0 is used again as soon as it may be.
const OTHERS: [&[u64]; 2] = [&[11, 12, 13, 14], &[21, 22, 23, 24]];

#[test]
fn a_load_and_the_cleaner_meet_the_reuse_of_the_segment() {
    let count = explore(1, |model| vec![load(model), clean(model), write(model, OTHERS[0], Effect::Set)]);
    assert!(count > 3_000, "{count}");
}

#[test]
fn a_load_meets_a_write_back_and_the_reuse_of_the_segment() {
    let rewrite = &[0, 31, 32];
    let count = explore(1, |model| {
        vec![load(model), write(model, rewrite, Effect::Set), write(model, OTHERS[0], Effect::Set)]
    });
    assert!(count > 500, "{count}");
}

#[test]
fn the_cleaner_meets_a_write_back_and_a_free() {
    for effect in [Effect::Set, Effect::Free] {
        let count = explore(2, |model| vec![load(model), clean(model), write(model, &[0], effect)]);
        assert!(count > 3_000, "{count}");
    }
    explore(2, |model| vec![clean(model), write(model, &[0], Effect::Free), write(model, &[0], Effect::Set)]);
}

/// More at once than can be tried in every order.
#[test]
fn all_of_them_meet() {
    for seed in 0..20_000 {
        let random = env::sim::SeededRandom::new(seed);
        let model = Model::new(1 + seed as u32 % 3);
        let actors = vec![
            load(&model),
            load(&model),
            clean(&model),
            write(&model, &[0], Effect::Set),
            write(&model, &[0], Effect::Free),
            write(&model, &[0], Effect::Set),
            write(&model, OTHERS[0], Effect::Set),
            write(&model, OTHERS[1], Effect::Set),
        ];
        run(&model, actors, |choices| random.below(choices));
    }
}
