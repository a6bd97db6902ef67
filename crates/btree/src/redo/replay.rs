//! Replaying log groups after a crash.
//!
//! What is late at the log's end is known before, and is nothing to the pages as they were: they are latched as if nothing
//! were late.

use crate::lost;
use crate::redo::{Change, PAGE_KINDS_END, apply};
use buffer::{BufferError, BufferPool, ExclusiveGuard, Stop};
use pagestore::{CorruptPage, PageFault, PageId, header};
use std::collections::{HashMap, VecDeque};
use wal::{LogGroup, Lsn, Record, WalGroup, decode_records};

/// Groups that are read ahead of the one being applied, so that their pages are loaded side by side.
const WINDOW_GROUPS: usize = 64;

/// Replays groups in the order of the log, with their pages read ahead.
pub struct Replayer<'p> {
    pool: &'p BufferPool,
    window: VecDeque<Waiting>,
    /// How many groups in the window have an image of the page: what is on disk is not needed then.
    imaged: HashMap<PageId, usize>,
    /// Where the group begins that was applied last, or could not be.
    reached: Lsn,
    /// The pages that could not be changed, because what is on disk is damaged, and that no image has replaced since.
    lost: Vec<CorruptPage>,
}

/// A group in the window, with its page changes only.
struct Waiting {
    start: Lsn,
    end: Lsn,
    changes: WalGroup,
}

impl<'p> Replayer<'p> {
    pub fn new(pool: &'p BufferPool) -> Self {
        Self { pool, window: VecDeque::new(), imaged: HashMap::new(), reached: Lsn(0), lost: Vec::new() }
    }

    /// The start of the group that was applied last; after an error, of the one that could not be applied.
    pub fn reached(&self) -> Lsn {
        self.reached
    }

    /// The pages that are given up (`lost`), with the reasons.
    pub fn lost(&self) -> &[CorruptPage] {
        &self.lost
    }

    /// Takes the next group. It is applied when the window is full or by `finish`.
    pub async fn push(&mut self, group: &LogGroup<'_>) -> Result<(), BufferError> {
        let mut changes = WalGroup::new();
        for (_, record) in group.records().filter(|(_, record)| record.kind < PAGE_KINDS_END) {
            changes.push(record.kind, record.txn, record.payload);
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.read_ahead(&changes)?;
        self.window.push_back(Waiting { start: group.start, end: group.end, changes });
        while self.window.len() > WINDOW_GROUPS {
            self.apply_first().await?;
        }
        Ok(())
    }

    /// Applies what is left.
    pub async fn finish(&mut self) -> Result<(), BufferError> {
        while !self.window.is_empty() {
            self.apply_first().await?;
        }
        Ok(())
    }

    fn read_ahead(&mut self, changes: &WalGroup) -> Result<(), CorruptPage> {
        for (page, change) in decode_changes(changes.record_bytes())? {
            if change.is_image() {
                *self.imaged.entry(page).or_default() += 1;
            } else if !self.imaged.contains_key(&page) {
                self.pool.prefetch([page]);
            }
        }
        Ok(())
    }

    async fn apply_first(&mut self) -> Result<(), BufferError> {
        let Some(Waiting { start, end, changes }) = self.window.pop_front() else { return Ok(()) };
        self.reached = start;
        let changes = decode_changes(changes.record_bytes())?;
        self.apply_or_give_up(start, end, &changes).await?;
        for (page, _) in changes.iter().filter(|(_, change)| change.is_image()) {
            self.lost.retain(|lost| lost.page != *page);
            if let Some(count) = self.imaged.get_mut(page) {
                *count -= 1;
                if *count == 0 {
                    self.imaged.remove(page);
                }
            }
        }
        Ok(())
    }

    /// A page that cannot be changed is given up; the others of the group get their changes.
    async fn apply_or_give_up(
        &mut self,
        start: Lsn,
        end: Lsn,
        changes: &[(PageId, Change<'_>)],
    ) -> Result<(), BufferError> {
        let mut given_up = Vec::new();
        while let Err(error) =
            self.pool.run(|| replay_changes(self.pool, start, end, changes, &self.lost)).await
        {
            let BufferError::Corrupt(corrupt) = error else { return Err(error) };
            let is_of_group = changes.iter().any(|(page, _)| *page == corrupt.page);
            if !is_of_group || given_up.contains(&corrupt.page) {
                return Err(error);
            }
            self.pool.run(|| lost::give_up_before(self.pool, corrupt.page, start)).await?;
            given_up.push(corrupt.page);
            self.lost.push(corrupt);
        }
        Ok(())
    }
}

/// Applies the page changes of a group that lies at `start..end`, ignoring all other records. Call it through
/// `BufferPool::run`: it changes nothing before all its pages are latched, and doing it twice is harmless.
pub fn replay(pool: &BufferPool, group: &LogGroup<'_>) -> Result<(), Stop> {
    let changes = group.records().filter(|(_, record)| record.kind < PAGE_KINDS_END);
    let changes: Vec<_> = changes.map(|(_, record)| decode(&record)).collect::<Result<_, _>>()?;
    replay_changes(pool, group.start, group.end, &changes, &[])
}

/// The page changes among a group's encoded records.
fn decode_changes(records: &[u8]) -> Result<Vec<(PageId, Change<'_>)>, CorruptPage> {
    let mut changes = Vec::new();
    for record in decode_records(records) {
        let record = record.map_err(|_| malformed())?;
        if record.kind < PAGE_KINDS_END {
            changes.push(decode(&record)?);
        }
    }
    Ok(changes)
}

fn decode<'a>(record: &Record<'a>) -> Result<(PageId, Change<'a>), CorruptPage> {
    Change::decode(record.kind, record.payload).map_err(|_| malformed())
}

fn malformed() -> CorruptPage {
    CorruptPage { page: PageId(0), fault: PageFault::Structure("a log record is malformed") }
}

fn replay_changes(
    pool: &BufferPool,
    start: Lsn,
    end: Lsn,
    changes: &[(PageId, Change<'_>)],
    lost: &[CorruptPage],
) -> Result<(), Stop> {
    let mut pages: Vec<ExclusiveGuard<'_>> = Vec::new();
    for (page, change) in changes {
        if pages.iter().any(|guard| guard.page_id() == *page) {
            continue;
        }
        // An image needs no read; what is on disk may even be damaged.
        let is_lost = lost.iter().any(|lost| lost.page == *page);
        let mut guard =
            if change.is_image() || is_lost { pool.create(*page)? } else { pool.write_late(*page)? };
        if is_lost && header::kind(&guard).is_none() {
            lost::mark(guard.bytes_mut(), *page, start);
        }
        pages.push(guard);
    }
    for guard in &mut pages {
        if guard.page_lsn() >= end {
            continue;
        }
        let page = guard.page_id();
        guard.mark_dirty(start);
        for (_, change) in changes.iter().filter(|(target, _)| *target == page) {
            if lost::is_lost(guard) && !change.is_image() {
                continue;
            }
            apply(guard.bytes_mut(), page, change).map_err(|fault| CorruptPage { page, fault })?;
        }
        header::set_lsn(guard.bytes_mut(), end.0);
        guard.confirm();
    }
    Ok(())
}
