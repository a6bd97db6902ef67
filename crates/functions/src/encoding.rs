//! Functions between text, numbers and other notations: HEX, CONV, TO_BASE64, digests and checksums.
use aws_lc_rs::digest;
use datum::{SqlError, TypeKind, Value, error_code};
use env::LONG_PIECE;

use expression::BindContext;
use expression::call::infer::{binary_result, cast_integer, cast_text, is_text, made_text, unsigned_type};
use expression::call::width::{own_bytes, written_number};
use expression::call::{STRICT_CONVERSION, strictly_converted};
use expression::{Arguments, Function};
use expression::{Expr, ExprKind, ExprType};

pub(super) static FUNCTIONS: &[Function] = &[
    // The conversion of binding's own: its type is given to it afterwards.
    Function::pure(
        STRICT_CONVERSION,
        (1, 1),
        |_, _, arguments| Ok(arguments[0].ty.clone()),
        convert_strictly,
    ),
    Function::pure("hex", (1, 1), infer_hex, hex),
    Function::pure("unhex", (1, 1), infer_unhex, unhex),
    Function::pure("bin", (1, 1), infer_number_text, |arguments| in_other_base(arguments, 2)),
    Function::pure("oct", (1, 1), infer_number_text, |arguments| in_other_base(arguments, 8)),
    Function::pure("conv", (3, 3), infer_conv, conv),
    Function::pure("to_base64", (1, 1), infer_base64, to_base64),
    Function::pure("from_base64", (1, 1), infer_unhex, from_base64),
    Function::pure("md5", (1, 1), infer_digest, md5),
    Function::pure("sha", (1, 1), infer_digest, sha1),
    Function::pure("sha1", (1, 1), infer_digest, sha1),
    Function::pure("sha2", (2, 2), infer_sha2, sha2),
    Function::pure("crc32", (1, 1), infer_crc32, crc32),
];

/// The hexadecimal digits of 64 bits.
const NUMBER_DIGITS: u64 = 16;

fn infer_hex(bind: &BindContext, _name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let column = &arguments[0].ty.column;
    let temporal = matches!(
        column.kind,
        TypeKind::Date | TypeKind::Time { .. } | TypeKind::DateTime { .. } | TypeKind::Timestamp { .. }
    );
    let texts = temporal
        || is_text(&column.kind)
        || matches!(column.kind, TypeKind::Enum(_) | TypeKind::Set(_) | TypeKind::Json);
    let bytes = own_bytes(&arguments[0]);
    if texts {
        cast_text(bind, &mut arguments[0])?;
    } else {
        bind.cast_bits(&mut arguments[0])?;
    }
    let is_null = arguments[0].ty.column.kind == TypeKind::Null;
    Ok(made_text(bind, if texts || is_null { bytes * 2 } else { NUMBER_DIGITS }))
}

fn infer_unhex(bind: &BindContext, name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let bytes = own_bytes(&arguments[0]);
    cast_text(bind, &mut arguments[0])?;
    Ok(binary_result(if name == "unhex" { bytes.div_ceil(2) } else { bytes * 3 / 4 }))
}

fn infer_number_text(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let column = &arguments[0].ty.column;
    match column.kind {
        TypeKind::Bit(_) => cast_integer(bind, &mut arguments[0])?,
        _ if column.is_hex_literal() || column.is_bit_literal() => cast_integer(bind, &mut arguments[0])?,
        // Whether it is too large is told of the number.
        TypeKind::Decimal { .. } => {}
        _ => cast_text(bind, &mut arguments[0])?,
    }
    Ok(made_text(bind, 65))
}

fn infer_conv(bind: &BindContext, _name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    // Bits are the number that they are, whatever base is told.
    match arguments[0].ty.column.kind {
        TypeKind::Bit(_) => cast_integer(bind, &mut arguments[0])?,
        _ => cast_text(bind, &mut arguments[0])?,
    }
    cast_integer(bind, &mut arguments[1])?;
    cast_integer(bind, &mut arguments[2])?;
    Ok(made_text(bind, 65))
}

fn infer_base64(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let bytes = own_bytes(&arguments[0]);
    cast_text(bind, &mut arguments[0])?;
    let encoded = bytes.div_ceil(3) * 4;
    Ok(made_text(bind, encoded + encoded / 76))
}

fn infer_digest(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    Ok(made_text(bind, 40))
}

