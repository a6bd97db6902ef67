//! What the tests share: a store with a pool and a tree, simple edits, and a reading of the whole tree.

use crate::{Decision, Direction, Edit, Extra, LeafContext, Mtr, Position, Space, Tree, check_page};
use buffer::{BufferError, BufferPool, PoolOptions};
use env::Env;
use pagestore::{InPlaceStore, PageSize, PageStore, TreeId};
use std::ops::ControlFlow;
use std::sync::Arc;
use wal::{Lsn, Wal, WalOptions};

pub(super) const TREE: TreeId = TreeId(7);

/// An open database without transactions.
pub(super) struct Bed {
    pub(super) pool: Arc<BufferPool>,
    pub(super) wal: Arc<Wal>,
    pub(super) space: Arc<Space>,
}

pub(super) fn pool_options(page_size: PageSize, frames: usize) -> PoolOptions {
    let memory_bytes = frames * (page_size.bytes() + 64);
    PoolOptions { log_budget_bytes: 4 << 20, ..PoolOptions::new(memory_bytes, check_page) }
}

impl Bed {
    pub(super) async fn create(
        env: &Env,
        page_size: PageSize,
        frames: usize,
        wal: WalOptions,
    ) -> (Self, Tree) {
        let store: Arc<dyn PageStore> = Arc::new(InPlaceStore::create(env, "", page_size).await.unwrap());
        let wal = Arc::new(Wal::create(env, wal).await.unwrap());
        let pool = BufferPool::open(env, store, wal.clone(), pool_options(page_size, frames));
        let space = Arc::new(Space::new(&pool));
        pool.run(|| {
            let mut mtr = Mtr::begin(&pool);
            space.format(&mut mtr)?;
            mtr.reserve(0)?;
            mtr.commit().unwrap();
            Ok(())
        })
        .await
        .unwrap();
        let bed = Self { pool, wal, space };
        let tree = bed.create_tree(TREE).await;
        (bed, tree)
    }

    pub(super) async fn create_tree(&self, id: TreeId) -> Tree {
        let made = self.pool.run(|| {
            let mut mtr = Mtr::begin(&self.pool);
            let tree = Tree::create(&mut mtr, &self.space, id)?;
            mtr.reserve(0)?;
            mtr.commit().unwrap();
            Ok(tree)
        });
        made.await.unwrap()
    }

    /// Inserts or replaces. Returns the end of the log group.
    pub(super) async fn put(&self, tree: Tree, key: &[u8], value: &[u8]) -> Result<Lsn, BufferError> {
        let mut edit = Put { value };
        self.edit(tree, key, &mut edit).await.map(|lsn| lsn.expect("a put always logs"))
    }

    /// Deletes and merges; `None` when the key was not there.
    pub(super) async fn remove(&self, tree: Tree, key: &[u8]) -> Result<Option<Lsn>, BufferError> {
        self.edit(tree, key, &mut Remove).await
    }

    async fn edit(&self, tree: Tree, key: &[u8], edit: &mut impl Edit) -> Result<Option<Lsn>, BufferError> {
        let committed = self.pool.run(|| {
            let mut mtr = Mtr::begin(&self.pool);
            tree.modify(&self.space, &mut mtr, key, edit)?;
            Ok(mtr.commit().expect("the log works"))
        });
        let committed = committed.await?;
        if committed.is_sparse() {
            self.pool.run(|| tree.merge_at(&self.pool, &self.space, key)).await?;
        }
        Ok(committed.end_lsn())
    }

    pub(super) async fn get(&self, tree: Tree, key: &[u8]) -> Option<Vec<u8>> {
        let read = self.pool.run(|| tree.lookup(&self.pool, key, |value, _| value.map(<[u8]>::to_vec)));
        read.await.unwrap()
    }

    /// All entries by scanning from `from`.
    pub(super) async fn scan(
        &self,
        tree: Tree,
        from: Position,
        direction: Direction,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let (mut from, mut next) = (from, Position::start());
        let mut entries = Vec::new();
        while !from.is_end() {
            let leaf = self.pool.run(|| {
                tree.scan(&self.pool, &from, direction, &mut next, |leaf| {
                    let mut part = Vec::with_capacity(leaf.len());
                    let _: ControlFlow<()> = leaf.for_each(|key, value| {
                        part.push((key.to_vec(), value.to_vec()));
                        ControlFlow::Continue(())
                    });
                    part
                })
            });
            entries.extend(leaf.await.unwrap());
            std::mem::swap(&mut from, &mut next);
        }
        entries
    }

    /// Verifies the trees and that the space map knows exactly their pages.
    pub(super) async fn verify(&self, trees: &[Tree]) {
        let mut reachable = Vec::new();
        for tree in trees {
            reachable.extend(tree.verify(&self.pool, &self.space).await.unwrap().pages);
        }
        reachable.sort_unstable();
        let mut used = Vec::new();
        for region in 0.. {
            let pages = self.pool.run(|| self.space.used_pages(&self.pool, region)).await.unwrap();
            let Some(pages) = pages else { break };
            used.extend(pages.into_iter().filter(|page| !self.space.is_reserved(*page)));
        }
        assert_eq!(used, reachable, "used pages and pages of trees");
    }
}

pub(super) struct Put<'v> {
    pub(super) value: &'v [u8],
}

impl Edit for Put<'_> {
    type Output = ();

    fn inspect(&mut self, current: Option<&[u8]>, _: LeafContext) -> Decision {
        if current.is_some() { Decision::Update } else { Decision::Insert }
    }

    fn value(&self) -> &[u8] {
        self.value
    }

    fn extra_bytes(&self) -> usize {
        0
    }

    fn apply(&mut self, _: Option<&[u8]>, _: LeafContext, _: &mut Extra<'_>) {}
}

pub(super) struct Remove;

impl Edit for Remove {
    type Output = ();

    fn inspect(&mut self, current: Option<&[u8]>, _: LeafContext) -> Decision {
        if current.is_some() { Decision::Delete } else { Decision::Keep }
    }

    fn value(&self) -> &[u8] {
        &[]
    }

    fn extra_bytes(&self) -> usize {
        0
    }

    fn apply(&mut self, _: Option<&[u8]>, _: LeafContext, _: &mut Extra<'_>) {}
}

/// A small generator, so that tests need no crate for it.
pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}
