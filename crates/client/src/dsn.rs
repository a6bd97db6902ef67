//! Where a server is and who asks: `mysql://user:password@host:port/database?socket=..&ssl-mode=..`.
//!
//! Invariant: what is not understood is refused, and the password is never part of what `Display` shows. Called by
//! every program that takes `--dsn`.

use std::fmt;
use std::path::PathBuf;

use crate::{Error, Result};

/// How far the connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// Plain bytes; a password still goes encrypted.
    Disabled,
    /// Encrypted; the server's certificate is not checked.
    Required,
    /// Encrypted, and the certificate must be signed by `ssl-ca`.
    Verify,
}

/// The address of a server with an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dsn {
    pub user: String,
    pub password: String,
    pub host: String,
    pub port: u16,
    pub database: String,
    pub socket: Option<PathBuf>,
    pub tls: TlsMode,
    pub authority: Option<PathBuf>,
    /// Whether a server without TLS is asked for the key under which it wants the password.
    pub asks_for_key: bool,
}

impl Dsn {
    /// Reads `mysql://..`; a bare `host:port/database` is understood too.
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |why: &str| Error::Usage(format!("--dsn {}: {why}", hide(text)));
        let rest = match text.split_once("://") {
            Some(("mysql" | "mariadb", rest)) => rest,
            Some(_) => return Err(refuse("the scheme is mysql://")),
            None => text,
        };
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (address, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (account, place) = address.rsplit_once('@').unwrap_or(("root", address));
        let (user, password) = account.split_once(':').unwrap_or((account, ""));
        let (host, port) = split_port(place).ok_or_else(|| refuse("the port is not a number"))?;
        let mut dsn = Self {
            user: decode(user),
            password: decode(password),
            host: if host.is_empty() { "127.0.0.1".into() } else { host },
            port,
            database: decode(database),
            socket: None,
            tls: TlsMode::Disabled,
            authority: None,
            asks_for_key: true,
        };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            match name {
                "socket" => dsn.socket = Some(decode(value).into()),
                "ssl-ca" => {
                    dsn.authority = Some(decode(value).into());
                    dsn.tls = TlsMode::Verify;
                }
                "ssl-mode" => {
                    dsn.tls = match value.to_ascii_lowercase().as_str() {
                        "disabled" => TlsMode::Disabled,
                        "required" => TlsMode::Required,
                        "verify_ca" | "verify_identity" => TlsMode::Verify,
                        _ => return Err(refuse("ssl-mode is disabled, required or verify_identity")),
                    }
                }
                _ => return Err(refuse("options are socket, ssl-mode and ssl-ca")),
            }
        }
        if dsn.tls == TlsMode::Verify && dsn.authority.is_none() {
            return Err(refuse("ssl-mode=verify_identity needs ssl-ca=FILE"));
        }
        Ok(dsn)
    }

    /// The same server, another database.
    #[must_use]
    pub fn with_database(&self, database: &str) -> Self {
        Self { database: database.to_owned(), ..self.clone() }
    }

    /// Whether the server runs on this host, so that its processes and disks can be looked at.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.socket.is_some()
            || matches!(self.host.as_str(), "localhost" | "::1")
            || self.host.starts_with("127.")
    }
}

impl fmt::Display for Dsn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.socket {
            Some(path) => write!(out, "mysql://{}@{}", self.user, path.display())?,
            None => write!(out, "mysql://{}@{}:{}", self.user, self.host, self.port)?,
        }
        if self.database.is_empty() { Ok(()) } else { write!(out, "/{}", self.database) }
    }
}

fn split_port(place: &str) -> Option<(String, u16)> {
    if let Some(rest) = place.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        let port = port.strip_prefix(':').map_or(Some(3306), |port| port.parse().ok())?;
        return Some((host.to_owned(), port));
    }
    match place.split_once(':') {
        Some((host, port)) => Some((host.to_owned(), port.parse().ok()?)),
        None => Some((place.to_owned(), 3306)),
    }
}

/// `%41` is `A`, as in any URL.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = bytes.get(at + 1..at + 3).and_then(|pair| std::str::from_utf8(pair).ok());
        match (bytes[at], pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())) {
            (b'%', Some(byte)) => {
                plain.push(byte);
                at += 3;
            }
            (byte, _) => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

fn hide(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((_, place)) => format!("..@{place}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dsn_has_all_its_parts() {
        let dsn = Dsn::parse("mysql://me:p%40ss@db.example:3307/shop?ssl-mode=required").unwrap();
        assert_eq!((dsn.user.as_str(), dsn.password.as_str()), ("me", "p@ss"));
        assert_eq!((dsn.host.as_str(), dsn.port, dsn.database.as_str()), ("db.example", 3307, "shop"));
        assert_eq!(dsn.tls, TlsMode::Required);
        assert_eq!(dsn.to_string(), "mysql://me@db.example:3307/shop");
    }

    #[test]
    fn what_is_absent_has_a_default() {
        let dsn = Dsn::parse("127.0.0.1:3307").unwrap();
        assert_eq!((dsn.user.as_str(), dsn.port, dsn.database.as_str()), ("root", 3307, ""));
        assert!(dsn.is_local());
        assert_eq!(Dsn::parse("mysql://u@[::1]:1/d").unwrap().host, "::1");
    }

    #[test]
    fn what_is_not_understood_is_refused_without_the_password() {
        for text in ["pg://h", "mysql://u:secret@h:x/d", "mysql://u:secret@h/d?colour=red"] {
            let said = Dsn::parse(text).unwrap_err().to_string();
            assert!(!said.contains("secret"), "{said}");
        }
    }
}
