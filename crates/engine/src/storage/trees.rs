//! The trees of the database: where each is rooted, and their creation and removal.
//!
//! The tree of trees ("meta", see `meta_row`) has no versions: a row is written when a tree is created, marked when
//! its drop is committed, and removed when its pages are free. Spills have rows too. Invariant: a live row without a
//! commit belongs to a transaction whose undo record names the tree; a marked row belongs to a committed drop, which
//! the background finishes, if need be after the next start.

use crate::checkpoints::checkpoint::CheckpointPin;
use crate::engine::Engine;
use crate::log::log_record::{COMPENSATED_BYTES, LogRecord, NO_TRANSACTION, Operation, UNDO_BYTES};
use crate::spill::{FoundSpill, Standing};
use crate::storage::live_trees::LiveTree;
use crate::storage::meta_row;
use crate::storage::meta_row::{
    DROPPED, DROPPED_WITH_CHAINS, LIVE, LIVE_WITH_CHAINS, MetaEdit, MetaRow, OLD_SPILL,
    OLD_SPILL_WITH_CHAINS, SPILL, SPILL_WITH_CHAINS, meta_key,
};
use crate::transactions::transaction::Transaction;
use crate::transactions::transaction_state::{TransactionId, TransactionState};
use crate::writes::undo_stack::UndoItem;
use crate::{EngineError, TreeId};
use btree::{Mtr, Tree};
use buffer::BufferError;
use pagestore::{PageId, PageKind, header};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wal::Priority;

/// Room for what `free_tree`'s callers add to the last group: one compensation.
const LAST_BYTES: usize = COMPENSATED_BYTES + 32;

impl Engine {
    /// Snapshots that are older than the tree may read it: it was empty when its creation was committed, or nobody else
    /// has one.
    pub fn show_to_all(&self, tree: TreeId) {
        self.trees.show_to_all(tree);
    }

    /// The tree takes the place of an empty one: snapshots that do not see its creation see no records. Called behind the
    /// commit, while nobody uses the tree.
    pub fn show_empty_to_older(&self, tree: TreeId) {
        if let Some(live) = self.trees.live.write().get_mut(&tree) {
            debug_assert!(
                live.creator.as_ref().is_none_or(|creator| !creator.is_active()),
                "called behind the commit"
            );
            live.was_empty = true;
        }
    }

    /// Snapshots that do not see the commit of `change` cannot read the tree any more: what its records mean has changed.
    /// Called behind the commit, while nobody uses the tree.
    pub fn hide_from_older(&self, tree: TreeId, change: &ChangeMark) {
        if let Some(live) = self.trees.live.write().get_mut(&tree) {
            debug_assert!(
                change.0.as_ref().is_none_or(|state| !state.is_active()),
                "called behind the commit"
            );
            live.creator = change.0.clone();
            live.was_empty = false;
        }
    }

    /// The trees that exist, without the engine's own.
    pub fn tree_ids(&self) -> Vec<TreeId> {
        self.trees.all().into_iter().map(|(tree, _)| tree).collect()
    }
}

/// A transaction, as later snapshots see its commit or do not.
#[derive(Clone)]
pub struct ChangeMark(Option<Arc<TransactionState>>);

impl Transaction {
    /// To be taken before the commit: see [`Engine::hide_from_older`].
    pub fn change_mark(&self) -> ChangeMark {
        ChangeMark(self.work.state.clone())
    }

    /// Creates an empty tree; undone if the transaction does not commit.
    pub async fn create_tree(&mut self) -> Result<TreeId, EngineError> {
        self.check_writable()?;
        let engine = self.work.engine.clone();
        let state = self.work.state();
        let id = TreeId(engine.trees.next_id.fetch_add(1, Ordering::SeqCst));
        let sequence = self.work.sequence();
        let tree = engine.create_root(&state, id, sequence).await?;
        debug_assert_eq!(self.work.sequence(), sequence, "the stack has the number that the log has");
        self.work.push_undo(UndoItem::Tree { tree: id, root: tree.root }, UNDO_BYTES);
        engine.trees.add(LiveTree { tree, with_chains: false, creator: Some(state), was_empty: false });
        if let Err(error) = engine.put_row(id, Some((LIVE, tree.root))).await {
            self.work.roll_back_to(sequence, true).await?;
            return Err(error);
        }
        Ok(id)
    }

