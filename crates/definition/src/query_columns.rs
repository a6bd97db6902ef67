//! CREATE TABLE .. SELECT: the query's columns as columns of the table, and its rows as rows of it.
use catalog::{Catalog, RowConverter, check_column_name};
use datum::{ColumnType, Condition, SqlError, TypeKind, Value, error_code};
use expression::call::shown_width;
use plan::{Kept, OutputColumn};
use schema::{ColumnDef, ColumnDefault, TableDef};

use super::conversion::Conversion;
use super::draft::{ColumnDraft, ColumnSource, TableDraft};
use super::row_maker::RowMaker;

/// Adds the query's columns to a draft, behind those that only the list names. One that both name is the list's.
pub fn add_query_columns(
    catalog: &Catalog,
    draft: &mut TableDraft,
    columns: &[OutputColumn],
) -> Result<(), SqlError> {
    let mut listed_count = draft.columns.len();
    for column in columns {
        if let Some(position) = draft.column_position(&column.name)
            && position < listed_count
        {
            let listed = draft.columns.remove(position);
            draft.columns.push(listed);
            listed_count -= 1;
            continue;
        }
        check_column_name(&column.name)?;
        draft.columns.push(ColumnDraft {
            definition: column_of(catalog, column),
            written_nullable: None,
            primary: false,
            unique: false,
            source: ColumnSource::New,
        });
    }
    Ok(())
}

/// A plain column keeps its default, a computed one that is never NULL gets its type's.
fn column_of(catalog: &Catalog, output: &OutputColumn) -> ColumnDef {
    let is_computed = output.original_name.is_empty();
    let mut column_type = if is_computed { kept_type(output) } else { output.column_type.clone() };
    // A year's column has all its digits, also where the expression has not.
    if column_type.kind == TypeKind::Year {
        column_type.length = 0;
    }
    let mut column = ColumnDef::new(output.name.clone(), column_type);
    let has_date = column.column_type.kind.has_date();
    let mut needs_default = !column.nullable() && !column.is_large_object() && !has_date;
    if let Some(table) = catalog.table(&output.database, &output.table)
        && let Some(position) = table.definition().column_named(&output.original_name)
    {
        let source = &table.definition().columns[position];
        column.comment.clone_from(&source.comment);
        column.explicit_collation = source.explicit_collation;
        if source.generated.is_none() {
            column.default = source.default.clone();
            column.on_update_current_timestamp = source.on_update_current_timestamp;
        }
        needs_default = source.auto_increment;
    }
    if matches!(output.kept, Kept::Extreme { no_default: true, .. }) {
        column.default = ColumnDefault::None;
    }
    if needs_default {
        let value = column.column_type.implicit_default();
        let text = String::from_utf8_lossy(&value.to_text(&column.column_type)).into_owned();
        column.default = ColumnDefault::Value { value, text };
    }
    column
}

/// Longer computed texts become TEXT.
const VARCHAR_CHARACTERS_MAX: u32 = 512;
/// Integers whose values are no wider become INT.
const INT_WIDTH_MAX: u32 = 11;

/// Those of a subquery or window function that are as wide become BIGINT.
const SINGLE_INT_WIDTH: u64 = 10;

/// The type of the column that keeps the values of an expression that is no column.
fn kept_type(output: &OutputColumn) -> ColumnType {
    let column = &output.column_type;
    let own = |kind: TypeKind| ColumnType { kind, length: 0, ..column.clone() };
    let text = |kind: TypeKind| ColumnType {
        kind,
        length: u32::try_from(shown_width(column)).unwrap_or(u32::MAX),
        ..column.clone()
    };
    match (&output.kept, &column.kind) {
        (Kept::Extreme { of, .. }, _) => ColumnType { nullable: column.nullable, ..of.clone() },
        (Kept::Concatenated, _) => own(if column.is_text() { TypeKind::Text } else { TypeKind::Blob }),
        (Kept::Same, _) => computed_type(column, TypeKind::MediumText),
        (Kept::Chosen, kind) if kind.is_integer() => own(kind.clone()),
        (Kept::Computed | Kept::Chosen, kind) if kind.is_large_object() => {
            own(if column.is_text() { TypeKind::LongText } else { TypeKind::LongBlob })
        }
        (Kept::Aggregated, kind) if kind.is_integer() => own(TypeKind::LongLong),
        (Kept::Aggregated, TypeKind::Float { digits }) => own(TypeKind::Double { digits: *digits }),
        // Its digits.
        (Kept::Computed, TypeKind::Bit(bits)) => {
            let is_narrow = u32::from(*bits) <= INT_WIDTH_MAX;
            let kind = if is_narrow { TypeKind::Long } else { TypeKind::LongLong };
            ColumnType { unsigned: true, ..own(kind) }
        }
        (Kept::Single, TypeKind::Year) => ColumnType { unsigned: true, ..own(TypeKind::Long) },
        (Kept::Single, kind) if kind.is_integer() => match shown_width(column) {
            0..SINGLE_INT_WIDTH => own(TypeKind::Long),
            _ => own(TypeKind::LongLong),
        },
        (_, TypeKind::Tiny | TypeKind::Short | TypeKind::Int24) => own(TypeKind::Long),
        (_, TypeKind::Enum(_) | TypeKind::Set(_) | TypeKind::Char) => text(TypeKind::VarChar),
        (_, TypeKind::Binary) => text(TypeKind::VarBinary),
        (Kept::Computed | Kept::Chosen, _) => computed_type(column, TypeKind::LongText),
        (_, kind) if kind.is_large_object() && column.length == 0 => {
            computed_type(&text(kind.clone()), TypeKind::MediumText)
        }
        _ => computed_type(column, TypeKind::MediumText),
    }
}

