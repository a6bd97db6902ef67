//! The changes that the log has for one page, taken out of their groups, and bringing a page up to date by them.
//!
//! Each entry: kind (1), where its group ends in the log, length, and the payload of the record without the page id. The
//! end is the distance from that of the entry before; with `ABSOLUTE` in the kind it refers to no other. Numbers are
//! LEB128. Kind 0 is made here (`folded`): the page as it was when the log had come to that place.
//!
//! While the server works, dirty pages have such logs as well (`buffer::PageLogs`). Those of pages that are not in memory
//! are written to the log again when they are old (`renew_page_logs`), each as one record that takes the place of all
//! before it: the image on disk and this log together are the page.

use crate::late::Refused;
use crate::lost_page;
use crate::redo::change::{PAGE_ID_BYTES, page_id};
use crate::redo::{Change, Malformed, RENEWED_LOG, apply};
use buffer::{BufferPool, PageLog};
use pagestore::{PageFault, PageId, header};
use wal::{Lsn, WalGroup};

/// The kind of the image of a folded page; those of the log begin with 1.
const FOLDED: u8 = 0;
const IMAGE: u8 = super::IMAGE_KIND;
const ABSOLUTE: u8 = 0x80;

/// One group takes at most so many logs of pages, and no more than fit into it.
const RENEW_BATCH: usize = 256;
/// What a record takes beside the log, at most.
const RENEWED_EXTRA_BYTES: usize = 64;

/// Adds a change of the group that ends at `end`. What lies before an image does not matter any more.
pub(crate) fn push(log: &mut PageLog, end: Lsn, kind: u8, payload: &[u8]) {
    if kind == IMAGE {
        *log = PageLog { begins_with_image: true, ..PageLog::default() };
    }
    put(log, end, kind, &payload[PAGE_ID_BYTES..]);
}

fn put(log: &mut PageLog, end: Lsn, kind: u8, body: &[u8]) {
    debug_assert!(kind & ABSOLUTE == 0, "kinds leave the highest bit free");
    // A folded page may have been newer than the place in the log.
    if end < log.last_end {
        log.last_end = Lsn::ZERO;
    }
    let absolute = if log.last_end == Lsn::ZERO { ABSOLUTE } else { 0 };
    log.bytes.reserve_exact(if log.bytes.is_empty() { 16 + body.len() } else { 8 + body.len() });
    log.bytes.push(kind | absolute);
    put_number(&mut log.bytes, end.0 - log.last_end.0);
    put_number(&mut log.bytes, body.len() as u64);
    log.bytes.extend_from_slice(body);
    log.last_end = end;
}

fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// The next entry; `last_end` is where the group of the one before ended.
fn next<'a>(bytes: &mut &'a [u8], last_end: &mut Lsn) -> Option<(u8, &'a [u8])> {
    let (kind, mut rest) = bytes.split_first()?;
    let number = take_number(&mut rest)?;
    let before = if kind & ABSOLUTE == 0 { last_end.0 } else { 0 };
    *last_end = Lsn(before.checked_add(number)?);
    let length = usize::try_from(take_number(&mut rest)?).ok()?;
    let (body, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some((kind & !ABSOLUTE, body))
}

/// Writes the logs of pages of one part that are not in memory and dirty since before `limit` to the log again. Answers
/// those that nobody has needed for long. `Err`: the log did not take a group.
pub fn renew_page_logs(pool: &BufferPool, part: usize, limit: Lsn) -> Result<Vec<PageId>, Refused> {
    let wal = pool.wal();
    let renew = |logs: &mut dyn Iterator<Item = (PageId, &[u8])>| {
        let mut group = WalGroup::new();
        for (page, log) in logs {
            group.push_with(RENEWED_LOG, 0, |bytes| {
                bytes.extend_from_slice(&page.0.to_le_bytes()[..PAGE_ID_BYTES]);
                bytes.extend_from_slice(log);
            });
        }
        let bytes = group.encoded_len();
        debug_assert!(bytes <= wal.group_bytes_max(), "a batch of logs fits into one group");
        wal.append_reserve(&group).map(drop).map_err(|error| Refused { error, bytes })
    };
    let fits = wal.group_bytes_max() / (pool.page_logs().page_log_max() + RENEWED_EXTRA_BYTES);
    pool.page_logs().renew_before(part, limit, || wal.end_lsn(), renew, fits.clamp(1, RENEW_BATCH))
}

/// A change, and where its group ended in the log.
pub type PlacedChange<'a> = (Lsn, Change<'a>);

