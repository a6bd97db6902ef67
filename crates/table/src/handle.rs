//! A live table: its descriptor and what changes while it is used.
use crate::auto_increment::AutoIncrement;
use crate::error::{damaged, table_error};
use crate::layout::{ROW_ID_WIDTH, TableLayout};
use datum::{SqlError, TypeKind, Value, error_code};
use engine::{Direction, Engine, EntryBatch, KeyRange, ReadMode, Transaction, TreeId};
use schema::{ColumnDef, TableDef};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// One for each table, shared by all sessions; the catalog keeps it from the first use until DDL replaces it.
#[derive(Debug)]
pub struct TableHandle {
    definition: Arc<TableDef>,
    layout: TableLayout,
    auto_increment: AutoIncrement,
    /// The AUTO_INCREMENT column.
    counted_column: Option<usize>,
    /// The next hidden row id of a table without a clustering index; 0 until initialised. Only uniqueness counts, so
    /// `Relaxed` is enough.
    next_row_id: AtomicU64,
    /// Why the counters could not be read: rows that need one are refused, lest a number be given twice.
    unknown_counters: OnceLock<SqlError>,
    /// Estimated rows; changed by inserts and deletes of transactions that may yet roll back, so never exact.
    rows: AtomicI64,
}

impl TableHandle {
    /// A handle that must be initialised before rows are inserted.
    pub fn new(definition: Arc<TableDef>) -> TableHandle {
        let counted_column = definition.auto_increment_column();
        let maximum = counted_column.map(|column| maximum_of(&definition.columns[column]));
        TableHandle {
            layout: TableLayout::new(&definition),
            auto_increment: AutoIncrement::new(maximum.unwrap_or(u64::MAX)),
            counted_column,
            next_row_id: AtomicU64::new(0),
            unknown_counters: OnceLock::new(),
            rows: AtomicI64::new(0),
            definition,
        }
    }

    /// Sets the counters from the largest values in the table and what is known of earlier ones, and the row estimate.
    /// `transaction` must be a new one that sees everything committed; nothing may be inserted by others meanwhile. A damaged index is no error here: the
    /// table can be opened, read where it is sound, and dropped.
    pub async fn initialise(&self, engine: &Engine, transaction: &mut Transaction) -> Result<(), SqlError> {
        match self.read_counters(engine, transaction).await {
            Err(error) if error.is(&error_code::ER_INDEX_CORRUPT) => {
                self.unknown_counters.get_or_init(|| error);
            }
            read => read?,
        }
        match self.refresh_statistics(engine).await {
            Err(error) if error.is(&error_code::ER_INDEX_CORRUPT) => Ok(()),
            refreshed => refreshed,
        }
    }

    async fn read_counters(&self, engine: &Engine, transaction: &mut Transaction) -> Result<(), SqlError> {
        if self.layout.clustered.is_empty() {
            let last = self.last_key(transaction, self.layout.tree, Direction::Backward).await?;
            let last = match last.as_deref() {
                None => 0,
                Some(key) => u64::from_be_bytes(
                    <[u8; ROW_ID_WIDTH]>::try_from(key).map_err(|_| damaged(&self.definition.name))?,
                ),
            };
            self.next_row_id.store(last + 1, Relaxed);
        }
        self.auto_increment.set(self.definition.auto_increment_start);
        if self.counted_column.is_none() {
            return Ok(());
        }
        if let Some(largest) = self.largest_auto_increment(transaction).await? {
            self.auto_increment.observe(largest);
        }
        let mark = engine.mark(self.layout.tree);
        if (mark >> 64) as u64 == self.definition.auto_increment_resets {
            self.auto_increment.observe(mark as u64);
        }
        Ok(())
    }

    /// Called before a write of the row: its value of the AUTO_INCREMENT column is not given to another row, also when this one
    /// is gone and the server has been restarted.
    pub(crate) fn keep_number(&self, transaction: &mut Transaction, row: &[Value]) {
        let Some(number) = self.number_in(row) else { return };
        let resets = u128::from(self.definition.auto_increment_resets);
        transaction.raise_mark(self.layout.tree, resets << 64 | u128::from(number));
    }

    /// What the row has in the AUTO_INCREMENT column, if it is a value that the counter could give.
    pub(crate) fn number_in(&self, row: &[Value]) -> Option<u64> {
        let number = counted(&row[self.counted_column?])?;
        (1..=self.auto_increment.maximum()).contains(&number).then_some(number)
    }

