//! Capability bits of the handshake and status bits of the replies, with the numbers of the MySQL protocol.

use std::ops::{BitAnd, BitOr, BitOrAssign};

/// What both sides agreed to; the names and numbers are the protocol's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(pub u32);

impl Capabilities {
    pub const LONG_PASSWORD: Self = Self(1);
    pub const FOUND_ROWS: Self = Self(1 << 1);
    pub const LONG_FLAG: Self = Self(1 << 2);
    pub const CONNECT_WITH_DB: Self = Self(1 << 3);
    /// The client sends files of its own when asked.
    pub const LOCAL_FILES: Self = Self(1 << 7);
    pub const IGNORE_SPACE: Self = Self(1 << 8);
    pub const PROTOCOL_41: Self = Self(1 << 9);
    pub const INTERACTIVE: Self = Self(1 << 10);
    pub const SSL: Self = Self(1 << 11);
    pub const IGNORE_SIGPIPE: Self = Self(1 << 12);
    pub const TRANSACTIONS: Self = Self(1 << 13);
    pub const SECURE_CONNECTION: Self = Self(1 << 15);
    pub const MULTI_STATEMENTS: Self = Self(1 << 16);
    pub const MULTI_RESULTS: Self = Self(1 << 17);
    pub const PS_MULTI_RESULTS: Self = Self(1 << 18);
    pub const PLUGIN_AUTH: Self = Self(1 << 19);
    pub const CONNECT_ATTRS: Self = Self(1 << 20);
    pub const PLUGIN_AUTH_LENENC: Self = Self(1 << 21);
    pub const CAN_HANDLE_EXPIRED_PASSWORDS: Self = Self(1 << 22);
    pub const SESSION_TRACK: Self = Self(1 << 23);
    pub const DEPRECATE_EOF: Self = Self(1 << 24);
    pub const QUERY_ATTRIBUTES: Self = Self(1 << 27);

    /// Everything this server can do, except TLS, which depends on the configuration.
    /// Compression is absent: it is not built. Whether files are asked for is up to `local_infile`.
    pub const SERVER: Self = Self(
        Self::LONG_PASSWORD.0
            | Self::FOUND_ROWS.0
            | Self::LONG_FLAG.0
            | Self::CONNECT_WITH_DB.0
            | Self::LOCAL_FILES.0
            | Self::IGNORE_SPACE.0
            | Self::PROTOCOL_41.0
            | Self::INTERACTIVE.0
            | Self::IGNORE_SIGPIPE.0
            | Self::TRANSACTIONS.0
            | Self::SECURE_CONNECTION.0
            | Self::MULTI_STATEMENTS.0
            | Self::MULTI_RESULTS.0
            | Self::PS_MULTI_RESULTS.0
            | Self::PLUGIN_AUTH.0
            | Self::CONNECT_ATTRS.0
            | Self::PLUGIN_AUTH_LENENC.0
            | Self::CAN_HANDLE_EXPIRED_PASSWORDS.0
            | Self::SESSION_TRACK.0
            | Self::DEPRECATE_EOF.0
            | Self::QUERY_ATTRIBUTES.0,
    );

    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Capabilities {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Capabilities {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// Status bits of OK and EOF packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusFlags(pub u16);

impl StatusFlags {
    pub const IN_TRANSACTION: Self = Self(1);
    pub const AUTOCOMMIT: Self = Self(1 << 1);
    pub const MORE_RESULTS: Self = Self(1 << 3);
    pub const NO_GOOD_INDEX_USED: Self = Self(1 << 4);
    pub const NO_INDEX_USED: Self = Self(1 << 5);
    pub const CURSOR_EXISTS: Self = Self(1 << 6);
    pub const LAST_ROW_SENT: Self = Self(1 << 7);
    pub const DATABASE_DROPPED: Self = Self(1 << 8);
    pub const NO_BACKSLASH_ESCAPES: Self = Self(1 << 9);
    pub const METADATA_CHANGED: Self = Self(1 << 10);
    pub const IN_READ_ONLY_TRANSACTION: Self = Self(1 << 13);
    pub const SESSION_STATE_CHANGED: Self = Self(1 << 14);

    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub const fn with(self, other: Self, on: bool) -> Self {
        if on { Self(self.0 | other.0) } else { Self(self.0 & !other.0) }
    }
}

impl BitOr for StatusFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for StatusFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}
