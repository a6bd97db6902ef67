//! The content of one simulated file: what readers see, and what a crash may leave of it.
//!
//! Changes that were not synced are kept as a list in order, each with the bytes it replaced. A crash undoes them
//! all, newest first, which gives the synced content, and then does each again sector by sector at random. A
//! sector that was written twice can thus end up with either version or the synced one.
//!
//! Space that was reserved and then written is durable only after a sync of everything: see `reserved`.

use super::content::Content;
use super::reserved::Reserved;
use super::rng::Rng;
use std::sync::Arc;

/// The unit that a device writes atomically, at best.
pub const SECTOR_BYTES: usize = 512;

#[derive(Debug, Clone, Default)]
pub(super) struct FileState {
    /// The view before a crash: everything written.
    content: Content,
    unsynced: Vec<Change>,
    sequence: u64,
    /// After a failed sync nothing that this process writes becomes durable, though later syncs return Ok: the kernel
    /// reports a lost write once and then forgets it.
    broken: bool,
    reserved: Reserved,
}

#[derive(Debug, Clone)]
struct Change {
    sequence: u64,
    offset: usize,
    replaced: Arc<[u8]>,
    written: Arc<[u8]>,
    length_before: usize,
    length_after: usize,
    /// The kernel holds it for durable since a sync failed: no sync will ever cover it.
    forgotten: bool,
}

impl FileState {
    pub(super) fn len(&self) -> u64 {
        self.content.len() as u64
    }

    pub(super) fn content(&self) -> Vec<u8> {
        self.content.to_vec()
    }

    /// Changes bytes behind everybody's back, durably: decay of the medium.
    pub(super) fn set_content(&mut self, bytes: &[u8]) {
        self.content = Content::from_slice(bytes);
    }

    /// False when the range ends behind the end of the file.
    pub(super) fn read(&self, offset: u64, bytes: &mut [u8]) -> bool {
        self.content.read(offset as usize, bytes)
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let start = offset as usize;
        let end = start + bytes.len();
        let length_before = self.content.len();
        let replaced = self.content.copy(start.min(length_before)..end.min(length_before));
        if end > length_before {
            self.content.resize(end);
        }
        self.content.write(start, bytes);
        self.note(start, replaced, bytes, length_before);
        debug_assert!(self.content.len() >= end, "a file has what was written");
        self.reserved.write(start..end, self.sequence);
    }

    /// Extends the file by blocks that the file system holds for unwritten.
    pub(super) fn reserve(&mut self, length: u64) {
        let before = self.content.len();
        debug_assert!(length as usize > self.content.len(), "blocks are reserved behind the end");
        self.set_len(length);
        self.reserved.add(before..length as usize);
    }

    pub(super) fn set_len(&mut self, length: u64) {
        let length = length as usize;
        let length_before = self.content.len();
        let cut = self.content.copy(length.min(length_before)..length_before);
        self.content.resize(length);
        self.reserved.cut(length);
        self.note(length.min(length_before), cut, &[], length_before);
    }

    fn note(&mut self, offset: usize, replaced: Vec<u8>, written: &[u8], length_before: usize) {
        self.sequence += 1;
        let length_after = self.content.len();
        let sequence = self.sequence;
        let (replaced, written) = (replaced.into(), written.into());
        let forgotten = false;
        debug_assert!(
            self.unsynced.last().is_none_or(|last| last.sequence < sequence),
            "changes come in order"
        );
        self.unsynced.push(Change {
            sequence,
            offset,
            replaced,
            written,
            length_before,
            length_after,
            forgotten,
        });
    }

