//! Type rules shared by the functions: which conversions arguments get, and the type of the result.
use collation::{Charset, CollationId};
use datum::{ColumnType, SqlError, TypeKind, Value};

use super::width::text_width;
use crate::build::{BindContext, Reading, fraction_digits};
use crate::call::width::{MEDIUM_BYTES_MAX, VARCHAR_BYTES_MAX};
use crate::collations::Purpose;
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};

pub fn is_text(kind: &TypeKind) -> bool {
    use TypeKind::{
        Binary, Blob, Char, LongBlob, LongText, MediumBlob, MediumText, Text, TinyBlob, TinyText, VarBinary,
        VarChar,
    };
    matches!(
        kind,
        Char | VarChar
            | Binary
            | VarBinary
            | TinyText
            | Text
            | MediumText
            | LongText
            | TinyBlob
            | Blob
            | MediumBlob
            | LongBlob
    )
}

fn replace(expr: &mut Expr, make: impl FnOnce(Expr) -> Result<Expr, SqlError>) -> Result<(), SqlError> {
    let old = std::mem::replace(expr, Expr::null());
    *expr = make(old)?;
    Ok(())
}

/// Makes the argument text: numbers and temporals become text of the connection's character set.
pub fn cast_text(bind: &BindContext, expr: &mut Expr) -> Result<(), SqlError> {
    if is_text(&expr.ty.column.kind) || matches!(expr.ty.column.kind, TypeKind::Null) {
        return Ok(());
    }
    become_plain(bind, expr)?;
    let own = matches!(expr.ty.column.kind, TypeKind::Enum(_) | TypeKind::Set(_));
    let json = matches!(expr.ty.column.kind, TypeKind::Json);
    let bits = matches!(expr.ty.column.kind, TypeKind::Bit(_));
    let searched = searched_bytes(expr);
    let coercibility = match searched {
        Some(bytes) => bytes.ty.coercibility,
        None if own || json || bits => expr.ty.coercibility,
        None => Coercibility::Numeric,
    };
    let collation = match () {
        () if own => expr.ty.collation(),
        () if json => CollationId::UTF8MB4_BIN,
        () if bits || searched.is_some() => CollationId::BINARY,
        () => bind.connection_collation,
    };
    let length = text_width(expr);
    replace(expr, |old| bind.convert(old, text_column(length, collation)))?;
    expr.ty.coercibility = coercibility;
    Ok(())
}

/// The bytes that LOCATE and its kin search, or FIELD looks for: the text of the number that they give is one of bytes as
/// well.
fn searched_bytes(expr: &Expr) -> Option<&Expr> {
    let ExprKind::Call(function, arguments) = &expr.kind else { return None };
    let searched = match function.name {
        "locate" | "position" => arguments.get(1)?,
        "instr" | "field" | "regexp_instr" => arguments.first()?,
        _ => return None,
    };
    let column = &searched.ty.column;
    (column.kind.is_string() && column.collation == CollationId::BINARY).then_some(searched)
}

/// Years that CASE chooses become text as a column's do, bits that a function chooses as the number they are.
fn become_plain(bind: &BindContext, expr: &mut Expr) -> Result<(), SqlError> {
    match (&expr.kind, &expr.ty.column.kind) {
        (ExprKind::Case { .. }, TypeKind::Year) => expr.ty.column.length = 0,
        (ExprKind::Call(function, _), TypeKind::Float { digits: None }) if function.name != "any_value" => {
            replace(expr, |old| bind.convert(old, ColumnType::double()))?;
        }
        (ExprKind::Call(..), TypeKind::Bit(_)) => {
            replace(expr, |old| bind.convert(old, ColumnType::bigint_unsigned()))?;
        }
        _ => {}
    }
    Ok(())
}

pub fn cast_integer(bind: &BindContext, expr: &mut Expr) -> Result<(), SqlError> {
    use TypeKind::{Int24, Long, LongLong, Null, Short, Tiny};
    if matches!(expr.ty.column.kind, Tiny | Short | Int24 | Long | LongLong | Null) {
        return Ok(());
    }
    // A stored TEXT is read without a word, as in MySQL, and so is a user variable.
    let is_stored = match expr.kind {
        ExprKind::UserVariable(_) => expr.ty.column.kind.is_string(),
        ExprKind::Column(_) => expr.ty.column.kind.is_large_object(),
        ExprKind::Parameter(_) => {
            expr.ty.column.kind.is_large_object() && expr.ty.coercibility == Coercibility::Implicit
        }
        _ => false,
    };
    replace(expr, |old| bind.convert(old, ColumnType::bigint()))?;
    if is_stored {
        expr.ty.coercibility = Coercibility::Ignorable;
    }
    Ok(())
}

