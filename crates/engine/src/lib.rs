//! The storage engine: transactions over byte-key tables, snapshots, locks, checkpoint and recovery. Knows no SQL.
