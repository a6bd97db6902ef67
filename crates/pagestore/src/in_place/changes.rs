//! Which pages have been written since a moment, so that an increment of a backup need not look at the others (decision 0056).
//!
//! A *point* is such a moment. Each has the set of pages that were written at home behind it and before the next point; what has
//! changed since a point is in its set and in all later ones. The sets are kept in memory, one bit a page where there are any, and
//! in a journal that grows by what is new with each superblock. There is no journal before the first point.
//!
//! Invariants: a page is noted before it is written at home; all that was noted is durable in the journal before the superblock, with
//! the sequence of that superblock. After a crash the log from the checkpoint on names whatever was written since, and recovery
//! notes it. A journal whose last frame is older than the superblock, or that cannot be read, is forgotten: then nothing is known of
//! any earlier point, which costs a larger increment and no page. A set may have more pages than were written, never less.
//!
//! Journal: a head (magic, number of the map, crc32c), then frames: length of the pages (4), crc32c of what follows (4), sequence of the
//! superblock (8), number of the point (8), page ids of five bytes. Little-endian. Caller: the store, in its turn.

use super::path_of;
use crate::{PAGE_ID_MAX, PageId};
use env::sync::Mutex;
use env::{Disk, File, IoBuf, IoError, OpenOptions};
use std::collections::BTreeMap;
use std::sync::Arc;

const CHANGES_FILE: &str = "changes.db";
const NEW_FILE: &str = "changes.new";
const MAGIC: &[u8; 8] = b"EVKCHNG1";
const HEAD_BYTES: usize = 20;
const FRAME_BYTES: usize = 24;
const ID_BYTES: usize = 5;
/// One frame has so many pages at most.
const FRAME_PAGES: usize = 1 << 16;
/// More points than these are not told apart: the two oldest become one.
const POINTS_MAX: usize = 32;
/// A journal is made anew when it is twice as long as it need be and longer than this.
const JOURNAL_BYTES_MIN: u64 = 64 << 10;
const BLOCK_PAGES: u64 = 4096;

/// A moment since which the pages that were written are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangePoint {
    /// Which map has it: one that was lost is followed by another.
    pub map: u64,
    /// The points of a map have ascending numbers.
    pub number: u64,
}

/// A set of pages: a bit each in blocks.
#[derive(Default)]
struct PageSet {
    blocks: BTreeMap<u64, Box<[u64; BLOCK_PAGES as usize / 64]>>,
    count: u64,
}

impl PageSet {
    /// True if it was not there.
    fn add(&mut self, page: PageId) -> bool {
        debug_assert!(page.0 <= PAGE_ID_MAX, "page ids have 40 bits");
        let block = self.blocks.entry(page.0 / BLOCK_PAGES).or_insert_with(|| Box::new([0; 64]));
        let (word, bit) = ((page.0 % BLOCK_PAGES / 64) as usize, 1 << (page.0 % 64));
        let is_new = block[word] & bit == 0;
        block[word] |= bit;
        self.count += u64::from(is_new);
        debug_assert!(
            self.count <= self.blocks.len() as u64 * BLOCK_PAGES,
            "a block has a bit for each of its pages"
        );
        is_new
    }

    fn iter(&self) -> impl Iterator<Item = PageId> {
        self.blocks.iter().flat_map(|(number, block)| {
            let is_set = |at: &u64| block[(at / 64) as usize] >> (at % 64) & 1 == 1;
            (0..BLOCK_PAGES).filter(is_set).map(move |at| PageId(number * BLOCK_PAGES + at))
        })
    }

    fn add_all(&mut self, other: &PageSet) {
        for page in other.iter() {
            self.add(page);
        }
    }
}

struct Point {
    number: u64,
    pages: PageSet,
}

/// What there is once a point was begun.
struct Known {
    map: u64,
    points: Vec<Point>,
    /// Pages of the newest point that are not in the journal.
    fresh: Vec<PageId>,
    file: Arc<dyn File>,
    length: u64,
}

impl Known {
    fn newest(&self) -> u64 {
        self.points.last().map_or(0, |point| point.number)
    }

    fn note(&mut self, page: PageId) {
        if self.points.last_mut().is_some_and(|point| point.pages.add(page)) {
            self.fresh.push(page);
        }
    }

    /// The frames of everything.
    fn encode(&self, sequence: u64) -> Vec<u8> {
        debug_assert!(self.points.is_sorted_by_key(|point| point.number), "points have ascending numbers");
        let mut bytes = head(self.map);
        for point in &self.points {
            push_frames(&mut bytes, sequence, point.number, &point.pages.iter().collect::<Vec<_>>());
        }
        bytes
    }

