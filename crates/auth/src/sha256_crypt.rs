//! The slow salted hash that `caching_sha2_password` stores: SHA-256 crypt (U. Drepper's specification) with
//! a salt of 20 bytes, written as `$A$005$<salt><43 digits>`, where hexadecimal 005 means 5 times 1,000 rounds.
//!
//! Called by `proof` (verify) and `account` (new passwords).

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Context, SHA256, digest};

use crate::base64::push_crypt_digits;

pub(crate) const SALT_LENGTH: usize = 20;
const DIGEST_LENGTH: usize = 32;
const ENCODED_LENGTH: usize = 43;
/// What new passwords are stored with.
const PREFIX: &[u8] = b"$A$005$";
const STORED_LENGTH: usize = PREFIX.len() + SALT_LENGTH + ENCODED_LENGTH;
const ROUND_UNIT: usize = 1_000;
const ROUND_COUNT: usize = 5 * ROUND_UNIT;

/// The stored form of `password`.
pub(crate) fn store(password: &[u8], salt: &[u8; SALT_LENGTH]) -> Vec<u8> {
    let mut stored = PREFIX.to_vec();
    stored.extend_from_slice(salt);
    stored.extend_from_slice(&encode(&hash(password, salt, ROUND_COUNT)));
    stored
}

/// Whether `stored` has the form that this module writes.
pub(crate) fn is_well_formed(stored: &[u8]) -> bool {
    round_count(stored).is_some()
}

fn round_count(stored: &[u8]) -> Option<usize> {
    let digits = stored.strip_prefix(b"$A$")?.first_chunk::<3>()?;
    if stored.len() != STORED_LENGTH || stored[PREFIX.len() - 1] != b'$' {
        return None;
    }
    let digits = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    let thousands = usize::from_str_radix(digits, 16).ok()?;
    (thousands >= ROUND_COUNT / ROUND_UNIT).then_some(thousands * ROUND_UNIT)
}

/// Whether `password` is the one behind `stored`; a malformed `stored` fits no password.
pub(crate) fn verify(password: &[u8], stored: &[u8]) -> bool {
    let Some(round_count) = round_count(stored) else { return false };
    let salt = &stored[PREFIX.len()..PREFIX.len() + SALT_LENGTH];
    let expected = &stored[PREFIX.len() + SALT_LENGTH..];
    verify_slices_are_equal(&encode(&hash(password, salt, round_count)), expected).is_ok()
}

/// The specification's steps; its letters name the digests: B of password and salt, A seeded by it, DP and DS
/// the blocks that every round mixes in.
fn hash(password: &[u8], salt: &[u8], round_count: usize) -> [u8; DIGEST_LENGTH] {
    let digest_b = digest_of(&[password, salt, password]);

    let mut context = Context::new(&SHA256);
    context.update(password);
    context.update(salt);
    context.update(&repeated(&digest_b, password.len()));
    let mut length = password.len();
    while length > 0 {
        context.update(if length & 1 == 1 { &digest_b } else { password });
        length >>= 1;
    }
    let mut digest_a = finish(context);

    let mut context = Context::new(&SHA256);
    for _ in 0..password.len() {
        context.update(password);
    }
    let block_p = repeated(&finish(context), password.len());

    let mut context = Context::new(&SHA256);
    for _ in 0..16 + usize::from(digest_a[0]) {
        context.update(salt);
    }
    let block_s = repeated(&finish(context), salt.len());

    for round in 0..round_count {
        let mut context = Context::new(&SHA256);
        let odd = round & 1 == 1;
        context.update(if odd { &block_p } else { &digest_a });
        if round % 3 != 0 {
            context.update(&block_s);
        }
        if round % 7 != 0 {
            context.update(&block_p);
        }
        context.update(if odd { &digest_a } else { &block_p });
        digest_a = finish(context);
    }
    digest_a
}

fn digest_of(pieces: &[&[u8]]) -> [u8; DIGEST_LENGTH] {
    let mut context = Context::new(&SHA256);
    for piece in pieces {
        context.update(piece);
    }
    finish(context)
}

fn finish(context: Context) -> [u8; DIGEST_LENGTH] {
    context.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
}

pub(crate) fn sha256(data: &[u8]) -> [u8; DIGEST_LENGTH] {
    digest(&SHA256, data).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

fn repeated(block: &[u8; DIGEST_LENGTH], length: usize) -> Vec<u8> {
    block.iter().copied().cycle().take(length).collect()
}

/// The specification's shuffled byte order: three bytes make four digits, the last two make three.
fn encode(hash: &[u8; DIGEST_LENGTH]) -> Vec<u8> {
    let mut digits = Vec::with_capacity(ENCODED_LENGTH);
    let (mut high, mut middle, mut low) = (0, 10, 20);
    for _ in 0..10 {
        let group = u32::from(hash[high]) << 16 | u32::from(hash[middle]) << 8 | u32::from(hash[low]);
        push_crypt_digits(&mut digits, group, 4);
        (high, middle, low) = (low + 1, high + 1, middle + 1);
    }
    push_crypt_digits(&mut digits, u32::from(hash[31]) << 8 | u32::from(hash[30]), 3);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(password: &str, salt: &str, rounds: usize, expected: &str) {
        let digits = encode(&hash(password.as_bytes(), salt.as_bytes(), rounds));
        assert_eq!(String::from_utf8(digits).expect("ASCII"), expected);
    }

    #[test]
    fn other_implementations_agree() {
        check("Hello world!", "saltstring", 5_000, "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5");
        check("Hello world!", "saltstringsaltst", 10_000, "3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA");
        check(
            "This is just a test",
            "toolongsaltstrin",
            5_000,
            "Un/5jzAHMgOGZ5.mWJpuVolil07guHPvOW8mGRcvxa5",
        );
    }

    #[test]
    fn only_the_right_password_fits() {
        let stored = store(b"secret", b"abcdefghijklmnopqrst");
        assert_eq!(stored.len(), 70);
        assert!(verify(b"secret", &stored));
        assert!(!verify(b"Secret", &stored));
        assert!(!verify(b"secret", &stored[..69]));
        assert!(!verify(b"", b""));
    }

    #[test]
    fn hashes_with_more_rounds_are_understood() {
        // What MySQL 9.7 stored for a password, with its 10,000 rounds.
        let mut stored = b"$A$00A$\x1aGM12+\x1c\x19\tp{Y(\x05\x7fXI=|\x1c".to_vec();
        stored.extend_from_slice(b".XSAOgZ9y0q/rlG5vsBJtrqs43hpDiYdOQghq0T2IYC");
        assert!(verify(b"secret", &stored) && !verify(b"Secret", &stored));
        stored[5] = b'0';
        assert!(!is_well_formed(&stored), "too few rounds");
        stored[4] = b'x';
        assert!(!is_well_formed(&stored));
    }
}
