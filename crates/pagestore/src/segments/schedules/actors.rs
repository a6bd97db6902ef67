//! What meets in a schedule: each actor does one step of the store's protocol each time it is called.

use super::super::gates::Reading;
use super::super::place::Place;
use super::super::summary::{Effect, Entry, Stream, Summary};
use super::super::table::Use;
use super::model::{BYTES, Image, Model, PAGE};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    More,
    Done,
    /// Nothing has happened; others have to go on first.
    Blocked,
}

/// Does its next step each time it is called.
pub(super) type Actor<'m> = Box<dyn FnMut() -> Step + 'm>;

/// A load, as in `reader`.
pub(super) fn load(model: &Model) -> Actor<'_> {
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
pub(super) fn write<'m>(model: &'m Model, pages: &'static [u64], effect: Effect) -> Actor<'m> {
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

/// The cleaner, as in `cleaner`, with one image to copy: its victim is the segment of `PAGE`.
pub(super) fn clean(model: &Model) -> Actor<'_> {
    let (mut step, mut segment, mut generation, mut place) = (0, 0, 0, Place::NOWHERE);
    let (mut reading, mut image): (Option<Reading<'_>>, Option<Image>) = (None, None);
    let mut copied: Option<Summary> = None;
    Box::new(move || {
        match step {
            0 => {
                let mut state = model.state.lock();
                place = model.map.load(PAGE);
                segment = model.geometry.segment_of(place);
                let victim = *state.table.get(segment);
                let durable = victim.last_sequence <= state.durable_through;
                if place.is_nowhere() || victim.usage != Use::Sealed || !durable {
                    return Step::Done;
                }
                state.table.start_cleaning(segment);
                generation = victim.generation;
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
                let summary = state.start(Stream::Relocated, vec![entry]);
                model.log.lock().push(summary.clone());
                copied = Some(summary);
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

/// A checkpoint of the map, as in `cycle`; what it writes itself is left out.
pub(super) fn checkpoint(model: &Model) -> Actor<'_> {
    let (mut step, mut scan_from, mut captured, mut last) = (0, 0, Place::NOWHERE, 0);
    Box::new(move || {
        let mut state = model.state.lock();
        match step {
            0 => {
                scan_from = state.durable_through + 1;
                state.next_scan_from = Some(scan_from);
            }
            1 => {
                captured = model.map.load(PAGE);
                last = state.next_sequence - 1;
            }
            _ if state.durable_through < last => return Step::Blocked,
            _ => {
                *model.checkpoint.lock() = captured;
                state.scan_from = scan_from;
                state.next_scan_from = None;
                model.promote(&mut state);
                return Step::Done;
            }
        }
        step += 1;
        Step::More
    })
}
