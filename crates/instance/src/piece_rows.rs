//! What becomes of the rows of a query in a program.

/// What becomes of the rows.
#[derive(Debug, PartialEq, Eq)]
pub enum PieceRows {
    /// They are the client's, or the program's own.
    Given,
    /// SELECT .. INTO: where the values of the only one go.
    Into(Box<[IntoTarget]>),
    /// SET of a user variable, whose name is in lower case.
    Assigned(String),
    /// DO.
    Dropped,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntoTarget {
    Slot(usize),
    /// In lower case.
    UserVariable(String),
}
