//! ALTER TABLE between two descriptors: whether the rows can stay as they are, and how each is copied if not.

use catalog::{CopiedKeys, RowConverter};
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};
use parser::ast::{AlgorithmOption, AlterSpecification, LockOption, SchemaChangeOption};
use schema::{CheckDef, ColumnDef, ColumnDefault, IndexDef, IndexPart, ROW_PLACES_MAX, RowPlaces, TableDef};
use table::TableHandle;

use super::added_virtual::{changes_what_is_computed, is_added_to_be_computed};
use super::conversion::Conversion;
use super::draft::ColumnSource;
use super::foreign_key_check::Definer;
use super::row_maker::RowMaker;
use crate::altered_table::Alteration;
use crate::same_value::is_stored_alike;

/// Error 1846: rows are checked by a way that MySQL calls a copy, which has to be told to let writers go on.
pub fn check_algorithm(options: SchemaChangeOption) -> Result<(), SqlError> {
    let (algorithm, other) = match options.algorithm {
        Some(AlgorithmOption::InPlace) => ("ALGORITHM=INPLACE", "ALGORITHM=COPY"),
        Some(AlgorithmOption::Instant) => ("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE"),
        // Any copy is refused that lets writers go on: `check_options` says so.
        Some(AlgorithmOption::Copy) => return Ok(()),
        _ if options.lock == Some(LockOption::None) => ("LOCK=NONE", "LOCK=SHARED"),
        _ => return Ok(()),
    };
    let reason = "Adding foreign keys needs foreign_key_checks=OFF";
    Err(error_code::ER_ALTER_OPERATION_NOT_SUPPORTED_REASON.with(&[&algorithm, &reason, &other]))
}

/// Renames and key switches report no rows at all, unless a copy is asked for.
pub fn is_only_named(specifications: &[AlterSpecification<'_>], options: SchemaChangeOption) -> bool {
    let mut specifications = specifications.iter();
    let is_name = |specification: &AlterSpecification<'_>| {
        matches!(
            specification,
            AlterSpecification::RenameTable(_)
                | AlterSpecification::DisableKeys
                | AlterSpecification::EnableKeys
        )
    };
    options.algorithm != Some(AlgorithmOption::Copy) && specifications.all(is_name)
}

/// The types of the columns that exist before and after.
pub fn old_and_new<'a>(
    before: &'a TableHandle,
    sources: &'a [ColumnSource],
    columns: &'a [ColumnType],
) -> impl Iterator<Item = (&'a ColumnType, &'a ColumnType)> {
    columns.iter().zip(sources).filter_map(|(column, source)| match source {
        ColumnSource::Old(position) => Some((&before.definition().columns[*position].column_type, column)),
        ColumnSource::New => None,
    })
}

impl Alteration {
    /// The clustering index stays what it was unless the primary key changes or it is dropped: then a rebuild
    /// chooses anew.
    pub fn keep_clustering(&mut self) {
        let old = self.before.definition();
        let primary_before = old.primary_key().map(|index| index.id);
        let primary_after = self.after.primary_key().map(|index| index.id);
        let still_there = old.clustered_by.is_none_or(|id| self.after.index_by_id(id).is_some());
        if primary_before == primary_after && still_there {
            self.after.clustered_by = old.clustered_by;
        } else {
            self.rebuild = true;
        }
    }
}

impl Alteration {
    /// For a table whose rows stay as they are: each column keeps its place in them, and new ones get places behind all
    /// that there were.
    pub fn place_columns(&mut self, conversion: &Conversion<'_>) {
        let old = self.before.definition();
        let places = self.before.layout().places();
        let mut after = RowPlaces { of: Vec::with_capacity(self.sources.len()), width: places.width };
        for (column, source) in self.after.columns.iter_mut().zip(&self.sources) {
            match source {
                ColumnSource::Old(before) => {
                    column.added_value = old.columns[*before].added_value.clone();
                    after.of.push(places.of[*before]);
                }
                ColumnSource::New => {
                    column.added_value = constant_of(column, conversion);
                    after.of.push(Some(after.width));
                    after.width += 1;
                }
            }
        }
        self.after.places = (old.places.is_some() || after != places).then_some(after);
    }
}

