//! `Mtr`, the mini-transaction: changes to several pages that happen all or none.
//!
//! 1. Page code latches pages exclusively and hands them in (`latch`), and plans changes (`change`): each becomes a
//!    log record, no page changes yet. Dropping the mini-transaction here leaves no trace.
//! 2. `reserve` makes sure of log room, so that nothing can fail any more but the log as a whole.
//! 3. `commit` appends all records as one log group, applies them with the code of redo, stamps the pages with the
//!    group's LSN and releases the latches.
//!
//! Because run time and recovery share `redo::apply`, a record that does not describe its change shows at once.

use crate::late::LateRecord;
use crate::redo::{Change, ENGINE_KINDS_FROM, PAGE_KINDS_END, apply, page_log};
use buffer::{AbsentPage, BufferPool, ExclusiveGuard, Stop};
use pagestore::{PageId, TreeId, header};
use smallvec::SmallVec;
use wal::{AppendError, GroupLsns, Lsn, Priority, Reservation, WalError, WalGroup, decode_records};

/// See the module's documentation. Like the latches it holds, it cannot live across an await.
pub struct Mtr<'p> {
    pool: &'p BufferPool,
    priority: Priority,
    group: WalGroup,
    pages: SmallVec<[ExclusiveGuard<'p>; 1]>,
    room: Option<(Reservation<'p>, usize)>,
    sparse: bool,
    /// What becomes free with the commit.
    freed: Option<Vec<PageId>>,
    late: Option<LatePlan<'p>>,
    changes_space: bool,
}

/// What becomes of late changes with the commit.
enum LatePlan<'p> {
    Add { absent: AbsentPage<'p>, of: (TreeId, PageId), key: Vec<u8>, value: Option<Vec<u8>> },
    Applied { page: PageId, through: Option<Vec<u8>> },
    Moved { from: PageId, to: PageId, separator: Vec<u8> },
}

/// A mini-transaction that is in the log (not yet durable) and in the pages.
#[derive(Debug)]
pub struct Committed {
    group: WalGroup,
    lsns: Option<GroupLsns>,
    sparse: bool,
}

/// The engine's hand on the group, during `Edit::apply`.
pub struct Extra<'a> {
    group: &'a mut WalGroup,
}

impl<'p> Mtr<'p> {
    pub fn begin(pool: &'p BufferPool) -> Self {
        Self::begin_with(pool, Priority::Normal)
    }

    /// `Priority::Reserve` is for rollback, which must be able to go on when the log is nearly full.
    pub fn begin_with(pool: &'p BufferPool, priority: Priority) -> Self {
        Self {
            pool,
            priority,
            group: WalGroup::reused(),
            pages: SmallVec::new(),
            room: None,
            sparse: false,
            freed: None,
            late: None,
            changes_space: false,
        }
    }

