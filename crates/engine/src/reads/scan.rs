//! Range scans: leaf by leaf, through a snapshot or locking.
//!
//! Invariant: records of one leaf are judged under its latch, where versions and locks cannot change under
//! the scan. From RepeatableRead on a locking scan protects exactly the keys it has passed, before it lets
//! go of the latch. Between leaves nothing is held: the scan goes on by key.

use crate::engine::Engine;
use crate::locks::intervals::Range;
use crate::locks::lock_wait::Waited;
use crate::reads::read::damaged;
use crate::reads::scan_access::{Access, Judged, Locks};
use crate::reads::scan_range::{Pause, bounds, is_beyond, is_empty, leaf_end, passed};
use crate::transactions::transaction::Transaction;
use crate::{Direction, EngineError, EntryBatch, Isolation, KeyRange, ReadMode, TreeId, WaitPolicy};
use btree::{LeafView, Position};
use buffer::Stop;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// A position in a range scan.
pub struct Cursor {
    tree: TreeId,
    range: KeyRange,
    direction: Direction,
    mode: ReadMode,
    done: bool,
    place: Place,
    /// No leaf has been asked for yet.
    starts: bool,
    tests_before_waiting: bool,
    leaves_gaps_open: bool,
    /// How many records it has locked.
    locked: usize,
    /// The last key that is dealt with, where a step stops inside a leaf; reused to save allocations.
    key: Vec<u8>,
}

/// How far a scan has come, twice: for the tree and for the interval that it protects.
struct Place {
    position: Position,
    /// Memory for the next position.
    spare: Position,
    /// Where the next step begins: the range's own end, or the last key or leaf that was passed.
    begin: Bound<Vec<u8>>,
}

impl Transaction {
    /// A cursor over the range. It borrows nothing: pass the transaction to each `next_batch`.
    pub fn scan(&mut self, tree: TreeId, range: KeyRange, direction: Direction, mode: ReadMode) -> Cursor {
        let (low, high) = bounds(&range);
        let begin = match direction {
            Direction::Forward => low,
            Direction::Backward => high,
        };
        let mut position = match &begin {
            Bound::Unbounded => Position::start(),
            Bound::Included(key) => Position::at(key),
            Bound::Excluded(key) => Position::after(key),
        };
        let far_end = match direction {
            Direction::Forward => &range.upper,
            Direction::Backward => &range.lower,
        };
        // The leaves up to there can be read side by side, and none behind it.
        far_end.iter().for_each(|key| position.expect_end(key));
        let place = Place { position, spare: Position::start(), begin };
        let done = is_empty(&range);
        Cursor {
            tree,
            range,
            direction,
            mode,
            done,
            place,
            starts: true,
            tests_before_waiting: false,
            leaves_gaps_open: false,
            locked: 0,
            key: Vec::new(),
        }
    }
}

/// A batch with so many bytes is given out, however few entries it has: long values must not gather.
const BATCH_BYTES: usize = 1 << 20;

/// A scan that has locked so many records one by one locks further ones in runs.
const RUNS_AFTER: usize = 64;

impl Cursor {
    /// Below RepeatableRead: instead of waiting for a record that another transaction has locked, the cursor
    /// returns its last committed version as the last entry of a batch, marked (`EntryBatch::is_unlocked`). If
    /// the statement wants that record it must read it again with a lock, which waits.
    pub fn test_before_waiting(&mut self) {
        self.tests_before_waiting = true;
    }

    /// Locks the records only, at every level: for a caller whose other locks keep new records out of the range, or
    /// to whom they do not matter.
    pub fn leave_gaps_open(&mut self) {
        self.leaves_gaps_open = true;
    }

