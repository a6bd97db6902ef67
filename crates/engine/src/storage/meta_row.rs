//! Rows of the tree of trees: the number of a tree (8 bytes, big-endian) maps to a state byte, the page of its root (8
//! bytes, little-endian) and, for a spill, the number of its transaction (8); for a tree in use, its mark if that is above 0
//! (`marks`; little-endian, without leading zeros). `trees`, `spill` and `marks` read and write them.

use crate::TreeId;
use crate::log::log_record::{LogRecord, RECORD_OVERHEAD_BYTES, decode_short, encode_short};
use crate::transactions::transaction_state::TransactionId;
use btree::{Decision, Edit, Extra, LeafContext};
use pagestore::PageId;

/// In use; no record has ever had an overflow chain.
pub(crate) const LIVE: u8 = 1;
/// In use; some record may have an overflow chain.
pub(crate) const LIVE_WITH_CHAINS: u8 = 2;
/// To be freed.
pub(crate) const DROPPED: u8 = 3;
/// To be freed, chains first.
pub(crate) const DROPPED_WITH_CHAINS: u8 = 4;
/// A spill (`spill`): its row names its transaction (8 bytes, little-endian) behind the root.
pub(crate) const SPILL: u8 = 5;
/// A spill with before-images that may own overflow chains.
pub(crate) const SPILL_WITH_CHAINS: u8 = 6;
/// The same two of a transaction that is known to have committed.
pub(crate) const OLD_SPILL: u8 = 7;
pub(crate) const OLD_SPILL_WITH_CHAINS: u8 = 8;

/// A decoded row.
pub(crate) struct MetaRow {
    pub id: u64,
    pub state: u8,
    pub root: PageId,
    /// Of a spill.
    pub owner: TransactionId,
    /// Of a tree in use.
    pub mark: u128,
}

/// `None` for bytes that no engine wrote.
pub(crate) fn decode(key: &[u8], value: &[u8]) -> Option<MetaRow> {
    let id = u64::from_be_bytes(key.try_into().ok()?);
    let (&state, rest) = value.split_first()?;
    let (root, rest) = rest.split_first_chunk::<8>()?;
    let root = PageId(u64::from_le_bytes(*root));
    let (owner, mark) = match state {
        LIVE | LIVE_WITH_CHAINS => (0, decode_short(rest)?),
        DROPPED | DROPPED_WITH_CHAINS if rest.is_empty() => (0, 0),
        SPILL | SPILL_WITH_CHAINS | OLD_SPILL | OLD_SPILL_WITH_CHAINS => {
            (u64::from_le_bytes(rest.try_into().ok()?), 0)
        }
        _ => return None,
    };
    Some(MetaRow { id, state, root, owner: TransactionId(owner), mark })
}

/// Where the mark begins in the row of a tree in use.
const MARK_AT: usize = 1 + 8;

fn is_live(row: &[u8]) -> bool {
    matches!(row.first(), Some(&(LIVE | LIVE_WITH_CHAINS))) && row.len() >= MARK_AT
}

fn can_be_read(row: &[u8]) -> bool {
    decode(&[0; 8], row).is_some()
}

/// Sets or removes a record. A tree that stays in use keeps its mark.
pub(crate) struct MetaEdit {
    pub value: Option<Vec<u8>>,
    /// The group says that this transaction is completely undone.
    pub undone: Option<TransactionId>,
}

impl MetaEdit {
    pub fn new(row: Option<(u8, PageId)>) -> MetaEdit {
        debug_assert!(
            row.is_none_or(|(state, _)| (LIVE..=OLD_SPILL_WITH_CHAINS).contains(&state)),
            "a state that the decoder knows"
        );
        let value = row.map(|(state, root)| {
            let mut value = vec![state];
            value.extend_from_slice(&root.0.to_le_bytes());
            value
        });
        MetaEdit { value, undone: None }
    }
}

pub(crate) fn meta_key(tree: TreeId) -> [u8; 8] {
    tree.0.to_be_bytes()
}

impl Edit for MetaEdit {
    type Output = ();

    fn inspect(&mut self, current: Option<&[u8]>, _leaf: LeafContext) -> Decision {
        if let Some(value) = &mut self.value
            && is_live(value)
        {
            value.truncate(MARK_AT);
            let mark = current.filter(|row| is_live(row)).map_or(&[][..], |row| &row[MARK_AT..]);
            value.extend_from_slice(mark);
        }
        debug_assert!(self.value.as_ref().is_none_or(|row| can_be_read(row)), "what is written can be read");
        match (current, &self.value) {
            (Some(_), Some(_)) => Decision::Update,
            (None, Some(_)) => Decision::Insert,
            (Some(_), None) => Decision::Delete,
            (None, None) => Decision::Keep,
        }
    }

