//! LOAD DATA, and the file format options that it shares with SELECT INTO OUTFILE.
use super::{Assignment, ColumnReference, DuplicateHandling, Expr, Ident, ObjectName, Priority};

/// FIELDS or COLUMNS; `None` keeps the default of that option.
#[derive(Debug, Clone, Copy, Default)]
pub struct FieldOptions<'a> {
    pub terminated_by: Option<&'a [u8]>,
    pub enclosed_by: Option<&'a [u8]>,
    pub optionally_enclosed: bool,
    pub escaped_by: Option<&'a [u8]>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct LineOptions<'a> {
    pub starting_by: Option<&'a [u8]>,
    pub terminated_by: Option<&'a [u8]>,
}

/// A column or user variable that receives a value.
#[derive(Debug, Clone, Copy)]
pub enum LoadColumn<'a> {
    Column(ColumnReference<'a>),
    UserVariable(Ident<'a>),
    /// A variable of a stored program, by its slot.
    Local(u32),
}

/// LOAD DATA and LOAD XML.
#[derive(Debug, Clone, Copy)]
pub struct LoadData<'a> {
    pub xml: bool,
    pub priority: Option<Priority>,
    /// `CONCURRENT`
    pub concurrent: bool,
    pub local: bool,
    pub path: &'a str,
    pub duplicates: Option<DuplicateHandling>,
    pub table: ObjectName<'a>,
    pub partitions: &'a [Ident<'a>],
    pub charset: Option<Ident<'a>>,
    /// LOAD XML's ROWS IDENTIFIED BY.
    pub rows_identified_by: Option<&'a [u8]>,
    pub fields: FieldOptions<'a>,
    pub lines: LineOptions<'a>,
    pub ignore_lines: Option<Expr<'a>>,
    pub columns: &'a [LoadColumn<'a>],
    pub set: &'a [Assignment<'a>],
}
