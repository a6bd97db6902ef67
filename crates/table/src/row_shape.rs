//! What row events say of a table, and which columns are in the images of a change.
//!
//! Invariant: columns have the places that others see: hidden ones are not there. Called by `row_events`.
use binlog::{MapColumn, RowMetadata, TableMap, WireType};
use datum::Value;
use schema::{ColumnDef, IndexKind, TableDef};

use crate::row_events::images::RowImages;

/// The columns that others see, which are those of the events.
pub fn shown(table: &TableDef) -> impl Iterator<Item = usize> + Clone {
    (0..table.columns.len()).filter(|place| !table.columns[*place].hidden)
}

/// Which columns are in the images before and after.
pub fn masks(
    images: RowImages,
    table: &TableDef,
    before: Option<&[Value]>,
    after: Option<&[Value]>,
) -> (Vec<bool>, Vec<bool>) {
    let all = || shown(table).map(|_| true).collect::<Vec<bool>>();
    let (Some(old), false) = (before, images == RowImages::Full) else {
        let image = |row: Option<&[Value]>| if row.is_some() { all() } else { Vec::new() };
        return (image(before), image(after));
    };
    // What a row is found by: its key, else everything.
    let key = table.clustering_index().filter(|index| index.kind == IndexKind::Primary || index.is_unique());
    let is_key = |place: usize| key.is_none_or(|index| index.parts.iter().any(|part| part.column == place));
    let is_small = |place: usize| !table.columns[place].is_large_object();
    let needed_before = |place: usize| match images {
        RowImages::Minimal => is_key(place),
        _ => is_key(place) || is_small(place),
    };
    let mask_before = shown(table).map(needed_before).collect();
    let Some(new) = after else { return (mask_before, Vec::new()) };
    let needed_after = |place: usize| match images {
        RowImages::Minimal => old[place] != new[place],
        _ => is_small(place) || old[place] != new[place],
    };
    debug_assert_eq!(old.len(), new.len(), "both rows are of one table");
    (mask_before, shown(table).map(needed_after).collect())
}

/// What the binary log says of a table.
pub fn table_map(table: &TableDef, metadata: RowMetadata) -> TableMap {
    let is_full = metadata == RowMetadata::Full;
    let primary = table.primary_key().filter(|_| is_full);
    let place_of = |column: usize| shown(table).take_while(|place| *place < column).count() as u64;
    let key = primary.iter().flat_map(|index| &index.parts);
    TableMap {
        table_id: table.id.0,
        flags: 1,
        database: table.database.clone(),
        table: table.name.clone(),
        columns: shown(table).map(|place| map_column(&table.columns[place], is_full)).collect(),
        primary_key: key
            .map(|part| (place_of(part.column), u64::from(part.prefix_length.unwrap_or(0))))
            .collect(),
        unknown_fields: Vec::new(),
    }
}

fn map_column(column: &ColumnDef, is_full: bool) -> MapColumn {
    use datum::TypeKind::{Enum, Set};
    let wire = WireType::of(&column.column_type);
    let members = match &column.column_type.kind {
        Enum(members) | Set(members) if is_full => Some(members.iter().map(|one| one.to_vec()).collect()),
        _ => None,
    };
    let has_collation = wire.is_character() || members.is_some();
    MapColumn {
        wire,
        nullable: column.nullable(),
        collation: has_collation.then(|| u32::from(column.column_type.collation.number())),
        name: is_full.then(|| column.name.clone()),
        members,
        visible: is_full.then_some(!column.invisible),
    }
}
