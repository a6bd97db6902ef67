//! Strict mode for statements that change rows: warnings about values become errors.
//!
//! Expressions report problems to the session and go on. While a strict change runs, this stands between: the first
//! problem that strict mode does not allow is kept, and the executor ends the statement at its next check.
use datum::{ColumnType, Condition, Severity, SqlError, Value};
use expression::{AnswerFuture, SessionRequest, SessionServices};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Warnings that strict mode makes errors (MySQL manual, "Strict SQL Mode").
const RAISED: &[u16] =
    &[1048, 1260, 1261, 1262, 1263, 1264, 1265, 1292, 1364, 1365, 1366, 1406, 1411, 1441, 3020];

/// Whether strict mode makes an error of the condition.
pub fn is_raised(condition: &Condition) -> bool {
    condition.severity == Severity::Warning && RAISED.contains(&condition.error.errno)
}

/// Serves the statements of one session, one after the other.
pub struct StrictSession {
    inner: Arc<dyn SessionServices>,
    /// Set after `error`; a statement runs on one thread, so `Relaxed` is enough.
    is_raised: AtomicBool,
    /// Protects the first raised error; never held while anything else is called.
    error: Mutex<Option<SqlError>>,
}

impl StrictSession {
    pub fn new(inner: Arc<dyn SessionServices>) -> StrictSession {
        StrictSession { inner, is_raised: AtomicBool::new(false), error: Mutex::new(None) }
    }

    /// A statement begins; what an earlier one has left, if it was dropped, is forgotten.
    pub(crate) fn start(&self) {
        if self.is_raised.swap(false, Relaxed) {
            *self.error.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
        }
    }

    /// The error that ends the statement, if a warning was raised to one.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), SqlError> {
        if self.is_raised.load(Relaxed) { self.take_error().map_or(Ok(()), Err) } else { Ok(()) }
    }

    #[cold]
    fn take_error(&self) -> Option<SqlError> {
        self.error.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }
}

impl SessionServices for StrictSession {
    fn warn(&self, condition: Condition) {
        if !is_raised(&condition) {
            return self.inner.warn(condition);
        }
        let mut error = self.error.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        error.get_or_insert(condition.error);
        self.is_raised.store(true, Relaxed);
    }

    fn warn_only(&self, condition: Condition) {
        self.inner.warn_only(condition);
    }

    fn user_variable(&self, name: &str) -> Option<(Value, ColumnType)> {
        self.inner.user_variable(name)
    }

    fn set_user_variable(&self, name: &str, value: Value, column_type: ColumnType) -> Result<(), SqlError> {
        self.inner.set_user_variable(name, value, column_type)
    }

    fn last_insert_id(&self) -> u64 {
        self.inner.last_insert_id()
    }

    fn set_last_insert_id(&self, id: u64) {
        self.inner.set_last_insert_id(id);
    }

    fn row_count(&self) -> i64 {
        self.inner.row_count()
    }

    fn found_rows(&self) -> u64 {
        self.inner.found_rows()
    }

    /// Also tells of the error that ends the statement.
    fn check_interrupted(&self) -> Result<(), SqlError> {
        self.check()?;
        self.inner.check_interrupted()
    }

    fn answer(&self, request: SessionRequest) -> AnswerFuture<'_> {
        self.inner.answer(request)
    }
}
