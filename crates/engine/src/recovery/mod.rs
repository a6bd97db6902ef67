//! Crash recovery: analysis of the log, redo of every change that a page lacks, undo of the losers.
//!
//! 1. `analysis` reads the log from the checkpoint to its end and finds the losers; what it says of pages is collected
//!    on the way, as far as memory allows.
//! 2. The log is continued behind its end; nothing that follows can be mistaken for the past.
//! 3. The database opens. A page that is behind the log catches up when it is loaded, by whoever needs it or by `redo`
//!    in the background, which reads the log again for what did not fit into memory. Doing it twice changes nothing.
//! 4. `adopt` makes the losers running transactions again, which are rolled back in the background with compensations,
//!    so a crash in the middle goes on where it stopped. Those that are prepared wait for their decision instead.
//! 5. What committed transactions left to do (trees to drop, chains to free) is handed to the background as well.

mod adopt;
mod analysis;
mod redo;

pub(crate) use adopt::{Remains, Unfinished};
pub(crate) use analysis::Analysis;
pub(crate) use redo::Rest;

use crate::EngineError;
use crate::log::log_record;
use btree::redo::{CollectError, Collector};
use env::Env;
use wal::{LogTail, Lsn, WalError, WalReader};

/// Reads the log from the checkpoint on; `collector` gets what it says of pages.
pub(crate) async fn analyse(
    env: &Env,
    directory: &str,
    from: Lsn,
    known_durable: Lsn,
    collector: &mut Collector,
) -> Result<(Analysis, LogTail), EngineError> {
    let mut analysis = Analysis::default();
    let mut reader =
        WalReader::open(env, directory, from, known_durable).await.map_err(|error| log_error(&error))?;
    while let Some(group) = reader.next_group().await.map_err(|error| log_error(&error))? {
        if group.end > from {
            analysis.add_group(&group)?;
            collector.add(&group).await.map_err(|error| collect_error(&error, group.start))?;
        }
    }
    Ok((analysis, reader.into_tail()))
}

/// Whether something was ever committed to this log. One that a first start left unfinished may be in any state, but it
/// has no commit.
pub(crate) async fn log_has_commits(env: &Env, directory: &str) -> bool {
    let Ok(mut reader) = WalReader::open(env, directory, Lsn::ZERO, Lsn::ZERO).await else { return false };
    if reader.begin() > Lsn::ZERO {
        let begin = reader.begin();
        match WalReader::open(env, directory, begin, Lsn::ZERO).await {
            Ok(from_oldest) => reader = from_oldest,
            Err(_) => return false,
        }
    }
    while let Ok(Some(group)) = reader.next_group().await {
        if group.records().any(|(_, record)| log_record::is_commit(record.kind)) {
            return true;
        }
    }
    false
}

fn collect_error(error: &CollectError, group: Lsn) -> EngineError {
    let what = format!("redo of the log group at LSN {group}: {error}");
    match error {
        CollectError::Malformed(_) => EngineError::Corrupt { what },
        CollectError::Store(_) => EngineError::Io { what },
    }
}

pub(crate) fn log_error(error: &WalError) -> EngineError {
    match error {
        WalError::Damaged { .. } | WalError::Missing { .. } => {
            EngineError::Corrupt { what: error.to_string() }
        }
        WalError::Failed(_) | WalError::Io(_) => EngineError::Io { what: error.to_string() },
    }
}
