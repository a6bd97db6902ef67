//! Functions that are seldom used but simple: SOUNDEX, EXPORT_SET, INTERVAL, RANDOM_BYTES, FORMAT_BYTES, LOAD_FILE,
//! INET6_ATON and INET6_NTOA.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aws_lc_rs::rand as secure;
use datum::{SqlError, Value, error_code};

use expression::BindContext;
use expression::SessionRequest;
use expression::Volatility::Volatile;
use expression::call::infer::{
    binary_result, cast_double, cast_integer, cast_text, integer_type, made_text, system_text, text_result,
};
use expression::call::width::text_width;
use expression::{Arguments, Function};
use expression::{Expr, ExprType};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::pure("soundex", (1, 1), infer_soundex, soundex),
    Function::pure("export_set", (3, 5), infer_export_set, export_set),
    Function::pure("interval", (2, u8::MAX), infer_interval, interval),
    Function {
        volatility: Volatile,
        ..Function::pure("random_bytes", (1, 1), infer_random_bytes, random_bytes)
    },
    Function::pure("format_bytes", (1, 1), infer_format_bytes, format_bytes),
    Function { volatility: Volatile, ..Function::pure("load_file", (1, 1), infer_load_file, load_file) },
    Function::pure("inet6_aton", (1, 1), infer_inet6_aton, inet6_aton),
    Function::pure("inet6_ntoa", (1, 1), infer_inet6_ntoa, inet6_ntoa),
];

fn infer_soundex(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let length = text_width(&arguments[0]).max(4);
    text_result(bind, name, arguments, length)
}

fn infer_export_set(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_integer(bind, &mut arguments[0])?;
    if let Some(count) = arguments.get_mut(4) {
        cast_integer(bind, count)?;
    }
    let texts = arguments.len().min(4);
    let width = |place: usize| arguments.get(place).map_or(1, text_width);
    let length = width(1).max(width(2)) * 64 + width(3) * 63;
    text_result(bind, name, &mut arguments[1..texts], length)
}

fn infer_interval(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    arguments.iter_mut().try_for_each(|argument| cast_double(bind, argument))?;
    Ok(integer_type())
}

fn infer_random_bytes(
    bind: &BindContext,
    _: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_integer(bind, &mut arguments[0])?;
    Ok(binary_result(1024))
}

fn infer_format_bytes(
    bind: &BindContext,
    _: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_double(bind, &mut arguments[0])?;
    Ok(system_text(11))
}

fn infer_load_file(
    bind: &BindContext,
    _: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    Ok(binary_result(u64::from(u32::MAX)))
}

/// The session reads the file.
fn load_file(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let context = arguments.context;
    let Some(name) = arguments.text(0)? else { return Ok(Value::Null) };
    let answer = match context.told(arguments) {
        Some(answer) => answer,
        None => {
            let name = String::from_utf8_lossy(&name).into_owned();
            let bytes_max = context.settings.max_allowed_packet;
            return Err(context.defer(arguments, "load_file", SessionRequest::LoadFile { name, bytes_max }));
        }
    };
    // The length of one that is too long stands for it.
    match answer {
        Value::UInt(bytes) => {
            arguments.fits_packet("load_file", bytes);
            Ok(Value::Null)
        }
        answer => Ok(answer),
    }
}

fn infer_inet6_aton(
    bind: &BindContext,
    _: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    Ok(binary_result(16))
}

fn infer_inet6_ntoa(
    bind: &BindContext,
    _: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    Ok(made_text(bind, 39))
}

/// The first letter and the codes of the consonants after it, repeated codes once, at least four characters.
fn soundex(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    let charset = arguments.charset(0);
    // Letters beyond ASCII count as vowels and keep their case.
    let is_letter = |letter: &&[u8]| match letter {
        [byte] if byte.is_ascii() => byte.is_ascii_alphabetic(),
        _ if charset == collation::Charset::Binary => false,
        _ => charset.decode_first(letter).0 >= 0xC0,
    };
    let mut letters = charset.characters(&text).filter(is_letter);
    let Some(first) = letters.next() else { return Ok(Value::Bytes(Vec::new())) };
    let code_of = |letter: &[u8]| soundex_code(letter[0].to_ascii_uppercase());
    let mut result = first.to_ascii_uppercase();
    let mut last = code_of(first);
    let other_bytes = first.len() - 1;
    for letter in letters {
        let code = code_of(letter);
        // H and W do not separate equal codes; vowels do not either in MySQL's variant.
        if code == b'0' {
            continue;
        }
        if code != last {
            result.push(code);
        }
        last = code;
    }
    result.resize(result.len().max(4 + other_bytes), b'0');
    Ok(Value::Bytes(result))
}

