//! Opening a store: newest superblock, map, then everything that the log says since; and a checkpoint of it all.
//!
//! Invariant: nothing that the superblock's checkpoint or its log needs is overwritten before the checkpoint of this
//! opening is durable. So an opening can be cut off anywhere and done again. That includes the images that the newest
//! chunks, if they are in doubt (`doubt`), have replaced: the next opening may not find those chunks.

use super::core::Core;
use super::files::{Files, open_superblock};
use super::map::leaf_of;
use super::place::{BLOCK_BYTES, Geometry, Place};
use super::reader::verify_image;
use super::scan::{Found, Head, Heads};
use super::state::{Identity, State};
use super::summary::{Effect, Entry, Stream};
use super::superblock::{self, Superblock};
use super::table::{Segment, SegmentTable};
use super::tree::{BlockName, Pointer, Tree};
use super::{PlantedFault, SegmentOptions, doubt};
use crate::{PageId, PageSize, StoreError};
use env::{Env, IoBuf};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Sequences that are skipped at an opening, so that no chunk of an earlier, cut-off one is mistaken for a new one.
const SEQUENCE_GAP: u64 = 1 << 20;
/// Reads in flight.
pub(super) const READS_MAX: usize = 64;

/// Makes an empty store. What a crash left of an earlier creation is overwritten; a store in use is refused.
pub(super) async fn create(
    env: &Env,
    directory: &str,
    page_size: PageSize,
    options: SegmentOptions,
) -> Result<Arc<Core>, StoreError> {
    let geometry = Geometry::new(page_size, &options);
    let file = open_superblock(env, directory, true).await?;
    match superblock::load(&file).await {
        Ok(found) if !found.record.is_empty() => {
            return Err(StoreError::AlreadyExists { path: file.path().to_owned() });
        }
        Ok(_) | Err(StoreError::NoSuperblock { .. }) => {}
        Err(error) => return Err(error),
    }
    superblock::format(&file).await?;
    let first = Superblock {
        geometry,
        store: env.random.u64(),
        number: 0,
        page_count: 0,
        segment_count: 0,
        incarnation: 1,
        scan_from: 1,
        durable_through: 0,
        root: Pointer::default(),
        straddling: Vec::new(),
        newest_lsn: 0,
        record: Vec::new(),
    };
    superblock::write(&file, &first, true).await?;
    env.disk.sync_dir(directory).await?;
    let files = Files::new(directory, geometry);
    // Left by a creation that was cut off: their chunks have another store's identity, and growth fills them anew.
    files.open_existing(env).await?;
    let identity = Identity { store: first.store, incarnation: first.incarnation };
    let core = Arc::new(Core::new(env, options, files, file, first, State::new(geometry, identity, 1)));
    core.grow_to(options.segments_min).await?;
    let segments = core.state.lock().table.len();
    core.page_count.store(core.pages_for(segments), Ordering::Release);
    core.put_superblock(|_| {}).await?;
    Ok(core)
}

/// Opens an existing store.
pub(super) async fn open(
    env: &Env,
    directory: &str,
    options: SegmentOptions,
) -> Result<Arc<Core>, StoreError> {
    let file = open_superblock(env, directory, false).await?;
    let superblock = superblock::load(&file).await?;
    // A killed process may have left a superblock that is not durable: what it says must not be undone by a later
    // power cut when segments that only the older one needs have been used again.
    superblock::write_again(&file, &superblock).await?;
    superblock::forget_torn(&file, &superblock).await?;
    let options = SegmentOptions {
        segment_bytes: superblock.geometry.segment_bytes,
        segments_per_file: superblock.geometry.segments_per_file,
        ..options
    };
    let files = Files::new(directory, superblock.geometry);
    let count = files.open_existing(env).await?;
    if count < superblock.segment_count && superblock.record.is_empty() {
        // The removal of an unfinished store was cut off.
        return Err(StoreError::NoSuperblock { path: files.path(count) });
    }
    if count < superblock.segment_count {
        return Err(StoreError::Damaged { path: files.path(count), what: "segments are missing" });
    }
    let identity = Identity { store: superblock.store, incarnation: superblock.incarnation.wrapping_add(1) };
    let state = State::new(superblock.geometry, identity, 1);
    let core = Arc::new(Core::new(env, options, files, file, superblock.clone(), state));
    core.housekeeping.store(true, Ordering::Release);
    core.gates.grow_to(count);
    let tree = load_map(&core, count).await?;
    *core.tree.lock() = tree;
    let heads = core.read_heads(count, superblock.store).await?;
    // A fresh chunk of a later opening is written only when that opening's superblock is durable.
    let later = |head: &Head| head.incarnation > superblock.incarnation && head.stream != Stream::Map;
    if heads.0.iter().flatten().any(later) {
        return Err(damaged(&core, Place::NOWHERE, "the newest superblock is lost"));
    }
    let log = core.read_log(&superblock, &heads).await?;
    let durable = log.iter().map(|found| found.summary.durable_through).max().unwrap_or(0);
    let durable = durable.max(superblock.durable_through);
    let mut needed = replay(&core, &superblock, &log, durable).await?;
    needed.extend(log.iter().map(|found| found.summary.segment));
    rebuild(&core, &superblock, &heads, &log, &needed)?;
    doubt::write_again(&core, &log, durable).await?;
    checkpoint(&core).await?;
    core.housekeeping.store(false, Ordering::Release);
    core.kick();
    Ok(core)
}

