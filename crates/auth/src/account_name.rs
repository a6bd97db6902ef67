//! The name of an account: a user and the host that may be theirs. Used by accounts and by what is granted to them.
use crate::host_pattern::HostPattern;
use std::fmt;

/// `user@host`; the user part is case-sensitive, an empty one matches every user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccountName {
    pub user: String,
    pub host: HostPattern,
}

impl AccountName {
    pub fn new(user: &str, host: &str) -> Self {
        Self { user: user.to_owned(), host: HostPattern::new(host) }
    }

    /// `''@''`: what PROXY names for every account.
    pub fn anybody() -> Self {
        Self { user: String::new(), host: HostPattern::nowhere() }
    }
}

/// As CREATE USER and SHOW GRANTS write it.
impl fmt::Display for AccountName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.replace('`', "``");
        let host = self.host.as_str().replace('`', "``");
        write!(formatter, "`{user}`@`{host}`")
    }
}
