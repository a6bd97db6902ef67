//! Proves a password: mysql_native_password, caching_sha2_password, sha256_password, and mysql_clear_password over TLS.
//!
//! Invariant: a password leaves in the clear over TLS or a Unix socket only; else it goes under the server's RSA key.
//! Called by `connection` while it connects.

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};

use crate::{Error, Result};

/// What a client says to prove its password, by the method `plugin`.
pub fn proof(plugin: &str, password: &str, salt: &[u8], is_private: bool) -> Result<Vec<u8>> {
    if password.is_empty() {
        return Ok(Vec::new());
    }
    match plugin {
        "mysql_native_password" => {
            let first = digest(&SHA1_FOR_LEGACY_USE_ONLY, password.as_bytes());
            let second = digest(&SHA1_FOR_LEGACY_USE_ONLY, first.as_ref());
            let mixed = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[salt, second.as_ref()].concat());
            Ok(exclusive_or(first.as_ref(), mixed.as_ref()))
        }
        "caching_sha2_password" => {
            let first = digest(&SHA256, password.as_bytes());
            let second = digest(&SHA256, first.as_ref());
            let mixed = digest(&SHA256, &[second.as_ref(), salt].concat());
            Ok(exclusive_or(first.as_ref(), mixed.as_ref()))
        }
        "mysql_clear_password" | "sha256_password" if is_private => Ok(in_the_clear(password)),
        // It asks for the server's key, under which the password goes then.
        "sha256_password" => Ok(vec![1]),
        "mysql_clear_password" => {
            Err(Error::Usage("the server wants a password in the clear: use ssl-mode=required".into()))
        }
        other => Err(Error::Usage(format!("the authentication method {other} is not supported"))),
    }
}

/// The password with its closing zero.
pub fn in_the_clear(password: &str) -> Vec<u8> {
    let mut bytes = password.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

/// The password under the server's public key, as caching_sha2_password has it.
pub fn under_key(password: &str, salt: &[u8], pem: &[u8]) -> Result<Vec<u8>> {
    let unusable = |_| Error::Protocol("the server's public key cannot be used");
    let der = from_pem(pem).ok_or(Error::Protocol("the server's public key is not PEM"))?;
    let key = PublicEncryptingKey::from_der(&der)
        .map_err(|_| Error::Protocol("the server's public key is not RSA"))?;
    let key = OaepPublicEncryptingKey::new(key).map_err(unusable)?;
    let plain = in_the_clear(password);
    let mixed: Vec<u8> = plain.iter().zip(salt.iter().cycle()).map(|(a, b)| a ^ b).collect();
    let mut sealed = vec![0; key.ciphertext_size()];
    let length = key.encrypt(&OAEP_SHA1_MGF1SHA1, &mixed, &mut sealed, None).map_err(unusable)?.len();
    sealed.truncate(length);
    Ok(sealed)
}

fn exclusive_or(left: &[u8], right: &[u8]) -> Vec<u8> {
    left.iter().zip(right).map(|(a, b)| a ^ b).collect()
}

fn from_pem(pem: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(pem).ok()?;
    let body = text.split("-----").nth(2)?;
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in body.bytes().filter(|letter| !letter.is_ascii_whitespace() && *letter != b'=') {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_password_proves_nothing_and_an_unknown_method_is_refused() {
        assert!(proof("mysql_native_password", "", b"12345678901234567890", false).unwrap().is_empty());
        assert!(proof("client_ed25519", "x", b"1", true).is_err());
        assert!(proof("mysql_clear_password", "x", b"1", false).is_err());
        assert_eq!(proof("mysql_native_password", "x", &[1; 20], false).unwrap().len(), 20);
        assert_eq!(proof("caching_sha2_password", "x", &[1; 20], false).unwrap().len(), 32);
        assert_eq!(proof("sha256_password", "x", &[1; 20], false).unwrap(), [1], "the key is asked for");
        assert_eq!(proof("sha256_password", "x", &[1; 20], true).unwrap(), b"x\0");
    }

    #[test]
    fn base64_is_read() {
        assert_eq!(from_pem(b"-----BEGIN X-----\naGVs\nbG8=\n-----END X-----\n").unwrap(), b"hello");
    }
}
