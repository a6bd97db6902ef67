//! The check that no other live record shares a unique prefix.
//!
//! Invariant: the caller holds the exclusive lock on the prefix's own name from before the check until its
//! record is in the leaf. So of two inserts with one prefix the second finds the first's record.

use crate::lock_wait::Waited;
use crate::record;
use crate::row_table::Attempt;
use crate::transaction::Work;
use crate::{EngineError, KeyRange, LockMode, TreeId, WaitPolicy};
use btree::{Direction, Position};
use std::ops::ControlFlow;

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
        let state = self.state();
        let (engine, newest_allowed) = (self.engine.clone(), self.newest_allowed);
        let handle = engine.tree(tree)?;
        let end = KeyRange::prefix(prefix).upper;
        let (mut position, mut next) = (Position::at(prefix), Position::start());
        loop {
            let scanned = engine.pool.run(|| {
                handle.scan(&engine.pool, &position, Direction::Forward, &mut next, |leaf| {
                    let found = leaf.for_each(|found, value| {
                        if !found.starts_with(prefix) {
                            return ControlFlow::Break(None);
                        }
                        let is_live = record::is_live(Some(value));
                        let is_busy = || engine.rows.is_written_by_other(&state, tree, found);
                        if found == key || !is_live && !is_busy() {
                            return ControlFlow::Continue(());
                        }
                        let name = found.to_vec();
                        ControlFlow::Break(Some(match engine.rows.try_lock(&state, tree, found, lock) {
                            Attempt::Granted { newest_lsn } if newest_lsn > newest_allowed => Rival::Changed,
                            Attempt::Granted { .. } if is_live => Rival::Duplicate(name),
                            _ => Rival::Busy(name),
                        }))
                    });
                    let goes_on =
                        leaf.fence().is_some_and(|fence| end.as_deref().is_none_or(|end| fence < end));
                    (found.break_value(), goes_on)
                })
            });
            match scanned.await.map_err(|error| engine.tree_error(&handle, error))? {
                (Some(rival), _) => return Ok(rival),
                (None, false) => return Ok(None),
                (None, true) => std::mem::swap(&mut position, &mut next),
            }
        }
    }
}