/// What such a record says, for people.
pub fn renewed_changes(payload: &[u8]) -> Result<(PageId, Vec<PlacedChange<'_>>), Malformed> {
    let (page, _, entries) = decode_renewed(payload)?;
    let change = |(end, kind, body)| Change::decode_body(kind, body).map(|change| (end, change));
    let changes = entries.into_iter().map(change).collect::<Option<Vec<_>>>();
    Ok((page, changes.ok_or(Malformed)?))
}

/// Reads such a record.
pub(super) fn renewed(payload: &[u8]) -> Result<(PageId, PageLog), Malformed> {
    let (page, bytes, entries) = decode_renewed(payload)?;
    // What begins with an image is not logged again.
    if entries.iter().any(|(_, kind, _)| matches!(*kind, FOLDED | IMAGE)) {
        return Err(Malformed);
    }
    let last_end = entries.last().map_or(Lsn::ZERO, |(end, ..)| *end);
    Ok((page, PageLog { bytes: bytes.to_vec(), begins_with_image: false, last_end }))
}

/// Where the group of a change ended, its kind and its body.
type Entry<'a> = (Lsn, u8, &'a [u8]);

/// The page of such a record, its log, and that taken apart.
fn decode_renewed(payload: &[u8]) -> Result<(PageId, &[u8], Vec<Entry<'_>>), Malformed> {
    let (page, bytes) = payload.split_at_checked(PAGE_ID_BYTES).ok_or(Malformed)?;
    let (mut rest, mut end, mut entries) = (bytes, Lsn::ZERO, Vec::new());
    while !rest.is_empty() {
        let (kind, body) = next(&mut rest, &mut end).ok_or(Malformed)?;
        entries.push((end, kind, body));
    }
    Ok((page_id(page), bytes, entries))
}

/// The entries of groups that end before `lsn`.
pub(super) fn older_than(log: &PageLog, lsn: Lsn) -> PageLog {
    some_of(log, |end| end < lsn)
}

/// The entries of groups that end behind `lsn`.
pub(super) fn newer_than(log: &PageLog, lsn: Lsn) -> PageLog {
    some_of(log, |end| end > lsn)
}

fn some_of(log: &PageLog, is_wanted: impl Fn(Lsn) -> bool) -> PageLog {
    let mut some = PageLog::default();
    let (mut rest, mut end) = (&log.bytes[..], Lsn::ZERO);
    while let Some((kind, body)) = next(&mut rest, &mut end) {
        if is_wanted(end) {
            some.begins_with_image |= some.bytes.is_empty() && matches!(kind, FOLDED | IMAGE);
            put(&mut some, end, kind, body);
        }
    }
    some
}

/// A log that was said again, behind what was known of the page before. It lacks nothing since the image that the disk had then; an older
/// image, as a backup may have it, needs what comes before its first entry too.
pub(super) fn continued(known: &PageLog, renewed: PageLog) -> PageLog {
    let (mut rest, mut end) = (&renewed.bytes[..], Lsn::ZERO);
    if next(&mut rest, &mut end).is_none() {
        return known.clone();
    }
    let mut log = older_than(known, end);
    if log.bytes.is_empty() {
        return renewed;
    }
    let (mut rest, mut end) = (&renewed.bytes[..], Lsn::ZERO);
    while let Some((kind, body)) = next(&mut rest, &mut end) {
        put(&mut log, end, kind, body);
    }
    log
}

/// Brings a page up to date (`buffer::ApplyPageLog`). A page that has seen a group, by its LSN, does not see it again.
/// One that cannot be read, or does not fit what the log says of it, is marked as lost until the log has a whole image
/// of it; the answer is what was wrong with it.
pub fn catch_up(
    page: PageId,
    bytes: &mut [u8],
    read: Result<(), PageFault>,
    log: &PageLog,
) -> Result<bool, PageFault> {
    let mut fault = read.err();
    if fault.is_some() {
        lost_page::mark(bytes, page, Lsn::ZERO);
    }
    // The records of one group have the same end: what is applied here does not count.
    let mut seen = Lsn(header::lsn(bytes));
    let mut reached = None;
    let (mut rest, mut end) = (&log.bytes[..], Lsn::ZERO);
    while let Some((kind, body)) = next(&mut rest, &mut end) {
        if end <= seen {
            continue;
        }
        reached = Some(end);
        let is_folded = kind == FOLDED;
        if is_folded {
            seen = end;
        }
        let decoded = Change::decode_body(if is_folded { IMAGE } else { kind }, body);
        let applied = match decoded {
            Some(change) if !change.is_image() && lost_page::is_lost(bytes) => continue,
            Some(change) => apply(bytes, page, &change),
            None => Err(PageFault::Structure("a log record is malformed")),
        };
        fault = applied.err();
        if fault.is_some() {
            lost_page::mark(bytes, page, Lsn::ZERO);
        }
    }
    if let Some(reached) = reached {
        header::set_lsn(bytes, reached.0);
    }
    match fault {
        Some(fault) => Err(fault),
        None => Ok(reached.is_some()),
    }
}

