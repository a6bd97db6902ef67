//! The authentication methods this server offers, with the names that clients and CREATE USER use.

/// How an account proves itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plugin {
    #[default]
    CachingSha2,
    /// A SHA-1 challenge, kept for old clients; only accounts that ask for it have it.
    Native,
}

impl Plugin {
    pub fn name(self) -> &'static str {
        match self {
            Self::CachingSha2 => "caching_sha2_password",
            Self::Native => "mysql_native_password",
        }
    }

    pub fn from_name(name: &[u8]) -> Option<Self> {
        [Self::CachingSha2, Self::Native].into_iter().find(|plugin| name == plugin.name().as_bytes())
    }
}
