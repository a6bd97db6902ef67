//! Encoded column definitions by result shape, per worker.
//!
//! Invariant: a shape's id is never reused and its columns never change, so an entry is valid for ever; the
//! cache is bounded and starts anew when full. Called by `reply`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use session::{ColumnMeta, ResultShape};
use wire::{ColumnDefinition, ColumnDefinitions, ColumnFlags, ColumnType};

/// At a kilobyte or so each this is a few megabytes.
const ENTRY_COUNT_MAX: usize = 4096;

thread_local! {
    static CACHE: RefCell<HashMap<u64, Rc<ColumnDefinitions>>> = RefCell::new(HashMap::new());
}

pub(super) fn definitions(shape: &ResultShape) -> Rc<ColumnDefinitions> {
    CACHE.with_borrow_mut(|cache| {
        if let Some(known) = cache.get(&shape.id) {
            return known.clone();
        }
        if cache.len() >= ENTRY_COUNT_MAX {
            cache.clear();
        }
        let built = Rc::new(build(&shape.columns));
        cache.insert(shape.id, built.clone());
        built
    })
}

pub(super) fn build(columns: &[ColumnMeta]) -> ColumnDefinitions {
    ColumnDefinitions::build(columns.iter().map(definition))
}

pub(super) fn definition(column: &ColumnMeta) -> ColumnDefinition<'_> {
    ColumnDefinition {
        schema: column.schema.as_bytes(),
        table: column.table.as_bytes(),
        original_table: column.org_table.as_bytes(),
        name: column.name.as_bytes(),
        original_name: column.org_name.as_bytes(),
        collation: column.collation_id,
        length: column.length,
        // A code that the protocol does not have would confuse every client; text can carry anything.
        column_type: ColumnType::from_code(column.column_type.0).unwrap_or(ColumnType::VarString),
        flags: ColumnFlags(column.flags),
        decimals: column.decimals,
    }
}
