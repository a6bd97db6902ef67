//! The trees that there are, by their ids, and which of them a snapshot sees.
use crate::TreeId;
use crate::checkpoints::marks::Marks;
use crate::transactions::transaction_state::TransactionState;
use btree::Tree;
use foldhash::HashMap;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The tree of trees. Users never see it.
pub(crate) const META_TREE: TreeId = TreeId(2);

/// A tree in use.
#[derive(Clone)]
pub(crate) struct LiveTree {
    pub tree: Tree,
    pub with_chains: bool,
    /// Who created it, if that was after the start: snapshots that do not see that commit cannot read the tree.
    pub creator: Option<Arc<TransactionState>>,
    /// It took the place of an empty tree, which is what those snapshots see.
    pub was_empty: bool,
}

/// What a snapshot has of a tree.
pub(crate) enum InView {
    Tree(Tree),
    /// It sees none of the tree's records.
    Empty,
    /// It is older than the tree.
    Younger,
}

pub(crate) struct Trees {
    pub(super) meta: Tree,
    pub(super) live: RwLock<HashMap<TreeId, LiveTree>>,
    pub(super) next_id: AtomicU64,
    pub marks: Marks,
}

impl Trees {
    pub fn new(meta: Tree, next_id: u64) -> Trees {
        let (live, next_id) = (RwLock::default(), AtomicU64::new(next_id));
        Trees { meta, live, next_id, marks: Marks::default() }
    }

    pub fn meta(&self) -> Tree {
        self.meta
    }

    pub fn next_id(&self) -> u64 {
        self.next_id.load(Ordering::SeqCst)
    }

    pub fn get(&self, tree: TreeId) -> Option<Tree> {
        self.live.read().get(&tree).map(|live| live.tree)
    }

    /// The tree for whoever sees what `is_seen` says.
    pub fn in_view(
        &self,
        tree: TreeId,
        is_seen: impl FnOnce(&Arc<TransactionState>) -> bool,
    ) -> Option<InView> {
        let live = self.live.read();
        let live = live.get(&tree)?;
        Some(match live.creator.as_ref().is_none_or(is_seen) {
            true => InView::Tree(live.tree),
            false if live.was_empty => InView::Empty,
            false => InView::Younger,
        })
    }

    pub(super) fn show_to_all(&self, tree: TreeId) {
        if let Some(live) = self.live.write().get_mut(&tree) {
            live.creator = None;
        }
    }

    pub fn all(&self) -> Vec<(TreeId, Tree)> {
        let mut all: Vec<_> = self.live.read().iter().map(|(id, live)| (*id, live.tree)).collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all
    }

    pub(super) fn add(&self, live: LiveTree) {
        let tree = live.tree;
        debug_assert!(tree.id.0 != META_TREE.0, "users never see the tree of trees");
        debug_assert!(tree.id.0 < self.next_id(), "the number of a tree is never given out again");
        let before = self.live.write().insert(TreeId(tree.id.0), live);
        debug_assert!(before.is_none_or(|before| before.tree.root == tree.root), "a tree keeps its root");
    }

    pub fn find(&self, tree: TreeId) -> Option<LiveTree> {
        self.live.read().get(&tree).cloned()
    }

    pub fn remove(&self, tree: TreeId) -> Option<LiveTree> {
        let removed = self.live.write().remove(&tree);
        self.marks.forget(tree);
        removed
    }
}
