//! How a range scan judges one record: through a snapshot, with a lock, or by its committed version alone.
//!
//! Invariant: everything here runs under the latch of the record's leaf, so neither versions nor locks change
//! meanwhile. Called by `scan`.

use crate::engine::Engine;
use crate::reads::read::View;
use crate::row_table::{Attempt, Before, RowName, Visible};
use crate::spill::RowPlace;
use crate::storage::record::Record;
use crate::transactions::transaction::Transaction;
use crate::transactions::transaction_state::TransactionState;
use crate::{EntryBatch, LockMode, TreeId};
use btree::overflow::Stub;
use buffer::Stop;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// What happened to one record.
pub(crate) enum Judged {
    /// It is in the batch, or not for this reader.
    Done,
    /// It is in the batch without a lock, which ends the batch.
    Unlocked,
    Chain(Stub),
    Locked,
    /// It must not be locked any more: see `Transaction::set_snapshot_isolation`.
    Changed,
    Damaged,
}

/// How a scan looks at records.
pub(crate) enum Access {
    View(View),
    Locks(Locks),
}

pub(crate) struct Locks {
    pub state: Arc<TransactionState>,
    pub mode: LockMode,
    pub skips: bool,
    /// See `Work::newest_allowed`.
    pub newest_allowed: u64,
    pub protects: bool,
    /// Rows that nobody has to do with are locked by a run: see `locks::row_runs`.
    pub in_runs: bool,
    /// They are claimed for that now.
    pub has_claim: AtomicBool,
    /// The row table's number of moves after the latest claim; 0 before the first.
    pub moves: AtomicU64,
    /// How many rows are.
    pub run_rows: AtomicU64,
    /// See `Cursor::test_before_waiting`.
    pub tests: bool,
    /// The newest commit among the records returned.
    pub seen_lsn: AtomicU64,
}

impl Access {
    pub fn judge(
        &self,
        engine: &Engine,
        tree: TreeId,
        key: &[u8],
        record: &[u8],
        page_lsn: wal::Lsn,
        out: &mut EntryBatch,
    ) -> Result<Judged, Stop> {
        let row = RowPlace { tree, key, page_lsn: page_lsn.0 };
        match self {
            Access::View(view) => {
                if record == crate::storage::record::GHOST_RECORD && !engine.has_versions(row) {
                    engine.versions.ghosts.offer(&RowName { tree, key: key.into() });
                    return Ok(Judged::Done);
                }
                view.visible(engine, tree, key, Some(record), page_lsn, |record| match record {
                    None => Judged::Done,
                    Some(record) => take(key, record, out),
                })
            }
            Access::Locks(locks) => locks.judge(engine, row, record, out),
        }
    }

    /// What has moved because of the scan itself is nothing to ask again for.
    pub fn note_moves(&self, transaction: &mut Transaction) {
        if let Access::Locks(locks) = self {
            let moves = locks.moves.load(Relaxed);
            transaction.work.moves_seen = transaction.work.moves_seen.max(moves);
        }
    }

    pub fn note_seen(&self, transaction: &mut Transaction) {
        if let Access::Locks(locks) = self {
            let seen = locks.seen_lsn.load(Relaxed);
            let run_rows = locks.run_rows.load(Relaxed);
            if run_rows > 0 {
                locks.state.count_run_rows(run_rows);
            }
            transaction.work.seen_lsn = transaction.work.seen_lsn.max(seen);
        }
    }
}

impl Locks {
    fn judge(
        &self,
        engine: &Engine,
        row: RowPlace<'_>,
        record: &[u8],
        out: &mut EntryBatch,
    ) -> Result<Judged, Stop> {
        debug_assert!(!self.in_runs || self.protects, "runs are of scans that protect what they pass");
        debug_assert!(!self.tests || !self.protects, "strict scans wait for each record");
        let is_ghost = Record::decode(record) == Some(Record::Ghost);
        if is_ghost && !engine.has_versions(row) {
            engine.versions.ghosts.offer(&RowName { tree: row.tree, key: row.key.into() });
            return Ok(Judged::Done);
        }
        if is_ghost && !engine.is_written_by_other(&self.state, row)? {
            let newest_lsn = engine.newest_commit(&self.state, row, self.newest_allowed)?;
            let has_changed = newest_lsn > self.newest_allowed;
            return Ok(if has_changed { Judged::Changed } else { Judged::Done });
        }
        Ok(match self.lock(engine, row)? {
            Attempt::Granted { newest_lsn } if newest_lsn > self.newest_allowed => Judged::Changed,
            Attempt::Granted { newest_lsn } => {
                self.seen_lsn.fetch_max(newest_lsn, Relaxed);
                take(row.key, record, out)
            }
            Attempt::Conflict if self.skips => Judged::Done,
            Attempt::Conflict if self.tests => return self.judge_committed(engine, row, record, out),
            Attempt::Conflict => Judged::Locked,
        })
    }

    fn lock(&self, engine: &Engine, row: RowPlace<'_>) -> Result<Attempt, Stop> {
        debug_assert!(self.in_runs || !self.has_claim.load(Relaxed), "only runs are claimed");
        if self.has_claim.load(Relaxed)
            && let Some(newest_lsn) = engine.lock_claimed_row(&self.state, row, self.newest_allowed)?
        {
            self.run_rows.fetch_add(1, Relaxed);
            return Ok(Attempt::Granted { newest_lsn });
        }
        engine.try_lock_row(&self.state, row, self.mode, self.newest_allowed)
    }

    /// The newest committed version of a record that another transaction has locked.
    fn judge_committed(
        &self,
        engine: &Engine,
        row: RowPlace<'_>,
        record: &[u8],
        out: &mut EntryBatch,
    ) -> Result<Judged, Stop> {
        debug_assert!(self.tests, "other scans wait for the record");
        self.seen_lsn.fetch_max(engine.newest_commit_bound(row), Relaxed);
        engine.visible(row, u64::MAX, None, &self.state.passed_spills, |version| {
            let record = match version {
                Visible::Page => record,
                // Inserted by the other, or deleted before.
                Visible::Before(Before::Absent) => return Judged::Done,
                Visible::Before(Before::Record(before)) => before,
            };
            match Record::decode(record) {
                Some(Record::Value(value)) => {
                    out.push_unlocked(row.key, value);
                    Judged::Unlocked
                }
                // Without a lock or a snapshot its chain may be freed at any moment.
                Some(Record::Chain(_)) => Judged::Locked,
                Some(Record::Ghost) => Judged::Done,
                None => Judged::Damaged,
            }
        })
    }
}

fn take(key: &[u8], record: &[u8], out: &mut EntryBatch) -> Judged {
    match Record::decode(record) {
        Some(Record::Value(value)) => {
            out.push(key, value);
            Judged::Done
        }
        Some(Record::Chain(_)) if out.counts_only() => {
            out.push(key, &[]);
            Judged::Done
        }
        Some(Record::Chain(stub)) => Judged::Chain(stub),
        Some(Record::Ghost) => Judged::Done,
        None => Judged::Damaged,
    }
}
