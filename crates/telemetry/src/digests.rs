//! Statements by digest: their normalised texts, and the figures of each.
//!
//! Invariant: at most as many digests are known as there is room for; what comes later is counted together, under a
//! digest without a name, as in MySQL. Plans keep a reference to their entry, so a statement with a kept plan is counted
//! without a look-up; emptying the table forgets what entries have counted and lists none, and the next statement of a plan lists
//! its entry again. Each worker adds to its own shard.
use std::cell::Cell;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use aws_lc_rs::digest::{SHA256, digest};
use foldhash::HashMap;
use parking_lot::{Mutex, RwLock};

use crate::figures::{StatementFigures, StatementTotals};
use crate::histogram::Histogram;

/// `performance_schema_digests_size`.
pub const DIGESTS_MAX: usize = 10_000;
/// Workers beyond this share shards.
const SHARD_COUNT: usize = 16;
/// How much of a statement is kept as an example.
const SAMPLE_BYTES_MAX: usize = 1024;
/// A longer statement takes the place of the example, or one after this time.
const SAMPLE_AGE_MAX_US: i64 = 60_000_000;

/// One digest in one schema.
#[derive(Debug)]
pub struct DigestEntry {
    /// `None` for what found no room.
    pub schema: Option<Arc<str>>,
    /// 64 hexadecimal digits.
    pub digest: Option<Box<str>>,
    pub text: Option<Box<str>>,
    shards: [OnceLock<Box<Mutex<DigestFigures>>>; SHARD_COUNT],
    /// Whether it is one of the table's rows.
    is_listed: AtomicBool,
}

#[derive(Clone, Debug, Default)]
pub struct DigestFigures {
    pub totals: StatementTotals,
    pub histogram: Histogram,
    /// Microseconds since 1970.
    pub first_seen_us: i64,
    pub last_seen_us: i64,
    pub sample: Sample,
}

#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub text: Vec<u8>,
    pub seen_us: i64,
    pub elapsed_ns: u64,
}

thread_local! {
    static SHARD: Cell<Option<usize>> = const { Cell::new(None) };
}
static NEXT_SHARD: AtomicUsize = AtomicUsize::new(0);

/// The shard of this thread.
fn own_shard() -> usize {
    SHARD.get().unwrap_or_else(|| {
        let shard = NEXT_SHARD.fetch_add(1, Relaxed) % SHARD_COUNT;
        SHARD.set(Some(shard));
        shard
    })
}

impl DigestEntry {
    fn new(schema: Option<Arc<str>>, digest: Option<Box<str>>, text: Option<Box<str>>) -> DigestEntry {
        DigestEntry { schema, digest, text, shards: Default::default(), is_listed: AtomicBool::new(true) }
    }

    /// Adds one statement.
    pub fn add(&self, text: &[u8], now_us: i64, elapsed_ns: u64, figures: &StatementFigures) {
        let shard = self.shards[own_shard()].get_or_init(Default::default);
        let mut shard = shard.lock();
        if shard.totals.timings.count == 0 {
            shard.first_seen_us = now_us;
        }
        shard.last_seen_us = now_us;
        shard.totals.add(elapsed_ns, figures);
        shard.histogram.add(elapsed_ns);
        let sample = &mut shard.sample;
        if elapsed_ns > sample.elapsed_ns || now_us - sample.seen_us > SAMPLE_AGE_MAX_US {
            sample.text.clear();
            sample.text.extend_from_slice(&text[..text.len().min(SAMPLE_BYTES_MAX)]);
            (sample.seen_us, sample.elapsed_ns) = (now_us, elapsed_ns);
        }
    }

    /// What all workers have added.
    pub fn figures(&self) -> DigestFigures {
        let mut all = DigestFigures::default();
        for shard in self.shards.iter().filter_map(OnceLock::get) {
            let shard = shard.lock();
            if shard.totals.timings.count == 0 {
                continue;
            }
            let is_first = all.totals.timings.count == 0;
            all.first_seen_us =
                if is_first { shard.first_seen_us } else { all.first_seen_us.min(shard.first_seen_us) };
            all.last_seen_us = all.last_seen_us.max(shard.last_seen_us);
            all.totals.merge(&shard.totals);
            all.histogram.merge(&shard.histogram);
            if shard.sample.elapsed_ns >= all.sample.elapsed_ns {
                all.sample = shard.sample.clone();
            }
        }
        all
    }

    fn forget(&self) {
        for shard in self.shards.iter().filter_map(OnceLock::get) {
            *shard.lock() = DigestFigures::default();
        }
    }

    fn forget_histogram(&self) {
        for shard in self.shards.iter().filter_map(OnceLock::get) {
            shard.lock().histogram = Histogram::default();
        }
    }
}

type Key = (Option<Arc<str>>, Box<str>);

/// All digests of a server.
pub struct Digests {
    entries: RwLock<Entries>,
    overflow: Arc<DigestEntry>,
    size_max: AtomicUsize,
}

#[derive(Default)]
struct Entries {
    known: HashMap<Key, Arc<DigestEntry>>,
    listed: usize,
}

impl Default for Digests {
    fn default() -> Digests {
        Digests {
            entries: RwLock::default(),
            overflow: Arc::new(DigestEntry::new(None, None, None)),
            size_max: AtomicUsize::new(DIGESTS_MAX),
        }
    }
}

