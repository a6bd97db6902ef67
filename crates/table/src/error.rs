//! Engine errors as MySQL numbers them.
use datum::{SqlError, error_code};
use engine::EngineError;
use schema::TableDef;

/// MySQL's name for the rows of a table without a key to order them by.
const HIDDEN_INDEX: &str = "GEN_CLUST_INDEX";

/// The SQL error for an engine error met in a tree of the table. A damaged page is an error of the index that it
/// belongs to (MySQL itself gives up and aborts there, so only the error's number and text are its own).
pub fn table_error(table: &TableDef, error: EngineError) -> SqlError {
    let EngineError::CorruptPage { tree, corrupt } = &error else { return engine_error(&table.name, error) };
    let used = tree.map_or(table.tree, |tree| tree.0);
    let index = table.indexes.iter().find(|index| index.tree == used);
    let index = index.map_or(HIDDEN_INDEX, |index| &index.name);
    let what = format!("{index} of table {}.{} ({corrupt})", table.database, table.name);
    error_code::ER_INDEX_CORRUPT.with(&[&what])
}

/// The SQL error for an engine error met while working on `table`. 1213 means that the whole transaction is rolled
/// back already. `DuplicateKey` and `NotFound` are expected to be handled before; here they mean a damaged index.
pub fn engine_error(table: &str, error: EngineError) -> SqlError {
    match error {
        EngineError::Deadlock => error_code::ER_LOCK_DEADLOCK.plain(),
        EngineError::RecordChanged => error_code::ER_CHECKREAD.with(&[&table]),
        EngineError::LockWaitTimeout => error_code::ER_LOCK_WAIT_TIMEOUT.plain(),
        EngineError::LockNotAvailable => error_code::ER_LOCK_NOWAIT.plain(),
        EngineError::ReadOnly => error_code::ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.plain(),
        EngineError::DiskFull => error_code::ER_RECORD_FILE_FULL.with(&[&table]),
        EngineError::NoSuchTree(_) => error_code::ER_TABLE_DEF_CHANGED.plain(),
        EngineError::SnapshotTooOld => error_code::ER_TABLE_DEF_CHANGED.plain(),
        EngineError::TooLarge { limit, .. } => error_code::ER_TOO_BIG_ROWSIZE.with(&[&limit]),
        EngineError::CorruptPage { corrupt, .. } => {
            error_code::ER_INDEX_CORRUPT.with(&[&format!("of {table} ({corrupt})")])
        }
        EngineError::Closed => error_code::ER_SERVER_SHUTDOWN.plain(),
        EngineError::NotPreparable => error_code::ER_XAER_RMERR.plain(),
        other => error_code::ER_INTERNAL_ERROR.with(&[&format!("table {table}: {other}")]),
    }
}

/// A key or record that is not what the descriptor says.
pub fn damaged(table: &str) -> SqlError {
    error_code::ER_INTERNAL_ERROR.with(&[&format!("table {table}: a record is damaged")])
}