/// What takes the place of a long log: the page as it is after it. `bytes` are what the disk has of the page, if
/// `read` says so. Answers what was wrong with the page too, if it is given up.
pub(super) fn folded(
    page: PageId,
    bytes: &mut [u8],
    read: Result<(), PageFault>,
    log: &PageLog,
) -> (PageLog, Option<PageFault>) {
    let fault = catch_up(page, bytes, read, log).err();
    debug_assert_eq!(header::id(bytes), page, "a page is itself, or lost as itself");
    let mut payload = Vec::new();
    Change::image_of(bytes).encode(page, &mut payload);
    let mut folded = PageLog { begins_with_image: true, ..PageLog::default() };
    put(&mut folded, Lsn(header::lsn(bytes)), FOLDED, &payload[PAGE_ID_BYTES..]);
    (folded, fault)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Node, NodeBuilder, NodeIdentity};
    use pagestore::TreeId;

    const PAGE: PageId = PageId(7);

    fn leaf(values: &[&[u8]]) -> Vec<u8> {
        let mut builder = NodeBuilder::new(4096, NodeIdentity { page: PAGE, tree: TreeId(1), level: 0 }, b"");
        for (number, value) in values.iter().enumerate() {
            builder.push(b"", &[number as u8], value);
        }
        builder.finish()
    }

    fn change(log: &mut PageLog, end: u64, change: &Change<'_>) {
        let mut payload = Vec::new();
        change.encode(PAGE, &mut payload);
        push(log, Lsn(end), change.kind(), &payload);
    }

    fn set(slot: u16, middle: &[u8]) -> Change<'_> {
        Change::Splice { slot, keep_start: 0, keep_end: 0, middle }
    }

    fn values(page: &[u8]) -> Vec<Vec<u8>> {
        let node = Node::new(page);
        (0..node.count()).map(|slot| node.value(slot).to_vec()).collect()
    }

    #[test]
    fn a_renewed_log_says_the_same() {
        let mut log = PageLog::default();
        change(&mut log, 1 << 40, &set(0, b"ten"));
        change(&mut log, (1 << 40) + 300, &set(1, b"twenty"));
        let mut payload = PAGE.0.to_le_bytes()[..PAGE_ID_BYTES].to_vec();
        payload.extend_from_slice(&log.bytes);
        assert_eq!(renewed(&payload), Ok((PAGE, log.clone())));
        let (page, changes) = renewed_changes(&payload).unwrap();
        assert_eq!(
            (page, changes),
            (PAGE, vec![(Lsn(1 << 40), set(0, b"ten")), (Lsn((1 << 40) + 300), set(1, b"twenty"))])
        );
        assert_eq!(renewed(&payload[..payload.len() - 1]), Err(Malformed));
        // What was written meanwhile is taken off the front; what follows stands alone.
        log.last_end = Lsn::ZERO;
        let written = log.bytes.len();
        change(&mut log, (1 << 40) + 400, &set(1, b"thirty"));
        log.bytes.drain(..written);
        let mut page = leaf(&[b"a", b"b"]);
        header::set_lsn(&mut page, (1 << 40) + 300);
        assert_eq!(catch_up(PAGE, &mut page, Ok(()), &log), Ok(true));
        assert_eq!(
            (values(&page), header::lsn(&page)),
            (vec![b"a".to_vec(), b"thirty".to_vec()], (1 << 40) + 400)
        );
    }

    #[test]
    fn what_a_renewed_log_does_not_say_stays_for_older_images() {
        let mut known = PageLog::default();
        change(&mut known, 10, &set(0, b"ten"));
        change(&mut known, 20, &set(1, b"twenty"));
        change(&mut known, 30, &set(1, b"thirty"));
        // The page was written behind 10, changed again and left memory.
        let mut renewed = PageLog::default();
        change(&mut renewed, 20, &set(1, b"twenty"));
        change(&mut renewed, 30, &set(1, b"thirty"));
        let mut log = continued(&known, renewed.clone());
        assert_eq!(continued(&PageLog::default(), renewed.clone()), renewed);
        change(&mut log, 40, &set(0, b"forty"));
        for (seen, first) in [(0, &b"a"[..]), (10, b"ten"), (30, b"ten")] {
            let mut page = leaf(&[first, if seen == 30 { b"thirty" } else { b"b" }]);
            header::set_lsn(&mut page, seen);
            assert_eq!(catch_up(PAGE, &mut page, Ok(()), &log), Ok(true));
            assert_eq!(values(&page), [b"forty".to_vec(), b"thirty".to_vec()], "as of {seen}");
        }
    }

    #[test]
    fn any_bytes_are_refused_or_applied() {
        let random = env::sim::SeededRandom::new(5);
        let mut taken = 0;
        for round in 0..20_000 {
            let length = env::Random::u64(&random) as usize % 60;
            let mut payload: Vec<u8> = (0..length).map(|_| env::Random::u64(&random) as u8 % 3).collect();
            if round % 2 == 0 && length > 8 {
                // One entry with a sound frame.
                payload[5..8].copy_from_slice(&[(round as u8 / 2 % 9) | ABSOLUTE, 9, length as u8 - 8]);
            }
            if let Ok((page, log)) = renewed(&payload) {
                let mut bytes = leaf(&[b"a", b"b", b"c"]);
                taken += usize::from(catch_up(page, &mut bytes, Ok(()), &log) == Ok(true));
            }
            let _ = renewed_changes(&payload);
        }
        assert!(taken > 100, "{taken}");
    }

    #[test]
    fn a_page_gets_what_it_has_not_seen() {
        let mut log = PageLog::default();
        change(&mut log, 10, &set(0, b"ten"));
        change(&mut log, 20, &set(0, b"twenty"));
        change(&mut log, 20, &set(1, b"twenty"));
        for (seen, expected) in [(0, ["twenty", "twenty"]), (10, ["twenty", "twenty"]), (20, ["a", "b"])] {
            let mut page = leaf(&[b"a", b"b"]);
            header::set_lsn(&mut page, seen);
            assert_eq!(catch_up(PAGE, &mut page, Ok(()), &log), Ok(seen < 20));
            assert_eq!(values(&page), expected.map(|value| value.as_bytes().to_vec()));
            assert_eq!(header::lsn(&page), 20);
        }
    }

    #[test]
    fn an_image_needs_no_page_and_forgets_what_was_before() {
        let mut log = PageLog::default();
        change(&mut log, 10, &set(5, b"this does not fit the page"));
        change(&mut log, 20, &Change::image_of(&leaf(&[b"new"])));
        change(&mut log, 20, &set(0, b"newer"));
        assert!(log.begins_with_image);
        let mut page = vec![0; 4096];
        assert_eq!(catch_up(PAGE, &mut page, Err(PageFault::Absent), &log), Ok(true));
        assert_eq!((values(&page), header::lsn(&page)), (vec![b"newer".to_vec()], 20));
    }

    #[test]
    fn what_cannot_be_brought_up_to_date_is_lost_until_an_image_comes() {
        let mut log = PageLog::default();
        change(&mut log, 10, &set(0, b"ten"));
        let mut page = vec![0; 4096];
        assert_eq!(catch_up(PAGE, &mut page, Err(PageFault::Checksum), &log), Err(PageFault::Checksum));
        assert!(lost_page::is_lost(&page) && header::lsn(&page) == 10);
        change(&mut log, 20, &set(3, b"no such slot"));
        change(&mut log, 30, &set(0, b"thirty"));
        let mut page = leaf(&[b"a"]);
        assert!(matches!(catch_up(PAGE, &mut page, Ok(()), &log), Err(PageFault::Structure(_))));
        assert!(lost_page::is_lost(&page) && header::lsn(&page) == 30);
        change(&mut log, 40, &Change::image_of(&leaf(&[b"whole"])));
        assert_eq!(catch_up(PAGE, &mut page, Ok(()), &log), Ok(true));
        assert_eq!(values(&page), [b"whole"]);
    }

    #[test]
    fn a_folded_log_says_the_same() {
        for (seen, disk) in [(0, &b"a"[..]), (30, b"as of thirty")] {
            let mut log = PageLog::default();
            change(&mut log, 10, &set(0, b"ten"));
            change(&mut log, 20, &set(0, b"twenty"));
            let mut page = leaf(&[disk]);
            header::set_lsn(&mut page, seen);
            let (mut log, fault) = folded(PAGE, &mut page.clone(), Ok(()), &log);
            assert_eq!(fault, None);
            change(&mut log, 30, &set(0, b"as of thirty"));
            change(&mut log, 40, &set(0, b"forty"));
            let mut folded = vec![0; 4096];
            assert_eq!(catch_up(PAGE, &mut folded, Err(PageFault::Absent), &log), Ok(true));
            assert_eq!((values(&folded), header::lsn(&folded)), (vec![b"forty".to_vec()], 40));
        }
    }
}
