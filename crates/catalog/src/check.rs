//! CHECK TABLE and CHECKSUM TABLE: the trees of a table page by page, then every row against every index; and the sum
//! over all rows.
//!
//! Rows are read in one snapshot, so sessions that change the table meanwhile do not disturb them. Reading checks each
//! page's own checksum. The session calls them under the table's shared metadata lock.
use datum::{SqlError, error_code};
use engine::{Direction, EntryBatch, KeyRange, ReadMode, TreeId};
use env::yield_now;
use table::{TableHandle, table_error};

use crate::change::SchemaChange;
use crate::rebuild::{BATCH_ROWS, TableRows};
use crate::row_image::RowImage;

/// What is wrong with a table, in the words of CHECK TABLE; nothing for a sound one.
pub async fn check_table(table: &TableHandle, change: &mut SchemaChange) -> Result<Vec<String>, SqlError> {
    let mut faults = check_trees(table, change).await?;
    if faults.is_empty() {
        match check_rows(table, change).await {
            // A long value: it lies outside of the trees.
            Err(error) if error.is(&error_code::ER_INDEX_CORRUPT) => faults.push(error.message),
            checked => faults = checked?,
        }
    }
    Ok(faults)
}

/// The structure of every tree of the table, page by page.
async fn check_trees(table: &TableHandle, change: &SchemaChange) -> Result<Vec<String>, SqlError> {
    let definition = table.definition();
    let mut trees: Vec<u64> = definition.indexes.iter().map(|index| index.tree).collect();
    if !trees.contains(&definition.tree) {
        trees.insert(0, definition.tree);
    }
    let mut faults = Vec::new();
    for tree in trees {
        let checked = change.engine().check_tree(TreeId(tree)).await;
        match checked.map_err(|error| table_error(definition, error)) {
            Err(error) if error.is(&error_code::ER_INDEX_CORRUPT) => faults.push(error.message),
            checked => checked?,
        }
    }
    Ok(faults)
}

async fn check_rows(table: &TableHandle, change: &mut SchemaChange) -> Result<Vec<String>, SqlError> {
    let definition = table.definition();
    let mut missing = vec![0u64; definition.indexes.len()];
    let mut expected = vec![0u64; definition.indexes.len()];
    let mut faults = Vec::new();
    let mut rows = TableRows::new(change, table);
    let mut batch = EntryBatch::default();
    let mut last_key: Option<Vec<u8>> = None;
    loop {
        let next = rows.next(change, &mut batch).await?;
        if next.is_empty() {
            break;
        }
        for (row_key, row) in &next {
            if last_key.as_ref().is_some_and(|last| last >= row_key) {
                faults.push("rows are out of order".to_owned());
            }
            last_key = Some(row_key.clone());
            for index in 0..expected.len() {
                let (entries, absent) = compare_entries(table, change, index, row, row_key).await?;
                expected[index] += entries;
                missing[index] += u64::from(absent > 0);
            }
        }
        // Data in memory never makes a read wait: the thread's other sessions get their turn here.
        yield_now().await;
    }
    for (index, missing) in missing.into_iter().enumerate() {
        let name = &definition.indexes[index].name;
        if table.layout().indexes[index].clustered {
            continue;
        }
        let count = entry_count(table, change, index).await?;
        let wanted = expected[index];
        if count != wanted {
            faults.push(format!("InnoDB: Index '{name}' contains {count} entries, should be {wanted}."));
        } else if missing > 0 {
            faults.push(format!("InnoDB: Index '{name}' has wrong entries for {missing} rows."));
        }
    }
    Ok(faults)
}

/// How many entries a row has to have in the index, and how many of them are not there with the right value.
async fn compare_entries(
    table: &TableHandle,
    change: &mut SchemaChange,
    index: usize,
    row: &[datum::Value],
    row_key: &[u8],
) -> Result<(u64, u64), SqlError> {
    let layout = &table.layout().indexes[index];
    if layout.clustered {
        return Ok((1, 0));
    }
    let (mut keys, mut value) = (Vec::new(), Vec::new());
    table.entry_keys(index, row, row_key, &mut keys)?;
    table.layout().write_entry_value(row_key, &mut value);
    let mut absent = 0;
    for entry in &keys {
        let found = change.transaction().get(layout.tree, &entry.key, ReadMode::Snapshot).await;
        let found = found.map_err(|error| table_error(table.definition(), error))?;
        absent += u64::from(found.is_none_or(|found| found != value));
    }
    Ok((keys.len() as u64, absent))
}

async fn entry_count(table: &TableHandle, change: &mut SchemaChange, index: usize) -> Result<u64, SqlError> {
    let tree: TreeId = table.layout().indexes[index].tree;
    let transaction = change.transaction();
    let mut cursor = transaction.scan(tree, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
    let mut batch = EntryBatch::default();
    let mut count = 0;
    loop {
        batch.clear();
        let read = cursor.next_batch(change.transaction(), BATCH_ROWS, &mut batch).await;
        let more = read.map_err(|error| table_error(table.definition(), error))?;
        count += batch.iter().count() as u64;
        if !more {
            return Ok(count);
        }
        yield_now().await;
    }
}

/// The sum of all rows' checksums, each over the row as MySQL keeps it in memory.
pub async fn checksum_table(table: &TableHandle, change: &mut SchemaChange) -> Result<u32, SqlError> {
    let image = RowImage::new(table.definition());
    let mut rows = TableRows::new(change, table);
    let mut batch = EntryBatch::default();
    let mut sum = 0u32;
    loop {
        let next = rows.next(change, &mut batch).await?;
        if next.is_empty() {
            return Ok(sum);
        }
        for (_, row) in &next {
            sum = sum.wrapping_add(image.checksum(row));
        }
        yield_now().await;
    }
}
