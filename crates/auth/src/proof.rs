//! The challenge-response arithmetic of both plugins.
//!
//! Called by `exchange` and `account`. All comparisons take the same time wherever the bytes differ.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use crate::sha256_crypt::sha256;

pub(crate) const SHA1_LENGTH: usize = 20;
pub(crate) const SHA256_LENGTH: usize = 32;

fn sha1(data: &[u8]) -> [u8; SHA1_LENGTH] {
    digest(&SHA1_FOR_LEGACY_USE_ONLY, data).as_ref().try_into().expect("SHA-1 has 20 bytes")
}

/// What `mysql_native_password` keeps of a password: SHA1(SHA1(password)).
pub(crate) fn native_stage2(password: &[u8]) -> [u8; SHA1_LENGTH] {
    sha1(&sha1(password))
}

/// The client sends SHA1(password) XOR SHA1(salt, stage2).
pub(crate) fn verify_native(proof: &[u8], salt: &[u8; 20], stage2: &[u8; SHA1_LENGTH]) -> bool {
    let Ok(proof) = <&[u8; SHA1_LENGTH]>::try_from(proof) else { return false };
    let mut stage1 = sha1(&[&salt[..], stage2].concat());
    for (byte, proof) in stage1.iter_mut().zip(proof) {
        *byte ^= proof;
    }
    verify_slices_are_equal(&sha1(&stage1), stage2).is_ok()
}

/// What the fast path of `caching_sha2_password` remembers: SHA256(SHA256(password)).
pub(crate) fn sha2_stage2(password: &[u8]) -> [u8; SHA256_LENGTH] {
    sha256(&sha256(password))
}

/// The client sends SHA256(password) XOR SHA256(stage2, salt).
pub(crate) fn verify_sha2(proof: &[u8], salt: &[u8; 20], stage2: &[u8; SHA256_LENGTH]) -> bool {
    let Ok(proof) = <&[u8; SHA256_LENGTH]>::try_from(proof) else { return false };
    let mut stage1 = sha256(&[&stage2[..], salt].concat());
    for (byte, proof) in stage1.iter_mut().zip(proof) {
        *byte ^= proof;
    }
    verify_slices_are_equal(&sha256(&stage1), stage2).is_ok()
}

#[cfg(test)]
pub(crate) mod client {
    //! The client's half, for tests.
    use super::*;

    pub(crate) fn native(password: &[u8], salt: &[u8; 20]) -> Vec<u8> {
        let mask = sha1(&[&salt[..], &native_stage2(password)].concat());
        sha1(password).iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
    }

    pub(crate) fn sha2(password: &[u8], salt: &[u8; 20]) -> Vec<u8> {
        let mask = sha256(&[&sha2_stage2(password)[..], salt].concat());
        sha256(password).iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: &[u8; 20] = b"abcdefghijklmnopqrst";

    #[test]
    fn native_proofs() {
        let stage2 = native_stage2(b"password");
        // The widely published PASSWORD('password').
        let hex: String = stage2.iter().map(|byte| format!("{byte:02X}")).collect();
        assert_eq!(hex, "2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
        assert!(verify_native(&client::native(b"password", SALT), SALT, &stage2));
        assert!(!verify_native(&client::native(b"Password", SALT), SALT, &stage2));
        assert!(!verify_native(b"", SALT, &stage2));
    }

    #[test]
    fn sha2_proofs() {
        let stage2 = sha2_stage2(b"password");
        assert!(verify_sha2(&client::sha2(b"password", SALT), SALT, &stage2));
        assert!(!verify_sha2(&client::sha2(b"password ", SALT), SALT, &stage2));
        assert!(!verify_sha2(&[0; 31], SALT, &stage2));
    }
}
