//! Who computes the values that a definition tells as expressions, for rows that are copied or come from a query.
use datum::{SqlError, Value};

/// Implemented by the session, which can bind and evaluate expressions. Rows are counted from 1 for messages.
pub trait RowMaker {
    /// The default expression of a column, over the values that the row has already.
    fn default_value(&self, column: usize, row: &[Value], number: u64) -> Result<Value, SqlError>;

    /// Gives the generated columns their values and asks the constraints, when all other values are there.
    fn finish(&self, row: &mut [Value], number: u64) -> Result<(), SqlError>;
}
