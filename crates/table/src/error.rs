//! Engine errors as MySQL numbers them.
use datum::{SqlError, error_code};
use engine::EngineError;

/// The SQL error for an engine error met while working on `table`. 1213 means that the whole transaction is rolled
/// back already. `DuplicateKey` and `NotFound` are expected to be handled before; here they mean a damaged index.
pub fn engine_error(table: &str, error: EngineError) -> SqlError {
    match error {
        EngineError::Deadlock => error_code::ER_LOCK_DEADLOCK.plain(),
        EngineError::LockWaitTimeout => error_code::ER_LOCK_WAIT_TIMEOUT.plain(),
        EngineError::LockNotAvailable => error_code::ER_LOCK_NOWAIT.plain(),
        EngineError::ReadOnly => error_code::ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.plain(),
        EngineError::DiskFull => error_code::ER_RECORD_FILE_FULL.with(&[&table]),
        EngineError::NoSuchTree(_) => error_code::ER_TABLE_DEF_CHANGED.plain(),
        EngineError::SnapshotTooOld => error_code::ER_TABLE_DEF_CHANGED.plain(),
        EngineError::TooLarge { limit, .. } => error_code::ER_TOO_BIG_ROWSIZE.with(&[&limit]),
        EngineError::Closed => error_code::ER_SERVER_SHUTDOWN.plain(),
        other => error_code::ER_INTERNAL_ERROR.with(&[&format!("table {table}: {other}")]),
    }
}

/// A key or record that is not what the descriptor says.
pub fn damaged(table: &str) -> SqlError {
    error_code::ER_INTERNAL_ERROR.with(&[&format!("table {table}: a record is damaged")])
}