    /// Drops a tree at commit. The caller makes sure (metadata lock) that nobody uses it any more.
    pub async fn drop_tree(&mut self, tree: TreeId) -> Result<(), EngineError> {
        self.check_writable()?;
        self.work.engine.wait_for_unfinished(tree).await?;
        self.work.engine.tree(tree)?;
        self.work.state();
        self.work.push_undo(UndoItem::DropTree(tree), 0);
        Ok(())
    }
}

impl Engine {
    /// Allocates the root page together with the undo record that gives it back.
    async fn create_root(
        &self,
        state: &Arc<TransactionState>,
        id: TreeId,
        sequence: u64,
    ) -> Result<Tree, EngineError> {
        let created = self.pool.run(|| {
            let mut mtr = Mtr::begin(&self.pool);
            let tree = Tree::create(&mut mtr, &self.space, pagestore::TreeId(id.0))?;
            let before = tree.root.0.to_le_bytes();
            let operation = Operation::CreateTree;
            let undo = LogRecord::Undo { operation, sequence, tree: id, key: &[], before: &before };
            mtr.log_extra(undo.kind(), state.id.0, &undo.payload());
            mtr.reserve(0)?;
            state.begin_step();
            Ok((tree, mtr.commit()))
        });
        let (tree, committed) = created.await.map_err(|error| self.pool_error(error))?;
        committed.map_err(|error| self.log_failed(&error))?;
        Ok(tree)
    }

    /// Undoes `create_root`.
    pub(crate) async fn undo_create_tree(
        &self,
        state: &TransactionState,
        sequence: u64,
        tree: Tree,
    ) -> Result<(), EngineError> {
        let id = TreeId(tree.id.0);
        self.trees.remove(id);
        self.put_row(id, None).await?;
        let compensated = LogRecord::Compensated { sequence };
        let payload = compensated.payload();
        assert_eq!(payload.len(), COMPENSATED_BYTES);
        let freed = self.free_tree(&tree, |mtr| {
            state.begin_step();
            mtr.log_extra(compensated.kind(), state.id.0, &payload);
        });
        match freed.await {
            Err(error) if error.is_corruption() => Ok(()),
            done => done,
        }
    }

