//! Transactions from begin to their end: their state, who writes, commit and two-phase commit, and what observers see of them.

pub(crate) mod commit;
pub(crate) mod held_commits;
pub(crate) mod observe;
pub(crate) mod prepared;
pub(crate) mod transaction;
pub(crate) mod transaction_state;
pub(crate) mod writers;
