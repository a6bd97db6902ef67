//! The rows of a table: read from the source as they come, inserted here many at a time.
//!
//! Invariant: a value is written so that it comes back the same bits: numbers with a fraction by all their digits, bytes in
//! hexadecimal digits, text in utf8mb4. Generated columns are made here.
use client::fields;

use super::Copy;
use super::names::{literal, put_bytes, put_text, quoted};

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

impl Copy<'_> {
    async fn columns_of(&mut self, database: &str, table: &str) -> Result<Vec<Column>, String> {
        let rows = self
            .origin
            .rows(&format!(
                "SELECT column_name, data_type, IFNULL(character_set_name, ''), generation_expression <> '' \
                 FROM information_schema.columns WHERE table_schema = {} AND table_name = {} ORDER BY ordinal_position",
                literal(database),
                literal(table)
            ))
            .await?;
        let copied = rows.iter().filter(|row| row[3] != "1");
        Ok(copied.map(|row| Column::new(&row[0], &row[1].to_lowercase(), &row[2])).collect())
    }

    /// Copies all rows of the table; `bytes` is about how large it is at the source.
    pub(super) async fn copy_rows(&mut self, database: &str, table: &str, bytes: u64) -> Result<(), String> {
        let columns = self.columns_of(database, table).await?;
        let name = format!("{}.{}", quoted(database), quoted(table));
        let selected: Vec<String> = columns.iter().map(Column::selected).collect();
        let selected = if selected.is_empty() { "1".to_owned() } else { selected.join(",") };
        let named: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let head = format!("INSERT INTO {name} ({}) VALUES ", named.join(","));
        let begun = self.origin.connection.begin_rows(&format!("SELECT {selected} FROM {name}")).await;
        begun.map_err(|error| format!("{} (table {name})", self.origin.failed(&error)))?;
        let mut statement = head.clone().into_bytes();
        let (mut row, mut warnings) = (Vec::new(), 0u64);
        let mut counted = 0;
        loop {
            let more = self.origin.connection.next_row(&mut row).await;
            let more = more.map_err(|error| format!("{} (table {name})", self.origin.failed(&error)))?;
            let is_full = statement.len() >= STATEMENT_BYTES;
            if (!more || is_full) && statement.len() > head.len() {
                warnings += u64::from(self.obey_in(&name, &statement).await?);
                counted += statement.len() as u64;
                statement.truncate(head.len());
                self.progress.advance(counted.min(bytes), &name);
                self.check_stop()?;
            }
            if !more {
                break;
            }
            if statement.len() > head.len() {
                statement.push(b',');
            }
            put_row(&row, &columns, &mut statement).map_err(|error| self.origin.failed(&error))?;
        }
        if warnings > 0 {
            self.progress
                .tell(&format!("{name}: {warnings} values are not the same here (warnings of INSERT)"));
        }
        self.progress.finish_table(bytes);
        Ok(())
    }
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
