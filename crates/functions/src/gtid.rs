//! Sets of global transaction identifiers: GTID_SUBSET and GTID_SUBTRACT.
//!
//! A set is `uuid:interval[:interval]..` with commas between; tags stand between the UUID and their intervals. The
//! sets of these functions are texts; this server gives transactions no such identifiers.
use std::collections::BTreeMap;

use datum::{ColumnType, SqlError, Value, error_code};

use expression::BindContext;
use expression::Volatility::Pure;
use expression::call::infer::{cast_text, made_text};
use expression::call::width::text_width;
use expression::{Arguments, Function};
use expression::{Coercibility, Expr, ExprType};

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "gtid_subset",
        arguments_min: 2,
        arguments_max: 2,
        volatility: Pure,
        infer: infer_subset,
        evaluate: subset,
    },
    Function {
        name: "gtid_subtract",
        arguments_min: 2,
        arguments_max: 2,
        volatility: Pure,
        infer: infer_subtract,
        evaluate: subtract,
    },
];

fn infer_subset(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    arguments.iter_mut().try_for_each(|argument| cast_text(bind, argument))?;
    Ok(ExprType::new(ColumnType::bigint(), Coercibility::Numeric).as_truth())
}

fn infer_subtract(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    arguments.iter_mut().try_for_each(|argument| cast_text(bind, argument))?;
    Ok(made_text(bind, text_width(&arguments[0])))
}

/// By UUID and tag the intervals, sorted, apart from each other; the end is not part of one.
type GtidSet = BTreeMap<(String, String), Vec<(i64, i64)>>;

fn malformed(text: &str) -> SqlError {
    error_code::ER_MALFORMED_GTID_SET_SPECIFICATION.with(&[&text])
}

fn parse(text: &str) -> Result<GtidSet, SqlError> {
    let mut set = GtidSet::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let mut fields = part.split(':').map(str::trim);
        let uuid = fields.next().and_then(uuid).ok_or_else(|| malformed(text))?;
        let mut tag = String::new();
        for field in fields {
            if field.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
                tag = field.to_ascii_lowercase();
                continue;
            }
            let (start, end) = field.split_once('-').unwrap_or((field, field));
            let bounds = (start.trim().parse::<i64>(), end.trim().parse::<i64>());
            let (Ok(start), Ok(end)) = bounds else { return Err(malformed(text)) };
            if start < 1 || end == i64::MAX {
                return Err(malformed(text));
            }
            if start <= end {
                set.entry((uuid.clone(), tag.clone())).or_default().push((start, end + 1));
            }
        }
    }
    set.values_mut().for_each(join);
    Ok(set)
}

fn uuid(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let is_shaped = lower.len() == 36
        && lower.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    is_shaped.then_some(lower)
}

/// Sorts intervals and joins those that touch.
fn join(intervals: &mut Vec<(i64, i64)>) {
    intervals.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::with_capacity(intervals.len());
    for (start, end) in intervals.drain(..) {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    *intervals = joined;
}

/// What of `left` is not in `right`.
fn difference(left: GtidSet, right: &GtidSet) -> GtidSet {
    let mut rest = GtidSet::new();
    for (source, mut intervals) in left {
        for (cut_start, cut_end) in right.get(&source).into_iter().flatten() {
            let mut kept = Vec::with_capacity(intervals.len() + 1);
            for (start, end) in intervals {
                let pieces = [(start, end.min(*cut_start)), (start.max(*cut_end), end)];
                kept.extend(pieces.into_iter().filter(|(start, end)| start < end));
            }
            intervals = kept;
        }
        join(&mut intervals);
        if !intervals.is_empty() {
            rest.insert(source, intervals);
        }
    }
    rest
}

fn sets(arguments: &Arguments<'_>) -> Result<Option<(GtidSet, GtidSet)>, SqlError> {
    let (Some(left), Some(right)) = (arguments.utf8(0)?, arguments.utf8(1)?) else { return Ok(None) };
    Ok(Some((parse(&left)?, parse(&right)?)))
}

fn subset(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let sets = sets(arguments)?;
    Ok(sets.map_or(Value::Null, |(left, right)| Value::boolean(difference(left, &right).is_empty())))
}

/// Why `gtid_purged` cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgedError {
    Malformed,
    /// What is added is there already.
    Overlaps,
    /// Something that is there would be missing.
    IsNoSuperset,
}

/// What `gtid_purged` becomes: `given` is the new set, or with a `+` what is added to the present one.
pub fn purged_set(present: &str, given: &str) -> Result<String, PurgedError> {
    let parsed = |text: &str| parse(text).map_err(|_| PurgedError::Malformed);
    let present = parsed(present)?;
    let Some(added) = given.trim_start().strip_prefix('+') else {
        let new = parsed(given)?;
        return match difference(present, &new).is_empty() {
            true => Ok(text_of(&new)),
            false => Err(PurgedError::IsNoSuperset),
        };
    };
    let added = parsed(added)?;
    if difference(added.clone(), &present) != added {
        return Err(PurgedError::Overlaps);
    }
    let mut all = present;
    for (source, intervals) in added {
        let known = all.entry(source).or_default();
        known.extend(intervals);
        join(known);
    }
    Ok(text_of(&all))
}

fn subtract(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some((left, right)) = sets(arguments)? else { return Ok(Value::Null) };
    Ok(Value::bytes(text_of(&difference(left, &right))))
}

fn text_of(set: &GtidSet) -> String {
    let mut text = String::new();
    let mut last_uuid = "";
    for ((uuid, tag), intervals) in set {
        if uuid != last_uuid {
            text.push_str(if text.is_empty() { "" } else { ",\n" });
            text.push_str(uuid);
            last_uuid = uuid;
        }
        if !tag.is_empty() {
            text.push_str(&format!(":{tag}"));
        }
        for (start, end) in intervals {
            let shown = if end - start == 1 { format!(":{start}") } else { format!(":{start}-{}", end - 1) };
            text.push_str(&shown);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    #[test]
    fn what_was_purged_only_grows() {
        let first = purged_set("", &format!("{}:1-5", A.to_uppercase())).expect("a set");
        assert_eq!(first, format!("{A}:1-5"));
        assert_eq!(purged_set(&first, &format!("+{A}:6-7")).as_deref(), Ok(&*format!("{A}:1-7")));
        assert_eq!(purged_set(&first, &format!("+{A}:5")), Err(PurgedError::Overlaps));
        assert_eq!(purged_set(&first, &format!("{A}:1-2")), Err(PurgedError::IsNoSuperset));
        assert_eq!(purged_set(&first, "x"), Err(PurgedError::Malformed));
    }
}
