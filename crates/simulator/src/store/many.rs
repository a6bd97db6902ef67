//! Many seeds of the page store, one after another.
use crate::many::{Budget, Summary};
use crate::run::Violation;
use crate::store::errors::run_store_error;
use crate::store::options::StoreOptions;
use crate::store::run::run_store_seed;
use std::time::Instant;

/// Runs seeds from `options.seed` on, one after another.
pub fn run_store_many(options: &StoreOptions, budget: &Budget) -> Result<Summary, Violation> {
    let start = Instant::now();
    let mut summary = Summary::default();
    for seed in options.seed..options.seed.saturating_add(budget.seeds) {
        if budget.time.is_some_and(|time| start.elapsed() >= time) {
            break;
        }
        let fresh = StoreOptions::new(seed);
        let options = StoreOptions { crash_point: options.crash_point, fault: options.fault, ..fresh };
        summary.add(&run_store_seed(&options)?);
        for index in 0..budget.faults {
            summary.add(&run_store_error(&options, index)?);
        }
        summary.seeds += 1;
    }
    summary.elapsed = start.elapsed();
    Ok(summary)
}
