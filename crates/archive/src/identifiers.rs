//! Which transaction a commit in the log is.
//!
//! A commit says whether its identifier was given to it or is the next free one of its server. How far those are says a record from time
//! to time (`binlog::IdentifierState`). Invariant: before the first such record only given identifiers are known. Called by `restore`.

use crate::ArchiveError;
use binlog::{CommitPackage, Gtid, GtidChoice, IdentifierState};
use engine::EventRecord;
use std::collections::HashMap;
use wal::LogGroup;

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Identifiers {
    state: Option<IdentifierState>,
    /// Of transactions whose first pieces were in earlier groups.
    begun: HashMap<u64, GtidChoice>,
}

impl Identifiers {
    /// Takes the next group; answers the identifier of the commit in it, if that is known.
    pub fn of(&mut self, group: &LogGroup<'_>) -> Result<Option<Gtid>, ArchiveError> {
        let mut found = None;
        for record in engine::event_records(group) {
            match record? {
                EventRecord::State(bytes) => {
                    let state = IdentifierState::decode(bytes).map_err(|error| damaged(group, &error))?;
                    self.state = Some(state);
                }
                EventRecord::Piece { txn, is_last, bytes } => {
                    let choice = match self.begun.remove(&txn) {
                        Some(choice) => choice,
                        None => CommitPackage::choice_of(bytes).map_err(|error| damaged(group, &error))?,
                    };
                    if is_last {
                        found = self.taken_by(choice);
                    } else {
                        self.begun.insert(txn, choice);
                    }
                }
            }
        }
        Ok(found)
    }

    fn taken_by(&mut self, choice: GtidChoice) -> Option<Gtid> {
        match (&mut self.state, choice) {
            (Some(state), choice) => state.add(choice),
            (None, GtidChoice::Given(gtid)) => Some(gtid),
            (None, _) => None,
        }
    }

    /// Whether a transaction was committed before; `None` if nothing is known.
    pub fn has(&self, gtid: Gtid) -> Option<bool> {
        self.state.as_ref().map(|state| state.executed.contains(gtid))
    }
}

fn damaged(group: &LogGroup<'_>, error: &binlog::BinlogError) -> ArchiveError {
    ArchiveError::Damaged(format!("the events before LSN {}: {error}", group.end.0))
}