/// Reads the tree from the root down and fills the words.
async fn load_map(core: &Arc<Core>, segments: u32) -> Result<Tree, StoreError> {
    let root = core.superblock.lock().root;
    let mut tree = Tree::with_root(root);
    let mut level = if root.place.is_nowhere() { Vec::new() } else { vec![BlockName::ROOT] };
    while !level.is_empty() {
        let mut below = Vec::new();
        for names in level.chunks(READS_MAX) {
            let mut reads = Vec::with_capacity(names.len());
            for name in names {
                let pointer = tree.pointer(*name);
                check_bounds(core, pointer.place, segments)?;
                let (segment, offset) =
                    (core.geometry.segment_of(pointer.place), core.geometry.offset_of(pointer.place));
                let read = core.files.read(segment, offset, IoBuf::zeroed(BLOCK_BYTES));
                reads.push((*name, pointer, read));
            }
            for (name, pointer, read) in reads {
                let (block, result) = read.await;
                result?;
                let damaged = || damaged(core, pointer.place, "a block of the page map is not intact");
                if crc_fast::crc32_iscsi(block.as_slice()) != pointer.checksum {
                    return Err(damaged());
                }
                if name.level > 0 {
                    below.extend(tree.fill(name, block.as_slice()).ok_or_else(damaged)?);
                } else if !core.map.fill(name.index, block.as_slice()) {
                    return Err(damaged());
                }
            }
        }
        level = below;
    }
    Ok(tree)
}

fn check_bounds(core: &Core, place: Place, segments: u32) -> Result<(), StoreError> {
    let fits = core.geometry.segment_of(place) < segments
        && core.geometry.offset_of(place) + place.bytes() <= core.geometry.segment_bytes;
    if fits { Ok(()) } else { Err(damaged(core, Place::NOWHERE, "the page map points outside the segments")) }
}

pub(super) fn damaged(core: &Core, place: Place, what: &'static str) -> StoreError {
    StoreError::Damaged { path: core.files.path(core.geometry.segment_of(place)), what }
}

/// Does to the words what the chunks say, in order. Returns the segments of images that chunks in doubt have replaced.
async fn replay(
    core: &Arc<Core>,
    superblock: &Superblock,
    log: &[Found],
    durable: u64,
) -> Result<BTreeSet<u32>, StoreError> {
    let mut expected = superblock.scan_from;
    let mut replaced = BTreeSet::new();
    for found in log {
        let sequence = found.summary.sequence;
        // A torn or lost chunk is nothing unusual, but only after the last one that was known to be durable.
        if sequence != expected && expected <= durable {
            return Err(damaged(core, Place::NOWHERE, "a part of the log that was durable is missing"));
        }
        expected = sequence + 1;
        for (entry, place) in found.summary.places(core.geometry) {
            if sequence <= durable
                || core.is_planted(PlantedFault::TrustTornImages)
                || image_is_intact(core, entry, place, sequence).await?
            {
                let before = apply(core, entry, place);
                if sequence > durable && !before.is_nowhere() {
                    replaced.insert(core.geometry.segment_of(before));
                }
            }
        }
    }
    if expected <= durable {
        return Err(damaged(core, Place::NOWHERE, "the end of the log, which was durable, is missing"));
    }
    Ok(replaced)
}

/// The image is exactly the one that the entry announces.
async fn image_is_intact(
    core: &Arc<Core>,
    entry: Entry,
    place: Place,
    sequence: u64,
) -> Result<bool, StoreError> {
    if !matches!(entry.effect, Effect::Set | Effect::Replace { .. }) {
        return Ok(true);
    }
    let (segment, offset) = (core.geometry.segment_of(place), core.geometry.offset_of(place));
    let (image, result) = core.files.read(segment, offset, IoBuf::zeroed(place.bytes() as usize)).await;
    result?;
    let image = image.as_slice();
    Ok(crate::header::checksum(image) == entry.checksum
        && crate::header::chunk_sequence(image) == sequence
        && verify_image(image, PageId(entry.subject), sequence).is_ok())
}