    /// Frees the pages of a tree in bounded steps; `last` adds to the group that frees the root.
    async fn free_tree(&self, tree: &Tree, last: impl Fn(&mut Mtr<'_>)) -> Result<(), EngineError> {
        debug_assert!(self.trees.get(TreeId(tree.id.0)).is_none(), "nobody uses a tree that is being freed");
        self.discard_late(tree).await?;
        loop {
            let step = self.pool.run(|| {
                let mut mtr = Mtr::begin_with(&self.pool, Priority::Reserve);
                let finished = tree.discard_step(&self.space, &mut mtr)?;
                mtr.reserve(LAST_BYTES)?;
                if finished {
                    last(&mut mtr);
                }
                Ok((finished, mtr.commit()))
            });
            let (finished, committed) = match step.await {
                Err(BufferError::Corrupt(corrupt)) => {
                    self.damage.note(corrupt);
                    self.empty_lost(tree, &corrupt).await?;
                    continue;
                }
                done => done.map_err(|error| self.pool_error(error))?,
            };
            committed.map_err(|error| self.log_failed(&error))?;
            if finished {
                return Ok(());
            }
            env::yield_now().await;
        }
    }

    /// Writes or removes a row of the tree of trees.
    async fn put_row(&self, tree: TreeId, row: Option<(u8, PageId)>) -> Result<(), EngineError> {
        debug_assert!(row.is_some() || tree != TreeId::CATALOG, "the catalog is never dropped");
        let mut edit = MetaEdit::new(row);
        self.modify(&self.trees.meta, &meta_key(tree), &mut edit, Priority::Reserve).await
    }

    /// Marks a tree as dropped, so that its drop is finished whatever happens.
    pub(crate) async fn mark_dropped(&self, live: &LiveTree) -> Result<(), EngineError> {
        let state = if live.with_chains { DROPPED_WITH_CHAINS } else { DROPPED };
        self.put_row(TreeId(live.tree.id.0), Some((state, live.tree.root))).await
    }

    /// On the first start: makes the catalog's tree.
    pub(crate) async fn register_catalog(&self) -> Result<(), EngineError> {
        let created = self.pool.run(|| {
            let mut mtr = Mtr::begin(&self.pool);
            let id = pagestore::TreeId(TreeId::CATALOG.0);
            let tree = Tree::create(&mut mtr, &self.space, id)?;
            mtr.reserve(0)?;
            Ok((tree, mtr.commit()))
        });
        let (tree, committed) = created.await.map_err(|error| self.pool_error(error))?;
        committed.map_err(|error| self.log_failed(&error))?;
        self.put_row(TreeId::CATALOG, Some((LIVE, tree.root))).await?;
        self.trees.add(LiveTree { tree, with_chains: false, creator: None, was_empty: false });
        Ok(())
    }

    /// Called before a chain is written for a record of the tree: a drop will have to look for chains.
    pub(crate) async fn note_chains(&self, tree: TreeId) -> Result<(), EngineError> {
        let live = self.trees.find(tree).ok_or(EngineError::NoSuchTree(tree))?;
        if !live.with_chains {
            self.put_row(tree, Some((LIVE_WITH_CHAINS, live.tree.root))).await?;
            self.trees.add(LiveTree { with_chains: true, ..live });
        }
        Ok(())
    }

    /// False when a crash came between the freeing of the root and the removal of the tree's row: tree ids
    /// are never used again, so whatever holds the page now has another id.
    async fn root_exists(&self, tree: &Tree) -> Result<bool, EngineError> {
        let exists = self.pool.run(|| {
            if !self.space.is_used(&self.pool, tree.root)? {
                return Ok(false);
            }
            let page = self.pool.read(tree.root)?;
            Ok(header::kind(&page) == Some(PageKind::Node) && header::tree(&page) == tree.id)
        });
        exists.await.map_err(|error| self.pool_error(error))
    }

    /// Reads the tree of trees; answers what the last life has left to do.
    pub(crate) async fn load_trees(&self) -> Result<Leftovers, EngineError> {
        let mut leftovers = Leftovers::default();
        for (key, value) in self.all_records(&self.trees.meta).await? {
            let MetaRow { id, state, root, owner, mark } = meta_row::decode(&key, &value)
                .ok_or_else(|| EngineError::Corrupt { what: "a row of the tree of trees".into() })?;
            let tree = Tree { id: pagestore::TreeId(id), root };
            self.trees.next_id.fetch_max(id + 1, Ordering::SeqCst);
            let with_chains =
                [LIVE_WITH_CHAINS, DROPPED_WITH_CHAINS, SPILL_WITH_CHAINS, OLD_SPILL_WITH_CHAINS]
                    .contains(&state);
            let live = LiveTree { tree, with_chains, creator: None, was_empty: false };
            match state {
                DROPPED | DROPPED_WITH_CHAINS => leftovers.drops.push(live),
                SPILL | SPILL_WITH_CHAINS | OLD_SPILL | OLD_SPILL_WITH_CHAINS => {
                    let is_active = [SPILL, SPILL_WITH_CHAINS].contains(&state);
                    let standing = if is_active { Standing::Active } else { Standing::Committed };
                    leftovers.spills.push(FoundSpill { live, owner, standing });
                }
                _ => {
                    self.trees.marks.restore(TreeId(id), mark);
                    self.trees.add(live);
                }
            }
        }
        Ok(leftovers)
    }

    /// Writes a spill's row.
    pub(crate) async fn put_found_spill(&self, spill: &FoundSpill) -> Result<(), EngineError> {
        debug_assert!(spill.owner != NO_TRANSACTION, "a spill is of a transaction");
        let state = match (spill.standing, spill.live.with_chains) {
            (Standing::Active, false) => SPILL,
            (Standing::Active, true) => SPILL_WITH_CHAINS,
            (Standing::Committed, false) => OLD_SPILL,
            (Standing::Committed, true) => OLD_SPILL_WITH_CHAINS,
        };
        let mut edit = MetaEdit::new(Some((state, spill.live.tree.root)));
        edit.value.iter_mut().for_each(|value| value.extend_from_slice(&spill.owner.0.to_le_bytes()));
        let key = meta_key(TreeId(spill.live.tree.id.0));
        self.modify(&self.trees.meta, &key, &mut edit, Priority::Reserve).await
    }

    /// Marks the spill of a transaction as dropped, in the group which says that the transaction is undone.
    pub(crate) async fn mark_undone(&self, live: &LiveTree, txn: TransactionId) -> Result<(), EngineError> {
        let mut edit = MetaEdit::new(Some((DROPPED, live.tree.root)));
        debug_assert!(txn != NO_TRANSACTION, "somebody is undone");
        edit.undone = Some(txn);
        let key = meta_key(TreeId(live.tree.id.0));
        self.modify(&self.trees.meta, &key, &mut edit, Priority::Reserve).await
    }

    /// Frees a spill's pages.
    pub(crate) async fn drop_spill_tree(self: &Arc<Self>, live: LiveTree) -> Result<(), EngineError> {
        self.mark_dropped(&live).await?;
        self.finish_drops(vec![live]).await
    }

    /// A committed transaction dropped these trees: they are gone at once, their pages follow in the
    /// background. The pin keeps the commit record in reach until the rows are marked.
    pub(crate) fn drop_committed(self: &Arc<Self>, pin: CheckpointPin, trees: &[TreeId]) {
        debug_assert!(!trees.contains(&TreeId::CATALOG), "the catalog is never dropped");
        let trees: Vec<LiveTree> = trees.iter().filter_map(|tree| self.trees.remove(*tree)).collect();
        self.spawn("drop tables", |engine| async move {
            for tree in &trees {
                if let Err(error) = engine.mark_dropped(tree).await {
                    // A restart has to find the commit record.
                    std::mem::forget(pin);
                    return Err(error);
                }
            }
            drop(pin);
            engine.finish_drops(trees).await
        });
    }

    /// After recovery: goes on with the drops that the crash has interrupted.
    pub(crate) async fn resume_drops(
        self: &Arc<Self>,
        committed: BTreeSet<TreeId>,
        mut unfinished: Vec<LiveTree>,
    ) -> Result<(), EngineError> {
        for tree in committed.into_iter().filter_map(|tree| self.trees.remove(tree)) {
            self.mark_dropped(&tree).await?;
            unfinished.push(tree);
        }
        if !unfinished.is_empty() {
            self.spawn("drop tables", |engine| async move { engine.finish_drops(unfinished).await });
        }
        Ok(())
    }

    pub(crate) async fn finish_drops(self: &Arc<Self>, trees: Vec<LiveTree>) -> Result<(), EngineError> {
        for live in trees {
            match self.free_dropped(&live).await {
                // What cannot be reached stays in use; the tree is gone all the same.
                Err(error) if error.is_corruption() => {}
                done => done?,
            }
            self.put_row(TreeId(live.tree.id.0), None).await?;
        }
        Ok(())
    }

    async fn free_dropped(&self, live: &LiveTree) -> Result<(), EngineError> {
        if !self.root_exists(&live.tree).await? {
            return Ok(());
        }
        if live.with_chains {
            match self.free_chains_of(&live.tree).await {
                Err(error) if error.is_corruption() => {}
                done => done?,
            }
        }
        self.free_tree(&live.tree, |_| {}).await
    }
}

/// What is left to do at start-up.
#[derive(Default)]
pub(crate) struct Leftovers {
    pub drops: Vec<LiveTree>,
    pub spills: Vec<FoundSpill>,
}
