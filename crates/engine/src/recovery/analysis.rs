//! Analysis: one pass over the log that finds what is left to undo, to free and to drop.
//!
//! Invariant: it changes nothing. Its result depends only on the log from the checkpoint on, and records
//! that end before the checkpoint may be missing for transactions that have ended.

use crate::log::log_record;
use crate::log::log_record::{KIND_FIRST, LogRecord, Operation, UndoRecord};
use crate::{EngineError, TreeId};
use btree::LateLog;
use std::collections::{BTreeMap, BTreeSet};
use wal::{LogGroup, Record};

/// The undo records of one transaction that are not compensated, by sequence.
pub(crate) type UndoMap = BTreeMap<u64, UndoRecord>;

#[derive(Debug, Default)]
pub(crate) struct Analysis {
    /// Transactions without a commit record that have something to undo.
    pub losers: BTreeMap<u64, UndoMap>,
    /// Transactions that are prepared and not decided, with their identifiers. They may have undo records in `losers`.
    pub prepared: BTreeMap<u64, Box<[u8]>>,
    pub transaction_max: u64,
    pub tree_max: u64,
    /// Trees whose drop is committed.
    pub dropped: BTreeSet<TreeId>,
    /// Overflow chains that committed transactions have replaced and nobody has freed.
    pub chains: BTreeSet<u64>,
    /// What the log says of the marks of trees.
    pub marks: BTreeMap<TreeId, u128>,
    /// What waits for leaves that were not in memory.
    pub late: LateLog,
    pub groups: u64,
}

impl Analysis {
    pub fn add_group(&mut self, group: &LogGroup<'_>) -> Result<(), EngineError> {
        self.groups += 1;
        for (lsn, record) in group.records() {
            let added = if record.kind >= KIND_FIRST {
                self.add(&record)
            } else {
                self.late.add(group.start, record.kind, record.payload).map_err(|_| record.kind)
            };
            added.map_err(|kind| EngineError::Corrupt {
                what: format!("log record of kind {kind} at LSN {lsn}"),
            })?;
        }
        Ok(())
    }

