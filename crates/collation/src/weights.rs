//! The sequence of weights of a string under a collation: what comparing, hashing and sort keys all read.
//!
//! Invariant: two strings are equal under a collation when their weight sequences are (after padding). Weights of
//! the Unicode table are never 0, which sort keys rely on; weights of byte collations are the byte plus one.
use crate::registry::Weighing;
use crate::unicode::{INVALID_BASE, decode};
use crate::weight_table::{EXPANSION_BASE, GENERAL, NO_ENTRY, UcaVersion};

/// Stands for every character outside the Basic Multilingual Plane in the general collations.
const REPLACEMENT_WEIGHT: u16 = 0xFFFD;

pub(crate) struct Weights<'a> {
    weighing: Weighing,
    rest: &'a [u8],
    /// Weights of the current character still to come.
    pending: &'static [u16],
    /// The second half of an implicit weight.
    pending_implicit: u16,
}

/// The weights of one UCA character.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum UcaWeights {
    Ignorable,
    Single(u16),
    Implicit(u16, u16),
    Expansion(&'static [u16]),
}

impl<'a> Weights<'a> {
    pub(crate) fn new(weighing: Weighing, bytes: &'a [u8]) -> Weights<'a> {
        Weights { weighing, rest: bytes, pending: &[], pending_implicit: 0 }
    }

    #[inline]
    fn next_uca(&mut self, version: UcaVersion) -> Option<u16> {
        if let Some((first, rest)) = self.pending.split_first() {
            self.pending = rest;
            return Some(*first);
        }
        if self.pending_implicit != 0 {
            return Some(std::mem::take(&mut self.pending_implicit));
        }
        loop {
            let first = *self.rest.first()?;
            if first < 0x80 {
                self.rest = &self.rest[1..];
                match version.ascii()[first as usize] {
                    0 => continue,
                    weight => return Some(weight),
                }
            }
            let decoded = decode(self.rest);
            self.rest = &self.rest[decoded.byte_count..];
            match uca_weights(version, decoded.code_point) {
                UcaWeights::Ignorable => {}
                UcaWeights::Single(weight) => return Some(weight),
                UcaWeights::Implicit(weight, second) => {
                    self.pending_implicit = second;
                    return Some(weight);
                }
                UcaWeights::Expansion(weights) => {
                    self.pending = &weights[1..];
                    return Some(weights[0]);
                }
            }
        }
    }
}

/// Calls `take` with every weight: the same sequence as `Weights`, with one tight loop per kind of collation.
#[inline]
pub(crate) fn for_each_weight(weighing: Weighing, bytes: &[u8], mut take: impl FnMut(u16)) {
    match weighing {
        Weighing::Uca(version) => {
            let ascii = version.ascii();
            let mut rest = bytes;
            while let Some(first) = rest.first() {
                if *first < 0x80 {
                    let weight = ascii[usize::from(*first)];
                    if weight != 0 {
                        take(weight);
                    }
                    rest = &rest[1..];
                    continue;
                }
                let decoded = decode(rest);
                rest = &rest[decoded.byte_count..];
                match uca_weights(version, decoded.code_point) {
                    UcaWeights::Ignorable => {}
                    UcaWeights::Single(weight) => take(weight),
                    UcaWeights::Implicit(first, second) => {
                        take(first);
                        take(second);
                    }
                    UcaWeights::Expansion(weights) => weights.iter().copied().for_each(&mut take),
                }
            }
        }
        Weighing::Bytes => bytes.iter().for_each(|byte| take(u16::from(*byte) + 1)),
        Weighing::ByteTable(table) => {
            bytes.iter().for_each(|byte| take(u16::from(table[usize::from(*byte)]) + 1));
        }
        Weighing::General => {
            let mut rest = bytes;
            while !rest.is_empty() {
                let decoded = decode(rest);
                rest = &rest[decoded.byte_count..];
                take(general_weight(decoded.code_point));
            }
        }
    }
}

impl Iterator for Weights<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        match self.weighing {
            Weighing::Uca(version) => self.next_uca(version),
            Weighing::Bytes => {
                let (first, rest) = self.rest.split_first()?;
                self.rest = rest;
                Some(u16::from(*first) + 1)
            }
            Weighing::ByteTable(table) => {
                let (first, rest) = self.rest.split_first()?;
                self.rest = rest;
                Some(u16::from(table[*first as usize]) + 1)
            }
            Weighing::General => {
                if self.rest.is_empty() {
                    return None;
                }
                let decoded = decode(self.rest);
                self.rest = &self.rest[decoded.byte_count..];
                Some(general_weight(decoded.code_point))
            }
        }
    }
}

