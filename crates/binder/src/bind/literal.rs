//! Literals and parameters.
use crate::binder::Binder;
use crate::context::Literals;
use collation::{Charset, CollationId};
use datum::{ColumnType, Date, DateTime, Decimal, SqlError, Time, TypeKind, Value, error_code};
use expression::{Coercibility, Expr};
use parser::ast;

impl Binder<'_> {
    pub fn bind_literal(&mut self, literal: &ast::Literal<'_>) -> Result<Expr, SqlError> {
        let constant = self.bind_constant(literal)?;
        if self.context.literals == Literals::Inline {
            return Ok(constant);
        }
        let mut ty = constant.ty;
        // The plan serves texts with other values: only what their digests have in common may shape it.
        match ty.column.kind {
            TypeKind::LongLong => ty.column.length = 20,
            TypeKind::VarChar | TypeKind::VarBinary => ty.column.length = 255,
            _ => {}
        }
        let ordinal = literal.ordinal.0 as usize;
        self.note_parameter(ordinal, Some(ty.column.clone()));
        Ok(Expr { kind: expression::ExprKind::Parameter(ordinal), ty })
    }

    /// The literal itself, also when literals become parameters (its value decides the statement's meaning).
    pub fn bind_constant(&mut self, literal: &ast::Literal<'_>) -> Result<Expr, SqlError> {
        Ok(match literal.value {
            ast::LiteralValue::Integer(number) => integer(number),
            ast::LiteralValue::Decimal(text) => self.decimal(text)?,
            ast::LiteralValue::Float(text) => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => {
                    Expr::literal(Value::Double(number), ColumnType::double().not_null())
                }
                _ => return Err(error_code::ER_DATA_OUT_OF_RANGE.with(&[&"DOUBLE", &text])),
            },
            ast::LiteralValue::String { bytes, charset: None } => self.context.bind.text_literal(bytes),
            ast::LiteralValue::String { bytes, charset: Some(charset) } => {
                introduced(&self.context.bind.as_sent(bytes), charset)?
            }
            ast::LiteralValue::Hex { bytes, charset: Some(charset) }
            | ast::LiteralValue::Bit { bytes, charset: Some(charset) } => introduced(bytes, charset)?,
            ast::LiteralValue::Hex { bytes, charset: None } => Expr::hex_literal(bytes),
            ast::LiteralValue::Bit { bytes, charset: None } => Expr::bit_literal(bytes),
        })
    }

    pub fn bind_parameter(&mut self, index: usize) -> Expr {
        let column_type = self.context.parameter_types.get(index).cloned();
        self.note_parameter(index, column_type.clone());
        Expr::parameter(index, column_type.unwrap_or(ColumnType::new(TypeKind::Null)))
    }

    /// A variable of a stored program: its collation is that of a column.
    pub fn bind_local(&mut self, local: &ast::Local<'_>) -> Expr {
        let mut expr = self.bind_parameter(local.index.0 as usize);
        expr.ty.coercibility = Coercibility::Implicit;
        expr.ty.name = Some(local.shown.into());
        expr
    }

    fn note_parameter(&mut self, index: usize, column_type: Option<ColumnType>) {
        if self.parameter_types.len() <= index {
            self.parameter_types.resize(index + 1, None);
        }
        self.parameter_types[index] = column_type;
    }

    pub fn bind_temporal(
        &mut self,
        kind: ast::TemporalKind,
        literal: &ast::Literal<'_>,
    ) -> Result<Expr, SqlError> {
        let ast::LiteralValue::String { bytes, .. } = literal.value else {
            return Err(error_code::ER_WRONG_VALUE.with(&[&type_word(kind), &"?"]));
        };
        // The value was read from the text, so the plan is for this text only.
        self.shareable &= self.context.literals == Literals::Inline;
        let wrong = || {
            let text = String::from_utf8_lossy(bytes).into_owned();
            error_code::ER_WRONG_VALUE.with(&[&type_word(kind), &text])
        };
        let (value, column_type) = match kind {
            ast::TemporalKind::Date => {
                let date = Date::parse(bytes, false).filter(|parsed| !parsed.truncated).ok_or_else(wrong)?;
                (Value::Date(date.value), ColumnType::new(TypeKind::Date))
            }
            ast::TemporalKind::Time => {
                let time = Time::parse(bytes).filter(|parsed| !parsed.truncated).ok_or_else(wrong)?;
                let fsp = fraction_digits(bytes);
                (Value::Time(time.value), ColumnType::new(TypeKind::Time { fsp }))
            }
            ast::TemporalKind::Timestamp => {
                let at =
                    DateTime::parse(bytes, false).filter(|parsed| !parsed.truncated).ok_or_else(wrong)?;
                let fsp = fraction_digits(bytes);
                if at.offset_seconds.is_some() {
                    // It is shown in the session's zone, which the plan is not for.
                    let text = self.context.bind.text_literal(bytes);
                    return self.context.bind.cast(text, ColumnType::new(TypeKind::DateTime { fsp }));
                }
                (Value::DateTime(at.value), ColumnType::new(TypeKind::DateTime { fsp }))
            }
        };
        Ok(Expr::literal(value, column_type.not_null()))
    }
}

