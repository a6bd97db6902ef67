//! One page compressed and restored: zstd at its quickest level, with contexts that each thread keeps for itself.
//!
//! Invariant: what `unpack` says is whole is byte for byte what `pack` was given. Used by `PackedPages` alone, on bytes that
//! never leave memory.

use std::cell::RefCell;
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::CParameter;

/// Higher levels take twice the time for pages of rows and make them no smaller.
const LEVEL: i32 = 1;
/// A table for matches that fits into the nearest cache: of pages as small as these the level's own finds little more.
const HASH_LOG: u32 = 12;
/// Shorter matches, of four or five bytes, take more bits among digits and letters than they spare.
const MIN_MATCH: u32 = 6;

struct Codec {
    compressor: Compressor<'static>,
    decompressor: Decompressor<'static>,
    scratch: Vec<u8>,
}

thread_local! {
    /// Made when the thread packs its first page; `None` as well when the system has no memory for it.
    static CODEC: RefCell<Option<Codec>> = const { RefCell::new(None) };
}

impl Codec {
    fn new() -> std::io::Result<Codec> {
        let mut compressor = Compressor::new(LEVEL)?;
        compressor.set_parameter(CParameter::HashLog(HASH_LOG))?;
        compressor.set_parameter(CParameter::MinMatch(MIN_MATCH))?;
        // The reader knows the length, and nobody damages memory.
        compressor.set_parameter(CParameter::ContentSizeFlag(false))?;
        compressor.set_parameter(CParameter::ChecksumFlag(false))?;
        Ok(Codec { compressor, decompressor: Decompressor::new()?, scratch: Vec::new() })
    }
}

fn with_codec<T>(work: impl FnOnce(&mut Codec) -> Option<T>) -> Option<T> {
    CODEC.with_borrow_mut(|codec| {
        if codec.is_none() {
            *codec = Codec::new().ok();
        }
        codec.as_mut().and_then(work)
    })
}

/// Gives the packed page to `keep`, unless it does not become as short as `longest`.
pub(super) fn pack(page: &[u8], longest: usize, keep: impl FnOnce(&[u8])) {
    with_codec(|codec| {
        codec.scratch.resize(longest, 0);
        let length = codec.compressor.compress_to_buffer(page, &mut codec.scratch[..]).ok()?;
        debug_assert!((1..=longest).contains(&length), "a page is kept only if it becomes short enough");
        keep(&codec.scratch[..length]);
        Some(())
    });
}

/// Restores the page that `fetch` has put into the buffer that it gets. False: `fetch` says that it has none, or the page could
/// not be restored, and `page` holds anything.
pub(super) fn unpack(page: &mut [u8], fetch: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
    let length = page.len();
    let restored = with_codec(|codec| {
        fetch(&mut codec.scratch).then_some(())?;
        codec.decompressor.decompress_to_buffer(&codec.scratch, page).ok()
    });
    restored == Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::Random;
    use env::sim::SeededRandom;

    fn packed(page: &[u8], longest: usize) -> Option<Vec<u8>> {
        let mut packed = None;
        pack(page, longest, |bytes| packed = Some(bytes.to_vec()));
        packed
    }

    fn restores(packed: &[u8], page: &mut [u8]) -> bool {
        unpack(page, |bytes| {
            *bytes = packed.to_vec();
            true
        })
    }

    #[test]
    fn a_page_comes_back_as_it_was() {
        let random = SeededRandom::new(1);
        for size in [4096, 8192, 16384] {
            let text: Vec<u8> = (0..size).map(|_| b'0' + (random.u64() % 10) as u8).collect();
            let packed = packed(&text, size * 3 / 4).expect("digits take half a byte each");
            assert!(packed.len() < size / 2, "{} of {size}", packed.len());
            let mut page = vec![7; size];
            assert!(restores(&packed, &mut page) && page == text);
        }
    }

    #[test]
    fn what_stays_long_is_not_packed() {
        let random = SeededRandom::new(2);
        let noise: Vec<u8> = (0..8192).map(|_| random.u64() as u8).collect();
        assert_eq!(packed(&noise, 6144), None);
    }

    #[test]
    fn what_is_not_a_packed_page_restores_nothing() {
        let packed = packed(&[3; 4096], 3072).expect("one byte repeated");
        let mut page = vec![0; 4096];
        assert!(!restores(&packed[..packed.len() / 2], &mut page));
        assert!(!restores(b"no frame", &mut page));
        assert!(!unpack(&mut page, |_| false));
        // Of another length.
        assert!(!restores(&packed, &mut page[..2048]));
        assert!(!restores(&packed, &mut [0; 8192]));
    }
}