    /// What a sync that starts now will cover.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(super) fn sync_through(&mut self, sequence: u64, all: bool) {
        debug_assert!(sequence <= self.sequence, "a sync covers what was written");
        if all && !self.broken {
            self.reserved.settle(sequence);
        }
        self.settle(|change| change.sequence <= sequence);
    }

    /// The last write went through to the device; what was written before may still be lost.
    pub(super) fn sync_last(&mut self) {
        let sequence = self.sequence;
        self.settle(|change| change.sequence == sequence);
    }

    fn settle(&mut self, is_meant: impl Fn(&Change) -> bool) {
        if self.broken {
            return;
        }
        let is_covered = |change: &Change| is_meant(change) && !change.forgotten;
        let (covered, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.unsynced).into_iter().partition(is_covered);
        self.unsynced = left.into_iter().flat_map(|change| change.beside(&covered)).collect();
    }

    pub(super) fn fail_sync(&mut self) {
        self.broken = true;
    }

    /// The process is gone; the kernel keeps what it wrote. After a failed sync it takes all of it for durable, which
    /// it is not, until the same bytes are written again.
    pub(super) fn kill(&mut self) {
        if std::mem::take(&mut self.broken) {
            self.unsynced.iter_mut().for_each(|change| change.forgotten = true);
        }
    }

    /// Turns the state into what a power cut leaves. `in_flight` are writes that had not completed.
    pub(super) fn crash(&mut self, in_flight: &[(u64, Vec<u8>)], rng: &mut Rng, torn_sectors: bool) {
        for (offset, bytes) in in_flight {
            self.write(*offset, bytes);
        }
        let changes = std::mem::take(&mut self.unsynced);
        for change in changes.iter().rev() {
            self.undo(change);
        }
        for change in &changes {
            let fate = Fate::draw(rng);
            self.redo(change, fate, rng, torn_sectors);
        }
        for block in self.reserved.crash(rng) {
            let end = block.end.min(self.content.len());
            if block.start < end {
                self.content.write(block.start, &vec![0; end - block.start]);
            }
        }
        debug_assert!(self.unsynced.is_empty(), "after a power cut all that is there is durable");
        self.broken = false;
    }

    fn undo(&mut self, change: &Change) {
        let end = change.offset + change.replaced.len();
        if self.content.len() < end.max(change.length_before) {
            self.content.resize(end.max(change.length_before));
        }
        self.content.write(change.offset, &change.replaced);
        self.content.resize(change.length_before);
    }

    fn redo(&mut self, change: &Change, fate: Fate, rng: &mut Rng, torn_sectors: bool) {
        if fate == Fate::Lost {
            return;
        }
        if change.length_after != change.length_before && (fate == Fate::Kept || rng.chance(1, 2)) {
            // An extension may survive without its data, and its data never without it.
            let shrinks = change.length_after < change.length_before;
            if shrinks || change.length_after > self.content.len() {
                self.content.resize(change.length_after);
            }
        }
        let mut done = 0;
        while done < change.written.len() {
            let start = change.offset + done;
            let length = (SECTOR_BYTES - start % SECTOR_BYTES).min(change.written.len() - done);
            let new = &change.written[done..done + length];
            if let Some(old) = self.content.sector_mut(start, length) {
                match fate {
                    Fate::Kept => old.copy_from_slice(new),
                    _ => redo_sector(old, new, rng, torn_sectors),
                }
            }
            done += length;
        }
    }
}

impl Change {
    /// What is left of a forgotten change when changes that came later have become durable.
    fn beside(self, durable: &[Self]) -> Vec<Self> {
        let sequence = self.sequence;
        let mut left = vec![self];
        for later in durable.iter().filter(|later| later.sequence > sequence) {
            left = left.into_iter().flat_map(|piece| piece.give_way_to(later)).collect();
        }
        left
    }

    /// The parts that the later, durable change has not overwritten. Neither undoing nor doing them may touch it.
    fn give_way_to(mut self, durable: &Self) -> Vec<Self> {
        if durable.written.is_empty() {
            (self.length_before, self.length_after) = (durable.length_after, durable.length_after);
            return vec![self];
        }
        let taken = durable.offset..durable.offset + durable.written.len();
        self.length_before = self.length_before.max(taken.end);
        self.length_after = self.length_after.max(self.length_before);
        let end = self.offset + self.written.len().max(self.replaced.len());
        let parts = [self.offset..end.min(taken.start), self.offset.max(taken.end)..end];
        let parts = parts.into_iter().filter(|part| part.start < part.end);
        debug_assert!(durable.sequence > self.sequence, "what came later stays");
        let pieces: Vec<Self> = parts.map(|part| self.part(part)).collect();
        // A change of the length alone has no bytes.
        if pieces.is_empty() && self.written.is_empty() { vec![self] } else { pieces }
    }

    fn part(&self, range: std::ops::Range<usize>) -> Self {
        debug_assert!(self.offset <= range.start && range.start < range.end, "a part lies in its change");
        let inside = range.start - self.offset..range.end - self.offset;
        let clip = |bytes: &[u8]| bytes[inside.start.min(bytes.len())..inside.end.min(bytes.len())].to_vec();
        let mut replaced = clip(&self.replaced);
        // Where the file has become longer without this change, there were zeros.
        replaced.resize(replaced.len().max(range.end.min(self.length_before).saturating_sub(range.start)), 0);
        let written = clip(&self.written);
        Self { offset: range.start, replaced: replaced.into(), written: written.into(), ..self.clone() }
    }
}

/// What becomes of one unsynced change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Lost,
    Kept,
    /// Each sector draws its own lot.
    Scattered,
}

impl Fate {
    fn draw(rng: &mut Rng) -> Self {
        match rng.below(4) {
            0 => Self::Lost,
            1 => Self::Kept,
            _ => Self::Scattered,
        }
    }
}

