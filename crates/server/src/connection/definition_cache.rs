//! Encoded column definitions by result shape, per worker.
//!
//! Invariant: a shape's id is never reused and its columns never change, so an entry is valid for ever. Ids count
//! up, so their low bits spread over the slots by themselves; a shape that comes later takes the slot of an
//! earlier one. Called by `reply`.

use std::cell::RefCell;
use std::rc::Rc;

use instance::{ColumnMeta, ResultShape};
use wire::{ColumnDefinition, ColumnDefinitions, ColumnFlags, ColumnType};

/// At a kilobyte or so each this is at most a few megabytes.
const SLOT_COUNT: usize = 4096;

type Slot = Option<(u64, Rc<ColumnDefinitions>)>;

thread_local! {
    static SLOTS: RefCell<Vec<Slot>> = RefCell::new(vec![None; SLOT_COUNT]);
}

pub(super) fn definitions(shape: &ResultShape) -> Rc<ColumnDefinitions> {
    SLOTS.with_borrow_mut(|slots| {
        let slot = &mut slots[shape.id as usize % SLOT_COUNT];
        if let Some((id, known)) = slot
            && *id == shape.id
        {
            return known.clone();
        }
        let built = Rc::new(build(&shape.columns));
        *slot = Some((shape.id, built.clone()));
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
