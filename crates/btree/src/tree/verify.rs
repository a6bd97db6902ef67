//! Checking a whole tree: for tests, the `verify` command and recovery's own doubts.
//!
//! It walks all nodes one by one, so it works with a small pool. Nobody may change the tree meanwhile.

use crate::node::{self, Node};
use crate::space::Space;
use crate::tree::Tree;
use crate::tree::descend::{Bounds, broken_rule};
use buffer::{BufferError, BufferPool};
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
    /// Checks structure, order, fences, prefixes and the space map's opinion of every page.
    pub async fn verify(&self, pool: &BufferPool, space: &Space) -> Result<TreeReport, VerifyError> {
        let mut report = TreeReport::default();
        let mut seen = HashSet::new();
        let mut tasks = vec![Task { page: self.root, level: None, bounds: Bounds::default() }];
        while let Some(task) = tasks.pop() {
            let page = task.page;
            if !seen.insert(page) {
                return Err(VerifyError::Broken { page, rule: "it has two parents" });
            }
            let (bytes, used) = pool
                .run(|| {
                    let bytes = pool.read(page)?.to_vec();
                    Ok((bytes, space.is_used(pool, page)?))
                })
                .await?;
            if !used {
                return Err(VerifyError::Broken { page, rule: "the space map has it as free" });
            }
            self.verify_node(&bytes, &task).map_err(|rule| VerifyError::Broken { page, rule })?;
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
        Ok(report)
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
