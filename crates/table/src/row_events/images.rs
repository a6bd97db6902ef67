//! Which columns of a row an event shows.

/// `binlog_row_image`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RowImages {
    /// All columns.
    #[default]
    Full,
    /// The key before, what has changed after.
    Minimal,
    /// All columns but TEXT, BLOB and JSON that are not needed.
    WithoutLargeObjects,
}
