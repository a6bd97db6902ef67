//! Functions that put text together: CONCAT, REPEAT, LPAD, REPLACE, INSERT, QUOTE, ELT, CHAR and their kin.
//!
//! Invariant: no result exceeds `max_allowed_packet`; one that would is NULL, or empty where the call is never NULL, with
//! warning 1301.
use collation::CollationId;
use datum::{ColumnType, SqlError, TypeKind, Value};
use env::LONG_PIECE;

use super::string_part::occurrences;
use expression::BindContext;
use expression::call::infer::{
    cast_integer, cast_text, constant_count, counted_text, longest_text, text_column, text_of_first,
    text_result,
};
use expression::call::text_or_null;
use expression::call::width::{MEDIUM_BYTES_MAX, VARCHAR_BYTES_MAX};
use expression::call::width::{own_bytes, text_width};
use expression::{Arguments, Function};
use expression::{Coercibility, Expr, ExprKind, ExprType};

/// Bytes that are copied between two looks at others.
const COPY_PIECE: usize = 64 * 1024;

/// `char` gives binary text; CHAR(.. USING charset) is bound as a conversion around it.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::pure("concat", (1, u8::MAX), infer_concat, concat),
    Function::pure("concat_ws", (2, u8::MAX), infer_concat, concat_ws),
    Function::pure("repeat", (2, 2), infer_grown, repeat),
    Function::pure("space", (1, 1), infer_space, space),
    Function::pure("lpad", (3, 3), infer_pad, lpad),
    Function::pure("rpad", (3, 3), infer_pad, rpad),
    Function::pure("replace", (3, 3), infer_replace, replace),
    Function::pure("insert", (4, 4), infer_insert, insert),
    Function::pure("reverse", (1, 1), infer_concat, reverse),
    Function::pure("quote", (1, 1), infer_quote, quote),
    Function::pure("elt", (2, u8::MAX), infer_elt, elt),
    Function::pure("make_set", (2, u8::MAX), infer_elt, make_set),
    Function::pure("char", (1, u8::MAX), infer_char, char_codes),
];

/// The width of a member of a set, where a document has as many characters as bytes.
fn member_width(expr: &Expr) -> u64 {
    if expr.ty.column.kind == TypeKind::Json { u64::from(u32::MAX) } else { text_width(expr) }
}

/// What MySQL counts in 32 bits.
fn wrapped(length: u64) -> u64 {
    length & u64::from(u32::MAX)
}

fn infer_concat(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let length = |width: fn(&Expr) -> u64| match name {
        "concat_ws" => {
            let separator = width(&arguments[0]);
            arguments[1..].iter().map(width).sum::<u64>() + separator * (arguments.len() as u64 - 2)
        }
        _ => arguments.iter().map(width).sum(),
    };
    let (characters, bytes) = (length(text_width), length(own_bytes));
    let ty = text_result(bind, name, arguments, characters)?;
    Ok(with_bytes(ty, bytes))
}

/// Bytes of texts and binary strings together.
fn with_bytes(ty: ExprType, bytes: u64) -> ExprType {
    match ty.collation() {
        CollationId::BINARY => {
            let nullable = ty.column.nullable;
            ExprType { column: ColumnType { nullable, ..text_column(bytes, CollationId::BINARY) }, ..ty }
        }
        _ => ty,
    }
}

fn infer_grown(bind: &BindContext, name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let ty = text_result(bind, name, &mut arguments[..1], 0)?;
    let unit = text_width(&arguments[0]);
    let column = match arguments[0].ty.column.kind {
        TypeKind::Null => ty.column,
        _ => counted_text(bind, &arguments[1], unit, ty.collation()),
    };
    cast_integer(bind, &mut arguments[1])?;
    Ok(ExprType::new(column, ty.coercibility))
}

fn infer_space(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let is_constant = bind.peek(&arguments[0]).is_some() || matches!(arguments[0].kind, ExprKind::Negate(_));
    let column = match constant_count(bind, &arguments[0], &[VARCHAR_BYTES_MAX / 4, MEDIUM_BYTES_MAX / 4]) {
        Some(count) => text_column(count, bind.connection_collation),
        // Less than none is none.
        None if is_constant => text_column(0, bind.connection_collation),
        None => longest_text(bind.connection_collation),
    };
    cast_integer(bind, &mut arguments[0])?;
    Ok(ExprType::new(column, Coercibility::Coercible))
}

/// The two texts come first while types are inferred, so that they agree on a collation.
fn infer_pad(bind: &BindContext, _name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    arguments.swap(1, 2);
    let ty = text_of_first(bind, &mut arguments[..2], 0);
    arguments.swap(1, 2);
    let ty = ty?;
    let column = counted_text(bind, &arguments[1], 1, ty.collation());
    cast_integer(bind, &mut arguments[1])?;
    Ok(ExprType::new(column, ty.coercibility))
}

fn infer_replace(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let length = text_width(&arguments[0]) * text_width(&arguments[2]).max(1);
    text_of_first(bind, arguments, length)
}