impl Digests {
    /// How many there is room for.
    pub fn set_size(&self, size_max: usize) {
        self.size_max.store(size_max, Relaxed);
    }

    /// The entry of a normalised text.
    pub fn entry(&self, schema: Option<&Arc<str>>, text: &str) -> Arc<DigestEntry> {
        let key = (schema.cloned(), Box::from(text));
        let known = self.entries.read().known.get(&key).cloned();
        if let Some(entry) = known {
            return self.listed(&entry).clone();
        }
        let mut entries = self.entries.write();
        if let Some(entry) = entries.known.get(&key) {
            let entry = entry.clone();
            drop(entries);
            return self.listed(&entry).clone();
        }
        if entries.listed >= self.size_max.load(Relaxed) {
            return self.overflow.clone();
        }
        let digest = Some(Box::from(statement_digest(text)));
        let entry = Arc::new(DigestEntry::new(schema.cloned(), digest, Some(Box::from(text))));
        entries.known.insert(key, entry.clone());
        entries.listed += 1;
        entry
    }

    /// An entry that somebody has kept, listed again if the table has been emptied since; or the one for all that finds no room.
    pub fn listed<'a>(&'a self, entry: &'a Arc<DigestEntry>) -> &'a Arc<DigestEntry> {
        if entry.is_listed.load(Relaxed) {
            return entry;
        }
        let mut entries = self.entries.write();
        if !entry.is_listed.load(Relaxed) {
            if entries.listed >= self.size_max.load(Relaxed) {
                return &self.overflow;
            }
            entries.listed += 1;
            entry.is_listed.store(true, Relaxed);
        }
        entry
    }

    /// Every entry that is a row of the table.
    pub fn all(&self) -> Vec<Arc<DigestEntry>> {
        let entries = self.entries.read();
        let listed = entries.known.values().filter(|entry| entry.is_listed.load(Relaxed));
        listed.chain([&self.overflow]).cloned().collect()
    }

    /// About what all digests take in memory.
    pub fn bytes(&self) -> usize {
        let text = |entry: &Arc<DigestEntry>| entry.text.as_ref().map_or(0, |text| text.len());
        self.all().iter().map(|entry| size_of::<DigestEntry>() + text(entry)).sum()
    }

    /// TRUNCATE of the summary: everything is forgotten. Entries that plans keep stay known, without being rows.
    pub fn clear(&self) {
        let mut entries = self.entries.write();
        entries.known.retain(|_, entry| Arc::strong_count(entry) > 1);
        entries.listed = 0;
        for entry in entries.known.values() {
            entry.is_listed.store(false, Relaxed);
            entry.forget();
        }
        self.overflow.forget();
    }

    /// TRUNCATE of the histograms.
    pub fn clear_histograms(&self) {
        self.all().iter().for_each(|entry| entry.forget_histogram());
    }
}

/// The digest of a normalised text: its SHA-256 in hexadecimal digits.
pub fn statement_digest(text: &str) -> String {
    let hash = digest(&SHA256, text.as_bytes());
    hash.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(rows_sent: u64) -> StatementFigures {
        StatementFigures { rows_sent, ..StatementFigures::default() }
    }

    #[test]
    fn one_entry_for_each_text_and_schema() {
        let digests = Digests::default();
        let schema: Arc<str> = Arc::from("shop");
        let first = digests.entry(Some(&schema), "SELECT ?");
        assert!(Arc::ptr_eq(&first, &digests.entry(Some(&schema), "SELECT ?")));
        assert!(!Arc::ptr_eq(&first, &digests.entry(None, "SELECT ?")));
        first.add(b"select 1", 5, 100, &figures(1));
        first.add(b"select 2", 9, 300, &figures(2));
        let sums = first.figures();
        assert_eq!((sums.totals.timings.count, sums.totals.figures.rows_sent), (2, 3));
        assert_eq!((sums.first_seen_us, sums.last_seen_us), (5, 9));
        assert_eq!(sums.sample.text, b"select 2");
    }

    #[test]
    fn what_finds_no_room_is_counted_together() {
        let digests = Digests::default();
        digests.set_size(1);
        digests.entry(None, "A");
        let other = digests.entry(None, "B");
        assert_eq!(other.digest, None);
        assert!(Arc::ptr_eq(&other, &digests.entry(None, "C")));
        digests.clear();
        assert!(digests.entry(None, "C").digest.is_some());
    }

    #[test]
    fn what_a_plan_keeps_is_no_row_until_it_counts_again() {
        let digests = Digests::default();
        digests.set_size(1);
        let kept = digests.entry(None, "A");
        kept.add(b"a", 5, 100, &figures(1));
        digests.clear();
        let names = || digests.all().iter().filter_map(|entry| entry.text.clone()).collect::<Vec<_>>();
        assert_eq!((names().len(), kept.figures().totals.timings.count), (0, 0));
        let other = digests.entry(None, "B");
        assert!(other.digest.is_some(), "what is no row takes no room");
        assert_eq!(digests.listed(&kept).digest, None);
        drop(other);
        digests.clear();
        assert!(Arc::ptr_eq(digests.listed(&kept), &kept));
        assert!(Arc::ptr_eq(&digests.entry(None, "A"), &kept));
        assert_eq!(names(), [Box::from("A")]);
    }
}
