//! What accounts have done: connections that are there and were there, and the figures of sessions that have ended.
//!
//! Invariant: a session is in `current` of its account from its login to its end, and adds its figures there once.
use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::per_thread::ThreadFigures;

/// User and host as the client gave them.
type Name = (String, String);

#[derive(Clone, Debug, Default)]
pub struct AccountFigures {
    pub current: u64,
    pub total: u64,
    /// Of sessions that have ended.
    pub ended: ThreadFigures,
    /// Microseconds for which ended sessions were connected.
    pub connected_us: u64,
    pub bytes_received: u64,
    pub bytes_sent: u64,
}

#[derive(Debug, Default)]
pub struct Accounts {
    /// A leaf lock, taken at a login and at a session's end.
    accounts: Mutex<BTreeMap<Name, AccountFigures>>,
}

impl Accounts {
    pub fn connected(&self, user: &str, host: &str) {
        let mut accounts = self.accounts.lock();
        let account = accounts.entry((user.to_owned(), host.to_owned())).or_default();
        account.current += 1;
        account.total += 1;
    }

    /// COM_CHANGE_USER: the session goes on as another account's.
    pub fn left(&self, user: &str, host: &str) {
        if let Some(account) = self.accounts.lock().get_mut(&(user.to_owned(), host.to_owned())) {
            account.current = account.current.saturating_sub(1);
        }
    }

    pub fn ended(
        &self,
        user: &str,
        host: &str,
        figures: &ThreadFigures,
        also: impl FnOnce(&mut AccountFigures),
    ) {
        let mut accounts = self.accounts.lock();
        let account = accounts.entry((user.to_owned(), host.to_owned())).or_default();
        account.current = account.current.saturating_sub(1);
        account.ended.merge(figures);
        also(account);
    }

    /// By user and host.
    pub fn all(&self) -> Vec<(Name, AccountFigures)> {
        self.accounts.lock().iter().map(|(name, figures)| (name.clone(), figures.clone())).collect()
    }

    /// TRUNCATE of the accounts: those without a connection are forgotten.
    pub fn clear(&self) {
        let mut accounts = self.accounts.lock();
        accounts.retain(|_, account| account.current > 0);
        accounts.values_mut().for_each(|account| account.total = account.current);
    }

    /// TRUNCATE of a summary.
    pub fn forget(&self, forget: impl Fn(&mut ThreadFigures)) {
        self.accounts.lock().values_mut().for_each(|account| forget(&mut account.ended));
    }
}
