//! Checking a tree: `verify` as a whole, for tests and the `verify` command, when nobody changes it; `check_path` leaf by
//! leaf while others work on it, for CHECK TABLE.
//!
//! Both look at one node at a time, so they work with a small pool; `check_path` needs no other memory either.

use crate::node::{self, Node};
use crate::space::Space;
use crate::tree::Tree;
use crate::tree::descend::{Bounds, broken_rule, check_bounds};
use buffer::{Access, BufferError, BufferPool, Stop};
use pagestore::{CorruptPage, PageFault, PageId, PageKind, header};
use std::collections::HashSet;
use std::fmt;

/// What a sound tree consists of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeReport {
    pub height: u8,
    pub leaf_pages: u64,
    pub inner_pages: u64,
    pub entries: u64,
    /// Bytes in use in leaves, out of `leaf_pages` times the capacity of a page.
    pub leaf_bytes: u64,
    /// All pages of the tree, without overflow pages.
    pub pages: Vec<PageId>,
}

/// The tree is damaged, or could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerifyError {
    Read(BufferError),
    Broken { page: PageId, rule: &'static str },
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Broken { page, rule } => write!(f, "tree page {page}: {rule}"),
        }
    }
}

impl VerifyError {
    /// The page at fault, if it is one.
    pub fn page(&self) -> Option<PageId> {
        match self {
            Self::Broken { page, .. } | Self::Read(BufferError::Corrupt(CorruptPage { page, .. })) => {
                Some(*page)
            }
            Self::Read(_) => None,
        }
    }
}

impl std::error::Error for VerifyError {}

impl From<BufferError> for VerifyError {
    fn from(error: BufferError) -> Self {
        match error {
            BufferError::Corrupt(CorruptPage { page, fault: PageFault::Structure(rule) }) => {
                Self::Broken { page, rule }
            }
            other => Self::Read(other),
        }
    }
}

/// A node still to be looked at.
struct Task {
    page: PageId,
    level: Option<u8>,
    bounds: Bounds,
}

impl Tree {
    /// Checks structure, order, fences, prefixes and the space map's opinion of every page; the first fault is the error.
    pub async fn verify(&self, pool: &BufferPool, space: &Space) -> Result<TreeReport, VerifyError> {
        let (report, faults) = self.survey(pool, space).await;
        faults.into_iter().next().map_or(Ok(report), Err)
    }

    /// The same, but goes on behind a fault: everything that can be reached is checked, and every fault told.
    pub async fn survey(&self, pool: &BufferPool, space: &Space) -> (TreeReport, Vec<VerifyError>) {
        let mut faults = Vec::new();
        let mut report = TreeReport::default();
        let mut seen = HashSet::new();
        let mut tasks = vec![Task { page: self.root, level: None, bounds: Bounds::default() }];
        while let Some(task) = tasks.pop() {
            let page = task.page;
            if !seen.insert(page) {
                faults.push(VerifyError::Broken { page, rule: "it has two parents" });
                continue;
            }
            let bytes = match self.verify_task(pool, space, &task).await {
                Ok(bytes) => bytes,
                Err(fault) => {
                    faults.push(fault);
                    continue;
                }
            };
            let node = Node::new(&bytes);
            if task.level.is_none() {
                report.height = node.level() + 1;
            }
            report.pages.push(page);
            let Some(below) = node.level().checked_sub(1) else {
                report.leaf_pages += 1;
                report.entries += node.count() as u64;
                report.leaf_bytes += node.used_bytes() as u64;
                continue;
            };
            report.inner_pages += 1;
            for index in 0..=node.count() {
                let bounds = task.bounds.of_child(node, index);
                tasks.push(Task { page: node.child(index), level: Some(below), bounds });
            }
        }
        debug_assert_eq!(
            report.leaf_pages + report.inner_pages,
            report.pages.len() as u64,
            "each page is one or the other"
        );
        (report, faults)
    }

    /// Reads a node and checks it by itself.
    async fn verify_task(
        &self,
        pool: &BufferPool,
        space: &Space,
        task: &Task,
    ) -> Result<Vec<u8>, VerifyError> {
        let page = task.page;
        let read = pool.run(|| {
            let bytes = pool.read(page)?.to_vec();
            Ok((bytes, space.is_used(pool, page)?))
        });
        let (bytes, used) = read.await?;
        if !used {
            return Err(VerifyError::Broken { page, rule: "the space map has it as free" });
        }
        self.verify_node(&bytes, task).map_err(|rule| VerifyError::Broken { page, rule })?;
        Ok(bytes)
    }

    /// Checks the nodes from the root to the leaf that holds `key`, each against what its parent says. Answers where the
    /// next leaf begins, `None` behind the last.
    pub fn check_path(&self, pool: &BufferPool, space: &Space, key: &[u8]) -> Result<Option<Vec<u8>>, Stop> {
        let mut guard = self.read_node(pool, self.root, None, Access::Scan)?;
        let (mut page, mut bounds) = (self.root, Bounds::default());
        loop {
            let node = Node::new(&guard);
            node::check(&guard).map_err(|fault| CorruptPage { page, fault })?;
            check_bounds(page, node, &bounds)?;
            if !space.is_used(pool, page)? {
                let fault = PageFault::Structure("the space map has it as free");
                return Err(Stop::Corrupt(CorruptPage { page, fault }));
            }
            let Some(below) = node.level().checked_sub(1) else { return Ok(bounds.upper) };
            let index = node.child_index(key);
            page = node.child(index);
            bounds = bounds.of_child(node, index);
            guard = self.read_node(pool, page, Some(below), Access::Scan)?;
        }
    }

    fn verify_node(&self, bytes: &[u8], task: &Task) -> Result<(), &'static str> {
        if header::kind(bytes) != Some(PageKind::Node) || header::tree(bytes) != self.id {
            return Err("it is not a node of this tree");
        }
        if let Err(PageFault::Structure(rule)) = node::check(bytes) {
            return Err(rule);
        }
        let node = Node::new(bytes);
        if task.level.is_some_and(|level| level != node.level()) {
            return Err("its level does not follow its parent's");
        }
        broken_rule(node, &task.bounds).map_or(Ok(()), Err)
    }
}
