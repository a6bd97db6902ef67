//! `mysql.innodb_table_stats` and `mysql.innodb_index_stats`: what the planner is told of the tables.
use std::sync::Arc;

use crate::view::ViewColumn::{self, DateTime, NullNumber, Number, Text};
use catalog::{Catalog, Viewer};
use datum::Value;
use instance::Instance;
use schema::{IndexDef, TableDef};
use table::{IndexStatistics, Statistics};

pub(crate) const TABLE_COLUMNS: &[ViewColumn] = &[
    Text("database_name", 64),
    Text("table_name", 199),
    DateTime("last_update"),
    Number("n_rows"),
    Number("clustered_index_size"),
    Number("sum_of_other_index_sizes"),
];
pub(crate) const INDEX_COLUMNS: &[ViewColumn] = &[
    Text("database_name", 64),
    Text("table_name", 199),
    Text("index_name", 64),
    DateTime("last_update"),
    Text("stat_name", 64),
    Number("stat_value"),
    NullNumber("sample_size"),
    Text("stat_description", 1024),
];

pub(crate) fn tables(instance: &Instance, viewer: &Viewer) -> Vec<Vec<Value>> {
    let row = |(table, statistics): (Arc<TableDef>, Arc<Statistics>)| {
        let size = |tree: u64| statistics.index(tree).map_or(0, IndexStatistics::pages);
        let others = table.indexes.iter().filter(|index| index.tree != table.tree);
        vec![
            Value::bytes(&table.database),
            Value::bytes(&table.name),
            made_at(&statistics, viewer),
            Value::UInt(statistics.rows),
            Value::UInt(size(table.tree)),
            Value::UInt(others.map(|index| size(index.tree)).sum()),
        ]
    };
    all(instance.catalog()).into_iter().map(row).collect()
}

pub(crate) fn indexes(instance: &Instance, viewer: &Viewer) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (table, statistics) in all(instance.catalog()) {
        let mut indexes: Vec<&IndexDef> = table.indexes.iter().collect();
        indexes.sort_by(|left, right| left.name.cmp(&right.name));
        for index in indexes {
            let Some(known) = statistics.index(index.tree) else { continue };
            let mut add = |name: &str, value: u64, sampled: Option<u64>, description: &str| {
                rows.push(vec![
                    Value::bytes(&table.database),
                    Value::bytes(&table.name),
                    Value::bytes(&index.name),
                    made_at(&statistics, viewer),
                    Value::bytes(name),
                    Value::UInt(value),
                    sampled.map_or(Value::Null, Value::UInt),
                    Value::bytes(description),
                ]);
            };
            let columns = columns_of(&table, index);
            for (number, _) in columns.iter().enumerate() {
                let value = known.distinct.get(number).copied().unwrap_or(statistics.rows);
                let name = format!("n_diff_pfx{:02}", number + 1);
                add(&name, value, Some(known.sampled), &columns[..=number].join(","));
            }
            add("n_leaf_pages", known.leaves, None, "Number of leaf pages in the index");
            add("size", known.pages(), None, "Number of pages in the index");
        }
    }
    rows
}

/// The index's own columns and, behind those of one that is not unique, the primary key's.
fn columns_of<'t>(table: &'t TableDef, index: &'t IndexDef) -> Vec<&'t str> {
    let suffix = table.clustering_index().filter(|_| !index.is_unique());
    let suffix = suffix.into_iter().flat_map(|clustering| &clustering.parts);
    let mut columns: Vec<usize> = Vec::new();
    for part in index.parts.iter().chain(suffix) {
        if !columns.contains(&part.column) {
            columns.push(part.column);
        }
    }
    columns.into_iter().map(|column| table.columns[column].name.as_str()).collect()
}

fn made_at(statistics: &Statistics, viewer: &Viewer) -> Value {
    let seconds = statistics.made_at - statistics.made_at.rem_euclid(1_000_000);
    Value::DateTime(viewer.time_zone.to_local(seconds).unwrap_or(datum::DateTime::ZERO))
}

/// The stored tables that have statistics, in the order of their names.
fn all(catalog: &Catalog) -> Vec<(Arc<TableDef>, Arc<Statistics>)> {
    let databases = catalog.databases();
    let tables = databases.iter().flat_map(|database| catalog.tables(&database.name));
    tables.filter_map(|table| Some((table.definition().clone(), table.statistics().present()?))).collect()
}
