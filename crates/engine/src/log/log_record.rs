//! The engine's own log records, which travel in the same atomic groups as the page changes they belong to.
//!
//! | kind | payload |
//! |---|---|
//! | `UNDO` | operation (1), sequence (8), tree (8), key length (4), key, image of the record before (rest) |
//! | `COMPENSATED` | sequence (8): this undo record is done |
//! | `COMMIT` | count (4) and trees (8 each) to drop; the rest: pages (8 each) of old overflow chains to free |
//! | `ROLLED_BACK` | nothing: the transaction is completely undone |
//! | `PENDING_FREES` | pages (8 each) of overflow chains that committed transactions have left to free |
//! | `FREED` | page (8): the overflow chain that starts there is freed |
//! | `SPILLED` | sequence (8): undo records before it are in the spill and count no more, but for these (8 each) |
//! | `PREPARED` | the transaction's identifier, any bytes: what it has logged so far stays until it is decided |
//! | `UNPREPARED` | nothing: the prepared transaction is being rolled back |
//! | `EVENTS` | 1 for the last piece, else 0; the rest: what a commit says of its changes (`events`) |
//! | `EVENT_STATE` | any bytes: what the events of all commits before come to, for whoever reads them in the log |
//! | `TIME` | microseconds since 1970 (8): the commit in the same group, and those of the same millisecond behind it |
//! | `MARK` | count (1) of the bytes of a tree's number and those; the rest: what the tree's mark is at least (`marks`) |
//!
//! All numbers are little-endian, those of `MARK` without their leading zeros; the transaction is in the record's header. The decoder takes any bytes.
//! A sequence is the change's number within its transaction; an undo record with a sequence that is already there is
//! the same one, logged again so that the log before it can be given up.

use crate::TreeId;
use crate::transactions::transaction_state::TransactionId;

/// The payload of an undo record besides key and image.
pub(crate) const UNDO_BYTES: usize = 1 + 8 + 8 + 4;
/// What the log adds to each record, generously.
pub(crate) const RECORD_OVERHEAD_BYTES: usize = 16;
pub(crate) const COMPENSATED_BYTES: usize = 8;
/// The most that the payload of a mark takes.
pub(crate) const MARK_BYTES: usize = 1 + 8 + 16;

/// Kinds from here on are the engine's; the page layers use those below.
pub(crate) const KIND_FIRST: u8 = 128;

const UNDO: u8 = KIND_FIRST;
const COMPENSATED: u8 = KIND_FIRST + 1;
const COMMIT: u8 = KIND_FIRST + 2;
const ROLLED_BACK: u8 = KIND_FIRST + 3;
const PENDING_FREES: u8 = KIND_FIRST + 4;
const FREED: u8 = KIND_FIRST + 5;
const SPILLED: u8 = KIND_FIRST + 6;
const PREPARED: u8 = KIND_FIRST + 7;
const UNPREPARED: u8 = KIND_FIRST + 8;
const MARK: u8 = KIND_FIRST + 9;
const EVENTS: u8 = KIND_FIRST + 10;
const TIME: u8 = KIND_FIRST + 11;
const EVENT_STATE: u8 = KIND_FIRST + 12;
const _: () = assert!(btree::redo::RENEWED_LOG < KIND_FIRST, "the page layers use the kinds below");

/// What a change did, and so what undoing it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Operation {
    /// There was no record: remove it.
    Insert = 1,
    /// Put the image back.
    Update = 2,
    /// The record became a ghost: put the image back.
    Delete = 3,
    /// A tree was created; the key is empty and the image holds its root page: free the tree.
    CreateTree = 4,
    /// An overflow chain was written; the key is empty and the image holds its first page: free the chain.
    CreateChain = 5,
}

impl Operation {
    pub fn decode(number: u8) -> Option<Operation> {
        match number {
            1 => Some(Operation::Insert),
            2 => Some(Operation::Update),
            3 => Some(Operation::Delete),
            4 => Some(Operation::CreateTree),
            5 => Some(Operation::CreateChain),
            _ => None,
        }
    }
}

