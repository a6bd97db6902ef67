//! Replaying one log group after a crash.

use crate::redo::{Change, ENGINE_KINDS_FROM, apply};
use buffer::{BufferPool, ExclusiveGuard, Stop};
use pagestore::{CorruptPage, PageFault, PageId, header};
use wal::{LogGroup, Lsn, Record, decode_records};

/// Applies the page changes of a group that lies at `start..end`, ignoring the engine's records. Call it through
/// `BufferPool::run`: it changes nothing before all its pages are latched, and doing it twice is harmless.
pub fn replay(pool: &BufferPool, group: &LogGroup<'_>) -> Result<(), Stop> {
    let changes = group.records().filter(|(_, record)| record.kind < ENGINE_KINDS_FROM);
    let changes: Vec<_> = changes.map(|(_, record)| decode(&record)).collect::<Result<_, _>>()?;
    replay_changes(pool, group.start, group.end, &changes)
}

/// The same for a group's encoded records.
pub fn replay_bytes(pool: &BufferPool, start: Lsn, end: Lsn, records: &[u8]) -> Result<(), Stop> {
    let mut changes = Vec::new();
    for record in decode_records(records) {
        let record = record.map_err(|_| malformed(PageId(0)))?;
        if record.kind < ENGINE_KINDS_FROM {
            changes.push(decode(&record)?);
        }
    }
    replay_changes(pool, start, end, &changes)
}

fn decode<'a>(record: &Record<'a>) -> Result<(PageId, Change<'a>), Stop> {
    Change::decode(record.kind, record.payload).map_err(|_| malformed(PageId(0)))
}

fn malformed(page: PageId) -> Stop {
    Stop::Corrupt(CorruptPage { page, fault: PageFault::Structure("a log record is malformed") })
}

fn replay_changes(
    pool: &BufferPool,
    start: Lsn,
    end: Lsn,
    changes: &[(PageId, Change<'_>)],
) -> Result<(), Stop> {
    let mut pages: Vec<ExclusiveGuard<'_>> = Vec::new();
    for (page, change) in changes {
        if pages.iter().any(|guard| guard.page_id() == *page) {
            continue;
        }
        // An image needs no read; what is on disk may even be damaged.
        let guard = if change.is_image() { pool.create(*page)? } else { pool.write(*page)? };
        pages.push(guard);
    }
    for guard in &mut pages {
        if guard.page_lsn() >= end {
            continue;
        }
        let page = guard.page_id();
        guard.mark_dirty(start);
        for (_, change) in changes.iter().filter(|(target, _)| *target == page) {
            apply(guard.bytes_mut(), page, change).map_err(|fault| CorruptPage { page, fault })?;
        }
        header::set_lsn(guard.bytes_mut(), end.0);
        guard.confirm();
    }
    Ok(())
}
