//! Types of `?` markers: what a value is taken for that is not there yet, or is NULL, from where its marker stands.
//!
//! PREPARE tells clients these types. A value that has come keeps its own type, but for numbers and moments that a
//! function has to have in its own kind; if a value has a kind that such a function does not convert, the statement
//! is planned anew, and all values keep their types. Invariant: without markers (`Markers::default`) nothing here
//! changes an expression. Callers: the constructors of `build`, aggregates, and the planner for values it stores.
use std::cell::{Cell, RefCell};

use collation::CollationId;
use datum::{ColumnType, SqlError, TypeKind, Value};

use super::BindContext;
use super::reading::Reading;
use crate::expr::{Coercibility, Expr, ExprKind};
use crate::interval::IntervalUnit;

/// The markers of a statement that is prepared or executed.
#[derive(Clone, Debug, Default)]
pub struct Markers {
    is_used: bool,
    keeps_types: bool,
    types: RefCell<Vec<Option<ColumnType>>>,
    is_refused: Cell<bool>,
}

impl Markers {
    /// Parameters are markers. With `keeps_types` no value is converted.
    pub fn of_statement(keeps_types: bool) -> Markers {
        Markers { is_used: true, keeps_types, ..Markers::default() }
    }

    pub(crate) fn is_of_statement(&self) -> bool {
        self.is_used
    }

    /// Whether a value has a type that only a plan which keeps types can serve.
    pub fn is_refused(&self) -> bool {
        self.is_refused.get()
    }

    /// The type of each marker, as far as they are known.
    pub fn types(&self) -> Vec<Option<ColumnType>> {
        self.types.borrow().clone()
    }

    fn note(&self, index: usize, column: &ColumnType) {
        let mut types = self.types.borrow_mut();
        if types.len() <= index {
            types.resize(index + 1, None);
        }
        types[index].get_or_insert_with(|| column.clone());
    }
}

/// What a function takes an argument for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wanted {
    Integer,
    /// A DOUBLE or DECIMAL that other numbers are converted to.
    Double,
    Decimal,
    /// A DECIMAL that is told, while values keep their types.
    ToldDecimal,
    Text,
    Date,
    Moment,
    /// A moment that texts become, while numbers stay what they are.
    ToldMoment,
    /// A moment that is told and that texts become which are one.
    MomentOrTime,
    /// A moment that is told, while values keep their types.
    KeptMoment,
    /// A TIME that values are converted to, and one that is told.
    Time,
    ToldTime,
    Document,
    Bits,
}

const VARCHAR_BYTES_MAX: u32 = 65_535;
/// What MySQL shows a BIGINT marker as wide as.
const INTEGER_WIDTH: u32 = 21;

/// The type of a marker beside a value of the type.
fn beside(column: &ColumnType, connection: CollationId) -> ColumnType {
    let text = |collation: CollationId| {
        ColumnType::varchar(VARCHAR_BYTES_MAX / collation.charset().bytes_per_character_max(), collation)
    };
    let integer = |unsigned| ColumnType { unsigned, length: INTEGER_WIDTH, ..ColumnType::bigint() };
    match column.kind {
        ref kind if kind.is_integer() => integer(column.unsigned),
        TypeKind::Decimal { .. } => ColumnType::decimal(65, 30),
        TypeKind::Float { .. } | TypeKind::Double { .. } => ColumnType::double(),
        TypeKind::Date => ColumnType::new(TypeKind::Date),
        TypeKind::Time { .. } => ColumnType::new(TypeKind::Time { fsp: 6 }),
        TypeKind::DateTime { .. } | TypeKind::Timestamp { .. } => {
            ColumnType::new(TypeKind::DateTime { fsp: 6 })
        }
        TypeKind::Year => ColumnType::new(TypeKind::Year),
        TypeKind::Bit(_) => ColumnType::new(TypeKind::Bit(64)),
        TypeKind::Json => ColumnType::new(TypeKind::Json),
        ref kind if kind.is_string() && !column.is_text() => ColumnType::varbinary(VARCHAR_BYTES_MAX),
        _ if column.is_text() => text(column.collation),
        _ => text(connection),
    }
}

impl BindContext {
    /// The marker of an expression that is one.
    fn marker(&self, expr: &Expr) -> Option<usize> {
        match expr.kind {
            ExprKind::Parameter(index) if self.markers.is_used => Some(index),
            _ => None,
        }
    }

    fn wanted_type(&self, wanted: Wanted) -> ColumnType {
        let sample = match wanted {
            Wanted::Integer => ColumnType::bigint(),
            Wanted::Double => ColumnType::double(),
            Wanted::Decimal | Wanted::ToldDecimal => ColumnType::decimal(65, 30),
            Wanted::Text => ColumnType::varchar(0, self.connection_collation),
            Wanted::Date => ColumnType::new(TypeKind::Date),
            Wanted::Moment | Wanted::ToldMoment | Wanted::KeptMoment | Wanted::MomentOrTime => {
                ColumnType::new(TypeKind::DateTime { fsp: 6 })
            }
            Wanted::Time | Wanted::ToldTime => ColumnType::new(TypeKind::Time { fsp: 6 }),
            Wanted::Document => ColumnType::new(TypeKind::Json),
            Wanted::Bits => ColumnType::varbinary(VARCHAR_BYTES_MAX),
        };
        beside(&sample, self.connection_collation)
    }

