//! The log of a disk's writes that Linux's dm-log-writes makes, and the disks that a power cut could have left.
//!
//! Entries are in the order in which they became part of what a cut may leave: writes wait for the next flush and stand
//! before it. So at any entry everything up to the last flush is on the disk, and of the writes since then any part may be.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::journal::Random;

const MAGIC: u64 = 0x006a_7366_7773_6872;
const FLUSH: u64 = 1;
/// The write itself is durable when it has ended.
const FUA: u64 = 2;
const DISCARD: u64 = 4;
const MARK: u64 = 8;
const SECTOR: usize = 512;
const HEADER_BYTES: usize = 32;

pub struct Entry {
    sector: u64,
    sectors: u64,
    flags: u64,
    /// Where in the log the bytes are.
    at: u64,
    /// What the load had to say at this place.
    pub mark: Option<String>,
}

impl Entry {
    fn is_write(&self) -> bool {
        self.sectors > 0 && self.flags & (MARK | DISCARD) == 0
    }
}

pub struct WriteLog {
    file: File,
    pub entries: Vec<Entry>,
}

impl WriteLog {
    pub fn open(path: &Path) -> Self {
        let file = File::open(path).expect("the guest wrote a log");
        let word = |buffer: &[u8], index: usize| {
            u64::from_le_bytes(buffer[8 * index..8 * index + 8].try_into().expect("eight bytes"))
        };
        let mut sector = [0; SECTOR];
        file.read_exact_at(&mut sector, 0).expect("readable");
        assert_eq!((word(&sector, 0), word(&sector, 1)), (MAGIC, 1), "a log of writes, version 1");
        assert_eq!(word(&sector, 3) as u32 as usize, SECTOR, "sectors of the usual size");
        let count = word(&sector, 2);
        let mut at = SECTOR as u64;
        let mut entries = Vec::new();
        for _ in 0..count {
            file.read_exact_at(&mut sector, at).expect("readable");
            let (flags, data_len) = (word(&sector, 2), word(&sector, 3) as usize);
            let mark = (flags & MARK != 0).then(|| {
                String::from_utf8_lossy(&sector[HEADER_BYTES..SECTOR.min(HEADER_BYTES + data_len)])
                    .trim_end_matches('\0')
                    .to_owned()
            });
            let entry = Entry {
                sector: word(&sector, 0),
                sectors: word(&sector, 1),
                flags,
                at: at + SECTOR as u64,
                mark,
            };
            at += SECTOR as u64;
            // A discard carries no bytes.
            if flags & DISCARD == 0 {
                at += entry.sectors * SECTOR as u64;
            }
            entries.push(entry);
        }
        Self { file, entries }
    }

    /// The start of the writes that a cut behind entry `index` may lose: behind the last flush.
    pub fn first_unsure(&self, index: usize) -> usize {
        let flushed = self.entries[..=index].iter().rposition(|entry| entry.flags & FLUSH != 0);
        flushed.map_or(0, |flush| flush + 1)
    }

    /// Writes what entries `range` wrote to `disk`.
    pub fn apply(&self, range: std::ops::Range<usize>, disk: &File) {
        for entry in self.entries[range].iter().filter(|entry| entry.is_write()) {
            self.write(entry, 0..entry.sectors, disk);
        }
    }

    /// The same with any part of it left out, and one write torn; what was durable at once stays.
    pub fn apply_in_part(&self, range: std::ops::Range<usize>, disk: &File, random: &mut Random) -> usize {
        let mut left_out = 0;
        for entry in self.entries[range].iter().filter(|entry| entry.is_write()) {
            match random.below(4) {
                _ if entry.flags & (FUA | FLUSH) != 0 => self.write(entry, 0..entry.sectors, disk),
                0 => left_out += 1,
                1 => {
                    left_out += 1;
                    let cut = random.below(entry.sectors + 1);
                    let part = if random.below(2) == 0 { 0..cut } else { cut..entry.sectors };
                    self.write(entry, part, disk);
                }
                _ => self.write(entry, 0..entry.sectors, disk),
            }
        }
        left_out
    }

    fn write(&self, entry: &Entry, part: std::ops::Range<u64>, disk: &File) {
        let mut bytes = vec![0; (part.end - part.start) as usize * SECTOR];
        let skipped = part.start * SECTOR as u64;
        self.file.read_exact_at(&mut bytes, entry.at + skipped).expect("the log is whole");
        disk.write_all_at(&bytes, entry.sector * SECTOR as u64 + skipped).expect("the disk is writable");
    }
}
