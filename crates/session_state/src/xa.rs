//! The branch of an XA transaction that a session works on.
//!
//! The statements are in `statement/transaction/xa.rs`; what a prepared transaction is to the store is the engine's business.
use datum::{ErrorCode, SqlError, error_code};
use instance::{XaClaim, Xid};

/// Where a session's branch is between XA START and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XaState {
    Active,
    Idle,
    /// With `xa_detach_on_prepare` off: the session keeps it.
    Prepared,
    /// The transaction is undone, the branch waits for XA ROLLBACK.
    RollbackOnly,
}

/// Why a branch was undone without XA ROLLBACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XaFailure {
    Deadlock,
    Timeout,
    Other,
}

/// A session's XA transaction.
pub struct XaBranch {
    pub claim: XaClaim,
    pub state: XaState,
    pub failure: Option<XaFailure>,
}

impl XaState {
    fn name(self) -> &'static str {
        match self {
            XaState::Active => "ACTIVE",
            XaState::Idle => "IDLE",
            XaState::Prepared => "PREPARED",
            XaState::RollbackOnly => "ROLLBACK ONLY",
        }
    }
}

impl XaFailure {
    /// Of the statement that undid the whole transaction.
    pub fn of(error: &SqlError) -> XaFailure {
        match error {
            error if error.is(&error_code::ER_LOCK_DEADLOCK) => XaFailure::Deadlock,
            error if error.is(&error_code::ER_LOCK_WAIT_TIMEOUT) => XaFailure::Timeout,
            _ => XaFailure::Other,
        }
    }

    fn code(self) -> ErrorCode {
        match self {
            XaFailure::Deadlock => error_code::ER_XA_RBDEADLOCK,
            XaFailure::Timeout => error_code::ER_XA_RBTIMEOUT,
            XaFailure::Other => error_code::ER_XA_RBROLLBACK,
        }
    }
}

impl XaBranch {
    pub fn xid(&self) -> &Xid {
        self.claim.xid()
    }

    /// Errors 1402, 1613 and 1614 when the transaction was undone; from then on the branch can only be rolled back.
    pub fn require_alive(&mut self) -> Result<(), SqlError> {
        match self.failure {
            None => Ok(()),
            Some(failure) => {
                self.state = XaState::RollbackOnly;
                Err(failure.code().plain())
            }
        }
    }
}

/// Error 1399: what is asked does not go with the state.
pub fn wrong_state(branch: Option<&XaBranch>) -> SqlError {
    let state = branch.map_or("NON-EXISTING", |branch| branch.state.name());
    error_code::ER_XAER_RMFAIL.with(&[&state])
}