fn soundex_code(letter: u8) -> u8 {
    match letter {
        b'B' | b'F' | b'P' | b'V' => b'1',
        b'C' | b'G' | b'J' | b'K' | b'Q' | b'S' | b'X' | b'Z' => b'2',
        b'D' | b'T' => b'3',
        b'L' => b'4',
        b'M' | b'N' => b'5',
        b'R' => b'6',
        _ => b'0',
    }
}

/// EXPORT_SET(bits, on, off [, separator [, count]]), lowest bit first.
fn export_set(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(bits), Some(on), Some(off)) = (arguments.bits(0)?, arguments.text(1)?, arguments.text(2)?)
    else {
        return Ok(Value::Null);
    };
    let separator = match arguments.len() {
        4.. => match arguments.text(3)? {
            Some(separator) => separator.into_owned(),
            None => return Ok(Value::Null),
        },
        _ => b",".to_vec(),
    };
    let count = match arguments.len() {
        5 => match arguments.integer(4)? {
            Some(count) => usize::try_from(count).map_or(64, |count| count.min(64)),
            None => return Ok(Value::Null),
        },
        _ => 64,
    };
    let length = (on.len().max(off.len()) + separator.len()) as u64 * 64;
    if !arguments.fits_packet("export_set", length) {
        return Ok(Value::Null);
    }
    let words: Vec<&[u8]> = (0..count).map(|bit| if bits >> bit & 1 == 1 { &*on } else { &*off }).collect();
    Ok(Value::Bytes(words.join(separator.as_slice())))
}

/// How many of the bounds, which are in order, are not above the first argument; -1 for NULL.
fn interval(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Value::Double(number) = *arguments.value(0)? else { return Ok(Value::Int(-1)) };
    let mut below = 0;
    for index in 1..arguments.len() {
        match *arguments.value(index)? {
            Value::Double(bound) if bound > number => break,
            _ => below = index as i64,
        }
    }
    Ok(Value::Int(below))
}

fn random_bytes(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    const LENGTH_MAX: i64 = 1024;
    let Some(length) = arguments.integer(0)? else { return Ok(Value::Null) };
    if !(1..=LENGTH_MAX).contains(&length) {
        return Err(error_code::ER_DATA_OUT_OF_RANGE.with(&[&"length", &"random_bytes"]));
    }
    let mut bytes = vec![0; length as usize];
    secure::fill(&mut bytes)
        .map_err(|_| error_code::ER_INTERNAL_ERROR.with(&[&"the system gives no random bytes"]))?;
    Ok(Value::Bytes(bytes))
}

fn format_bytes(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Value::Double(bytes) = *arguments.value(0)? else { return Ok(Value::Null) };
    Ok(Value::bytes(bytes_text(bytes)))
}

/// What FORMAT_BYTES() gives.
pub fn bytes_text(bytes: f64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes.abs() < 1024.0 {
        return format!("{:>4} bytes", bytes as i64);
    }
    let mut scaled = bytes / 1024.0;
    let mut unit = 0;
    while scaled.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let scientific = format!("{scaled:.2e}");
    match scientific.split_once('e') {
        Some((digits, exponent)) if scaled.abs() >= 100_000.0 => {
            format!("{digits}e+{exponent:0>2} {}", UNITS[unit])
        }
        _ => format!("{scaled:.2} {}", UNITS[unit]),
    }
}

fn inet6_aton(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    let address = std::str::from_utf8(&text).ok().and_then(|text| text.parse::<IpAddr>().ok());
    match address {
        Some(IpAddr::V4(address)) => Ok(Value::bytes(address.octets())),
        Some(IpAddr::V6(address)) => Ok(Value::bytes(address.octets())),
        None => {
            let shown = datum::shown(&text);
            arguments.context.warn(error_code::ER_WRONG_VALUE_FOR_TYPE.with(&[
                &"string",
                &shown,
                &"inet6_aton",
            ]));
            Ok(Value::Null)
        }
    }
}

fn inet6_ntoa(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(bytes) = arguments.text(0)? else { return Ok(Value::Null) };
    // An address in binary form is no text.
    let is_binary = arguments.charset(0) == collation::Charset::Binary;
    let bytes = if is_binary { bytes } else { std::borrow::Cow::Borrowed(&b""[..]) };
    if let Ok(octets) = <[u8; 4]>::try_from(&*bytes) {
        return Ok(Value::bytes(Ipv4Addr::from(octets).to_string()));
    }
    if let Ok(octets) = <[u8; 16]>::try_from(&*bytes) {
        return Ok(Value::bytes(Ipv6Addr::from(octets).to_string()));
    }
    arguments.warn_of_value("string", 0, "inet6_ntoa");
    Ok(Value::Null)
}
