//! The part of the store that the actors of a schedule share, and what must be true of it after each step.

use super::super::SegmentOptions;
use super::super::gates::Gates;
use super::super::map::PageMap;
use super::super::place::{BLOCK_BYTES, Geometry, Place};
use super::super::state::{Identity, State};
use super::super::summary::{Effect, Entry, Stream, Summary};
use crate::{PageId, PageSize};
use env::sync::Mutex;
use std::collections::HashMap;

pub(super) const PAGE: PageId = PageId(0);
pub(super) const BYTES: u64 = PageSize::K4.bytes() as u64;

/// What lies at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) page: PageId,
    /// In its header: the chunk.
    pub(super) sequence: u64,
    /// The write that a copy repeats.
    pub(super) version: u64,
}

pub(super) struct Model {
    pub(super) geometry: Geometry,
    pub(super) state: Mutex<State>,
    pub(super) map: PageMap,
    pub(super) gates: Gates,
    /// By address.
    pub(super) disk: Mutex<HashMap<u64, Image>>,
    /// The writes and frees (true) of `PAGE`, by sequence.
    pub(super) changes: Mutex<Vec<(u64, bool)>>,
    /// All chunks in order.
    pub(super) log: Mutex<Vec<Summary>>,
    /// The word of `PAGE` in the durable checkpoint, whose log begins at `State::scan_from`.
    pub(super) checkpoint: Mutex<Place>,
    /// Late copies are forgotten.
    pub(super) careless: bool,
}

impl Model {
    /// Segment 0 is full and only `PAGE` lives in it, segment 1 is full of life, then come so many free ones.
    pub(super) fn new(free: u32) -> Self {
        Self::with(SegmentOptions::tiny(), &[&[0, 1, 2, 3], &[1, 2, 3, 4]], free, false)
    }

    /// Segments of one page, so that a copy out of a segment can come back to the very address.
    pub(super) fn of_single_pages(free: u32, careless: bool) -> Self {
        let options = SegmentOptions { segment_bytes: BLOCK_BYTES as u64 + BYTES, ..SegmentOptions::tiny() };
        Self::with(options, &[&[0], &[9]], free, careless)
    }

    pub(super) fn with(options: SegmentOptions, batches: &[&[u64]; 2], free: u32, careless: bool) -> Self {
        let geometry = Geometry::new(PageSize::K4, &options);
        let mut state = State::new(geometry, Identity { store: 1, incarnation: 1 }, 1);
        state.table.grow(2 + free);
        let gates = Gates::default();
        gates.grow_to(2 + free);
        let model = Self {
            geometry,
            state: Mutex::new(state),
            map: PageMap::new(),
            gates,
            disk: Mutex::default(),
            changes: Mutex::default(),
            log: Mutex::default(),
            checkpoint: Mutex::default(),
            careless,
        };
        for pages in batches {
            let summary = model.place(pages, Effect::Set).expect("segments are free");
            model.write(&summary, None);
        }
        // As after a checkpoint: nothing of this is in the log.
        model.state.lock().scan_from = 3;
        *model.checkpoint.lock() = model.map.load(PAGE);
        model
    }

    /// The word of `PAGE` as an opening would find it now.
    pub(super) fn replayed(&self) -> Place {
        let state = self.state.lock();
        let mut word = *self.checkpoint.lock();
        let log = self.log.lock();
        let durable = log.iter().filter(|summary| summary.sequence <= state.durable_through);
        for summary in durable.filter(|summary| summary.sequence >= state.scan_from) {
            assert_eq!(
                self.gates.generation(summary.segment),
                summary.generation,
                "a chunk of the log is gone"
            );
            for (entry, place) in summary.places(self.geometry).filter(|(entry, _)| entry.subject == PAGE.0) {
                let takes_effect = match entry.effect {
                    Effect::Replace { from } => !word.is_nowhere() && word.address() == from,
                    _ => true,
                };
                if takes_effect {
                    word = place;
                }
            }
        }
        word
    }

    pub(super) fn place(&self, pages: &[u64], effect: Effect) -> Option<Summary> {
        let bytes = if effect == Effect::Free { 0 } else { BYTES };
        let mut state = self.state.lock();
        if state.make_room(Stream::Fresh, pages.len() * bytes as usize, 0, &self.gates) == 0 {
            return None;
        }
        let entry = |page: &u64| Entry { subject: *page, effect, bytes, checksum: 0 };
        let summary = state.start(Stream::Fresh, pages.iter().map(entry).collect());
        self.log.lock().push(summary.clone());
        if pages.contains(&PAGE.0) {
            self.changes.lock().push((summary.sequence, effect == Effect::Free));
        }
        Some(summary)
    }

    /// Writes a chunk and syncs. Between the two only another's sync could see it, which would be an order of its own.
    pub(super) fn write(&self, summary: &Summary, version: Option<u64>) {
        for (entry, place) in summary.places(self.geometry).filter(|(_, place)| !place.is_nowhere()) {
            let (page, sequence) = (PageId(entry.subject), summary.sequence);
            let image = Image { page, sequence, version: version.unwrap_or(sequence) };
            self.disk.lock().insert(place.address(), image);
        }
        let mut state = self.state.lock();
        state.note_written(summary.sequence);
        let Some((through, _)) = state.begin_epoch() else { return };
        state.end_epoch(through, &self.map);
        self.promote(&mut state);
    }

    /// Frees what nothing needs. Carelessly: as if no checkpoint were being written.
    pub(super) fn promote(&self, state: &mut State) {
        match self.careless {
            true => state.table.promote(state.scan_from, state.durable_through + 1),
            false => state.promote(),
        };
    }

    pub(super) fn image_at(&self, place: Place) -> Option<Image> {
        self.disk.lock().get(&place.address()).copied()
    }

    /// The newest change that is in force.
    pub(super) fn newest(&self) -> u64 {
        let durable = self.state.lock().durable_through;
        let changes = self.changes.lock();
        let installed = changes.iter().map(|(sequence, _)| *sequence).filter(|sequence| *sequence <= durable);
        installed.max().expect("the page was written in the beginning")
    }

    /// Whether a load that began when `oldest` was in force may find this version, or no page.
    pub(super) fn allows(&self, oldest: u64, found: Option<u64>) -> bool {
        let fits = |(sequence, is_free): &(u64, bool)| match found {
            Some(version) => version == *sequence && !is_free,
            None => *is_free,
        };
        self.changes.lock().iter().any(|change| change.0 >= oldest && fits(change))
    }

    pub(super) fn check(&self) {
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