/// A decoded record. Borrowed from the log's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogRecord<'a> {
    Undo { operation: Operation, sequence: u64, tree: TreeId, key: &'a [u8], before: &'a [u8] },
    Compensated { sequence: u64 },
    Commit { dropped_trees: Vec<TreeId>, freed_chains: Vec<u64> },
    RolledBack,
    PendingFrees { chains: Vec<u64> },
    Freed { chain: u64 },
    Spilled { through: u64, kept: Vec<u64> },
    Prepared { xid: &'a [u8] },
    Unprepared,
    Mark { tree: TreeId, mark: u128 },
    Events { is_last: bool, bytes: &'a [u8] },
    EventState { bytes: &'a [u8] },
    Time { unix_us: u64 },
}

/// The bytes are no record that this version writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownRecord {
    pub kind: u8,
}

impl LogRecord<'_> {
    pub fn kind(&self) -> u8 {
        match self {
            LogRecord::Undo { .. } => UNDO,
            LogRecord::Compensated { .. } => COMPENSATED,
            LogRecord::Commit { .. } => COMMIT,
            LogRecord::RolledBack => ROLLED_BACK,
            LogRecord::PendingFrees { .. } => PENDING_FREES,
            LogRecord::Freed { .. } => FREED,
            LogRecord::Spilled { .. } => SPILLED,
            LogRecord::Prepared { .. } => PREPARED,
            LogRecord::Unprepared => UNPREPARED,
            LogRecord::Mark { .. } => MARK,
            LogRecord::Events { .. } => EVENTS,
            LogRecord::EventState { .. } => EVENT_STATE,
            LogRecord::Time { .. } => TIME,
        }
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.encode_parts(out);
        let payload = &out[start..];
        debug_assert_eq!(decode(self.kind(), payload).as_ref(), Ok(self), "what is written can be read");
        debug_assert!(payload.len() <= self.bytes_max(), "its writer has reserved room for it");
    }

    /// What writers reserve who have to know before.
    fn bytes_max(&self) -> usize {
        match self {
            LogRecord::Undo { key, before, .. } => UNDO_BYTES + key.len() + before.len(),
            LogRecord::Compensated { .. } => COMPENSATED_BYTES,
            LogRecord::Mark { .. } => MARK_BYTES,
            _ => usize::MAX,
        }
    }

    fn encode_parts(&self, out: &mut Vec<u8>) {
        match self {
            LogRecord::Undo { operation, sequence, tree, key, before } => {
                out.push(*operation as u8);
                out.extend_from_slice(&sequence.to_le_bytes());
                out.extend_from_slice(&tree.0.to_le_bytes());
                let key_len = u32::try_from(key.len()).expect("keys are far below 4 GiB");
                out.extend_from_slice(&key_len.to_le_bytes());
                out.extend_from_slice(key);
                out.extend_from_slice(before);
            }
            LogRecord::Commit { dropped_trees, freed_chains } => {
                let count = u32::try_from(dropped_trees.len()).expect("few trees are dropped at once");
                out.extend_from_slice(&count.to_le_bytes());
                dropped_trees.iter().for_each(|tree| out.extend_from_slice(&tree.0.to_le_bytes()));
                freed_chains.iter().for_each(|page| out.extend_from_slice(&page.to_le_bytes()));
            }
            LogRecord::PendingFrees { chains } => {
                chains.iter().for_each(|page| out.extend_from_slice(&page.to_le_bytes()));
            }
            LogRecord::Time { unix_us } => out.extend_from_slice(&unix_us.to_le_bytes()),
            LogRecord::Freed { chain } => out.extend_from_slice(&chain.to_le_bytes()),
            LogRecord::Compensated { sequence } => out.extend_from_slice(&sequence.to_le_bytes()),
            LogRecord::Spilled { through, kept } => {
                out.extend_from_slice(&through.to_le_bytes());
                kept.iter().for_each(|sequence| out.extend_from_slice(&sequence.to_le_bytes()));
            }
            LogRecord::Prepared { xid: bytes } | LogRecord::EventState { bytes } => {
                out.extend_from_slice(bytes)
            }
            LogRecord::RolledBack | LogRecord::Unprepared => {}
            LogRecord::Events { is_last, bytes } => {
                out.push(u8::from(*is_last));
                out.extend_from_slice(bytes);
            }
            LogRecord::Mark { tree, mark } => {
                out.push(significant_bytes(u128::from(tree.0)) as u8);
                encode_short(u128::from(tree.0), out);
                encode_short(*mark, out);
            }
        }
    }

    pub fn payload(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }
}

