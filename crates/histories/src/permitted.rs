//! What each isolation level may show, as InnoDB defines it.

use std::collections::BTreeSet;

use crate::anomaly::Class;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
    /// REPEATABLE READ with `innodb_snapshot_isolation`.
    Snapshot,
}

/// How transactions read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    Plain,
    /// FOR UPDATE.
    Locking,
}

impl Level {
    pub const ALL: [Level; 5] = [
        Level::ReadUncommitted,
        Level::ReadCommitted,
        Level::RepeatableRead,
        Level::Serializable,
        Level::Snapshot,
    ];

    pub fn short_name(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "RU",
            Level::ReadCommitted => "RC",
            Level::RepeatableRead => "RR",
            Level::Serializable => "S",
            Level::Snapshot => "SI",
        }
    }

    pub fn named(short: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.short_name() == short)
    }

    /// What a session sets to get it.
    pub fn statements(self) -> &'static [&'static str] {
        match self {
            Level::ReadUncommitted => &["SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"],
            Level::ReadCommitted => &["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"],
            Level::RepeatableRead => &["SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"],
            Level::Serializable => &["SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"],
            Level::Snapshot => &[
                "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                "SET SESSION innodb_snapshot_isolation = ON",
            ],
        }
    }
}

/// The classes that histories at the level may show.
pub fn permitted(level: Level, reads: Reads) -> BTreeSet<Class> {
    use Class::{
        G1a, G1b, G1c, G2, G2Item, GSingle, GSinglePredicate, Incompatible, Internal, NonRepeatableRead,
    };
    let classes: &[Class] = match (level, reads) {
        // A row whose entry of an index is being changed may be seen in neither place, or in both.
        (Level::ReadUncommitted, _) => {
            &[G1a, G1b, G1c, NonRepeatableRead, Internal, GSingle, G2Item, GSinglePredicate, G2, Incompatible]
        }
        (Level::ReadCommitted, Reads::Plain) => {
            &[NonRepeatableRead, Internal, GSingle, G2Item, GSinglePredicate, G2]
        }
        // A locking read takes row by row what is current, and no gap is locked: a row whose entry of the index moves
        // to a place that the scan has passed is missed. Seen on MySQL 9.7 as well.
        (Level::ReadCommitted, Reads::Locking) => {
            &[NonRepeatableRead, Internal, GSingle, G2Item, GSinglePredicate, G2, Incompatible]
        }
        // A change reads what is current, the reads around it the snapshot.
        (Level::RepeatableRead, Reads::Plain) => &[Internal, GSingle, G2Item, GSinglePredicate, G2],
        (Level::Snapshot, Reads::Plain) => &[G2Item, G2],
        (Level::Serializable, _) | (_, Reads::Locking) => &[],
    };
    classes.iter().copied().collect()
}