    /// Appends up to `limit` further records to `out`, fewer when they are long; false when the range is exhausted. A locking
    /// cursor locks no more than the records it returns, so ask for as few as are needed.
    pub async fn next_batch(
        &mut self,
        transaction: &mut Transaction,
        limit: usize,
        out: &mut EntryBatch,
    ) -> Result<bool, EngineError> {
        let start = out.len();
        let engine = transaction.work.engine.clone();
        match self.mode {
            ReadMode::Snapshot => transaction.prepare_snapshot().await?,
            ReadMode::Locking(..) => transaction.work.spill_if_large().await?,
        }
        transaction.work.moves_seen = engine.rows.moves();
        let access = self.access(transaction)?;
        if std::mem::take(&mut self.starts) {
            self.place.position.expect_entries(limit);
        }
        debug_assert!(!out.ends_unlocked(), "what was not locked is dealt with before the scan goes on");
        let is_enough = |out: &EntryBatch| {
            let count = out.len() - start;
            count >= limit || count > 0 && out.bytes_len() >= BATCH_BYTES
        };
        while !self.done && !is_enough(out) && !out.ends_unlocked() {
            let paused = self.step(&engine, &access, start + limit, out).await;
            if self.mode == ReadMode::Snapshot {
                transaction.check_snapshot()?;
            }
            match paused? {
                Pause::Full | Pause::LeafEnd | Pause::Stopped { .. } => {}
                Pause::RangeEnd => self.done = true,
                Pause::Chain(stub) => {
                    let value = engine.read_chain(stub).await.map_err(|error| error.of(self.tree));
                    if self.mode == ReadMode::Snapshot {
                        transaction.check_snapshot()?;
                    }
                    let value = value?;
                    out.push(&self.key, &value);
                }
                // What was found so far is complete; the next call waits.
                Pause::Locked { .. } if out.len() > start => break,
                Pause::Locked { key, .. } => {
                    access.note_moves(transaction);
                    self.wait(transaction, &key).await?;
                    transaction.work.moves_seen = engine.rows.moves();
                }
                Pause::Changed => return Err(EngineError::RecordChanged),
                Pause::Damaged => return Err(damaged(self.tree)),
            }
        }
        debug_assert!(out.len() - start <= limit, "no more records than were asked for");
        access.note_seen(transaction);
        self.locked += out.len() - start;
        engine.stats.rows_read.fetch_add((out.len() - start) as u64, Relaxed);
        Ok(!self.done)
    }

    fn access(&self, transaction: &mut Transaction) -> Result<Access, EngineError> {
        match self.mode {
            ReadMode::Snapshot => Ok(Access::View(transaction.view())),
            ReadMode::Locking(mode, wait) => {
                transaction.work.engine.check_running()?;
                let state = transaction.work.state();
                let skips = wait == WaitPolicy::SkipLocked;
                let strict = transaction.isolation() >= Isolation::RepeatableRead;
                let (protects, tests) =
                    (strict && !skips && !self.leaves_gaps_open, self.tests_before_waiting && !strict);
                Ok(Access::Locks(Locks {
                    state,
                    mode,
                    skips,
                    newest_allowed: transaction.work.newest_allowed,
                    protects,
                    in_runs: protects && self.locked >= RUNS_AFTER,
                    has_claim: AtomicBool::new(false),
                    moves: AtomicU64::new(0),
                    run_rows: AtomicU64::new(0),
                    tests,
                    seen_lsn: AtomicU64::new(0),
                }))
            }
        }
    }

    async fn wait(&self, transaction: &mut Transaction, key: &[u8]) -> Result<(), EngineError> {
        let ReadMode::Locking(mode, wait) = self.mode else { unreachable!("a snapshot never waits") };
        match transaction.work.wait_for_row(self.tree, key, mode, wait).await? {
            Waited::Granted => Ok(()),
            Waited::Skip => unreachable!("a scan that skips locked rows does not stop at them"),
        }
    }

    /// Reads on in one leaf and moves to where it stopped.
    async fn step(
        &mut self,
        engine: &Engine,
        access: &Access,
        target: usize,
        out: &mut EntryBatch,
    ) -> Result<Pause, EngineError> {
        let handle = match access {
            Access::View(view) => match engine.tree_in_view(self.tree, view)? {
                Some(tree) => tree,
                None => return Ok(Pause::RangeEnd),
            },
            Access::Locks(_) => engine.tree(self.tree)?,
        };
        let direction = match self.direction {
            Direction::Forward => btree::Direction::Forward,
            Direction::Backward => btree::Direction::Backward,
        };
        let Cursor { tree, range, place, key, .. } = self;
        let Place { position, spare, begin } = place;
        let stepped = engine.pool.run(|| {
            handle.scan(&engine.pool, position, direction, spare, |leaf| {
                claim(engine, access, *tree, (begin, direction), leaf.fence());
                let visited = visit(engine, access, *tree, range, direction, leaf, target, key, out);
                let pause = match visited.break_value() {
                    Some(Ok(pause)) => pause,
                    Some(Err(stop)) => {
                        settle(engine, access, *tree, None);
                        return Err(stop);
                    }
                    None => leaf_end(range, direction, leaf.fence()),
                };
                let Access::Locks(locks) = access else { return Ok(pause) };
                let passed = match locks.protects {
                    true => passed(range, begin, &pause, key, leaf.fence(), direction),
                    false => None,
                };
                settle(engine, access, *tree, passed.as_ref().map(|(passed, _)| passed));
                if let Some((passed, next)) = passed {
                    engine.locks.intervals.protect(&locks.state, *tree, passed);
                    *begin = next;
                }
                Ok(pause)
            })?
        });
        let pause = stepped.await.map_err(|error| engine.tree_error(&handle, error))?;
        debug_assert!(
            !matches!(access, Access::Locks(locks) if locks.has_claim.load(Relaxed)),
            "a claim is settled under the latch"
        );
        match &pause {
            Pause::LeafEnd => std::mem::swap(&mut self.place.position, &mut self.place.spare),
            Pause::Full | Pause::Chain(_) => self.place.position.move_after(&self.key),
            Pause::Stopped { key, .. } => self.place.position.move_to(key),
            Pause::Locked { moved: true, .. } => self.place.position.move_after(&self.key),
            Pause::Locked { .. } | Pause::RangeEnd | Pause::Changed | Pause::Damaged => {}
        }
        Ok(pause)
    }
}

