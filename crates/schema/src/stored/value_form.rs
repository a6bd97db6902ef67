//! A default value as JSON: `{"word": value}`, with bytes in hexadecimal digits.
use super::{Read, error};
use datum::{ColumnType, Date, DateTime, Decimal, Time, Timestamp, Value};
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
        Value::Decimal(_) => json!({"decimal": text_of(value)}),
        Value::Date(date) => json!({"date": date.to_packed()}),
        Value::Time(time) => json!({"time": time.to_micros()}),
        Value::DateTime(at) => json!({"datetime": at.to_packed()}),
        Value::Timestamp(at) => json!({"timestamp": at.to_unix_micros()}),
        Value::Null => Json::Null,
    }
}

fn text_of(value: &Value) -> String {
    let mut text = Vec::new();
    value.write_text(&ColumnType::bigint(), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

pub fn read(form: &Json) -> Read<Value> {
    let (word, value) = match form.as_object().and_then(|object| object.iter().next()) {
        Some(entry) => entry,
        None => return Ok(Value::Null),
    };
    let number = || value.as_u64().ok_or_else(|| error("a default value is not a number"));
    let small = || u16::try_from(number()?).map_err(|_| error("a default value is too large"));
    let text = || value.as_str().ok_or_else(|| error("a default value is not text"));
    let signed = || value.as_i64();
    let no_moment = || error("a default value is no date or time");
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
        "decimal" => Value::Decimal(Decimal::parse(text()?).ok_or_else(|| error("a default is no decimal"))?),
        "date" => u32::try_from(number()?)
            .ok()
            .and_then(Date::from_packed)
            .map(Value::Date)
            .ok_or_else(no_moment)?,
        "time" => signed().and_then(Time::from_micros).map(Value::Time).ok_or_else(no_moment)?,
        "datetime" => DateTime::from_packed(number()?).map(Value::DateTime).ok_or_else(no_moment)?,
        "timestamp" => {
            signed().and_then(Timestamp::from_unix_micros).map(Value::Timestamp).ok_or_else(no_moment)?
        }
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
