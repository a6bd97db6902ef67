//! The parts of a backup that leaves the server as a stream, and their bytes (decision 0056).
//!
//! Order: one head, then pages and log as they come, then one end. All numbers are little-endian; the first byte is the kind.
//!
//! | kind | what follows |
//! |---|---|
//! | 1 | head: eleven numbers of 8 bytes, in the order of `BackupHead` |
//! | 2 | pages: how many (4), their ids (8 each), their images |
//! | 3 | log: where the piece lies (8), its bytes |
//! | 4 | end: `to_lsn` (8), pages of the store (8), first free epoch (4), damaged pages: how many (4), ids (8 each); the checkpoint record |
//!
//! Invariant: any bytes decode or are refused; a piece of log that comes out is valid. Made by `backup_stream`, read by `archive`.

use pagestore::{ChangePoint, PageId, PageSize};
use wal::LogPiece;

const HEAD: u8 = 1;
const PAGES: u8 = 2;
const LOG: u8 = 3;
const END: u8 = 4;
const HEAD_NUMBERS: usize = 11;

/// What a backup is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupHead {
    /// Its name for increments.
    pub id: u64,
    /// The backup that it continues; 0: none, it has all pages.
    pub base: u64,
    /// What is written from here on is not in it for certain.
    pub point: ChangePoint,
    /// Which log the server has.
    pub log_id: u64,
    /// Size of a page.
    pub page_size_bytes: u64,
    /// Size of a segment of the log.
    pub segment_bytes: u64,
    /// Recovery begins here.
    pub from_lsn: u64,
    /// When it was begun, in microseconds since 1970.
    pub begun_us: u64,
    /// How many pages it has, about.
    pub pages_total: u64,
    /// False for an increment that has all pages because nothing was known of those that had changed.
    pub is_partial: bool,
}

/// What is known when all has been copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupEnd {
    /// Everything that was durable before this LSN is in it.
    pub to_lsn: u64,
    /// The store has so many pages.
    pub page_count: u64,
    /// Its pages have earlier epochs.
    pub first_epoch: u32,
    /// Pages that were damaged before they were copied.
    pub damaged: Vec<u64>,
    /// The store's checkpoint record.
    pub superblock: Vec<u8>,
}

/// One part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackupRecord {
    /// The first.
    Head(BackupHead),
    /// Pages and their images, one behind the other.
    Pages {
        /// Which.
        ids: Vec<PageId>,
        /// As they lay on disk.
        images: Vec<u8>,
    },
    /// What comes next of the log.
    Log(LogPiece),
    /// The last.
    End(BackupEnd),
}

impl BackupHead {
    fn numbers(&self) -> [u64; HEAD_NUMBERS] {
        let ChangePoint { map, number } = self.point;
        [
            self.id,
            self.base,
            map,
            number,
            self.log_id,
            self.page_size_bytes,
            self.segment_bytes,
            self.from_lsn,
            self.begun_us,
            self.pages_total,
            u64::from(self.is_partial),
        ]
    }

    fn of_numbers(numbers: [u64; HEAD_NUMBERS]) -> Option<BackupHead> {
        let [
            id,
            base,
            map,
            number,
            log_id,
            page_size_bytes,
            segment_bytes,
            from_lsn,
            begun_us,
            pages_total,
            partial,
        ] = numbers;
        PageSize::from_bytes(page_size_bytes)?;
        let is_sound = segment_bytes > 0 && segment_bytes.is_multiple_of(env::DIRECT_ALIGNMENT);
        let point = ChangePoint { map, number };
        (is_sound && partial <= 1 && id != 0).then_some(BackupHead {
            id,
            base,
            point,
            log_id,
            page_size_bytes,
            segment_bytes,
            from_lsn,
            begun_us,
            pages_total,
            is_partial: partial == 1,
        })
    }

    /// What an increment has to be told of this backup.
    pub fn token(&self) -> String {
        let ChangePoint { map, number } = self.point;
        format!("{:016x}:{:016x}:{map:016x}:{number}", self.log_id, self.id)
    }
}

/// What an increment is told of its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupBase {
    /// Which log its server has.
    pub log_id: u64,
    /// Its name.
    pub id: u64,
    pub(crate) point: ChangePoint,
}

impl BackupBase {
    /// Of a `BackupHead::token`.
    pub fn parse(token: &str) -> Option<BackupBase> {
        let parts: Vec<&str> = token.split(':').collect();
        let [log_id, id, map, number] = parts[..] else { return None };
        let hex = |text: &str| (text.len() == 16).then(|| u64::from_str_radix(text, 16).ok()).flatten();
        let point = ChangePoint { map: hex(map)?, number: number.parse().ok()? };
        Some(BackupBase { log_id: hex(log_id)?, id: hex(id)?, point })
    }
}