    fn needed_bytes(&self) -> u64 {
        self.points.iter().map(|point| point.pages.count * ID_BYTES as u64 + FRAME_BYTES as u64).sum()
    }
}

/// See the module's documentation.
pub(super) struct Changes {
    disk: Arc<dyn Disk>,
    directory: String,
    /// What the next map is called.
    next_map: Mutex<u64>,
    known: Mutex<Option<Known>>,
}

impl Changes {
    /// Of a store whose pages nobody asks about yet.
    pub(super) fn new(disk: Arc<dyn Disk>, directory: &str, next_map: u64) -> Changes {
        Changes { disk, directory: directory.into(), next_map: Mutex::new(next_map), known: Mutex::new(None) }
    }

    /// What the journal has. `sequence`: the newest superblock's.
    pub(super) async fn open(
        disk: Arc<dyn Disk>,
        directory: &str,
        next_map: u64,
        sequence: u64,
    ) -> Result<Changes, IoError> {
        let changes = Changes::new(disk, directory, next_map);
        let file = match changes.disk.open(&changes.path(CHANGES_FILE), OpenOptions::existing()).await {
            Ok(file) => file,
            Err(error) if error.is_not_found() => return Ok(changes),
            Err(error) => return Err(error),
        };
        let length = file.len().await? as usize;
        if length < HEAD_BYTES {
            return Ok(changes);
        }
        let (bytes, result) = file.read_at(0, IoBuf::for_overwriting(length)).await;
        // What cannot be read is not known, and that is no reason to stop.
        if let Some((known, last)) = result.ok().and_then(|()| decode(bytes.as_slice(), file))
            && last >= sequence
        {
            *changes.known.lock() = Some(known);
        }
        Ok(changes)
    }

    fn path(&self, name: &str) -> String {
        path_of(&self.directory, name)
    }

    /// The page is about to be written, or may have been by the life before.
    pub(super) fn note(&self, page: PageId) {
        if let Some(known) = &mut *self.known.lock() {
            known.note(page);
        }
    }

    /// Makes durable what was noted, before the superblock of this sequence. What cannot be written is not known any more; it is an
    /// error only if the journal cannot be emptied either, for it may pass for a whole one.
    pub(super) async fn save(&self, sequence: u64) -> Result<(), IoError> {
        let taken = {
            let mut known = self.known.lock();
            known.as_mut().map(|known| {
                let mut bytes = Vec::new();
                push_frames(&mut bytes, sequence, known.newest(), &std::mem::take(&mut known.fresh));
                debug_assert!(known.length >= HEAD_BYTES as u64, "frames follow the head");
                let at = known.length;
                known.length += bytes.len() as u64;
                (known.file.clone(), at, bytes)
            })
        };
        let Some((file, at, bytes)) = taken else { return Ok(()) };
        let written = async {
            let (_, result) = file.write_at(at, IoBuf::copy_of(&bytes)).await;
            result?;
            file.sync_all().await
        };
        if written.await.is_err() {
            *self.known.lock() = None;
            file.set_len(0).await?;
            file.sync_all().await?;
        }
        Ok(())
    }

    /// Begins a point while no page is on its way: what is written from now on is behind it.
    pub(super) async fn begin_point(&self, sequence: u64) -> Result<ChangePoint, IoError> {
        self.save(sequence).await?;
        let (point, bytes) = {
            let mut known = self.known.lock();
            match &mut *known {
                Some(known) => {
                    let number = known.newest() + 1;
                    debug_assert!(known.fresh.is_empty(), "what was noted before a point is in the journal");
                    known.points.push(Point { number, pages: PageSet::default() });
                    if known.points.len() > POINTS_MAX {
                        let second = known.points.remove(1);
                        known.points[0].pages.add_all(&second.pages);
                        debug_assert_eq!(known.points.len(), POINTS_MAX, "the two oldest points became one");
                    }
                    let point = ChangePoint { map: known.map, number };
                    let is_long = known.length > JOURNAL_BYTES_MIN.max(2 * known.needed_bytes());
                    (point, is_long.then(|| known.encode(sequence)))
                }
                None => {
                    let mut next = self.next_map.lock();
                    let map = *next;
                    // Another name for a map that is begun after this one was lost.
                    *next = map.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
                    let mut bytes = head(map);
                    push_frames(&mut bytes, sequence, 1, &[]);
                    (ChangePoint { map, number: 1 }, Some(bytes))
                }
            }
        };
        let Some(bytes) = bytes else { return self.save(sequence).await.map(|()| point) };
        let file = self.replace(&bytes).await?;
        let length = bytes.len() as u64;
        let mut known = self.known.lock();
        match &mut *known {
            Some(known) => (known.file, known.length) = (file, length),
            None => {
                let points = vec![Point { number: 1, pages: PageSet::default() }];
                *known = Some(Known { map: point.map, points, fresh: Vec::new(), file, length });
            }
        }
        Ok(point)
    }

