//! REGEXP_LIKE (also the operator REGEXP), REGEXP_INSTR, REGEXP_SUBSTR and REGEXP_REPLACE.
//!
//! Positions and occurrences are counted in characters from 1. Compiled patterns are kept for the statement, so a
//! constant pattern is compiled once however many rows it meets.
use std::sync::Arc;

use collation::Charset;
use datum::{SqlError, Value, error_code};

use expression::BindContext;
use expression::call::infer::{cast_integer, cast_text, compared_texts, integer_type, text_result};
use expression::call::width::text_width;
use expression::{Arguments, Function};
use expression::{Expr, ExprType};
use pattern::{Flags, Groups, Regexp, RegexpError};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::pure("regexp_like", (2, 3), infer_condition, regexp_like),
    Function::pure("regexp_instr", (2, 6), infer_number, regexp_instr),
    Function::pure("regexp_substr", (2, 5), infer_text, regexp_substr),
    Function::pure("regexp_replace", (3, 6), infer_text, regexp_replace),
];

/// The index of the first argument after the texts: where counting positions starts.
fn texts_of(name: &str) -> usize {
    if name == "regexp_replace" { 3 } else { 2 }
}

fn infer_arguments(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let texts = texts_of(name);
    // The match type is the last argument where the function has all of them.
    let last = if name == "regexp_like" {
        2
    } else if name == "regexp_substr" {
        4
    } else {
        5
    };
    for (index, argument) in arguments.iter_mut().enumerate().skip(texts) {
        if index == last { cast_text(bind, argument)? } else { cast_integer(bind, argument)? }
    }
    check_charsets(name, &arguments[..texts])?;
    let length = match name {
        "regexp_replace" => u64::from(u32::MAX),
        _ => text_width(&arguments[0]),
    };
    compared_texts(bind, name, &mut arguments[..2], length)?;
    text_result(bind, name, &mut arguments[..texts], length)
}

/// Error 3995 for binary strings beside texts; what is no string goes with either.
fn check_charsets(name: &str, texts: &[Expr]) -> Result<(), SqlError> {
    let is_binary = |expr: &Expr| !expr.ty.column.is_text() && expr.ty.column.kind.is_string();
    // BLOBs pass as text in MySQL, but not where texts replace in them or by them.
    if texts.iter().any(|text| text.ty.column.kind.is_large_object() && !text.ty.column.is_text()) {
        let is_other = |text: &Expr| text.ty.column.is_text() || text.ty.column.kind.has_members();
        return match texts {
            [subject, pattern, replacement]
                if is_other(replacement)
                    && (is_binary(subject) || is_binary(pattern))
                    && ![subject, pattern]
                        .iter()
                        .any(|text| text.ty.column.kind.is_large_object() && text.ty.column.is_text()) =>
            {
                let bytes = if is_binary(subject) { subject } else { pattern };
                let names = [bytes, replacement].map(|expr| expr.ty.collation().name());
                Err(error_code::ER_CHARACTER_SET_MISMATCH.with(&[&names[0], &names[1], &name]))
            }
            _ => Ok(()),
        };
    }
    let is_string = |expr: &&Expr| expr.ty.column.kind.is_string() || expr.ty.column.kind.has_members();
    let mut strings = texts.iter().filter(is_string);
    let Some(first) = strings.next() else { return Ok(()) };
    match strings.find(|other| is_binary(other) != is_binary(first)) {
        Some(other) => {
            let names = [first, other].map(|expr| expr.ty.collation());
            Err(error_code::ER_CHARACTER_SET_MISMATCH.with(&[&names[0].name(), &names[1].name(), &name]))
        }
        None => Ok(()),
    }
}

fn infer_number(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    infer_arguments(bind, name, arguments)?;
    Ok(integer_type())
}

fn infer_condition(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    infer_number(bind, name, arguments).map(ExprType::as_truth)
}

