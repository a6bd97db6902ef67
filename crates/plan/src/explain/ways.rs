//! What EXPLAIN has for the way to a table's rows: its type, its keys, how much of them is used and what it is compared with.
//!
//! Callers: the rows of traditional EXPLAIN, and the tables of its JSON.
use super::words::column_names;
use crate::access::{AccessPath, IndexMerge, MergeKind, MergePart, RangeCondition, TableAccess, key_length};
use expression::{Expr, ExprKind, positions_read};

/// MySQL's word for the way in.
pub fn access_type(access: &TableAccess) -> &'static str {
    match &access.path {
        AccessPath::FullScan => "ALL",
        AccessPath::IndexScan { .. } => "index",
        AccessPath::Point { key, .. } if key.iter().any(reads_columns) => "eq_ref",
        AccessPath::Point { .. } => "const",
        AccessPath::Ranges { ranges, .. } => {
            let single = ranges.len() == 1 && ranges[0].parts.iter().all(is_single_value);
            if single { "ref" } else { "range" }
        }
        AccessPath::Groups { .. } | AccessPath::Skip { .. } | AccessPath::Keys { .. } => "range",
        AccessPath::Merge(merge) if merge.kind == MergeKind::Elements => "range",
        AccessPath::Merge(_) => "index_merge",
        AccessPath::Nothing => "NULL",
    }
}

fn is_single_value(condition: &crate::KeyCondition) -> bool {
    match condition {
        crate::KeyCondition::OneOf(values) => values.len() == 1,
        crate::KeyCondition::SameAs(_) | crate::KeyCondition::IsNull => true,
        crate::KeyCondition::Between(_)
        | crate::KeyCondition::NoneOf(_)
        | crate::KeyCondition::Like { .. } => false,
    }
}

pub fn reads_frame(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Column(_))
        || matches!(&expr.kind, ExprKind::Cast(inner) if reads_frame(inner))
}

/// Whether the value is computed of another table's columns.
fn reads_columns(expr: &Expr) -> bool {
    let mut positions = Vec::new();
    positions_read(expr, &mut positions);
    !positions.is_empty()
}

pub fn key_text(access: &TableAccess) -> Option<String> {
    let name = |index: usize| access.table.indexes[index].name.as_str();
    match &access.path {
        AccessPath::Merge(merge) => Some(merged_names(access, merge)),
        path => path.index().map(|index| name(index).to_owned()),
    }
}

fn merged_names(access: &TableAccess, merge: &IndexMerge) -> String {
    let names = merge.parts.iter().map(|part| access.table.indexes[part.index].name.as_str());
    names.collect::<Vec<_>>().join(",")
}

/// `Using union(a,b)` and its kin.
pub fn merge_text(access: &TableAccess, merge: &IndexMerge) -> String {
    let word = match merge.kind {
        MergeKind::Union => "union",
        MergeKind::SortUnion | MergeKind::Elements => "sort_union",
        MergeKind::Intersection => "intersect",
    };
    format!("{word}({})", merged_names(access, merge))
}

pub fn key_length_text(access: &TableAccess) -> String {
    let widest = |ranges: &[RangeCondition]| ranges.iter().map(|range| range.parts.len()).max();
    if let AccessPath::Merge(merge) = &access.path {
        let length = |part: &MergePart| length_of(access, part.index, widest(&part.ranges).unwrap_or(0));
        return merge.parts.iter().map(length).collect::<Vec<_>>().join(",");
    }
    let Some(index) = access.path.index() else { return String::new() };
    let parts = access.table.indexes[index].parts.len();
    let used = match &access.path {
        AccessPath::Point { key, .. } => key.len(),
        AccessPath::Ranges { ranges, .. } => widest(ranges).unwrap_or(parts),
        AccessPath::Groups { walk, .. } => walk.parts,
        AccessPath::Skip { skipped, range, .. } => skipped + range.parts.len(),
        _ => parts,
    };
    length_of(access, index, used)
}

/// The bytes of an index's first parts.
fn length_of(access: &TableAccess, index: usize, used: usize) -> String {
    let parts = access.table.indexes[index].parts.iter().take(used);
    let length: u32 =
        parts.map(|part| key_length(access.table.columns[part.column].key_type(), part.prefix_length)).sum();
    length.to_string()
}

/// What the key is compared with: another table's column, `func` for what is computed of some, or `const`.
pub fn reference_text(access: &TableAccess) -> Option<String> {
    let word = |expr: &Expr| {
        let names = column_names(std::slice::from_ref(expr));
        match names.as_slice() {
            [] if !reads_columns(expr) => "const".to_owned(),
            [name] if reads_frame(expr) => name.clone(),
            _ => "func".to_owned(),
        }
    };
    let words: Vec<String> = match &access.path {
        AccessPath::Point { key, .. } => key.iter().map(word).collect(),
        AccessPath::Ranges { ranges, .. } if access_type(access) == "ref" => ranges[0]
            .parts
            .iter()
            .map(|part| match part {
                crate::KeyCondition::OneOf(values) => word(&values[0]),
                crate::KeyCondition::SameAs(value) => word(value),
                _ => "const".to_owned(),
            })
            .collect(),
        _ => return None,
    };
    Some(words.join(","))
}
