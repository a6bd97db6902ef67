//! Addresses and universally unique ids: INET_ATON, INET_NTOA, UUID_TO_BIN, BIN_TO_UUID, IS_UUID, IS_IPV4.
use std::net::{Ipv4Addr, Ipv6Addr};

use datum::{SqlError, Value, error_code};

use expression::BindContext;
use expression::call::infer::{
    binary_result, cast_integer, cast_text, made_text, truth_of_each_text, unsigned_type,
};
use expression::{Arguments, Function};
use expression::{Expr, ExprKind, ExprType};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::pure("inet_aton", (1, 1), infer_aton, inet_aton),
    Function::pure("inet_ntoa", (1, 1), infer_ntoa, inet_ntoa),
    Function::pure("is_ipv4", (1, 1), truth_of_each_text, is_ipv4),
    Function::pure("is_ipv6", (1, 1), truth_of_each_text, is_ipv6),
    Function::pure("is_ipv4_compat", (1, 1), truth_of_each_text, |arguments| {
        has_form(arguments, is_compatible)
    }),
    Function::pure("is_ipv4_mapped", (1, 1), truth_of_each_text, |arguments| has_form(arguments, is_mapped)),
    Function::pure("is_uuid", (1, 1), truth_of_each_text, is_uuid),
    Function::pure("uuid_to_bin", (1, 2), infer_uuid_to_bin, uuid_to_bin),
    Function::pure("bin_to_uuid", (1, 2), infer_bin_to_uuid, bin_to_uuid),
];

fn infer_aton(bind: &BindContext, _name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    Ok(unsigned_type())
}

fn infer_ntoa(bind: &BindContext, _name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    cast_integer(bind, &mut arguments[0])?;
    Ok(made_text(bind, 31))
}

fn infer_uuid_to_bin(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    arguments.get_mut(1).map_or(Ok(()), |swap| cast_integer(bind, swap))?;
    Ok(binary_result(16))
}

fn infer_bin_to_uuid(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    arguments.get_mut(1).map_or(Ok(()), |swap| cast_integer(bind, swap))?;
    Ok(made_text(bind, 36))
}

/// Short forms as in MySQL: the last part fills the low bytes ('127.1' is 127.0.0.1).
fn inet_aton(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    let parts: Option<Vec<u64>> = text
        .split(|byte| *byte == b'.')
        .map(|part| std::str::from_utf8(part).ok()?.parse::<u8>().ok().map(u64::from))
        .collect();
    Ok(match parts.as_deref() {
        Some([first @ .., last]) if first.len() <= 3 => {
            let high = first.iter().enumerate().map(|(index, part)| part << (24 - 8 * index)).sum::<u64>();
            Value::UInt(high + last)
        }
        _ => {
            arguments.warn_of_value("string", 0, "inet_aton");
            Value::Null
        }
    })
}

fn inet_ntoa(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(bits) = arguments.bits(0)? else { return Ok(Value::Null) };
    match u32::try_from(bits) {
        Ok(address) => Ok(Value::bytes(Ipv4Addr::from(address).to_string())),
        Err(_) => {
            arguments.warn_of_value("integer", 0, "inet_ntoa");
            Ok(Value::Null)
        }
    }
}

/// Whether a number was made the text: not even NULL is an address then.
fn is_number_cast(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Cast(number) if number.ty.column.kind.is_numeric())
}

fn parses<T: std::str::FromStr>(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let text = arguments.text(0)?;
    if text.is_none() && is_number_cast(&arguments.exprs[0]) {
        return Ok(Value::Int(0));
    }
    Ok(text.map_or(Value::Null, |text| {
        Value::boolean(std::str::from_utf8(&text).is_ok_and(|text| text.parse::<T>().is_ok()))
    }))
}

/// Whether an address in binary form, as INET6_ATON gives it, has a form; NULL for NULL.
fn has_form(arguments: &Arguments<'_>, form: fn(&[u8; 16]) -> bool) -> Result<Value, SqlError> {
    let Some(bytes) = arguments.text(0)? else { return Ok(Value::Null) };
    let is_binary = arguments.charset(0) == collation::Charset::Binary;
    Ok(Value::boolean(is_binary && <&[u8; 16]>::try_from(&*bytes).is_ok_and(form)))
}

/// `::a.b.c.d`, but neither `::` nor `::1`.
fn is_compatible(address: &[u8; 16]) -> bool {
    address[..12] == [0; 12] && u32::from_be_bytes([address[12], address[13], address[14], address[15]]) > 1
}

/// `::ffff:a.b.c.d`
fn is_mapped(address: &[u8; 16]) -> bool {
    address[..10] == [0; 10] && address[10..12] == [0xFF, 0xFF]
}

fn is_ipv4(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    parses::<Ipv4Addr>(arguments)
}

fn is_ipv6(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    parses::<Ipv6Addr>(arguments)
}

/// The 16 bytes of a UUID in any of the forms that MySQL takes: plain, with dashes, with dashes in braces.
fn uuid_bytes(text: &[u8]) -> Option<[u8; 16]> {
    let bare = match text.len() {
        38 => text.strip_prefix(b"{")?.strip_suffix(b"}")?,
        _ => text,
    };
    if bare.len() == 36 {
        let dashes = [8, 13, 18, 23];
        if !dashes.iter().all(|at| bare[*at] == b'-') {
            return None;
        }
    } else if bare.len() != 32 {
        return None;
    }
    let digits: Option<Vec<u8>> = bare
        .iter()
        .filter(|byte| bare.len() == 32 || **byte != b'-')
        .map(|byte| char::from(*byte).to_digit(16).map(|digit| digit as u8))
        .collect();
    let digits = digits?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    bytes.try_into().ok()
}

fn is_uuid(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let text = arguments.text(0)?;
    Ok(text.map_or(Value::Null, |text| Value::boolean(uuid_bytes(&text).is_some())))
}

fn swap_asked(arguments: &Arguments<'_>) -> Result<bool, SqlError> {
    Ok(arguments.len() == 2 && arguments.integer(1)?.is_some_and(|flag| flag != 0))
}

/// With the swap flag the time parts come most significant first, so that ids made in sequence sort so.
fn uuid_to_bin(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    let Some(id) = uuid_bytes(&text) else {
        let shown = String::from_utf8_lossy(&text).into_owned();
        return Err(error_code::ER_WRONG_VALUE_FOR_TYPE.with(&[&"string", &shown, &"uuid_to_bin"]));
    };
    Ok(if swap_asked(arguments)? {
        Value::Bytes([&id[6..8], &id[4..6], &id[0..4], &id[8..]].concat())
    } else {
        Value::bytes(id)
    })
}

fn bin_to_uuid(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(bytes) = arguments.text(0)? else { return Ok(Value::Null) };
    let Ok(id) = <[u8; 16]>::try_from(&bytes[..]) else {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        return Err(error_code::ER_WRONG_VALUE_FOR_TYPE.with(&[&"string", &shown, &"bin_to_uuid"]));
    };
    let id = if swap_asked(arguments)? {
        [&id[4..8], &id[2..4], &id[0..2], &id[8..]].concat()
    } else {
        id.to_vec()
    };
    Ok(Value::bytes(uuid_text(&id)))
}

/// The 36 characters of 16 bytes.
pub(super) fn uuid_text(id: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in id.iter().enumerate() {
        if [4, 6, 8, 10].contains(&index) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}
