//! The survey of a whole database at rest: every fault that can be found, not only the first, and the tree of each.
//!
//! Order: the structure and content of every tree, then every page of the store by itself, then what the store keeps
//! beside pages. Invariant: a page at fault is told once. For the `verify` command; nobody may change anything meanwhile.

use crate::engine::Engine;
use crate::storage::live_trees::META_TREE;
use crate::{EngineError, TreeId, VerifyReport};
use btree::Tree;
use env::IoBuf;
use pagestore::{CorruptPage, FIRST_FREE_PAGE, PageFault, PageId, StoreError};
use std::collections::{BTreeSet, HashSet};

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// `None`: it is nobody's alone, or nobody's.
    pub tree: Option<TreeId>,
    /// For people.
    pub what: String,
}

/// What was looked at, and what is wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// What the check of the whole database found.
    pub report: VerifyReport,
    /// Pages with the right checksum and identity.
    pub pages_intact: u64,
    /// Never written, or given back to the store.
    pub pages_absent: u64,
    /// Damaged, but no longer in use: the next use overwrites them.
    pub pages_damaged_unused: u64,
    /// Everything that is wrong.
    pub faults: Vec<Fault>,
}

struct Surveyor<'a, P> {
    engine: &'a Engine,
    survey: Survey,
    pages: HashSet<PageId>,
    /// Told already.
    at_fault: BTreeSet<PageId>,
    progress: P,
}

impl Engine {
    /// `progress` hears what is being looked at, how much of it is done and how much there is.
    pub async fn survey(&self, progress: impl FnMut(&str, u64, u64)) -> Survey {
        self.finish_redo().await;
        self.apply_all_late().await;
        let (survey, pages, at_fault) = (Survey::default(), HashSet::new(), BTreeSet::new());
        let mut surveyor = Surveyor { engine: self, survey, pages, at_fault, progress };
        surveyor.survey_trees().await;
        surveyor.survey_pages().await;
        surveyor.survey
    }
}

impl<P: FnMut(&str, u64, u64)> Surveyor<'_, P> {
    async fn survey_trees(&mut self) {
        let mut trees = self.engine.trees.all();
        trees.push((META_TREE, self.engine.trees.meta()));
        let count = trees.len() as u64;
        for (done, (id, tree)) in trees.into_iter().enumerate() {
            (self.progress)("trees", done as u64, count);
            self.survey_tree(id, &tree).await;
        }
        (self.progress)("trees", count, count);
    }

    async fn survey_tree(&mut self, id: TreeId, tree: &Tree) {
        let (structure, faults) = tree.survey(&self.engine.pool, &self.engine.space).await;
        if faults.is_empty() {
            let (pages, report) = (&mut self.pages, &mut self.survey.report);
            match self.engine.verify_content(id, tree, structure, pages, report).await {
                Ok(()) => {}
                Err(EngineError::CorruptPage { corrupt, .. }) => {
                    self.at_fault.insert(corrupt.page);
                    self.survey.faults.push(Fault { tree: Some(id), what: corrupt.to_string() });
                }
                Err(error) => self.survey.faults.push(Fault { tree: Some(id), what: error.to_string() }),
            }
        }
        for fault in faults {
            self.at_fault.extend(fault.page());
            self.survey.faults.push(Fault { tree: Some(id), what: fault.to_string() });
        }
    }

    /// Reads every page from the store, whatever is in memory.
    async fn survey_pages(&mut self) {
        if let Err(error) = self.engine.pool.flush_all().await {
            self.survey.faults.push(Fault { tree: None, what: error.to_string() });
            return;
        }
        let store = self.engine.pool.store();
        let count = store.page_count();
        let mut buffer = IoBuf::zeroed(self.engine.pool.page_bytes());
        for page in FIRST_FREE_PAGE.0..count {
            if page.is_multiple_of(1024) {
                (self.progress)("pages", page, count);
            }
            let (filled, result) = store.read(PageId(page), buffer).await;
            buffer = filled;
            match result {
                Ok(()) => self.survey.pages_intact += 1,
                Err(StoreError::Corrupt(corrupt)) => self.note_page(corrupt, buffer.as_slice()).await,
                Err(error) => {
                    self.survey.faults.push(Fault { tree: None, what: format!("page {page}: {error}") });
                }
            }
        }
        (self.progress)("pages", count, count);
    }

    async fn note_page(&mut self, corrupt: CorruptPage, bytes: &[u8]) {
        let is_absent = corrupt.fault == PageFault::Checksum && bytes.iter().all(|byte| *byte == 0);
        let engine = self.engine;
        let used = engine.pool.run(|| engine.space.is_used(&engine.pool, corrupt.page)).await;
        // A map page that cannot be read is a fault of its own, and then nobody knows.
        let is_used = used.unwrap_or(!is_absent);
        match (is_absent, is_used) {
            (_, true) if self.at_fault.insert(corrupt.page) => {
                self.survey.faults.push(Fault { tree: None, what: corrupt.to_string() });
            }
            (_, true) => {}
            (true, false) => self.survey.pages_absent += 1,
            (false, false) => self.survey.pages_damaged_unused += 1,
        }
    }
}
