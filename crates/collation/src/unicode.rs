//! Decoding UTF-8 one character at a time, tolerating bytes that are not UTF-8.
//!
//! Invariant: every byte string decodes; a byte that starts no character counts as one character of its own.

/// One decoded character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// The code point, or `INVALID_BASE` plus the byte for a byte that is not UTF-8.
    pub code_point: u32,
    pub byte_count: usize,
}

/// Above every code point, so that invalid bytes sort last and differ from each other.
pub(crate) const INVALID_BASE: u32 = 0x20_0000;

/// Decodes the character at the start of `bytes`, which must not be empty.
#[inline]
pub(crate) fn decode(bytes: &[u8]) -> Decoded {
    let first = bytes[0];
    if first < 0x80 {
        return Decoded { code_point: u32::from(first), byte_count: 1 };
    }
    decode_multibyte(bytes)
}

fn decode_multibyte(bytes: &[u8]) -> Decoded {
    let first = bytes[0];
    let invalid = Decoded { code_point: INVALID_BASE + u32::from(first), byte_count: 1 };
    let (byte_count, mut code_point, code_point_min) = match first {
        0xC2..=0xDF => (2, u32::from(first & 0x1F), 0x80),
        0xE0..=0xEF => (3, u32::from(first & 0x0F), 0x800),
        0xF0..=0xF4 => (4, u32::from(first & 0x07), 0x1_0000),
        _ => return invalid,
    };
    if bytes.len() < byte_count {
        return invalid;
    }
    for byte in &bytes[1..byte_count] {
        if byte & 0xC0 != 0x80 {
            return invalid;
        }
        code_point = code_point << 6 | u32::from(byte & 0x3F);
    }
    let is_surrogate = (0xD800..0xE000).contains(&code_point);
    if code_point < code_point_min || code_point > 0x10_FFFF || is_surrogate {
        return invalid;
    }
    Decoded { code_point, byte_count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library_on_every_character() {
        for character in (0..=0x10_FFFFu32).filter_map(char::from_u32) {
            let mut buffer = [0; 4];
            let bytes = character.encode_utf8(&mut buffer).as_bytes();
            let expected = Decoded { code_point: u32::from(character), byte_count: bytes.len() };
            assert_eq!(decode(bytes), expected);
        }
    }

    #[test]
    fn invalid_bytes_are_single_characters() {
        for bytes in [&b"\xff"[..], b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe4\xb8", b"\x80"] {
            assert_eq!(decode(bytes).byte_count, 1);
            assert_eq!(decode(bytes).code_point, INVALID_BASE + u32::from(bytes[0]));
        }
    }
}
