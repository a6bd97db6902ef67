//! The plain data types of the public interface. Callers: crates `table`, `catalog` and `session`.

pub use buffer::{PackedStats, Packing};

/// Names one tree (an ordered table of byte keys and byte values) for ever; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TreeId(pub u64);

impl TreeId {
    /// The one tree that exists from the first start: the data dictionary keeps itself there.
    pub const CATALOG: TreeId = TreeId(1);
}

/// How a transaction sees the others' work, from loose to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Isolation {
    /// Plain reads see what others have not committed.
    ReadUncommitted,
    /// Each statement sees what is committed when it begins.
    ReadCommitted,
    /// The whole transaction sees what was committed at its first read.
    #[default]
    RepeatableRead,
    /// As if transactions ran one after the other, provided that the caller reads with locks.
    Serializable,
}

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccessMode {
    /// Everything.
    #[default]
    ReadWrite,
    /// Changes are refused with [`crate::EngineError::ReadOnly`].
    ReadOnly,
}

/// `innodb_flush_log_at_trx_commit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlushAtCommit {
    /// 1: a commit is acknowledged once its log record is on stable storage.
    #[default]
    Durable,
    /// 2: written to the operating system at commit, made durable within about a second.
    Written,
    /// 0: written and made durable within about a second.
    Lazy,
}

/// How a record is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// Others may lock it shared as well.
    Shared,
    /// Nobody else may lock or change it.
    Exclusive,
}

/// What a locking operation does when another transaction holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Wait at most this long, then [`crate::EngineError::LockWaitTimeout`].
    Wait {
        /// Microseconds.
        timeout_us: u64,
    },
    /// Fail at once with [`crate::EngineError::LockNotAvailable`].
    NoWait,
    /// Leave the record out of the result.
    SkipLocked,
}

/// How a read sees records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    /// The transaction's snapshot plus its own changes; takes no locks. At ReadCommitted every statement
    /// (see `Transaction::begin_statement`) has a new snapshot, at RepeatableRead the first read makes it.
    Snapshot,
    /// The newest committed version plus own changes, each returned record locked (and, from
    /// RepeatableRead on, the scanned range protected against inserts by others).
    Locking(LockMode, WaitPolicy),
}

/// What must be unique when inserting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uniqueness {
    /// The whole key.
    Key,
    /// The first so many bytes of the key (a unique secondary index: columns first, then the primary key).
    Prefix(usize),
}

/// Which way a cursor goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the lowest key to the highest.
    Forward,
    /// From the highest key to the lowest.
    Backward,
}

/// A range of keys: `lower` is included unless `lower_excluded`; `upper` likewise. `None` = unbounded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyRange {
    /// Where the range begins.
    pub lower: Option<Vec<u8>>,
    /// The range begins behind `lower`.
    pub lower_excluded: bool,
    /// Where the range ends.
    pub upper: Option<Vec<u8>>,
    /// The range ends before `upper`.
    pub upper_excluded: bool,
}

impl KeyRange {
    /// Every key.
    pub fn all() -> KeyRange {
        KeyRange::default()
    }

    /// Every key that starts with `prefix`.
    pub fn prefix(prefix: &[u8]) -> KeyRange {
        let mut upper = prefix.to_vec();
        while upper.last() == Some(&0xFF) {
            upper.pop();
        }
        let upper = match upper.last_mut() {
            Some(last) => {
                *last += 1;
                Some(upper)
            }
            None => None,
        };
        debug_assert!(upper.as_deref().is_none_or(|upper| upper > prefix), "a range ends behind its prefix");
        KeyRange { lower: Some(prefix.to_vec()), lower_excluded: false, upper, upper_excluded: true }
    }
}

/// Keys and values of consecutive records, packed into one buffer that the caller reuses.
#[derive(Debug, Default)]
pub struct EntryBatch {
    bytes: Vec<u8>,
    /// (end of key, end of value) of each entry in `bytes`.
    ends: Vec<(usize, usize)>,
    /// Entries that were counted and not kept.
    counted: usize,
    /// See `counting`.
    counts_only: bool,
    /// The last entry is not locked: see `Cursor::test_before_waiting`.
    last_is_unlocked: bool,
}

impl EntryBatch {
    /// For a plain read that wants to know how many records there are, not which: keeps no entry.
    pub fn counting() -> EntryBatch {
        EntryBatch { counts_only: true, ..EntryBatch::default() }
    }

