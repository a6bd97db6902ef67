//! The header that every page starts with. All numbers are little-endian.
//!
//! | offset | bytes | field                                                                   |
//! |--------|-------|-------------------------------------------------------------------------|
//! | 0      | 4     | crc32c of bytes 4 .. page size; right on disk, stale in memory          |
//! | 4      | 1     | page kind (`PageKind`)                                                  |
//! | 5      | 1     | flags, owned by the page kind                                           |
//! | 6      | 2     | format version of the page, 1                                           |
//! | 8      | 8     | page id                                                                 |
//! | 16     | 8     | page LSN: the log group that changed the page last                      |
//! | 24     | 8     | tree id, 0 for pages that belong to no tree                             |
//! | 32     | 4     | epoch of the store in which it was written (`in_place::versions`)       |
//! | 36     | 4     | 0                                                                       |
//!
//! Checksum and page id are verified on every read: together they detect torn, damaged and misdirected writes.

use crate::{CorruptPage, PAGE_ID_MAX, PageFault, PageId, PageSize, TreeId};

/// The bytes before the part that belongs to the page kind.
pub const PAGE_HEADER_BYTES: usize = 40;

const FORMAT_VERSION: u16 = 1;

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageKind {
    /// A node of a tree, inner or leaf.
    Node = 1,
    /// A part of a value that is too long for its leaf.
    Overflow = 2,
    /// One bit for each page of a region.
    SpaceMap = 3,
    /// Nothing: the page was found damaged when it had to be changed, so whatever was in it is lost for good.
    Lost = 4,
}

impl PageKind {
    pub fn from_u8(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Node),
            2 => Some(Self::Overflow),
            3 => Some(Self::SpaceMap),
            4 => Some(Self::Lost),
            _ => None,
        }
    }
}

fn u64_at(page: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(page[offset..offset + 8].try_into().expect("eight bytes were sliced"))
}

/// Formats the header of a new page. The rest of the page is the caller's.
pub fn format(page: &mut [u8], id: PageId, kind: PageKind, tree: TreeId) {
    debug_assert!(
        PageSize::from_bytes(page.len() as u64).is_some(),
        "a page has the size of a store's pages"
    );
    debug_assert!(id.0 <= PAGE_ID_MAX, "page ids have 40 bits");
    page[..PAGE_HEADER_BYTES].fill(0);
    page[4] = kind as u8;
    page[6..8].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    page[8..16].copy_from_slice(&id.0.to_le_bytes());
    page[24..32].copy_from_slice(&tree.0.to_le_bytes());
}

pub fn kind(page: &[u8]) -> Option<PageKind> {
    PageKind::from_u8(page[4])
}

pub fn flags(page: &[u8]) -> u8 {
    page[5]
}

pub fn set_flags(page: &mut [u8], flags: u8) {
    page[5] = flags;
}

pub fn id(page: &[u8]) -> PageId {
    PageId(u64_at(page, 8))
}

pub fn lsn(page: &[u8]) -> u64 {
    u64_at(page, 16)
}

pub fn set_lsn(page: &mut [u8], lsn: u64) {
    page[16..24].copy_from_slice(&lsn.to_le_bytes());
}

pub fn tree(page: &[u8]) -> TreeId {
    TreeId(u64_at(page, 24))
}

/// When it was written, by the store's count.
pub fn epoch(page: &[u8]) -> u32 {
    u32::from_le_bytes(page[32..36].try_into().expect("four bytes were sliced"))
}

pub fn set_epoch(page: &mut [u8], epoch: u32) {
    page[32..36].copy_from_slice(&epoch.to_le_bytes());
}

/// Writes the checksum. The last step before a page goes to disk.
pub fn seal(page: &mut [u8]) {
    let crc = crc_fast::crc32_iscsi(&page[4..]);
    page[..4].copy_from_slice(&crc.to_le_bytes());
}

/// The stored checksum.
pub fn checksum(page: &[u8]) -> u32 {
    u32::from_le_bytes(page[..4].try_into().expect("four bytes were sliced"))
}

/// Whether the bytes are an intact image of page `expected`.
pub fn verify(page: &[u8], expected: PageId) -> Result<(), CorruptPage> {
    let fault = |fault| Err(CorruptPage { page: expected, fault });
    if crc_fast::crc32_iscsi(&page[4..]) != checksum(page) {
        return fault(PageFault::Checksum);
    }
    if id(page) != expected {
        return fault(PageFault::WrongPage);
    }
    if page[6..8] != FORMAT_VERSION.to_le_bytes() || kind(page).is_none() {
        return fault(PageFault::UnknownFormat);
    }
    Ok(())
}

/// The fields, for people; any bytes of a page's length have some.
pub fn describe(page: &[u8]) -> String {
    let kind = kind(page).map_or_else(|| format!("unknown ({})", page[4]), |kind| format!("{kind:?}"));
    format!(
        "page {}, kind {kind}, flags {}, format {}, LSN {}, tree {}, checksum {:08x}",
        id(page),
        flags(page),
        u16::from_le_bytes([page[6], page[7]]),
        lsn(page),
        tree(page),
        checksum(page),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header;

    #[test]
    fn any_flipped_bit_is_detected() {
        let mut page = vec![0u8; 4096];
        header::format(&mut page, PageId(77), PageKind::Node, TreeId(5));
        page[3000] = 9;
        header::set_lsn(&mut page, 1234);
        header::seal(&mut page);
        assert_eq!(header::verify(&page, PageId(77)), Ok(()));
        assert_eq!((header::lsn(&page), header::tree(&page)), (1234, TreeId(5)));
        for bit in (0..4096 * 8).step_by(97) {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(header::verify(&page, PageId(77)).is_err(), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
        let wrong = header::verify(&page, PageId(78)).unwrap_err();
        assert_eq!(wrong.fault, PageFault::WrongPage);
    }

    /// What the files have depends on it, whatever instructions compute it.
    #[test]
    fn the_checksum_is_crc_32c_at_each_length() {
        assert_eq!(crc_fast::crc32_iscsi(b"123456789"), 0xE306_9283);
        let bytes: Vec<u8> = (0..65_536u32).map(|at| (at * at / 7) as u8).collect();
        let mut crc = !0u32;
        for (length, byte) in bytes.iter().enumerate() {
            if length < 2_000 || length % 4096 == 4092 {
                assert_eq!(crc_fast::crc32_iscsi(&bytes[..length]), !crc, "{length} bytes");
            }
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = crc >> 1 ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 };
            }
        }
    }

    #[test]
    fn a_page_of_zeros_is_not_valid() {
        assert!(header::verify(&[0; 4096], PageId(0)).is_err());
    }
}