fn infer_sha2(bind: &BindContext, _name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    let length = match written_number(&arguments[1]) {
        _ if !matches!(arguments[1].kind, ExprKind::Literal(_)) => 128,
        Some(bits @ (224 | 384 | 512)) => bits as u64 / 4,
        _ => 64,
    };
    cast_integer(bind, &mut arguments[1])?;
    Ok(made_text(bind, length))
}

fn infer_crc32(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    Ok(unsigned_type())
}

fn convert_strictly(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    let (from, to) = (arguments.charset(0), arguments.ty.collation().charset());
    strictly_converted(&text, from, to).map(Value::Bytes)
}

fn hex_digits(bytes: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() * 2);
    for piece in bytes.chunks(LONG_PIECE) {
        for byte in piece {
            text.extend([digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
        }
        env::tick_long(piece.len() * 2);
    }
    text
}

fn hex(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(match &*arguments.value(0)? {
        Value::Null => Value::Null,
        Value::Int(number) => Value::bytes(format!("{number:X}")),
        Value::UInt(number) => Value::bytes(format!("{number:X}")),
        other => Value::Bytes(hex_digits(&other.to_text(&arguments.exprs[0].ty.column), b"0123456789ABCDEF")),
    })
}

/// An odd number of digits has a leading zero; anything but digits makes the result NULL.
fn unhex(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    let digit = |byte: &u8| {
        env::tick(2);
        char::from(*byte).to_digit(16).map(|digit| digit as u8)
    };
    let digits: Option<Vec<u8>> = text.iter().map(digit).collect();
    let Some(digits) = digits else {
        arguments.warn_of_value("string", 0, "unhex");
        return Ok(Value::Null);
    };
    let (odd, pairs) = digits.split_at(digits.len() % 2);
    let mut bytes = odd.to_vec();
    bytes.extend(pairs.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
    Ok(Value::Bytes(bytes))
}

/// BIN and OCT, which are CONV from base 10.
fn in_other_base(arguments: &Arguments<'_>, base: i64) -> Result<Value, SqlError> {
    let value = arguments.value(0)?;
    match &*value {
        Value::Int(_) | Value::UInt(_) => {
            let bits = arguments.bits(0)?.unwrap_or_default();
            return Ok(Value::bytes(if base == 2 { format!("{bits:b}") } else { format!("{bits:o}") }));
        }
        Value::Decimal(number) => {
            let text = number.to_string();
            let whole = number.truncate(0);
            if !whole.is_negative() && whole.to_u64().is_none() {
                arguments.context.warn(datum::truncated("DECIMAL", text.as_bytes()));
            }
            return Ok(converted(text.as_bytes(), 10, base, arguments));
        }
        _ => {}
    }
    Ok(arguments.text(0)?.map_or(Value::Null, |text| converted(&text, 10, base, arguments)))
}

/// CONV(number, from, to): a negative base means signed numbers on that side.
fn conv(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(from), Some(to)) = (arguments.integer(1)?, arguments.integer(2)?) else {
        return Ok(Value::Null);
    };
    let valid = |base: i64| (2..=36).contains(&base.unsigned_abs());
    if !valid(from) || !valid(to) {
        return Ok(Value::Null);
    }
    if let Value::Int(bits) = *arguments.value(0)? {
        return Ok(Value::bytes(in_base(bits as u64, to)));
    }
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    Ok(converted(&text, from, to, arguments))
}

/// The number at the start of a text, in another base; NULL for the empty text, 0 with warning 1292 where there is none.
fn converted(text: &[u8], from: i64, to: i64, arguments: &Arguments<'_>) -> Value {
    if text.is_empty() {
        return Value::Null;
    }
    let trimmed = text.trim_ascii_start();
    let (negative, digits) = match trimmed.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, trimmed),
    };
    let base = from.unsigned_abs() as u32;
    if !digits.first().is_some_and(|byte| char::from(*byte).is_digit(base)) {
        arguments.context.warn(datum::truncated("DECIMAL", text));
    }
    // Too large a number is the largest; a negative base has signed ones.
    let most = match (from < 0, negative) {
        (false, _) => u64::MAX,
        (true, false) => i64::MAX as u64,
        (true, true) => i64::MIN.unsigned_abs(),
    };
    let mut number: u64 = 0;
    let mut is_clipped = false;
    for digit in digits.iter().map_while(|byte| char::from(*byte).to_digit(base)) {
        let grown = number.checked_mul(u64::from(base)).and_then(|grown| grown.checked_add(u64::from(digit)));
        match grown.filter(|grown| *grown <= most) {
            Some(grown) => number = grown,
            None => (number, is_clipped) = (most, true),
        }
    }
    let is_negated = negative && !(is_clipped && from > 0);
    Value::bytes(in_base(if is_negated { number.wrapping_neg() } else { number }, to))
}

