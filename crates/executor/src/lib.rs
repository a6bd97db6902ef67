//! Runs physical plans: one operator per file, batches of rows, spill-free within a memory limit.
