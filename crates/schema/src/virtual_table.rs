//! Tables whose rows are computed: `information_schema` and the like.
//!
//! The crate that owns the data implements the trait, one file per table; `session` registers them, the
//! executor only scans them.
use crate::table::TableDef;
use datum::{SqlError, Value};
use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A future that stays on its thread.
pub type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

pub trait VirtualTable: Send + Sync {
    /// Columns and name; `id`, `tree` and `indexes` mean nothing here.
    fn definition(&self) -> &Arc<TableDef>;

    /// Whether result columns are named as this table names them, however the statement writes them: so it is with
    /// MySQL's views that are merged into the statement.
    fn names_results(&self) -> bool {
        false
    }

    /// All rows as of now. `viewer` is what the session gave the executor about itself (who asks, what it may
    /// see); the implementation knows the type behind it.
    fn rows<'a>(&'a self, viewer: &'a dyn Any) -> LocalFuture<'a, Result<Vec<Vec<Value>>, SqlError>>;

    /// TRUNCATE: forgets what the rows are made from. False where that is not to be done.
    fn truncate(&self) -> bool {
        false
    }

    /// The columns whose values may take reading to find out. `rows` leaves them NULL where it would.
    fn late_columns(&self) -> &'static [usize] {
        &[]
    }

    /// Finds out the late columns of one of the rows. Called only where they are wanted, and for rows which the
    /// conditions that can do without them let through.
    fn complete<'a>(
        &'a self,
        _viewer: &'a dyn Any,
        _row: &'a mut [Value],
    ) -> LocalFuture<'a, Result<(), SqlError>> {
        Box::pin(async { Ok(()) })
    }
}

impl std::fmt::Debug for dyn VirtualTable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "VirtualTable({})", self.definition().name)
    }
}
