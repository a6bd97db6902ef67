//! The log's records of late changes: changes of a leaf that was not in memory, which wait beside it until it is read.
//!
//! | kind | payload (page, tree and root 8 bytes each, lengths 2)                                             |
//! |------|---------------------------------------------------------------------------------------------------|
//! | 32   | put: page, tree, root, length of the key, key, value: the record with this key becomes the value  |
//! | 33   | remove: page, tree, root, key: the record with this key goes, if it is there                      |
//! | 34   | applied: page, key: the changes up to this key are in the page; without a key all                 |
//! | 35   | moved: page, other page, key: the changes from this key on wait for the other page                |
//! | 36   | discarded: tree: its changes are void                                                             |
//!
//! Invariant: whoever has read the log from a checkpoint to its end knows what waits (`LateLog`), without reading a
//! page: `applied` stands in the group that changes the page, `moved` in that of the split. Old changes are logged
//! again (`renew_late`), so that they hold no checkpoint back and no leaf has to be read for one.

use crate::redo::Malformed;
use buffer::{BufferPool, LatePage};
use pagestore::{PageId, TreeId};
use std::collections::BTreeMap;
use wal::{AppendError, GroupLsns, Lsn, WalGroup};

const PUT: u8 = 32;
const REMOVE: u8 = 33;
const APPLIED: u8 = 34;
const MOVED: u8 = 35;
const DISCARDED: u8 = 36;

/// One group takes about this many bytes of changes that are logged again.
const RENEW_BYTES: usize = 64 << 10;

