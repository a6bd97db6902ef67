//! Late changes: changes of pages that are not in memory, kept here until somebody reads the page.
//!
//! Invariants: a page gets a late change only while it is on disk alone, and a frame is marked as late exactly while
//! its page has some here. Nobody latches such a page (`Stop::Late`) but who applies them: page code sees a page with
//! all its changes or not at all. What is here is what the log says when it is read up to its end (crate `btree`
//! writes and reads those records): both change under the lock of the page's shard, or together with the page under
//! its exclusive latch and `settle`.
//!
//! Lock order: the latch of a node above the page, or of the page itself; then `settle`; then one shard; then the log.

use crate::frame::FrameIndex;
use crate::page_table::Word;
use crate::pool::BufferPool;
use crate::stats::bump;
use env::sync::{Mutex, MutexGuard};
use pagestore::{PageId, TreeId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wal::Lsn;

const SHARDS: usize = 64;
/// What a change takes besides its key and value, and a page besides its changes, generously.
const CHANGE_BYTES: u64 = 80;
const PAGE_BYTES: u64 = 256;
/// Who finds more than the budget applies some; beyond this multiple of it nothing is added.
const BUDGET_SLACK: u64 = 2;
/// The changes of one page take at most this share of a page, so that a page once split has room for them.
const PAGE_SHARE: usize = 4;

type Pages = BTreeMap<PageId, LatePage>;

/// What becomes of one record. `None`: it goes away, if it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateChange {
    pub key: Box<[u8]>,
    pub value: Option<Box<[u8]>>,
}

/// The changes that wait for one leaf, in key order and one for each key: the newest says it all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatePage {
    pub tree: TreeId,
    pub root: PageId,
    /// The log from here on has all changes.
    pub first_lsn: Lsn,
    pub changes: Vec<LateChange>,
    /// Tells this page's changes from those that it had before and that are applied.
    birth: u64,
}

impl LatePage {
    pub fn new(tree: TreeId, root: PageId, first_lsn: Lsn) -> LatePage {
        LatePage { tree, root, first_lsn, changes: Vec::new(), birth: 0 }
    }

    pub fn put(&mut self, key: &[u8], value: Option<&[u8]>) {
        let value = value.map(Into::into);
        match self.search(key) {
            Ok(place) => self.changes[place].value = value,
            Err(place) => self.changes.insert(place, LateChange { key: key.into(), value }),
        }
    }

    /// What the record has become, if it has a change.
    pub fn find(&self, key: &[u8]) -> Option<&LateChange> {
        self.search(key).ok().map(|place| &self.changes[place])
    }

    /// Takes out the changes up to `through`, itself included; without it all.
    pub fn remove_through(&mut self, through: Option<&[u8]>) {
        let count = match through {
            None => self.changes.len(),
            Some(key) => self.changes.partition_point(|change| *change.key <= *key),
        };
        self.changes.drain(..count);
    }

    /// Takes out the changes from `separator` on.
    pub fn split_off(&mut self, separator: &[u8]) -> LatePage {
        debug_assert!(!separator.is_empty(), "something stays before a separator");
        let place = self.changes.partition_point(|change| *change.key < *separator);
        LatePage {
            changes: self.changes.split_off(place),
            ..LatePage::new(self.tree, self.root, self.first_lsn)
        }
    }

    fn search(&self, key: &[u8]) -> Result<usize, usize> {
        self.changes.binary_search_by(|change| (*change.key).cmp(key))
    }

    /// Of keys and values.
    fn content_bytes(&self) -> usize {
        let bytes =
            |change: &LateChange| change.key.len() + change.value.as_ref().map_or(0, |value| value.len());
        self.changes.iter().map(bytes).sum()
    }

    fn memory_bytes(&self) -> u64 {
        PAGE_BYTES + self.content_bytes() as u64 + self.changes.len() as u64 * CHANGE_BYTES
    }
}

/// All late changes of a pool, and what was counted of them.
pub struct LateChanges {
    shards: Box<[Mutex<Pages>]>,
    /// The pages by their `birth`, in the order in which they got their first change; without those that were taken from here.
    queue: Mutex<BTreeMap<u64, PageId>>,
    /// Held by whoever takes changes away together with a change of their page, and by whoever reads all of them.
    settle: Mutex<()>,
    budget_bytes: AtomicU64,
    births: AtomicU64,
    bytes: AtomicU64,
    pending: AtomicU64,
    buffered: AtomicU64,
    merged: AtomicU64,
    pages_merged: AtomicU64,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LateStats {
    /// Changes that wait now.
    pub pending: u64,
    /// The memory that they take.
    pub bytes: u64,
    /// Changes that were made without their page.
    pub buffered: u64,
    /// Changes that have come into their page since.
    pub merged: u64,
    /// How often a page got its late changes.
    pub pages_merged: u64,
}

/// A page that is on disk alone and stays so until this is dropped: the right to give it a late change.
pub struct AbsentPage<'p> {
    late: &'p LateChanges,
    pages: MutexGuard<'p, Pages>,
    page: PageId,
    page_bytes: usize,
}

