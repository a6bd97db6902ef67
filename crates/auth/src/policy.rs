//! What an account demands of its clients and their passwords, and how much it may use.
//!
//! Plain facts as CREATE USER and ALTER USER give them; `exchange` and the session obey them.

/// REQUIRE ..
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TlsRequirement {
    #[default]
    None,
    Ssl,
    /// A certificate of the client, which no client of this server can show, so nobody logs in.
    X509,
    /// As X509, and its text in mysql.user; empty where nothing was demanded.
    Specified {
        cipher: String,
        issuer: String,
        subject: String,
    },
}

/// Zero is without a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceLimits {
    pub queries_per_hour: u32,
    pub updates_per_hour: u32,
    pub connections_per_hour: u32,
    pub user_connections: u32,
}

/// PASSWORD .., FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME. `None` is what the server's variables say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PasswordPolicy {
    /// The password has to be changed before anything else.
    pub expired: bool,
    /// In days; 0 is never.
    pub lifetime: Option<u16>,
    /// How many of the last passwords may not come again.
    pub history: Option<u16>,
    /// For how many days a password may not come again.
    pub reuse_days: Option<u16>,
    /// Whether the present password has to be told to change it.
    pub require_current: Option<bool>,
    /// 0 is without a limit.
    pub failed_attempts: u16,
    /// How long too many failed logins lock the account; -1 until somebody unlocks it.
    pub lock_days: i16,
}
