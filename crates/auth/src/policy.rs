//! What an account demands of its clients and their passwords, and how much it may use.
//!
//! Plain facts as CREATE USER and ALTER USER give them; `exchange` and the session obey them.

/// REQUIRE ..
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TlsRequirement {
    #[default]
    None,
    Ssl,
    /// Any certificate that verifies.
    X509,
    /// Each as its text in mysql.user; empty where nothing was demanded.
    Specified {
        cipher: String,
        issuer: String,
        subject: String,
    },
}

/// What a client shows by its TLS connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTls {
    /// By OpenSSL's name.
    pub cipher: String,
    /// Of a certificate that has been verified.
    pub certificate: Option<CertificateNames>,
}

/// Whose a certificate is, in OpenSSL's one-line form (`/C=SE/O=MySQL/CN=..`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateNames {
    pub issuer: String,
    pub subject: String,
}

impl TlsRequirement {
    /// Texts are compared byte by byte. A cipher alone needs no certificate.
    pub(crate) fn is_met_by(&self, client: Option<&ClientTls>) -> bool {
        let certificate = client.and_then(|client| client.certificate.as_ref());
        match self {
            Self::None => true,
            Self::Ssl => client.is_some(),
            Self::X509 => certificate.is_some(),
            Self::Specified { cipher, issuer, subject } => {
                let fits = |wanted: &str, shown: Option<&str>| wanted.is_empty() || shown == Some(wanted);
                client.is_some()
                    && fits(cipher, client.map(|client| client.cipher.as_str()))
                    && fits(issuer, certificate.map(|names| names.issuer.as_str()))
                    && fits(subject, certificate.map(|names| names.subject.as_str()))
            }
        }
    }
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
