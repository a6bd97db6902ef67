//! What an execution asked of tables and sorts, in the terms of MySQL's `Handler_..` and `Sort_..` counters.
//!
//! Plain numbers of one execution: operators add to them once for each batch, the caller takes them afterwards, also
//! after an error.
use plan::AccessPath;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Reads of the first entry of an index, or of the first row.
    pub first_reads: u64,
    pub last_reads: u64,
    /// Reads by key: points, and the starts of ranges.
    pub key_reads: u64,
    /// Further entries of a range or an index, forward.
    pub next_reads: u64,
    pub previous_reads: u64,
    /// Steps of whole-table scans, the one that finds the end included.
    pub scan_steps: u64,
    /// Rows given to a table, whether it took them or not.
    pub inserts: u64,
    pub updates: u64,
    pub deletes: u64,
    pub sorted_rows: u64,
    /// Merges of sorted runs.
    pub merge_passes: u64,
    /// Kept sets of rows that went to disk, in part or whole.
    pub disk_tables: u64,
    /// Bytes of rows written to temporary files since somebody last took them: EXPLAIN ANALYZE does for each operator.
    pub spilled_bytes: u64,
    /// Rows and entries that tables gave, however they were found.
    pub rows_examined: u64,
}

impl Work {
    /// A cursor begins.
    pub(crate) fn begin_scan(&mut self, path: &AccessPath, backward: bool) {
        self.key_reads += 1;
        match path {
            AccessPath::FullScan | AccessPath::IndexScan { .. } if backward => self.last_reads += 1,
            AccessPath::FullScan | AccessPath::IndexScan { .. } => self.first_reads += 1,
            _ => {}
        }
    }

    /// A cursor gave so many entries, and there are none left if `is_last`.
    pub(crate) fn step(&mut self, path: &AccessPath, backward: bool, entries: usize, is_last: bool) {
        let entries = entries as u64;
        self.rows_examined += entries;
        match path {
            AccessPath::FullScan => self.scan_steps += entries + u64::from(is_last),
            _ if backward => self.previous_reads += entries,
            _ => self.next_reads += entries,
        }
    }
}