fn infer_insert(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_integer(bind, &mut arguments[1])?;
    cast_integer(bind, &mut arguments[2])?;
    let length = text_width(&arguments[0]) + text_width(&arguments[3]);
    let bytes = own_bytes(&arguments[0]) + own_bytes(&arguments[3]);
    arguments.swap(1, 3);
    let ty = text_of_first(bind, &mut arguments[..2], length);
    arguments.swap(1, 3);
    ty.map(|ty| with_bytes(ty, bytes))
}

fn infer_quote(bind: &BindContext, name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    // NULL is a word.
    let length = match arguments[0].ty.column.kind {
        TypeKind::Null => 4,
        _ => text_width(&arguments[0]) * 2 + 2,
    };
    cast_text(bind, &mut arguments[0])?;
    if arguments[0].ty.column.kind == TypeKind::Null {
        return Ok(ExprType::new(text_column(length, bind.connection_collation), Coercibility::Coercible));
    }
    if arguments[0].ty.collation() == CollationId::BINARY && arguments[0].ty.column.kind != TypeKind::Null {
        bind.follow(bind.connection_collation, arguments)?;
    }
    text_result(bind, name, arguments, length)
}

fn infer_elt(bind: &BindContext, name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let (number, texts) = arguments.split_at_mut(1);
    cast_integer(bind, &mut number[0])?;
    let length = match name {
        "elt" => texts.iter().map(text_width).max().unwrap_or(0),
        _ => wrapped(texts.iter().map(member_width).sum::<u64>() + texts.len() as u64 - 1),
    };
    text_result(bind, name, texts, length)
}

fn infer_char(bind: &BindContext, _name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    for argument in arguments.iter_mut() {
        cast_integer(bind, argument)?;
    }
    let column = text_column(arguments.len() as u64 * 4, CollationId::BINARY);
    Ok(ExprType::new(column, Coercibility::Coercible))
}

fn concat(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let mut result = Vec::new();
    for index in 0..arguments.len() {
        let Some(text) = arguments.text(index)? else { return Ok(Value::Null) };
        if !arguments.fits_packet("concat", (result.len() + text.len()) as u64) {
            return Ok(Value::Null);
        }
        append(&mut result, &text);
    }
    Ok(Value::Bytes(result))
}

/// Appends a text that may be long, counting the work.
fn append(result: &mut Vec<u8>, text: &[u8]) {
    for piece in text.chunks(COPY_PIECE) {
        result.extend_from_slice(piece);
        env::tick_long(piece.len() / 4);
    }
}

/// NULLs after the separator are left out; a NULL separator makes the result NULL.
fn concat_ws(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(separator) = arguments.text(0)? else { return Ok(Value::Null) };
    let mut result = Vec::new();
    let mut first = true;
    for index in 1..arguments.len() {
        let Some(text) = arguments.text(index)? else { continue };
        if !arguments.fits_packet("concat_ws", (result.len() + separator.len() + text.len()) as u64) {
            return Ok(Value::Null);
        }
        if !first {
            result.extend_from_slice(&separator);
        }
        append(&mut result, &text);
        first = false;
    }
    Ok(Value::Bytes(result))
}

fn repeated(arguments: &Arguments<'_>, name: &str, text: &[u8], times: i64) -> Option<Vec<u8>> {
    let times = u64::try_from(times).unwrap_or(0);
    let bytes = (text.len() as u64).saturating_mul(times);
    if !arguments.fits_packet(name, bytes) {
        return None;
    }
    if text.is_empty() {
        return Some(Vec::new());
    }
    // Long pieces of whole repetitions, then what is left.
    let (times, unit) = (times as usize, COPY_PIECE.div_ceil(text.len()));
    let piece = text.repeat(unit.min(times));
    let mut result = Vec::with_capacity(bytes as usize);
    for _ in 0..times / unit {
        append(&mut result, &piece);
    }
    let left = bytes as usize - result.len();
    append(&mut result, &piece[..left]);
    Some(result)
}

fn repeat(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(text), Some(times)) = (arguments.text(0)?, arguments.integer(1)?) else {
        return Ok(Value::Null);
    };
    Ok(text_or_null(repeated(arguments, "repeat", &text, times)))
}

fn space(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(times) = arguments.integer(0)? else { return Ok(Value::Null) };
    Ok(text_or_null(repeated(arguments, "space", b" ", times)))
}

fn lpad(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    pad(arguments, "lpad", true)
}

fn rpad(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    pad(arguments, "rpad", false)
}

