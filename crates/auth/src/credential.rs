//! What the server keeps to check a password.
//!
//! Invariant: it is never the password itself. Made by the statements that set passwords, read by `exchange`.

use std::fmt;

use crate::plugin::Plugin;
use crate::proof::{SHA1_LENGTH, native_stage2};
use crate::sha256_crypt;

/// What the server keeps to check a password; never the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    plugin: Plugin,
    /// Empty for no password.
    stored: Vec<u8>,
}

/// The stored form is as good as a password for offline guessing, so it stays out of logs.
impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Credential").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

impl Credential {
    pub fn from_password(plugin: Plugin, password: &str) -> Self {
        Self::of_bytes(plugin, password.as_bytes())
    }

    pub fn of_bytes(plugin: Plugin, password: &[u8]) -> Self {
        if password.is_empty() {
            return Self { plugin, stored: Vec::new() };
        }
        let stored = match plugin {
            Plugin::CachingSha2 => sha256_crypt::store(password, &random_salt()),
            Plugin::Native => {
                let digits: String =
                    native_stage2(password).iter().map(|byte| format!("{byte:02X}")).collect();
                format!("*{digits}").into_bytes()
            }
        };
        Self { plugin, stored }
    }

    /// From `IDENTIFIED WITH plugin AS 'stored'`; `None` when that is no hash of the plugin.
    pub fn from_stored(plugin: Plugin, stored: &[u8]) -> Option<Self> {
        let valid = stored.is_empty()
            || match plugin {
                Plugin::CachingSha2 => sha256_crypt::is_well_formed(stored),
                Plugin::Native => native_bytes(stored).is_some(),
            };
        valid.then(|| Self { plugin, stored: stored.to_vec() })
    }

    pub fn plugin(&self) -> Plugin {
        self.plugin
    }

    /// The authentication string as `mysql.user` shows it.
    pub fn stored(&self) -> &[u8] {
        &self.stored
    }

    /// Whether this is the password behind it.
    pub fn fits(&self, password: &[u8]) -> bool {
        if self.stored.is_empty() || password.is_empty() {
            return self.stored.is_empty() && password.is_empty();
        }
        match self.plugin {
            Plugin::CachingSha2 => sha256_crypt::verify(password, &self.stored),
            Plugin::Native => self.native_stage2() == Some(native_stage2(password)),
        }
    }

    pub fn is_passwordless(&self) -> bool {
        self.stored.is_empty()
    }

    pub(crate) fn native_stage2(&self) -> Option<[u8; SHA1_LENGTH]> {
        native_bytes(&self.stored)
    }
}

/// The bytes behind `*` and forty hexadecimal digits.
fn native_bytes(stored: &[u8]) -> Option<[u8; SHA1_LENGTH]> {
    let digits = std::str::from_utf8(stored.strip_prefix(b"*")?).ok()?;
    if digits.len() != 2 * SHA1_LENGTH || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; SHA1_LENGTH];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(bytes)
}

/// Salt bytes of a stored hash must be printable enough to survive as text: seven bits, no NUL, no `$`.
fn random_salt() -> [u8; sha256_crypt::SALT_LENGTH] {
    let mut salt = [0; sha256_crypt::SALT_LENGTH];
    aws_lc_rs::rand::fill(&mut salt).expect("the operating system gives random bytes");
    salt.map(|byte| match byte & 0x7f {
        low @ 0..=0x20 => low + 0x40,
        b'$' => b'%',
        0x7f => b'~',
        byte => byte,
    })
}

/// Characters drawn at random, each as likely as the others.
pub fn random_text(characters: &[u8], length: usize) -> String {
    // Bytes from here on would make the first characters likelier.
    let fair = 256 - 256 % characters.len();
    let mut text = String::with_capacity(length);
    while text.len() < length {
        let mut bytes = [0; 32];
        aws_lc_rs::rand::fill(&mut bytes).expect("the operating system gives random bytes");
        let drawn = bytes.iter().map(|&byte| usize::from(byte)).filter(|&byte| byte < fair);
        text.extend(
            drawn.take(length - text.len()).map(|byte| char::from(characters[byte % characters.len()])),
        );
    }
    text
}
