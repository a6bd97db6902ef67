//! The text of SHOW CREATE TABLE, character for character as MySQL 8 and later print it.
use crate::check::CheckDef;
use crate::column::{ColumnDef, ColumnDefault};
use crate::identifier::{quote_identifier, quote_text};
use crate::index::{IndexDef, IndexKind};
use crate::table::TableDef;
use crate::type_text::type_text;
use collation::{Charset, CollationId};
use datum::TypeKind;
use std::fmt::Write;

/// The statement; `next_auto_increment` is the live counter, printed when it is above 1.
pub fn create_table_text(table: &TableDef, next_auto_increment: Option<u64>) -> String {
    let columns = table.columns.iter().filter(|column| !column.hidden);
    let mut lines: Vec<String> = columns.map(|column| column_text(column, table)).collect();
    lines.extend(table.indexes.iter().map(|index| index_text(index, table)));
    lines.extend(table.foreign_keys.iter().map(|key| key.clause(table)));
    let mut checks: Vec<&CheckDef> = table.checks.iter().collect();
    checks.sort_by_key(|check| check.name.to_lowercase());
    lines.extend(checks.into_iter().map(CheckDef::clause));
    let word = if table.temporary { "TEMPORARY TABLE" } else { "TABLE" };
    let name = quote_identifier(&table.name);
    let mut text = format!("CREATE {word} {name} (\n  {}\n)", lines.join(",\n  "));
    text.push_str(" ENGINE=");
    text.push_str(&table.engine);
    if let Some(next) = next_auto_increment
        && next > 1
        && table.auto_increment_column().is_some()
    {
        push(&mut text, format_args!(" AUTO_INCREMENT={next}"));
    }
    push(&mut text, format_args!(" DEFAULT CHARSET={}", table.collation.charset().name()));
    if !table.collation.collation().is_default || table.collation == CollationId::UTF8MB4_0900_AI_CI {
        push(&mut text, format_args!(" COLLATE={}", table.collation.name()));
    }
    for (name, value) in &table.create_options {
        push(&mut text, format_args!(" {name}={value}"));
    }
    if !table.comment.is_empty() {
        push(&mut text, format_args!(" COMMENT={}", quote_text(&table.comment)));
    }
    text
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a String cannot fail");
}

fn column_text(column: &ColumnDef, table: &TableDef) -> String {
    let mut text = format!("{} {}", quote_identifier(&column.name), type_text(&column.column_type));
    push_collation(&mut text, column, table.collation);
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        push(&mut text, format_args!(" GENERATED ALWAYS AS ({}) {kind}", generated.expression));
    }
    if !column.nullable() {
        text.push_str(" NOT NULL");
    } else if matches!(column.column_type.kind, TypeKind::Timestamp { .. }) {
        text.push_str(" NULL");
    }
    push_default(&mut text, column);
    if column.auto_increment {
        text.push_str(" AUTO_INCREMENT");
    }
    if column.invisible {
        text.push_str(" /*!80023 INVISIBLE */");
    }
    if !column.comment.is_empty() {
        push(&mut text, format_args!(" COMMENT {}", quote_text(&column.comment)));
    }
    text
}

/// MySQL names the character set where the definition does or it differs from the table's, and the collation also where
/// it is not the character set's default.
fn push_collation(text: &mut String, column: &ColumnDef, table_collation: CollationId) {
    let collation = column.column_type.collation;
    if collation == CollationId::BINARY {
        return;
    }
    let names_charset = column.explicit_collation || collation != table_collation;
    if names_charset {
        push(text, format_args!(" CHARACTER SET {}", collation.charset().name()));
    }
    // The default of utf8mb4 is a setting, so it is said wherever the character set is.
    let is_open = names_charset && collation.charset() == Charset::Utf8mb4;
    if column.explicit_collation || is_open || !collation.collation().is_default {
        push(text, format_args!(" COLLATE {}", collation.name()));
    }
}

/// TEXT and BLOB columns, which once had no default at all, print none that is NULL; JSON columns do.
fn prints_no_null(column: &ColumnDef) -> bool {
    let is_json = column.column_type.kind == TypeKind::Json;
    column.auto_increment || (column.is_large_object() && !is_json)
}

