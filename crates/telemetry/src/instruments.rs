//! What single waits and stages are called, and which of them are measured: the rows of `setup_instruments` that can be switched.
//!
//! Invariant: an instrument's place in the table is its bit in the switches. Switched by UPDATE, read where events are made.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use env::{WAIT_CAUSES, WaitCause};

/// One of them, and what MySQL's default is.
#[derive(Clone, Copy, Debug)]
pub struct Instrument {
    pub name: &'static str,
    pub is_on: bool,
    pub is_timed: bool,
    /// Has figures of how much is done.
    pub has_progress: bool,
}

pub const TABLE_IO: &str = "wait/io/table/sql/handler";
pub const IDLE: &str = "idle";

const fn wait(name: &'static str, is_timed: bool) -> Instrument {
    Instrument { name, is_on: true, is_timed, has_progress: false }
}

const fn stage(name: &'static str) -> Instrument {
    Instrument { name, is_on: false, is_timed: false, has_progress: false }
}

const fn progress(name: &'static str) -> Instrument {
    Instrument { name, is_on: true, is_timed: true, has_progress: true }
}

/// Causes of waits come first, in their order.
pub const INSTRUMENTS: &[Instrument] = &[
    wait("wait/io/file/innodb/innodb_data_file", true),
    wait("wait/synch/evenkeel/free_page_frame", true),
    wait("wait/io/file/innodb/innodb_log_file", true),
    wait("wait/synch/evenkeel/log_space", true),
    wait("wait/lock/row/evenkeel/row", true),
    wait("wait/synch/evenkeel/old_versions", true),
    wait("wait/lock/metadata/sql/mdl", true),
    wait(TABLE_IO, false),
    wait(IDLE, true),
    progress("stage/innodb/alter table (end)"),
    progress("stage/innodb/alter table (insert)"),
    progress("stage/innodb/alter table (log apply index)"),
    progress("stage/innodb/alter table (read PK and internal sort)"),
    progress("stage/evenkeel/restore table (read backup)"),
    progress("stage/evenkeel/restore table (insert)"),
    stage(stages::STARTING),
    stage(stages::OPENING_TABLES),
    stage(stages::OPTIMIZING),
    stage(stages::EXECUTING),
    stage(stages::UPDATE),
    stage(stages::UPDATING),
    stage(stages::COMMIT),
    stage(stages::QUERY_END),
    stage(stages::CLEANING_UP),
    stage(stages::METADATA_LOCK),
];

/// The names of stages that a session comes to by itself.
pub mod stages {
    pub const STARTING: &str = "stage/sql/starting";
    pub const OPENING_TABLES: &str = "stage/sql/Opening tables";
    pub const OPTIMIZING: &str = "stage/sql/optimizing";
    pub const EXECUTING: &str = "stage/sql/executing";
    pub const UPDATE: &str = "stage/sql/update";
    pub const UPDATING: &str = "stage/sql/updating";
    pub const COMMIT: &str = "stage/sql/waiting for handler commit";
    pub const QUERY_END: &str = "stage/sql/query end";
    pub const CLEANING_UP: &str = "stage/sql/cleaning up";
    pub const METADATA_LOCK: &str = "stage/sql/Waiting for table metadata lock";
}

/// MySQL's name where it has the same wait, else one in its manner.
pub fn wait_name(cause: WaitCause) -> &'static str {
    INSTRUMENTS[cause as usize].name
}

fn bits(is_set: impl Fn(&Instrument) -> bool) -> u64 {
    let set = INSTRUMENTS.iter().enumerate().filter(|(_, instrument)| is_set(instrument));
    set.fold(0, |bits, (place, _)| bits | 1 << place)
}

/// Which of them are measured, and have times.
#[derive(Debug)]
pub struct Instruments {
    on: AtomicU64,
    timed: AtomicU64,
    /// The stages that are only made if somebody asks for them.
    plain_stages: u64,
    causes: u64,
}

impl Default for Instruments {
    fn default() -> Instruments {
        Instruments {
            on: AtomicU64::new(bits(|instrument| instrument.is_on)),
            timed: AtomicU64::new(bits(|instrument| instrument.is_timed)),
            plain_stages: bits(|instrument| {
                instrument.name.starts_with("stage/") && !instrument.has_progress
            }),
            causes: (1 << WAIT_CAUSES.len()) - 1,
        }
    }
}

impl Instruments {
    fn place(name: &str) -> Option<usize> {
        INSTRUMENTS.iter().position(|instrument| instrument.name == name)
    }

    /// Whether there are events of it, and whether they have times.
    pub fn of(&self, name: &str) -> Option<(bool, bool)> {
        let bit = 1 << Instruments::place(name)?;
        Some((self.on.load(Relaxed) & bit != 0, self.timed.load(Relaxed) & bit != 0))
    }

    /// Switches one; true if that is a change, `None` if there is no such.
    pub fn switch(&self, name: &str, is_timed: bool, is_on: bool) -> Option<bool> {
        let bit = 1 << Instruments::place(name)?;
        let switches = if is_timed { &self.timed } else { &self.on };
        let before = if is_on { switches.fetch_or(bit, Relaxed) } else { switches.fetch_and(!bit, Relaxed) };
        Some((before & bit != 0) != is_on)
    }

    /// Whether stages that only somebody's wish makes are wanted.
    pub fn wants_stages(&self) -> bool {
        self.on.load(Relaxed) & self.plain_stages != 0
    }

    /// Whether each cause of waiting is summed.
    pub fn all_causes_are_on(&self) -> bool {
        self.on.load(Relaxed) & self.causes == self.causes
    }

    pub fn is_on(&self, cause: WaitCause) -> bool {
        self.on.load(Relaxed) & 1 << cause as usize != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_have_their_names_and_switches() {
        assert!(INSTRUMENTS.len() <= 64);
        assert_eq!(wait_name(WaitCause::MetadataLock), "wait/lock/metadata/sql/mdl");
        let instruments = Instruments::default();
        assert_eq!(instruments.of("wait/lock/metadata/sql/mdl"), Some((true, true)));
        assert!(instruments.all_causes_are_on());
        assert_eq!(instruments.switch("wait/lock/metadata/sql/mdl", false, false), Some(true));
        assert_eq!(instruments.switch("wait/lock/metadata/sql/mdl", false, false), Some(false));
        assert!(!instruments.is_on(WaitCause::MetadataLock) && instruments.is_on(WaitCause::RowLock));
        assert!(!instruments.all_causes_are_on() && !instruments.wants_stages());
        assert_eq!(instruments.switch(stages::EXECUTING, false, true), Some(true));
        assert!(instruments.wants_stages());
        assert_eq!(instruments.of("wait/synch/mutex/x"), None);
    }
}