pub(crate) fn is_events(kind: u8) -> bool {
    kind == EVENTS
}

pub(crate) fn is_event_state(kind: u8) -> bool {
    kind == EVENT_STATE
}

pub(crate) fn is_time(kind: u8) -> bool {
    kind == TIME
}

pub(crate) fn is_commit(kind: u8) -> bool {
    kind == COMMIT
}

/// Decodes a record of the engine (`kind >= KIND_FIRST`).
pub(crate) fn decode(kind: u8, payload: &[u8]) -> Result<LogRecord<'_>, UnknownRecord> {
    let unknown = UnknownRecord { kind };
    match kind {
        UNDO => decode_undo(payload).ok_or(unknown),
        COMPENSATED => Ok(LogRecord::Compensated { sequence: number(payload).ok_or(unknown)? }),
        ROLLED_BACK if payload.is_empty() => Ok(LogRecord::RolledBack),
        COMMIT => decode_commit(payload).ok_or(unknown),
        PENDING_FREES => Ok(LogRecord::PendingFrees { chains: numbers(payload).ok_or(unknown)? }),
        FREED => Ok(LogRecord::Freed { chain: number(payload).ok_or(unknown)? }),
        SPILLED => decode_spilled(payload).ok_or(unknown),
        PREPARED => Ok(LogRecord::Prepared { xid: payload }),
        UNPREPARED if payload.is_empty() => Ok(LogRecord::Unprepared),
        MARK => decode_mark(payload).ok_or(unknown),
        EVENTS => decode_events(payload).ok_or(unknown),
        EVENT_STATE => Ok(LogRecord::EventState { bytes: payload }),
        TIME => Ok(LogRecord::Time { unix_us: number(payload).ok_or(unknown)? }),
        _ => Err(unknown),
    }
}

/// Whether the bytes are a log record of the engine; for fuzzing, which gives it anything.
///
/// # Panics
/// If decoding and encoding disagree.
pub fn is_engine_log_record(kind: u8, payload: &[u8]) -> bool {
    let Ok(record) = decode(kind, payload) else { return false };
    assert_eq!(record.payload(), payload, "a record is encoded as it was");
    true
}

fn decode_undo(payload: &[u8]) -> Option<LogRecord<'_>> {
    let (operation, rest) = payload.split_first()?;
    let operation = Operation::decode(*operation)?;
    let (sequence, rest) = rest.split_first_chunk::<8>()?;
    let (tree, rest) = rest.split_first_chunk::<8>()?;
    let (key_len, rest) = rest.split_first_chunk::<4>()?;
    let (key, before) = rest.split_at_checked(u32::from_le_bytes(*key_len) as usize)?;
    let (sequence, tree) = (u64::from_le_bytes(*sequence), TreeId(u64::from_le_bytes(*tree)));
    Some(LogRecord::Undo { operation, sequence, tree, key, before })
}

fn decode_events(payload: &[u8]) -> Option<LogRecord<'_>> {
    let (is_last, bytes) = payload.split_first()?;
    (*is_last <= 1).then_some(LogRecord::Events { is_last: *is_last == 1, bytes })
}

fn decode_mark(payload: &[u8]) -> Option<LogRecord<'_>> {
    let (tree_len, rest) = payload.split_first()?;
    let (tree, mark) = rest.split_at_checked(usize::from(*tree_len))?;
    let tree = TreeId(decode_short(tree)?.try_into().ok()?);
    Some(LogRecord::Mark { tree, mark: decode_short(mark)? })
}

/// Appends a number, little-endian, without its leading zeros; nothing for 0.
pub(crate) fn encode_short(number: u128, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes()[..significant_bytes(number)]);
}

/// The number that `encode_short` made these bytes of.
pub(crate) fn decode_short(bytes: &[u8]) -> Option<u128> {
    let mut all = [0; 16];
    all.get_mut(..bytes.len())?.copy_from_slice(bytes);
    (bytes.last() != Some(&0)).then(|| u128::from_le_bytes(all))
}

