//! How the columns of a TABLE_MAP become those of the table here, by their places.
//!
//! Invariant: a column is read by the type that the event says, and kept only if the table's column has that type; columns that
//! are here alone get their defaults. Made once for each TABLE_MAP of another shape.
use std::sync::Arc;

use binlog::{RowImage, TableMap, WireType, type_code};
use datum::{ErrorCode, SqlError, TypeKind, Value};
use schema::{ColumnDef, ColumnDefault, TableDef};

const ER_REPLICA_CONVERSION_FAILED: ErrorCode = ErrorCode::new(
    1677,
    "HY000",
    "Column %s of table '%s.%s' cannot be converted from type '%s' to type '%s'",
);

/// MariaDB's JSON is text that it has checked.
const ER_INVALID_JSON_TEXT: ErrorCode = ErrorCode::new(
    3140,
    "22032",
    "The text that the source sends for the JSON column %s is no JSON document",
);

/// A table of the source with the table here.
pub struct Columns {
    /// As it came.
    pub source: TableMap,
    /// With the signs of the columns here.
    pub map: TableMap,
    pub table: Arc<TableDef>,
    /// By column of the event: the column here.
    places: Vec<usize>,
    /// Some column is made from others.
    pub has_generated: bool,
}

impl Columns {
    pub fn new(mut map: TableMap, table: Arc<TableDef>) -> Result<Columns, SqlError> {
        let source = map.clone();
        let places: Vec<usize> = (0..table.columns.len()).filter(|at| !table.columns[*at].hidden).collect();
        for (number, (column, place)) in map.columns.iter_mut().zip(&places).enumerate() {
            let own = &table.columns[*place];
            let wire = WireType::of(&own.column_type);
            column.wire.unsigned = wire.unsigned;
            if !fits(column.wire, wire) {
                let to = schema::type_text(&own.column_type);
                let from = type_name(column.wire);
                return Err(ER_REPLICA_CONVERSION_FAILED.with(&[
                    &number,
                    &table.database,
                    &table.name,
                    &from,
                    &to,
                ]));
            }
        }
        let has_generated = table.columns.iter().any(|column| column.generated.is_some());
        Ok(Columns { source, map, table, places, has_generated })
    }

    /// The columns of an image by their places here.
    pub fn placed(&self, image: RowImage) -> Result<Vec<Option<Value>>, SqlError> {
        let mut placed = vec![None; self.table.columns.len()];
        for (value, place) in image.into_iter().zip(&self.places) {
            placed[*place] = value.map(|value| kept(value, &self.table.columns[*place])).transpose()?;
        }
        Ok(placed)
    }
}

/// The same type, or text of another length that is kept the same way.
fn fits(from: WireType, to: WireType) -> bool {
    let (code, own) = (from.real_code(), to.real_code());
    match (code, own) {
        (type_code::STRING, type_code::STRING) => true,
        (type_code::VARCHAR | type_code::VAR_STRING, type_code::VARCHAR) => true,
        (type_code::BLOB, type_code::BLOB) => from.metadata <= to.metadata,
        // The JSON of MariaDB is text.
        (type_code::BLOB, type_code::JSON) => true,
        (type_code::ENUM | type_code::SET, _) => code == own,
        _ => code == own && from.metadata == to.metadata,
    }
}

/// The value as rows here have it: the binary log leaves padding out.
fn kept(value: Value, column: &ColumnDef) -> Result<Value, SqlError> {
    Ok(match (value, &column.column_type.kind) {
        (Value::Bytes(mut bytes), TypeKind::Binary) => {
            bytes.resize(bytes.len().max(column.column_type.length as usize), 0);
            Value::Bytes(bytes)
        }
        (Value::Bytes(text), TypeKind::Json) => {
            let invalid = |_| ER_INVALID_JSON_TEXT.with(&[&column.name]);
            Value::Json(datum::normalize_json(&text).map_err(invalid)?)
        }
        (value, _) => value,
    })
}

/// What a column gets that the event does not have; an expression is not here.
pub fn default_of(column: &ColumnDef, now: Value) -> Value {
    match &column.default {
        ColumnDefault::Value { value, .. } => value.clone(),
        ColumnDefault::CurrentTimestamp { .. } => now,
        _ if column.nullable() => Value::Null,
        _ => column.column_type.implicit_default(),
    }
}

fn type_name(wire: WireType) -> String {
    use type_code::*;
    let [low, high] = wire.metadata.to_le_bytes();
    match wire.real_code() {
        TINY => "tinyint".to_owned(),
        SHORT => "smallint".to_owned(),
        INT24 => "mediumint".to_owned(),
        LONG => "int".to_owned(),
        LONG_LONG => "bigint".to_owned(),
        FLOAT => "float".to_owned(),
        DOUBLE => "double".to_owned(),
        NEW_DECIMAL => format!("decimal({low},{high})"),
        VARCHAR | VAR_STRING => format!("varchar({}(bytes))", wire.metadata),
        STRING => format!("char({}(bytes))", high),
        BLOB => ["tinyblob", "blob", "mediumblob", "longblob"]
            .get(usize::from(low).wrapping_sub(1))
            .map_or_else(|| "blob".to_owned(), |name| (*name).to_owned()),
        DATE => "date".to_owned(),
        TIME2 => format!("time({low})"),
        DATETIME2 => format!("datetime({low})"),
        TIMESTAMP2 => format!("timestamp({low})"),
        YEAR => "year".to_owned(),
        BIT => format!("bit({})", u16::from(high) * 8 + u16::from(low)),
        ENUM => "enum".to_owned(),
        SET => "set".to_owned(),
        JSON => "json".to_owned(),
        GEOMETRY => "geometry".to_owned(),
        code => format!("type {code}"),
    }
}