/// A nullable text type of at most `length` characters.
pub fn text_column(length: u64, collation: CollationId) -> ColumnType {
    let binary = collation == CollationId::BINARY;
    let bytes = length.saturating_mul(u64::from(collation.charset().bytes_per_character_max()));
    if bytes <= VARCHAR_BYTES_MAX {
        let length = u32::try_from(length).expect("bounded by 65,535");
        return if binary { ColumnType::varbinary(length) } else { ColumnType::varchar(length, collation) };
    }
    let kind = match (bytes <= MEDIUM_BYTES_MAX, binary) {
        (true, true) => TypeKind::MediumBlob,
        (true, false) => TypeKind::MediumText,
        (false, true) => TypeKind::LongBlob,
        (false, false) => TypeKind::LongText,
    };
    ColumnType { collation, length: u32::try_from(length).unwrap_or(u32::MAX), ..ColumnType::new(kind) }
}

/// A text whose length nothing bounds.
pub fn longest_text(collation: CollationId) -> ColumnType {
    text_column(u64::from(u32::MAX), collation)
}

/// The text of a count of characters, or of times `unit` of them, that an argument says: as long as it can be where
/// the argument is no constant, NULL or negative.
pub fn counted_text(bind: &BindContext, count: &Expr, unit: u64, collation: CollationId) -> ColumnType {
    let bytes = unit.max(1) * u64::from(collation.charset().bytes_per_character_max());
    match constant_count(bind, count, &[VARCHAR_BYTES_MAX / bytes, MEDIUM_BYTES_MAX / bytes]) {
        Some(count) => text_column(unit.saturating_mul(count), collation),
        None => longest_text(collation),
    }
}

/// A constant count, if it is one and not negative. Of a parameter it is the least of `limits` that is not below the
/// value, so that the plan serves all values up to there.
pub fn constant_count(bind: &BindContext, expr: &Expr, limits: &[u64]) -> Option<u64> {
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    if let ExprKind::Negate(inner) = &expr.kind
        && matches!(bind.peek(inner), Some(Value::Int(_)))
    {
        let is_negative = bind.relies_on(inner, Reading::Count { low: 1, high: i64::MAX });
        return if is_negative { None } else { Some(0) };
    }
    match (bind.peek(expr)?, &expr.kind) {
        (Value::Int(number), _) if number < 0 => None,
        (Value::Int(number), ExprKind::Parameter(_)) => {
            let above = limits.iter().map(|limit| signed(*limit)).find(|limit| number <= *limit);
            let below = limits.iter().map(|limit| signed(*limit)).rfind(|limit| number > *limit);
            let low = below.map_or(0, |limit| limit.saturating_add(1));
            let high = above.unwrap_or(i64::MAX);
            bind.relies_on(expr, Reading::Count { low, high });
            u64::try_from(high).ok()
        }
        (Value::Int(number), _) => u64::try_from(number).ok(),
        (value, _) => {
            bind.decide_by(expr);
            let number = value.to_integer(&expr.ty.column, &mut datum::no_warning)?;
            u64::try_from(number).ok()
        }
    }
}

/// Casts the arguments in `texts` to text and brings them to one collation, which the result has.
pub fn text_result(
    bind: &BindContext,
    name: &'static str,
    texts: &mut [Expr],
    length: u64,
) -> Result<ExprType, SqlError> {
    for expr in texts.iter_mut() {
        cast_text(bind, expr)?;
    }
    let (collation, coercibility) = bind.aggregate_collations(name, texts, Purpose::Result)?;
    Ok(ExprType::new(text_column(length, collation), coercibility))
}

/// As `text_result`, for texts that the function compares with each other.
pub fn compared_texts(
    bind: &BindContext,
    name: &'static str,
    texts: &mut [Expr],
    length: u64,
) -> Result<ExprType, SqlError> {
    for expr in texts.iter_mut() {
        cast_text(bind, expr)?;
    }
    let (collation, coercibility) = bind.aggregate_collations(name, texts, Purpose::Comparison)?;
    Ok(ExprType::new(text_column(length, collation), coercibility))
}

/// Casts all arguments to texts of the character set of argument `ruling`, in whose collation they are compared, however
/// the others' bind; the result is an integer.
pub fn integer_ruled_by(bind: &BindContext, texts: &mut [Expr], ruling: usize) -> Result<ExprType, SqlError> {
    for expr in texts.iter_mut() {
        cast_text(bind, expr)?;
    }
    let collation = texts[ruling].ty.collation();
    let (before, after) = texts.split_at_mut(ruling);
    bind.follow(collation, before)?;
    bind.follow(collation, &mut after[1..])?;
    Ok(integer_type())
}

/// Casts the arguments in `texts` to text of the character set of the first one, whose collation the result has.
pub fn text_of_first(bind: &BindContext, texts: &mut [Expr], length: u64) -> Result<ExprType, SqlError> {
    for expr in texts.iter_mut() {
        cast_text(bind, expr)?;
    }
    let (first, others) = texts.split_at_mut(1);
    let (collation, coercibility) = (first[0].ty.collation(), first[0].ty.coercibility);
    bind.follow(collation, others)?;
    Ok(ExprType::new(text_column(length, collation), coercibility))
}

/// Casts all arguments to texts that are compared with each other; the result is an integer.
pub fn integer_of_compared(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    compared_texts(bind, name, arguments, 0)?;
    Ok(integer_type())
}

/// Texts that are compared, for a condition.
pub fn truth_of_texts(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    integer_of_compared(bind, name, arguments).map(ExprType::as_truth)
}

