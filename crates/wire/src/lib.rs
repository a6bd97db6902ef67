//! The server side of the MySQL client/server protocol as a state machine without I/O: bytes in, events out.
//!
//! Invariant: nothing here reads, writes, waits or knows a socket; bytes from a client never panic and never
//! make it allocate more than the client has really sent. Called by `server::connection`, which moves the bytes.
//!
//! Reading order: `packet` frames bytes both ways, `connection` is the state machine, `handshake` and `command`
//! decode what a client says, `parameter` decodes bound values, and the rest encodes what the server answers.
#![forbid(unsafe_code)]

mod capability;
mod error;
mod field;
mod packet;
mod salt;

mod command;
mod connection;
mod handshake;
mod parameter;

mod binary_row;
mod column;
mod confirmation;
mod reply;
mod session_change;
mod text_row;

pub use binary_row::BinaryRow;
pub use capability::{Capabilities, StatusFlags};
pub use column::{ColumnDefinition, ColumnDefinitions, ColumnFlags, ColumnType};
pub use command::{BinlogDump, Command, CursorKind, QueryAttribute};
pub use confirmation::Confirmation;
pub use connection::{Connection, ConnectionConfig, Event};
pub use error::ProtocolError;
pub use field::{FieldReader, Truncated, put_length_encoded_bytes, put_length_encoded_integer};
pub use handshake::{ChangeUser, ConnectAttributes, HandshakeResponse};
pub use packet::{PACKET_PART_MAX, PRE_AUTH_PACKET_MAX, PacketReader, PacketWriter};
pub use parameter::{DateTimeValue, ParameterBinding, ParameterValue, TimeValue};
pub use reply::{ErrorReply, OkReply, PrepareReply};
pub use salt::Salt;
pub use session_change::SessionChanges;
pub use text_row::TextRow;

#[cfg(test)]
mod tests;
