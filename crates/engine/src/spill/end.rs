//! The life of a spill in the tree of trees, and its end: after a commit, after a rollback, after a crash.
//!
//! | row | meaning |
//! |---|---|
//! | active | a crash undoes it, unless the log has the commit of its transaction (which lists it among dropped trees) |
//! | committed | older snapshots may need it; after a crash nobody does |
//! | a dropped tree's | its pages are being freed |
//!
//! A committed transaction's spill is taken apart when every snapshot sees the commit: ghosts go from their leaves,
//! replaced overflow chains are freed, each in the group that removes its entry, then the tree is dropped.

use super::Spill;
use super::entry::Undo;
use crate::checkpoints::checkpoint::CheckpointPin;
use crate::engine::Engine;
use crate::log::log_record::{LogRecord, NO_TRANSACTION};
use crate::row_table::RowName;
use crate::storage::live_trees::LiveTree;
use crate::storage::record::stub_of;
use crate::transactions::transaction_state::{TransactionId, TransactionState};
use crate::{EngineError, Isolation, TreeId};
use btree::{Direction, Mtr, Position, Tree};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wal::Priority;

/// What the tree of trees knows of a spill's transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Active,
    Committed,
}

/// A spill that was found at start-up.
pub(crate) struct FoundSpill {
    pub live: LiveTree,
    pub owner: TransactionId,
    pub standing: Standing,
}

impl Engine {
    pub(super) async fn put_spill_row(
        &self,
        tree: &Tree,
        owner: TransactionId,
        standing: Standing,
        with_chains: bool,
    ) -> Result<(), EngineError> {
        let live = LiveTree { tree: *tree, with_chains, creator: None, was_empty: false };
        self.put_found_spill(&FoundSpill { live, owner, standing }).await
    }

    /// The spill's transaction has committed. The pin keeps its commit record in reach until that is on record.
    pub(crate) fn spill_committed(self: &Arc<Self>, pin: CheckpointPin, spill: Arc<Spill>) {
        debug_assert!(spill.owner.committed_at().is_some(), "its commit is in the log");
        self.spawn("commit spill", |engine| async move {
            let with_chains = spill.with_chains.load(Ordering::Acquire);
            let (tree, owner) = (&spill.tree, spill.owner.id);
            let marked = engine.put_spill_row(tree, owner, Standing::Committed, with_chains).await;
            if marked.is_err() {
                // A restart has to find the commit record.
                std::mem::forget(pin);
                return marked;
            }
            drop(pin);
            spill.is_marked.store(true, Ordering::Release);
            engine.end_seen_spills();
            Ok(())
        });
    }

    /// Drops the spills of transactions that everybody sees.
    pub(crate) fn end_seen_spills(self: &Arc<Self>) {
        if !self.spills.exist() {
            return;
        }
        let horizon_lsn = self.versions.snapshots.horizon(|| self.visible_lsn());
        for spill in self.spills.seen_by_all(horizon_lsn) {
            if self.spills.remove(&spill) {
                self.spawn("drop spill", |engine| async move { engine.take_apart(&spill).await });
            }
        }
    }

    /// Frees what a committed transaction's spill refers to, and the spill.
    async fn take_apart(self: &Arc<Self>, spill: &Spill) -> Result<(), EngineError> {
        let with_chains = spill.with_chains.load(Ordering::Acquire);
        if with_chains || spill.with_ghosts.load(Ordering::Acquire) {
            let (mut position, mut next) = (Position::start(), Position::start());
            while !position.is_end() {
                if self.life.closed.load(Ordering::Acquire) {
                    // The next start goes on, and does without the ghosts: scans find those.
                    return Ok(());
                }
                self.keep_log_room().await?;
                let entries = match self.leaf_of_spill(spill, &position, Direction::Forward, &mut next).await
                {
                    // Scans find the ghosts; chains that cannot be reached stay in use.
                    Err(error) if error.is_corruption() => Vec::new(),
                    read => read?,
                };
                for (key, value) in &entries {
                    self.take_entry_apart(spill, key, value).await?;
                }
                std::mem::swap(&mut position, &mut next);
                self.start_due_checkpoint();
                env::yield_now().await;
            }
        }
        let live = LiveTree { tree: spill.tree, with_chains: false, creator: None, was_empty: false };
        self.drop_spill_tree(live).await
    }

