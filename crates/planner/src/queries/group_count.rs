//! How many groups GROUP BY makes, by what indexes tell of the columns. Called by `select_grouped`.
use crate::queries::dependence::Equalities;
use binder::block::{Block, Position, SourceKind};
use expression::Expr;

/// Where nothing is known: rows for each group.
const ROWS_PER_GROUP: f64 = 10.0;

/// The groups of so many rows. Of columns that no index tells about the usual guess is made, so that they may add groups to
/// those that are known.
pub fn group_count(block: &Block, groups: &[Expr], equalities: &Equalities, rows: f64) -> f64 {
    // What follows from constants and from other groups makes no more of them.
    let mut deciding: Vec<Expr> = Vec::new();
    for group in groups {
        let follows = |position: usize| equalities.determined(block, &deciding)[position];
        if !group.as_column().is_some_and(follows) {
            deciding.push(group.clone());
        }
    }
    if deciding.is_empty() {
        return 1.0;
    }
    let mut known = 1.0;
    let mut unknown = deciding.iter().any(|group| place_of(block, group).is_none());
    for source in 0..block.sources.len() {
        let columns: Vec<usize> = deciding
            .iter()
            .filter_map(|group| place_of(block, group))
            .filter_map(|(of, column)| (of == source).then_some(column))
            .collect();
        let (values, left) = different_values(block, source, columns);
        known *= values;
        unknown |= left;
    }
    // So many of the different values come up among the rows by chance.
    let met = known * (1.0 - (-rows / known).exp());
    let guessed = if unknown { rows / ROWS_PER_GROUP } else { 0.0 };
    met.max(guessed).clamp(1.0, rows.max(1.0))
}

/// The source and column of a group that is a plain column.
fn place_of(block: &Block, group: &Expr) -> Option<(usize, usize)> {
    match *block.frame.get(group.as_column()?)? {
        Position::Column { source, column } => Some((source, column)),
        _ => None,
    }
}

/// How many different values these columns of a table have together, and whether some are left that nothing is known about.
fn different_values(block: &Block, source: usize, mut columns: Vec<usize>) -> (f64, bool) {
    let mut values = 1.0;
    let SourceKind::Stored { table, statistics, .. } = &block.sources[source].kind else {
        return (values, !columns.is_empty());
    };
    while !columns.is_empty() {
        // The index whose first parts are the most of the columns.
        let told = table.indexes.iter().zip(&statistics.indexes).filter_map(|(index, known)| {
            let is_told =
                |part: &&schema::IndexPart| part.prefix_length.is_none() && columns.contains(&part.column);
            let parts = index.parts.iter().take_while(is_told).count();
            Some((parts, *known.distinct_prefixes.get(parts.checked_sub(1)?)?, index))
        });
        let Some((parts, count, index)) = told.max_by_key(|(parts, ..)| *parts) else {
            return (values, true);
        };
        values *= count.max(1) as f64;
        if index.is_unique() && parts == index.parts.len() {
            // The other columns follow from a key.
            return (values, false);
        }
        columns.retain(|column| !index.parts[..parts].iter().any(|part| part.column == *column));
    }
    (values, false)
}