impl Binder<'_> {
    /// A number with more digits than there are is the greatest of a column, with a warning.
    fn decimal(&self, text: &str) -> Result<Expr, SqlError> {
        let parsed = Decimal::parse_prefix(text.as_bytes());
        if parsed.consumed != text.len() || text.is_empty() {
            return Err(error_code::ER_DATA_OUT_OF_RANGE.with(&[&"DECIMAL", &text]));
        }
        if parsed.is_overflow {
            let shown = &text[..text.len().min(usize::from(datum::COMPUTED_DIGITS_MAX))];
            let warning = datum::truncated("DECIMAL", shown.as_bytes()).into_warning();
            self.context.bind.conditions.borrow_mut().push(warning);
        }
        Ok(decimal(parsed.value))
    }
}

/// Digits after the point, at most six.
fn fraction_digits(text: &[u8]) -> u8 {
    let fraction = text.iter().rposition(|byte| *byte == b'.').map_or(&[][..], |point| &text[point + 1..]);
    fraction.iter().take_while(|byte| byte.is_ascii_digit()).count().min(6) as u8
}

fn decimal(number: Decimal) -> Expr {
    // The type has no more digits than a column's, whatever the number has.
    let digits = number.digit_count().max(u32::from(number.scale()) + 1).min(u32::from(datum::PRECISION_MAX));
    let column_type = ColumnType::decimal(digits as u8, number.scale().min(datum::SCALE_MAX)).not_null();
    Expr::literal(Value::Decimal(number), column_type)
}

fn type_word(kind: ast::TemporalKind) -> &'static str {
    match kind {
        ast::TemporalKind::Date => "DATE",
        ast::TemporalKind::Time => "TIME",
        ast::TemporalKind::Timestamp => "DATETIME",
    }
}

pub fn integer(number: u64) -> Expr {
    let digits = number.checked_ilog10().unwrap_or(0) + 1;
    match i64::try_from(number) {
        Ok(signed) => {
            // With room for a sign.
            let column_type = ColumnType { length: digits + 1, ..ColumnType::bigint().not_null() };
            Expr::literal(Value::Int(signed), column_type)
        }
        Err(_) => {
            let column_type = ColumnType { length: digits, ..ColumnType::bigint_unsigned().not_null() };
            Expr::literal(Value::UInt(number), column_type)
        }
    }
}

/// `_charset'text'`: the bytes are taken as they are.
fn introduced(bytes: &[u8], charset: &str) -> Result<Expr, SqlError> {
    let Some(charset) = Charset::by_name(charset) else {
        return Err(error_code::ER_UNKNOWN_CHARACTER_SET.with(&[&charset]));
    };
    let collation = charset.default_collation();
    let column_type = match collation {
        CollationId::BINARY => ColumnType::varbinary(bytes.len() as u32),
        _ => ColumnType::varchar(bytes.len() as u32, collation),
    };
    Ok(Expr::literal(Value::bytes(bytes), column_type.not_null()))
}
