//! The operators that read one stored table.
use super::json_text::Json;
use super::operator::{Members, Operator};
use super::ways::{access_type, reads_frame};
use super::words::{column_names, lookup_text, ranges_text, shown_all, slots_read};
use crate::access::{AccessPath, IndexMerge, KeyCondition, MergeKind, RangeCondition, TableAccess};
use expression::Expr;
use schema::TableDef;

/// The access without its conditions, but for those that entries of an index tell.
pub fn table_operator(access: &TableAccess) -> Operator {
    let mut members = vec![
        ("table_name", Json::text(access.alias.as_str())),
        ("schema_name", Json::text(access.table.database.as_str())),
        ("used_columns", names_of(&access.table, access.projection.iter().map(|(column, _)| *column))),
    ];
    if let AccessPath::Merge(merge) = &access.path
        && merge.kind != MergeKind::Elements
    {
        return merge_operator(access, merge, members);
    }
    let (operation, mut own) = way(access);
    members.append(&mut own);
    if !access.entry_filter.is_empty() {
        members.push(("pushed_index_condition", Json::text(shown_all(&access.entry_filter))));
    }
    let operator = Operator::new(operation, members, Vec::new());
    Operator { slots: slots_read(&access.entry_filter), ..operator }
}

/// The words and members that tell how rows are reached.
fn way(access: &TableAccess) -> (String, Members) {
    let alias = &access.alias;
    let plain = |text: String, kind: &str| (text, vec![("access_type", Json::text(kind))]);
    match access_type(access) {
        "ALL" => return plain(format!("Table scan on {alias}"), "table"),
        "const" => return plain(format!("Constant row from {alias}"), "constant_row"),
        "NULL" => {
            let (text, mut members) = plain("Zero rows (Impossible WHERE)".to_owned(), "zero_rows");
            members.push(("zero_rows_cause", Json::text("Impossible WHERE")));
            return (text, members);
        }
        _ => {}
    }
    let covering = if access.covering { "Covering index" } else { "Index" };
    let (kind, words, bounds, mut members) = match &access.path {
        AccessPath::Point { key, .. } => {
            let values: Vec<Option<&Expr>> = key.iter().map(Some).collect();
            let (text, members) = lookup(access, &values);
            ("index_lookup", "Single-row index lookup".to_owned(), text, members)
        }
        AccessPath::Ranges { ranges, .. } if access_type(access) == "ref" => {
            let values: Vec<Option<&Expr>> = ranges[0].parts.iter().map(single_value).collect();
            let (text, members) = lookup(access, &values);
            ("index_lookup", format!("{covering} lookup"), text, members)
        }
        AccessPath::Ranges { ranges, .. } => {
            let (text, members) = over(access, ranges);
            ("index_range_scan", format!("{covering} range scan"), text, members)
        }
        AccessPath::Groups { walk, .. } => {
            let (text, members) = over(access, &walk.ranges);
            let purpose = if walk.least || walk.greatest { "grouping" } else { "deduplication" };
            ("group_index_skip_scan", format!("{covering} skip scan for {purpose}"), text, members)
        }
        AccessPath::Skip { range, .. } => {
            let (text, members) = over(access, std::slice::from_ref(range));
            ("index_skip_scan", format!("{covering} skip scan"), text, members)
        }
        AccessPath::Merge(merge) => {
            let ranges = merge.parts.first().map_or(&[][..], |part| &part.ranges);
            let (text, members) = over(access, ranges);
            ("index_range_scan", format!("{covering} range scan"), text, members)
        }
        _ => ("index_scan", format!("{covering} scan"), String::new(), Vec::new()),
    };
    let name = index_of(access).map(|index| access.table.indexes[index].name.as_str()).unwrap_or_default();
    let backward = if access.backward { " (reverse)" } else { "" };
    let condition = match access.entry_filter.is_empty() {
        true => String::new(),
        false => format!(", with index condition: {}", shown_all(&access.entry_filter)),
    };
    members.extend([
        ("access_type", Json::text("index")),
        ("index_access_type", Json::text(kind)),
        ("covering", Json::Bool(access.covering)),
        ("index_name", Json::text(name)),
    ]);
    if access.backward {
        members.push(("reverse", Json::Bool(true)));
    }
    (format!("{words} on {alias} using {name}{bounds}{backward}{condition}"), members)
}

