//! `STATISTICS`
use catalog::Catalog;
use datum::Value;
use table::ReadyTable;

use schema::{part_column, part_expression};

use super::tables::visible_tables;
use crate::view::{LateColumns, ViewColumn::*, ViewSource, catalog_name, yes_no};

pub(super) const VIEW: ViewSource = ViewSource {
    name: "STATISTICS",
    columns: &[
        Text("TABLE_CATALOG", 64),
        Text("TABLE_SCHEMA", 64),
        Text("TABLE_NAME", 64),
        Signed("NON_UNIQUE"),
        Text("INDEX_SCHEMA", 64),
        NullText("INDEX_NAME", 64),
        Number("SEQ_IN_INDEX"),
        NullText("COLUMN_NAME", 64),
        NullText("COLLATION", 1),
        NullNumber("CARDINALITY"),
        NullNumber("SUB_PART"),
        NullText("PACKED", 1),
        Text("NULLABLE", 3),
        Text("INDEX_TYPE", 11),
        Text("COMMENT", 8),
        Text("INDEX_COMMENT", 2048),
        Text("IS_VISIBLE", 3),
        NullLongText("EXPRESSION"),
    ],
    rows: |catalog, viewer| {
        let mut rows = Vec::new();
        for table in visible_tables(catalog, viewer) {
            let definition = table.definition();
            let ready = table.if_ready();
            for (number, index) in definition.indexes.iter().enumerate() {
                for (position, part) in index.parts.iter().enumerate() {
                    let column = &definition.columns[part.column];
                    rows.push(vec![
                        catalog_name(),
                        Value::bytes(&definition.database),
                        Value::bytes(&definition.name),
                        Value::Int(i64::from(!index.is_unique())),
                        Value::bytes(&definition.database),
                        Value::bytes(&index.name),
                        Value::UInt(position as u64 + 1),
                        part_column(column),
                        Value::bytes(if part.descending { "D" } else { "A" }),
                        ready.as_ref().map_or(Value::Null, |table| {
                            Value::UInt(table.cardinality(number, position + 1))
                        }),
                        part.prefix_length.map_or(Value::Null, |length| Value::UInt(u64::from(length))),
                        Value::Null,
                        Value::bytes(if column.nullable() { "YES" } else { "" }),
                        Value::bytes("BTREE"),
                        Value::bytes(""),
                        Value::bytes(&index.comment),
                        yes_no(!index.invisible),
                        part_expression(column),
                    ]);
                }
            }
        }
        rows
    },
    late: Some(LateColumns { columns: &[CARDINALITY], fill }),
};

const INDEX_NAME: usize = 5;
const SEQ_IN_INDEX: usize = 6;
const CARDINALITY: usize = 9;

fn fill(_: &Catalog, table: &ReadyTable, row: &mut [Value]) {
    let (Value::Bytes(name), Value::UInt(number)) = (&row[INDEX_NAME], &row[SEQ_IN_INDEX]) else { return };
    let index = table.definition().index_named(&String::from_utf8_lossy(name));
    if let Some(index) = index {
        row[CARDINALITY] = Value::UInt(table.cardinality(index, *number as usize));
    }
}