/// Claims what is left of the leaf, so that rows without an entry need none: see `locks::row_runs`.
fn claim(
    engine: &Engine,
    access: &Access,
    tree: TreeId,
    (begin, direction): (&Bound<Vec<u8>>, btree::Direction),
    fence: Option<&[u8]>,
) {
    let Access::Locks(locks) = access else { return };
    if !locks.in_runs || engine.spills.exist() {
        return;
    }
    debug_assert!(!locks.has_claim.load(Relaxed), "a claim is settled before the next one");
    let fence = fence.map(<[u8]>::to_vec);
    let rest = match direction {
        btree::Direction::Forward => (begin.clone(), fence.map_or(Bound::Unbounded, Bound::Excluded)),
        btree::Direction::Backward => (fence.map_or(Bound::Unbounded, Bound::Included), begin.clone()),
    };
    let is_claimed = engine.locks.row_runs.claim(&locks.state, tree, rest, locks.mode);
    locks.has_claim.store(is_claimed, Relaxed);
    if is_claimed {
        locks.moves.store(engine.rows.begin_move(), Relaxed);
    }
}

/// Ends the claim: the rows that the scan has passed are locked.
fn settle(engine: &Engine, access: &Access, tree: TreeId, passed: Option<&Range>) {
    if let Access::Locks(locks) = access
        && locks.has_claim.swap(false, Relaxed)
    {
        engine.locks.row_runs.settle(&locks.state, tree, passed.cloned());
    }
}

/// Judges the records of a leaf under its latch, until something makes the scan stop inside it.
#[expect(clippy::too_many_arguments, reason = "all of the cursor's parts, which are borrowed apart")]
fn visit(
    engine: &Engine,
    access: &Access,
    tree: TreeId,
    range: &KeyRange,
    direction: btree::Direction,
    leaf: &LeafView<'_>,
    target: usize,
    stopped_at: &mut Vec<u8>,
    out: &mut EntryBatch,
) -> ControlFlow<Result<Pause, Stop>> {
    let locks = matches!(access, Access::Locks(_));
    // Past a record of this leaf; with locks, `stopped_at` says which.
    let mut moved = false;
    leaf.for_each(|key, record| {
        if is_beyond(range, direction, key) {
            return ControlFlow::Break(Ok(Pause::RangeEnd));
        }
        let judged = match access.judge(engine, tree, key, record, leaf.page_lsn(), out) {
            Ok(judged) => judged,
            // What was dealt with must not be dealt with again.
            Err(_) if moved => return ControlFlow::Break(Ok(Pause::Stopped { key: key.to_vec() })),
            Err(stop) => return ControlFlow::Break(Err(stop)),
        };
        let pause = match judged {
            Judged::Locked => return ControlFlow::Break(Ok(Pause::Locked { key: key.to_vec(), moved })),
            Judged::Done if out.len() < target => {
                moved = true;
                if locks {
                    stopped_at.clear();
                    stopped_at.extend_from_slice(key);
                }
                return ControlFlow::Continue(());
            }
            Judged::Done | Judged::Unlocked => Pause::Full,
            Judged::Chain(stub) => Pause::Chain(stub),
            Judged::Changed => Pause::Changed,
            Judged::Damaged => Pause::Damaged,
        };
        stopped_at.clear();
        stopped_at.extend_from_slice(key);
        ControlFlow::Break(Ok(pause))
    })
}
