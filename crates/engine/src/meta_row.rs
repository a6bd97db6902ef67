//! Rows of the tree of trees: the number of a tree (8 bytes, big-endian) maps to a state byte, the page of its root (8
//! bytes, little-endian) and, for a spill, the number of its transaction (8). `trees` and `spill` read and write them.

use crate::TreeId;
use crate::log_record::{LogRecord, RECORD_OVERHEAD_BYTES};
use crate::transaction_state::TransactionId;
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
}

/// `None` for bytes that no engine wrote.
pub(crate) fn decode(key: &[u8], value: &[u8]) -> Option<MetaRow> {
    let id = u64::from_be_bytes(key.try_into().ok()?);
    let (&state, rest) = value.split_first()?;
    let (root, rest) = rest.split_first_chunk::<8>()?;
    let root = PageId(u64::from_le_bytes(*root));
    let owner = match state {
        LIVE | LIVE_WITH_CHAINS | DROPPED | DROPPED_WITH_CHAINS if rest.is_empty() => 0,
        SPILL | SPILL_WITH_CHAINS | OLD_SPILL | OLD_SPILL_WITH_CHAINS => {
            u64::from_le_bytes(rest.try_into().ok()?)
        }
        _ => return None,
    };
    Some(MetaRow { id, state, root, owner: TransactionId(owner) })
}

/// Sets or removes a record.
pub(crate) struct MetaEdit {
    pub value: Option<Vec<u8>>,
    /// The group says that this transaction is completely undone.
    pub undone: Option<TransactionId>,
}

impl MetaEdit {
    pub fn new(row: Option<(u8, PageId)>) -> MetaEdit {
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
