//! What the clients wrote and were told, page by page.

use std::collections::BTreeMap;

/// A version that was written; `None`: none was.
pub(super) type Version = Option<u64>;

/// The last acknowledged version, and those that were asked for since and not acknowledged, or refused half way.
#[derive(Debug, Clone, Default)]
struct Subject {
    acknowledged: Version,
    possible: Vec<Version>,
}

impl Subject {
    fn allows(&self, found: Version) -> bool {
        self.acknowledged == found || self.possible.contains(&found)
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    /// The store's creation was acknowledged.
    pub(super) created: bool,
    pages: BTreeMap<u64, Subject>,
    /// The checkpoint record is one more thing with versions.
    record: Subject,
    pub(super) page_count: u64,
    pub(super) acknowledged: u64,
    pub(super) violation: Option<String>,
}

impl Model {
    pub(super) fn ask(&mut self, page: u64, version: u64) {
        self.pages.entry(page).or_default().possible.push(Some(version));
    }

    pub(super) fn acknowledge(&mut self, page: u64, version: u64) {
        self.pages.insert(page, Subject { acknowledged: Some(version), possible: Vec::new() });
        self.acknowledged += 1;
    }

    pub(super) fn ask_record(&mut self, version: u64) {
        self.record.possible.push(Some(version));
    }

    pub(super) fn acknowledge_record(&mut self, version: u64) {
        self.record = Subject { acknowledged: Some(version), possible: Vec::new() };
    }

    pub(super) fn expect(&self, page: u64, found: Version) -> Result<(), String> {
        let subject = self.pages.get(&page).cloned().unwrap_or_default();
        if subject.allows(found) {
            return Ok(());
        }
        Err(format!("page {page} has version {found:?}, not one of {subject:?}"))
    }

    pub(super) fn expect_record(&self, found: Version) -> Result<(), String> {
        if self.record.allows(found) {
            return Ok(());
        }
        Err(format!("the checkpoint record is {found:?}, not one of {:?}", self.record))
    }

    /// What a recovery has found is from now on what is there.
    pub(super) fn settle(&mut self, page: u64, found: Version) {
        self.pages.insert(page, Subject { acknowledged: found, possible: Vec::new() });
    }

    pub(super) fn settle_record(&mut self, found: Version) {
        self.record = Subject { acknowledged: found, possible: Vec::new() };
    }

    pub(super) fn complain(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }
}