fn in_base(number: u64, base: i64) -> String {
    let signed = base < 0 && (number as i64) < 0;
    let mut rest = if signed { (number as i64).unsigned_abs() } else { number };
    let base = base.unsigned_abs();
    let mut digits = Vec::new();
    loop {
        let digit = char::from_digit((rest % base) as u32, 36).expect("the base is at most 36");
        digits.push(digit.to_ascii_uppercase());
        rest /= base;
        if rest == 0 {
            break;
        }
    }
    if signed {
        digits.push('-');
    }
    digits.iter().rev().collect()
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A line break stands after each 76 characters.
fn to_base64(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    if !arguments.fits_packet("to_base64", text.len() as u64 * 4 / 3 + text.len() as u64 / 57 + 4) {
        return Ok(Value::Null);
    }
    let mut encoded = Vec::with_capacity(text.len() * 4 / 3 + 4);
    for (index, chunk) in text.chunks(3).enumerate() {
        env::tick(6);
        if index > 0 && index % 19 == 0 {
            encoded.push(b'\n');
        }
        let group =
            chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for position in 0..4 {
            let sextet = (group >> (18 - 6 * position)) as usize & 63;
            encoded.push(if position <= chunk.len() { BASE64[sextet] } else { b'=' });
        }
    }
    Ok(Value::Bytes(encoded))
}

/// White space is skipped; anything else that is not base64 makes the result NULL.
fn from_base64(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    let is_symbol = |byte: &u8| {
        env::tick(2);
        !byte.is_ascii_whitespace()
    };
    let symbols: Vec<u8> = text.iter().copied().filter(is_symbol).collect();
    if !symbols.len().is_multiple_of(4) {
        return Ok(Value::Null);
    }
    let padding = symbols.iter().rev().take_while(|byte| **byte == b'=').count();
    if padding > 2 {
        return Ok(Value::Null);
    }
    let sextets: Option<Vec<u32>> = symbols[..symbols.len() - padding]
        .iter()
        .map(|symbol| {
            env::tick(16);
            BASE64.iter().position(|known| known == symbol).map(|sextet| sextet as u32)
        })
        .collect();
    let Some(sextets) = sextets else { return Ok(Value::Null) };
    let mut bytes = Vec::with_capacity(sextets.len() * 3 / 4);
    for group in sextets.chunks(4) {
        let bits = group.iter().fold(0, |bits, sextet| bits << 6 | sextet) << (6 * (4 - group.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Ok(Value::Bytes(bytes))
}

fn digest_text(arguments: &Arguments<'_>, algorithm: &'static digest::Algorithm) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    let mut state = digest::Context::new(algorithm);
    for piece in text.chunks(LONG_PIECE) {
        state.update(piece);
        env::tick_long(piece.len());
    }
    Ok(Value::Bytes(hex_digits(state.finish().as_ref(), b"0123456789abcdef")))
}

fn md5(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    use md5::Digest;
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    let mut state = md5::Md5::new();
    for piece in text.chunks(LONG_PIECE) {
        state.update(piece);
        env::tick_long(piece.len() * 2);
    }
    Ok(Value::Bytes(hex_digits(&state.finalize(), b"0123456789abcdef")))
}

fn sha1(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    digest_text(arguments, &digest::SHA1_FOR_LEGACY_USE_ONLY)
}

/// SHA2(text, bits) with 224, 256 (also written 0), 384 or 512; any other length is NULL.
fn sha2(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    // Beside a marker of NULL nothing is wrong.
    let given = match &arguments.exprs[0].kind {
        expression::ExprKind::Cast(given) => given,
        _ => &arguments.exprs[0],
    };
    if arguments.context.is_marker(given) && arguments.value(0)?.is_null() {
        return Ok(Value::Null);
    }
    match arguments.integer(1)? {
        Some(224) => digest_text(arguments, &digest::SHA224),
        Some(0 | 256) => digest_text(arguments, &digest::SHA256),
        Some(384) => digest_text(arguments, &digest::SHA384),
        Some(512) => digest_text(arguments, &digest::SHA512),
        _ => {
            let warning = error_code::ER_WRONG_PARAMETERS_TO_NATIVE_FCT.with(&[&"sha2"]);
            arguments.context.warn(warning);
            Ok(Value::Null)
        }
    }
}

fn crc32(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(arguments.text(0)?.map_or(Value::Null, |text| Value::UInt(u64::from(crc32fast::hash(&text)))))
}
