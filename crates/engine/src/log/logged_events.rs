//! Events of commits as they are found in the log: after a start what was not taken before it, and in an archive which commit is which.
//!
//! Invariant: pieces are put together by their transaction; a commit is where its last piece is. Called by `source` and `archive`.

use crate::EngineError;
use crate::engine::Engine;
use crate::log::events::CommittedEvents;
use crate::log::log_record::{self, LogRecord};
use crate::storage::files::LOG_DIRECTORY;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use wal::{LogGroup, Lsn, WalReader};

/// What a group of the log says of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventRecord<'a> {
    /// A part of what a transaction says of its changes.
    Piece {
        /// The transaction.
        txn: u64,
        /// Its end is in the same group.
        is_last: bool,
        /// The first piece begins with what [`EventSource::finish`](crate::EventSource::finish) gave.
        bytes: &'a [u8],
    },
    /// What [`Engine::log_event_state`] has logged.
    State(&'a [u8]),
}

/// What the group says of events, in order.
pub fn event_records<'a>(
    group: &'a LogGroup<'a>,
) -> impl Iterator<Item = Result<EventRecord<'a>, EngineError>> + use<'a> {
    let of_events = |kind| log_record::is_events(kind) || log_record::is_event_state(kind);
    group.records().filter(move |(_, record)| of_events(record.kind)).map(|(_, record)| {
        match log_record::decode(record.kind, record.payload) {
            Ok(LogRecord::Events { is_last, bytes }) => {
                Ok(EventRecord::Piece { txn: record.txn, is_last, bytes })
            }
            Ok(LogRecord::EventState { bytes }) => Ok(EventRecord::State(bytes)),
            _ => Err(EngineError::Corrupt { what: format!("events in the log before LSN {}", group.end.0) }),
        }
    })
}

impl Engine {
    /// What an earlier life has committed behind `after`, from the log. Complete if the engine was opened with
    /// `keep_log_from` at or before `from`, which `events_taken_to` gave.
    pub async fn logged_events(&self, from: u64, after: u64) -> Result<LoggedEvents, EngineError> {
        let end = Lsn(self.events.opened_at.load(Ordering::Acquire));
        let from = Lsn(from.min(end.0));
        let reader = WalReader::open(&self.env, LOG_DIRECTORY, from, end).await;
        let reader = reader.map_err(|error| crate::recovery::log_error(&error))?.until(end);
        let is_over = end == Lsn::ZERO;
        Ok(LoggedEvents { reader, pieces: HashMap::new(), after, is_over })
    }
}

/// See [`Engine::logged_events`].
pub struct LoggedEvents {
    reader: WalReader,
    /// Of transactions whose last piece has not come yet.
    pieces: HashMap<u64, Vec<u8>>,
    after: u64,
    is_over: bool,
}

impl LoggedEvents {
    /// The next commit with events.
    pub async fn next(&mut self) -> Result<Option<CommittedEvents>, EngineError> {
        while !self.is_over {
            let group = self.reader.next_group().await;
            let Some(group) = group.map_err(|error| crate::recovery::log_error(&error))? else { break };
            let lsn = group.end.0;
            for record in event_records(&group) {
                let EventRecord::Piece { txn, is_last, bytes } = record? else { continue };
                let piece = self.pieces.entry(txn).or_default();
                piece.extend_from_slice(bytes);
                if is_last {
                    let bytes = self.pieces.remove(&txn).unwrap_or_default().into();
                    if lsn > self.after {
                        return Ok(Some(CommittedEvents { lsn, bytes }));
                    }
                }
            }
        }
        self.is_over = true;
        Ok(None)
    }
}
