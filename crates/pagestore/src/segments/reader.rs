//! Reading pages: word, gate, disk, checks; and again if the page has moved meanwhile.

use super::core::Core;
use super::place::Place;
use crate::{CorruptPage, PageFault, PageId, StoreError, header};
use env::IoBuf;
use std::sync::atomic::Ordering;

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

    /// Reads neighbours by page id. Those that also lie side by side come with one read. What cannot be read or has
    /// moved is left as zeros, which nobody takes for a page.
    pub(super) async fn read_run(&self, first: PageId, mut buffer: IoBuf) -> (IoBuf, Result<(), StoreError>) {
        let size = self.geometry.page_size.bytes();
        let count = buffer.len() / size;
        if first.0 + count as u64 > self.page_count() {
            return (buffer, Err(CorruptPage { page: first, fault: PageFault::BeyondEnd }.into()));
        }
        let places: Vec<Place> =
            (0..count as u64).map(|index| self.map.load(PageId(first.0 + index))).collect();
        buffer.as_mut_slice().fill(0);
        let mut runs = Vec::new();
        let mut start = 0;
        while start < count {
            let mut end = start + 1;
            while end < count && self.adjoins(places[end - 1], places[end]) {
                end += 1;
            }
            if places[start].bytes() == size as u64 {
                let segment = self.geometry.segment_of(places[start]);
                let reading = self.gates.enter(segment);
                let generation = self.gates.generation(segment);
                // A page that moved between the two looks may have left the segment to be used again.
                let still =
                    (start..end).all(|index| self.map.load(PageId(first.0 + index as u64)) == places[index]);
                if still {
                    let offset = self.geometry.offset_of(places[start]);
                    let read = self.files.read(segment, offset, IoBuf::zeroed((end - start) * size));
                    runs.push((start, generation, reading, read));
                }
            }
            start = end;
        }
        for (start, generation, reading, read) in runs {
            let (bytes, result) = read.await;
            drop(reading);
            if result.is_err() {
                continue;
            }
            for (index, image) in bytes.as_slice().chunks_exact(size).enumerate() {
                let page = PageId(first.0 + (start + index) as u64);
                if verify_image(image, page, generation).is_ok() {
                    let target = (start + index) * size;
                    buffer.as_mut_slice()[target..target + size].copy_from_slice(image);
                }
            }
        }
        (buffer, Ok(()))
    }

    fn adjoins(&self, one: Place, other: Place) -> bool {
        let size = self.geometry.page_size.bytes() as u64;
        one.bytes() == size
            && other.bytes() == size
            && other.address() == one.address() + size / super::place::UNIT_BYTES
            && self.geometry.segment_of(one) == self.geometry.segment_of(other)
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