impl LateChanges {
    pub(crate) fn new(budget_bytes: u64) -> LateChanges {
        LateChanges {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            queue: Mutex::default(),
            settle: Mutex::default(),
            budget_bytes: AtomicU64::new(budget_bytes),
            births: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            pending: AtomicU64::new(0),
            buffered: AtomicU64::new(0),
            merged: AtomicU64::new(0),
            pages_merged: AtomicU64::new(0),
        }
    }

    fn shard(&self, page: PageId) -> &Mutex<Pages> {
        &self.shards[page.0 as usize % SHARDS]
    }

    pub fn stats(&self) -> LateStats {
        LateStats {
            pending: self.pending.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            buffered: self.buffered.load(Relaxed),
            merged: self.merged.load(Relaxed),
            pages_merged: self.pages_merged.load(Relaxed),
        }
    }

    /// Whether it is time to apply some.
    pub fn is_over_budget(&self) -> bool {
        self.bytes.load(Relaxed) > self.budget_bytes.load(Relaxed)
    }

    /// Another budget from now on; who adds changes keeps to it.
    pub fn set_budget(&self, bytes: u64) {
        self.budget_bytes.store(bytes, Relaxed);
    }

    /// The page whose changes have waited longest, each time another one.
    pub fn take_oldest(&self) -> Option<PageId> {
        loop {
            let (birth, page) = self.queue.lock().pop_first()?;
            if self.shard(page).lock().get(&page).is_some_and(|late| late.birth == birth) {
                return Some(page);
            }
        }
    }

    /// A copy of a page's changes. Under the page's exclusive latch nobody changes them.
    pub fn of_page(&self, page: PageId) -> Option<LatePage> {
        self.shard(page).lock().get(&page).cloned()
    }

    /// Whether a page has changes.
    pub fn has(&self, page: PageId) -> bool {
        self.shard(page).lock().contains_key(&page)
    }

    /// From the append of a record that takes changes away until they are gone from here.
    pub fn settle(&self) -> MutexGuard<'_, ()> {
        self.settle.lock()
    }

    /// The changes up to `through` are in the page, whose latch the caller holds, and the log says so. True: these
    /// were all.
    pub fn applied(&self, page: PageId, through: Option<&[u8]>) -> bool {
        bump(&self.pages_merged);
        let mut pages = self.shard(page).lock();
        let Some(late) = pages.get_mut(&page) else { return true };
        let before = (late.changes.len(), late.memory_bytes());
        late.remove_through(through);
        self.merged.fetch_add((before.0 - late.changes.len()) as u64, Relaxed);
        self.count(before, (late.changes.len(), late.memory_bytes()));
        let none_left = late.changes.is_empty();
        if none_left {
            self.remove(&mut pages, page);
        }
        none_left
    }

    /// A split has moved the keys from `separator` on to the page `to`; the caller holds both latches and `settle`.
    /// Answers whether the two pages have changes.
    pub fn moved(&self, from: PageId, separator: &[u8], to: PageId) -> (bool, bool) {
        assert_ne!(from, to, "a split makes another page");
        let mut pages = self.shard(from).lock();
        let Some(late) = pages.get_mut(&from) else { return (false, false) };
        let before = (late.changes.len(), late.memory_bytes());
        let moving = late.split_off(separator);
        self.count(before, (late.changes.len(), late.memory_bytes()));
        let stays = !late.changes.is_empty();
        if !stays {
            self.remove(&mut pages, from);
        }
        drop(pages);
        let moved = !moving.changes.is_empty();
        if moved {
            self.insert(&mut self.shard(to).lock(), to, moving);
        }
        (stays, moved)
    }

    /// Whether a tree that nobody uses any more has changes.
    pub fn has_tree(&self, tree: TreeId) -> bool {
        let of_tree = |shard: &Mutex<Pages>| shard.lock().values().any(|late| late.tree == tree);
        self.pending.load(Relaxed) > 0 && self.shards.iter().any(of_tree)
    }

    /// Forgets the changes of a tree whose pages are about to be freed; the log says so.
    pub fn discard_tree(&self, tree: TreeId) {
        for shard in &self.shards {
            let mut pages = shard.lock();
            let of_tree: Vec<PageId> =
                pages.iter().filter(|(_, late)| late.tree == tree).map(|(page, _)| *page).collect();
            of_tree.into_iter().for_each(|page| self.remove(&mut pages, page));
        }
    }

    /// Where the log begins that the waiting changes need. Call it before `BufferPool::min_rec_lsn`: changes that leave
    /// in between leave into a page that is dirty before.
    pub fn oldest_lsn(&self) -> Option<Lsn> {
        let _settled = self.settle();
        let oldest = |shard: &Mutex<Pages>| shard.lock().values().map(|late| late.first_lsn).min();
        self.shards.iter().filter_map(oldest).min()
    }

    /// Gives the pages of one shard after the other to `visit`, which may write them to the log again and set their
    /// `first_lsn`, until it breaks. Nothing changes meanwhile.
    pub fn each_shard<E>(
        &self,
        mut visit: impl FnMut(&mut BTreeMap<PageId, LatePage>) -> Result<(), E>,
    ) -> Result<(), E> {
        let _settled = self.settle();
        self.shards.iter().try_for_each(|shard| visit(&mut shard.lock()))
    }

    fn insert(&self, pages: &mut Pages, page: PageId, mut late: LatePage) {
        debug_assert!(!late.changes.is_empty(), "only pages with changes wait");
        debug_assert!(
            late.changes.is_sorted_by(|one, other| one.key < other.key),
            "one change for each key, in order"
        );
        late.birth = self.births.fetch_add(1, Relaxed);
        self.queue.lock().insert(late.birth, page);
        self.count((0, 0), (late.changes.len(), late.memory_bytes()));
        let old = pages.insert(page, late);
        assert!(old.is_none(), "a page that gets changes from another one has none");
    }

    fn remove(&self, pages: &mut Pages, page: PageId) {
        if let Some(late) = pages.remove(&page) {
            self.queue.lock().remove(&late.birth);
            self.count((late.changes.len(), late.memory_bytes()), (0, 0));
        }
    }

    fn count(&self, before: (usize, u64), after: (usize, u64)) {
        self.pending.fetch_add((after.0 as u64).wrapping_sub(before.0 as u64), Relaxed);
        self.bytes.fetch_add(after.1.wrapping_sub(before.1), Relaxed);
    }
}

