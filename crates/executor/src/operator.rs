//! The operators: one file for each kind of plan node.
//!
//! Protocol: `start` sets the base frame and forgets everything of an earlier run; then `next_batch` appends rows
//! until it returns false. It may append none and return true. It reads (and locks) little more than `wanted` rows.
mod aggregate;
mod apply;
mod build;
mod common_table;
mod derived;
mod distinct;
mod extreme;
mod filter;
mod first_rows;
mod hash_join;
mod initialise;
mod json_table;
mod key_set;
mod limit;
mod measured;
mod nested_loop;
mod project;
mod recursive;
mod row_source;
mod set_difference;
mod sort;
mod sort_key;
mod table_scan;
mod union;
mod virtual_scan;
mod window;

use crate::batch::RowBatch;
use crate::context::ExecContext;
use datum::{SqlError, Value};
use expression::{EvalContext, Expr};
use schema::LocalFuture;

pub use build::build;
pub use initialise::run_initialisers;
pub use limit::{row_count, row_limit};

/// Rows asked for at once where nothing limits them.
pub const BATCH_ROWS: usize = 256;

pub trait Operator {
    fn start(&mut self, base: &[Value]);

    /// The base frames that runs to come will start with, so that what they read can be asked for at once.
    fn expect<'a, 'c: 'a>(
        &'a mut self,
        _context: &'a mut ExecContext<'c>,
        _bases: &'a RowBatch,
    ) -> LocalFuture<'a, Result<(), SqlError>> {
        Box::pin(async { Ok(()) })
    }

    /// Whether `expect` does anything.
    fn has_expectations(&self) -> bool {
        false
    }

    /// Reads all rows and tells how many they were, in place of `next_batch`; `None`, with nothing read, where they have to be made for that.
    fn count_rows<'a, 'c: 'a>(
        &'a mut self,
        _context: &'a mut ExecContext<'c>,
    ) -> LocalFuture<'a, Result<Option<u64>, SqlError>> {
        Box::pin(async { Ok(None) })
    }

    /// False when there are no more rows.
    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>>;
}

/// Whether all predicates are true (not false, not NULL).
#[inline]
pub fn all_true(predicates: &[Expr], row: &[Value], context: &EvalContext) -> Result<bool, SqlError> {
    for predicate in predicates {
        if predicate.eval_bool(row, context)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}
