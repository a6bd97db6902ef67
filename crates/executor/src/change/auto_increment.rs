//! The AUTO_INCREMENT column during one INSERT.
use super::assign::Assigner;
use crate::context::ExecContext;
use datum::{ColumnType, SqlError, SqlMode, TypeKind, Value, error_code};
use schema::TableDef;
use table::{ReadyTable, last_until};

/// Values reserved from the table's counter. A statement reserves for all its rows at once, so that they follow each
/// other even when others insert at the same time.
pub struct Generator {
    column: Option<usize>,
    next: u64,
    left: u64,
    /// Rows still to come; `None` when that is not known.
    rows: Option<u64>,
    /// What to reserve next in that case.
    chunk: u64,
}

/// What happened to the column of one row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Generated {
    Nothing,
    Value(u64),
    Explicit(u64),
}

const CHUNK_MAX: u64 = 65_536;

impl Generator {
    pub fn new(table: &TableDef, rows: Option<u64>) -> Generator {
        Generator { column: table.auto_increment_column(), next: 0, left: 0, rows, chunk: 1 }
    }

    /// The column of `row` that will be filled in.
    pub fn asked(&self, row: &[Value], context: &ExecContext<'_>) -> Option<usize> {
        let zero_is_value = context.eval.settings.sql_mode.contains(SqlMode::NO_AUTO_VALUE_ON_ZERO);
        self.column.filter(|&column| match number_of(&row[column]) {
            Some(number) => number == 0 && !zero_is_value,
            None => true,
        })
    }

    /// Fills the column of `row` in, if it asks for a generated value. `number` counts the rows from 1 for messages.
    pub fn fill(
        &mut self,
        handle: &ReadyTable,
        row: &mut [Value],
        assigner: &Assigner<'_>,
        number: u64,
        context: &ExecContext<'_>,
    ) -> Result<Generated, SqlError> {
        let Some(column) = self.column else { return Ok(Generated::Nothing) };
        let rows_left = self.rows;
        self.rows = self.rows.map(|rows| rows.saturating_sub(1));
        let increment = context.settings.auto_increment_increment.max(1);
        if self.asked(row, context).is_none() {
            let given = number_of(&row[column]).and_then(|number| u64::try_from(number).ok());
            return Ok(match given {
                Some(number) if number > 0 => {
                    self.pass(number, increment);
                    Generated::Explicit(number)
                }
                _ => Generated::Nothing,
            });
        }
        let offset = context.settings.auto_increment_offset;
        let counter = handle.auto_increment();
        let is_first = self.left == 0;
        if is_first {
            let count = rows_left.unwrap_or(self.chunk).max(1);
            let first = counter.reserve(count, increment, offset);
            self.next = first.ok_or_else(|| error_code::ER_AUTOINC_READ_FAILED.plain())?;
            self.left = count;
            self.chunk = (self.chunk * 2).min(CHUNK_MAX);
        }
        let mut value = self.next;
        if value > counter.maximum() {
            if !is_first {
                return Err(error_code::ER_AUTOINC_READ_FAILED.plain());
            }
            // Without strict mode the row gets the last number of its series.
            let from = ColumnType { unsigned: true, ..ColumnType::new(TypeKind::LongLong) };
            assigner.convert(column, &Value::UInt(value), &from, number, context.eval)?;
            value = last_until(counter.maximum(), increment, offset);
        }
        self.next = self.next.saturating_add(increment);
        self.left -= 1;
        row[column] = in_type(&handle.definition().columns[column].column_type, value);
        Ok(Generated::Value(value))
    }

    /// Later rows continue after a number that was given, with what is reserved behind it.
    fn pass(&mut self, number: u64, increment: u64) {
        if self.left > 0 && number >= self.next {
            let passed = (number - self.next) / increment + 1;
            self.next = self.next.saturating_add(passed.saturating_mul(increment));
            self.left = self.left.saturating_sub(passed);
        }
    }

    /// No row got the value after all: the next row of the statement does.
    pub fn give_back(&mut self, generated: Generated) {
        if let Generated::Value(value) = generated {
            self.next = value;
            self.left += 1;
        }
    }
}

/// The counter follows a value that an update gave its column; the value, if there is such a column.
pub fn observe_update(handle: &ReadyTable, row: &[Value]) -> Option<u64> {
    let column = handle.definition().auto_increment_column()?;
    let number = number_of(&row[column]).and_then(|number| u64::try_from(number).ok())?;
    handle.auto_increment().observe(number);
    Some(number)
}

fn number_of(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        Value::Float(number) => Some(*number as i128),
        Value::Double(number) => Some(*number as i128),
        _ => None,
    }
}

fn in_type(column_type: &datum::ColumnType, value: u64) -> Value {
    match column_type.kind {
        TypeKind::Float { .. } => Value::Float(value as f32),
        TypeKind::Double { .. } => Value::Double(value as f64),
        _ => datum::integer_value(i128::from(value), column_type.unsigned),
    }
}
