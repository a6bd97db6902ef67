//! Checking a whole database: every tree's structure, every record's form, every long value, and that the
//! space map agrees. For tests and the `verify` command; nobody may change anything meanwhile.

use crate::engine::Engine;
use crate::storage::live_trees::META_TREE;
use crate::storage::record::{Record, stub_of};
use crate::{EngineError, TreeId};
use btree::overflow::Stub;
use btree::{Tree, TreeReport};
use pagestore::PageId;
use std::collections::HashSet;

/// The part of an overflow page that holds no data.
const OVERFLOW_HEADER_BYTES: usize = 56;

/// What a sound database consists of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Trees, the engine's own among them.
    pub trees: u64,
    /// Records that a reader could find.
    pub records: u64,
    /// Records that were deleted and are still in a page.
    pub ghosts: u64,
    /// The pages of trees.
    pub tree_pages: u64,
    /// Values that are stored apart from their record.
    pub long_values: u64,
    /// The overflow pages that these take.
    pub long_value_pages: u64,
    /// Pages that the space map has as used but no tree refers to directly: overflow pages, and those of
    /// dropped trees and old versions that are not freed yet.
    pub other_pages: u64,
}

impl Engine {
    /// Checks everything; the first fault is the error.
    pub async fn verify(&self) -> Result<VerifyReport, EngineError> {
        self.finish_redo().await;
        self.apply_all_late().await;
        let mut report = VerifyReport::default();
        let mut pages = HashSet::new();
        let mut trees = self.trees.all();
        trees.push((META_TREE, self.trees.meta()));
        for (id, tree) in trees {
            self.verify_tree(id, &tree, &mut pages, &mut report).await?;
        }
        let mut region = 0;
        while let Some(used) = self.used_pages(region).await? {
            let others = used.iter().filter(|page| !pages.contains(*page) && !self.space.is_reserved(**page));
            report.other_pages += others.count() as u64;
            region += 1;
        }
        Ok(report)
    }

    /// Checks the structure of one tree while others use it; the first fault is the error.
    pub async fn check_tree(&self, tree: TreeId) -> Result<(), EngineError> {
        let tree = self.tree(tree)?;
        let mut next = Some(Vec::new());
        while let Some(key) = next {
            let checked = self.pool.run(|| tree.check_path(&self.pool, &self.space, &key)).await;
            next = checked.map_err(|error| self.tree_error(&tree, error))?;
            // Pages in memory never make this wait: others get their turn here.
            env::yield_now().await;
        }
        Ok(())
    }

    async fn used_pages(&self, region: u64) -> Result<Option<Vec<PageId>>, EngineError> {
        let used = self.pool.run(|| self.space.used_pages(&self.pool, region)).await;
        used.map_err(|error| self.pool_error(error))
    }

    async fn verify_tree(
        &self,
        id: TreeId,
        tree: &Tree,
        pages: &mut HashSet<PageId>,
        report: &mut VerifyReport,
    ) -> Result<(), EngineError> {
        let fault = |what: String| EngineError::Corrupt { what: format!("tree {}: {what}", id.0) };
        let structure =
            tree.verify(&self.pool, &self.space).await.map_err(|error| fault(error.to_string()))?;
        self.verify_content(id, tree, structure, pages, report).await
    }

    /// What a tree of sound structure holds.
    pub(crate) async fn verify_content(
        &self,
        id: TreeId,
        tree: &Tree,
        structure: TreeReport,
        pages: &mut HashSet<PageId>,
        report: &mut VerifyReport,
    ) -> Result<(), EngineError> {
        let fault = |what: String| EngineError::Corrupt { what: format!("tree {}: {what}", id.0) };
        report.trees += 1;
        report.tree_pages += structure.pages.len() as u64;
        for page in structure.pages {
            if !pages.insert(page) {
                return Err(fault(format!("page {page} belongs to two trees")));
            }
        }
        if id == META_TREE {
            return Ok(());
        }
        let (mut damaged, mut ghosts, mut records) = (0u64, 0, 0);
        let mut stubs: Vec<Stub> = Vec::new();
        self.each_record(tree, |_, value| {
            records += 1;
            match Record::decode(value) {
                None => damaged += 1,
                Some(Record::Ghost) => ghosts += 1,
                Some(Record::Value(_) | Record::Chain(_)) => stubs.extend(stub_of(value)),
            }
        })
        .await?;
        if damaged > 0 {
            return Err(fault(format!("{damaged} records have an unknown header")));
        }
        report.records += records;
        report.ghosts += ghosts;
        report.long_values += stubs.len() as u64;
        debug_assert!(self.pool.page_bytes() > OVERFLOW_HEADER_BYTES, "an overflow page has data");
        let page_data_bytes = (self.pool.page_bytes() - OVERFLOW_HEADER_BYTES) as u64;
        for stub in stubs {
            report.long_value_pages += stub.length.div_ceil(page_data_bytes);
            self.read_chain(stub).await.map_err(|error| error.of(id))?;
        }
        Ok(())
    }
}