fn infer_text(bind: &BindContext, name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    infer_arguments(bind, name, arguments)
}

/// What all the functions read first.
struct Subject {
    text: Vec<char>,
    pattern: Arc<Regexp>,
    /// Where the search starts, from 0.
    start: usize,
    /// Which match is meant, from 1; 0 means all where that makes sense.
    occurrence: usize,
}

fn characters(bytes: &[u8], charset: Charset) -> Vec<char> {
    let utf8 = charset.convert_to(Charset::Utf8mb4, bytes).bytes;
    let text = String::from_utf8_lossy(&utf8);
    let mut characters = Vec::with_capacity(text.len());
    for character in text.chars() {
        env::tick(2);
        characters.push(character);
    }
    characters
}

/// The flags of a match type over the collation's default; letters are read in order, the last one wins.
fn read_flags(match_type: &[u8], ignores_case: bool) -> Option<Flags> {
    let mut flags =
        Flags { ignores_case, is_multiline: false, dot_matches_newline: false, unix_lines: false };
    for letter in match_type {
        match letter {
            b'c' => flags.ignores_case = false,
            b'i' => flags.ignores_case = true,
            b'm' => flags.is_multiline = true,
            b'n' => flags.dot_matches_newline = true,
            b'u' => flags.unix_lines = true,
            _ => return None,
        }
    }
    Some(flags)
}

fn ignores_case(collation: collation::CollationId) -> bool {
    collation.equal(b"a", b"A")
}

/// Reads the arguments; `None` when one of them is NULL. `positions` tells where start, occurrence and match type are.
fn subject(
    name: &str,
    arguments: &Arguments<'_>,
    start_at: usize,
    match_type_at: usize,
) -> Result<Option<Subject>, SqlError> {
    let Some(pattern) = arguments.text(1)? else { return Ok(None) };
    let number = |index: usize, default: i64| -> Result<Option<i64>, SqlError> {
        let is_given = index < arguments.len() && index < match_type_at;
        if is_given { arguments.integer(index) } else { Ok(Some(default)) }
    };
    let (Some(start), Some(occurrence)) =
        (number(start_at, 1)?, number(start_at + 1, i64::from(start_at == 2))?)
    else {
        return Ok(None);
    };
    let match_type = if match_type_at < arguments.len() {
        match arguments.text(match_type_at)? {
            Some(match_type) => match_type.into_owned(),
            None => return Ok(None),
        }
    } else {
        Vec::new()
    };
    let Some(flags) = read_flags(&match_type, ignores_case(arguments.collation(0))) else {
        return Err(error_code::ER_WRONG_ARGUMENTS.with(&[&name]));
    };
    let pattern = characters(&pattern, arguments.charset(1)).into_iter().collect::<String>();
    let pattern = arguments.context.regexp(pattern, flags)?;
    let Some(text) = arguments.text(0)? else { return Ok(None) };
    let text = characters(&text, arguments.charset(0));
    let start = usize::try_from(start).ok().and_then(|start| start.checked_sub(1));
    let Some(start) = start.filter(|start| *start == 0 || *start < text.len()) else {
        return Err(error_code::ER_REGEXP_INDEX_OUTOFBOUNDS_ERROR.plain());
    };
    Ok(Some(Subject { text, pattern, start, occurrence: usize::try_from(occurrence).unwrap_or(0) }))
}

impl Subject {
    /// The matches one after the other; an empty match moves the search on by one character.
    fn matches(&self) -> impl Iterator<Item = Groups> + '_ {
        let mut start = self.start;
        std::iter::from_fn(move || {
            if start > self.text.len() {
                return None;
            }
            let groups = self.pattern.find(&self.text, start)?;
            let (from, to) = groups[0].expect("a match has a whole");
            start = if to == from { to + 1 } else { to };
            Some(groups)
        })
    }

    fn wanted(&self) -> Option<(usize, usize)> {
        self.matches().nth(self.occurrence.max(1) - 1).and_then(|groups| groups[0])
    }
}