    pub fn pool(&self) -> &'p BufferPool {
        self.pool
    }

    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// No record yet: committing would append nothing.
    pub fn is_empty(&self) -> bool {
        self.group.is_empty()
    }

    /// After a delete: the leaf is so empty that `Tree::merge_at` should be called for its key once the
    /// mini-transaction is committed.
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }

    pub(crate) fn set_sparse(&mut self, sparse: bool) {
        self.sparse = sparse;
    }

    /// Adds a record of the engine and returns its number in the group. Outside of `Edit::apply`, call `reserve`
    /// before `commit`.
    pub fn log_extra(&mut self, kind: u8, txn: u64, payload: &[u8]) -> usize {
        Extra { group: &mut self.group }.log(kind, txn, payload)
    }

    pub(crate) fn extra(&mut self) -> Extra<'_> {
        Extra { group: &mut self.group }
    }

    /// Makes sure that the log takes what is collected plus `more_bytes`.
    pub fn reserve(&mut self, more_bytes: usize) -> Result<(), Stop> {
        let bytes = self.group.encoded_len() + more_bytes;
        if self.room.as_ref().is_some_and(|(_, reserved)| *reserved >= bytes) {
            return Ok(());
        }
        self.room = None;
        match self.pool.wal().try_reserve(bytes, self.priority) {
            Ok(room) => {
                self.room = Some((room, bytes));
                Ok(())
            }
            // Whether waiting helps or the log has failed is found out where waiting is possible.
            Err(
                AppendError::Full
                | AppendError::NoSpace
                | AppendError::TooLarge { .. }
                | AppendError::Failed(_),
            ) => {
                let bytes = u32::try_from(bytes).expect("log groups are below 4 GiB");
                Err(Stop::LogFull { bytes, priority: self.priority })
            }
        }
    }

    /// Latches a page exclusively until the end of the mini-transaction.
    pub(crate) fn latch(&mut self, page: PageId) -> Result<&ExclusiveGuard<'p>, Stop> {
        let guard = self.pool.write(page)?;
        Ok(self.hold(guard))
    }

    /// Takes a latched page over.
    pub(crate) fn hold(&mut self, guard: ExclusiveGuard<'p>) -> &ExclusiveGuard<'p> {
        self.pages.push(guard);
        self.pages.last().expect("just pushed")
    }

    /// Plans a change of a held page.
    pub(crate) fn change(&mut self, page: PageId, change: &Change<'_>) {
        debug_assert!(self.pages.iter().any(|guard| guard.page_id() == page), "changed pages are latched");
        self.plan(page, change);
    }

    /// Plans a change of a page that the caller has latched and will hand in before the commit.
    pub(crate) fn plan(&mut self, page: PageId, change: &Change<'_>) {
        debug_assert!(change.kind() < PAGE_KINDS_END, "changes of pages have their own kinds");
        self.group.push_with(change.kind(), 0, |bytes| change.encode(page, bytes));
    }

    /// Plans a change of a leaf that is not in memory, instead of one of the leaf.
    pub(crate) fn change_late(
        &mut self,
        absent: AbsentPage<'p>,
        of: (TreeId, PageId),
        key: &[u8],
        value: Option<&[u8]>,
    ) {
        debug_assert!(self.late.is_none(), "late changes are planned once for each mini-transaction");
        self.log_late(&LateRecord::change(absent.page(), of, key, value));
        let (key, value) = (key.to_vec(), value.map(<[u8]>::to_vec));
        self.late = Some(LatePlan::Add { absent, of, key, value });
    }

    /// Plans that the late changes of a held page up to `through` are in it from now on; without it all.
    pub(crate) fn late_applied(&mut self, page: PageId, through: Option<&[u8]>) {
        debug_assert!(self.late.is_none(), "late changes are planned once for each mini-transaction");
        self.log_late(&LateRecord::Applied { page, through });
        self.late = Some(LatePlan::Applied { page, through: through.map(<[u8]>::to_vec) });
    }

    /// Plans that late changes follow their keys to another page; both pages are held at the commit.
    pub(crate) fn move_late(&mut self, from: PageId, to: PageId, separator: &[u8]) {
        debug_assert!(self.late.is_none(), "late changes are planned once for each mini-transaction");
        debug_assert_ne!(from, to, "late changes move to another page");
        self.log_late(&LateRecord::Moved { from, to, separator });
        self.late = Some(LatePlan::Moved { from, to, separator: separator.to_vec() });
    }

    fn log_late(&mut self, record: &LateRecord<'_>) {
        self.group.push_with(record.kind(), 0, |bytes| record.encode(bytes));
    }

    /// Once for each mini-transaction: a page of the space map does not show yet what is planned for it.
    pub(crate) fn begin_space_change(&mut self) {
        assert!(!self.changes_space, "one mini-transaction takes or frees pages once");
        self.changes_space = true;
    }

    /// Pages that nobody uses once this is committed; their map pages are held.
    pub(crate) fn free_at_commit(&mut self, pages: Vec<PageId>) {
        assert!(self.freed.is_none(), "one call for each mini-transaction");
        self.freed = Some(pages);
    }

    /// Commits a change of the tree's structure, for which nothing is set aside in advance.
    pub(crate) fn finish_structure(mut self) -> Result<(), Stop> {
        self.reserve(0)?;
        let stop = Stop::LogFull { bytes: 0, priority: self.priority };
        // A failed log is reported by whoever waits for its room.
        self.commit().map(drop).map_err(|_| stop)
    }

    /// Makes the changes. Fails only if the log has failed; then no page has changed.
    ///
    /// # Panics
    /// If there are records and `reserve` was not called.
    pub fn commit(mut self) -> Result<Committed, WalError> {
        if self.group.is_empty() {
            return Ok(Committed { group: WalGroup::new(), lsns: None, sparse: self.sparse });
        }
        debug_assert!(!self.pages.is_empty() || self.freed.is_none(), "whoever frees pages holds their map");
        let (room, _) = self.room.take().expect("log room is reserved before a commit");
        let wal = self.pool.wal();
        // A page is dirty from before its group is in the log: a checkpoint in between must not overlook it.
        let rec_lsn = wal.end_lsn();
        for guard in &mut self.pages {
            guard.begin_changes(rec_lsn);
        }
        let takes_late = matches!(self.late, Some(LatePlan::Applied { .. } | LatePlan::Moved { .. }));
        let settled = takes_late.then(|| self.pool.late().settle());
        let lsns = wal.append_reserved(room, &self.group)?;
        debug_assert!(rec_lsn <= lsns.start, "pages are dirty from before their group");
        debug_assert!(lsns.start < lsns.end, "a group takes room in the log");
        let half_applied = AbortOnUnwind;
        for record in decode_records(self.group.record_bytes()) {
            let record = record.expect("the group was encoded here");
            if record.kind < PAGE_KINDS_END {
                apply_planned(&mut self.pages, lsns.end, record.kind, record.payload);
            }
        }
        for guard in &mut self.pages {
            debug_assert!(header::lsn(guard) < lsns.end.0, "a page's LSN never goes back");
            debug_assert_eq!(header::id(guard), guard.page_id(), "a page keeps its id");
            header::set_lsn(guard.bytes_mut(), lsns.end.0);
            guard.confirm();
        }
        if let Some(plan) = self.late.take() {
            finish_late(self.pool, &mut self.pages, plan, rec_lsn);
        }
        drop(settled);
        std::mem::forget(half_applied);
        // Before their map pages are unlatched and somebody can use them again.
        for page in self.freed.take().unwrap_or_default() {
            self.pool.page_logs().freed(page);
        }
        self.pages.clear();
        self.pool.note_log_bytes(self.group.encoded_len() as u64);
        Ok(Committed { group: std::mem::take(&mut self.group), lsns: Some(lsns), sparse: self.sparse })
    }
}