/// The weight of a character in the general collations.
#[inline]
pub(crate) fn general_weight(code_point: u32) -> u16 {
    if code_point < 0x80 {
        return u16::from((code_point as u8).to_ascii_uppercase());
    }
    if code_point > 0xFFFF {
        return REPLACEMENT_WEIGHT;
    }
    match GENERAL.entry(code_point) {
        NO_ENTRY => code_point as u16,
        weight => weight,
    }
}

/// The UCA primary weights of any character.
pub(crate) fn uca_weights(version: UcaVersion, code_point: u32) -> UcaWeights {
    let table = version.table();
    match table.entry(code_point) {
        0 => UcaWeights::Ignorable,
        NO_ENTRY => match version {
            UcaVersion::V400 | UcaVersion::V520 => old_implicit_weights(version, code_point),
            UcaVersion::V900 => implicit_weights(code_point),
        },
        entry if entry >= EXPANSION_BASE => UcaWeights::Expansion(table.expansion(entry)),
        weight => UcaWeights::Single(weight),
    }
}

/// Two weights made from a code point: the base tells what kind of character it is.
fn implicit(base: u16, code_point: u32) -> UcaWeights {
    UcaWeights::Implicit(base + (code_point >> 15) as u16, (code_point & 0x7FFF) as u16 | 0x8000)
}

fn invalid_byte(code_point: u32) -> UcaWeights {
    UcaWeights::Single(0xFF00 | (code_point - INVALID_BASE) as u16)
}

/// Characters without an entry in the older tables. UCA 4.0.0 collations know the Basic Multilingual Plane only.
fn old_implicit_weights(version: UcaVersion, code_point: u32) -> UcaWeights {
    match code_point {
        INVALID_BASE.. => invalid_byte(code_point),
        0x1_0000.. if version == UcaVersion::V400 => UcaWeights::Single(REPLACEMENT_WEIGHT),
        0x4E00..=0x9FA5 => implicit(0xFB40, code_point),
        0x3400..=0x4DB5 => implicit(0xFB80, code_point),
        _ => implicit(0xFBC0, code_point),
    }
}

/// Characters without an entry in UCA 9.0.0: Hangul syllables weigh as their jamo, others by code point (UTS #10,
/// 10.1.3).
fn implicit_weights(code_point: u32) -> UcaWeights {
    if let Some(syllable) = hangul_weights(code_point) {
        return UcaWeights::Expansion(syllable);
    }
    match code_point {
        INVALID_BASE.. => invalid_byte(code_point),
        0x17000..=0x18AFF => UcaWeights::Implicit(0xFB00, (code_point - 0x17000) as u16 | 0x8000),
        0x4E00..=0x9FD5 | 0xFA0E..=0xFA0F | 0xFA11 | 0xFA13..=0xFA14 => implicit(0xFB40, code_point),
        0xFA1F | 0xFA21 | 0xFA23..=0xFA24 | 0xFA27..=0xFA29 => implicit(0xFB40, code_point),
        0x3400..=0x4DB5 | 0x20000..=0x2A6D6 | 0x2A700..=0x2B734 | 0x2B740..=0x2B81D | 0x2B820..=0x2CEA1 => {
            implicit(0xFB80, code_point)
        }
        _ => implicit(0xFBC0, code_point),
    }
}

const HANGUL_FIRST: u32 = 0xAC00;
/// MySQL takes the whole block up to U+D7AF as syllables, the last twelve of which Unicode leaves unassigned.
const HANGUL_COUNT: usize = 11_184;

/// Jamo weights of every Hangul syllable, made on first use: 67 kB that only Korean text needs.
fn hangul_weights(code_point: u32) -> Option<&'static [u16]> {
    static SYLLABLES: std::sync::OnceLock<Vec<[u16; 3]>> = std::sync::OnceLock::new();
    let index = code_point.checked_sub(HANGUL_FIRST)? as usize;
    if index >= HANGUL_COUNT {
        return None;
    }
    let syllables = SYLLABLES.get_or_init(|| {
        let table = UcaVersion::V900.table();
        (0..HANGUL_COUNT as u32)
            .map(|index| {
                let leading = table.entry(0x1100 + index / 588);
                let vowel = table.entry(0x1161 + index % 588 / 28);
                let trailing = if index % 28 == 0 { 0 } else { table.entry(0x11A7 + index % 28) };
                [leading, vowel, trailing]
            })
            .collect()
    });
    let weights = &syllables[index];
    Some(if weights[2] == 0 { &weights[..2] } else { &weights[..] })
}
