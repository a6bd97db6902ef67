//! What a client can do wrong on the protocol level, with the MySQL error it is answered with.

use std::fmt;

use crate::field::Truncated;

/// Protocol errors; `is_fatal` tells whether the connection must close after the error packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// The first packet of the client was no handshake response, or bytes arrived before the TLS handshake.
    BadHandshake,
    /// The client speaks the protocol from before MySQL 4.1.
    OldProtocol,
    /// A packet announced more bytes than allowed; nothing was allocated for it.
    PacketTooLarge,
    /// A sequence number that does not follow.
    OutOfOrder,
    /// A command whose payload ends early or makes no sense; the stream itself is still in step.
    Malformed,
    /// A command byte that this server does not serve.
    UnknownCommand,
}

impl ProtocolError {
    pub fn number(self) -> u16 {
        match self {
            Self::BadHandshake => 1043,
            Self::OldProtocol => 1251,
            Self::PacketTooLarge => 1153,
            Self::OutOfOrder => 1156,
            Self::Malformed => 1835,
            Self::UnknownCommand => 1047,
        }
    }

    pub fn sqlstate(self) -> [u8; 5] {
        match self {
            Self::OldProtocol => *b"08004",
            Self::Malformed => *b"HY000",
            Self::BadHandshake | Self::PacketTooLarge | Self::OutOfOrder | Self::UnknownCommand => *b"08S01",
        }
    }

    pub fn message(self) -> &'static str {
        match self {
            Self::BadHandshake => "Bad handshake",
            Self::OldProtocol => {
                "Client does not support authentication protocol requested by server; \
                 consider upgrading MySQL client"
            }
            Self::PacketTooLarge => "Got a packet bigger than 'max_allowed_packet' bytes",
            Self::OutOfOrder => "Got packets out of order",
            Self::Malformed => "Malformed communication packet.",
            Self::UnknownCommand => "Unknown command",
        }
    }

    /// After a fatal error the position in the byte stream is not known any more.
    pub fn is_fatal(self) -> bool {
        match self {
            Self::BadHandshake | Self::OldProtocol | Self::PacketTooLarge | Self::OutOfOrder => true,
            Self::Malformed | Self::UnknownCommand => false,
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.message(), self.number())
    }
}

impl std::error::Error for ProtocolError {}

impl From<Truncated> for ProtocolError {
    fn from(_: Truncated) -> Self {
        Self::Malformed
    }
}
