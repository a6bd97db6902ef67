//! What a plan took for granted of the values it was made with.
use crate::access::RangeCondition;
use schema::TableId;

/// So many rows were in the ranges. Other values may have quite another number, for which another plan is better.
#[derive(Debug, Clone, PartialEq)]
pub struct EstimateCheck {
    pub table: TableId,
    /// Position in `TableDef::indexes`.
    pub index: usize,
    pub ranges: Vec<RangeCondition>,
    pub rows: f64,
}

/// Numbers of rows are alike as long as one is at most this many times the other,
const FACTOR: f64 = 4.0;
/// and these many more: among few rows plans differ little.
const SLACK_ROWS: f64 = 100.0;

impl EstimateCheck {
    /// Whether the plan is as good for ranges with so many rows.
    pub fn accepts(&self, rows: f64) -> bool {
        self.rows.max(rows) <= self.rows.min(rows) * FACTOR + SLACK_ROWS
    }
}
