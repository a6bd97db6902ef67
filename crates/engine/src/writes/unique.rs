//! The check that no other live record shares a unique prefix.
//!
//! Invariant: the caller holds the exclusive lock on the prefix's own name from before the check until its
//! record is in the leaf. So of two inserts with one prefix the second finds the first's record.

use crate::engine::Engine;
use crate::locks::lock_wait::Waited;
use crate::row_table::Attempt;
use crate::spill::RowPlace;
use crate::storage::record;
use crate::transactions::transaction::Work;
use crate::transactions::transaction_state::TransactionState;
use crate::{EngineError, KeyRange, LockMode, TreeId, WaitPolicy};
use btree::{Direction, Position};
use buffer::Stop;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What the check found in the range of the prefix.
enum Rival {
    /// A live record; it is locked now.
    Duplicate(Vec<u8>),
    /// A record that another transaction has changed or locked: its end decides.
    Busy(Vec<u8>),
    /// See `Work::newest_allowed`.
    Changed,
}

impl Work {
    pub async fn check_prefix(
        &mut self,
        tree: TreeId,
        key: &[u8],
        prefix: &[u8],
        duplicate_lock: LockMode,
        wait: WaitPolicy,
    ) -> Result<(), EngineError> {
        loop {
            match self.find_rival(tree, key, prefix, duplicate_lock).await? {
                None => return Ok(()),
                Some(Rival::Duplicate(existing_key)) => {
                    return Err(EngineError::DuplicateKey { existing_key });
                }
                Some(Rival::Changed) => return Err(EngineError::RecordChanged),
                Some(Rival::Busy(rival)) => {
                    if self.wait_for_row(tree, &rival, duplicate_lock, wait).await? == Waited::Skip {
                        return Err(EngineError::LockNotAvailable);
                    }
                }
            }
        }
    }

    /// The first record with the prefix, other than `key` itself, that is or may become live.
    async fn find_rival(
        &mut self,
        tree: TreeId,
        key: &[u8],
        prefix: &[u8],
        lock: LockMode,
    ) -> Result<Option<Rival>, EngineError> {
        debug_assert!(key.starts_with(prefix), "a unique prefix is a part of the key");
        let state = self.state();
        let (engine, newest_allowed) = (self.engine.clone(), self.newest_allowed);
        let handle = engine.tree(tree)?;
        let end = KeyRange::prefix(prefix).upper;
        let (mut position, mut next) = (Position::at(prefix), Position::start());
        self.moves_seen = engine.rows.moves();
        loop {
            let scanned = engine.pool.run(|| {
                handle.scan(&engine.pool, &position, Direction::Forward, &mut next, |leaf| {
                    let found = leaf.for_each(|found, value| {
                        if !found.starts_with(prefix) {
                            return ControlFlow::Break(Ok(None));
                        }
                        if found == key {
                            return ControlFlow::Continue(());
                        }
                        let row = RowPlace { tree, key: found, page_lsn: leaf.page_lsn().0 };
                        let is_live = record::is_live(Some(value));
                        match engine.judge_rival(&state, row, is_live, lock, newest_allowed) {
                            Ok(None) => ControlFlow::Continue(()),
                            rival_or_stop => ControlFlow::Break(rival_or_stop),
                        }
                    });
                    let goes_on =
                        leaf.fence().is_some_and(|fence| end.as_deref().is_none_or(|end| fence < end));
                    Ok((found.break_value().transpose()?.flatten(), goes_on))
                })?
            });
            match scanned.await.map_err(|error| engine.tree_error(&handle, error))? {
                (Some(rival), _) => return Ok(Some(rival)),
                (None, false) => return Ok(None),
                (None, true) => std::mem::swap(&mut position, &mut next),
            }
        }
    }
}

impl Engine {
    /// Whether a record with the prefix stands in the way. Called under its leaf's latch.
    fn judge_rival(
        &self,
        me: &Arc<TransactionState>,
        row: RowPlace<'_>,
        is_live: bool,
        lock: LockMode,
        newest_allowed: u64,
    ) -> Result<Option<Rival>, Stop> {
        if !is_live && !self.is_written_by_other(me, row)? {
            return Ok(None);
        }
        Ok(Some(match self.try_lock_row(me, row, lock, newest_allowed)? {
            Attempt::Granted { newest_lsn } if newest_lsn > newest_allowed => Rival::Changed,
            Attempt::Granted { .. } if is_live => Rival::Duplicate(row.key.to_vec()),
            _ => Rival::Busy(row.key.to_vec()),
        }))
    }
}
