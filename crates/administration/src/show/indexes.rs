//! SHOW INDEX.
use datum::{SqlError, Value};
use parser::ast::ObjectName;
use schema::{part_column, part_expression};

use super::columns::yes_or_empty;
use crate::caller::Caller;
use session::{MadeColumn, MadeRows};

impl Caller<'_> {
    pub(super) fn show_indexes(&self, table: ObjectName<'_>) -> Result<MadeRows, SqlError> {
        let definition = self.shown_table(table)?;
        let handle = self.instance().catalog().table_by_id(definition.id);
        let ready = handle.and_then(|handle| handle.if_ready());
        let cardinality = |index: usize, position: usize| {
            ready.as_ref().map_or(Value::Null, |table| Value::UInt(table.cardinality(index, position + 1)))
        };
        let mut rows = MadeRows::new(&[
            MadeColumn::Text("Table", 64),
            MadeColumn::Flag("Non_unique"),
            MadeColumn::Text("Key_name", 64),
            MadeColumn::Code("Seq_in_index"),
            MadeColumn::NullableText("Column_name", 64),
            MadeColumn::NullableText("Collation", 1),
            MadeColumn::NullableCount("Cardinality"),
            MadeColumn::NullableCount("Sub_part"),
            MadeColumn::Nothing("Packed"),
            MadeColumn::Text("Null", 3),
            MadeColumn::Text("Index_type", 11),
            MadeColumn::Text("Comment", 8),
            MadeColumn::Text("Index_comment", 2048),
            MadeColumn::Text("Visible", 3),
            MadeColumn::ColumnText("Expression"),
        ]);
        for (number, index) in definition.indexes.iter().enumerate() {
            for (position, part) in index.parts.iter().enumerate() {
                let column = &definition.columns[part.column];
                rows.push(vec![
                    Value::bytes(&definition.name),
                    Value::UInt(u64::from(!index.is_unique())),
                    Value::bytes(&index.name),
                    Value::UInt(position as u64 + 1),
                    part_column(column),
                    Value::bytes(if part.descending { "D" } else { "A" }),
                    cardinality(number, position),
                    part.prefix_length.map_or(Value::Null, |length| Value::UInt(u64::from(length))),
                    Value::Null,
                    yes_or_empty(column.nullable()),
                    Value::bytes("BTREE"),
                    Value::bytes(""),
                    Value::bytes(&index.comment),
                    Value::bytes(if index.invisible { "NO" } else { "YES" }),
                    part_expression(column),
                ]);
            }
        }
        Ok(rows)
    }
}
