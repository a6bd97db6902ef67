//! The RSA key pair by which a client without TLS may send its password unread by others.
//!
//! Invariant: the private key never leaves this value; it lives as long as the process. One pair per server,
//! called by `exchange`.

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};

use crate::base64::pem;

/// A key pair of 2,048 bits.
#[derive(Debug)]
pub struct KeyPair {
    private: OaepPrivateDecryptingKey,
    public_pem: String,
}

impl KeyPair {
    /// Takes about a tenth of a second; `None` when the cryptographic library cannot make a key.
    pub fn generate() -> Option<Self> {
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).ok()?;
        let public_der = private.public_key().as_der().ok()?;
        let public_pem = pem("PUBLIC KEY", public_der.as_ref());
        let private = OaepPrivateDecryptingKey::new(private).ok()?;
        Some(Self { private, public_pem })
    }

    pub fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// The password in a client's message: encrypted, and before that mixed with the exchange's salt.
    pub(crate) fn decrypt_password(&self, message: &[u8], salt: &[u8; 20]) -> Option<Vec<u8>> {
        let mut buffer = vec![0; self.private.min_output_size()];
        let plain = self.private.decrypt(&OAEP_SHA1_MGF1SHA1, message, &mut buffer, None).ok()?;
        let mut password: Vec<u8> =
            plain.iter().zip(salt.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        // Clients send the terminating NUL with the password.
        (password.pop()? == 0).then_some(password)
    }
}

#[cfg(test)]
pub(crate) mod client {
    //! The client's half, for tests.
    use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};

    pub(crate) fn encrypt(public_pem: &str, password: &[u8], salt: &[u8; 20]) -> Vec<u8> {
        let body: Vec<u32> = public_pem
            .lines()
            .filter(|line| !line.starts_with('-'))
            .flat_map(str::bytes)
            .filter(|&byte| byte != b'=')
            .map(|byte| match byte {
                b'A'..=b'Z' => u32::from(byte - b'A'),
                b'a'..=b'z' => u32::from(byte - b'a') + 26,
                b'0'..=b'9' => u32::from(byte - b'0') + 52,
                b'+' => 62,
                _ => 63,
            })
            .collect();
        let mut der = Vec::new();
        for group in body.chunks(4) {
            let value = group.iter().fold(0, |sum, digit| sum << 6 | digit) << (6 * (4 - group.len()));
            der.extend_from_slice(&value.to_be_bytes()[1..group.len()]);
        }
        let key = PublicEncryptingKey::from_der(&der).expect("the PEM holds a key");
        let key = OaepPublicEncryptingKey::new(key).expect("large enough");
        let mut plain: Vec<u8> = password.iter().chain(&[0]).copied().collect();
        for (byte, mask) in plain.iter_mut().zip(salt.iter().cycle()) {
            *byte ^= mask;
        }
        let mut buffer = vec![0; key.ciphertext_size()];
        key.encrypt(&OAEP_SHA1_MGF1SHA1, &plain, &mut buffer, None).expect("fits").to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_travels() {
        let pair = KeyPair::generate().expect("a key");
        assert!(pair.public_pem().starts_with("-----BEGIN PUBLIC KEY-----\n"));
        let salt = b"abcdefghijklmnopqrst";
        let message = client::encrypt(pair.public_pem(), b"long secret, longer than the salt", salt);
        let password = pair.decrypt_password(&message, salt);
        assert_eq!(password.as_deref(), Some(&b"long secret, longer than the salt"[..]));
        assert_eq!(pair.decrypt_password(&message[1..], salt), None);
        assert_eq!(pair.decrypt_password(&[7; 256], salt), None);
        assert_eq!(pair.decrypt_password(&message, b"ABCDEFGHIJKLMNOPQRST"), None);
    }
}
