//! A default value as JSON: `{"word": value}`, with bytes in hexadecimal digits.
use super::{Read, error};
use datum::{ColumnType, Value};
use serde_json::{Value as Json, json};

pub fn write(value: &Value) -> Json {
    match value {
        Value::Int(number) => json!({"int": number}),
        Value::UInt(number) => json!({"uint": number}),
        Value::Float(number) => json!({"float_bits": number.to_bits()}),
        Value::Double(number) => json!({"double_bits": number.to_bits()}),
        Value::Bytes(bytes) => json!({"bytes": hex(bytes)}),
        Value::Year(year) => json!({"year": year}),
        Value::Bit(bits) => json!({"bit": bits}),
        Value::Enum(index) => json!({"enum": index}),
        Value::Set(bits) => json!({"set": bits}),
        Value::Json(text) => json!({"json": text}),
        _ => Json::Null,
    }
}

pub fn read(form: &Json, _column_type: &ColumnType) -> Read<Value> {
    let (word, value) = match form.as_object().and_then(|object| object.iter().next()) {
        Some(entry) => entry,
        None => return Ok(Value::Null),
    };
    let number = || value.as_u64().ok_or_else(|| error("a default value is not a number"));
    let small = || u16::try_from(number()?).map_err(|_| error("a default value is too large"));
    let text = || value.as_str().ok_or_else(|| error("a default value is not text"));
    Ok(match word.as_str() {
        "int" => Value::Int(value.as_i64().ok_or_else(|| error("a default value is not a number"))?),
        "uint" => Value::UInt(number()?),
        "float_bits" => {
            Value::Float(f32::from_bits(u32::try_from(number()?).map_err(|_| error("float bits"))?))
        }
        "double_bits" => Value::Double(f64::from_bits(number()?)),
        "bytes" => Value::Bytes(from_hex(text()?)?),
        "year" => Value::Year(small()?),
        "bit" => Value::Bit(number()?),
        "enum" => Value::Enum(small()?),
        "set" => Value::Set(number()?),
        "json" => Value::Json(text()?.into()),
        other => return Err(error(format!("unknown kind of default value '{other}'"))),
    })
}

pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

pub fn from_hex(digits: &str) -> Read<Vec<u8>> {
    let nibble = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let pairs = digits.as_bytes().chunks(2).map(|pair| match *pair {
        [high, low] => Some(nibble(high)? << 4 | nibble(low)?),
        _ => None,
    });
    pairs.collect::<Option<Vec<u8>>>().ok_or_else(|| error("bytes are not in hexadecimal digits"))
}
