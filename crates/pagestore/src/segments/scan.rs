//! Finding the log at an opening: the first block of every segment, then the chunks of those segments that matter.
//!
//! A chunk counts if its summary is intact and names this store, this place, this use of the segment and the
//! superblock's incarnation. Behind the first that does not, a segment holds nothing that was ever acknowledged,
//! because chunks become durable in order.

use super::PlantedFault;
use super::core::Core;
use super::place::BLOCK_BYTES;
use super::recovery::READS_MAX;
use super::summary::{Stream, Summary};
use super::superblock::Superblock;
use crate::StoreError;
use env::IoBuf;

/// The first chunk of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) stream: Stream,
    pub(super) generation: u64,
    pub(super) sequence: u64,
    pub(super) incarnation: u32,
    pub(super) newest_lsn: u64,
}

/// By segment; `None` where no intact chunk begins.
pub(super) struct Heads(pub(super) Vec<Option<Head>>);

/// A chunk of the log.
pub(super) struct Found {
    pub(super) summary: Summary,
}

impl Core {
    pub(super) async fn read_heads(&self, segments: u32, store: u64) -> Result<Heads, StoreError> {
        let mut heads = Vec::with_capacity(segments as usize);
        let places: Vec<_> = (0..segments).map(|segment| (segment, 0)).collect();
        for places in places.chunks(READS_MAX) {
            for summary in self.read_summaries(places, store).await? {
                heads.push(summary.map(|summary| Head {
                    stream: summary.stream,
                    generation: summary.generation,
                    sequence: summary.sequence,
                    incarnation: summary.incarnation,
                    newest_lsn: summary.newest_lsn,
                }));
            }
        }
        Ok(Heads(heads))
    }

    /// The chunks from scan-from on, in order of sequence.
    pub(super) async fn read_log(
        &self,
        superblock: &Superblock,
        heads: &Heads,
    ) -> Result<Vec<Found>, StoreError> {
        let mut log = Vec::new();
        let mut frontier = Vec::new();
        let mut segments = Vec::new();
        for (segment, head) in heads.0.iter().enumerate() {
            let segment = segment as u32;
            let Some(head) = head else { continue };
            let recent = head.generation >= superblock.scan_from || superblock.straddling.contains(&segment);
            if recent && self.is_current(head.incarnation, superblock) {
                segments.push((segment, head.generation));
                frontier.push((segment, 0));
            }
        }
        while !frontier.is_empty() {
            let mut next = Vec::new();
            for places in frontier.chunks(READS_MAX) {
                let summaries = self.read_summaries(places, superblock.store).await?;
                for ((segment, offset), summary) in places.iter().zip(summaries) {
                    let Some(summary) = summary else { continue };
                    let found = segments.binary_search_by_key(segment, |(segment, _)| *segment);
                    let generation = segments[found.expect("only these are walked")].1;
                    let ours =
                        summary.generation == generation && self.is_current(summary.incarnation, superblock);
                    if !ours {
                        continue;
                    }
                    next.push((*segment, offset + summary.chunk_bytes()));
                    if summary.sequence >= superblock.scan_from {
                        log.push(Found { summary });
                    }
                }
            }
            frontier = next;
        }
        log.sort_unstable_by_key(|found| found.summary.sequence);
        Ok(log)
    }

    fn is_current(&self, incarnation: u32, superblock: &Superblock) -> bool {
        incarnation == superblock.incarnation || self.is_planted(PlantedFault::MixIncarnations)
    }

    /// Reads the summaries that should be at these places (segment, offset).
    async fn read_summaries(
        &self,
        places: &[(u32, u64)],
        store: u64,
    ) -> Result<Vec<Option<Summary>>, StoreError> {
        let mut reads = Vec::with_capacity(places.len());
        for (segment, offset) in places {
            let inside = offset + BLOCK_BYTES as u64 <= self.geometry.segment_bytes;
            reads.push(inside.then(|| self.files.read(*segment, *offset, IoBuf::zeroed(BLOCK_BYTES))));
        }
        let mut summaries = Vec::with_capacity(places.len());
        for (read, (segment, offset)) in reads.into_iter().zip(places) {
            let Some(read) = read else {
                summaries.push(None);
                continue;
            };
            let (block, result) = read.await;
            result?;
            let summary = Summary::decode(block.as_slice());
            summaries.push(summary.filter(|summary| {
                summary.store == store
                    && summary.segment == *segment
                    && summary.offset == *offset
                    && offset + summary.chunk_bytes() <= self.geometry.segment_bytes
            }));
        }
        Ok(summaries)
    }
}