/// Whether stored rows or entries of kept indexes would read differently under the new descriptor.
pub fn needs_rebuild(alteration: &Alteration) -> bool {
    let old = alteration.before.definition();
    let mut columns = alteration.after.columns.iter().zip(&alteration.sources);
    let changes = columns.any(|(column, source)| match source {
        ColumnSource::Old(before) => {
            let before = &old.columns[*before];
            !is_stored_alike(&before.column_type, &column.column_type)
                || begins_to_count(column, before)
                || is_made_anew(column, before)
        }
        ColumnSource::New => {
            !is_added_as_constant(column) && !is_added_to_be_computed(column, &alteration.after)
        }
    });
    changes
        || changes_what_is_computed(alteration)
        || alteration.before.layout().places().width > ROW_PLACES_MAX - alteration.after.columns.len() as u16
        || alteration.after.indexes.iter().any(|index| changed_parts(index, old, &alteration.sources))
}

/// Rows without a number get one.
pub fn begins_to_count(after: &ColumnDef, before: &ColumnDef) -> bool {
    after.auto_increment && !before.auto_increment
}

/// All rows that are there have the same value in the new column.
fn is_added_as_constant(column: &ColumnDef) -> bool {
    column.generated.is_none()
        && !column.auto_increment
        && !matches!(column.default, ColumnDefault::Expression { .. })
}

/// A column whose values another expression made before, or makes from now on.
fn is_made_anew(after: &ColumnDef, before: &ColumnDef) -> bool {
    let expression = |column: &ColumnDef| column.generated.as_ref().map(|made| made.expression.clone());
    expression(after) != expression(before)
}

/// The constraints that rows have to obey from now on and had not to before.
pub fn newly_enforced<'a>(before: &'a TableDef, after: &'a TableDef) -> impl Iterator<Item = &'a CheckDef> {
    let is_same = |old: &CheckDef, new: &CheckDef| {
        let number = new.generated_number(&after.name);
        old.name == new.name || number.is_some() && old.generated_number(&before.name) == number
    };
    let was_enforced =
        move |new: &CheckDef| before.checks.iter().any(|old| old.enforced && is_same(old, new));
    after.checks.iter().filter(move |check| check.enforced && !was_enforced(check))
}

/// How the rows of a copy get their keys.
pub fn copied_keys(alteration: &Alteration) -> CopiedKeys {
    let Alteration { before, sources, .. } = alteration;
    let old = before.definition();
    let mut after = alteration.after.clone();
    after.choose_clustering();
    match (old.clustering_index(), after.clustering_index()) {
        (None, None) => CopiedKeys::Same,
        (Some(_), None) => CopiedKeys::Numbered,
        (None, Some(_)) => CopiedKeys::Made,
        (Some(one), Some(other)) => {
            let is_same = |(part, before): (&IndexPart, &IndexPart)| {
                sources[part.column] == ColumnSource::Old(before.column)
                    && part.descending == before.descending
                    && old.columns[before.column].column_type == after.columns[part.column].column_type
                    && !begins_to_count(&after.columns[part.column], &old.columns[before.column])
            };
            let is_same =
                one.parts.len() == other.parts.len() && other.parts.iter().zip(&one.parts).all(is_same);
            if is_same { CopiedKeys::Same } else { CopiedKeys::Made }
        }
    }
}

/// Whether the copy makes values that were not there: of stored generated columns, of default expressions,
/// numbers of a column that begins to count.
pub fn computes_values(after: &TableDef, before: &TableDef, sources: &[ColumnSource]) -> bool {
    let mut columns = after.columns.iter().zip(sources);
    newly_enforced(before, after).next().is_some()
        || computed_columns(after, before, sources).next().is_some()
        || columns.any(|(column, source)| match source {
            ColumnSource::Old(old) => begins_to_count(column, &before.columns[*old]),
            ColumnSource::New => false,
        })
}

/// The columns whose values the copy makes; hidden ones are keys of expressions.
pub fn computed_columns<'a>(
    after: &'a TableDef,
    before: &'a TableDef,
    sources: &'a [ColumnSource],
) -> impl Iterator<Item = &'a ColumnDef> {
    let is_computed = |(column, source): &(&ColumnDef, &ColumnSource)| match (&column.generated, source) {
        (Some(generated), ColumnSource::New) => generated.stored || column.hidden,
        (Some(generated), ColumnSource::Old(old)) => {
            generated.stored && before.columns[*old].generated.as_ref() != Some(generated)
        }
        (None, ColumnSource::New) => matches!(column.default, ColumnDefault::Expression { .. }),
        (None, ColumnSource::Old(old)) => before.columns[*old].generated.is_some(),
    };
    after.columns.iter().zip(sources).filter(is_computed).map(|(column, _)| column)
}