/// Text made from characters, in the character set of the first argument.
fn encoded(arguments: &Arguments<'_>, characters: impl IntoIterator<Item = char>) -> Value {
    let text: String = characters.into_iter().collect();
    Value::Bytes(Charset::Utf8mb4.convert_to(arguments.charset(0), text.as_bytes()).bytes)
}

fn regexp_like(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(subject) = subject("regexp_like", arguments, 8, 2)? else { return Ok(Value::Null) };
    Ok(Value::boolean(subject.pattern.find(&subject.text, 0).is_some()))
}

fn regexp_instr(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(subject) = subject("regexp_instr", arguments, 2, 5)? else { return Ok(Value::Null) };
    let returns_end = match arguments.len() {
        5.. => match arguments.integer(4)? {
            None => return Ok(Value::Null),
            Some(0) => false,
            Some(1) => true,
            Some(_) => return Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"regexp_instr: return_option"])),
        },
        _ => false,
    };
    let position = subject.wanted().map_or(0, |(from, to)| if returns_end { to + 1 } else { from + 1 });
    Ok(Value::Int(position as i64))
}

fn regexp_substr(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(subject) = subject("regexp_substr", arguments, 2, 4)? else { return Ok(Value::Null) };
    Ok(match subject.wanted() {
        Some((from, to)) => encoded(arguments, subject.text[from..to].iter().copied()),
        None => Value::Null,
    })
}

fn regexp_replace(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(subject) = subject("regexp_replace", arguments, 3, 5)? else { return Ok(Value::Null) };
    let Some(replacement) = arguments.text(2)? else { return Ok(Value::Null) };
    let replacement = characters(&replacement, arguments.charset(2));
    let limit = arguments.context.settings.max_allowed_packet;
    let mut result: Vec<char> = Vec::with_capacity(subject.text.len());
    let mut copied = 0;
    for (index, groups) in subject.matches().enumerate() {
        if subject.occurrence > 0 && index + 1 != subject.occurrence {
            continue;
        }
        let (from, to) = groups[0].expect("a match has a whole");
        result.extend_from_slice(&subject.text[copied..from]);
        expand(&replacement, &groups, &subject.text, &mut result).map_err(RegexpError::to_error)?;
        copied = to;
        if !arguments.fits_packet("regexp_replace", result.len() as u64) {
            return Ok(Value::Null);
        }
        if subject.occurrence > 0 {
            break;
        }
    }
    result.extend_from_slice(&subject.text[copied..]);
    if result.len() as u64 > limit {
        return Ok(Value::Null);
    }
    Ok(encoded(arguments, result))
}

/// The replacement with `$n` as the text of group n; a backslash makes the next character literal.
fn expand(
    replacement: &[char],
    groups: &Groups,
    text: &[char],
    result: &mut Vec<char>,
) -> Result<(), RegexpError> {
    let mut at = 0;
    while let Some(character) = replacement.get(at) {
        at += 1;
        match character {
            '\\' => {
                result.extend(replacement.get(at));
                at += 1;
            }
            '$' => {
                let digit = replacement.get(at).and_then(|character| character.to_digit(10));
                let mut group = digit.ok_or(RegexpError::IllegalArgument)? as usize;
                at += 1;
                // More digits belong to the number as long as there is such a group.
                while let Some(digit) = replacement.get(at).and_then(|character| character.to_digit(10)) {
                    let longer = group * 10 + digit as usize;
                    if longer >= groups.len() {
                        break;
                    }
                    group = longer;
                    at += 1;
                }
                let span = groups.get(group).ok_or(RegexpError::NoSuchGroup)?;
                if let Some((from, to)) = span {
                    result.extend_from_slice(&text[*from..*to]);
                }
            }
            other => result.push(*other),
        }
    }
    Ok(())
}