fn redo_sector(old: &mut [u8], new: &[u8], rng: &mut Rng, torn_sectors: bool) {
    match rng.below(if torn_sectors { 16 } else { 12 }) {
        0..=5 => {}
        6..=11 => old.copy_from_slice(new),
        12 => {
            let cut = rng.below(new.len() + 1);
            old[..cut].copy_from_slice(&new[..cut]);
        }
        13 => {
            let cut = rng.below(new.len() + 1);
            old[cut..].copy_from_slice(&new[cut..]);
        }
        14 => old.fill(0),
        _ => rng.fill(old),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_keeps_synced_bytes_and_draws_a_lot_for_the_rest() {
        let (mut old_seen, mut new_seen, mut torn_seen) = (false, false, false);
        for seed in 0..200 {
            let mut file = FileState::default();
            file.write(0, &[1; 4096]);
            file.sync_through(file.sequence(), false);
            file.write(1024, &[2; 1024]);
            file.write(1024, &[3; 512]);
            file.crash(&[], &mut Rng::new(seed), true);
            assert_eq!(file.len(), 4096);
            assert!(file.content()[..1024].iter().all(|byte| *byte == 1));
            assert!(file.content()[2048..].iter().all(|byte| *byte == 1));
            let sector = &file.content()[1024..1536];
            old_seen |= sector.iter().all(|byte| *byte == 1);
            new_seen |= sector.iter().all(|byte| *byte == 3);
            torn_seen |= sector.iter().any(|byte| *byte != sector[0]);
        }
        assert!(old_seen && new_seen && torn_seen);
    }

    #[test]
    fn an_unsynced_extension_may_be_lost_and_a_cut_undone() {
        let mut lengths = std::collections::BTreeSet::new();
        for seed in 0..100 {
            let mut file = FileState::default();
            file.write(0, &[1; 1024]);
            file.sync_through(file.sequence(), false);
            file.write(1024, &[2; 1024]);
            file.set_len(512);
            file.crash(&[], &mut Rng::new(seed), true);
            lengths.insert(file.len());
        }
        assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [512, 1024, 2048]);
    }

    #[test]
    fn what_a_failed_sync_lost_stays_lost_after_a_kill_until_it_is_written_again() {
        let mut lost = false;
        for seed in 0..50 {
            let mut file = FileState::default();
            file.write(0, &[1; 1024]);
            file.sync_through(file.sequence(), false);
            file.write(512, &[2; 1536]);
            file.fail_sync();
            file.write(0, &[3; 512]);
            file.kill();
            file.sync_through(file.sequence(), false);
            file.write(1024, &[4; 512]);
            file.sync_through(file.sequence(), false);
            file.crash(&[], &mut Rng::new(seed), false);
            let content = file.content();
            assert!(content.len() >= 1536 && content[1024..1536] == [4; 512], "written again and synced");
            lost |= content[..1024] == [1; 1024];
        }
        assert!(lost);
    }

    #[test]
    fn a_first_write_to_reserved_space_needs_a_sync_of_everything() {
        let mut lost = 0;
        for seed in 0..100 {
            let all = seed % 2 == 0;
            let mut file = FileState::default();
            file.reserve(8192);
            file.write(0, &[1; 8192]);
            file.sync_through(file.sequence(), all);
            file.write(0, &[2; 4096]);
            file.sync_through(file.sequence(), false);
            file.crash(&[], &mut Rng::new(seed), true);
            let kept = file.content() == [vec![2; 4096], vec![1; 4096]].concat();
            assert!(kept || !all && file.content().contains(&0), "seed {seed}");
            lost += u32::from(!kept);
        }
        assert!(lost > 5, "{lost}");
    }

    #[test]
    fn a_write_that_goes_through_speaks_for_itself_alone() {
        let mut lost = false;
        for seed in 0..50 {
            let mut file = FileState::default();
            file.write(0, &[1; 2048]);
            file.sync_through(file.sequence(), false);
            file.write(0, &[2; 1024]);
            file.write(512, &[3; 1024]);
            file.sync_last();
            file.write(1536, &[4; 512]);
            file.crash(&[], &mut Rng::new(seed), false);
            assert_eq!(file.content()[512..1536], [3; 1024], "seed {seed}");
            lost |= file.content()[..512] == [1; 512];
        }
        assert!(lost);
    }

    #[test]
    fn a_sync_covers_what_was_written_before_it_began() {
        for seed in 0..50 {
            let mut file = FileState::default();
            file.write(0, &[1; 512]);
            let covered = file.sequence();
            file.write(0, &[2; 512]);
            file.sync_through(covered, false);
            file.crash(&[], &mut Rng::new(seed), false);
            assert!(file.content() == [1; 512] || file.content() == [2; 512]);
        }
    }
}
