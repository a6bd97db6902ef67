//! The dialogue in which a client proves who it is, as a state machine without I/O.
//!
//! States and moves: `start` decides on the client's first proof. It ends the exchange, asks for another plugin
//! (`Switched`), or, for `caching_sha2_password` without a remembered proof, asks for the password itself
//! (`WantPassword`), which comes in the clear over TLS or a socket file, or encrypted for the public key.
//! Invariant: an unknown user, a locked account and a wrong password take the same steps, messages and hashing;
//! only the last step differs. Called by `server`, which carries the messages.

use std::sync::{Arc, OnceLock};

use crate::account::Account;
use crate::account_name::AccountName;
use crate::credential::Credential;
use crate::host_pattern::ClientHost;
use crate::key_pair::KeyPair;
use crate::plugin::Plugin;
use crate::policy::ClientTls;
use crate::proof::{sha2_stage2, verify_native, verify_sha2};
use crate::sha256_crypt;
use crate::store::AccountStore;
use crate::usage::TemporaryLock;

/// Messages of `caching_sha2_password`.
const FAST_SUCCESS: &[u8] = &[3];
const WANT_FULL: &[u8] = &[4];
const PUBLIC_KEY_REQUEST: &[u8] = &[2];

/// What the server has to do next.
#[derive(Debug)]
pub enum Step {
    /// Ask the client to prove itself by this plugin, with the salt that `Exchange::start` was given for it.
    Switch(Plugin),
    /// Send this plugin message and wait for the answer.
    Message(Vec<u8>),
    /// Send `last_message` when it is not empty, then OK.
    Accepted {
        account: Arc<Account>,
        last_message: &'static [u8],
    },
    Denied(Denial),
}

/// Why a client was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// Error 1045.
    Refused { used_password: bool },
    /// Error 3118; only told to who knows the password.
    Locked,
    /// Error 3955: too many failed logins.
    Blocked(TemporaryLock),
    /// Error 1251: the client cannot use the account's plugin.
    UnsupportedByClient,
}

/// What is known when a client introduces itself.
#[derive(Clone, Copy, Debug)]
pub struct ExchangeStart<'a> {
    pub user: &'a str,
    pub host: ClientHost,
    /// The plugin behind `proof`; empty for clients that know none (theirs is the native one).
    pub plugin: &'a [u8],
    pub proof: &'a [u8],
    pub salt: [u8; 20],
    /// For a switch of plugins.
    pub second_salt: [u8; 20],
    /// TLS or a socket file: the password may come in the clear.
    pub is_secure: bool,
    pub tls: Option<&'a ClientTls>,
    /// Whether the client can be asked to switch.
    pub can_switch: bool,
    /// COM_CHANGE_USER: the first proof is ignored, as clients differ in the salt they use for it.
    pub must_switch: bool,
    /// Microseconds since 1970.
    pub now_us: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Switched,
    WantPassword,
    WantEncryptedPassword,
    Ended,
}

/// One running exchange.
#[derive(Debug)]
pub struct Exchange {
    account: Arc<Account>,
    /// False when `account` only stands in for an unknown user.
    is_real: bool,
    state: State,
    salt: [u8; 20],
    is_secure: bool,
    tls: Option<ClientTls>,
    now_us: u64,
    /// A failure counts once.
    is_denied: bool,
}

impl Exchange {
    pub fn start(accounts: &AccountStore, start: &ExchangeStart<'_>) -> (Self, Step) {
        let found = accounts.find(start.user, start.host);
        let is_real = found.is_some();
        let account = found.unwrap_or_else(|| accounts.stand_in(start.user));
        let mut exchange = Self {
            account,
            is_real,
            state: State::Ended,
            salt: start.salt,
            is_secure: start.is_secure,
            tls: start.tls.cloned(),
            now_us: start.now_us,
            is_denied: false,
        };
        let step = exchange.first_step(start);
        (exchange, step)
    }

    /// The account under examination, for the log; says nothing about success.
    pub fn account_name(&self) -> Option<&AccountName> {
        self.is_real.then_some(&self.account.name)
    }