fn significant_bytes(number: u128) -> usize {
    (u128::BITS - number.leading_zeros()).div_ceil(8) as usize
}

fn decode_spilled(payload: &[u8]) -> Option<LogRecord<'_>> {
    let (through, kept) = payload.split_first_chunk::<8>()?;
    Some(LogRecord::Spilled { through: u64::from_le_bytes(*through), kept: numbers(kept)? })
}

fn decode_commit(payload: &[u8]) -> Option<LogRecord<'_>> {
    let (count, rest) = payload.split_first_chunk::<4>()?;
    let trees_len = (u32::from_le_bytes(*count) as usize).checked_mul(8)?;
    let (trees, pages) = rest.split_at_checked(trees_len)?;
    let dropped_trees = numbers(trees)?.into_iter().map(TreeId).collect();
    Some(LogRecord::Commit { dropped_trees, freed_chains: numbers(pages)? })
}

fn number(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}

fn numbers(bytes: &[u8]) -> Option<Vec<u64>> {
    let (chunks, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect())
}

/// A record owned by recovery: what is left to undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UndoRecord {
    pub operation: Operation,
    pub tree: TreeId,
    pub key: Box<[u8]>,
    pub before: Box<[u8]>,
}

/// The transaction number 0 in a record's header: no transaction.
pub(crate) const NO_TRANSACTION: TransactionId = TransactionId(0);

#[cfg(test)]
mod tests {
    use crate::log::log_record::*;
    use proptest::prelude::*;

    fn check(record: LogRecord<'_>) {
        let payload = record.payload();
        assert_eq!(decode(record.kind(), &payload), Ok(record));
    }

    #[test]
    fn records_come_back() {
        check(LogRecord::Undo {
            operation: Operation::Insert,
            sequence: 0,
            tree: TreeId(7),
            key: b"k",
            before: b"",
        });
        let (sequence, tree) = (u64::MAX, TreeId(7));
        check(LogRecord::Undo { operation: Operation::Update, sequence, tree, key: b"", before: b"old" });
        check(LogRecord::Compensated { sequence: 9 });
        check(LogRecord::RolledBack);
        check(LogRecord::Commit { dropped_trees: vec![TreeId(3)], freed_chains: vec![1, 2] });
        check(LogRecord::Commit { dropped_trees: vec![], freed_chains: vec![] });
        check(LogRecord::PendingFrees { chains: vec![9, 8, 7] });
        check(LogRecord::Freed { chain: 5 });
        check(LogRecord::Spilled { through: 6, kept: vec![1, 4] });
        check(LogRecord::Prepared { xid: b"any bytes" });
        check(LogRecord::Unprepared);
        check(LogRecord::Mark { tree: TreeId(1000), mark: 70_000 });
        check(LogRecord::Mark { tree: TreeId(u64::MAX), mark: u128::MAX });
        check(LogRecord::Mark { tree: TreeId(0), mark: 0 });
        check(LogRecord::Events { is_last: true, bytes: b"rows" });
        check(LogRecord::Events { is_last: false, bytes: b"" });
        check(LogRecord::EventState { bytes: b"state" });
        check(LogRecord::Time { unix_us: 1_700_000_000_000_000 });
    }

    #[test]
    fn a_mark_is_short() {
        let payload = |tree, mark| LogRecord::Mark { tree: TreeId(tree), mark }.payload();
        assert_eq!(payload(1000, 70_000).len(), 6);
        assert_eq!(payload(u64::MAX, u128::MAX).len(), MARK_BYTES);
        // One number has one form.
        assert_eq!(decode(MARK, &[1, 5, 9, 0]), Err(UnknownRecord { kind: MARK }));
        assert_eq!(decode(MARK, &[2, 5, 0, 9]), Err(UnknownRecord { kind: MARK }));
        assert_eq!(decode(MARK, &[9, 1, 1, 1, 1, 1, 1, 1, 1, 1]), Err(UnknownRecord { kind: MARK }));
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_refused(kind: u8, payload: Vec<u8>) {
            if let Ok(record) = decode(kind, &payload) {
                prop_assert_eq!(record.payload(), payload);
            }
        }
    }
}
