//! What an opening has found but does not know to be durable is written once more before anything relies on it.
//!
//! A process may have been killed after a failed sync. The kernel then shows what it wrote, holds it for clean, and loses
//! it in the next power cut; a sync by the opening does nothing about that. The images that are in force are copied to new
//! places: writing them again where they are could tear one that was acknowledged. Without room for copies, and none on
//! the disk, the opening fails: nothing is lost, and it can be done again when there is room.
//!
//! Invariant: only free segments are written to, and in chunks of the map's stream, as everything before the superblock of
//! an opening: so it can be cut off anywhere. `recovery` calls it.

use super::core::Core;
use super::place::{BLOCK_BYTES, Place};
use super::reader::verify_image;
use super::scan::Found;
use super::summary::{Effect, Entry, Stream};
use crate::{PageId, StoreError};
use env::IoBuf;
use std::sync::Arc;

/// Pages of a chunk of copies.
const COPIES_MAX: usize = 32;

/// Copies the images of the chunks behind `durable`.
pub(super) async fn write_again(core: &Arc<Core>, log: &[Found], durable: u64) -> Result<(), StoreError> {
    let mut doubtful = Vec::new();
    for Found { summary } in log.iter().filter(|found| found.summary.sequence > durable) {
        for (entry, place) in summary.places(core.geometry) {
            let page = PageId(entry.subject);
            if !place.is_nowhere() && entry.effect != Effect::MapBlock && core.map.load(page) == place {
                doubtful.push((page, place));
            }
        }
    }
    let mut left = &doubtful[..];
    while !left.is_empty() {
        match copy(core, left).await? {
            Some(count) => left = &left[count..],
            None => {
                let segments = core.state.lock().table.len();
                core.grow_to(segments + 1).await?;
            }
        }
    }
    Ok(())
}

/// Copies the first of the pages; returns how many. `None` if there is no room.
async fn copy(core: &Arc<Core>, pages: &[(PageId, Place)]) -> Result<Option<usize>, StoreError> {
    let size = core.geometry.page_size.bytes();
    let room = {
        let mut state = core.state.lock();
        let floor = core.limits(state.table.len()).opening_floor;
        state.make_room(Stream::Map, size, floor, &core.gates)
    };
    let count = core.geometry.items_in(room, size).min(COPIES_MAX).min(pages.len());
    if count == 0 {
        return Ok(None);
    }
    let mut buffer = IoBuf::zeroed(BLOCK_BYTES + count * size);
    let mut entries = Vec::with_capacity(count);
    for (page, from) in &pages[..count] {
        let (segment, offset) = (core.geometry.segment_of(*from), core.geometry.offset_of(*from));
        let (image, result) = core.files.read(segment, offset, IoBuf::zeroed(size)).await;
        result?;
        if verify_image(image.as_slice(), *page, core.gates.generation(segment)).is_err() {
            // Damage stays where it is, for whoever asks for the page.
            continue;
        }
        let start = BLOCK_BYTES + entries.len() * size;
        buffer.as_mut_slice()[start..start + size].copy_from_slice(image.as_slice());
        let effect = Effect::Replace { from: from.address() };
        entries.push(Entry { subject: page.0, effect, bytes: size as u64, checksum: 0 });
    }
    if entries.is_empty() {
        return Ok(Some(count));
    }
    buffer.set_len(BLOCK_BYTES + entries.len() * size);
    let summary = core.state.lock().start(Stream::Map, entries);
    let sequence = summary.sequence;
    core.launch(summary, buffer);
    core.wait_durable(sequence).await?;
    Ok(Some(count))
}
