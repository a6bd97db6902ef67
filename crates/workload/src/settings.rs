//! What a workload can be told: sizes, distribution, seed.
//!
//! Invariant: a size that is not given has the workload's own default. Made by `companion`, read by all workloads.

use crate::distribution::Shape;

/// Sizes and choices of a workload.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Tables of equal shape.
    pub tables: u64,
    /// Rows of each table; 0 is the workload's own default.
    pub rows: u64,
    /// Warehouses of tpcc.
    pub scale: u64,
    /// Which rows are asked for; `None` is the workload's own default.
    pub shape: Option<Shape>,
    pub seed: u64,
    /// Whether statements are prepared once per connection.
    pub is_prepared: bool,
    /// How many commands one connection has in flight at most.
    pub pipeline: usize,
    /// Leave out BEGIN and COMMIT where the workload would have them.
    pub skips_transactions: bool,
    /// Rows of a range.
    pub range: u64,
    /// Items of tpcc's catalogue: 100,000 by the specification.
    pub items: u64,
    /// Customers of a district of tpcc: 3,000 by the specification.
    pub customers: u64,
    /// The text behind a CREATE TABLE's closing parenthesis.
    pub engine: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tables: 1,
            rows: 0,
            scale: 1,
            shape: None,
            seed: 1,
            is_prepared: true,
            pipeline: 1,
            skips_transactions: false,
            range: 100,
            items: 100_000,
            customers: 3_000,
            engine: "ENGINE=InnoDB".into(),
        }
    }
}

impl Settings {
    /// The rows of a table where nothing was said.
    #[must_use]
    pub fn rows_or(&self, default: u64) -> u64 {
        if self.rows == 0 { default } else { self.rows }
    }
}
