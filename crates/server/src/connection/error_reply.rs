//! Errors as packets of the protocol.
use datum::SqlError;
use wire::{Capabilities, ErrorReply, PacketWriter};

pub fn write_error(writer: &mut PacketWriter, capabilities: Capabilities, error: &SqlError) {
    let message = error.message.as_bytes();
    writer.error(capabilities, &ErrorReply { number: error.errno, sqlstate: error.sqlstate, message });
}
