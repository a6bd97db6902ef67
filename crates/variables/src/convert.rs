//! From the value of a SET (or a program option) to the value of a variable, with MySQL's errors 1231 and 1232.
//!
//! Numbers out of range are moved to the nearest limit with a warning, as MySQL does; everything else that does
//! not fit is refused.
use collation::{Charset, CollationId};
use datum::{Condition, SqlError, SqlMode, TimeZone, Value, error_code};

use super::definition::{Definition, Kind, Setting};

pub struct Converted {
    pub setting: Setting,
    pub warning: Option<Condition>,
}

impl Converted {
    fn exact(setting: Setting) -> Converted {
        Converted { setting, warning: None }
    }
}

/// A value that an expression gave. Text must be UTF-8.
pub fn from_value(definition: &Definition, value: &Value) -> Result<Converted, SqlError> {
    let number = match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        Value::Bit(bits) => Some(i128::from(*bits)),
        _ => None,
    };
    match (number, value) {
        (Some(number), _) => from_integer(definition, number),
        (None, Value::Null) => from_null(definition),
        (None, Value::Bytes(bytes)) => from_text(definition, &String::from_utf8_lossy(bytes)),
        (None, Value::Float(number)) => from_fraction(definition, f64::from(*number)),
        (None, Value::Double(number)) => from_fraction(definition, *number),
        (None, Value::Decimal(number)) => {
            from_fraction(definition, number.to_string().parse().unwrap_or_default())
        }
        _ => Err(wrong_type(definition)),
    }
}

/// A program option's text, where numbers arrive as text too.
pub fn parse_text(definition: &Definition, text: &str) -> Result<Converted, SqlError> {
    match definition.kind {
        Kind::Boolean { .. } => match text.to_ascii_lowercase().as_str() {
            "on" | "true" | "yes" | "1" | "" => Ok(Converted::exact(Setting::Boolean(true))),
            "off" | "false" | "no" | "0" => Ok(Converted::exact(Setting::Boolean(false))),
            _ => Err(wrong_value(definition, text)),
        },
        Kind::Unsigned { .. } | Kind::Signed { .. } => {
            let number: i128 = text.trim().parse().map_err(|_| wrong_type(definition))?;
            from_integer(definition, number)
        }
        Kind::Double { .. } => {
            let number: f64 = text.trim().parse().map_err(|_| wrong_type(definition))?;
            from_fraction(definition, number)
        }
        _ => match text.parse::<i128>() {
            Ok(number) if !matches!(definition.kind, Kind::Text { .. }) => from_integer(definition, number),
            _ => from_text(definition, text),
        },
    }
}

fn from_integer(definition: &Definition, number: i128) -> Result<Converted, SqlError> {
    match definition.kind {
        Kind::Boolean { .. } => match number {
            0 | 1 => Ok(Converted::exact(Setting::Boolean(number == 1))),
            _ => Err(wrong_value(definition, &number.to_string())),
        },
        Kind::Unsigned { min, max, .. } => {
            let limited = number.clamp(i128::from(min), i128::from(max));
            let setting = Setting::Unsigned(u64::try_from(limited).expect("clamped between two u64"));
            Ok(Converted { setting, warning: (limited != number).then(|| truncated(definition, &number)) })
        }
        Kind::Signed { min, max, .. } => {
            let limited = number.clamp(i128::from(min), i128::from(max));
            let setting = Setting::Signed(i64::try_from(limited).expect("clamped between two i64"));
            Ok(Converted { setting, warning: (limited != number).then(|| truncated(definition, &number)) })
        }
        Kind::Double { .. } => from_fraction(definition, number as f64),
        Kind::Text { .. } => Err(wrong_type(definition)),
        Kind::Choice { words, .. } => usize::try_from(number)
            .ok()
            .and_then(|index| words.get(index))
            .map(|word| Converted::exact(Setting::text(word)))
            .ok_or_else(|| wrong_value(definition, &number.to_string())),
        Kind::SqlMode { .. } => from_bits(definition, number),
        Kind::Charset { .. } => {
            let collation = u16::try_from(number).ok().and_then(CollationId::by_number);
            let charset = collation.map(CollationId::charset);
            charset
                .map(|charset| Converted::exact(Setting::text(charset.name())))
                .ok_or_else(|| error_code::ER_UNKNOWN_CHARACTER_SET.with(&[&number]))
        }
        Kind::Collation { .. } => u16::try_from(number)
            .ok()
            .and_then(CollationId::by_number)
            .map(|collation| Converted::exact(Setting::text(collation.name())))
            .ok_or_else(|| error_code::ER_UNKNOWN_COLLATION.with(&[&number])),
    }
}