    /// The client's next message. `key_pair` is asked for only when a client without TLS needs it.
    pub fn respond<'k>(&mut self, message: &[u8], key_pair: impl FnOnce() -> Option<&'k KeyPair>) -> Step {
        match self.state {
            State::Switched => self.check_proof(message),
            State::WantPassword if message == PUBLIC_KEY_REQUEST => match key_pair() {
                Some(key_pair) => {
                    self.state = State::WantEncryptedPassword;
                    Step::Message(key_pair.public_pem().as_bytes().to_vec())
                }
                None => self.refuse(true),
            },
            State::WantPassword if self.is_secure => match message.strip_suffix(&[0]) {
                Some(password) => self.check_password(password),
                None => self.refuse(true),
            },
            // A client that was given the key beforehand sends the encrypted password at once.
            State::WantPassword | State::WantEncryptedPassword => {
                match key_pair().and_then(|key_pair| key_pair.decrypt_password(message, &self.salt)) {
                    Some(password) => self.check_password(&password),
                    None => self.refuse(true),
                }
            }
            State::Ended => self.refuse(true),
        }
    }

    fn first_step(&mut self, start: &ExchangeStart<'_>) -> Step {
        let client_plugin = match start.plugin {
            b"" => Some(Plugin::Native),
            name => Plugin::from_name(name),
        };
        let wanted = self.account.credential.plugin();
        // A client without the greeting's plugin (a MariaDB replica) names another one and proves nothing yet: it waits
        // for a switch, whatever it names. After a login a client knows what it was asked for.
        let waits_for_switch = start.can_switch
            && !start.must_switch
            && is_empty_proof(start.proof)
            && !start.plugin.is_empty()
            && client_plugin != Some(Plugin::default());
        // Without a password there is nothing to prove, so no plugin to agree on.
        let is_trivial = client_plugin.is_some()
            && is_empty_proof(start.proof)
            && self.account.credential.is_passwordless();
        let is_agreed = is_trivial || (client_plugin == Some(wanted) && !start.must_switch);
        if is_agreed && !waits_for_switch {
            return self.check_proof(start.proof);
        }
        if !start.can_switch {
            if start.must_switch && client_plugin == Some(wanted) {
                return self.check_proof(start.proof);
            }
            return self.deny(Denial::UnsupportedByClient);
        }
        self.state = State::Switched;
        self.salt = start.second_salt;
        Step::Switch(client_plugin.filter(|_| is_trivial).unwrap_or(wanted))
    }

    fn check_proof(&mut self, proof: &[u8]) -> Step {
        let account = self.account.clone();
        let credential = &account.credential;
        if is_empty_proof(proof) || credential.is_passwordless() {
            let fits = is_empty_proof(proof) && credential.is_passwordless() && self.is_real;
            return if fits { self.accept(&[]) } else { self.refuse(!is_empty_proof(proof)) };
        }
        match credential.plugin() {
            Plugin::Native => {
                let both = [Some(credential), account.second_credential.as_ref()];
                let mut stages = both.into_iter().flatten().filter_map(Credential::native_stage2);
                match stages.any(|stage2| verify_native(proof, &self.salt, &stage2)) {
                    true => self.accept(&[]),
                    false => self.refuse(true),
                }
            }
            Plugin::CachingSha2 => {
                let mut remembered = account.proven.iter().filter_map(OnceLock::get);
                if remembered.any(|stage2| verify_sha2(proof, &self.salt, stage2)) {
                    return self.accept(FAST_SUCCESS);
                }
                self.state = State::WantPassword;
                Step::Message(WANT_FULL.to_vec())
            }
        }
    }

    fn check_password(&mut self, password: &[u8]) -> Step {
        let account = self.account.clone();
        let both = [Some(&account.credential), account.second_credential.as_ref()];
        let fits = both.into_iter().position(|credential| {
            credential.is_some_and(|credential| sha256_crypt::verify(password, credential.stored()))
        });
        let Some(place) = fits.filter(|_| self.is_real) else { return self.refuse(true) };
        // Another connection may have proven it meanwhile; both computed the same bytes.
        let _ = account.proven[place].set(sha2_stage2(password));
        self.accept(&[])
    }

    fn accept(&mut self, last_message: &'static [u8]) -> Step {
        if !self.is_real {
            return self.refuse(true);
        }
        if let Some(lock) = self.account.usage.temporary_lock(self.account.policy, self.now_us) {
            return self.deny(Denial::Blocked(lock));
        }
        if self.account.locked {
            return self.deny(Denial::Locked);
        }
        if !self.account.tls.is_met_by(self.tls.as_ref()) {
            let used_password = !self.account.credential.is_passwordless();
            return self.deny(Denial::Refused { used_password });
        }
        self.account.usage.forget_failures();
        self.state = State::Ended;
        Step::Accepted { account: self.account.clone(), last_message }
    }

    fn refuse(&mut self, used_password: bool) -> Step {
        let was_running = !self.is_denied;
        let (usage, policy) = (&self.account.usage, self.account.policy);
        let lock = match usage.temporary_lock(policy, self.now_us) {
            None if was_running => usage.login_failed(policy, self.now_us),
            lock => lock,
        };
        match lock.filter(|_| self.is_real) {
            Some(lock) => self.deny(Denial::Blocked(lock)),
            None => self.deny(Denial::Refused { used_password }),
        }
    }

    fn deny(&mut self, denial: Denial) -> Step {
        self.state = State::Ended;
        self.is_denied = true;
        Step::Denied(denial)
    }
}

/// Some clients say "no password" with a NUL.
fn is_empty_proof(proof: &[u8]) -> bool {
    matches!(proof, [] | [0])
}

#[cfg(test)]
mod tests;