    /// Forgets the entries and keeps the memory.
    pub fn clear(&mut self) {
        self.counted = 0;
        self.bytes.clear();
        self.ends.clear();
        self.last_is_unlocked = false;
        self.check();
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.ends.len() + self.counted
    }

    /// The bytes of all keys and values.
    pub fn bytes_len(&self) -> usize {
        self.bytes.len()
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an entry.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        debug_assert!(!self.last_is_unlocked, "what was not locked is dealt with before more is added");
        if self.counts_only {
            self.counted += 1;
            return;
        }
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
        self.check();
    }

    /// What holds between two calls.
    fn check(&self) {
        let end = self.ends.last().map_or(0, |(_, end)| *end);
        debug_assert_eq!(end, self.bytes.len(), "the entries are all of the bytes");
        debug_assert!(self.ends.is_empty() || self.counted == 0, "entries are kept or counted, not both");
    }
    pub(crate) fn counts_only(&self) -> bool {
        self.counts_only
    }

    pub(crate) fn push_unlocked(&mut self, key: &[u8], value: &[u8]) {
        debug_assert!(!self.counts_only, "only plain reads count, and they lock nothing");
        self.push(key, value);
        self.last_is_unlocked = true;
    }

    pub(crate) fn ends_unlocked(&self) -> bool {
        self.last_is_unlocked
    }

    /// True for an entry that a locking cursor returned without its lock.
    pub fn is_unlocked(&self, index: usize) -> bool {
        debug_assert!(index < self.len(), "the entry is in the batch");
        self.last_is_unlocked && index + 1 == self.len()
    }

    /// Key and value of entry `index`.
    pub fn get(&self, index: usize) -> (&[u8], &[u8]) {
        let start = if index == 0 { 0 } else { self.ends[index - 1].1 };
        let (key_end, value_end) = self.ends[index];
        debug_assert!(start <= key_end && key_end <= value_end, "key and value follow the entry before");
        (&self.bytes[start..key_end], &self.bytes[key_end..value_end])
    }

    /// Key and value of each entry in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.len()).map(|index| self.get(index))
    }
}

/// A point in a transaction to which it can be rolled back; earlier ones stay valid, later ones do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Savepoint(pub u64);

/// Everything the engine can be told at open.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Used when the store is created; afterwards the store's own size holds. 4096, 8192 or 16384.
    pub page_size_bytes: usize,
    /// Memory for pages and what is kept about them.
    pub buffer_pool_bytes: u64,
    /// How far `Engine::set_buffer_pool_bytes` can go.
    pub buffer_pool_bytes_max: u64,
    /// Whether the pages that were in memory at the end of the last run are read again after a start.
    pub loads_hot_pages: bool,
    /// Checkpoints keep the log below this size.
    pub redo_capacity_bytes: u64,
    /// What the log says of pages that are behind it may take after a crash, before it is read in several rounds; 0: a share
    /// of the buffer pool's size.
    pub redo_memory_bytes: u64,
    /// What undo records and row versions of running transactions may take in memory before the large ones move
    /// theirs to pages; 0: a share of the buffer pool's size.
    pub undo_memory_bytes: u64,
    /// What versions of committed transactions may take in memory that old snapshots need, before the oldest move to
    /// pages; 0: a share of the buffer pool's size.
    pub version_memory_bytes: u64,
    /// What changes of index leaves that are not in memory may take; `None`: a share of the buffer pool's size; 0:
    /// there are none, each leaf is read to be changed.
    pub late_change_bytes: Option<u64>,
    /// What the logs of dirty pages may take that leave memory without being written; `None`: a share of the buffer pool's
    /// size; 0: dirty pages are written before they leave.
    pub page_log_bytes: Option<u64>,
    /// When pages are compressed in memory, in the place of some that are whole.
    pub packing: Packing,
    /// When a commit is acknowledged.
    pub flush_at_commit: FlushAtCommit,
    /// Where events begin in the log that somebody has not taken yet; the log is kept from there on, until
    /// `Engine::hold_log` is called and what it gave is dropped or moved.
    pub keep_log_from: Option<u64>,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            page_size_bytes: 8192,
            buffer_pool_bytes: 128 << 20,
            buffer_pool_bytes_max: 128 << 20,
            loads_hot_pages: true,
            redo_capacity_bytes: 1 << 30,
            redo_memory_bytes: 0,
            undo_memory_bytes: 0,
            version_memory_bytes: 0,
            late_change_bytes: None,
            page_log_bytes: None,
            packing: Packing::WhenWorthwhile,
            flush_at_commit: FlushAtCommit::Durable,
            keep_log_from: None,
        }
    }
}
