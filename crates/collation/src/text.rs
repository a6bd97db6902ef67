//! Strings as sequences of characters: counting, cutting, validity and case, per character set.
//!
//! Positions are counted in characters as SQL counts them. A byte that is not valid counts as one character.
use crate::charset::Charset;
use crate::unicode::{INVALID_BASE, decode};
use env::LONG_PIECE;

impl Charset {
    /// The character at the start of `bytes` (not empty) and its length. In single-byte sets it is the byte.
    #[inline]
    pub fn decode_first(self, bytes: &[u8]) -> (u32, usize) {
        if self.is_unicode() {
            let decoded = decode(bytes);
            (decoded.code_point, decoded.byte_count)
        } else {
            (u32::from(bytes[0]), 1)
        }
    }

    /// The bytes of each character in order.
    pub fn characters(self, bytes: &[u8]) -> Characters<'_> {
        Characters { charset: self, rest: bytes, uncounted: 0 }
    }

    pub fn character_count(self, bytes: &[u8]) -> usize {
        if !self.is_unicode() || bytes.is_ascii() { bytes.len() } else { self.characters(bytes).count() }
    }

    /// The byte offset at which character number `index` (from 0) starts; the length when there are fewer.
    pub fn byte_offset(self, bytes: &[u8], index: usize) -> usize {
        if !self.is_unicode() {
            return index.min(bytes.len());
        }
        if index >= bytes.len() {
            return bytes.len();
        }
        self.characters(bytes).take(index).map(<[u8]>::len).sum()
    }

    /// The length of the longest prefix of well-formed characters.
    pub fn valid_prefix_length(self, bytes: &[u8]) -> usize {
        match self {
            Charset::Latin1 | Charset::Binary => bytes.len(),
            Charset::Ascii => bytes.iter().position(|byte| *byte >= 0x80).unwrap_or(bytes.len()),
            Charset::Utf8mb4 | Charset::Utf8mb3 => {
                let valid = valid_utf8_length(bytes);
                if self == Charset::Utf8mb4 {
                    return valid;
                }
                // utf8mb3 has no four-byte characters, whose first byte is F0 or more.
                bytes[..valid].iter().position(|byte| *byte >= 0xF0).unwrap_or(valid)
            }
        }
    }

    pub fn is_valid(self, bytes: &[u8]) -> bool {
        self.valid_prefix_length(bytes) == bytes.len()
    }

    pub fn to_upper(self, bytes: &[u8]) -> Vec<u8> {
        self.map_case(bytes, u8::to_ascii_uppercase, |character| {
            let mut mapped = character.to_uppercase();
            (mapped.next(), mapped.next())
        })
    }

    pub fn to_lower(self, bytes: &[u8]) -> Vec<u8> {
        self.map_case(bytes, u8::to_ascii_lowercase, |character| {
            if character == 'İ' {
                // The one letter whose simple mapping the standard library lacks.
                return (Some('i'), None);
            }
            let mut mapped = character.to_lowercase();
            (mapped.next(), mapped.next())
        })
    }

    /// Characters whose other case is more than one character keep their case, as in MySQL.
    fn map_case(
        self,
        bytes: &[u8],
        ascii: fn(&u8) -> u8,
        full: fn(char) -> (Option<char>, Option<char>),
    ) -> Vec<u8> {
        if self == Charset::Binary {
            return bytes.to_vec();
        }
        if bytes.is_ascii() {
            let mut mapped = Vec::with_capacity(bytes.len());
            for piece in bytes.chunks(LONG_PIECE) {
                mapped.extend(piece.iter().map(ascii));
                env::tick_long(piece.len());
            }
            return mapped;
        }
        let mut mapped = Vec::with_capacity(bytes.len());
        for character_bytes in self.characters(bytes) {
            if character_bytes[0] < 0x80 {
                mapped.push(ascii(&character_bytes[0]));
                continue;
            }
            // In latin1 the letters of cp1252's extra columns have no case for MySQL (0x9F and 0xFF, 0x8A and 0x9A).
            let has_case = self != Charset::Latin1 || (0xC0..0xFF).contains(&character_bytes[0]);
            let other = self.to_char(character_bytes).filter(|_| has_case).and_then(|character| {
                match full(character) {
                    (Some(single), None) => Some(single),
                    _ => None,
                }
            });
            match other {
                Some(other) if self.encode(other, &mut mapped) => {}
                _ => mapped.extend_from_slice(character_bytes),
            }
        }
        mapped
    }

    /// The Unicode character that one character's bytes stand for.
    pub(crate) fn to_char(self, character_bytes: &[u8]) -> Option<char> {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => {
                let code_point = decode(character_bytes).code_point;
                if code_point >= INVALID_BASE { None } else { char::from_u32(code_point) }
            }
            Charset::Latin1 => Some(crate::latin1::to_char(character_bytes[0])),
            Charset::Ascii => character_bytes[0].is_ascii().then(|| char::from(character_bytes[0])),
            Charset::Binary => None,
        }
    }

    /// Appends a character's bytes in this set; false when the set lacks it.
    pub fn encode(self, character: char, bytes: &mut Vec<u8>) -> bool {
        match self {
            Charset::Utf8mb3 if u32::from(character) > 0xFFFF => return false,
            Charset::Utf8mb4 | Charset::Utf8mb3 => {
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Charset::Latin1 => match crate::latin1::from_char(character) {
                Some(byte) => bytes.push(byte),
                None => return false,
            },
            Charset::Ascii | Charset::Binary => match u8::try_from(character) {
                Ok(byte) if byte.is_ascii() => bytes.push(byte),
                _ => return false,
            },
        }
        true
    }
}

