//! Redo: the pages catch up with the log.
//!
//! The pages of the next groups are read while earlier groups are applied, so a recovery keeps many reads in
//! flight. Groups are applied in the order of the log all the same.

use super::log_error;
use crate::EngineError;
use btree::redo::Replayer;
use buffer::BufferPool;
use env::Env;
use pagestore::CorruptPage;
use wal::{Lsn, WalReader};

/// Replays every group that ends behind `from` and at or before `end`. Answers the pages whose changes had to be left
/// out, which are marked as lost.
pub(crate) async fn redo(
    env: &Env,
    directory: &str,
    pool: &BufferPool,
    from: Lsn,
    end: Lsn,
) -> Result<Vec<CorruptPage>, EngineError> {
    let mut reader = WalReader::open(env, directory, from, end).await.map_err(|error| log_error(&error))?;
    let mut replayer = Replayer::new(pool);
    let mut replayed = Ok(());
    while let Some(group) = reader.next_group().await.map_err(|error| log_error(&error))? {
        if group.end <= from {
            continue;
        }
        if group.end > end {
            break;
        }
        replayed = replayer.push(&group).await;
        if replayed.is_err() {
            break;
        }
    }
    if replayed.is_ok() {
        replayed = replayer.finish().await;
    }
    replayed.map_err(|error| EngineError::Corrupt {
        what: format!("replay of the log group at LSN {}: {error}", replayer.reached()),
    })?;
    Ok(replayer.lost().to_vec())
}