    /// Adds one record of the engine; the kind of one that cannot be decoded is the error.
    pub fn add(&mut self, record: &Record<'_>) -> Result<(), u8> {
        let txn = record.txn;
        self.transaction_max = self.transaction_max.max(txn);
        match log_record::decode(record.kind, record.payload).map_err(|unknown| unknown.kind)? {
            LogRecord::Undo { operation, sequence, tree, key, before } => {
                if operation == Operation::CreateTree {
                    self.tree_max = self.tree_max.max(tree.0);
                }
                let undo = UndoRecord { operation, tree, key: key.into(), before: before.into() };
                self.losers.entry(txn).or_default().insert(sequence, undo);
            }
            LogRecord::Compensated { sequence } => {
                if let Some(undo) = self.losers.get_mut(&txn) {
                    undo.remove(&sequence);
                    if undo.is_empty() {
                        self.losers.remove(&txn);
                    }
                }
            }
            LogRecord::Commit { dropped_trees, freed_chains } => {
                self.losers.remove(&txn);
                self.prepared.remove(&txn);
                self.dropped.extend(dropped_trees);
                self.chains.extend(freed_chains);
            }
            LogRecord::RolledBack => {
                self.losers.remove(&txn);
            }
            LogRecord::Spilled { through, kept } => {
                if let Some(undo) = self.losers.get_mut(&txn) {
                    let newer = undo.split_off(&through);
                    undo.retain(|sequence, _| kept.contains(sequence));
                    undo.extend(newer);
                    if undo.is_empty() {
                        self.losers.remove(&txn);
                    }
                }
            }
            LogRecord::Prepared { xid } => {
                self.prepared.insert(txn, xid.into());
            }
            LogRecord::Unprepared => {
                self.prepared.remove(&txn);
            }
            LogRecord::PendingFrees { chains } => self.chains.extend(chains),
            LogRecord::Freed { chain } => {
                self.chains.remove(&chain);
            }
            LogRecord::Events { .. } | LogRecord::EventState { .. } | LogRecord::Time { .. } => {}
            LogRecord::Mark { tree, mark } => {
                let present = self.marks.entry(tree).or_default();
                *present = mark.max(*present);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wal::{WalGroup, decode_records};

    fn analyse(records: &[(u64, LogRecord<'_>)]) -> Analysis {
        let mut group = WalGroup::new();
        for (txn, record) in records {
            group.push(record.kind(), *txn, &record.payload());
        }
        let mut analysis = Analysis::default();
        for record in decode_records(group.record_bytes()) {
            analysis.add(&record.unwrap()).unwrap();
        }
        analysis
    }

    fn undo(sequence: u64, key: &[u8]) -> LogRecord<'_> {
        LogRecord::Undo { operation: Operation::Insert, sequence, tree: TreeId(5), key, before: b"" }
    }

    #[test]
    fn only_the_unfinished_remain() {
        let commit = LogRecord::Commit { dropped_trees: vec![TreeId(8)], freed_chains: vec![40, 41] };
        let analysis = analyse(&[
            (1, undo(0, b"a")),
            (2, undo(0, b"b")),
            (2, undo(1, b"c")),
            (3, undo(0, b"d")),
            (1, commit),
            (2, LogRecord::Compensated { sequence: 1 }),
            (2, undo(1, b"e")),
            (3, LogRecord::Compensated { sequence: 0 }),
            (0, LogRecord::Freed { chain: 40 }),
            (9, LogRecord::Compensated { sequence: 7 }),
        ]);
        assert_eq!(analysis.losers.keys().collect::<Vec<_>>(), [&2]);
        let keys: Vec<_> = analysis.losers[&2].values().map(|undo| &*undo.key).collect();
        assert_eq!(keys, [b"b", b"e"]);
        assert_eq!(analysis.dropped, BTreeSet::from([TreeId(8)]));
        assert_eq!(analysis.chains, BTreeSet::from([41]));
        assert_eq!(analysis.transaction_max, 9);
    }

    #[test]
    fn what_was_spilled_is_not_undone_from_the_log() {
        let analysis = analyse(&[
            (1, undo(0, b"tree")),
            (1, undo(1, b"b")),
            (2, undo(0, b"c")),
            (1, LogRecord::Spilled { through: 2, kept: vec![0] }),
            (1, undo(2, b"d")),
            (2, LogRecord::Spilled { through: 1, kept: vec![] }),
        ]);
        assert_eq!(analysis.losers.keys().collect::<Vec<_>>(), [&1]);
        assert_eq!(analysis.losers[&1].keys().collect::<Vec<_>>(), [&0, &2]);
    }

    #[test]
    fn prepared_is_what_is_not_decided() {
        let commit = LogRecord::Commit { dropped_trees: vec![], freed_chains: vec![] };
        let analysis = analyse(&[
            (1, undo(0, b"a")),
            (1, LogRecord::Prepared { xid: b"one" }),
            (2, undo(0, b"b")),
            (2, LogRecord::Prepared { xid: b"two" }),
            (3, undo(0, b"c")),
            (3, undo(1, b"d")),
            (3, LogRecord::Prepared { xid: b"three" }),
            (4, LogRecord::Prepared { xid: b"spilled" }),
            (2, commit),
            (3, LogRecord::Unprepared),
            (3, LogRecord::Compensated { sequence: 1 }),
        ]);
        let prepared: Vec<_> = analysis.prepared.iter().map(|(txn, xid)| (*txn, &**xid)).collect();
        assert_eq!(prepared, [(1, &b"one"[..]), (4, b"spilled")]);
        assert_eq!(analysis.losers.keys().collect::<Vec<_>>(), [&1, &3]);
    }

    #[test]
    fn the_highest_mark_of_a_tree_counts() {
        let (one, two) = (TreeId(5), TreeId(6));
        let mark = |tree, mark| (0, LogRecord::Mark { tree, mark });
        let analysis =
            analyse(&[mark(one, 3), mark(two, 8), (1, LogRecord::RolledBack), mark(one, 9), mark(one, 4)]);
        assert_eq!(analysis.marks, BTreeMap::from([(one, 9), (two, 8)]));
    }

    #[test]
    fn a_forwarded_copy_replaces_the_first() {
        let analysis = analyse(&[
            (1, undo(0, b"a")),
            (1, undo(0, b"a")),
            (1, undo(1, b"b")),
            (1, LogRecord::Compensated { sequence: 1 }),
        ]);
        assert_eq!(analysis.losers[&1].len(), 1);
    }
}
