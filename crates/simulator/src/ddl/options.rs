//! What a simulated run of definitions is asked for.
use crate::ddl::planted::PlantedDdlFault;
use crate::run::Violation;
use env::sim::SimOptions;

#[derive(Debug, Clone)]
pub struct DdlOptions {
    pub seed: u64,
    /// Check only this crash point (as a failure names it); None checks all.
    pub crash_point: Option<u64>,
    /// Of so many crash points one is checked, which ones follows from the seed.
    pub one_in: usize,
    /// How often the machine crashes again during one recovery, at most.
    pub recovery_crashes: usize,
    /// Changes of definitions, and as many transactions beside.
    pub units: usize,
    pub fault: PlantedDdlFault,
}

impl DdlOptions {
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            crash_point: None,
            one_in: 1,
            recovery_crashes: 2,
            units: 20,
            fault: PlantedDdlFault::None,
        }
    }

    pub(super) fn violation(&self, crash_point: Option<u64>, what: String) -> Violation {
        Violation { seed: self.seed, crash_point, fault: None, subject: " --ddl 1", what }
    }

    pub(super) fn sim(&self) -> SimOptions {
        SimOptions { steps_max: STEPS_MAX, ..SimOptions::default() }
    }
}

pub const STEPS_MAX: u64 = 20_000_000;