/// A kept index whose parts are no longer the same columns.
fn changed_parts(index: &IndexDef, old: &TableDef, sources: &[ColumnSource]) -> bool {
    let Some(before) = old.index_by_id(index.id).filter(|_| index.tree != 0) else { return false };
    let is_same = |(part, before): (&IndexPart, &IndexPart)| {
        sources[part.column] == ColumnSource::Old(before.column)
            && IndexPart { column: before.column, ..part.clone() } == *before
    };
    before.parts.len() != index.parts.len() || !index.parts.iter().zip(&before.parts).all(is_same)
}

/// What rows that are there have in a new column. Of a virtual one, which they lack, the value itself has no meaning.
fn constant_of(column: &ColumnDef, conversion: &Conversion<'_>) -> Option<Value> {
    match &column.default {
        ColumnDefault::None => Some(column.column_type.implicit_default()),
        ColumnDefault::Null => Some(Value::Null),
        ColumnDefault::Value { value, .. } => Some(value.clone()),
        ColumnDefault::CurrentTimestamp { .. } => Some(conversion.now(&column.column_type)),
        ColumnDefault::Expression { .. } => None,
    }
}

/// Whether a new column would have the zero date in rows that are there, which the SQL mode forbids.
fn lacks_date(column: &ColumnDef, conversion: &Conversion<'_>) -> bool {
    matches!(column.default, ColumnDefault::None)
        && column.generated.is_none()
        && matches!(column.column_type.kind, TypeKind::Date | TypeKind::DateTime { .. })
        && conversion.refuses_zero_dates()
}

/// Whether rows cannot get a value in one of the new columns, so that each of them has to be asked for.
pub fn adds_lacking_dates(alteration: &Alteration, conversion: &Conversion<'_>) -> bool {
    let mut columns = alteration.after.columns.iter().zip(&alteration.sources);
    columns.any(|(column, source)| matches!(source, ColumnSource::New) && lacks_date(column, conversion))
}

/// Where the values of one column come from.
enum ValueSource {
    /// There is none: error 1292.
    Lacking,
    Same(usize),
    Converted(usize),
    Constant(Value),
    /// The next number.
    Counter,
    /// What was there, converted; the next number in place of NULL and, unless the mode says otherwise, of 0.
    Counted(usize),
    /// A default expression.
    Computed,
    /// By the rules of the table.
    Generated,
}

/// Copies rows from one form of their table to another.
pub struct Converter<'a> {
    conversion: Conversion<'a>,
    definer: &'a dyn Definer,
    before: &'a TableDef,
    after: &'a TableDef,
    sources: Vec<ValueSource>,
    row_number: u64,
    next_number: u64,
    maker: &'a dyn RowMaker,
}

