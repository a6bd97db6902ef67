//! The arguments of the commands beside `serve`: each a name with a value.
//!
//! Called by the plans of those commands.
use std::slice::Iter;

/// `--name=value` or `--name value`; the value of the second form is taken from the words that follow.
pub(crate) fn name_and_value<'a>(
    command: &str,
    word: &'a str,
    rest: &mut Iter<'a, String>,
) -> Result<(&'a str, &'a str), String> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, rest.next().map(String::as_str)),
    };
    value.map(|value| (name, value)).ok_or_else(|| format!("{command}: '{name}' needs a value"))
}
