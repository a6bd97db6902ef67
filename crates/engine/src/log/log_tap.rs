//! The log for whoever keeps it elsewhere: pieces of what is durable, one after the other, and when commits were made.
//!
//! Invariant: the log behind what `LogTap::release` was last told stays (`wal::LogPin`). Only durable log is handed out. Called by
//! `archive`, which takes the log to other places and makes databases of it and a copy.

use crate::EngineError;
use crate::engine::Engine;
use crate::log::log_record;
use crate::log::log_record::LogRecord;
use crate::recovery::log_error;
use crate::storage::files::{DATA_DIRECTORY, LOG_DIRECTORY, open_store};
use env::Env;
use std::sync::Arc;
use wal::{LogFiles, LogGroup, LogPiece, LogPin, Lsn};

/// What a copy of a database (`Engine::back_up`) needs of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyExtent {
    /// Recovery begins here.
    pub from_lsn: u64,
    /// Its pages may be as new as this; the log has to reach so far.
    pub to_lsn: u64,
}

/// The extent of a copy at rest.
pub async fn copy_extent(env: &Env) -> Result<CopyExtent, EngineError> {
    let missing = || EngineError::Corrupt { what: format!("there is no database in '{DATA_DIRECTORY}'") };
    let (store, superblock) = open_store(env).await?.ok_or_else(missing)?;
    let to_lsn = superblock.known_durable_lsn.max(store.newest_lsn());
    Ok(CopyExtent { from_lsn: superblock.checkpoint_lsn, to_lsn })
}

/// Where the log of a database at rest begins; `None` if it has none yet.
pub async fn log_begin(env: &Env) -> Result<Option<u64>, EngineError> {
    let files = LogFiles::of_directory(env.disk.clone(), LOG_DIRECTORY).await;
    match files.map_err(|error| log_error(&error))? {
        Some(files) => files.begin().await.map(Some).map_err(|error| log_error(&error)),
        None => Ok(None),
    }
}

/// When the commit in this group was made, in microseconds since 1970. The first commit of a millisecond says so; others, and
/// groups without a commit, say nothing.
pub fn committed_at_us(group: &LogGroup<'_>) -> Option<u64> {
    let (_, record) = group.records().filter(|(_, record)| log_record::is_time(record.kind)).last()?;
    match log_record::decode(record.kind, record.payload) {
        Ok(LogRecord::Time { unix_us }) => Some(unix_us),
        _ => None,
    }
}

/// Takes the log as it becomes durable.
pub struct LogTap {
    engine: Arc<Engine>,
    files: LogFiles,
    place: u64,
    held_from: u64,
    hold: LogPin,
}

impl Engine {
    /// Takes the log from a place on, at which a chunk begins, or as far back as recovery would; `None` if it does not reach so
    /// far back any more.
    pub fn tap_log(self: &Arc<Self>, from: Option<u64>) -> Option<LogTap> {
        let files = self.wal.files();
        let (place, hold) = match from {
            Some(place) => (place, self.wal.pin(Lsn(place))?),
            None => {
                let from = Lsn(self.checkpointer.checkpoint_lsn());
                // A checkpoint may come in between; then its own log is there.
                let pinned = |lsn| self.wal.pin(lsn).map(|pin| (files.place_before(lsn), pin));
                pinned(from).or_else(|| pinned(Lsn(self.checkpointer.checkpoint_lsn())))?
            }
        };
        Some(LogTap { engine: self.clone(), files, place, held_from: place, hold })
    }

    /// The log from a checkpoint on, which is held.
    pub(crate) fn tap_with(self: &Arc<Self>, checkpoint_lsn: u64, hold: LogPin) -> LogTap {
        let files = self.wal.files();
        let place = files.place_before(Lsn(checkpoint_lsn));
        debug_assert!(place <= checkpoint_lsn, "a segment begins before what is in it");
        LogTap { engine: self.clone(), files, place, held_from: place, hold }
    }

    /// Which log this database has.
    pub fn log_id(&self) -> u64 {
        self.wal.log_id()
    }

    /// Keeps what is held until the engine is closed, for the next start's `keep_log_from`.
    pub fn hold_to_end(&self, hold: LogPin) {
        self.life.closing_holds.lock().push(hold);
    }

    /// What `keep_log_from` has kept counts no more: everybody who needs it holds it.
    pub fn release_opening_hold(&self) {
        drop(self.life.opening_hold.lock().take());
    }
}

impl LogTap {
    /// Takes no more; what is not released stays until the engine is closed.
    pub fn end(self) {
        self.engine.hold_to_end(self.hold);
    }

    /// Where the next piece begins.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// The size of a segment of this log.
    pub fn segment_bytes(&self) -> u64 {
        self.files.segment_bytes()
    }

    /// Where a piece would lie that is appended to all that is durable.
    pub fn end_place(&self) -> u64 {
        self.engine.wal.durable_lsn().0.next_multiple_of(env::DIRECT_ALIGNMENT)
    }

    /// Waits until there are so many bytes behind the last piece, or a little less.
    pub fn wait(&self, bytes: u64) -> impl Future<Output = Result<(), EngineError>> + Send + use<> {
        let (engine, lsn) = (self.engine.clone(), Lsn(self.place + bytes));
        async move { engine.wal.wait_for_growth(lsn).await.map_err(|error| engine.log_failed(&error)) }
    }

    /// The next piece, of about `wanted` bytes; `None` when all that is durable has been taken.
    pub async fn next(&mut self, wanted: u64) -> Result<Option<LogPiece>, EngineError> {
        let durable = self.engine.wal.durable_lsn();
        if durable.0 <= self.place {
            return Ok(None);
        }
        let piece = self.files.piece(self.place, durable, wanted).await.map_err(|error| log_error(&error))?;
        let Some(piece) = piece else {
            let what = self.files.damaged(self.place, "durable log cannot be read").to_string();
            return Err(EngineError::Corrupt { what });
        };
        debug_assert_eq!(piece.start(), self.place, "pieces follow one another");
        debug_assert!(piece.end() <= durable, "only durable log is handed out");
        self.place = piece.next(self.files.segment_bytes());
        Ok(Some(piece))
    }

    /// The next piece is that at `place`, which is held.
    pub fn go_back_to(&mut self, place: u64) {
        assert!(place >= self.held_from, "only what is held is certainly there");
        debug_assert!(place <= self.place, "a tap goes back to what it has given");
        self.place = place;
    }

    /// The log from here on is held.
    pub fn held_from(&self) -> u64 {
        self.held_from
    }

    /// The log before `place` is not needed any more.
    pub fn release(&mut self, place: u64) {
        debug_assert!(place >= self.held_from, "what was let go may be gone");
        debug_assert!(place <= self.place, "what was not taken is still needed");
        self.held_from = place;
        self.hold.move_to(Lsn(place));
    }

    /// How much of the log is held.
    pub fn held_bytes(&self) -> u64 {
        self.engine.wal.end_lsn().0.saturating_sub(self.held_from)
    }

    /// How long the log may become.
    pub fn capacity_bytes(&self) -> u64 {
        self.engine.wal.capacity_bytes()
    }
}