    fn value(&self) -> &[u8] {
        self.value.as_deref().unwrap_or_default()
    }

    fn extra_bytes(&self) -> usize {
        RECORD_OVERHEAD_BYTES
    }

    fn apply(&mut self, _current: Option<&[u8]>, _leaf: LeafContext, extra: &mut Extra<'_>) {
        if let Some(txn) = self.undone {
            extra.log(LogRecord::RolledBack.kind(), txn.0, &[]);
        }
    }
}

/// Raises the mark in the row of a tree that is still in use.
pub(crate) struct MarkEdit {
    mark: u128,
    value: Vec<u8>,
}

impl MarkEdit {
    pub fn new(mark: u128) -> MarkEdit {
        MarkEdit { mark, value: Vec::new() }
    }
}

impl Edit for MarkEdit {
    type Output = ();

    fn inspect(&mut self, current: Option<&[u8]>, _leaf: LeafContext) -> Decision {
        let Some(row) = current.filter(|row| is_live(row)) else { return Decision::Keep };
        if decode_short(&row[MARK_AT..]).is_some_and(|present| present >= self.mark) {
            return Decision::Keep;
        }
        self.value.clear();
        self.value.extend_from_slice(&row[..MARK_AT]);
        encode_short(self.mark, &mut self.value);
        debug_assert!(can_be_read(&self.value), "what is written can be read");
        Decision::Update
    }

    fn value(&self) -> &[u8] {
        &self.value
    }

    fn extra_bytes(&self) -> usize {
        0
    }

    fn apply(&mut self, _current: Option<&[u8]>, _leaf: LeafContext, _extra: &mut Extra<'_>) {}
}

#[cfg(test)]
mod tests {
    use crate::storage::meta_row::*;

    fn leaf() -> LeafContext {
        LeafContext { page: PageId(3), page_lsn: wal::Lsn(0) }
    }

    fn row(state: u8, mark: u128) -> Vec<u8> {
        let mut value = MetaEdit::new(Some((state, PageId(77)))).value.unwrap();
        encode_short(mark, &mut value);
        value
    }

    #[test]
    fn a_row_tells_the_mark_and_one_without_is_as_it_was() {
        let key = meta_key(TreeId(1000));
        for mark in [0, 1, 300, u128::MAX] {
            let read = decode(&key, &row(LIVE, mark)).unwrap();
            assert_eq!((read.id, read.root, read.mark), (1000, PageId(77), mark));
        }
        assert_eq!(row(LIVE, 0).len(), MARK_AT);
        assert!(decode(&key, &row(DROPPED, 3)).is_none());
        assert!(decode(&key, &[row(LIVE, 3), vec![0]].concat()).is_none());
    }

    #[test]
    fn a_mark_outlives_other_changes_of_the_row() {
        let mut chains = MetaEdit::new(Some((LIVE_WITH_CHAINS, PageId(77))));
        // Twice: a first attempt may have met another row.
        assert_eq!(chains.inspect(Some(&row(LIVE, u128::MAX)), leaf()), Decision::Update);
        assert_eq!(chains.inspect(Some(&row(LIVE, 300)), leaf()), Decision::Update);
        assert_eq!(chains.value(), row(LIVE_WITH_CHAINS, 300));
        let mut dropped = MetaEdit::new(Some((DROPPED, PageId(77))));
        assert_eq!(dropped.inspect(Some(&row(LIVE, 300)), leaf()), Decision::Update);
        assert_eq!(dropped.value(), row(DROPPED, 0));
    }

    #[test]
    fn a_mark_in_a_row_only_grows_and_only_in_use() {
        let mut edit = MarkEdit::new(300);
        assert_eq!(edit.inspect(Some(&row(LIVE_WITH_CHAINS, 3)), leaf()), Decision::Update);
        assert_eq!(edit.value(), row(LIVE_WITH_CHAINS, 300));
        assert_eq!(edit.inspect(Some(&row(LIVE, 300)), leaf()), Decision::Keep);
        assert_eq!(edit.inspect(Some(&row(DROPPED, 0)), leaf()), Decision::Keep);
        assert_eq!(edit.inspect(None, leaf()), Decision::Keep);
    }
}
