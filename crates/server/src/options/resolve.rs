//! What an option that was written somewhere means here: set, set under its new name, limited, or without effect.
//!
//! Invariant: a name of mysqld, Percona Server or MariaDB is never unknown; whatever does not take effect as it was
//! written leaves a note that says why. Called by `settings` for each option.

use variables::{Effect, Setting, VariableId, parse_text};

use super::known;
use super::mapped;
use super::nearest::nearest;
use super::table::{Kind, OPTIONS, OptionSpec};
use super::value::{Normalised, normalise, parse_size};
use crate::options::given::Given;

/// What one option sets.
#[derive(Debug)]
pub(super) enum Meaning {
    Option(&'static OptionSpec, String),
    /// A system variable that needs no declaration of its own as an option.
    Variable(&'static str, String),
    /// The old way to size the log: files, and bytes of each.
    LogFileBytes(u64),
    LogFiles(u64),
    Nothing,
}

/// Variables whose other values the server must not start without.
const NEVER_IGNORED: &[&str] =
    &["default_table_encryption", "innodb_read_only", "lower_case_table_names", "offline_mode"];

pub(super) fn canonical(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

pub(super) fn resolve(given: &Given, notes: &mut Vec<String>) -> Result<Meaning, String> {
    let whole = canonical(&given.name);
    let (name, is_loose) = match whole.strip_prefix("loose-") {
        Some(name) => (name, true),
        None => (whole.as_str(), false),
    };
    if let Some(meaning) = by_name(name, given.value.as_deref(), given, notes)? {
        return Ok(meaning);
    }
    for (prefix, value) in [("skip-", "OFF"), ("disable-", "OFF"), ("enable-", "ON")] {
        let Some(rest) = name.strip_prefix(prefix) else { continue };
        let Some(meaning) = by_name(rest, Some(value), given, notes)? else { continue };
        return match given.value {
            Some(_) => Err(format!("{}: option '--{name}' takes no value", given.place)),
            None => Ok(meaning),
        };
    }
    if let Some(limited) = name.strip_prefix("maximum-")
        && known_names().any(|known| known == limited)
    {
        notes.push(format!(
            "{}: '{name}' has no effect: variables have no maximum of their own here",
            given.place
        ));
        return Ok(Meaning::Nothing);
    }
    if is_loose {
        notes.push(format!("{}: unknown option '{}' ignored", given.place, given.name));
        return Ok(Meaning::Nothing);
    }
    let hint = match nearest(name, known_names()) {
        Some(known) => format!("did you mean '--{known}'?"),
        None => "--help lists the options".to_owned(),
    };
    Err(format!("{}: unknown option '--{name}'; {hint}", given.place))
}

fn known_names() -> impl Iterator<Item = &'static str> {
    OPTIONS.iter().map(|spec| spec.name).chain(mapped::names()).chain(known::all().map(|known| known.name))
}

/// `None` for a name that nobody has.
fn by_name(
    name: &str,
    value: Option<&str>,
    given: &Given,
    notes: &mut Vec<String>,
) -> Result<Option<Meaning>, String> {
    if let Some(spec) = OPTIONS.iter().find(|spec| spec.name == name) {
        return declared(spec, value, given, notes).map(Some);
    }
    if let Some((new, value)) = mapped::renamed(name, value) {
        notes.push(format!("{}: '{name}' is called '{new}' now", given.place));
        return by_name(new, value.as_deref(), given, notes);
    }
    if let Some(meaning) = log_files(name, value, given)? {
        return Ok(Some(meaning));
    }
    let Some(known) = known::find(name) else { return Ok(None) };
    if known.is_refused {
        return Err(format!("{}: option '--{name}': {}", given.place, known.reason));
    }
    if let Some(id) = VariableId::by_name(&name.replace('-', "_")) {
        return variable(id, known.reason, value, given, notes).map(Some);
    }
    notes.push(format!("{}: '{name}' has no effect: {}", given.place, known.reason));
    Ok(Some(Meaning::Nothing))
}

fn declared(
    spec: &'static OptionSpec,
    value: Option<&str>,
    given: &Given,
    notes: &mut Vec<String>,
) -> Result<Meaning, String> {
    let value = match value {
        Some(value) => value,
        None if matches!(spec.kind, Kind::Boolean | Kind::Choice(_) | Kind::Only(_) | Kind::NameOrOff) => {
            "ON"
        }
        None => return Err(format!("{}: option '--{}' needs a value", given.place, spec.name)),
    };
    let (kept, removed) = match spec.name {
        "sql-mode" => mapped::modes_without_removed(value),
        _ => (value.to_owned(), Vec::new()),
    };
    for mode in removed {
        notes.push(format!("{}: the mode {mode} of sql_mode does not exist any more", given.place));
    }
    match normalise(spec, &kept) {
        Ok(Normalised::Exact(value)) => Ok(Meaning::Option(spec, value)),
        Ok(Normalised::Limited(limit)) => {
            notes.push(format!("{}: '{}={value}' is adjusted to {limit}", given.place, spec.name));
            Ok(Meaning::Option(spec, limit))
        }
        Ok(Normalised::WithoutEffect) => {
            notes.push(format!("{}: '{}={value}' has no effect: {}", given.place, spec.name, spec.help));
            Ok(Meaning::Nothing)
        }
        Err(reason) => Err(format!("{}: option '--{}': {reason}", given.place, spec.name)),
    }
}

fn variable(
    id: VariableId,
    reason: &str,
    value: Option<&str>,
    given: &Given,
    notes: &mut Vec<String>,
) -> Result<Meaning, String> {
    let definition = id.definition();
    let default = definition.default_setting();
    let value = match (value, &default) {
        (Some(value), Setting::Unsigned(_)) => match parse_size(value) {
            Some(bytes) => bytes.to_string(),
            None => value.to_owned(),
        },
        (Some(value), _) => value.to_owned(),
        (None, Setting::Boolean(_)) => "ON".to_owned(),
        (None, _) => return Err(format!("{}: option '--{}' needs a value", given.place, given.name)),
    };
    let converted = match parse_text(definition, &value) {
        Ok(converted) => converted,
        Err(_) if definition.effect == Effect::Accepted => {
            notes.push(format!("{}: '{}={value}' has no effect: {reason}", given.place, given.name));
            return Ok(Meaning::Nothing);
        }
        Err(error) => return Err(format!("{}: option '--{}': {}", given.place, given.name, error.message)),
    };
    if definition.effect == Effect::Fixed && converted.setting != default {
        let what = format!("{}: '{}={value}'", given.place, given.name);
        if NEVER_IGNORED.contains(&definition.name) {
            return Err(format!("{what} is not supported, only {}", default.display()));
        }
        notes.push(format!("{what} has no effect, it stays {}: {reason}", default.display()));
        return Ok(Meaning::Nothing);
    }
    let shown = converted.setting.display();
    if converted.warning.is_some() {
        notes.push(format!("{}: '{}={value}' is adjusted to {shown}", given.place, given.name));
    }
    if definition.effect == Effect::Accepted {
        notes.push(format!("{}: '{}' is shown and has no effect: {reason}", given.place, given.name));
    }
    Ok(Meaning::Variable(definition.name, shown))
}

/// `innodb_log_file_size` and `innodb_log_files_in_group`, which `innodb_redo_log_capacity` has replaced.
fn log_files(name: &str, value: Option<&str>, given: &Given) -> Result<Option<Meaning>, String> {
    let make = match name {
        "innodb-log-file-size" => Meaning::LogFileBytes,
        "innodb-log-files-in-group" => Meaning::LogFiles,
        _ => return Ok(None),
    };
    let number = value.and_then(parse_size);
    let number = number.ok_or_else(|| format!("{}: option '--{name}' needs a number", given.place))?;
    Ok(Some(make(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No name of another server is unknown, with a value or without one, alone or behind a prefix.
    #[test]
    fn every_known_name_means_something() {
        let names: Vec<_> = known_names().collect();
        for name in &names {
            for (written, value) in [
                ((*name).to_owned(), None),
                (name.replace('-', "_"), Some("1")),
                (format!("loose-{name}"), Some("x")),
                (format!("skip-{name}"), None),
            ] {
                let given =
                    Given { name: written, value: value.map(str::to_owned), place: "here".to_owned() };
                if let Err(error) = resolve(&given, &mut Vec::new()) {
                    assert!(!error.contains("unknown option"), "{error}");
                }
            }
        }
    }
}
