//! Values as the columns of a table keep them: defaults, and rows that are copied into another form of their table.
use datum::{
    ColumnType, Condition, ConversionError, Date, DateTime, MomentContext, SqlError, SqlMode, StoreMode,
    Stored, Timestamp, TypeKind, Value, fraction_digits,
};
use schema::ColumnDef;
use variables::Settings;

/// Conversion of values to the types of columns.
pub struct Conversion<'a> {
    mode: StoreMode<'a>,
    now_utc_micros: i64,
}

impl<'a> Conversion<'a> {
    /// By the settings of a session, at this time.
    pub fn new(settings: &'a Settings, now_utc_micros: i64) -> Conversion<'a> {
        let zone = &settings.time_zone;
        let today = zone.to_local(now_utc_micros).map_or(Date::ZERO, DateTime::date);
        let moments = MomentContext { zone, mode: settings.sql_mode, today };
        let is_strict = settings.sql_mode.is_strict();
        Conversion { mode: StoreMode { moments, is_strict }, now_utc_micros }
    }

    pub fn is_strict(&self) -> bool {
        self.mode.is_strict
    }

    /// Whether 0 is a number like others for AUTO_INCREMENT.
    pub fn keeps_zeros(&self) -> bool {
        self.mode.moments.mode.contains(SqlMode::NO_AUTO_VALUE_ON_ZERO)
    }

    /// Whether a zero date is an error.
    pub fn refuses_zero_dates(&self) -> bool {
        self.mode.is_strict && self.mode.moments.mode.contains(SqlMode::NO_ZERO_DATE)
    }

    /// The value as the column keeps it, with a warning when it was adjusted.
    pub fn column_value(
        &self,
        value: &Value,
        from: &ColumnType,
        column: &ColumnDef,
        row: u64,
    ) -> Result<(Value, Option<Condition>), SqlError> {
        told(value.cast_to_column(from, &column.column_type, &self.mode), column, row)
    }

    /// What the column keeps of a value that was in a column of the other type, when its table is copied.
    pub fn copied_value(
        &self,
        value: &Value,
        from: &ColumnType,
        column: &ColumnDef,
        row: u64,
    ) -> Result<(Value, Option<Condition>), SqlError> {
        told(value.copy_to_column(from, &column.column_type, &self.mode), column, row)
    }

    /// CURRENT_TIMESTAMP as a value of the column's type.
    pub fn now(&self, column_type: &ColumnType) -> Value {
        let fsp = fraction_digits(column_type);
        let Some(now) = self.mode.moments.zone.to_local(self.now_utc_micros) else { return Value::Null };
        let now = now.truncated(fsp);
        match column_type.kind {
            TypeKind::Timestamp { .. } => {
                Timestamp::from_zone(now, self.mode.moments.zone).map_or(Value::Null, Value::Timestamp)
            }
            _ => Value::DateTime(now),
        }
    }
}

/// With the column's name and the row's number.
fn told(
    stored: Result<Stored, ConversionError>,
    column: &ColumnDef,
    row: u64,
) -> Result<(Value, Option<Condition>), SqlError> {
    match stored {
        Ok(stored) => {
            Ok((stored.value, stored.problem.map(|problem| problem.to_condition(&column.name, row))))
        }
        Err(problem) => Err(problem.to_error(&column.name, row)),
    }
}
