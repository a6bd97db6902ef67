//! Checks the whole store against itself: words, map tree, segment table and what the summaries on disk say.

use super::core::Core;
use super::place::{BLOCK_BYTES, Place};
use super::reader::verify_image;
use super::summary::{Effect, Summary};
use super::table::Use;
use super::tree::BlockName;
use crate::{PageId, StoreError};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Core {
    /// Says what is wrong. Nobody may write meanwhile.
    pub(super) async fn check(self: &Arc<Self>) -> Result<(), String> {
        self.settle().await.map_err(|error| error.to_string())?;
        // The images of the cleaner that wait for more still live where they were.
        self.housekeeping.store(true, Ordering::Release);
        let result = self.check_settled().await;
        self.housekeeping.store(false, Ordering::Release);
        result
    }

    async fn check_settled(self: &Arc<Self>) -> Result<(), String> {
        let segments = self.state.lock().table.len();
        let mut live = vec![0u64; segments as usize];
        let mut words = BTreeSet::new();
        let mut mapped = 0;
        self.map.for_each(|page, place| {
            live[self.geometry.segment_of(place) as usize] += place.bytes();
            words.insert((place.word(), page.0));
            mapped += 1;
        });
        let mut in_cycle: Vec<Place> = Vec::new();
        if let Some(cycle) = &*self.cycle.lock() {
            in_cycle.extend(cycle.replaced());
        }
        for place in self.tree.lock().places().chain(in_cycle) {
            live[self.geometry.segment_of(place) as usize] += place.bytes();
        }
        if self.state.lock().mapped_pages != mapped {
            return Err("the count of mapped pages is wrong".into());
        }
        for segment in 0..segments {
            let entry = *self.state.lock().table.get(segment);
            let expected = live[segment as usize];
            if entry.live != expected {
                return Err(format!("segment {segment}: {} bytes live, not {expected}", entry.live));
            }
            if expected > 0 && matches!(entry.usage, Use::Free | Use::Retired) {
                return Err(format!("segment {segment} is {:?} with {expected} bytes alive", entry.usage));
            }
            if expected > 0 {
                self.check_segment(segment, &mut words).await?;
            }
        }
        match words.first() {
            None => Ok(()),
            Some((word, page)) => Err(format!("no summary names page {page} at {word:x}")),
        }
    }

    /// The chunks of a segment and what of them is alive, for people.
    pub(super) async fn describe_segment(&self, segment: u32) -> Result<Option<String>, StoreError> {
        if segment >= self.state.lock().table.len() {
            return Ok(None);
        }
        let bytes = self.read_segment(segment).await?;
        let Some(first) = Summary::decode(&bytes[..BLOCK_BYTES]) else {
            return Ok(Some(format!("segment {segment}: no chunk begins it\n")));
        };
        let live = self.state.lock().table.get(segment).live;
        let mut text = format!("segment {segment}: generation {}, {live} bytes alive\n", first.generation);
        for summary in self.walk(segment, first.generation, &bytes) {
            text.push_str(&format!(
                "chunk at {}: {:?}, sequence {}, durable through {}, incarnation {}, newest LSN {}\n",
                summary.offset,
                summary.stream,
                summary.sequence,
                summary.durable_through,
                summary.incarnation,
                summary.newest_lsn
            ));
            for (entry, place) in summary.places(self.geometry) {
                let is_page = entry.effect != Effect::MapBlock;
                let is_live = is_page && self.map.load(PageId(entry.subject)) == place;
                let end = if is_live { ", alive" } else { "" };
                text.push_str(&format!(
                    "  {:?} {}: {} bytes{end}\n",
                    entry.effect, entry.subject, entry.bytes
                ));
            }
        }
        Ok(Some(text))
    }

    /// Every image that a word names here is announced by a summary, and intact. Takes those words out.
    async fn check_segment(&self, segment: u32, words: &mut BTreeSet<(u64, u64)>) -> Result<(), String> {
        let generation = self.gates.generation(segment);
        let bytes = self.read_segment(segment).await.map_err(|error| error.to_string())?;
        for summary in self.walk(segment, generation, &bytes) {
            for (entry, place) in summary.places(self.geometry) {
                let start = self.geometry.offset_of(place) as usize;
                if entry.effect == Effect::MapBlock {
                    let name = BlockName::from_subject(entry.subject).ok_or("a block has a strange name")?;
                    let pointer = self.tree.lock().pointer(name);
                    let block = &bytes[start..start + place.bytes() as usize];
                    if pointer.place == place && crc_fast::crc32_iscsi(block) != pointer.checksum {
                        return Err(format!("block {name:?} has a wrong checksum"));
                    }
                } else if words.remove(&(place.word(), entry.subject)) {
                    let image = &bytes[start..start + place.bytes() as usize];
                    let page = PageId(entry.subject);
                    verify_image(image, page, generation).map_err(|corrupt| corrupt.to_string())?;
                }
            }
        }
        Ok(())
    }
}
