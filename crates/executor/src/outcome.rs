//! What a statement did, as the OK packet and ROW_COUNT() tell it.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Rows sent to the sink by a query.
    pub rows_sent: u64,
    /// With SQL_CALC_FOUND_ROWS the rows there would have been without LIMIT, else `rows_sent`.
    pub found_rows: u64,
    /// MySQL's rules: an ON DUPLICATE KEY UPDATE that changes a row counts 2, one that changes nothing 0, REPLACE
    /// counts deleted plus inserted rows, UPDATE counts changed rows.
    pub affected_rows: u64,
    /// Rows that UPDATE found, changed or not (affected rows under CLIENT_FOUND_ROWS).
    pub matched_rows: u64,
    /// Rows that ON DUPLICATE KEY UPDATE left as they were: no duplicates, and affected under CLIENT_FOUND_ROWS only.
    pub unchanged_rows: u64,
    /// Rows given to INSERT.
    pub records: u64,
    /// Rows of INSERT that met an existing key.
    pub duplicates: u64,
    /// The first value the counter generated in this statement, 0 if none: the OK packet's and LAST_INSERT_ID().
    pub last_insert_id: u64,
    /// For the OK packet only, when nothing was generated: the last explicit value of the AUTO_INCREMENT column.
    pub explicit_insert_id: u64,
}
