//! The changes that the log has for one page, taken out of their groups, and bringing a page up to date by them.
//!
//! Each entry: where its group ends in the log (8 bytes), kind (1), length (4), and the payload of the record; all
//! numbers are little-endian. Kind 0 is made here (`folded`): the page as it was when the log had come to that place.

use crate::lost;
use crate::redo::{Change, apply};
use buffer::PageLog;
use pagestore::{PageFault, PageId, header};
use wal::Lsn;

/// The kind of the image of a folded page; those of the log begin with 1.
const FOLDED: u8 = 0;
const IMAGE: u8 = 1;

/// Adds a change of the group that ends at `end`. What lies before an image does not matter any more.
pub(super) fn push(log: &mut PageLog, end: Lsn, kind: u8, payload: &[u8]) {
    if kind == IMAGE {
        log.bytes.clear();
        log.begins_with_image = true;
    }
    put(&mut log.bytes, end, kind, payload);
}

fn put(bytes: &mut Vec<u8>, end: Lsn, kind: u8, payload: &[u8]) {
    let length = u32::try_from(payload.len()).expect("a change is smaller than two pages");
    bytes.extend_from_slice(&end.0.to_le_bytes());
    bytes.push(kind);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(payload);
}

fn next<'a>(bytes: &mut &'a [u8]) -> Option<(Lsn, u8, &'a [u8])> {
    let (end, rest) = bytes.split_first_chunk::<8>()?;
    let (kind, rest) = rest.split_first()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (payload, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some((Lsn(u64::from_le_bytes(*end)), *kind, payload))
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
        lost::mark(bytes, page, Lsn::ZERO);
    }
    // The records of one group have the same end: what is applied here does not count.
    let mut seen = Lsn(header::lsn(bytes));
    let mut reached = None;
    let mut rest = &log.bytes[..];
    while let Some((end, kind, payload)) = next(&mut rest) {
        if end <= seen {
            continue;
        }
        reached = Some(end);
        let is_folded = kind == FOLDED;
        if is_folded {
            seen = end;
        }
        let decoded = Change::decode(if is_folded { IMAGE } else { kind }, payload);
        let applied = match decoded {
            Ok((_, change)) if !change.is_image() && lost::is_lost(bytes) => continue,
            Ok((_, change)) => apply(bytes, page, &change),
            Err(_) => Err(PageFault::Structure("a log record is malformed")),
        };
        fault = applied.err();
        if fault.is_some() {
            lost::mark(bytes, page, Lsn::ZERO);
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
    let mut payload = Vec::new();
    Change::image_of(bytes).encode(page, &mut payload);
    let mut folded = PageLog { bytes: Vec::new(), begins_with_image: true };
    put(&mut folded.bytes, Lsn(header::lsn(bytes)), FOLDED, &payload);
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
        assert!(lost::is_lost(&page) && header::lsn(&page) == 10);
        change(&mut log, 20, &set(3, b"no such slot"));
        change(&mut log, 30, &set(0, b"thirty"));
        let mut page = leaf(&[b"a"]);
        assert!(matches!(catch_up(PAGE, &mut page, Ok(()), &log), Err(PageFault::Structure(_))));
        assert!(lost::is_lost(&page) && header::lsn(&page) == 30);
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
