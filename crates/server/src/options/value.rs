//! Values of options: checked against their declaration and brought to one form.
//!
//! Called by `resolve`. The one form is what the session's registry reads: decimal digits, ON or OFF, the word
//! as declared.

use instance::replication::{FilterOption, SkippedErrors};

use super::table::{Kind, OptionSpec};

/// A value in the form that its readers expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Normalised {
    Exact(String),
    /// The nearest value within the limits, as mysqld takes it.
    Limited(String),
    /// The server has only the other state.
    WithoutEffect,
}

/// The checked value, or what is wrong with it.
pub(super) fn normalise(spec: &OptionSpec, value: &str) -> Result<Normalised, String> {
    let value = value.trim();
    match spec.kind {
        Kind::Text | Kind::Repeated => Ok(Normalised::Exact(value.to_owned())),
        Kind::Filter(kind) => match FilterOption::parse(kind, value) {
            Some(_) => Ok(Normalised::Exact(value.to_owned())),
            None => Err(format!("'{value}' is not what its help says")),
        },
        Kind::Errors => match SkippedErrors::parse(value) {
            Some(errors) => Ok(Normalised::Exact(errors.to_string())),
            None => Err(format!("'{value}' is no list of error numbers")),
        },
        Kind::Boolean => parse_boolean(value)
            .map(|on| Normalised::Exact(if on { "ON" } else { "OFF" }.to_owned()))
            .ok_or_else(|| format!("'{value}' is neither ON nor OFF")),
        Kind::Integer { min, max } => in_range(value.parse().ok(), value, min, max, "a number"),
        Kind::Size { min, max } => {
            in_range(parse_size(value).map(i128::from), value, min, max, "a size such as 512M")
        }
        Kind::Choice(words) => parse_choice(value, words).map(Normalised::Exact),
        Kind::NameOrOff => Ok(Normalised::Exact(match parse_boolean(value) {
            Some(on) => if on { "ON" } else { "OFF" }.to_owned(),
            None => value.to_owned(),
        })),
        Kind::Only(word) => {
            let same_boolean = parse_boolean(value).is_some() && parse_boolean(value) == parse_boolean(word);
            if same_boolean || value.eq_ignore_ascii_case(word) {
                Ok(Normalised::Exact(word.to_owned()))
            } else {
                Ok(Normalised::WithoutEffect)
            }
        }
    }
}

fn in_range(parsed: Option<i128>, value: &str, min: u64, max: u64, what: &str) -> Result<Normalised, String> {
    let number = parsed.ok_or_else(|| format!("'{value}' is not {what}"))?;
    let limited = number.clamp(i128::from(min), i128::from(max));
    match limited == number {
        true => Ok(Normalised::Exact(number.to_string())),
        false => Ok(Normalised::Limited(limited.to_string())),
    }
}

fn parse_boolean(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "on" | "true" | "yes" => Some(true),
        "0" | "off" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Bytes, with the binary suffixes of mysqld.
pub(super) fn parse_size(value: &str) -> Option<u64> {
    let digits = value.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let shift = match &value[digits.len()..] {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        "T" | "t" => 40,
        "P" | "p" => 50,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn parse_choice(value: &str, words: &[&str]) -> Result<String, String> {
    let word = words.iter().find(|word| word.eq_ignore_ascii_case(value));
    // ON and OFF have other spellings, where the choice has them.
    let same = |word: &&&str| parse_boolean(value).is_some_and(|on| parse_boolean(word) == Some(on));
    word.or_else(|| words.iter().find(same))
        .map(|word| (*word).to_owned())
        .ok_or_else(|| format!("'{value}' is none of {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::table::OPTIONS;

    fn check(name: &str, value: &str, expected: Option<Normalised>) {
        let spec = OPTIONS.iter().find(|spec| spec.name == name).expect("declared");
        assert_eq!(normalise(spec, value).ok(), expected, "{name}={value}");
    }

    #[test]
    fn values_are_checked() {
        let exact = |text: &str| Some(Normalised::Exact(text.to_owned()));
        let limited = |text: &str| Some(Normalised::Limited(text.to_owned()));
        check("innodb-buffer-pool-size", "1G", exact("1073741824"));
        check("innodb-buffer-pool-size", "64m", exact("67108864"));
        check("innodb-buffer-pool-size", "1", limited("5242880"));
        check("innodb-buffer-pool-size", "9999999999999T", None);
        check("innodb-buffer-pool-size", "1X", None);
        check("port", "65536", limited("65535"));
        check("port", "-1", limited("0"));
        check("port", "x", None);
        check("autocommit", "false", exact("OFF"));
        check("transaction-isolation", "read-committed", exact("READ-COMMITTED"));
        check("transaction-isolation", "NONE", None);
        check("innodb-doublewrite", "true", exact("ON"));
        check("page-packing", "0", exact("off"));
        check("page-packing", "ON", None);
        check("log-bin", "0", exact("OFF"));
        check("log-bin", "mysql-bin", exact("mysql-bin"));
        check("mysqlx", "1", Some(Normalised::WithoutEffect));
    }
}