fn push_default(text: &mut String, column: &ColumnDef) {
    match &column.default {
        _ if column.generated.is_some() => {}
        ColumnDefault::None => {}
        ColumnDefault::Null if prints_no_null(column) => {}
        ColumnDefault::Null => text.push_str(" DEFAULT NULL"),
        ColumnDefault::Value { text: literal, .. } => match column.column_type.kind {
            TypeKind::Bit(_) => push(text, format_args!(" DEFAULT {literal}")),
            _ => push(text, format_args!(" DEFAULT {}", quote_text(literal))),
        },
        ColumnDefault::CurrentTimestamp { fsp } => {
            text.push_str(" DEFAULT ");
            push_current_timestamp(text, *fsp);
        }
        ColumnDefault::Expression { text: expression } => push(text, format_args!(" DEFAULT ({expression})")),
    }
    if column.on_update_current_timestamp {
        text.push_str(" ON UPDATE ");
        let fsp = match column.column_type.kind {
            TypeKind::Timestamp { fsp } | TypeKind::DateTime { fsp } => fsp,
            _ => 0,
        };
        push_current_timestamp(text, fsp);
    }
}

fn push_current_timestamp(text: &mut String, fsp: u8) {
    text.push_str("CURRENT_TIMESTAMP");
    if fsp > 0 {
        push(text, format_args!("({fsp})"));
    }
}

fn index_text(index: &IndexDef, table: &TableDef) -> String {
    let mut text = match index.kind {
        IndexKind::Primary => "PRIMARY KEY".to_owned(),
        IndexKind::Unique => format!("UNIQUE KEY {}", quote_identifier(&index.name)),
        IndexKind::Plain => format!("KEY {}", quote_identifier(&index.name)),
    };
    text.push_str(" (");
    for (position, part) in index.parts.iter().enumerate() {
        if position > 0 {
            text.push(',');
        }
        match &table.columns[part.column] {
            ColumnDef { hidden: true, generated: Some(generated), .. } => {
                push(&mut text, format_args!("({})", generated.expression));
            }
            column => text.push_str(&quote_identifier(&column.name)),
        }
        if let Some(length) = part.prefix_length {
            push(&mut text, format_args!("({length})"));
        }
        if part.descending {
            text.push_str(" DESC");
        }
    }
    text.push(')');
    if !index.comment.is_empty() {
        push(&mut text, format_args!(" COMMENT {}", quote_text(&index.comment)));
    }
    if index.invisible {
        text.push_str(" /*!80000 INVISIBLE */");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IndexId, IndexPart, TableId};
    use datum::{ColumnType, Value};

    #[test]
    fn prints_as_mysql_does() {
        let mut table = TableDef::new(TableId(7), "sbtest", "sbtest1");
        let mut id = ColumnDef::new("id", ColumnType::int().not_null());
        id.auto_increment = true;
        let mut k = ColumnDef::new("k", ColumnType::int().not_null());
        k.default = ColumnDefault::Value { value: Value::Int(0), text: "0".to_owned() };
        let mut c = ColumnDef::new("c", ColumnType::varchar(120, CollationId::LATIN1_SWEDISH_CI));
        c.comment = "it's".to_owned();
        let mut t = ColumnDef::new("t", ColumnType::new(TypeKind::Timestamp { fsp: 3 }));
        t.default = ColumnDefault::CurrentTimestamp { fsp: 3 };
        t.on_update_current_timestamp = true;
        table.columns = vec![id, k, c, t];
        let index = |id, name: &str, kind, column| IndexDef {
            id: IndexId(id),
            name: name.to_owned(),
            kind,
            parts: vec![IndexPart::column(column)],
            tree: 0,
            invisible: false,
            generated: false,
            comment: String::new(),
        };
        table.indexes =
            vec![index(1, "PRIMARY", IndexKind::Primary, 0), index(2, "k_1", IndexKind::Plain, 1)];
        let expected = "CREATE TABLE `sbtest1` (
  `id` int NOT NULL AUTO_INCREMENT,
  `k` int NOT NULL DEFAULT '0',
  `c` varchar(120) CHARACTER SET latin1 DEFAULT NULL COMMENT 'it''s',
  `t` timestamp(3) NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  PRIMARY KEY (`id`),
  KEY `k_1` (`k`)
) ENGINE=InnoDB AUTO_INCREMENT=11 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci";
        assert_eq!(create_table_text(&table, Some(11)), expected);
    }
}
