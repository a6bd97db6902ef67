//! Reading pages: word, gate, disk, checks; and again if the page has moved meanwhile.

use super::core::Core;
use super::place::{Place, UNIT_BYTES};
use crate::pieces::{Part, images, pieces, span};
use crate::{CorruptPage, PageFault, PageId, StoreError, header};
use env::IoBuf;
use std::sync::atomic::Ordering;

/// A volume counts a read over so many other pages as one operation, and a fast disk needs less time for it than for a second
/// operation. Between two durable images of a segment nothing is written any more.
const GAP_PAGES: u64 = 2;

impl Core {
    /// Reads and verifies one page.
    pub(super) async fn read_page(&self, page: PageId, mut buffer: IoBuf) -> (IoBuf, Result<(), StoreError>) {
        self.counters.reads.fetch_add(1, Ordering::Relaxed);
        let fault = |fault| Err(CorruptPage { page, fault }.into());
        if page.0 >= self.page_count() {
            return (buffer, fault(PageFault::BeyondEnd));
        }
        loop {
            let place = self.map.load(page);
            if place.is_nowhere() {
                return (buffer, fault(PageFault::Absent));
            }
            if place.bytes() != buffer.len() as u64 {
                return (buffer, fault(PageFault::UnknownFormat));
            }
            let segment = self.geometry.segment_of(place);
            let reading = self.gates.enter(segment);
            #[cfg(test)]
            let reading = Some(reading).filter(|_| !self.is_planted(super::PlantedFault::ReadWithoutGate));
            if self.map.load(page) != place {
                continue;
            }
            let generation = self.gates.generation(segment);
            let read = self.files.read(segment, self.geometry.offset_of(place), buffer);
            let (filled, result) = read.await;
            drop(reading);
            buffer = filled;
            if let Err(error) = result {
                return (buffer, Err(error.into()));
            }
            match verify_image(buffer.as_slice(), page, generation) {
                Ok(()) => return (buffer, Ok(())),
                Err(corrupt) if self.map.load(page) == place => return (buffer, Err(corrupt.into())),
                Err(_) => {
                    self.counters.reads_retried.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Reads several pages, but those that cannot be read or move meanwhile.
    pub(super) async fn read_many(&self, pages: &[PageId]) -> Vec<Option<IoBuf>> {
        let size = self.geometry.page_size.bytes();
        let mut reads = Vec::new();
        for piece in self.pieces_of(pages) {
            let place = Place::new(piece[0].address / UNIT_BYTES, size as u64);
            let segment = self.geometry.segment_of(place);
            let reading = self.gates.enter(segment);
            let generation = self.gates.generation(segment);
            // A page that moved between the two looks may have left the segment to be used again.
            if piece.iter().all(|part| self.map.load(pages[part.index]).start() == part.address) {
                let target = IoBuf::for_overwriting(span(&piece, size as u64) as usize);
                let read = self.files.read(segment, self.geometry.offset_of(place), target);
                reads.push((read, piece, generation, reading));
            }
        }
        let mut found: Vec<Option<IoBuf>> = pages.iter().map(|_| None).collect();
        for (read, piece, generation, reading) in reads {
            let (bytes, result) = read.await;
            drop(reading);
            if result.is_ok() {
                for (index, image) in images(&piece, bytes, size) {
                    let is_good = verify_image(image.as_slice(), pages[index], generation).is_ok();
                    found[index] = Some(image).filter(|_| is_good);
                }
            }
        }
        found
    }

    /// The pages that have a place, by the reads that they need.
    pub(super) fn pieces_of(&self, pages: &[PageId]) -> Vec<Vec<Part>> {
        let size = self.geometry.page_size.bytes() as u64;
        let placed = pages.iter().enumerate().filter(|(_, page)| page.0 < self.page_count());
        let placed = placed.map(|(index, page)| (index, self.map.load(*page)));
        let parts = placed.filter(|(_, place)| place.bytes() == size);
        let parts = parts.map(|(index, place)| Part { index, address: place.start() }).collect();
        pieces(parts, size, GAP_PAGES, self.geometry.segment_bytes)
    }
}

/// Whether the bytes are an intact image of the page, written in this use of the segment.
pub(super) fn verify_image(bytes: &[u8], page: PageId, generation: u64) -> Result<(), CorruptPage> {
    header::verify(bytes, page)?;
    if header::chunk_sequence(bytes) < generation {
        return Err(CorruptPage { page, fault: PageFault::Stale });
    }
    Ok(())
}