impl BufferPool {
    pub fn late(&self) -> &LateChanges {
        &self.late
    }

    /// The right to give a page late changes, if it is on disk alone and there is room for more of them. Whoever loads
    /// the page from now on waits for the drop of this before the page is known.
    pub fn absent_page(&self, page: PageId) -> Option<AbsentPage<'_>> {
        let late = &self.late;
        let budget_bytes = late.budget_bytes.load(Relaxed);
        if budget_bytes == 0 || late.bytes.load(Relaxed) > budget_bytes.saturating_mul(BUDGET_SLACK) {
            return None;
        }
        let pages = late.shard(page).lock();
        // Under the lock: a loader sets `Loading` first, and looks here before it says that the page is there.
        let is_absent = self.table.load(page) == Word::Disk;
        is_absent.then(|| AbsentPage { late, pages, page, page_bytes: self.page_bytes() })
    }

    /// What the log knows of late changes at its end, after a crash: before a page is read.
    pub fn restore_late(&self, restored: BTreeMap<PageId, LatePage>) {
        for (page, late) in restored {
            assert!(self.table.load(page) == Word::Disk, "late changes are restored before pages are read");
            self.late.insert(&mut self.late.shard(page).lock(), page, late);
        }
    }

    /// A page is about to be published in this frame.
    pub(crate) fn mark_if_late(&self, page: PageId, index: FrameIndex) {
        self.frame(index).set_late(self.late.has(page));
    }
}

impl AbsentPage<'_> {
    pub fn page(&self) -> PageId {
        self.page
    }

    /// What the record has become by an earlier late change.
    pub fn find(&self, key: &[u8]) -> Option<&LateChange> {
        self.pages.get(&self.page).and_then(|late| late.find(key))
    }

    /// Whether the page takes one more change of this size.
    pub fn has_room(&self, change_bytes: usize) -> bool {
        let present = self.pages.get(&self.page).map_or(0, LatePage::content_bytes);
        present + change_bytes <= self.page_bytes / PAGE_SHARE
    }

    /// Adds a change that the log has at or after `lsn`.
    pub fn put(mut self, tree: TreeId, root: PageId, key: &[u8], value: Option<&[u8]>, lsn: Lsn) {
        bump(&self.late.buffered);
        let AbsentPage { late, pages, page, .. } = &mut self;
        let Some(present) = pages.get_mut(page) else {
            let mut fresh = LatePage::new(tree, root, lsn);
            fresh.put(key, value);
            return late.insert(pages, *page, fresh);
        };
        debug_assert!(present.first_lsn <= lsn, "the log from the first change on has all");
        assert_eq!(present.tree, tree, "a page belongs to one tree until its tree is dropped");
        let before = (present.changes.len(), present.memory_bytes());
        present.put(key, value);
        late.count(before, (present.changes.len(), present.memory_bytes()));
    }
}
