//! The defaults of columns: the literal of a DEFAULT clause as a value of the column's type, checked as strictly
//! as MySQL checks it (anything that does not fit is error 1067).
use std::sync::Arc;

use collation::Charset;
use datum::{ColumnType, Decimal, MomentContext, SqlError, Timestamp, TypeKind, Value, error_code};
use expression::EvalContext;
use parser::ast::Expr;
use plan::{NodeKind, PlanKind};
use planner::Literals;
use schema::{ColumnDef, ColumnDefault};

use super::Request;
use crate::definition::DefinitionContext;
use crate::session::Session;

type MakeDefault<'a> = Box<dyn Fn(&Expr<'_>, &ColumnDef) -> Result<ColumnDefault, SqlError> + 'a>;

/// Owns what a `DefinitionContext` borrows.
pub(crate) struct DefinitionSource<'a> {
    literal: MakeDefault<'a>,
    expression: MakeDefault<'a>,
    session: &'a Session,
}

impl DefinitionSource<'_> {
    pub fn context(&self) -> DefinitionContext<'_> {
        DefinitionContext {
            sql_mode: self.session.settings.sql_mode,
            default_engine: &self.session.settings.default_engine,
            require_primary_key: self.session.settings.require_primary_key,
            literal_default: &self.literal,
            expression_default: &self.expression,
            conditions: Vec::new(),
        }
    }
}

impl Session {
    pub(crate) fn definition_context<'a>(&'a self, request: Request<'a>) -> DefinitionSource<'a> {
        DefinitionSource {
            literal: Box::new(|expr, column| self.literal_default(expr, column)),
            expression: Box::new(move |expr, column| self.expression_default(expr, column, request.text)),
            session: self,
        }
    }

    fn literal_default(&self, expr: &Expr<'_>, column: &ColumnDef) -> Result<ColumnDefault, SqlError> {
        let invalid = || error_code::ER_INVALID_DEFAULT.with(&[&column.name]);
        let (value, column_type) = self.constant(expr).ok_or_else(invalid)?;
        let stored = self.store(&value, &column_type, &column.column_type).ok_or_else(invalid)?;
        let text = self.default_text(&stored, &column.column_type);
        Ok(ColumnDefault::Value { value: stored, text })
    }

    fn expression_default(
        &self,
        expr: &Expr<'_>,
        column: &ColumnDef,
        text: &[u8],
    ) -> Result<ColumnDefault, SqlError> {
        // Planning finds unknown names and functions now instead of at the first INSERT.
        let context = self.planner_context(Literals::Inline, &[]);
        planner::plan_expressions(std::slice::from_ref(expr), self, &context)?;
        let _ = column;
        Ok(ColumnDefault::Expression { text: String::from_utf8_lossy(expr.span.of(text)).into_owned() })
    }

    /// The value of an expression that needs neither rows nor waiting.
    fn constant(&self, expr: &Expr<'_>) -> Option<(Value, ColumnType)> {
        let context = self.planner_context(Literals::Inline, &[]);
        let plan = planner::plan_expressions(std::slice::from_ref(expr), self, &context).ok()?;
        let PlanKind::Query(query) = &plan.kind else { return None };
        let NodeKind::Project { expressions, .. } = &query.root.kind else { return None };
        let [expression] = expressions.as_slice() else { return None };
        let eval = EvalContext::new(Arc::new(self.expression_settings()), self.shared.clone());
        let value = expression.eval(&[], &eval).ok()?;
        Some((value, expression.ty.column.clone()))
    }