    /// A marker that nothing else says a type of is text.
    pub fn text_marker(&self, expr: &mut Expr) {
        self.derive(expr, self.wanted_type(Wanted::Text));
    }

    /// A text marker that is a binary string of at most so many bytes.
    pub(crate) fn short_bits_marker(&self, expr: &mut Expr, bytes: u32) {
        let column = ColumnType::varbinary(bytes);
        self.derive(expr, column.clone());
        if self.marker(expr).is_some() && expr.ty.column.kind.is_string() {
            expr.ty.column = column;
        }
    }

    /// A marker that counts rows.
    pub fn count_marker(&self, expr: &mut Expr) {
        self.derive(expr, ColumnType { unsigned: true, ..self.wanted_type(Wanted::Integer) });
    }

    /// A marker whose value is stored into a column or is compared with it.
    pub fn marker_beside(&self, expr: &mut Expr, column: &ColumnType) {
        let mut derived = beside(column, self.connection_collation);
        if column.kind.is_large_object() && column.is_text() {
            derived = ColumnType { collation: column.collation, ..ColumnType::new(TypeKind::LongText) };
        }
        self.derive(expr, derived);
    }

    fn derive(&self, expr: &mut Expr, column: ColumnType) {
        let Some(index) = self.marker(expr) else { return };
        self.markers.note(index, &column);
        if expr.ty.column.kind == TypeKind::Null {
            let is_text = column.kind.is_string();
            expr.ty.coercibility = if is_text { Coercibility::Coercible } else { Coercibility::Numeric };
            expr.ty.column = column;
        }
    }

    /// The markers among values that become or are compared with one another have the type of what is none.
    pub(crate) fn derive_together(&self, exprs: &mut [Expr]) {
        if !self.markers.is_used || exprs.iter().all(|expr| self.marker(expr).is_none()) {
            return;
        }
        let others = exprs.iter().filter(|expr| self.marker(expr).is_none());
        let others: Vec<&ColumnType> =
            others.map(|expr| &expr.ty.column).filter(|column| column.kind != TypeKind::Null).collect();
        let column = match others.first() {
            Some(_) => beside(
                &super::merge::merged_type(&others, super::Merging::Value),
                others
                    .iter()
                    .find(|column| column.is_text())
                    .map_or(self.connection_collation, |text| text.collation),
            ),
            None => self.wanted_type(Wanted::Text),
        };
        exprs.iter_mut().for_each(|expr| self.derive(expr, column.clone()));
    }

    pub(crate) fn derive_pair(&self, left: &mut Expr, right: &mut Expr) {
        if !self.markers.is_used {
            return;
        }
        match (self.marker(left), self.marker(right)) {
            (Some(_), None) => self.derive(left, beside(&right.ty.column, self.connection_collation)),
            (None, Some(_)) => self.derive(right, beside(&left.ty.column, self.connection_collation)),
            (Some(_), Some(_)) => {
                self.text_marker(left);
                self.text_marker(right);
            }
            (None, None) => {}
        }
    }

    /// A marker where a function wants a kind of value.
    pub(crate) fn expect(&self, expr: &mut Expr, wanted: Wanted) -> Result<(), SqlError> {
        if self.marker(expr).is_none() {
            return Ok(());
        }
        let column = self.wanted_type(wanted);
        let actual = expr.ty.column.kind.clone();
        self.derive(expr, column.clone());
        let is_number = actual.is_integer() || matches!(actual, TypeKind::Decimal { .. });
        let (is_converted, is_refused) = match wanted {
            _ if actual == TypeKind::Null => (false, false),
            Wanted::Double => (is_number, actual.is_temporal()),
            Wanted::Decimal => {
                (is_number || actual.is_string(), actual.is_temporal() || actual.is_floating())
            }
            Wanted::ToldMoment => (actual.is_string(), false),
            Wanted::MomentOrTime => (actual.is_string() && !self.is_no_moment(expr), false),
            Wanted::Date | Wanted::Moment | Wanted::Time => {
                let is_other_moment = match wanted {
                    Wanted::Time => actual.has_date(),
                    Wanted::Moment => matches!(actual, TypeKind::Time { .. }),
                    _ => false,
                };
                (!actual.is_temporal() || is_other_moment, false)
            }
            _ => (false, false),
        };
        if is_refused && !self.markers.keeps_types {
            self.markers.is_refused.set(true);
        }
        if is_converted && !self.markers.keeps_types {
            let value = std::mem::replace(expr, Expr::null());
            *expr = self.convert(value, column)?;
        }
        Ok(())
    }

