//! Bound statements that change rows to their plans: what finds the rows, and whether all are found before the first changes.

pub(crate) mod changed_rows;
pub(crate) mod inserted_rows;
pub(crate) mod moved_rows;
