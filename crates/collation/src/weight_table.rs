//! The paged weight tables written by `examples/generate_tables.rs`, read in place.
//!
//! Layout in 16-bit words: page count, directory length, directory (0xFFFF for no page), pages of 256 entries,
//! expansions. The tables are part of the binary, so their offsets are trusted.
//!
//! `uca_primary_9_0_0.bin` is made from the Default Unicode Collation Element Table, allkeys-9.0.0.txt,
//! Copyright 2016 Unicode, Inc., used under the Unicode terms of use (http://www.unicode.org/terms_of_use.html).

pub(crate) const NO_ENTRY: u16 = 0xFFFF;
pub(crate) const EXPANSION_BASE: u16 = 0x8000;

const UCA_BYTES: &[u8] = include_bytes!("uca_primary_9_0_0.bin");
const GENERAL_BYTES: &[u8] = include_bytes!("general_weights.bin");

static UCA_WORDS: [u16; UCA_BYTES.len() / 2] = words(UCA_BYTES);
static GENERAL_WORDS: [u16; GENERAL_BYTES.len() / 2] = words(GENERAL_BYTES);

pub(crate) static UCA: WeightTable = WeightTable::new(&UCA_WORDS);
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
pub(crate) const fn ascii_weights() -> [u16; 128] {
    let bytes = UCA_BYTES;
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
        assert_eq!(UCA.entry(u32::from('a')), 0x1C47);
        assert_eq!(UCA.entry(u32::from('A')), 0x1C47);
        assert_eq!(UCA.entry(0), 0);
        assert_eq!(UCA.expansion(UCA.entry(u32::from('ß'))), [0x1E71, 0x1E71]);
        assert_eq!(UCA.entry(0x4E2D), NO_ENTRY);
        assert_eq!(UCA.entry(0x10_FFFF), NO_ENTRY);
        assert_eq!(GENERAL.entry(u32::from('é')), 0x45);
        assert_eq!(GENERAL.entry(u32::from('z')), 0x5A);
        assert_eq!(GENERAL.entry(0x4E2D), NO_ENTRY);
    }
}
