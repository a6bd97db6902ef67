//! What a statement is given and how it ends.
use std::borrow::Cow;

use datum::Value;
use parser::ast;

use crate::result::MadeRows;

/// How a statement ended well.
#[derive(Debug)]
pub enum Done {
    Ok(Effects),
    /// Columns and rows are with the sink already; the end of the result set is not.
    Rows {
        found: u64,
    },
    /// A cursor was opened; columns are with the sink.
    Cursor,
    /// A result set that is still to be written.
    Made(MadeRows),
}

/// The numbers of an OK packet.
#[derive(Debug, Default)]
pub struct Effects {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub info: Cow<'static, str>,
}

impl Done {
    pub fn ok() -> Done {
        Done::Ok(Effects::default())
    }

    pub fn affected(affected_rows: u64) -> Done {
        Done::Ok(Effects { affected_rows, ..Effects::default() })
    }
}

/// A statement on its way: tree, text and the values of its parameters.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub statement: &'a ast::Statement<'a>,
    /// The text that spans of the tree point into.
    pub text: &'a [u8],
    pub parameters: &'a [Value],
    pub parameter_types: &'a [datum::ColumnType],
    /// Inside a stored program: the slot of each parameter.
    pub locals: &'a [usize],
}
