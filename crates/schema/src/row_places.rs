//! Where stored rows have the columns of a table.
//!
//! Invariant: a place belongs to one column for as long as the table's rows are not copied, also when the column is gone. So a
//! row can be read by every later descriptor, however often columns came, went and moved.

/// The places of the columns in a stored row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPlaces {
    /// By column; `None` for one that the row's key gives back.
    pub of: Vec<Option<u16>>,
    /// How many places have been given out; those that no column has are empty in new rows.
    pub width: u16,
}

/// More places than columns can have need a copy of the rows.
pub const ROW_PLACES_MAX: u16 = 16_384;