/// A decoded record. Borrowed from the log's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateRecord<'a> {
    Put { page: PageId, tree: TreeId, root: PageId, key: &'a [u8], value: &'a [u8] },
    Remove { page: PageId, tree: TreeId, root: PageId, key: &'a [u8] },
    Applied { page: PageId, through: Option<&'a [u8]> },
    Moved { from: PageId, to: PageId, separator: &'a [u8] },
    Discarded { tree: TreeId },
}

impl<'a> LateRecord<'a> {
    /// What becomes of a record of the tree.
    pub(crate) fn change(
        page: PageId,
        (tree, root): (TreeId, PageId),
        key: &'a [u8],
        value: Option<&'a [u8]>,
    ) -> Self {
        match value {
            Some(value) => Self::Put { page, tree, root, key, value },
            None => Self::Remove { page, tree, root, key },
        }
    }

    pub fn kind(&self) -> u8 {
        match self {
            Self::Put { .. } => PUT,
            Self::Remove { .. } => REMOVE,
            Self::Applied { .. } => APPLIED,
            Self::Moved { .. } => MOVED,
            Self::Discarded { .. } => DISCARDED,
        }
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut numbers = |numbers: &[u64]| {
            numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        };
        match *self {
            Self::Put { page, tree, root, key, value } => {
                numbers(&[page.0, tree.0, root.0]);
                let key_len = u16::try_from(key.len()).expect("keys are smaller than pages");
                out.extend_from_slice(&key_len.to_le_bytes());
                out.extend_from_slice(key);
                out.extend_from_slice(value);
            }
            Self::Remove { page, tree, root, key } => {
                numbers(&[page.0, tree.0, root.0]);
                out.extend_from_slice(key);
            }
            Self::Applied { page, through } => {
                numbers(&[page.0]);
                if let Some(key) = through {
                    out.push(1);
                    out.extend_from_slice(key);
                }
            }
            Self::Moved { from, to, separator } => {
                debug_assert_ne!(from, to, "late changes move to another page");
                numbers(&[from.0, to.0]);
                out.extend_from_slice(separator);
            }
            Self::Discarded { tree } => numbers(&[tree.0]),
        }
    }

    /// `None`: the kind is not one of a late change.
    pub fn decode(kind: u8, payload: &'a [u8]) -> Option<Result<Self, Malformed>> {
        (PUT..=DISCARDED).contains(&kind).then(|| Self::try_decode(kind, payload).ok_or(Malformed))
    }

    fn try_decode(kind: u8, payload: &'a [u8]) -> Option<Self> {
        let mut rest = payload;
        let mut number = || {
            let (bytes, after) = rest.split_first_chunk::<8>()?;
            rest = after;
            Some(u64::from_le_bytes(*bytes))
        };
        let record = match kind {
            PUT => {
                let (page, tree, root) = (PageId(number()?), TreeId(number()?), PageId(number()?));
                let (key_len, after) = rest.split_first_chunk::<2>()?;
                let (key, value) = after.split_at_checked(usize::from(u16::from_le_bytes(*key_len)))?;
                Self::Put { page, tree, root, key, value }
            }
            REMOVE => {
                let (page, tree, root) = (PageId(number()?), TreeId(number()?), PageId(number()?));
                Self::Remove { page, tree, root, key: rest }
            }
            APPLIED => {
                let page = PageId(number()?);
                let through = match rest.split_first() {
                    None => None,
                    Some((1, key)) => Some(key),
                    Some(_) => return None,
                };
                Self::Applied { page, through }
            }
            MOVED => {
                let (from, to) = (PageId(number()?), PageId(number()?));
                Self::Moved { from, to, separator: rest }
            }
            _ => {
                let tree = TreeId(number()?);
                if !rest.is_empty() {
                    return None;
                }
                Self::Discarded { tree }
            }
        };
        Some(record)
    }
}

/// What a reading of the log has found to wait.
#[derive(Debug, Default)]
pub struct LateLog {
    pages: BTreeMap<PageId, LatePage>,
}

impl LateLog {
    /// Takes a record of the group that begins at `start`; those of other kinds change nothing.
    pub fn add(&mut self, start: Lsn, kind: u8, payload: &[u8]) -> Result<(), Malformed> {
        let Some(record) = LateRecord::decode(kind, payload) else { return Ok(()) };
        match record? {
            LateRecord::Put { page, tree, root, key, value } => {
                self.page(page, tree, root, start).put(key, Some(value));
            }
            LateRecord::Remove { page, tree, root, key } => self.page(page, tree, root, start).put(key, None),
            LateRecord::Applied { page, through } => {
                if let Some(late) = self.pages.get_mut(&page) {
                    late.remove_through(through);
                }
                self.forget_if_empty(page);
            }
            LateRecord::Moved { from, to, separator } => {
                if let Some(late) = self.pages.get_mut(&from) {
                    let moved = late.split_off(separator);
                    self.pages.insert(to, moved);
                }
                self.forget_if_empty(from);
                self.forget_if_empty(to);
            }
            LateRecord::Discarded { tree } => self.pages.retain(|_, late| late.tree != tree),
        }
        Ok(())
    }

    fn page(&mut self, page: PageId, tree: TreeId, root: PageId, start: Lsn) -> &mut LatePage {
        self.pages.entry(page).or_insert_with(|| LatePage::new(tree, root, start))
    }

    fn forget_if_empty(&mut self, page: PageId) {
        if self.pages.get(&page).is_some_and(|late| late.changes.is_empty()) {
            self.pages.remove(&page);
        }
    }

    /// Hands everything to the pool, whose pages are as the log says.
    pub fn restore(self, pool: &BufferPool) {
        pool.restore_late(self.pages);
    }
}

/// A group that the log did not take, and how much room it needs.
#[derive(Debug)]
pub struct Refused {
    pub error: AppendError,
    pub bytes: usize,
}

/// Logs the changes again that began to wait before `limit`, one group at most for each of the pool's parts. False:
/// there are more.
pub fn renew_late(pool: &BufferPool, limit: Lsn) -> Result<bool, Refused> {
    let mut is_done = true;
    pool.late().each_shard(|pages| -> Result<(), Refused> {
        let mut group = WalGroup::new();
        let mut renewed = Vec::new();
        for (page, late) in pages.iter().filter(|(_, late)| late.first_lsn < limit) {
            if group.encoded_len() > RENEW_BYTES {
                is_done = false;
                break;
            }
            for change in &late.changes {
                let of = (late.tree, late.root);
                let record = LateRecord::change(*page, of, &change.key, change.value.as_deref());
                group.push_with(record.kind(), 0, |bytes| record.encode(bytes));
            }
            renewed.push(*page);
        }
        if group.is_empty() {
            return Ok(());
        }
        let lsns = append(pool, &group)?;
        for page in renewed {
            debug_assert!(
                pages[&page].first_lsn < lsns.start,
                "what is logged again waits from a later place on"
            );
            pages.get_mut(&page).expect("it was just seen").first_lsn = lsns.start;
        }
        Ok(())
    })?;
    Ok(is_done)
}

/// Forgets the changes of a tree, or after an error none. Call it before the tree's pages are freed, when nobody uses
/// it any more.
pub fn discard_late(pool: &BufferPool, tree: TreeId) -> Result<(), Refused> {
    let _settled = pool.late().settle();
    if pool.late().has_tree(tree) {
        let record = LateRecord::Discarded { tree };
        let mut group = WalGroup::new();
        group.push_with(record.kind(), 0, |bytes| record.encode(bytes));
        append(pool, &group)?;
        pool.late().discard_tree(tree);
        debug_assert!(!pool.late().has_tree(tree), "no change of a discarded tree waits");
    }
    Ok(())
}

fn append(pool: &BufferPool, group: &WalGroup) -> Result<GroupLsns, Refused> {
    pool.wal().append_reserve(group).map_err(|error| Refused { error, bytes: group.encoded_len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: PageId = PageId(7);
    const OTHER: PageId = PageId(9);
    const OF: (TreeId, PageId) = (TreeId(1000), PageId(3));

    fn read(records: &[LateRecord<'_>]) -> LateLog {
        let mut log = LateLog::default();
        for (number, record) in records.iter().enumerate() {
            let mut payload = Vec::new();
            record.encode(&mut payload);
            assert_eq!(LateRecord::decode(record.kind(), &payload), Some(Ok(*record)));
            log.add(Lsn(number as u64), record.kind(), &payload).unwrap();
        }
        log
    }

    fn keys(log: &LateLog, page: PageId) -> Vec<&[u8]> {
        log.pages.get(&page).map_or(vec![], |late| late.changes.iter().map(|change| &*change.key).collect())
    }

    #[test]
    fn the_log_says_what_waits() {
        let put = |key| LateRecord::change(PAGE, OF, key, Some(b"v"));
        let records = [
            put(b"a"),
            put(b"c"),
            LateRecord::change(PAGE, OF, b"b", None),
            LateRecord::Applied { page: PAGE, through: Some(b"a") },
            LateRecord::Moved { from: PAGE, to: OTHER, separator: b"c" },
        ];
        let log = read(&records);
        assert_eq!((keys(&log, PAGE), keys(&log, OTHER)), (vec![&b"b"[..]], vec![&b"c"[..]]));
        assert_eq!(log.pages[&OTHER].first_lsn, Lsn(0));
        let more = [LateRecord::Applied { page: PAGE, through: None }, LateRecord::Discarded { tree: OF.0 }];
        assert_eq!(read(&[&records[..], &more[..1]].concat()).pages.len(), 1);
        assert_eq!(read(&[&records[..], &more].concat()).pages.len(), 0);
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_refused(kind in PUT..=DISCARDED, payload: Vec<u8>) {
            if let Some(Ok(record)) = LateRecord::decode(kind, &payload) {
                let mut encoded = Vec::new();
                record.encode(&mut encoded);
                prop_assert_eq!(encoded, payload);
            }
        }
    }
}
