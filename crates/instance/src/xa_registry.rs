//! All XA branches of the server, by identifier: those that sessions work on, and the prepared ones that wait for whoever
//! decides them.
//!
//! Invariant: an identifier is listed from XA START until the branch has ended, so that no other can begin under it. A
//! branch that a session works on goes with the session; a prepared one stays, whatever becomes of sessions.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use catalog::LockOwner;
use engine::PreparedTransaction;
use parking_lot::Mutex;

use crate::connection_id::ConnectionId;
use crate::xid::Xid;

/// Owners of metadata locks with this bit are prepared transactions, the others connections.
const LOCK_OWNER_BIT: u64 = 1 << 63;
/// A prepared transaction without a number in the engine has locked nothing there, and is counted here.
const UNNUMBERED_BIT: u64 = 1 << 62;

#[derive(Default)]
pub struct XaRegistry {
    /// A leaf lock.
    branches: Mutex<BTreeMap<Xid, Entry>>,
    unnumbered: AtomicU64,
}

#[allow(clippy::large_enum_variant, reason = "there is one for each XA transaction only")]
enum Entry {
    /// A session works on it.
    Running(ConnectionId),
    Prepared {
        /// Only this session may decide it, as long as it is there.
        kept_by: Option<ConnectionId>,
        /// Absent while it is being decided.
        transaction: Option<PreparedTransaction>,
    },
}

/// A session's hold on the identifier of its branch; dropped, it gives up what is not prepared, and leaves what is to all.
pub struct XaClaim {
    registry: Arc<XaRegistry>,
    xid: Xid,
    session: ConnectionId,
}

/// A prepared transaction that is being decided; dropped without `end`, it is there again for the next one who decides.
pub struct Deciding {
    registry: Arc<XaRegistry>,
    xid: Xid,
    transaction: Option<PreparedTransaction>,
}

impl XaRegistry {
    /// Begins a branch; `None` when the identifier is in use.
    pub fn begin(self: &Arc<Self>, xid: Xid, session: ConnectionId) -> Option<XaClaim> {
        let mut branches = self.branches.lock();
        if branches.contains_key(&xid) {
            return None;
        }
        branches.insert(xid.clone(), Entry::Running(session));
        Some(XaClaim { registry: self.clone(), xid, session })
    }

    /// Lists a transaction that an earlier life has prepared; false when there is one of its name.
    pub fn add_recovered(&self, xid: Xid, transaction: PreparedTransaction) -> bool {
        let entry = Entry::Prepared { kept_by: None, transaction: Some(transaction) };
        self.branches.lock().insert(xid, entry).is_none()
    }

    /// Takes a prepared transaction to decide it; `None` when there is none that the session may decide.
    pub fn decide(self: &Arc<Self>, xid: &Xid, session: ConnectionId) -> Option<Deciding> {
        match self.branches.lock().get_mut(xid)? {
            Entry::Running(_) => None,
            Entry::Prepared { kept_by, transaction } => {
                if kept_by.is_some_and(|keeper| keeper != session) {
                    return None;
                }
                let transaction = Some(transaction.take()?);
                Some(Deciding { registry: self.clone(), xid: xid.clone(), transaction })
            }
        }
    }

    /// The identifiers of all prepared transactions, in order.
    pub fn prepared(&self) -> Vec<Xid> {
        let branches = self.branches.lock();
        let is_prepared = |entry: &Entry| matches!(entry, Entry::Prepared { .. });
        branches.iter().filter(|(_, entry)| is_prepared(entry)).map(|(xid, _)| xid.clone()).collect()
    }

    /// Under which the metadata locks of a prepared transaction go on.
    pub fn lock_owner(&self, transaction: Option<u64>) -> LockOwner {
        let count = || UNNUMBERED_BIT | self.unnumbered.fetch_add(1, Ordering::Relaxed);
        lock_owner_of(transaction.unwrap_or_else(count))
    }
}

/// The owner of the metadata locks of the prepared transaction of this number.
pub fn lock_owner_of(transaction: u64) -> LockOwner {
    LockOwner(LOCK_OWNER_BIT | transaction)
}

impl XaClaim {
    pub fn xid(&self) -> &Xid {
        &self.xid
    }

    /// The branch is prepared: from now on anybody may decide it, or with `is_kept` the session alone.
    pub fn prepared(&self, transaction: PreparedTransaction, is_kept: bool) {
        let kept_by = is_kept.then_some(self.session);
        let entry = Entry::Prepared { kept_by, transaction: Some(transaction) };
        self.registry.branches.lock().insert(self.xid.clone(), entry);
    }
}

impl Drop for XaClaim {
    fn drop(&mut self) {
        let mut branches = self.registry.branches.lock();
        match branches.get_mut(&self.xid) {
            Some(Entry::Running(session)) if *session == self.session => {
                branches.remove(&self.xid);
            }
            Some(Entry::Prepared { kept_by, .. }) if *kept_by == Some(self.session) => *kept_by = None,
            _ => {}
        }
    }
}

impl Deciding {
    pub fn transaction(&mut self) -> &mut PreparedTransaction {
        self.transaction.as_mut().expect("it is here until the end")
    }

    /// It is decided; its name is free.
    pub fn end(mut self) {
        drop(self.transaction.take());
        self.registry.branches.lock().remove(&self.xid);
    }
}

impl Drop for Deciding {
    fn drop(&mut self) {
        let Some(undecided) = self.transaction.take() else { return };
        if let Some(Entry::Prepared { transaction, .. }) = self.registry.branches.lock().get_mut(&self.xid) {
            *transaction = Some(undecided);
        }
    }
}
