//! Finds the row that an image before says: by the primary or a unique key, by another index, else among all rows.
//!
//! Invariant: the row is locked when it is answered; rows that were only looked at are not kept locked.
use datum::{SqlError, TypeKind, Value};
use engine::{Direction, EntryBatch, KeyRange, LockMode, ReadMode, Transaction, TreeId, WaitPolicy};
use schema::{IndexDef, TableDef};
use table::{ReadyTable, damaged, table_error};

/// A row with its key.
pub type Found = (Vec<u8>, Vec<Value>);

/// Rows read in one step.
const STEP_ROWS: usize = 64;

fn has_all(index: &IndexDef, image: &[Option<Value>], takes_null: bool) -> bool {
    index.parts.iter().all(|part| {
        part.prefix_length.is_none()
            && image[part.column].as_ref().is_some_and(|value| takes_null || !value.is_null())
    })
}

fn is_same(table: &TableDef, row: &[Value], image: &[Option<Value>]) -> bool {
    let trimmed = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    image.iter().enumerate().all(|(place, wanted)| match (wanted, &row[place]) {
        (None, _) => true,
        (Some(Value::Bytes(wanted)), Value::Bytes(present))
            if table.columns[place].column_type.kind == TypeKind::Char =>
        {
            wanted[..trimmed(wanted)] == present[..trimmed(present)]
        }
        (Some(wanted), present) => wanted == present,
    })
}

/// The clustered key of an image that has all of it.
pub fn row_key(table: &ReadyTable, image: &[Option<Value>]) -> Result<Option<Vec<u8>>, SqlError> {
    let clustered = table.definition().clustering_index().filter(|index| has_all(index, image, false));
    if clustered.is_none() {
        return Ok(None);
    }
    let mut key = Vec::with_capacity(32);
    for part in &table.layout().clustered {
        part.write(image[part.column].as_ref().unwrap_or(&Value::Null), &mut key)?;
    }
    Ok(Some(key))
}

/// The unique indexes of which an image has all, without NULL.
pub fn unique_indexes(table: &ReadyTable, image: &[Option<Value>]) -> impl Iterator<Item = usize> {
    let indexes = table.definition().indexes.iter().enumerate();
    let has = indexes.filter(|(_, index)| index.is_unique() && has_all(index, image, false));
    has.map(|(place, _)| place)
}

/// What the keys of an index begin with that have the image's values.
pub fn index_key(table: &ReadyTable, index: usize, image: &[Option<Value>]) -> Result<Vec<u8>, SqlError> {
    let layout = &table.layout().indexes[index];
    let values: Vec<&Value> =
        layout.parts.iter().map(|part| image[part.column].as_ref().unwrap_or(&Value::Null)).collect();
    layout.prefix(&values)
}

/// The row of the image.
pub async fn find_row(
    table: &ReadyTable,
    transaction: &mut Transaction,
    image: &[Option<Value>],
    wait: WaitPolicy,
) -> Result<Option<Found>, SqlError> {
    let (definition, layout) = (table.definition(), table.layout());
    let mode = ReadMode::Locking(LockMode::Exclusive, wait);
    if let Some(key) = row_key(table, image)? {
        let row = table.read_row_at(transaction, &key, mode).await?;
        return Ok(row.map(|row| (key, row)));
    }
    let unique = unique_indexes(table, image).next();
    let any = || definition.indexes.iter().position(|index| has_all(index, image, true));
    match unique.or_else(any) {
        Some(index) => find_by_index(table, transaction, index, image, mode).await,
        None => find_in(table, transaction, (layout.tree, KeyRange::all()), None, image, mode).await,
    }
}

async fn find_by_index(
    table: &ReadyTable,
    transaction: &mut Transaction,
    index: usize,
    image: &[Option<Value>],
    mode: ReadMode,
) -> Result<Option<Found>, SqlError> {
    let range = KeyRange::prefix(&index_key(table, index, image)?);
    let tree = table.layout().indexes[index].tree;
    find_in(table, transaction, (tree, range), Some(index), image, mode).await
}

/// The first row of a range of the table's own tree, or of an index, that is as the image says.
async fn find_in(
    table: &ReadyTable,
    transaction: &mut Transaction,
    (tree, range): (TreeId, KeyRange),
    index: Option<usize>,
    image: &[Option<Value>],
    mode: ReadMode,
) -> Result<Option<Found>, SqlError> {
    let definition = table.definition();
    let failed = |error| table_error(definition, error);
    let mut cursor = transaction.scan(tree, range, Direction::Forward, mode);
    cursor.leave_gaps_open();
    let mut batch = EntryBatch::default();
    loop {
        batch.clear();
        let mark = transaction.lock_mark();
        let more = cursor.next_batch(transaction, STEP_ROWS, &mut batch).await.map_err(failed)?;
        let mut found = None;
        for (key, value) in batch.iter() {
            let row_key = match index {
                Some(_) => {
                    let start =
                        table.layout().suffix_start(key, value).map_err(|_| damaged(&definition.name))?;
                    &key[start..]
                }
                None => key,
            };
            if found.is_none()
                && let Some(row) = table.read_row_at(transaction, row_key, mode).await?
                && is_same(definition, &row, image)
            {
                found = Some((row_key.to_vec(), row));
                continue;
            }
            transaction.unlock_unmatched(tree, key, mark);
            if index.is_some() {
                transaction.unlock_unmatched(table.layout().tree, row_key, mark);
            }
        }
        if found.is_some() || !more {
            return Ok(found);
        }
    }
}