    /// Whether the marker's text is no moment; the plan depends on that.
    fn is_no_moment(&self, expr: &Expr) -> bool {
        let Some(Value::Bytes(text)) = self.peek(expr) else { return false };
        self.relies_on(expr, Reading::Moment { lenient: true });
        datum::DateTime::parse(&text, true).is_none()
    }

    /// The markers among a function's arguments.
    pub(crate) fn expect_arguments(&self, name: &str, arguments: &mut [Expr]) -> Result<(), SqlError> {
        if !self.markers.is_used || arguments.iter().all(|argument| self.marker(argument).is_none()) {
            return Ok(());
        }
        if matches!(name, "ifnull" | "coalesce" | "greatest" | "least" | "field" | "nullif") {
            self.derive_together(arguments);
            return Ok(());
        }
        for (place, argument) in arguments.iter_mut().enumerate() {
            self.expect(argument, wanted_by(name, place))?;
        }
        Ok(())
    }

    /// The markers of `date ± INTERVAL amount unit`.
    pub(crate) fn expect_interval(
        &self,
        date: &mut Expr,
        amount: &mut Expr,
        unit: IntervalUnit,
    ) -> Result<(), SqlError> {
        // A time is one of today unless the statement is planned anew for the amount.
        let is_time =
            matches!(date.ty.column.kind, TypeKind::Time { .. }) && !amount.ty.column.kind.is_floating();
        self.expect(date, if unit.has_time() || is_time { Wanted::Moment } else { Wanted::Date })?;
        let wanted = match unit {
            IntervalUnit::Second => Wanted::ToldDecimal,
            unit if unit.is_composite() => Wanted::Text,
            _ => Wanted::Integer,
        };
        self.expect(amount, wanted)
    }
}

/// What a function wants in an argument's place.
fn wanted_by(name: &str, place: usize) -> Wanted {
    use Wanted::{
        Bits, Decimal, Document, Double, Integer, KeptMoment, Moment, MomentOrTime, Text, Time, ToldDecimal,
        ToldMoment, ToldTime,
    };
    match (name, place) {
        (
            "abs" | "ceiling" | "ceil" | "floor" | "sign" | "sqrt" | "exp" | "ln" | "log" | "log2" | "log10"
            | "pow" | "power" | "sin" | "cos" | "tan" | "cot" | "asin" | "acos" | "atan" | "atan2"
            | "degrees" | "radians" | "rand" | "sleep",
            _,
        ) => Double,
        ("round" | "truncate", 0) => Decimal,
        ("format" | "sec_to_time" | "from_unixtime", 0) | ("maketime", 2) => ToldDecimal,
        ("date", 0) => ToldMoment,
        (
            "year" | "quarter" | "month" | "dayofweek" | "weekday" | "dayofyear" | "weekofyear" | "to_days"
            | "to_seconds" | "dayname" | "monthname" | "day" | "dayofmonth" | "last_day" | "unix_timestamp"
            | "week" | "yearweek" | "date_format",
            0,
        )
        | ("timestampdiff", 1 | 2) => ToldMoment,
        ("time_format" | "convert_tz" | "timestamp" | "datediff", 0) | ("datediff", 1) => Moment,
        ("time_to_sec" | "time", 0) => KeptMoment,
        ("hour" | "minute" | "second" | "microsecond", 0) | ("extract", 1) => MomentOrTime,
        ("timestamp", 1) => ToldTime,
        ("addtime" | "subtime", _) => Time,
        (
            "json_extract" | "json_contains" | "json_keys" | "json_length" | "json_depth" | "json_remove",
            0,
        )
        | ("json_set" | "json_insert" | "json_replace" | "json_array_append" | "json_array_insert", 0)
        | ("json_contains_path" | "json_search" | "json_type" | "json_pretty", 0)
        | ("member of" | "json_overlaps" | "json_merge_patch" | "json_merge_preserve", _) => Document,
        ("json_set" | "json_insert" | "json_replace" | "json_array_append" | "json_array_insert", place)
            if place % 2 == 0 =>
        {
            Document
        }
        ("bit_count", _) => Bits,
        (
            "makedate" | "period_add" | "period_diff" | "from_days" | "conv" | "bin" | "oct" | "interval",
            _,
        )
        | ("char" | "space" | "inet_ntoa", _)
        | (
            "substring" | "substr" | "mid" | "left" | "right" | "repeat" | "sha2" | "week" | "yearweek",
            1..,
        )
        | ("round" | "truncate" | "format" | "lpad" | "rpad", 1)
        | ("maketime", 0 | 1)
        | ("insert", 1 | 2)
        | ("locate" | "substring_index", 2)
        | ("elt" | "make_set" | "export_set" | "if", 0) => Integer,
        _ => Text,
    }
}