/// A longer text is cut to the length; a negative length or missing padding gives NULL.
fn pad(arguments: &Arguments<'_>, name: &str, before: bool) -> Result<Value, SqlError> {
    // The texts are read first, and what stands behind a NULL is not looked at.
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    let Some(padding) = arguments.text(2)? else { return Ok(Value::Null) };
    let Some(length) = arguments.integer(1)? else { return Ok(Value::Null) };
    let Ok(length) = usize::try_from(length) else { return Ok(Value::Null) };
    let charset = arguments.charset(0);
    let present = charset.character_count(&text);
    if present >= length {
        return Ok(Value::bytes(&text[..charset.byte_offset(&text, length)]));
    }
    if padding.is_empty() {
        return Ok(Value::Bytes(text.into_owned()));
    }
    let missing = length - present;
    let bytes = (missing as u64).saturating_mul(u64::from(charset.bytes_per_character_max()));
    if !arguments.fits_packet(name, bytes.saturating_add(text.len() as u64)) {
        return Ok(Value::Null);
    }
    let mut fill = Vec::new();
    charset.characters(&padding).cycle().take(missing).for_each(|character| {
        fill.extend_from_slice(character);
        env::tick(4);
    });
    let (front, back) = if before { (&fill[..], &text[..]) } else { (&text[..], &fill[..]) };
    Ok(Value::Bytes([front, back].concat()))
}

/// REPLACE matches byte by byte: it is case-sensitive whatever the collation.
fn replace(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    let Some(from) = arguments.text(1)? else { return Ok(Value::Null) };
    let Some(to) = arguments.text(2)? else { return Ok(Value::Null) };
    if from.is_empty() {
        return Ok(Value::Bytes(text.into_owned()));
    }
    let mut result = Vec::with_capacity(text.len());
    let mut copied = 0;
    for at in occurrences(&text, &from) {
        result.extend_from_slice(&text[copied..at]);
        result.extend_from_slice(&to);
        copied = at + from.len();
        if !arguments.fits_packet("replace", (result.len() + text.len() - copied) as u64) {
            return Ok(Value::Null);
        }
    }
    result.extend_from_slice(&text[copied..]);
    Ok(Value::Bytes(result))
}

/// INSERT(text, position, length, new); a position outside the text leaves it as it is.
fn insert(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    // The texts are read first, and what stands behind a NULL is not looked at.
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    let Some(new) = arguments.text(3)? else { return Ok(Value::Null) };
    let Some(position) = arguments.integer(1)? else { return Ok(Value::Null) };
    let Some(length) = arguments.integer(2)? else { return Ok(Value::Null) };
    let charset = arguments.charset(0);
    let total = charset.character_count(&text);
    let start = match usize::try_from(position) {
        Ok(position) if (1..=total).contains(&position) => position - 1,
        _ => return Ok(Value::Bytes(text.into_owned())),
    };
    let removed = usize::try_from(length).unwrap_or(usize::MAX).min(total - start);
    let from = charset.byte_offset(&text, start);
    let until = charset.byte_offset(&text, start + removed);
    if !arguments.fits_packet("insert", (text.len() - (until - from) + new.len()) as u64) {
        return Ok(Value::Null);
    }
    Ok(Value::Bytes([&text[..from], &new[..], &text[until..]].concat()))
}

fn reverse(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let charset = arguments.charset(0);
    Ok(text_or_null(arguments.text(0)?.map(|text| {
        let mut reversed = vec![0; text.len()];
        let mut at = text.len();
        for character in charset.characters(&text) {
            let end = at;
            at -= character.len();
            reversed[at..end].copy_from_slice(character);
        }
        reversed
    })))
}

/// The text as a literal that can be put into a statement; NULL becomes the word NULL.
fn quote(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return Ok(Value::bytes("NULL")) };
    let mut quoted = vec![b'\''];
    for (index, byte) in text.iter().enumerate() {
        if index % LONG_PIECE == LONG_PIECE - 1 {
            env::tick(LONG_PIECE * 2);
        }
        match byte {
            b'\'' | b'\\' => quoted.extend([b'\\', *byte]),
            0 => quoted.extend(b"\\0"),
            0x1A => quoted.extend(b"\\Z"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    if !arguments.fits_packet("quote", quoted.len() as u64) {
        return Ok(Value::Null);
    }
    Ok(Value::Bytes(quoted))
}

fn elt(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let chosen = arguments.integer(0)?.and_then(|number| usize::try_from(number).ok());
    match chosen {
        Some(index) if (1..arguments.len()).contains(&index) => {
            Ok(text_or_null(arguments.text(index)?.map(|text| text.into_owned())))
        }
        _ => Ok(Value::Null),
    }
}

fn make_set(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(bits) = arguments.bits(0)? else { return Ok(Value::Null) };
    let mut members = Vec::new();
    for index in 1..arguments.len().min(65) {
        if bits >> (index - 1) & 1 == 1
            && let Some(text) = arguments.text(index)?
        {
            members.push(text);
        }
    }
    Ok(Value::Bytes(members.join(&b',')))
}

/// CHAR(codes): each code gives its bytes without leading zeros; NULLs are left out.
fn char_codes(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let mut result = Vec::new();
    for index in 0..arguments.len() {
        let Some(code) = arguments.bits(index)? else { continue };
        let bytes = (code as u32).to_be_bytes();
        let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(3);
        result.extend_from_slice(&bytes[first..]);
    }
    Ok(Value::Bytes(result))
}