impl Drop for Mtr<'_> {
    fn drop(&mut self) {
        std::mem::take(&mut self.group).give_back();
    }
}

impl Drop for Committed {
    fn drop(&mut self) {
        std::mem::take(&mut self.group).give_back();
    }
}

impl Committed {
    /// The end of the group; `None` when nothing was logged.
    pub fn end_lsn(&self) -> Option<Lsn> {
        self.lsns.map(|lsns| lsns.end)
    }

    pub fn lsns(&self) -> Option<GroupLsns> {
        self.lsns
    }

    /// The LSN of a record, by the number that `log_extra` returned.
    pub fn record_lsn(&self, index: usize) -> Lsn {
        self.group.record_lsn(self.lsns.expect("there is a record, so there is a group"), index)
    }

    /// See `Mtr::is_sparse`.
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }
}

impl Extra<'_> {
    /// Adds a record of the engine; see `Mtr::log_extra`.
    pub fn log(&mut self, kind: u8, txn: u64, payload: &[u8]) -> usize {
        self.log_with(kind, txn, |bytes| bytes.extend_from_slice(payload))
    }

    /// The same with a payload that is appended by `encode`, which must only append.
    pub fn log_with(&mut self, kind: u8, txn: u64, encode: impl FnOnce(&mut Vec<u8>)) -> usize {
        assert!(kind >= ENGINE_KINDS_FROM, "kinds below {ENGINE_KINDS_FROM} are not the engine's");
        self.group.push_with(kind, txn, encode)
    }
}

/// A panic while a group is being applied would release pages that are neither in their old nor in their new
/// state. They must never reach the disk: the process ends, and recovery applies the group from the log.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// What waits changes with the log.
fn finish_late(pool: &BufferPool, pages: &mut [ExclusiveGuard<'_>], plan: LatePlan<'_>, rec_lsn: Lsn) {
    let mut mark = |page: PageId, is_late: bool| {
        let guard = pages.iter_mut().find(|guard| guard.page_id() == page);
        guard.expect("pages whose late changes go are latched").set_late(is_late);
    };
    match plan {
        LatePlan::Add { absent, of: (tree, root), key, value } => {
            debug_assert!(pages.is_empty(), "a leaf that is changed late is the only page");
            absent.put(tree, root, &key, value.as_deref(), rec_lsn);
        }
        LatePlan::Applied { page, through } => {
            let all = pool.late().applied(page, through.as_deref());
            mark(page, !all);
        }
        LatePlan::Moved { from, to, separator } => {
            let (stay, moved) = pool.late().moved(from, &separator, to);
            mark(from, stay);
            mark(to, moved);
        }
    }
}

fn apply_planned(pages: &mut [ExclusiveGuard<'_>], end: Lsn, kind: u8, payload: &[u8]) {
    let (page, change) = Change::decode(kind, payload).expect("the record was encoded here");
    let guard = pages.iter_mut().find(|guard| guard.page_id() == page).expect("changed pages are latched");
    let applied = apply(guard.bytes_mut(), page, &change);
    assert!(applied.is_ok(), "a planned change does not fit page {page}: {applied:?}");
    debug_assert!(header::lsn(guard) < end.0, "a change is newer than its page");
    guard.note_change(|log| match change.is_image() {
        true => log.begins_with_image = true,
        false => page_log::push(log, end, kind, payload),
    });
}