    /// Refuses new rows while the counters are unknown.
    pub(crate) fn check_counters(&self) -> Result<(), SqlError> {
        self.unknown_counters.get().cloned().map_or(Ok(()), Err)
    }

    async fn largest_auto_increment(&self, transaction: &mut Transaction) -> Result<Option<u64>, SqlError> {
        let Some(column) = self.counted_column else { return Ok(None) };
        let index = self.layout.indexes.iter().find(|index| index.parts[0].column == column);
        let Some(index) = index else { return Ok(None) };
        let part = index.parts[0];
        let direction = if part.descending { Direction::Forward } else { Direction::Backward };
        let Some(key) = self.last_key(transaction, index.tree, direction).await? else { return Ok(None) };
        let (value, _) = part.read(&key).map_err(|_| damaged(&self.definition.name))?;
        Ok(counted(&value))
    }

    async fn last_key(
        &self,
        transaction: &mut Transaction,
        tree: TreeId,
        direction: Direction,
    ) -> Result<Option<Vec<u8>>, SqlError> {
        let mut cursor = transaction.scan(tree, KeyRange::all(), direction, ReadMode::Snapshot);
        let mut batch = EntryBatch::default();
        let read = cursor.next_batch(transaction, 1, &mut batch).await;
        read.map_err(|error| table_error(&self.definition, error))?;
        Ok(if batch.is_empty() { None } else { Some(batch.get(0).0.to_vec()) })
    }

    /// Asks the engine for the number of rows.
    pub async fn refresh_statistics(&self, engine: &Engine) -> Result<(), SqlError> {
        let rows = engine.estimate_range(self.layout.tree, &KeyRange::all()).await;
        let rows = rows.map_err(|error| table_error(&self.definition, error))?;
        self.rows.store(i64::try_from(rows).unwrap_or(i64::MAX), Relaxed);
        Ok(())
    }

    /// All columns of the row at `row_key`, or `None` when there is no such row.
    pub async fn read_row_at(
        &self,
        transaction: &mut Transaction,
        row_key: &[u8],
        mode: ReadMode,
    ) -> Result<Option<Vec<Value>>, SqlError> {
        let table = &self.definition;
        let record = transaction.get(self.layout.tree, row_key, mode).await;
        let Some(record) = record.map_err(|error| table_error(table, error))? else { return Ok(None) };
        let wanted: Vec<(usize, usize)> = (0..table.columns.len()).map(|column| (column, column)).collect();
        let projection = self.layout.project_rows(&wanted);
        let mut row = vec![Value::Null; table.columns.len()];
        let read = self.layout.read_row(table, &projection, row_key, &record, &mut row);
        read.map_err(|_| damaged(&table.name))?;
        Ok(Some(row))
    }

    pub fn definition(&self) -> &Arc<TableDef> {
        &self.definition
    }

    pub fn layout(&self) -> &TableLayout {
        &self.layout
    }

    pub fn auto_increment(&self) -> &AutoIncrement {
        &self.auto_increment
    }

    pub fn estimated_rows(&self) -> u64 {
        self.rows.load(Relaxed).max(0) as u64
    }

    pub(crate) fn count_rows(&self, change: i64) {
        self.rows.fetch_add(change, Relaxed);
    }

    pub(crate) fn take_row_id(&self) -> u64 {
        self.next_row_id.fetch_add(1, Relaxed)
    }
}

/// A value of an AUTO_INCREMENT column as the counter sees it; `None` below zero.
fn counted(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::UInt(number) => Some(*number),
        Value::Float(number) => Some(*number as u64),
        Value::Double(number) => Some(*number as u64),
        _ => None,
    }
}

/// The largest value of an integer type; floating types stop where they cease to count in ones.
fn maximum_of(column: &ColumnDef) -> u64 {
    let bits = match column.column_type.kind {
        TypeKind::Tiny => 8,
        TypeKind::Short => 16,
        TypeKind::Int24 => 24,
        TypeKind::Long => 32,
        TypeKind::Float { .. } => return 1 << 24,
        TypeKind::Double { .. } => return 1 << 53,
        _ => 64,
    };
    if column.column_type.unsigned { u64::MAX >> (64 - bits) } else { (1 << (bits - 1)) - 1 }
}
