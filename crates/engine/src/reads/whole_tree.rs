//! Walks over all records of a tree, without transactions: for start-up, drops and verification.

use crate::engine::Engine;
use crate::log::log_record::{LogRecord, NO_TRANSACTION, RECORD_OVERHEAD_BYTES};
use crate::storage::record::{GHOST_RECORD, stub_of};
use crate::{EngineError, TreeId};
use btree::{Decision, Direction, Edit, Extra, LeafContext, Mtr, Position, Tree};
use std::ops::ControlFlow;
use wal::Priority;

impl Engine {
    /// Gives every record to `visit`, leaf by leaf, under the leaf's latch.
    pub(crate) async fn each_record(
        &self,
        tree: &Tree,
        mut visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), EngineError> {
        let (mut position, mut next) = (Position::start(), Position::start());
        while !position.is_end() {
            let scanned = self.pool.run(|| {
                tree.scan(&self.pool, &position, Direction::Forward, &mut next, |leaf| {
                    let _ = leaf.for_each(|key, value| {
                        visit(key, value);
                        ControlFlow::<()>::Continue(())
                    });
                })
            });
            scanned.await.map_err(|error| self.tree_error(tree, error))?;
            std::mem::swap(&mut position, &mut next);
        }
        Ok(())
    }

    pub(crate) async fn all_records(&self, tree: &Tree) -> Result<Vec<(Vec<u8>, Vec<u8>)>, EngineError> {
        let mut records = Vec::new();
        self.each_record(tree, |key, value| records.push((key.to_vec(), value.to_vec()))).await?;
        Ok(records)
    }

    /// The largest key that any record has, whoever wrote it and whether he has committed; also of one that was deleted as
    /// long as its place is kept for older snapshots. `None`: the tree is empty.
    pub async fn last_key(&self, tree: TreeId) -> Result<Option<Vec<u8>>, EngineError> {
        let tree = self.tree(tree)?;
        let (mut position, mut next) = (Position::start(), Position::start());
        while !position.is_end() {
            let found = self.pool.run(|| {
                tree.scan(&self.pool, &position, Direction::Backward, &mut next, |leaf| {
                    leaf.for_each(|key, _| ControlFlow::Break(key.to_vec())).break_value()
                })
            });
            if let Some(key) = found.await.map_err(|error| self.tree_error(&tree, error))? {
                return Ok(Some(key));
            }
            std::mem::swap(&mut position, &mut next);
        }
        Ok(None)
    }

    /// How many records a tree has in its leaves, ghosts included.
    pub async fn count_records(&self, tree: TreeId) -> Result<u64, EngineError> {
        let mut count = 0;
        self.each_record(&self.tree(tree)?, |_, _| count += 1).await?;
        Ok(count)
    }

    /// Frees all chains that records of a dropped tree refer to. The record becomes a ghost in the group that
    /// lists its chain as pending, so a crash leaves it in exactly one of the two places.
    pub(crate) async fn free_chains_of(&self, tree: &Tree) -> Result<(), EngineError> {
        debug_assert!(self.trees.get(TreeId(tree.id.0)).is_none(), "nobody uses a tree that is being freed");
        let mut owners = Vec::new();
        self.each_record(tree, |key, value| {
            if stub_of(value).is_some() {
                owners.push(key.to_vec());
            }
        })
        .await?;
        for key in owners {
            let chain = self.detach_chain(tree, &key).await?;
            self.free_chains(chain.into_iter().collect()).await?;
        }
        Ok(())
    }

    async fn detach_chain(&self, tree: &Tree, key: &[u8]) -> Result<Option<u64>, EngineError> {
        let detached = self.pool.run(|| {
            let mut mtr = Mtr::begin_with(&self.pool, Priority::Reserve);
            let mut edit = DetachEdit { chain: None };
            tree.modify(&self.space, &mut mtr, key, &mut edit)?;
            // Under the commit mutex: a checkpoint lists the pending chains either before or after this.
            let mut history = self.versions.history.lock();
            let committed = mtr.commit();
            history.add_pending_chains(edit.chain);
            Ok((edit.chain, committed))
        });
        let (chain, committed) = detached.await.map_err(|error| self.pool_error(error))?;
        committed.map_err(|error| self.log_failed(&error))?;
        Ok(chain)
    }
}

/// Replaces a record with a chain by a ghost.
struct DetachEdit {
    chain: Option<u64>,
}

impl Edit for DetachEdit {
    type Output = ();

    fn inspect(&mut self, current: Option<&[u8]>, _leaf: LeafContext) -> Decision {
        self.chain = current.and_then(stub_of).map(|stub| stub.first.0);
        if self.chain.is_some() { Decision::Update } else { Decision::Keep }
    }

    fn value(&self) -> &[u8] {
        GHOST_RECORD
    }

    fn extra_bytes(&self) -> usize {
        8 + RECORD_OVERHEAD_BYTES
    }

    fn apply(&mut self, _current: Option<&[u8]>, _leaf: LeafContext, extra: &mut Extra<'_>) {
        if let Some(chain) = self.chain {
            let pending = LogRecord::PendingFrees { chains: vec![chain] };
            extra.log(pending.kind(), NO_TRANSACTION.0, &pending.payload());
        }
    }
}
