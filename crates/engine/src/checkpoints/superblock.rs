//! The checkpoint record: where recovery starts and what it cannot find elsewhere.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | format version, 4; since 2 the log may hold logs of pages that are said again, since 3 times of commits, since 4 what events come to; else they are the same |
//! | 4 | 8 | checkpoint LSN: replay from here rebuilds everything |
//! | 12 | 8 | an LSN that was durable when this was written: a log that ends before it is damaged |
//! | 20 | 8 | a transaction id above all before the checkpoint |
//! | 28 | 8 | a tree id above all before the checkpoint |
//! | 36 | 8 | root page of the tree of trees |
//! | 44 | 4 | page size |
//! | 48 | 1 | 1 if the engine was closed cleanly and nothing has to be replayed |
//!
//! The page store keeps it atomically, with a checksum of its own. Numbers are little-endian.

use pagestore::PageId;

const FORMAT_VERSION: u32 = 4;
/// The oldest that can be read.
const FORMAT_VERSION_MIN: u32 = 1;
const _: () = assert!(FORMAT_VERSION_MIN <= FORMAT_VERSION, "what is written can be read");
pub(crate) const SUPERBLOCK_BYTES: usize = 49;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub checkpoint_lsn: u64,
    pub known_durable_lsn: u64,
    pub next_transaction: u64,
    pub next_tree: u64,
    pub meta_root: PageId,
    pub page_size_bytes: u32,
    pub clean: bool,
}

impl Superblock {
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.checkpoint_lsn <= self.known_durable_lsn, "recovery starts in the log that is durable");
        assert!(self.page_size_bytes.is_power_of_two(), "pages have a size that the store takes");
        let mut bytes = Vec::with_capacity(SUPERBLOCK_BYTES);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        for number in [
            self.checkpoint_lsn,
            self.known_durable_lsn,
            self.next_transaction,
            self.next_tree,
            self.meta_root.0,
        ] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.page_size_bytes.to_le_bytes());
        bytes.push(u8::from(self.clean));
        assert_eq!(bytes.len(), SUPERBLOCK_BYTES);
        debug_assert_eq!(Superblock::decode(&bytes).as_ref(), Ok(self), "what is written can be read");
        bytes
    }

    /// The reason when the bytes cannot be used.
    pub fn decode(bytes: &[u8]) -> Result<Superblock, String> {
        let version = bytes.first_chunk::<4>().map(|version| u32::from_le_bytes(*version));
        if !version.is_some_and(|version| (FORMAT_VERSION_MIN..=FORMAT_VERSION).contains(&version)) {
            return Err(format!("unknown version {version:?} of the checkpoint record"));
        }
        if bytes.len() != SUPERBLOCK_BYTES {
            return Err(format!("the checkpoint record has {} bytes", bytes.len()));
        }
        let number = |offset: usize| {
            u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes were sliced"))
        };
        Ok(Superblock {
            checkpoint_lsn: number(4),
            known_durable_lsn: number(12),
            next_transaction: number(20),
            next_tree: number(28),
            meta_root: PageId(number(36)),
            page_size_bytes: u32::from_le_bytes(bytes[44..48].try_into().expect("four bytes were sliced")),
            clean: bytes[48] == 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::checkpoints::superblock::*;

    #[test]
    fn it_comes_back_and_cuts_are_refused() {
        let superblock = Superblock {
            checkpoint_lsn: 1,
            known_durable_lsn: 2,
            next_transaction: 3,
            next_tree: 4,
            meta_root: PageId(5),
            page_size_bytes: 8192,
            clean: true,
        };
        let bytes = superblock.encode();
        assert_eq!(Superblock::decode(&bytes), Ok(superblock));
        for (version, is_known) in [(0, false), (1, true), (2, true), (3, true), (4, true), (5, false)] {
            let of_version = [&u32::to_le_bytes(version), &bytes[4..]].concat();
            assert_eq!(Superblock::decode(&of_version).is_ok(), is_known, "version {version}");
        }
        for cut in 0..bytes.len() {
            assert!(Superblock::decode(&bytes[..cut]).is_err());
        }
    }
}
