//! Transactions and locks that statements ask for: BEGIN to COMMIT, XA, LOCK TABLES and the lock of all tables.

pub(super) mod global_lock;
pub(super) mod lock_tables;
pub(super) mod locks;
pub(super) mod transactions;
pub(super) mod xa;
