//! What a simulated machine is like.

use super::Fault;

#[derive(Debug, Clone)]
pub struct SimOptions {
    /// The machine stops at this operation that changes the disk (0 is the first); it never completes.
    pub crash_at: Option<u64>,
    /// Errors to inject.
    pub faults: Vec<Fault>,
    /// The most bytes that all files together may have; None is unlimited.
    pub capacity_bytes: Option<u64>,
    /// Whether a crash may turn unsynced sectors into mixtures, zeros and garbage, beyond old and new.
    pub torn_sectors: bool,
    /// A run that takes more scheduling steps than this counts as stalled.
    pub steps_max: u64,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self {
            crash_at: None,
            faults: Vec::new(),
            capacity_bytes: None,
            torn_sectors: true,
            steps_max: 100_000_000,
        }
    }
}
