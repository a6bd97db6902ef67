//! Transactions, savepoints, XA and table locks.
use super::{Ident, ObjectName, VariableScope};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// What SET TRANSACTION and START TRANSACTION state; `None` leaves it as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionCharacteristic {
    /// For SET TRANSACTION: `Unspecified` means the next transaction only.
    pub scope: VariableScope,
    pub isolation: Option<IsolationLevel>,
    pub read_only: Option<bool>,
    /// `WITH CONSISTENT SNAPSHOT`
    pub consistent_snapshot: bool,
}

/// `AND [NO] CHAIN`, `[NO] RELEASE`; `None` follows `completion_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransactionEnd {
    pub chain: Option<bool>,
    pub release: Option<bool>,
}

#[derive(Debug, Clone, Copy)]
pub struct Xid<'a> {
    pub global: &'a [u8],
    pub branch: &'a [u8],
    pub format: u64,
}

#[derive(Debug, Clone, Copy)]
pub enum XaStatement<'a> {
    Start { xid: Xid<'a>, join: bool, resume: bool },
    End { xid: Xid<'a>, suspend: bool, for_migrate: bool },
    Prepare(Xid<'a>),
    Commit { xid: Xid<'a>, one_phase: bool },
    Rollback(Xid<'a>),
    Recover { convert: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockTableKind {
    Read,
    ReadLocal,
    Write,
    LowPriorityWrite,
}

#[derive(Debug, Clone, Copy)]
pub struct LockTable<'a> {
    pub table: ObjectName<'a>,
    pub alias: Option<Ident<'a>>,
    pub kind: LockTableKind,
}
