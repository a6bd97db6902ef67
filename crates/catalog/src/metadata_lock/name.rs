//! What metadata locks are of, in which modes, and whose. Callers: whoever asks for them.
use std::sync::Arc;

use schema::ProgramKind;

use crate::gate::Gate;

/// What is locked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockName {
    /// Shared by everything that happens inside the database, exclusive for its own creation, change and drop.
    Database(Arc<str>),
    Table(Arc<str>, Arc<str>),
    /// Part of the lock of all tables: see `global_lock`.
    Gate(Gate),
    /// All accounts: whoever changes some has them alone until the change is durable or taken back.
    Accounts,
    /// A stored program: kind, database, name as it is looked up.
    Program(ProgramKind, Arc<str>, Arc<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockMode {
    /// Reads the table's rows or only its definition.
    Shared,
    /// Is about to change the definition: others read and write, but nobody else changes it. The owner passes everybody who waits
    /// when he asks for more.
    Upgradable,
    /// Changes the table's rows.
    SharedWrite,
    /// Reads rows that nobody may change: LOCK TABLES .. READ.
    NoWrite,
    /// Changes the definition, or LOCK TABLES .. WRITE.
    Exclusive,
}

/// Who locks: one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockOwner(pub u64);

/// Waiting would never end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockDeadlock;