/// `beyond` is what a text of more than 65,535 bytes is.
fn computed_type(column_type: &ColumnType, beyond: TypeKind) -> ColumnType {
    use TypeKind::{
        Blob, Long, LongBlob, LongLong, LongText, MediumBlob, MediumText, Null, Text, VarBinary, VarChar,
    };
    let with = |kind: TypeKind| ColumnType { kind, length: 0, ..column_type.clone() };
    let sized = || {
        let per_character = u64::from(column_type.collation.charset().bytes_per_character_max());
        with(match (u64::from(column_type.length) * per_character, column_type.is_text()) {
            (0..=65_535, true) => Text,
            (0..=65_535, false) => Blob,
            (65_536..=16_777_215, true) if beyond == MediumText => MediumText,
            (65_536..=16_777_215, false) if beyond == MediumText => MediumBlob,
            (_, true) => LongText,
            (_, false) => LongBlob,
        })
    };
    match column_type.kind {
        Null => ColumnType { nullable: true, ..ColumnType::varbinary(0) },
        LongLong if (1..=INT_WIDTH_MAX).contains(&column_type.length) => with(Long),
        LongLong => with(LongLong),
        VarChar | VarBinary if column_type.length > VARCHAR_CHARACTERS_MAX => sized(),
        ref kind if kind.is_large_object() && column_type.length > 0 => sized(),
        // A hexadecimal literal's mark is no property of its column.
        VarBinary => ColumnType { unsigned: false, zerofill: false, ..column_type.clone() },
        _ => column_type.clone(),
    }
}

/// Where each column of the new table gets its value from.
pub struct SourceColumns<'a> {
    table: &'a TableDef,
    conversion: Conversion<'a>,
    /// For each column: the query's column and its type, or the default.
    sources: Vec<Result<(usize, ColumnType), Value>>,
    /// Columns with a default expression.
    computed: Vec<usize>,
    maker: &'a dyn RowMaker,
    next_number: u64,
    row_number: u64,
    /// Values that do not fit are adjusted (CREATE TABLE .. IGNORE).
    adjusts: bool,
    /// What was adjusted.
    conditions: Vec<Condition>,
}

impl<'a> SourceColumns<'a> {
    /// For the rows of a query of these columns.
    pub fn new(
        table: &'a TableDef,
        columns: &[OutputColumn],
        conversion: Conversion<'a>,
        maker: &'a dyn RowMaker,
    ) -> Result<SourceColumns<'a>, SqlError> {
        let mut sources = Vec::with_capacity(table.columns.len());
        let mut computed = Vec::new();
        for (position, column) in table.columns.iter().enumerate() {
            let from = columns.iter().position(|output| output.name.eq_ignore_ascii_case(&column.name));
            sources.push(match (from, &column.default) {
                (Some(_), _) if column.generated.is_some() => {
                    return Err(error_code::ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN
                        .with(&[&column.name, &table.name]));
                }
                (None, _) if column.generated.is_some() => Err(Value::Null),
                (Some(position), _) => Ok((position, columns[position].column_type.clone())),
                (None, ColumnDefault::None) => Err(column.column_type.implicit_default()),
                (None, ColumnDefault::Null) => Err(Value::Null),
                (None, ColumnDefault::Value { value, .. }) => Err(value.clone()),
                (None, ColumnDefault::CurrentTimestamp { .. }) => Err(conversion.now(&column.column_type)),
                (None, ColumnDefault::Expression { .. }) => {
                    computed.push(position);
                    Err(Value::Null)
                }
            });
        }
        let next_number = table.auto_increment_start.max(1);
        let (row_number, adjusts, conditions) = (0, false, Vec::new());
        Ok(SourceColumns {
            table,
            conversion,
            sources,
            computed,
            maker,
            next_number,
            row_number,
            adjusts,
            conditions,
        })
    }

    /// NULL becomes the zero of a column that cannot be NULL. The conversion has to be one that adjusts too.
    #[must_use]
    pub fn adjusting(self) -> SourceColumns<'a> {
        SourceColumns { adjusts: true, ..self }
    }

    /// What was adjusted since the last call.
    pub fn take_conditions(&mut self) -> Vec<Condition> {
        std::mem::take(&mut self.conditions)
    }
}

impl RowConverter for SourceColumns<'_> {
    fn convert(&mut self, row: &[Value], converted: &mut Vec<Value>) -> Result<(), SqlError> {
        self.row_number += 1;
        for (column, source) in self.table.columns.iter().zip(&self.sources) {
            let value = match source {
                Ok((position, from)) => match &row[*position] {
                    Value::Null if column.nullable() => Value::Null,
                    Value::Null => {
                        let error = error_code::ER_BAD_NULL_ERROR.with(&[&column.name]);
                        if !self.adjusts {
                            return Err(error);
                        }
                        self.conditions.push(error.into_warning());
                        column.column_type.implicit_default()
                    }
                    value => {
                        let (value, condition) =
                            self.conversion.column_value(value, from, column, self.row_number)?;
                        self.conditions.extend(condition);
                        value
                    }
                },
                Err(_) if column.auto_increment => {
                    self.next_number += 1;
                    let number = self.next_number - 1;
                    if column.column_type.unsigned { Value::UInt(number) } else { Value::Int(number as i64) }
                }
                Err(default) => default.clone(),
            };
            converted.push(value);
        }
        for &column in &self.computed {
            converted[column] = self.maker.default_value(column, converted, self.row_number)?;
        }
        self.maker.finish(converted, self.row_number)
    }
}