fn index_of(access: &TableAccess) -> Option<usize> {
    match &access.path {
        AccessPath::Merge(merge) => merge.parts.first().map(|part| part.index),
        path => path.index(),
    }
}

/// The value of a part that has one; NULL has none.
fn single_value(condition: &KeyCondition) -> Option<&Expr> {
    match condition {
        KeyCondition::OneOf(values) => values.first(),
        KeyCondition::SameAs(value) => Some(value),
        _ => None,
    }
}

fn lookup(access: &TableAccess, values: &[Option<&Expr>]) -> (String, Members) {
    let Some(index) = index_of(access).map(|index| &access.table.indexes[index]) else {
        return (String::new(), Vec::new());
    };
    let text = lookup_text(&access.table, index, values);
    let reference = |value: &Option<&Expr>| match value {
        Some(value) if reads_frame(value) => column_names(std::slice::from_ref(*value)).join(","),
        _ => "const".to_owned(),
    };
    let members = vec![
        ("key_columns", key_columns(access, values.len())),
        ("lookup_condition", Json::text(text.as_str())),
        ("lookup_references", Json::texts(values.iter().map(reference))),
    ];
    (format!(" ({text})"), members)
}

fn over(access: &TableAccess, ranges: &[RangeCondition]) -> (String, Members) {
    let Some(index) = index_of(access) else { return (String::new(), Vec::new()) };
    let text = ranges_text(&access.table, &access.table.indexes[index], ranges);
    if text.is_empty() {
        return (text, Vec::new());
    }
    let parts = ranges.iter().map(|range| range.parts.len()).max().unwrap_or(0);
    let members = vec![("key_columns", key_columns(access, parts)), ("ranges", Json::texts([text.clone()]))];
    (format!(" over {text}"), members)
}

fn key_columns(access: &TableAccess, count: usize) -> Json {
    let Some(index) = index_of(access) else { return Json::List(Vec::new()) };
    let parts = access.table.indexes[index].parts.iter().take(count);
    names_of(&access.table, parts.map(|part| part.column))
}

/// Rows that several indexes give together.
fn merge_operator(access: &TableAccess, merge: &IndexMerge, mut members: Members) -> Operator {
    let (operation, kind) = match merge.kind {
        MergeKind::Union => ("Deduplicate rows sorted by row ID", "rowid_union"),
        MergeKind::SortUnion | MergeKind::Elements => ("Sort-deduplicate by row ID", "index_merge"),
        MergeKind::Intersection => ("Intersect rows sorted by row ID", "rowid_intersection"),
    };
    members.push(("access_type", Json::text(kind)));
    let part = |part: &crate::access::MergePart| {
        let path = AccessPath::Ranges { index: part.index, ranges: part.ranges.clone() };
        let access = TableAccess { path, entry_filter: Vec::new(), backward: false, ..access.clone() };
        let index = &access.table.indexes[part.index];
        let ranges = ranges_text(&access.table, index, &part.ranges);
        let text = format!("Index range scan on {} using {} over {ranges}", access.alias, index.name);
        let (_, members) = way(&access);
        Operator::new(text, members, Vec::new())
    };
    Operator::new(operation, members, merge.parts.iter().map(part).collect())
}

pub fn names_of(table: &TableDef, columns: impl Iterator<Item = usize>) -> Json {
    let shown = columns.map(|column| &table.columns[column]).filter(|column| !column.hidden);
    Json::texts(shown.map(|column| column.name.clone()))
}
