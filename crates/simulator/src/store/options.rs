//! What a simulated run of the page store is asked for.
use crate::run::Violation;
use env::sim::SimOptions;
use pagestore::FIRST_FREE_PAGE;

/// A new store has two files of 1 MB.
pub const SMALL_DISK_BYTES: u64 = 5 << 19;

pub const STEPS_MAX: u64 = 4_000_000;

/// What is wrong on purpose, so that the crash matrix can be seen to notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlantedStoreFault {
    #[default]
    None,
    /// A crash takes the copies of the last batch, so nothing mends a torn page.
    LosesCopies,
    /// Batches are answered before they are written.
    AcknowledgesEarly,
}

#[derive(Debug, Clone)]
pub struct StoreOptions {
    pub seed: u64,
    /// Check only this crash point (as a failure names it); None checks all.
    pub crash_point: Option<u64>,
    /// How often the machine crashes again during one recovery, at most.
    pub recovery_crashes: usize,
    pub clients: usize,
    /// Per client.
    pub operations: usize,
    /// Pages in use, by all clients.
    pub pages: usize,
    /// Page ids are so far from each other: neighbours in a batch need be none on the disk.
    pub stride: u64,
    /// Errors of the disk are injected, so operations may fail.
    pub has_errors: bool,
    pub fault: PlantedStoreFault,
}

impl StoreOptions {
    pub fn new(seed: u64) -> Self {
        let stride = [1, 1, 2, 5][seed as usize % 4];
        Self {
            seed,
            crash_point: None,
            recovery_crashes: 3,
            clients: 3,
            operations: 60,
            pages: 48 + (seed as usize / 4 % 4) * 16,
            stride,
            has_errors: false,
            fault: PlantedStoreFault::None,
        }
    }

    /// The page of this number; those before the first belong to the store.
    pub(super) fn page(&self, number: u64) -> u64 {
        FIRST_FREE_PAGE.0 + number * self.stride
    }

    /// Some disks have no room to grow, and none for the copies that an opening makes.
    pub(super) fn disk(&self) -> SimOptions {
        let capacity_bytes = match self.seed % 5 {
            0 => Some(SMALL_DISK_BYTES),
            1 => Some(2 * SMALL_DISK_BYTES),
            _ => None,
        };
        SimOptions { capacity_bytes, steps_max: STEPS_MAX, ..SimOptions::default() }
    }

    pub(super) fn violation(&self, crash_point: Option<u64>, what: String) -> Violation {
        Violation { seed: self.seed, crash_point, fault: None, subject: " --store 1", what }
    }
}