impl<'a> Converter<'a> {
    /// A copy from one form of the table to the other.
    pub fn new(
        definer: &'a dyn Definer,
        conversion: Conversion<'a>,
        before: &'a TableDef,
        after: &'a TableDef,
        sources: &[ColumnSource],
        maker: &'a dyn RowMaker,
    ) -> Converter<'a> {
        let sources = after.columns.iter().zip(sources).map(|(column, source)| match source {
            _ if column.generated.is_some() => ValueSource::Generated,
            ColumnSource::Old(position) if begins_to_count(column, &before.columns[*position]) => {
                ValueSource::Counted(*position)
            }
            ColumnSource::Old(position) => {
                match before.columns[*position].column_type == column.column_type {
                    true => ValueSource::Same(*position),
                    false => ValueSource::Converted(*position),
                }
            }
            ColumnSource::New if column.auto_increment => ValueSource::Counter,
            ColumnSource::New if lacks_date(column, &conversion) => ValueSource::Lacking,
            ColumnSource::New => {
                constant_of(column, &conversion).map_or(ValueSource::Computed, ValueSource::Constant)
            }
        });
        let sources = sources.collect();
        let next_number = after.auto_increment_start.max(1);
        Converter { conversion, definer, before, after, sources, row_number: 0, next_number, maker }
    }

    /// What a column that may be NULL no longer has instead: error 1138 in strict mode.
    fn in_place_of_null(&self, position: usize) -> Result<Value, SqlError> {
        if self.conversion.is_strict() {
            return Err(error_code::ER_INVALID_USE_OF_NULL.plain());
        }
        let column = &self.after.columns[position];
        let warning = error_code::WARN_DATA_TRUNCATED.with(&[&column.name, &self.row_number]);
        self.definer.tell(warning.into_warning());
        Ok(match column.column_type.kind {
            TypeKind::Enum(_) => Value::Enum(0),
            _ => column.column_type.implicit_default(),
        })
    }

    /// Error 1467 when the column has no room for the number.
    fn take_number(&mut self, position: usize) -> Result<Value, SqlError> {
        let number = Value::UInt(self.next_number);
        let column = &self.after.columns[position];
        let counter = ColumnType::bigint_unsigned();
        match self.conversion.copied_value(&number, &counter, column, self.row_number) {
            Ok((value, None)) => {
                self.next_number += 1;
                Ok(value)
            }
            _ => Err(error_code::ER_AUTOINC_READ_FAILED.plain()),
        }
    }

    /// Later numbers follow the value that a row had.
    fn counted(&mut self, position: usize, old: usize, value: &Value) -> Result<Value, SqlError> {
        if value.is_null() {
            return self.take_number(position);
        }
        let from = &self.before.columns[old].column_type;
        let column = &self.after.columns[position];
        let (value, told) = self.conversion.copied_value(value, from, column, self.row_number)?;
        if let Some(condition) = told {
            self.definer.tell(condition);
        }
        match value {
            Value::Int(0) | Value::UInt(0) if !self.conversion.keeps_zeros() => self.take_number(position),
            Value::Int(number) if number > 0 => {
                self.next_number = self.next_number.max(number as u64 + 1);
                Ok(value)
            }
            Value::UInt(number) => {
                self.next_number = self.next_number.max(number.saturating_add(1));
                Ok(value)
            }
            _ => Ok(value),
        }
    }

    fn no_date(&self, position: usize) -> SqlError {
        let column = &self.after.columns[position];
        let name = if column.column_type.kind == TypeKind::Date { "date" } else { "datetime" };
        let zero = column.column_type.implicit_default();
        let text = String::from_utf8_lossy(&zero.to_text(&column.column_type)).into_owned();
        error_code::ER_INCORRECT_VALUE_FOR_COLUMN.with(&[&name, &text, &column.name, &self.row_number])
    }

    fn convert_one(&mut self, position: usize, value: &Value) -> Result<Value, SqlError> {
        let column = &self.after.columns[position];
        if value.is_null() {
            return match column.nullable() {
                true => Ok(Value::Null),
                false => self.in_place_of_null(position),
            };
        }
        let ValueSource::Converted(old) = &self.sources[position] else { return Ok(value.clone()) };
        let from = &self.before.columns[*old].column_type;
        let stored = self.conversion.copied_value(value, from, column, self.row_number)?;
        if let Some(condition) = stored.1 {
            self.definer.tell(condition);
        }
        Ok(stored.0)
    }
}

impl RowConverter for Converter<'_> {
    fn convert(&mut self, row: &[Value], converted: &mut Vec<Value>) -> Result<(), SqlError> {
        self.row_number += 1;
        for position in 0..self.sources.len() {
            let value = match &self.sources[position] {
                ValueSource::Same(old) => row[*old].clone(),
                ValueSource::Converted(old) => self.convert_one(position, &row[*old])?,
                ValueSource::Constant(value) => value.clone(),
                ValueSource::Lacking => return Err(self.no_date(position)),
                ValueSource::Counter => self.take_number(position)?,
                ValueSource::Counted(old) => {
                    let old = *old;
                    self.counted(position, old, &row[old])?
                }
                ValueSource::Computed | ValueSource::Generated => Value::Null,
            };
            converted.push(value);
        }
        for position in 0..self.sources.len() {
            if matches!(self.sources[position], ValueSource::Computed) {
                converted[position] = self.maker.default_value(position, converted, self.row_number)?;
            }
        }
        self.maker.finish(converted, self.row_number)
    }
}