    /// The value in the column's type; `None` when it does not fit exactly enough.
    pub(crate) fn store(&self, value: &Value, from: &ColumnType, to: &ColumnType) -> Option<Value> {
        use TypeKind::*;
        let mut exact = true;
        let mut warn = |_| exact = false;
        let stored = match &to.kind {
            Tiny => store_integer(value.to_integer(from, &mut warn)?, 8, to.unsigned),
            Short => store_integer(value.to_integer(from, &mut warn)?, 16, to.unsigned),
            Int24 => store_integer(value.to_integer(from, &mut warn)?, 24, to.unsigned),
            Long => store_integer(value.to_integer(from, &mut warn)?, 32, to.unsigned),
            LongLong => store_integer(value.to_integer(from, &mut warn)?, 64, to.unsigned),
            Decimal { precision, scale } => {
                store_decimal(&value.to_decimal(from, &mut warn)?, *precision, *scale, to.unsigned)
            }
            Float { .. } => Some(Value::Float(value.to_f64(from, &mut warn)? as f32)),
            Double { .. } => Some(Value::Double(value.to_f64(from, &mut warn)?)),
            Char | VarChar | Binary | VarBinary => store_text(value, from, to),
            Year => store_year(value.to_integer(from, &mut warn)?, value),
            Bit(bits) => {
                let number = match value {
                    Value::Bytes(bytes) if bytes.len() <= 8 => {
                        bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte))
                    }
                    other => u64::try_from(other.to_integer(from, &mut warn)?).ok()?,
                };
                (u32::from(*bits) == 64 || number >> bits == 0).then_some(Value::Bit(number))
            }
            Enum(_) | Set(_) => store_member(value, from, to),
            Date | Time { .. } | DateTime { .. } | Timestamp { .. } => self.store_moment(value, from, to),
            _ => None,
        };
        stored.filter(|_| exact)
    }

    fn store_moment(&self, value: &Value, from: &ColumnType, to: &ColumnType) -> Option<Value> {
        let settings = self.expression_settings();
        let today = settings.time_zone.to_local(settings.now_utc_micros)?.date();
        let context =
            MomentContext { zone: &self.settings.time_zone, mode: self.settings.sql_mode, today };
        if let TypeKind::Time { fsp } = to.kind {
            let parsed = value.to_time(from, &context).ok()?;
            return (!parsed.truncated).then(|| Value::Time(parsed.value.rounded(fsp)));
        }
        let parsed = value.to_datetime(from, &context).ok().filter(|parsed| !parsed.truncated)?.value;
        let mode = self.settings.sql_mode;
        let date = parsed.date();
        let is_refused = mode.is_strict()
            && ((date.is_zero() && mode.contains(datum::SqlMode::NO_ZERO_DATE))
                || (!date.is_zero() && date.has_zero_part() && mode.contains(datum::SqlMode::NO_ZERO_IN_DATE)));
        if is_refused {
            return None;
        }
        match to.kind {
            TypeKind::Date => Some(Value::Date(date)),
            TypeKind::DateTime { fsp } => parsed.rounded(fsp).map(Value::DateTime),
            _ if parsed.is_zero() => Timestamp::from_unix_micros(0).map(Value::Timestamp),
            TypeKind::Timestamp { fsp } => {
                Timestamp::from_zone(parsed.rounded(fsp)?, &self.settings.time_zone).map(Value::Timestamp)
            }
            _ => None,
        }
    }

    /// What SHOW CREATE TABLE quotes.
    fn default_text(&self, value: &Value, column_type: &ColumnType) -> String {
        if let (Value::Bit(bits), TypeKind::Bit(_)) = (value, &column_type.kind) {
            return format!("b'{bits:b}'");
        }
        let shown = value.in_session_zone(&self.settings.time_zone);
        let text = shown.to_text(column_type);
        let charset = column_type.collation.charset();
        let text = charset.convert_to(Charset::Utf8mb4, &text).bytes;
        let text = String::from_utf8_lossy(&text).into_owned();
        match column_type.zerofill {
            true => format!("{text:0>width$}", width = column_type.length as usize),
            false => text,
        }
    }
}

fn store_integer(number: i128, bits: u32, unsigned: bool) -> Option<Value> {
    let (low, high) = match unsigned {
        true => (0, (1i128 << bits) - 1),
        false => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
    };
    if !(low..=high).contains(&number) {
        return None;
    }
    Some(if unsigned { Value::UInt(number as u64) } else { Value::Int(number as i64) })
}

fn store_decimal(number: &Decimal, precision: u8, scale: u8, unsigned: bool) -> Option<Value> {
    let rounded = number.round(i32::from(scale)).ok()?.rescale(scale).ok()?;
    let fits = rounded.integer_digit_count() <= u32::from(precision - scale);
    let fits = (fits || rounded.is_zero()) && !(unsigned && rounded.is_negative());
    fits.then_some(Value::Decimal(rounded))
}

fn store_text(value: &Value, from: &ColumnType, to: &ColumnType) -> Option<Value> {
    let text = value.to_text(from);
    let (source, target) = (from.collation.charset(), to.collation.charset());
    let is_text = from.collation != collation::CollationId::BINARY;
    let source = if is_text { source } else { Charset::Binary };
    let converted = source.convert_to(target, &text);
    let mut bytes = converted.bytes;
    let limit = to.length as usize;
    if converted.is_lossy || target.character_count(&bytes) > limit {
        return None;
    }
    if to.kind == TypeKind::Binary {
        bytes.resize(limit, 0);
    }
    if to.kind == TypeKind::Char {
        let kept = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
        bytes.truncate(kept);
    }
    Some(Value::Bytes(bytes))
}

fn store_year(number: i128, value: &Value) -> Option<Value> {
    let is_text = matches!(value, Value::Bytes(_));
    let year = match number {
        0 if is_text => 2000,
        0 => 0,
        1..=69 => number + 2000,
        70..=99 => number + 1900,
        1901..=2155 => number,
        _ => return None,
    };
    Some(Value::Year(year as u16))
}

fn store_member(value: &Value, from: &ColumnType, to: &ColumnType) -> Option<Value> {
    let text = match value {
        Value::Bytes(bytes) => from.collation.charset().convert_to(to.collation.charset(), bytes).bytes,
        _ => return None,
    };
    let position = |members: &datum::Members, wanted: &[u8]| {
        members.iter().position(|member| to.collation.equal(member, wanted))
    };
    match &to.kind {
        TypeKind::Enum(members) => position(members, &text).map(|at| Value::Enum(at as u16 + 1)),
        TypeKind::Set(members) => {
            let mut bits = 0;
            for word in text.split(|byte| *byte == b',').filter(|word| !word.is_empty()) {
                bits |= 1 << position(members, word)?;
            }
            Some(Value::Set(bits))
        }
        _ => None,
    }
}