    /// Puts a new journal in the place of the old one.
    async fn replace(&self, bytes: &[u8]) -> Result<Arc<dyn File>, IoError> {
        let (name, new) = (self.path(CHANGES_FILE), self.path(NEW_FILE));
        env::replace_file(&*self.disk, &self.directory, &name, &new, bytes).await?;
        self.disk.open(&name, OpenOptions::existing()).await
    }

    /// The pages that were written since a point, in order; `None` if that is not known.
    pub(super) fn since(&self, point: ChangePoint) -> Option<Vec<PageId>> {
        let known = self.known.lock();
        let known = known.as_ref().filter(|known| known.map == point.map)?;
        let first = known.points.iter().rposition(|of| of.number <= point.number)?;
        if point.number > known.newest() {
            return None;
        }
        let mut pages = PageSet::default();
        known.points[first..].iter().for_each(|point| pages.add_all(&point.pages));
        debug_assert!(first < known.points.len(), "a point is one of those that are known");
        Some(pages.iter().collect())
    }
}

fn head(map: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&map.to_le_bytes());
    let crc = crc_fast::crc32_iscsi(&bytes);
    debug_assert_eq!(bytes.len() + 4, HEAD_BYTES, "a checksum ends the head");
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

/// At least one frame, which says the sequence.
fn push_frames(bytes: &mut Vec<u8>, sequence: u64, point: u64, pages: &[PageId]) {
    let mut rest = pages;
    loop {
        let (part, behind) = rest.split_at(rest.len().min(FRAME_PAGES));
        let start = bytes.len();
        bytes.extend_from_slice(&((part.len() * ID_BYTES) as u32).to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&sequence.to_le_bytes());
        bytes.extend_from_slice(&point.to_le_bytes());
        part.iter().for_each(|page| bytes.extend_from_slice(&page.0.to_le_bytes()[..ID_BYTES]));
        let crc = crc_fast::crc32_iscsi(&bytes[start + 8..]);
        bytes[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
        rest = behind;
        if rest.is_empty() {
            return;
        }
    }
}

/// The whole frames of a journal, and the newest sequence in them.
fn decode(bytes: &[u8], file: Arc<dyn File>) -> Option<(Known, u64)> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let map = (bytes.len() >= HEAD_BYTES).then(|| number(8))?;
    (bytes[..HEAD_BYTES] == head(map)[..]).then_some(())?;
    let mut known = Known { map, points: Vec::new(), fresh: Vec::new(), file, length: HEAD_BYTES as u64 };
    let mut newest = 0;
    loop {
        let at = known.length as usize;
        let Some(header) = bytes.get(at..at + FRAME_BYTES) else { break };
        let length = u32::from_le_bytes(header[..4].try_into().expect("four bytes")) as usize;
        let Some(frame) = bytes.get(at..at + FRAME_BYTES + length) else { break };
        let crc = crc_fast::crc32_iscsi(&frame[8..]);
        if !length.is_multiple_of(ID_BYTES) || frame[4..8] != crc.to_le_bytes() {
            break;
        }
        let (sequence, point) = (number(at + 8), number(at + 16));
        if known.newest() != point {
            if known.newest() > point {
                break;
            }
            known.points.push(Point { number: point, pages: PageSet::default() });
        }
        for id in frame[FRAME_BYTES..].chunks_exact(ID_BYTES) {
            let mut wide = [0; 8];
            wide[..ID_BYTES].copy_from_slice(id);
            let page = PageId(u64::from_le_bytes(wide).min(PAGE_ID_MAX));
            known.points.last_mut().expect("one was pushed").pages.add(page);
        }
        newest = sequence.max(newest);
        known.length = (at + FRAME_BYTES + length) as u64;
    }
    (!known.points.is_empty()).then_some((known, newest))
}

#[cfg(test)]
mod tests;
