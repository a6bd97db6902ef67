//! Whom clients that no account fits are measured against, so that they see what the owner of an account would.
//!
//! Invariant: the same name always meets the same dialogue while the server runs; where accounts differ in their plugin,
//! unknown names differ as well, by a secret. Called by `store` for `exchange`.

use std::sync::{Arc, OnceLock};

use aws_lc_rs::hmac;

use crate::account::Account;
use crate::account_name::AccountName;
use crate::credential::Credential;
use crate::plugin::Plugin;

#[derive(Debug, Default)]
pub(crate) struct Strangers {
    made: OnceLock<Made>,
}

#[derive(Debug)]
struct Made {
    secret: hmac::Key,
    modern: Arc<Account>,
    native: Arc<Account>,
}

impl Strangers {
    /// `has_native`: there are accounts that prove themselves with the old plugin.
    pub fn stand_in(&self, user: &str, has_native: bool) -> Arc<Account> {
        let made = self.made.get_or_init(Made::new);
        let is_native = has_native && hmac::sign(&made.secret, user.as_bytes()).as_ref()[0] & 1 == 1;
        if is_native { made.native.clone() } else { made.modern.clone() }
    }
}

impl Made {
    fn new() -> Self {
        let mut secret = [0u8; 32];
        aws_lc_rs::rand::fill(&mut secret).expect("the operating system gives random bytes");
        // A password that nobody has.
        let password: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let account = |plugin| {
            let credential = Credential::from_password(plugin, &password);
            Arc::new(Account::new(AccountName::new("", ""), credential))
        };
        let (modern, native) = (account(Plugin::CachingSha2), account(Plugin::Native));
        Self { secret: hmac::Key::new(hmac::HMAC_SHA256, &secret), modern, native }
    }
}
