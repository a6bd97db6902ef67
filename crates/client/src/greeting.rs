//! The server's first packet: who it is, what it can do and what a password is to be mixed with.
//!
//! Invariant: only what both sides can do is asked for. Called by `connection` once per connection.

use crate::field::Reader;
use crate::{Error, Result};

pub const LONG_PASSWORD: u32 = 1;
pub const FOUND_ROWS: u32 = 1 << 1;
pub const LONG_FLAG: u32 = 1 << 2;
pub const CONNECT_WITH_DB: u32 = 1 << 3;
pub const PROTOCOL_41: u32 = 1 << 9;
pub const SSL: u32 = 1 << 11;
pub const TRANSACTIONS: u32 = 1 << 13;
pub const SECURE_CONNECTION: u32 = 1 << 15;
pub const MULTI_STATEMENTS: u32 = 1 << 16;
pub const MULTI_RESULTS: u32 = 1 << 17;
pub const PS_MULTI_RESULTS: u32 = 1 << 18;
pub const PLUGIN_AUTH: u32 = 1 << 19;
pub const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
pub const DEPRECATE_EOF: u32 = 1 << 24;

/// What the server said first.
pub struct Greeting {
    pub version: String,
    pub thread: u32,
    pub salt: Vec<u8>,
    pub capabilities: u32,
    pub plugin: String,
}

impl Greeting {
    pub fn parse(packet: &[u8]) -> Result<Self> {
        if packet.first() == Some(&0xff) {
            return Err(server_error(packet));
        }
        let mut reader = Reader::new(packet);
        if reader.integer(1)? != 10 {
            return Err(Error::Protocol("the server does not speak protocol 10"));
        }
        let version = String::from_utf8_lossy(reader.zero_ended()?).into_owned();
        let thread = reader.integer(4)? as u32;
        let mut salt = reader.bytes(8)?.to_vec();
        reader.bytes(1)?;
        let mut capabilities = reader.integer(2)? as u32;
        if reader.rest.is_empty() {
            return Ok(Self { version, thread, salt, capabilities, plugin: String::new() });
        }
        reader.bytes(3)?;
        capabilities |= (reader.integer(2)? as u32) << 16;
        let salt_length = reader.integer(1)? as usize;
        reader.bytes(10)?;
        let more = salt_length.saturating_sub(8).max(13).min(reader.rest.len());
        salt.extend_from_slice(reader.bytes(more)?);
        while salt.len() > 20 {
            salt.pop();
        }
        let plugin = match reader.zero_ended() {
            Ok(name) => String::from_utf8_lossy(name).into_owned(),
            Err(_) => String::from_utf8_lossy(reader.rest).into_owned(),
        };
        Ok(Self { version, thread, salt, capabilities, plugin })
    }
}

/// The error that a packet which begins with 0xff tells.
pub fn server_error(packet: &[u8]) -> Error {
    let mut reader = Reader::new(packet.get(1..).unwrap_or_default());
    let Ok(code) = reader.integer(2) else { return Error::Protocol("an error without a number") };
    let mut state = "HY000".to_owned();
    if reader.rest.first() == Some(&b'#') && reader.rest.len() >= 6 {
        state = String::from_utf8_lossy(&reader.rest[1..6]).into_owned();
        reader.rest = &reader.rest[6..];
    }
    Error::Server { code: code as u16, state, message: String::from_utf8_lossy(reader.rest).into_owned() }
}
