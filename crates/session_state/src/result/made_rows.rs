//! Result sets that the session makes itself (SHOW, EXPLAIN, table maintenance): columns and rows built in place.
use std::sync::Arc;

use collation::CollationId;
use datum::{ColumnType, TypeKind, Value};
use plan::OutputColumn;

use super::metadata::shape_of;
use crate::sink::ResultSink;
use instance::ResultShape;
use variables::Settings;

const MEDIUM_TEXT_MAX: u32 = (1 << 24) - 1;

/// The types such columns have.
#[derive(Clone, Copy, Debug)]
pub enum MadeColumn {
    /// Text of up to so many characters.
    Text(&'static str, u32),
    NullableText(&'static str, u32),
    LongText(&'static str),
    MediumText(&'static str),
    /// A text that tells no size, as those of columns do.
    ColumnText(&'static str),
    /// One of a few words of up to so many characters.
    Word(&'static str, u32),
    /// There never is a value.
    Nothing(&'static str),
    Number(&'static str),
    /// A number of 32 bits.
    Code(&'static str),
    NullableNumber(&'static str),
    Flag(&'static str),
    /// A number with a sign, or NULL.
    NullableCount(&'static str),
    DateTime(&'static str),
    /// With so many digits behind the point; its values are text.
    Decimal(&'static str, u8),
    NullableDecimal(&'static str, u8),
    /// A moment that is always there, with digits of its fraction.
    Moment(&'static str, u8),
}

impl MadeColumn {
    pub fn name(self) -> &'static str {
        match self {
            MadeColumn::Text(name, _)
            | MadeColumn::NullableText(name, _)
            | MadeColumn::LongText(name)
            | MadeColumn::MediumText(name)
            | MadeColumn::ColumnText(name)
            | MadeColumn::Word(name, _)
            | MadeColumn::Nothing(name)
            | MadeColumn::Flag(name)
            | MadeColumn::NullableCount(name)
            | MadeColumn::Number(name)
            | MadeColumn::Code(name)
            | MadeColumn::NullableNumber(name)
            | MadeColumn::DateTime(name)
            | MadeColumn::Decimal(name, _)
            | MadeColumn::NullableDecimal(name, _)
            | MadeColumn::Moment(name, _) => name,
        }
    }

    pub fn column_type(self) -> ColumnType {
        let collation = CollationId::UTF8MB3_GENERAL_CI;
        match self {
            MadeColumn::Text(_, length) => ColumnType::varchar(length, collation).not_null(),
            MadeColumn::NullableText(_, length) => ColumnType::varchar(length, collation),
            MadeColumn::LongText(_) => ColumnType { collation, ..ColumnType::new(TypeKind::LongText) },
            MadeColumn::MediumText(_) => {
                ColumnType { collation, length: MEDIUM_TEXT_MAX, ..ColumnType::new(TypeKind::MediumText) }
            }
            MadeColumn::ColumnText(_) => ColumnType { collation, ..ColumnType::new(TypeKind::Text) },
            MadeColumn::Word(_, length) => {
                ColumnType { collation, length, ..ColumnType::new(TypeKind::Char) }.not_null()
            }
            MadeColumn::Nothing(_) => ColumnType::new(TypeKind::Null),
            MadeColumn::Flag(_) => ColumnType::int().not_null(),
            MadeColumn::NullableCount(_) => ColumnType::bigint(),
            MadeColumn::Number(_) => ColumnType::bigint_unsigned().not_null(),
            MadeColumn::Code(_) => ColumnType { unsigned: true, ..ColumnType::int() }.not_null(),
            MadeColumn::NullableNumber(_) => ColumnType::bigint_unsigned(),
            MadeColumn::Decimal(_, scale) => ColumnType::decimal(9 + scale, scale).not_null(),
            MadeColumn::NullableDecimal(_, scale) => ColumnType::decimal(9 + scale, scale),
            MadeColumn::DateTime(_) => ColumnType::new(TypeKind::DateTime { fsp: 0 }),
            MadeColumn::Moment(_, fsp) => ColumnType::new(TypeKind::DateTime { fsp }).not_null(),
        }
    }
}

/// A finished result set.
#[derive(Debug)]
pub struct MadeRows {
    names: Vec<String>,
    columns: Vec<MadeColumn>,
    /// Which one LIKE compares.
    pub like_column: usize,
    pub rows: Vec<Vec<Value>>,
}

impl MadeRows {
    pub fn new(columns: &[MadeColumn]) -> MadeRows {
        let names = columns.iter().map(|column| column.name().to_owned()).collect();
        MadeRows { names, columns: columns.to_vec(), like_column: 0, rows: Vec::new() }
    }

    /// By the text of the first column.
    pub fn sort_by_name(&mut self) {
        let name = |row: &[Value]| match row.first() {
            Some(Value::Bytes(name)) => name.clone(),
            _ => Vec::new(),
        };
        self.rows.sort_by_cached_key(|row| name(row));
    }

    /// SHOW TABLES and a few others name a column after what was asked for.
    #[must_use]
    pub fn with_name(mut self, position: usize, name: String) -> MadeRows {
        self.names[position] = name;
        self
    }

    /// LIKE compares another column than the first.
    #[must_use]
    pub fn with_like_column(self, like_column: usize) -> MadeRows {
        MadeRows { like_column, ..self }
    }

    pub fn push(&mut self, row: Vec<Value>) {
        assert_eq!(row.len(), self.columns.len(), "a row has a value for each column");
        self.rows.push(row);
    }

    pub fn column_names(&self) -> &[String] {
        &self.names
    }

    pub fn column_types(&self) -> Vec<ColumnType> {
        self.columns.iter().map(|column| column.column_type()).collect()
    }

    pub fn shape(&self, settings: &Settings) -> Arc<ResultShape> {
        let columns: Vec<OutputColumn> = self
            .names
            .iter()
            .zip(&self.columns)
            .map(|(name, column)| OutputColumn::computed(name.clone(), column.column_type()))
            .collect();
        shape_of(&columns, settings)
    }

    /// Writes columns and rows; the caller ends the result set.
    pub fn write(&self, sink: &mut dyn ResultSink, settings: &Settings) {
        sink.columns(&self.shape(settings));
        for row in &self.rows {
            sink.row(row);
        }
    }
}

/// Text, or NULL for `None`.
pub fn optional_text(text: Option<impl AsRef<[u8]>>) -> Value {
    text.map_or(Value::Null, |text| Value::bytes(text))
}
