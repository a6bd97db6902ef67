//! The units of joins: what a row costs in a hash table, and how large one may be. `join_cost` and `bushy` price by them.
use crate::joins::join_parts::positions_of;
use binder::block::Block;

/// A row into a hash table, and a look-up in it.
pub const COST_BUILD: f64 = 1.2;
pub const COST_PROBE: f64 = 0.4;
/// A row handed on to the next table.
pub const COST_ROW_OUT: f64 = 0.2;

/// A hash table that may grow beyond this is not built by choice.
pub const HASH_BYTES_MAX: f64 = 64e6;
/// What all rows are compared with is to be so many times smaller.
const KEPT_FOR_ALL: f64 = 4.0;

/// What so many rows take in a hash table.
pub fn kept_bytes(block: &Block, sources: u64, rows: f64) -> f64 {
    rows * (64 + 48 * positions_of(block, sources).len()) as f64
}

/// Whether so many rows may be kept to be compared with each row before.
pub fn fits_for_all(block: &Block, sources: u64, rows: f64) -> bool {
    kept_bytes(block, sources, rows) * KEPT_FOR_ALL <= HASH_BYTES_MAX
}

/// A guess of how many rows a test leaves.
pub fn rows_left(rows: f64) -> f64 {
    (rows * 0.5).max(1.0)
}
