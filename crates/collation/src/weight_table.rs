//! The paged weight tables written by `examples/generate_tables.rs`, read in place.
//!
//! Layout in 16-bit words: page count, directory length, directory (0xFFFF for no page), pages of 256 entries,
//! expansions. The tables are part of the binary, so their offsets are trusted.
//!
//! The `uca_primary_*.bin` tables are made from the Default Unicode Collation Element Tables of UCA 4.0.0, 5.2.0 and
//! 9.0.0 (allkeys.txt), Copyright 2016 Unicode, Inc., used under the Unicode terms of use
//! (http://www.unicode.org/terms_of_use.html).

pub(crate) const NO_ENTRY: u16 = 0xFFFF;
pub(crate) const EXPANSION_BASE: u16 = 0x8000;

const UCA_400_BYTES: &[u8] = include_bytes!("uca_primary_4_0_0.bin");
const UCA_520_BYTES: &[u8] = include_bytes!("uca_primary_5_2_0.bin");
const UCA_900_BYTES: &[u8] = include_bytes!("uca_primary_9_0_0.bin");
const GENERAL_BYTES: &[u8] = include_bytes!("general_weights.bin");

static UCA_400_WORDS: [u16; UCA_400_BYTES.len() / 2] = words(UCA_400_BYTES);
static UCA_520_WORDS: [u16; UCA_520_BYTES.len() / 2] = words(UCA_520_BYTES);
static UCA_900_WORDS: [u16; UCA_900_BYTES.len() / 2] = words(UCA_900_BYTES);
static GENERAL_WORDS: [u16; GENERAL_BYTES.len() / 2] = words(GENERAL_BYTES);

/// By `UcaVersion`.
static UCA: [WeightTable; 3] =
    [WeightTable::new(&UCA_400_WORDS), WeightTable::new(&UCA_520_WORDS), WeightTable::new(&UCA_900_WORDS)];

/// The UCA weights of 7-bit characters by `UcaVersion`, so that ASCII text needs no table walk; 0 is ignorable.
static ASCII_UCA: [[u16; 128]; 3] =
    [ascii_weights(UCA_400_BYTES), ascii_weights(UCA_520_BYTES), ascii_weights(UCA_900_BYTES)];

/// See `UcaVersion::key_weights`.
static KEY_UCA: [[u16; 256]; 3] =
    [key_weights(UCA_400_BYTES), key_weights(UCA_520_BYTES), key_weights(UCA_900_BYTES)];

/// Which version of the Unicode Collation Algorithm's default table a collation weighs by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UcaVersion {
    V400,
    V520,
    V900,
}

impl UcaVersion {
    #[inline]
    pub(crate) fn table(self) -> &'static WeightTable {
        &UCA[self as usize]
    }

    /// The weights of the 7-bit characters as two bytes of a sort key, the most significant first; 0 for all other bytes.
    #[inline]
    pub(crate) fn key_weights(self) -> &'static [u16; 256] {
        &KEY_UCA[self as usize]
    }

    #[inline]
    pub(crate) fn ascii(self) -> &'static [u16; 128] {
        &ASCII_UCA[self as usize]
    }
}

pub(crate) static GENERAL: WeightTable = WeightTable::new(&GENERAL_WORDS);

const fn words<const LENGTH: usize>(bytes: &[u8]) -> [u16; LENGTH] {
    let mut words = [0u16; LENGTH];
    let mut index = 0;
    while index < LENGTH {
        words[index] = u16::from_le_bytes([bytes[index * 2], bytes[index * 2 + 1]]);
        index += 1;
    }
    words
}

/// The UCA entries of the 7-bit characters: the first 128 of page 0, each a single weight or ignorable.
const fn ascii_weights(bytes: &[u8]) -> [u16; 128] {
    let page_start = 2 + u16::from_le_bytes([bytes[2], bytes[3]]) as usize;
    let mut weights = [0u16; 128];
    let mut byte = 0;
    while byte < 128 {
        let at = (page_start + byte) * 2;
        weights[byte] = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        assert!(weights[byte] < EXPANSION_BASE, "no 7-bit character expands");
        byte += 1;
    }
    weights
}

/// As numbers whose lower byte is the one that comes first in a key.
const fn key_weights(bytes: &[u8]) -> [u16; 256] {
    let ascii = ascii_weights(bytes);
    let mut weights = [0u16; 256];
    let mut byte = 0;
    while byte < 128 {
        weights[byte] = ascii[byte].swap_bytes();
        byte += 1;
    }
    weights
}

pub(crate) struct WeightTable {
    words: &'static [u16],
    directory_length: usize,
    pages_start: usize,
    expansions_start: usize,
}

impl WeightTable {
    const fn new(words: &'static [u16]) -> WeightTable {
        let directory_length = words[1] as usize;
        let pages_start = 2 + directory_length;
        let expansions_start = pages_start + words[0] as usize * 256;
        WeightTable { words, directory_length, pages_start, expansions_start }
    }

    /// The raw entry of a code point, `NO_ENTRY` when the table says nothing about it.
    #[inline]
    pub(crate) fn entry(&self, code_point: u32) -> u16 {
        let page_number = code_point as usize >> 8;
        if page_number >= self.directory_length {
            return NO_ENTRY;
        }
        match self.words[2 + page_number] {
            NO_ENTRY => NO_ENTRY,
            page => self.words[self.pages_start + page as usize * 256 + (code_point as usize & 0xFF)],
        }
    }

    /// The weights that an entry from `EXPANSION_BASE` up stands for.
    pub(crate) fn expansion(&self, entry: u16) -> &'static [u16] {
        let at = self.expansions_start + (entry - EXPANSION_BASE) as usize;
        &self.words[at + 1..at + 1 + self.words[at] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_known_characters() {
        let table = UcaVersion::V900.table();
        assert_eq!(table.entry(u32::from('a')), 0x1C47);
        assert_eq!(table.entry(u32::from('A')), 0x1C47);
        assert_eq!(table.entry(0), 0);
        assert_eq!(table.expansion(table.entry(u32::from('ß'))), [0x1E71, 0x1E71]);
        assert_eq!(table.entry(0x4E2D), NO_ENTRY);
        assert_eq!(table.entry(0x10_FFFF), NO_ENTRY);
        assert_eq!(UcaVersion::V400.table().entry(u32::from('a')), 0x0E33);
        assert_eq!(UcaVersion::V520.table().entry(u32::from('a')), 0x120F);
        assert_eq!(GENERAL.entry(u32::from('é')), 0x45);
        assert_eq!(GENERAL.entry(u32::from('z')), 0x5A);
        assert_eq!(GENERAL.entry(0x4E2D), NO_ENTRY);
    }
}