fn from_bits(definition: &Definition, number: i128) -> Result<Converted, SqlError> {
    let known = SqlMode::NAMED.iter().fold(SqlMode::default(), |all, (mode, _)| all.with(*mode));
    let mode = u64::try_from(number)
        .ok()
        .map(SqlMode)
        .filter(|mode| known.contains(*mode))
        .ok_or_else(|| wrong_value(definition, &number.to_string()))?;
    // Reading the words again lets ANSI and TRADITIONAL bring their members along.
    from_text(definition, &mode.to_text())
}

fn from_fraction(definition: &Definition, number: f64) -> Result<Converted, SqlError> {
    let Kind::Double { min, max, .. } = definition.kind else {
        return Err(wrong_type(definition));
    };
    let limited = number.max(min);
    // An upper limit of 0 means none: the clock's range is checked by whoever obeys it.
    let limited = if max > 0.0 { limited.min(max) } else { limited };
    let warning = (limited != number).then(|| truncated(definition, &number));
    Ok(Converted { setting: Setting::Double(limited), warning })
}

fn from_null(definition: &Definition) -> Result<Converted, SqlError> {
    match definition.kind {
        Kind::Charset { .. } if definition.name == "character_set_results" => {
            Ok(Converted::exact(Setting::Null))
        }
        Kind::Unsigned { .. } | Kind::Signed { .. } | Kind::Double { .. } => Err(wrong_type(definition)),
        _ => Err(wrong_value(definition, "NULL")),
    }
}

fn from_text(definition: &Definition, text: &str) -> Result<Converted, SqlError> {
    match definition.kind {
        Kind::Boolean { .. } => match text.to_ascii_uppercase().as_str() {
            "ON" => Ok(Converted::exact(Setting::Boolean(true))),
            "OFF" => Ok(Converted::exact(Setting::Boolean(false))),
            _ => Err(wrong_value(definition, text)),
        },
        Kind::Unsigned { .. } | Kind::Signed { .. } | Kind::Double { .. } => Err(wrong_type(definition)),
        Kind::Text { .. } => text_value(definition, text),
        Kind::Choice { words, .. } => words
            .iter()
            .find(|word| word.eq_ignore_ascii_case(text))
            .map(|word| Converted::exact(Setting::text(word)))
            .ok_or_else(|| wrong_value(definition, text)),
        Kind::SqlMode { .. } => {
            let mode = SqlMode::parse(text).map_err(|word| wrong_value(definition, word))?;
            Ok(Converted::exact(Setting::text(&mode.to_text())))
        }
        Kind::Charset { .. } => Charset::by_name(text)
            .map(|charset| Converted::exact(Setting::text(charset.name())))
            .ok_or_else(|| error_code::ER_UNKNOWN_CHARACTER_SET.with(&[&text])),
        Kind::Collation { .. } => CollationId::by_name(text)
            .map(|collation| Converted::exact(Setting::text(collation.name())))
            .ok_or_else(|| error_code::ER_UNKNOWN_COLLATION.with(&[&text])),
    }
}

/// Texts whose form matters are checked here, so that a session never holds one it cannot obey.
fn text_value(definition: &Definition, text: &str) -> Result<Converted, SqlError> {
    match definition.name {
        "default_storage_engine" => match super::storage_engine(text) {
            Some(name) => Ok(Converted::exact(Setting::text(name))),
            None => Err(error_code::ER_UNKNOWN_STORAGE_ENGINE.with(&[&text])),
        },
        "time_zone" => match TimeZone::parse(text) {
            Some(zone) => Ok(Converted::exact(Setting::text(zone.name()))),
            None => Err(error_code::ER_UNKNOWN_TIME_ZONE.with(&[&text])),
        },
        _ => Ok(Converted::exact(Setting::text(text))),
    }
}

fn wrong_value(definition: &Definition, text: &str) -> SqlError {
    error_code::ER_WRONG_VALUE_FOR_VAR.with(&[&definition.name, &text])
}

fn wrong_type(definition: &Definition) -> SqlError {
    error_code::ER_WRONG_TYPE_FOR_VAR.with(&[&definition.name])
}

fn truncated(definition: &Definition, number: &dyn std::fmt::Display) -> Condition {
    error_code::ER_TRUNCATED_WRONG_VALUE.with(&[&definition.name, number]).into_warning()
}