    async fn take_entry_apart(&self, spill: &Spill, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        let entry = self.decode_entry(spill, key, value)?;
        let Undo::Row { operation, before } = entry.undo else { return Ok(()) };
        if operation == crate::log::log_record::Operation::Delete && spill.with_ghosts.load(Ordering::Acquire)
        {
            self.remove_ghost_in_time(&RowName { tree: entry.tree, key: entry.key.into() }).await?;
        }
        if let Some(stub) = stub_of(before) {
            let chain = stub.first.0;
            self.detach_spilled_chain(spill, key, chain).await?;
            self.free_chains(vec![chain]).await?;
        }
        Ok(())
    }

    /// Removes an entry and lists its chain as pending, in one group: see `detach_chain`.
    async fn detach_spilled_chain(&self, spill: &Spill, key: &[u8], chain: u64) -> Result<(), EngineError> {
        let detached = self.pool.run(|| {
            let mut mtr = Mtr::begin_with(&self.pool, Priority::Reserve);
            let pending = LogRecord::PendingFrees { chains: vec![chain] };
            let log = Some((pending, NO_TRANSACTION, None));
            let mut edit = super::fill::EntryEdit { value: None, only_existing: true, log };
            spill.tree.modify(&self.space, &mut mtr, key, &mut edit)?;
            // Under the commit mutex: a checkpoint lists the pending chains either before or after this.
            let mut history = self.versions.history.lock();
            let committed = mtr.commit();
            history.add_pending_chains([chain]);
            Ok(committed)
        });
        let committed = detached.await.map_err(|error| self.tree_error(&spill.tree, error))?;
        committed.map(|_| ()).map_err(|error| self.log_failed(&error))
    }

    /// Ends the spill of a transaction that is completely undone, before its locks are released: from here on the log
    /// has nothing left of it to undo.
    pub(crate) async fn spill_rolled_back(
        self: &Arc<Self>,
        state: &Arc<TransactionState>,
        spill: &Arc<Spill>,
    ) -> Result<(), EngineError> {
        let live = LiveTree { tree: spill.tree, with_chains: false, creator: None, was_empty: false };
        self.mark_undone(&live, state.id).await?;
        debug_assert!(state.is_active(), "its locks are released after this");
        let was_there = self.spills.remove(spill);
        debug_assert!(was_there, "a spill is dropped once");
        state.set_spill(None);
        self.spawn("drop spill", |engine| async move { engine.drop_spill_tree(live).await });
        Ok(())
    }

    /// At start-up: gives a transaction that has not committed its spill back.
    pub(crate) async fn adopt_spill(
        &self,
        state: &Arc<TransactionState>,
        found: FoundSpill,
    ) -> Result<(), EngineError> {
        debug_assert!(found.standing == Standing::Active, "what has committed is not undone");
        let spill = Spill::new(found.live.tree, state.clone(), 0);
        spill.with_chains.store(found.live.with_chains, Ordering::Release);
        spill.with_ghosts.store(true, Ordering::Release);
        let trees = match self.trees_in_spill(&spill).await {
            // It may be any.
            Err(error) if error.is_corruption() => self.tree_ids().into_iter().collect(),
            found => found?,
        };
        spill.expect_all_of(&trees);
        state.with_undo_mut(|undo| undo.adopt_spill());
        state.set_spill(Some(spill.clone()));
        self.spills.add(spill);
        Ok(())
    }

    /// At start-up: takes the spills of committed transactions apart.
    pub(crate) fn drop_committed_spills(self: &Arc<Self>, found: Vec<FoundSpill>) {
        for FoundSpill { live, owner, .. } in found {
            let state = TransactionState::labelled(owner, 0, Isolation::ReadCommitted, 0, 0);
            let spill = Spill::new(live.tree, state, 0);
            spill.with_chains.store(live.with_chains, Ordering::Release);
            self.spawn("drop spill", |engine| async move { engine.take_apart(&spill).await });
        }
    }

    /// Notes which of the spills belong to transactions whose commit the log has.
    pub(crate) async fn mark_committed_spills(
        &self,
        found: &mut [FoundSpill],
        committed: &BTreeSet<TreeId>,
    ) -> Result<(), EngineError> {
        for spill in found {
            if spill.standing == Standing::Active && committed.contains(&TreeId(spill.live.tree.id.0)) {
                spill.standing = Standing::Committed;
                self.put_found_spill(spill).await?;
            }
        }
        Ok(())
    }
}
