//! Rows in the text protocol as INSERT statements of many of them.
//!
//! Invariant: a value is written so that it comes back the same bits: numbers with a fraction by all their digits, bytes in
//! hexadecimal digits, text in utf8mb4. Called by whoever copies tables between servers.
use client::fields;

use super::names::{put_bytes, put_text, quoted};

/// An INSERT is not longer, unless one row is.
const STATEMENT_BYTES: usize = 256 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Number,
    Text,
    Bytes,
}

/// A column that is copied.
struct Column {
    name: String,
    form: Form,
    /// Single precision, which is told with six digits only.
    is_short: bool,
}

impl Column {
    fn new(name: &str, kind: &str, charset: &str) -> Column {
        let form = match kind {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "float" | "double"
            | "year" => Form::Number,
            "json" => Form::Text,
            "date" | "time" | "datetime" | "timestamp" | "enum" | "set" => Form::Text,
            _ if !charset.is_empty() && charset != "binary" => Form::Text,
            _ => Form::Bytes,
        };
        Column { name: quoted(name), form, is_short: kind == "float" }
    }

    fn selected(&self) -> String {
        if self.is_short { format!("{} + 0e0", self.name) } else { self.name.clone() }
    }
}

/// See the head of this file.
pub struct InsertText {
    columns: Vec<Column>,
    head_bytes: usize,
    statement: Vec<u8>,
}

impl InsertText {
    /// Into a table, whose name is in backticks; of each column that is not generated the name, the `data_type` and the character
    /// set, or nothing.
    pub fn new<'c>(table: &str, columns: impl Iterator<Item = [&'c String; 3]>) -> InsertText {
        let columns: Vec<Column> =
            columns.map(|[name, kind, charset]| Column::new(name, &kind.to_lowercase(), charset)).collect();
        let named: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let statement = format!("INSERT INTO {table} ({}) VALUES ", named.join(",")).into_bytes();
        InsertText { columns, head_bytes: statement.len(), statement }
    }

    /// What has to be selected for `add`.
    pub fn selected(&self) -> String {
        let selected: Vec<String> = self.columns.iter().map(Column::selected).collect();
        if selected.is_empty() { "1".to_owned() } else { selected.join(",") }
    }

    /// Adds a row as the protocol has it.
    pub fn add(&mut self, row: &[u8]) -> Result<(), client::Error> {
        if self.statement.len() > self.head_bytes {
            self.statement.push(b',');
        }
        put_row(row, &self.columns, &mut self.statement)
    }

    /// Whether it should be run before another row is added.
    pub fn is_full(&self) -> bool {
        self.statement.len() >= STATEMENT_BYTES
    }

    /// The statement, if there are rows.
    pub fn statement(&self) -> Option<&[u8]> {
        (self.statement.len() > self.head_bytes).then_some(&*self.statement)
    }

    /// The rows have been inserted.
    pub fn clear(&mut self) {
        self.statement.truncate(self.head_bytes);
    }
}

fn put_row(row: &[u8], columns: &[Column], out: &mut Vec<u8>) -> Result<(), client::Error> {
    out.push(b'(');
    for (place, (column, field)) in columns.iter().zip(fields(row)).enumerate() {
        if place > 0 {
            out.push(b',');
        }
        match (field?, column.form) {
            (None, _) => out.extend_from_slice(b"NULL"),
            (Some(text), Form::Number) => out.extend_from_slice(text),
            (Some(text), Form::Text) => put_text(text, out),
            (Some(bytes), Form::Bytes) => put_bytes(bytes, out),
        }
    }
    out.push(b')');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_written_by_the_forms_of_its_columns() {
        let columns = [
            Column::new("a", "float", ""),
            Column::new("b", "varchar", "latin1"),
            Column::new("c", "bit", ""),
            Column::new("d", "varbinary", ""),
        ];
        assert_eq!(columns[0].selected(), "`a` + 0e0");
        let mut out = Vec::new();
        put_row(b"\x031.5\x02'x\x01\x07\xfb", &columns, &mut out).unwrap();
        assert_eq!(out, b"(1.5,'\\'x',x'07',NULL)");
    }
}
