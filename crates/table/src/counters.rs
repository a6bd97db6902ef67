//! What changes while a table is used: its counters and the estimate of its rows.
//!
//! Invariant: a number is taken from here only through a `ReadyTable`, hence after `Counters::read` has found out what
//! the rows and their earlier lives have used. Raising a counter, and counting rows, needs no less.
use crate::auto_increment::AutoIncrement;
use crate::error::{damaged, table_error};
use crate::layout::{ROW_ID_WIDTH, TableLayout};
use crate::once::Once;
use datum::{SqlError, TypeKind, Value, error_code};
use engine::{Direction, EntryBatch, KeyRange, ReadMode, Transaction, TreeId};
use schema::{ColumnDef, TableDef};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Leaves that are read to judge how many rows a table has of which no statistics are stored.
const LEAVES_JUDGED: u64 = 8;

#[derive(Debug)]
pub(crate) struct Counters {
    pub auto_increment: AutoIncrement,
    /// The AUTO_INCREMENT column.
    column: Option<usize>,
    /// The next hidden row id of a table without a clustering index. Only uniqueness counts, so `Relaxed` is enough.
    next_row_id: AtomicU64,
    /// Why the counters could not be read: rows that need one are refused, lest a number be given twice.
    unknown: OnceLock<SqlError>,
    /// Estimated rows; changed by inserts and deletes of transactions that may yet roll back, so never exact.
    rows: AtomicI64,
    /// Whether all of them have been read.
    pub read: Once,
}

impl Counters {
    pub fn new(definition: &TableDef) -> Counters {
        let column = definition.auto_increment_column();
        let maximum = column.map(|column| maximum_of(&definition.columns[column]));
        Counters {
            auto_increment: AutoIncrement::new(definition.auto_increment_start, maximum.unwrap_or(u64::MAX)),
            column,
            next_row_id: AtomicU64::new(1),
            unknown: OnceLock::new(),
            rows: AtomicI64::new(0),
            read: Once::default(),
        }
    }

    /// Sets the counters from the largest values in the table and what is known of earlier ones, and the row estimate.
    /// `transaction` must be a new one that sees everything committed; nothing may be inserted by others meanwhile. A
    /// damaged index is no error here: the table can be opened, read where it is sound, and dropped.
    pub async fn read_from(
        &self,
        definition: &TableDef,
        layout: &TableLayout,
        transaction: &mut Transaction,
        known_rows: Option<u64>,
    ) -> Result<(), SqlError> {
        match self.read_numbers(definition, layout, transaction).await {
            Err(error) if error.is(&error_code::ER_INDEX_CORRUPT) => {
                self.unknown.get_or_init(|| error);
            }
            read => read?,
        }
        if let Some(rows) = known_rows {
            self.set_rows(rows);
            return Ok(());
        }
        match judged_rows(definition, layout, transaction).await {
            Ok(rows) => self.set_rows(rows),
            Err(error) if error.is(&error_code::ER_INDEX_CORRUPT) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn read_numbers(
        &self,
        definition: &TableDef,
        layout: &TableLayout,
        transaction: &mut Transaction,
    ) -> Result<(), SqlError> {
        if layout.clustered.is_empty() {
            // Whoever wrote it: rows of a prepared transaction, or of one that a crash has ended and that is still
            // being undone, have their ids although no snapshot shows them.
            let last = transaction.engine().last_key(layout.tree).await;
            let last = match last.map_err(|error| table_error(definition, error))?.as_deref() {
                None => 0,
                Some(key) => u64::from_be_bytes(
                    <[u8; ROW_ID_WIDTH]>::try_from(key).map_err(|_| damaged(&definition.name))?,
                ),
            };
            self.next_row_id.store(last + 1, Relaxed);
        }
        self.auto_increment.set(definition.auto_increment_start);
        if self.column.is_none() {
            return Ok(());
        }
        // Rows that nobody may see yet have raised the mark.
        if let Some(largest) = self.largest_number(definition, layout, transaction).await? {
            self.auto_increment.observe(largest);
        }
        let mark = transaction.engine().mark(layout.tree);
        if (mark >> 64) as u64 == definition.auto_increment_resets {
            self.auto_increment.observe(mark as u64);
        }
        Ok(())
    }

    async fn largest_number(
        &self,
        definition: &TableDef,
        layout: &TableLayout,
        transaction: &mut Transaction,
    ) -> Result<Option<u64>, SqlError> {
        let Some(column) = self.column else { return Ok(None) };
        let index = layout.indexes.iter().find(|index| index.parts[0].column == column);
        let Some(index) = index else { return Ok(None) };
        let part = index.parts[0];
        let direction = if part.descending { Direction::Forward } else { Direction::Backward };
        let key = last_key(definition, transaction, index.tree, direction).await?;
        let Some(key) = key else { return Ok(None) };
        let (value, _) = part.read(&key).map_err(|_| damaged(&definition.name))?;
        Ok(counted(&value))
    }

    /// What the row has in the AUTO_INCREMENT column, if it is a value that the counter could give.
    pub fn number_in(&self, row: &[Value]) -> Option<u64> {
        let number = counted(&row[self.column?])?;
        (1..=self.auto_increment.maximum()).contains(&number).then_some(number)
    }

    /// Refuses new rows while the counters are unknown.
    pub fn check(&self) -> Result<(), SqlError> {
        self.unknown.get().cloned().map_or(Ok(()), Err)
    }

    pub fn take_row_id(&self) -> u64 {
        self.next_row_id.fetch_add(1, Relaxed)
    }

    pub fn estimated_rows(&self) -> u64 {
        self.rows.load(Relaxed).max(0) as u64
    }

    pub fn set_rows(&self, rows: u64) {
        self.rows.store(i64::try_from(rows).unwrap_or(i64::MAX), Relaxed);
    }

    pub fn count_rows(&self, change: i64) {
        self.rows.fetch_add(change, Relaxed);
    }
}

/// The rows by what some leaves hold.
async fn judged_rows(
    definition: &TableDef,
    layout: &TableLayout,
    transaction: &Transaction,
) -> Result<u64, SqlError> {
    let mut sum = 0.0;
    for number in 0..LEAVES_JUDGED {
        let sample = transaction.engine().sample_leaf(layout.tree, number).await;
        let sample = sample.map_err(|error| table_error(definition, error))?;
        if sample.leaves == 1.0 {
            return Ok(sample.keys.len() as u64);
        }
        sum += sample.leaves * sample.keys.len() as f64;
    }
    Ok((sum / LEAVES_JUDGED as f64) as u64)
}

async fn last_key(
    definition: &TableDef,
    transaction: &mut Transaction,
    tree: TreeId,
    direction: Direction,
) -> Result<Option<Vec<u8>>, SqlError> {
    let mut cursor = transaction.scan(tree, KeyRange::all(), direction, ReadMode::Snapshot);
    let mut batch = EntryBatch::default();
    let read = cursor.next_batch(transaction, 1, &mut batch).await;
    read.map_err(|error| table_error(definition, error))?;
    Ok(if batch.is_empty() { None } else { Some(batch.get(0).0.to_vec()) })
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
