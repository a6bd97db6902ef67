//! Forwarding: logging the undo records of an old active transaction again, so that it does not hold the
//! checkpoint back and the log does not fill up behind it. What is spilled (`spill`) needs no forwarding, and only
//! so much is not.
//!
//! Why this is right: undo records carry their sequence, so a second copy replaces the first. A chunk is
//! appended under the commit mutex and the transaction's undo mutex, hence before any later compensation or
//! commit record, and never after one: a settled stack holds exactly what the log says is left to undo.

use crate::EngineError;
use crate::engine::Engine;
use crate::log::log_record::{LogRecord, Operation};
use crate::row_table::Before;
use crate::transactions::transaction_state::TransactionState;
use crate::writes::undo_stack::{NumberedItem, UndoItem};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use wal::{AppendError, Lsn, WalGroup};

/// One group holds about this many bytes of undo records.
const CHUNK_BYTES: usize = 64 << 10;

impl Engine {
    /// Forwards every active transaction whose undo records begin before `limit`.
    pub(crate) async fn forward_old_undo(&self, limit: Lsn) -> Result<(), EngineError> {
        for state in self.writers.active() {
            if state.first_lsn() < limit.0 {
                self.forward(&state).await?;
            }
        }
        Ok(())
    }

    async fn forward(&self, state: &Arc<TransactionState>) -> Result<(), EngineError> {
        let start = self.wal.end_lsn().0;
        let mut from = 0;
        loop {
            match self.forward_chunk(state, from) {
                Chunk::Appended { next } => from = next,
                Chunk::Finished => {
                    // Behind its undo records.
                    self.log_still_prepared(state).await?;
                    state.undo_moved_to(start);
                    self.stats.undo_forwards.fetch_add(1, Relaxed);
                    return Ok(());
                }
                // Its next checkpoint finds it settled, or gone.
                Chunk::Unsettled => return Ok(()),
                // Writers leave room for this (`keep_log_room`): the next segment is just not ready yet.
                Chunk::Full { bytes } => self.wait_for_log_space(bytes).await?,
                Chunk::Failed(error) => return Err(self.log_error(error)),
            }
        }
    }

    /// Logs the next items of the stack again.
    fn forward_chunk(&self, state: &Arc<TransactionState>, from: u64) -> Chunk {
        let _commits_wait = self.versions.history.lock();
        if !state.is_active() {
            return Chunk::Finished;
        }
        let appended = state.with_settled_undo(|undo| {
            let mut group = WalGroup::new();
            let mut next = from;
            for change in undo.iter().filter(|change| change.sequence >= from) {
                debug_assert!(change.sequence >= next, "changes are in the order of their numbers");
                self.encode_undo(state, change, &mut group);
                next = change.sequence + 1;
                if group.encoded_len() > CHUNK_BYTES {
                    break;
                }
            }
            if group.is_empty() {
                return Chunk::Finished;
            }
            match self.wal.append_reserve(&group) {
                Ok(_) => Chunk::Appended { next },
                Err(AppendError::Full) => Chunk::Full { bytes: group.encoded_len() },
                Err(error) => Chunk::Failed(error),
            }
        });
        appended.unwrap_or(Chunk::Unsettled)
    }

    fn encode_undo(&self, state: &Arc<TransactionState>, change: &NumberedItem, group: &mut WalGroup) {
        let sequence = change.sequence;
        let mut push = |operation, tree, key: &[u8], before: &[u8]| {
            let record = LogRecord::Undo { operation, sequence, tree, key, before };
            group.push_with(record.kind(), state.id.0, |bytes| record.encode(bytes));
        };
        let no_tree = crate::TreeId(0);
        match &change.item {
            UndoItem::Row { name, operation, .. } => {
                let before = self.rows.before(state, name, sequence);
                let image = match &before {
                    Before::Record(record) => &**record,
                    Before::Absent => &[],
                };
                debug_assert_eq!(
                    *operation == Operation::Insert,
                    before == Before::Absent,
                    "only an insert has nothing to put back"
                );
                push(*operation, name.tree, &name.key, image);
            }
            UndoItem::Tree { tree, root } => {
                push(Operation::CreateTree, *tree, &[], &root.0.to_le_bytes());
            }
            UndoItem::Chain(page) => push(Operation::CreateChain, no_tree, &[], &page.0.to_le_bytes()),
            UndoItem::DropTree(_) => {}
        }
    }
}

enum Chunk {
    Appended {
        next: u64,
    },
    /// Nothing is left to log.
    Finished,
    /// Log and stack may disagree for an instant.
    Unsettled,
    /// There is no room for a group of this size.
    Full {
        bytes: usize,
    },
    Failed(AppendError),
}