impl BackupRecord {
    /// The bytes of it.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            BackupRecord::Head(head) => {
                assert!(head.id != 0, "0 is the name of no backup");
                debug_assert_eq!(
                    BackupHead::of_numbers(head.numbers()),
                    Some(*head),
                    "what is written can be read"
                );
                bytes.push(HEAD);
                head.numbers().iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            }
            BackupRecord::Pages { ids, images } => {
                assert!(!ids.is_empty(), "a part of pages has some");
                assert!(images.len().is_multiple_of(ids.len()), "images have one size");
                bytes.reserve(5 + 8 * ids.len() + images.len());
                bytes.push(PAGES);
                put_ids(&mut bytes, ids.iter().map(|id| id.0));
                bytes.extend_from_slice(images);
            }
            BackupRecord::Log(piece) => {
                assert!(
                    piece.start().is_multiple_of(env::DIRECT_ALIGNMENT),
                    "a piece begins at the border of a block"
                );
                bytes.reserve(9 + piece.bytes().len());
                bytes.push(LOG);
                bytes.extend_from_slice(&piece.start().to_le_bytes());
                bytes.extend_from_slice(piece.bytes());
            }
            BackupRecord::End(end) => {
                bytes.push(END);
                bytes.extend_from_slice(&end.to_lsn.to_le_bytes());
                bytes.extend_from_slice(&end.page_count.to_le_bytes());
                bytes.extend_from_slice(&end.first_epoch.to_le_bytes());
                put_ids(&mut bytes, end.damaged.iter().copied());
                bytes.extend_from_slice(&end.superblock);
            }
        }
        bytes
    }

    /// `None` for what is no part of a backup.
    pub fn decode(bytes: &[u8]) -> Option<BackupRecord> {
        let (kind, mut rest) = bytes.split_first()?;
        Some(match *kind {
            HEAD => {
                let mut numbers = [0; HEAD_NUMBERS];
                for number in &mut numbers {
                    *number = take(&mut rest)?;
                }
                let head = BackupHead::of_numbers(numbers).filter(|_| rest.is_empty())?;
                BackupRecord::Head(head)
            }
            PAGES => {
                let ids: Vec<PageId> = take_ids(&mut rest)?.into_iter().map(PageId).collect();
                let is_whole = !ids.is_empty() && rest.len().is_multiple_of(ids.len());
                PageSize::from_bytes((rest.len() / ids.len().max(1)) as u64).filter(|_| is_whole)?;
                BackupRecord::Pages { ids, images: rest.to_vec() }
            }
            LOG => {
                let start = take(&mut rest)?;
                let is_place = start.is_multiple_of(env::DIRECT_ALIGNMENT) && start < u64::MAX / 2;
                BackupRecord::Log(is_place.then(|| LogPiece::from_bytes(start, rest.to_vec())).flatten()?)
            }
            END => {
                let (to_lsn, page_count) = (take(&mut rest)?, take(&mut rest)?);
                let (epoch, behind) = rest.split_first_chunk::<4>()?;
                rest = behind;
                BackupRecord::End(BackupEnd {
                    to_lsn,
                    page_count,
                    first_epoch: u32::from_le_bytes(*epoch),
                    damaged: take_ids(&mut rest)?,
                    superblock: rest.to_vec(),
                })
            }
            _ => return None,
        })
    }
}

fn put_ids(bytes: &mut Vec<u8>, ids: impl ExactSizeIterator<Item = u64>) {
    assert!(u32::try_from(ids.len()).is_ok(), "a part names fewer pages");
    bytes.extend_from_slice(&(ids.len() as u32).to_le_bytes());
    ids.for_each(|id| bytes.extend_from_slice(&id.to_le_bytes()));
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let (number, behind) = rest.split_first_chunk::<8>()?;
    *rest = behind;
    Some(u64::from_le_bytes(*number))
}

fn take_ids(rest: &mut &[u8]) -> Option<Vec<u64>> {
    let (count, behind) = rest.split_first_chunk::<4>()?;
    let length = (u32::from_le_bytes(*count) as usize).checked_mul(8)?;
    let (ids, behind) = behind.split_at_checked(length)?;
    *rest = behind;
    Some(ids.as_chunks::<8>().0.iter().map(|id| u64::from_le_bytes(*id)).collect())
}

#[cfg(test)]
mod tests {
    use crate::copies::backup_record::*;
    use proptest::prelude::*;

    fn head() -> BackupHead {
        BackupHead {
            id: 9,
            base: 8,
            point: ChangePoint { map: u64::MAX, number: 7 },
            log_id: 6,
            page_size_bytes: 8192,
            segment_bytes: 1 << 20,
            from_lsn: 5,
            begun_us: 4,
            pages_total: 3,
            is_partial: true,
        }
    }

    #[test]
    fn records_come_back_and_cuts_are_refused() {
        let pages = BackupRecord::Pages { ids: vec![PageId(7), PageId(1 << 39)], images: vec![3; 2 * 4096] };
        let end = BackupEnd {
            to_lsn: 1,
            page_count: 2,
            first_epoch: 3,
            damaged: vec![4, 5],
            superblock: vec![6; 49],
        };
        for record in [BackupRecord::Head(head()), pages, BackupRecord::End(end)] {
            let bytes = record.encode();
            assert_eq!(BackupRecord::decode(&bytes), Some(record.clone()));
            for cut in [1, 2, 9, bytes.len() / 2] {
                assert_ne!(BackupRecord::decode(&bytes[..cut]), Some(record.clone()), "cut at {cut}");
            }
        }
        let base = BackupBase::parse(&head().token()).expect("a token");
        assert_eq!((base.log_id, base.id, base.point), (6, 9, head().point));
        for wrong in ["", "1:2:3:4", "0000000000000001:0000000000000001:0000000000000001:x"] {
            assert_eq!(BackupBase::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_refused(bytes: Vec<u8>) {
            if let Some(record) = BackupRecord::decode(&bytes) {
                prop_assert_eq!(record.encode(), bytes);
            }
        }
    }
}
