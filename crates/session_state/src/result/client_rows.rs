//! The executor's row sink that hands rows to the client's sink, converting what the client must not see as stored.
//!
//! Invariant: `columns` has been called before the first row, and columns that need no conversion are passed on
//! without a copy when no column of the row needs one.
use collation::{Charset, CollationId};
use datum::{ColumnType, SqlError, TimeZone, TypeKind, Value, error_code};
use executor::RowSink;
use instance::Conversion;
use schema::LocalFuture;

use super::metadata::client_collation;
use crate::sink::ResultSink;
use variables::Settings;

/// The conversions of a whole result; empty when no column needs any.
pub fn conversions(types: &[ColumnType], settings: &Settings) -> Vec<Conversion> {
    let all: Vec<Conversion> = types.iter().map(|column_type| conversion_of(column_type, settings)).collect();
    if all.iter().all(|conversion| *conversion == Conversion::None) { Vec::new() } else { all }
}

fn conversion_of(column_type: &ColumnType, settings: &Settings) -> Conversion {
    match &column_type.kind {
        TypeKind::Timestamp { .. } => Conversion::LocalTime,
        TypeKind::Enum(_) | TypeKind::Set(_) => Conversion::Members(column_type.clone()),
        TypeKind::Json => text_conversion(Charset::Utf8mb4, client_collation(column_type, settings)),
        _ if column_type.collation == CollationId::BINARY => Conversion::None,
        _ => text_conversion(column_type.collation.charset(), client_collation(column_type, settings)),
    }
}

fn text_conversion(stored: Charset, client: CollationId) -> Conversion {
    let client = client.charset();
    let same = stored == client
        || client == Charset::Binary
        || (stored == Charset::Utf8mb3 && client == Charset::Utf8mb4)
        || (stored == Charset::Ascii);
    if same { Conversion::None } else { Conversion::Text(stored) }
}

pub struct ClientRows<'a> {
    sink: &'a mut dyn ResultSink,
    conversions: &'a [Conversion],
    client_charset: Option<Charset>,
    time_zone: &'a TimeZone,
    /// The converted row, reused.
    converted: Vec<Value>,
}

impl<'a> ClientRows<'a> {
    pub fn new(
        sink: &'a mut dyn ResultSink,
        conversions: &'a [Conversion],
        settings: &'a Settings,
    ) -> ClientRows<'a> {
        ClientRows {
            sink,
            conversions,
            client_charset: settings.results_charset.filter(|charset| *charset != Charset::Binary),
            time_zone: &settings.time_zone,
            converted: Vec::new(),
        }
    }
}

impl RowSink for ClientRows<'_> {
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        if self.conversions.is_empty() {
            self.sink.row(row);
            return Ok(());
        }
        self.converted.clear();
        for (value, conversion) in row.iter().zip(self.conversions) {
            let converted = convert(value, conversion, self.client_charset, self.time_zone);
            self.converted.push(converted);
        }
        self.sink.row(&self.converted);
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.sink.needs_flush()
    }

    fn flush(&mut self) -> LocalFuture<'_, Result<(), SqlError>> {
        Box::pin(async {
            // The connection sees for itself that the client is gone; the statement only has to end.
            self.sink.flush().await.map_err(|_| error_code::ER_QUERY_INTERRUPTED.plain())
        })
    }
}

/// The value as it leaves the server, text in the client's character set if there is one.
pub fn convert(value: &Value, conversion: &Conversion, client: Option<Charset>, zone: &TimeZone) -> Value {
    match (conversion, value) {
        (Conversion::None, _) | (_, Value::Null) => value.clone(),
        (Conversion::LocalTime, Value::Timestamp(timestamp)) => Value::DateTime(timestamp.in_zone(zone)),
        (Conversion::Members(column_type), value) => {
            let text = member_text(value, column_type);
            let stored = column_type.collation.charset();
            Value::Bytes(client.map_or_else(|| text.clone(), |client| stored.convert_to(client, &text).bytes))
        }
        (Conversion::Text(stored), Value::Bytes(bytes)) => match client {
            Some(client) => Value::Bytes(stored.convert_to(client, bytes).bytes),
            None => value.clone(),
        },
        (Conversion::Text(stored), Value::Json(text)) => match client {
            Some(client) => Value::Bytes(stored.convert_to(client, datum::json_shown(text).as_bytes()).bytes),
            None => value.clone(),
        },
        (_, other) => other.clone(),
    }
}

/// The text of an ENUM or SET value in the column's character set.
fn member_text(value: &Value, column_type: &ColumnType) -> Vec<u8> {
    match (value, &column_type.kind) {
        (Value::Enum(0), _) => Vec::new(),
        (Value::Enum(index), TypeKind::Enum(members)) => {
            members.get(usize::from(*index) - 1).map(|member| member.to_vec()).unwrap_or_default()
        }
        (Value::Set(bits), TypeKind::Set(members)) => {
            let chosen = members.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
            let chosen: Vec<&[u8]> = chosen.map(|(_, member)| &**member).collect();
            chosen.join(&b',')
        }
        (Value::Bytes(bytes), _) => bytes.clone(),
        _ => Vec::new(),
    }
}
