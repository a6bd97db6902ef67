//! Where result rows go.
use datum::{SqlError, Value};
use schema::LocalFuture;

/// Implemented by the session, which writes the rows in the client's protocol.
pub trait RowSink {
    /// Takes one result row; the values are only lent.
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError>;

    /// Whether `flush` should be awaited before more rows come (the client reads slowly).
    fn is_full(&self) -> bool {
        false
    }

    fn flush(&mut self) -> LocalFuture<'_, Result<(), SqlError>> {
        Box::pin(async { Ok(()) })
    }
}

/// Keeps all rows, for callers inside the server and for tests.
#[derive(Debug, Default)]
pub struct CollectRows {
    pub rows: Vec<Vec<Value>>,
}

impl RowSink for CollectRows {
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        self.rows.push(row.to_vec());
        Ok(())
    }
}
