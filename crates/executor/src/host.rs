//! What an execution asks of whoever runs the statement: the transaction, stored functions and triggers.
//!
//! Invariant: a host is asked for one thing at a time, and statements that run inside of a call use the same transaction.
//! The session implements it: while a function or a trigger runs, the whole session is at its disposal.
use std::sync::Arc;

use datum::{SqlError, Value};
use engine::Transaction;
use schema::{LocalFuture, TableId, TriggerEvent, TriggerSet};
use table::ReadyTable;

pub trait StatementHost {
    fn transaction(&mut self) -> &mut Transaction;

    /// The same, to be looked at only.
    fn seen_transaction(&self) -> &Transaction;

    /// The value of the stored function with this number; `name` is what errors call it, if not by the function's name.
    fn call_function(
        &mut self,
        function: u64,
        name: Option<Arc<str>>,
        arguments: Vec<Value>,
    ) -> LocalFuture<'_, Result<Value, SqlError>>;

    /// The bytes of a file of the host, NULL, or the length of one that has more than it may.
    fn load_file(&mut self, name: String, bytes_max: u64) -> LocalFuture<'_, Result<Value, SqlError>>;

    /// Runs the triggers of one sort on one row.
    fn fire<'a>(&'a mut self, firing: Firing<'a>) -> LocalFuture<'a, Result<(), SqlError>>;

    /// Whether the running statement may fill the table at once, if that is empty.
    fn may_fill(&self, table: &ReadyTable) -> bool;

    /// Begins to fill the table; false if it has to take its rows one by one. `ignores` leaves out rows whose keys are there
    /// already; then no other index may be unique.
    fn begin_fill<'a>(
        &'a mut self,
        table: &'a ReadyTable,
        ignores: bool,
    ) -> LocalFuture<'a, Result<bool, SqlError>>;

    /// The next rows, behind a `begin_fill` that was true.
    fn fill(&mut self, rows: Vec<Vec<Value>>) -> LocalFuture<'_, Result<(), SqlError>>;

    /// The last row has come. Rows that have the same unique values as an earlier one are refused now: an error, or with IGNORE
    /// what is left out.
    fn end_fill(&mut self) -> LocalFuture<'_, Result<LeftOutRows, SqlError>>;
}

/// Rows that were left out of a fill.
#[derive(Default)]
pub struct LeftOutRows {
    pub count: u64,
    /// Why, in their order: of all, or of more than a client can ask for.
    pub errors: Vec<SqlError>,
}

/// A row that is about to change or has changed.
pub struct Firing<'a> {
    pub table: TableId,
    pub is_before: bool,
    pub event: TriggerEvent,
    /// All columns as they were; none of an insert.
    pub old: Option<&'a [Value]>,
    pub new: Option<NewRow<'a>>,
}

/// All columns as they become.
pub enum NewRow<'a> {
    /// Of a trigger that may change them; `given` becomes the columns that it has given values to.
    Changeable {
        row: &'a mut Vec<Value>,
        given: &'a mut Vec<usize>,
    },
    Final(&'a [Value]),
}

/// The triggers of the tables that a statement changes: most have none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Triggers<'a>(pub &'a [(TableId, TriggerSet)]);

impl Triggers<'_> {
    /// Whether the table has a trigger of the sort.
    #[inline]
    pub fn has(self, table: TableId, is_before: bool, event: TriggerEvent) -> bool {
        self.0.iter().any(|(id, set)| *id == table && set.has(is_before, event))
    }

    /// Whether the table has triggers of the event, before or after.
    #[inline]
    pub fn follow(self, table: TableId, event: TriggerEvent) -> bool {
        self.has(table, true, event) || self.has(table, false, event)
    }
}
