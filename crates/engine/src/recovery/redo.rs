//! Redo: the pages catch up with the log.

use super::log_error;
use crate::EngineError;
use btree::redo;
use buffer::BufferPool;
use env::Env;
use wal::{Lsn, WalReader};

/// Replays every group that ends behind `from` and at or before `end`.
pub(crate) async fn redo(
    env: &Env,
    directory: &str,
    pool: &BufferPool,
    from: Lsn,
    end: Lsn,
) -> Result<(), EngineError> {
    let mut reader = WalReader::open(env, directory, from, end).await.map_err(|error| log_error(&error))?;
    while let Some(group) = reader.next_group().await.map_err(|error| log_error(&error))? {
        if group.end <= from {
            continue;
        }
        if group.end > end {
            break;
        }
        pool.run(|| redo::replay(pool, &group)).await.map_err(|error| EngineError::Corrupt {
            what: format!("replay of the log group at LSN {}: {error}", group.start),
        })?;
    }
    Ok(())
}
