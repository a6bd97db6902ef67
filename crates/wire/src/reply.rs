//! The packets that end a response or stand alone: OK, ERR, EOF, prepare-OK and the authentication replies.
//!
//! All are methods of `PacketWriter`; the caller passes the connection's capabilities, because they decide the
//! layout. Called by `server::connection` and its result encoder.

use crate::capability::{Capabilities, StatusFlags};
use crate::confirmation::CONFIRMATION_MARK;
use crate::error::ProtocolError;
use crate::field::{put_length_encoded_bytes, put_length_encoded_integer};
use crate::packet::PacketWriter;
use crate::salt::Salt;

const OK_HEADER: u8 = 0x00;
const EOF_HEADER: u8 = 0xfe;
const ERROR_HEADER: u8 = 0xff;
const MORE_DATA_HEADER: u8 = 0x01;
/// Longest message of an error packet, as MySQL has it.
const MESSAGE_LENGTH_MAX: usize = 512;

/// A statement that succeeded.
#[derive(Clone, Copy, Debug, Default)]
pub struct OkReply<'a> {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub status: StatusFlags,
    pub warning_count: u16,
    /// Such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: &'a [u8],
    /// From `SessionChanges::encoded`; sent when the client tracks them.
    pub session_changes: &'a [u8],
}

/// A statement that failed.
#[derive(Clone, Copy, Debug)]
pub struct ErrorReply<'a> {
    pub number: u16,
    pub sqlstate: [u8; 5],
    pub message: &'a [u8],
}

/// What COM_STMT_PREPARE is answered with before the parameter and column definitions.
#[derive(Clone, Copy, Debug)]
pub struct PrepareReply {
    pub statement: u32,
    pub column_count: u16,
    pub parameter_count: u16,
    pub warning_count: u16,
}

impl PacketWriter {
    pub fn ok(&mut self, capabilities: Capabilities, reply: &OkReply<'_>) {
        self.packet(|out| encode_ok(out, OK_HEADER, capabilities, reply));
    }

    /// Ends the rows of a result set (or the rows of one fetch).
    pub fn result_end(&mut self, capabilities: Capabilities, reply: &OkReply<'_>) {
        if capabilities.has(Capabilities::DEPRECATE_EOF) {
            self.packet(|out| encode_ok(out, EOF_HEADER, capabilities, reply));
        } else {
            self.eof(reply.status, reply.warning_count);
        }
    }

    /// Ends a list of definitions for clients that still want an EOF packet there.
    pub fn definitions_end(&mut self, capabilities: Capabilities, status: StatusFlags) {
        if !capabilities.has(Capabilities::DEPRECATE_EOF) {
            self.eof(status, 0);
        }
    }

    pub fn eof(&mut self, status: StatusFlags, warning_count: u16) {
        self.packet(|out| {
            out.push(EOF_HEADER);
            out.extend_from_slice(&warning_count.to_le_bytes());
            out.extend_from_slice(&status.0.to_le_bytes());
        });
    }

    pub fn error(&mut self, capabilities: Capabilities, reply: &ErrorReply<'_>) {
        self.packet(|out| {
            out.push(ERROR_HEADER);
            out.extend_from_slice(&reply.number.to_le_bytes());
            // Before the client has said that it knows SQLSTATE it must not get one.
            if capabilities.has(Capabilities::PROTOCOL_41) {
                out.push(b'#');
                out.extend_from_slice(&reply.sqlstate);
            }
            out.extend_from_slice(cut_message(reply.message));
        });
    }

    pub fn protocol_error(&mut self, capabilities: Capabilities, error: ProtocolError) {
        let message = error.message().as_bytes();
        self.error(capabilities, &ErrorReply { number: error.number(), sqlstate: error.sqlstate(), message });
    }

    /// The definitions that follow are the caller's to write.
    pub fn prepare_ok(&mut self, reply: &PrepareReply) {
        self.packet(|out| {
            out.push(OK_HEADER);
            out.extend_from_slice(&reply.statement.to_le_bytes());
            out.extend_from_slice(&reply.column_count.to_le_bytes());
            out.extend_from_slice(&reply.parameter_count.to_le_bytes());
            out.push(0);
            out.extend_from_slice(&reply.warning_count.to_le_bytes());
        });
    }

    /// Asks the client to prove itself with another plugin and a fresh salt.
    pub fn authentication_switch(&mut self, plugin: &str, salt: &Salt) {
        self.packet(|out| {
            out.push(EOF_HEADER);
            out.extend_from_slice(plugin.as_bytes());
            out.push(0);
            out.extend_from_slice(salt.bytes());
            out.push(0);
        });
    }

    /// Carries a plugin's own message.
    pub fn authentication_more(&mut self, data: &[u8]) {
        self.packet(|out| {
            out.push(MORE_DATA_HEADER);
            out.extend_from_slice(data);
        });
    }

    /// One event of the binary log.
    pub fn event(&mut self, event: &[u8]) {
        self.packet(|out| {
            out.push(OK_HEADER);
            out.extend_from_slice(event);
        });
    }

    /// The same to a replica that confirms what it has (semi-synchronous replication); `asks`: it is to confirm this one. Its answer is a
    /// packet of number 0, and what follows is numbered behind that.
    pub fn event_to_confirm(&mut self, event: &[u8], asks: bool) {
        self.packet(|out| {
            out.extend_from_slice(&[OK_HEADER, CONFIRMATION_MARK, u8::from(asks)]);
            out.extend_from_slice(event);
        });
        if asks {
            self.set_sequence(1);
        }
    }

    /// COM_STATISTICS is answered with bare text.
    pub fn statistics(&mut self, text: &str) {
        self.packet(|out| out.extend_from_slice(text.as_bytes()));
    }
}

fn encode_ok(out: &mut Vec<u8>, header: u8, capabilities: Capabilities, reply: &OkReply<'_>) {
    let tracks = capabilities.has(Capabilities::SESSION_TRACK);
    let changed = tracks && !reply.session_changes.is_empty();
    let status = reply.status.with(StatusFlags::SESSION_STATE_CHANGED, changed);
    out.push(header);
    put_length_encoded_integer(out, reply.affected_rows);
    put_length_encoded_integer(out, reply.last_insert_id);
    out.extend_from_slice(&status.0.to_le_bytes());
    out.extend_from_slice(&reply.warning_count.to_le_bytes());
    if changed || !reply.info.is_empty() {
        put_length_encoded_bytes(out, reply.info);
    }
    if changed {
        put_length_encoded_bytes(out, reply.session_changes);
    }
}

/// Cuts at a character boundary: half a character would break clients that decode the message.
fn cut_message(message: &[u8]) -> &[u8] {
    if message.len() <= MESSAGE_LENGTH_MAX {
        return message;
    }
    let mut end = MESSAGE_LENGTH_MAX;
    while end > 0 && message[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    &message[..end]
}