/// Returns the place that the page has left.
fn apply(core: &Core, entry: Entry, place: Place) -> Place {
    let page = PageId(entry.subject);
    match entry.effect {
        Effect::MapBlock => return Place::NOWHERE,
        Effect::Replace { from } => {
            let current = core.map.load(page);
            let still = !current.is_nowhere() && current.address() == from;
            if !still && !core.is_planted(PlantedFault::RelocateBlindly) {
                return Place::NOWHERE;
            }
        }
        Effect::Set | Effect::Free => {}
    }
    let (before, became_dirty) = core.map.store(page, place);
    if became_dirty {
        core.state.lock().dirty_leaves.push(leaf_of(page));
    }
    core.page_count.fetch_max(page.0 + 1, Ordering::AcqRel);
    before
}

/// Counts what lives where and takes up the sequence after everything seen. The segments that are `needed` until there
/// is a new checkpoint are not used before.
fn rebuild(
    core: &Core,
    superblock: &Superblock,
    heads: &Heads,
    log: &[Found],
    needed: &BTreeSet<u32>,
) -> Result<(), StoreError> {
    let mut segments = vec![Segment::default(); segments_in_use(core, superblock, heads, needed)];
    for (segment, head) in segments.iter_mut().zip(&heads.0) {
        if let Some(head) = head {
            segment.stream = head.stream;
            segment.generation = head.generation;
            segment.last_sequence = head.sequence;
        }
    }
    for found in log {
        let segment = &mut segments[found.summary.segment as usize];
        segment.last_sequence = segment.last_sequence.max(found.summary.sequence);
    }
    let mut mapped = 0;
    let mut outside = false;
    let mut count_live = |place: Place| match segments.get_mut(core.geometry.segment_of(place) as usize) {
        Some(segment) => segment.live += place.bytes(),
        None => outside = true,
    };
    core.map.for_each(|_, place| {
        mapped += 1;
        count_live(place);
    });
    core.tree.lock().places().for_each(&mut count_live);
    if outside {
        return Err(damaged(core, Place::NOWHERE, "the page map points outside the segments"));
    }
    let last_head = heads.0.iter().flatten().map(|head| head.sequence).max().unwrap_or(0);
    let last = log.last().map_or(0, |found| found.summary.sequence);
    let last = last.max(last_head).max(superblock.scan_from).max(superblock.durable_through);
    // Pages are written when the log is durable up to their LSN, so each of these is right even if its chunk does not count.
    let heads_lsn = heads.0.iter().flatten().map(|head| head.newest_lsn).max();
    let log_lsn = log.iter().map(|found| found.summary.newest_lsn).max();
    let mut state = core.state.lock();
    state.newest_lsn = superblock.newest_lsn.max(heads_lsn.max(log_lsn).unwrap_or(0));
    state.next_sequence = last + SEQUENCE_GAP;
    state.durable_through = state.next_sequence - 1;
    for (index, segment) in segments.iter().enumerate().filter(|(_, segment)| segment.live > 0) {
        core.gates.set_generation(index as u32, segment.generation);
    }
    let next_sequence = state.next_sequence;
    state.table = SegmentTable::rebuild(segments, needed, next_sequence);
    state.mapped_pages = mapped;
    state.scan_from = superblock.scan_from;
    Ok(())
}

/// Segments behind these come from a growth that was perhaps cut off before it was durable; the next growth fills them again.
fn segments_in_use(core: &Core, superblock: &Superblock, heads: &Heads, needed: &BTreeSet<u32>) -> usize {
    let head = heads.0.iter().rposition(Option::is_some).map_or(0, |last| last as u32 + 1);
    let mut count = superblock.segment_count.max(head).max(needed.last().map_or(0, |last| last + 1));
    let mut reach = |place: Place| count = count.max(core.geometry.segment_of(place) + 1);
    core.map.for_each(|_, place| reach(place));
    core.tree.lock().places().for_each(&mut reach);
    // A place outside of the files is found when lives are counted.
    heads.0.len().min(count as usize)
}

/// Writes what replay has changed and makes this incarnation the current one. Chunks of a checkpoint like this that was
/// cut off have sequences below the one that the log starts from then.
async fn checkpoint(core: &Arc<Core>) -> Result<(), StoreError> {
    core.begin_opening_cycle(SEQUENCE_GAP);
    while !core.cycle_step().await? {}
    Ok(())
}
