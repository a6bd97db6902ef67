//! The list of pages in memory, kept in a file so that a restart is warm, after a kill as well.
//!
//! It is written anew whenever an eighth of it has changed, at least `ARRIVALS_MIN` pages: so it costs a fixed, small
//! share of the reads that changed it. It is a hint: what cannot be written or read is left out, and a checksum tells
//! a list that a power cut has spoiled.
//!
//! File: magic, number of entries, crc32c of the entries, then 8 bytes for each: page id times two, plus one if the
//! page was in the main queue. All little-endian.

use crate::frame::{FrameIndex, Place};
use crate::pool::BufferPool;
use crate::warm_up::{Returning, WarmUp};
use crc_fast::{CrcAlgorithm, Digest};
use env::sync::Mutex;
use env::{Disk, IoBuf, IoError, OpenOptions, yield_now};
use pagestore::PageId;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

const MAGIC: &[u8; 8] = b"EKHOTPG1";
const HEADER_BYTES: usize = 24;
const ENTRY_BYTES: usize = 8;

/// A list is not written for fewer pages: they are read again in a moment.
const ARRIVALS_MIN: u64 = 4096;
/// The list is written when this part of it is new.
const CHANGED_PART: u64 = 8;
/// Frames looked at, and entries written, before other tasks get a turn.
const PIECE: usize = 8192;

pub(crate) struct HotList {
    /// Pages that came into memory since the list was written.
    arrivals: AtomicU64,
    write_at: AtomicU64,
    /// Set while the list is written, and until the one of the last run was read.
    is_busy: AtomicBool,
    /// The hottest pages of the pool that the list names, in percent.
    percent: AtomicU32,
    pub(crate) warm_up: Mutex<WarmUp>,
    /// The pages of the last run's list while they come back; the flag is for those who need not take the lock.
    returning: Mutex<Option<Arc<Returning>>>,
    are_returning: AtomicBool,
}

/// A page of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HotPage {
    pub(crate) page: PageId,
    pub(crate) is_main: bool,
}

impl HotList {
    pub(crate) fn new() -> Self {
        Self {
            arrivals: AtomicU64::new(0),
            write_at: AtomicU64::new(ARRIVALS_MIN),
            is_busy: AtomicBool::new(true),
            percent: AtomicU32::new(100),
            warm_up: Mutex::default(),
            returning: Mutex::default(),
            are_returning: AtomicBool::new(false),
        }
    }

    /// The list of the last run is not needed any more.
    pub(crate) fn begin(&self) {
        self.is_busy.store(false, Ordering::Release);
    }

    pub(crate) fn set_returning(&self, returning: Option<Arc<Returning>>) {
        self.are_returning.store(returning.is_some(), Ordering::Relaxed);
        *self.returning.lock() = returning;
    }

    /// The pages that come back, while they do. A miss that sees them too late reads alone.
    #[inline]
    pub(crate) fn returning(&self) -> Option<Arc<Returning>> {
        if self.are_returning.load(Ordering::Relaxed) { self.returning.lock().clone() } else { None }
    }
}

impl BufferPool {
    /// How many of the pages in memory the list names: the hottest ones, in percent.
    pub fn set_hot_percent(&self, percent: u32) {
        self.hot_list.percent.store(percent.clamp(1, 100), Ordering::Relaxed);
    }

    /// A page came into memory.
    pub(crate) fn note_arrival(&self) {
        let list = &self.hot_list;
        let arrivals = list.arrivals.fetch_add(1, Ordering::Relaxed) + 1;
        if arrivals < list.write_at.load(Ordering::Relaxed) || self.options.hot_list.is_none() {
            return;
        }
        let Some(pool) = self.weak.upgrade() else { return };
        if !list.is_busy.swap(true, Ordering::AcqRel) {
            let write = async move { pool.write_hot_list().await };
            self.env.spawner.spawn("hot-page-list", Box::pin(write));
        }
    }

    /// Writes the list now, for an orderly end.
    pub async fn save_hot_list(&self) {
        if self.options.hot_list.is_some() && !self.hot_list.is_busy.swap(true, Ordering::AcqRel) {
            self.write_hot_list().await;
        }
    }

    async fn write_hot_list(&self) {
        let Some(path) = &self.options.hot_list else { return };
        self.hot_list.arrivals.store(0, Ordering::Relaxed);
        let entries = self.hot_pages().await;
        let count = entries.len() as u64;
        // The old list stays when this fails; it is as good a hint.
        let _ = write(&*self.env.disk, path, &entries).await;
        self.hot_list.write_at.store((count / CHANGED_PART).max(ARRIVALS_MIN), Ordering::Relaxed);
        self.hot_list.is_busy.store(false, Ordering::Release);
    }

