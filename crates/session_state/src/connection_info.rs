//! What the connection layer knows about a client once it is authenticated.
use std::net::SocketAddr;

use instance::ConnectionId;

/// The client's protocol capabilities that change what statements do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// UPDATE reports matched rows instead of changed ones.
    pub found_rows: bool,
    pub multi_statements: bool,
    pub ignore_space: bool,
    /// `interactive_timeout` instead of `wait_timeout`.
    pub interactive: bool,
    pub session_track: bool,
}

#[derive(Clone, Debug)]
pub struct ConnectionInfo {
    pub id: ConnectionId,
    /// The name the client gave; `USER()` shows it with `host`.
    pub user: String,
    /// Where the client comes from: `localhost` or an address.
    pub host: String,
    /// The account that matched, for `CURRENT_USER()` and privileges.
    pub account_user: String,
    pub account_host: String,
    /// For SHOW PROCESSLIST; none for a socket file.
    pub peer: Option<SocketAddr>,
    pub attributes: Vec<(String, String)>,
    pub capabilities: ClientCapabilities,
    /// The collation number of the handshake; unknown ones fall back to the server's default.
    pub collation_id: u16,
    /// TLS protocol version and cipher, when the connection is encrypted.
    pub tls: Option<TlsInfo>,
}

impl ConnectionInfo {
    /// Of a session that no client has: `user` at `host` with the rights of an account.
    pub fn internal(id: ConnectionId, (user, host): (&str, &str), account: (&str, &str)) -> Self {
        ConnectionInfo {
            id,
            user: user.to_owned(),
            host: host.to_owned(),
            account_user: account.0.to_owned(),
            account_host: account.1.to_owned(),
            peer: None,
            attributes: Vec::new(),
            capabilities: ClientCapabilities::default(),
            collation_id: 0,
            tls: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsInfo {
    pub version: String,
    pub cipher: String,
}