/// Each argument becomes text by itself (no common collation is needed); the result is an integer.
pub fn integer_of_each_text(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    for expr in arguments.iter_mut() {
        cast_text(bind, expr)?;
    }
    Ok(integer_type())
}

/// The same for a condition.
pub fn truth_of_each_text(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    integer_of_each_text(bind, name, arguments).map(ExprType::as_truth)
}

pub fn integer_type() -> ExprType {
    ExprType::new(ColumnType::bigint(), Coercibility::Numeric)
}

pub fn unsigned_type() -> ExprType {
    ExprType::new(ColumnType::bigint_unsigned(), Coercibility::Numeric)
}

/// Text made by the server itself, in the connection's character set.
pub fn made_text(bind: &BindContext, length: u64) -> ExprType {
    ExprType::new(text_column(length, bind.connection_collation), Coercibility::Coercible)
}

/// Text made by the server about itself (VERSION(), USER()): utf8mb3, weaker than columns.
pub fn system_text(length: u64) -> ExprType {
    let collation = Charset::Utf8mb3.default_collation();
    ExprType::new(text_column(length, collation), Coercibility::SystemConstant)
}

pub fn binary_result(length: u64) -> ExprType {
    ExprType::new(text_column(length, CollationId::BINARY), Coercibility::Implicit)
}

/// The fractional digits of a text literal that is a moment or a time; 6 where it is none or not known.
pub fn literal_fraction(bind: &BindContext, expr: &Expr, is_time: bool) -> u8 {
    let Some(Value::Bytes(text)) = bind.peek(expr) else { return 6 };
    let digits = fraction_digits(&text, is_time);
    bind.relies_on(expr, Reading::Fraction { digits, is_time });
    digits
}

/// The fractional digits that a value of the type has as a moment or a time.
pub fn digits_of(bind: &BindContext, expr: &Expr, is_time: bool) -> u8 {
    let column = &expr.ty.column;
    if is_text(&column.kind) && !column.is_hex_literal() {
        return literal_fraction(bind, expr, is_time);
    }
    column.fixed_scale().map_or(6, |scale| scale.min(6))
}

/// Makes the argument a DATETIME with the digits it has; gives those digits.
pub fn cast_datetime(bind: &BindContext, expr: &mut Expr) -> Result<u8, SqlError> {
    // Parts of a date can be asked for whatever the SQL mode says about zero dates.
    cast_marked_datetime(bind, expr, Coercibility::Ignorable)
}

/// As `cast_datetime`, for functions that find parts in numbers below the first date, too.
pub fn cast_part_datetime(bind: &BindContext, expr: &mut Expr) -> Result<u8, SqlError> {
    cast_marked_datetime(bind, expr, Coercibility::SystemConstant)
}

/// As `cast_datetime`, for functions that need a place in the calendar.
pub fn cast_calendar_datetime(bind: &BindContext, expr: &mut Expr) -> Result<u8, SqlError> {
    cast_marked_datetime(bind, expr, Coercibility::NoCollation)
}

/// As `cast_datetime`, giving NULL for dates that the SQL mode forbids.
pub fn cast_allowed_datetime(bind: &BindContext, expr: &mut Expr) -> Result<u8, SqlError> {
    cast_marked_datetime(bind, expr, Coercibility::Numeric)
}

/// `mark` tells `evaluate::cast` what the moment is for: a moment's coercibility means nothing else.
fn cast_marked_datetime(bind: &BindContext, expr: &mut Expr, mark: Coercibility) -> Result<u8, SqlError> {
    if let TypeKind::DateTime { fsp } = expr.ty.column.kind {
        return Ok(fsp);
    }
    let fsp = digits_of(bind, expr, false);
    replace(expr, |old| bind.convert(old, ColumnType::new(TypeKind::DateTime { fsp })))?;
    expr.ty.coercibility = mark;
    Ok(fsp)
}

/// Makes the argument a TIME with the digits it has; gives those digits.
pub fn cast_time(bind: &BindContext, expr: &mut Expr) -> Result<u8, SqlError> {
    if let TypeKind::Time { fsp } = expr.ty.column.kind {
        return Ok(fsp);
    }
    let fsp = digits_of(bind, expr, true);
    replace(expr, |old| bind.convert(old, ColumnType::new(TypeKind::Time { fsp })))?;
    Ok(fsp)
}

pub fn cast_decimal(bind: &BindContext, expr: &mut Expr, precision: u8, scale: u8) -> Result<(), SqlError> {
    replace(expr, |old| bind.convert(old, ColumnType::decimal(precision, scale)))
}

pub fn cast_double(bind: &BindContext, expr: &mut Expr) -> Result<(), SqlError> {
    if matches!(expr.ty.column.kind, TypeKind::Double { .. } | TypeKind::Null) {
        return Ok(());
    }
    replace(expr, |old| bind.convert(old, ColumnType::double()))
}

/// A JSON document.
pub fn infer_json(_: &BindContext, _: &'static str, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(ExprType::new(ColumnType::new(TypeKind::Json), Coercibility::Implicit))
}