    /// The pages in memory in the order of their frames, but if not all are wanted, the hottest first; packed ones are last.
    async fn hot_pages(&self) -> Vec<HotPage> {
        let percent = self.hot_list.percent.load(Ordering::Relaxed) as usize;
        let quota = (self.frame_count() * percent).div_ceil(100);
        let ranks: &[Option<u8>] = if percent == 100 { &[None] } else { &[Some(2), Some(1), Some(0)] };
        let mut pages = Vec::new();
        for rank in ranks {
            for number in 0..self.frame_count() as u32 {
                if number as usize % PIECE == PIECE - 1 {
                    yield_now().await;
                }
                let frame = self.frame(FrameIndex(number));
                let is_main = frame.place() == Place::Main;
                let own = if is_main { 1 + u8::from(!frame.is_cold()) } else { 0 };
                if rank.is_none_or(|rank| rank == own)
                    && pages.len() < quota
                    && let Some(page) = frame.page()
                {
                    pages.push(HotPage { page, is_main });
                }
            }
        }
        // A start has frames in the place of packed pages: for as many more.
        let room = (self.frames_without_packed() * percent).div_ceil(100).saturating_sub(pages.len());
        let packed = self.packed.newest(room).into_iter();
        pages.extend(packed.map(|page| HotPage { page, is_main: false }));
        pages
    }
}

async fn write(disk: &dyn Disk, path: &str, pages: &[HotPage]) -> Result<(), IoError> {
    let fresh = format!("{path}.new");
    let file = disk.open(&fresh, OpenOptions::create()).await?;
    file.set_len(0).await?;
    let mut offset = HEADER_BYTES as u64;
    let mut checksum = Digest::new(CrcAlgorithm::Crc32Iscsi);
    for piece in pages.chunks(PIECE) {
        let mut buffer = IoBuf::zeroed(piece.len() * ENTRY_BYTES);
        for (place, hot) in buffer.as_mut_slice().chunks_exact_mut(ENTRY_BYTES).zip(piece) {
            place.copy_from_slice(&(hot.page.0 << 1 | u64::from(hot.is_main)).to_le_bytes());
        }
        checksum.update(buffer.as_slice());
        let (buffer, result) = file.write_at(offset, buffer).await;
        result?;
        offset += buffer.len() as u64;
    }
    let mut header = IoBuf::zeroed(HEADER_BYTES);
    let bytes = header.as_mut_slice();
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..16].copy_from_slice(&(pages.len() as u64).to_le_bytes());
    let checksum = checksum.finalize() as u32;
    bytes[16..20].copy_from_slice(&checksum.to_le_bytes());
    file.write_at(0, header).await.1?;
    file.sync().await?;
    // Until the directory is durable too, a power cut brings the old list back.
    disk.rename(&fresh, path).await
}

/// `None` when there is no list, or none that can be trusted.
pub(crate) async fn read(disk: &dyn Disk, path: &str) -> Option<Vec<HotPage>> {
    let file = disk.open(path, OpenOptions::existing()).await.ok()?;
    let length = usize::try_from(file.len().await.ok()?).ok().filter(|length| *length >= HEADER_BYTES)?;
    let (buffer, result) = file.read_at(0, IoBuf::zeroed(length)).await;
    result.ok()?;
    decode(buffer.as_slice())
}

fn decode(bytes: &[u8]) -> Option<Vec<HotPage>> {
    let (header, entries) = bytes.split_at_checked(HEADER_BYTES)?;
    let count = u64::from_le_bytes(header[8..16].try_into().ok()?);
    let checksum = u32::from_le_bytes(header[16..20].try_into().ok()?);
    let is_whole = entries.len() as u64 == count.checked_mul(ENTRY_BYTES as u64)?;
    if &header[..8] != MAGIC || !is_whole || crc_fast::crc32_iscsi(entries) != checksum {
        return None;
    }
    let page = |entry: &[u8]| {
        let word = u64::from_le_bytes(entry.try_into().expect("eight bytes"));
        HotPage { page: PageId(word >> 1), is_main: word & 1 == 1 }
    };
    Some(entries.chunks_exact(ENTRY_BYTES).map(page).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_lists_are_refused() {
        let world = env::sim::World::new(1, env::sim::SimOptions::default());
        let env = world.env();
        let test = async {
            let pages: Vec<HotPage> = (0..100)
                .map(|number| HotPage { page: PageId(number * 7), is_main: number % 3 == 0 })
                .collect();
            write(&*env.disk, "list", &pages).await.unwrap();
            assert_eq!(read(&*env.disk, "list").await, Some(pages));
            let file = env.disk.open("list", OpenOptions::existing()).await.unwrap();
            let length = file.len().await.unwrap();
            let (whole, _) = file.read_at(0, IoBuf::zeroed(length as usize)).await;
            for position in 0..length as usize {
                // The last four bytes of the header mean nothing.
                if (20..HEADER_BYTES).contains(&position) {
                    continue;
                }
                let mut bytes = whole.as_slice().to_vec();
                bytes[position] ^= 1;
                assert_eq!(decode(&bytes), None, "byte {position}");
                assert_eq!(decode(&bytes[..position]), None);
            }
        };
        world.block_on(test).unwrap();
    }
}
