//! Conditions that an index entry tells alone: they are tested before the row behind it is read (index condition
//! pushdown). Called by `access` for what it has chosen.
use binder::block::{Block, Position};
use binder::hints::IndexHints;
use binder::walk::{any, is_volatile, positions};
use expression::Expr;
use plan::TableAccess;
use schema::{IndexDef, TableDef};

/// The columns that can be read back from an entry of the index.
pub fn columns_of_entry(table: &TableDef, index: &IndexDef) -> Vec<usize> {
    let decodable = |part: &schema::IndexPart| {
        part.prefix_length.is_none() && table.columns[part.column].is_decodable_from_key()
    };
    // Behind a part that cannot be read back the others cannot be found either.
    let readable = |index: &IndexDef| -> Vec<usize> {
        index.parts.iter().take_while(|part| decodable(part)).map(|part| part.column).collect()
    };
    let mut columns = readable(index);
    if let Some(clustering) = table.clustering_index() {
        columns.extend(readable(clustering));
    }
    columns
}

/// Moves conditions from the filter to the entry filter.
pub fn push_down(block: &Block, source: usize, hints: &IndexHints, access: &mut TableAccess) {
    let Some(position) = access.path.index() else { return };
    let index = &access.table.indexes[position];
    let is_clustering = access.table.clustered_by == Some(index.id);
    if is_clustering || access.covering || hints.no_condition.contains(&position) {
        return;
    }
    let available = columns_of_entry(&access.table, index);
    let is_told = |condition: &Expr| is_told(block, source, &available, condition);
    let (told, rest) = std::mem::take(&mut access.filter).into_iter().partition(is_told);
    access.filter = rest;
    access.entry_filter = told;
    let mut read = Vec::new();
    access.entry_filter.iter().for_each(|condition| positions(condition, &mut read));
    let is_read = |(_, position): &(usize, usize)| read.contains(position);
    access.entry_columns = access.projection.iter().copied().filter(is_read).collect();
}

/// The share of an index's entries that pass what they tell of the conditions for which `counts` is true.
pub fn share_told(
    block: &Block,
    source: usize,
    index: &IndexDef,
    table: &TableDef,
    counts: impl Fn(usize) -> bool,
    conditions: &[Expr],
) -> f64 {
    let available = columns_of_entry(table, index);
    let told = conditions
        .iter()
        .enumerate()
        .filter(|(number, condition)| counts(*number) && is_told(block, source, &available, condition));
    told.map(|(_, condition)| crate::paths::selectivity::of(block, condition)).product()
}

fn is_told(block: &Block, source: usize, available: &[usize], condition: &Expr) -> bool {
    let mut read = Vec::new();
    positions(condition, &mut read);
    let is_known = |position: &usize| match block.frame[*position] {
        Position::Column { source: of, column } => of != source || available.contains(&column),
        Position::RowKey { .. } | Position::Subquery | Position::OnSubquery { .. } | Position::Computed => {
            false
        }
    };
    read.iter().all(is_known) && !any(condition, &is_volatile)
}
