//! Tables that are ready: their counters have been read, so rows can be added.
//!
//! Invariant: a `ReadyTable` is the only way to insert a row, to take or look at a counter and to the estimate of the
//! rows, and there is one only after the counters were read, once, by the first that needed it. So a start reads no
//! table, and no path to a table can forget it ([decision 0017]). Reading needs the table's metadata lock: its trees
//! must not be dropped meanwhile.
//!
//! [decision 0017]: ../../../docs/decisions/0017-tables-are-made-ready-at-first-use.md
use crate::auto_increment::AutoIncrement;
use crate::handle::TableHandle;
use datum::SqlError;
use engine::{AccessMode, Engine, Isolation, Transaction};
use schema::TableDef;
use std::ops::Deref;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct ReadyTable(Arc<TableHandle>);

impl TableHandle {
    /// The table with its counters, which are read now if nobody has done it yet; others who come meanwhile wait. The
    /// future may be dropped: then one of those goes on. So it does after an error, which is this caller's alone.
    pub async fn ready(self: Arc<Self>, engine: &Arc<Engine>) -> Result<ReadyTable, SqlError> {
        if self.is_ready() {
            return Ok(ReadyTable(self));
        }
        // Boxed: once for each table, and statements need not carry its state.
        Box::pin(async {
            // A new one, lest it miss what was committed since a statement's own transaction began.
            let mut transaction = engine.begin(Isolation::RepeatableRead, AccessMode::ReadOnly);
            self.ready_within(&mut transaction).await
        })
        .await
    }

    /// The same by a transaction that sees everything committed, and trees of its own that nobody else sees yet.
    pub async fn ready_within(
        self: &Arc<Self>,
        transaction: &mut Transaction,
    ) -> Result<ReadyTable, SqlError> {
        if let Some(turn) = self.counters.read.turn().await {
            let stored = self.statistics().present().map(|statistics| statistics.rows);
            self.counters.read_from(self.definition(), self.layout(), transaction, stored).await?;
            turn.finish();
        }
        Ok(ReadyTable(self.clone()))
    }

    /// One atomic load: what a statement pays for a table that is ready.
    pub fn is_ready(&self) -> bool {
        self.counters.read.is_done()
    }

    /// The table if its counters have been read.
    pub fn if_ready(self: &Arc<Self>) -> Option<ReadyTable> {
        self.is_ready().then(|| ReadyTable(self.clone()))
    }
}

impl ReadyTable {
    /// A table whose trees are new and empty: there is nothing to read.
    pub fn of_new_trees(definition: Arc<TableDef>) -> ReadyTable {
        let handle = TableHandle::new(definition, Arc::default(), |_| unreachable!("new rows lack nothing"));
        handle.counters.read.set_done();
        ReadyTable(Arc::new(handle))
    }

    pub fn handle(&self) -> &Arc<TableHandle> {
        &self.0
    }

    pub fn auto_increment(&self) -> &AutoIncrement {
        &self.0.counters.auto_increment
    }

    /// A row is copied into the table: its number is not given to another one. The new descriptor is stored with the
    /// counter.
    pub fn observe_number(&self, row: &[datum::Value]) {
        if let Some(number) = self.0.counters.number_in(row) {
            self.auto_increment().observe(number);
        }
    }

    pub fn estimated_rows(&self) -> u64 {
        self.0.counters.estimated_rows()
    }

    /// How many different values the first parts of the index have; without statistics as many as there are rows.
    pub fn cardinality(&self, index: usize, parts: usize) -> u64 {
        let tree = self.definition().indexes[index].tree;
        let statistics = self.statistics().present();
        let known =
            statistics.and_then(|known| known.index(tree)?.distinct.get(parts.checked_sub(1)?).copied());
        known.unwrap_or_else(|| self.estimated_rows())
    }

    /// What was counted: the estimate goes on from there.
    pub fn set_estimated_rows(&self, rows: u64) {
        self.0.counters.set_rows(rows);
    }
}

impl Deref for ReadyTable {
    type Target = TableHandle;

    fn deref(&self) -> &TableHandle {
        &self.0
    }
}
