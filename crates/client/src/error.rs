//! What can go wrong between a client and a server.
//!
//! Invariant: after `Server` the connection is still usable; after anything else it is not. Made by all files here.

use std::fmt;

/// A failed call.
#[derive(Debug)]
pub enum Error {
    /// The server answered with an error.
    Server { code: u16, state: String, message: String },
    /// This client refuses; the number is the one of MySQL's client library.
    Client { code: u16, message: &'static str },
    /// Nobody can be reached there.
    Connect { place: String, error: std::io::Error },
    /// The connection broke.
    Io(std::io::Error),
    /// The server said something that the protocol does not allow here.
    Protocol(&'static str),
    /// The arguments of a connection or a statement cannot be used.
    Usage(String),
}

impl Error {
    /// The server's error number, if it was the server that refused.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Server { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the same transaction may be tried again: a deadlock, a lock wait that timed out, or a
    /// snapshot that is too old.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self.code(), Some(1213 | 1205 | 1020 | 3572))
    }

    /// Whether the connection is lost.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        !matches!(self, Self::Server { code, .. } if !matches!(code, 1053 | 1152 | 1927 | 3169 | 1317))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server { code, state, message } => write!(out, "ERROR {code} ({state}): {message}"),
            Self::Client { code, message } => write!(out, "ERROR {code} (HY000): {message}"),
            Self::Connect { place, error } => {
                let text = error.to_string();
                let (why, number) = text.split_once(" (os error ").unwrap_or((&text, ""));
                match number.trim_end_matches(')') {
                    "" => write!(out, "Can't connect to MySQL server on '{place}' ({why})"),
                    number => write!(out, "Can't connect to MySQL server on '{place}' ({number}: {why})"),
                }
            }
            Self::Io(error) => write!(out, "connection: {error}"),
            Self::Protocol(what) => write!(out, "protocol: {what}"),
            Self::Usage(what) => out.write_str(what),
        }
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_connection_is_told_with_its_place() {
        let error = std::io::Error::from_raw_os_error(111);
        let told = Error::Connect { place: "db:3306".into(), error }.to_string();
        assert_eq!(told, "Can't connect to MySQL server on 'db:3306' (111: Connection refused)");
        let error = std::io::Error::other("failed to lookup address information");
        let told = Error::Connect { place: "db:3306".into(), error }.to_string();
        assert_eq!(told, "Can't connect to MySQL server on 'db:3306' (failed to lookup address information)");
    }
}