/// The length of the longest prefix that is UTF-8.
pub fn valid_utf8_length(bytes: &[u8]) -> usize {
    let mut valid = 0;
    loop {
        let end = bytes.len().min(valid + LONG_PIECE);
        match std::str::from_utf8(&bytes[valid..end]) {
            Ok(_) => valid = end,
            // A character that the piece has cut begins the next piece.
            Err(error) if error.error_len().is_none() && end < bytes.len() => valid += error.valid_up_to(),
            Err(error) => return valid + error.valid_up_to(),
        }
        if valid == bytes.len() {
            return valid;
        }
        env::tick_long(LONG_PIECE);
    }
}

#[derive(Clone)]
pub struct Characters<'a> {
    charset: Charset,
    rest: &'a [u8],
    /// Characters since the last that were counted as work.
    uncounted: usize,
}

impl<'a> Iterator for Characters<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.uncounted += 1;
        if self.uncounted == LONG_PIECE {
            self.uncounted = 0;
            env::tick_long(LONG_PIECE * 2);
        }
        let (_, length) = self.charset.decode_first(self.rest);
        let (character, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(character)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_and_cut() {
        let text = "aé中😀".as_bytes();
        assert_eq!(Charset::Utf8mb4.character_count(text), 4);
        assert_eq!(Charset::Utf8mb4.byte_offset(text, 2), 3);
        assert_eq!(Charset::Utf8mb4.byte_offset(text, 9), text.len());
        assert_eq!(Charset::Binary.character_count(text), 10);
        assert_eq!(Charset::Utf8mb3.valid_prefix_length(text), 6);
        assert_eq!(Charset::Utf8mb4.valid_prefix_length(b"ab\xff"), 2);
        assert_eq!(Charset::Ascii.valid_prefix_length(b"ab\xff"), 2);
    }

    #[test]
    fn case_follows_single_character_mappings() {
        assert_eq!(Charset::Utf8mb4.to_upper("straße é".as_bytes()), "STRAßE É".as_bytes());
        assert_eq!(Charset::Utf8mb4.to_lower("ÀÉİ".as_bytes()), "àéi".as_bytes());
        assert_eq!(Charset::Latin1.to_upper(b"a\xe9\xff"), b"A\xc9\xff");
        assert_eq!(Charset::Binary.to_upper(b"abc"), b"abc");
        assert_eq!(Charset::Utf8mb4.to_upper(b"a\xff"), b"A\xff");
    }
}
