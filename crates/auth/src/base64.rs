//! The two base-64 alphabets needed here: that of PEM files and that of crypt hashes.

use std::iter;

const PEM_ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const CRYPT_ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PEM_LINE_LENGTH: usize = 64;

/// A PEM block: the label's lines around the data in lines of 64 characters.
pub(crate) fn pem(label: &str, data: &[u8]) -> String {
    let mut body = String::new();
    for chunk in data.chunks(3) {
        let group =
            chunk.iter().chain(iter::repeat(&0)).take(3).fold(0u32, |sum, &byte| sum << 8 | u32::from(byte));
        for position in 0..4u32 {
            let used = position as usize <= chunk.len();
            let digit = (group >> (18 - 6 * position) & 63) as usize;
            body.push(if used { char::from(PEM_ALPHABET[digit]) } else { '=' });
        }
    }
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in body.as_bytes().chunks(PEM_LINE_LENGTH) {
        text.extend(line.iter().map(|&byte| char::from(byte)));
        text.push('\n');
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

/// Appends the lowest 6-bit groups of `value`, lowest first, as crypt hashes have them.
pub(crate) fn push_crypt_digits(out: &mut Vec<u8>, mut value: u32, count: usize) {
    for _ in 0..count {
        out.push(CRYPT_ALPHABET[(value & 63) as usize]);
        value >>= 6;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pem_pads() {
        assert_eq!(pem("X", b"a"), "-----BEGIN X-----\nYQ==\n-----END X-----\n");
        assert_eq!(pem("X", b"ab"), "-----BEGIN X-----\nYWI=\n-----END X-----\n");
        assert_eq!(pem("X", b"abc"), "-----BEGIN X-----\nYWJj\n-----END X-----\n");
    }
}
