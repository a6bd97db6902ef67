//! The statements that every workload has: the borders of a transaction.
//!
//! Invariant: none. Used by the sessions of all workloads.

use client::Statement;

/// BEGIN, COMMIT and ROLLBACK.
pub struct Borders {
    pub begin: Statement,
    pub commit: Statement,
    pub rollback: Statement,
}

impl Borders {
    pub fn new() -> Self {
        Self {
            begin: Statement::new("BEGIN"),
            commit: Statement::new("COMMIT"),
            rollback: Statement::new("ROLLBACK"),
        }
    }
}
