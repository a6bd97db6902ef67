//! The conditions of an access path as ranges of key bytes, once their values are known.
//!
//! Invariant: every row that satisfies the conditions is in one of the ranges; the ranges are in key order and do not
//! overlap, so no row comes twice.
use crate::bound::{Bound, bound_of};
use datum::{ColumnType, SqlError, Value};
use engine::KeyRange;
use expression::{EvalContext, Expr, ExprKind};
use plan::{Interval, KeyCondition, RangeCondition};
use schema::TableDef;
use table::KeyPart;

pub struct RangeBuilder<'a> {
    pub table: &'a TableDef,
    pub parts: &'a [KeyPart],
    /// The frame the bounds' expressions read.
    pub frame: &'a [Value],
    pub context: &'a EvalContext,
    pub ranges: Vec<KeyRange>,
    /// Some condition is wider in the ranges than it was written.
    pub widened: bool,
}

/// Products of IN lists beyond this are not spelled out; the rest is left to the filter.
const PREFIXES_MAX: usize = 65_536;

/// The ranges of an index whose bounds read no row: what the planner asks the index about.
pub fn key_ranges(
    table: &TableDef,
    parts: &[KeyPart],
    conditions: &[RangeCondition],
    context: &EvalContext,
) -> Result<Vec<KeyRange>, SqlError> {
    let mut builder = RangeBuilder { table, parts, frame: &[], context, ranges: Vec::new(), widened: false };
    conditions.iter().try_for_each(|condition| builder.add(condition))?;
    Ok(builder.finish().0)
}

impl RangeBuilder<'_> {
    /// Adds the ranges of one condition; call `finish` after the last.
    pub fn add(&mut self, condition: &RangeCondition) -> Result<(), SqlError> {
        let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
        for (number, condition) in condition.parts.iter().enumerate() {
            let part = &self.parts[number];
            let column_type = self.table.columns[part.column].key_type();
            match condition {
                KeyCondition::OneOf(values) => {
                    let Some(keys) = self.equal_keys(part, column_type, values)? else {
                        return self.close(prefixes);
                    };
                    if prefixes.len().saturating_mul(keys.len()) > PREFIXES_MAX {
                        self.widened = true;
                        return self.close(prefixes);
                    }
                    prefixes = product(&prefixes, &keys);
                }
                KeyCondition::SameAs(value) => {
                    let value = value.eval_ref(self.frame, self.context)?.into_owned();
                    let keys = if value.is_null() {
                        Some(null_keys(part))
                    } else {
                        self.equal_value(part, column_type, &value, condition_type(condition))?
                    };
                    let Some(keys) = keys else { return self.close(prefixes) };
                    prefixes = product(&prefixes, &keys);
                }
                KeyCondition::IsNull => prefixes = product(&prefixes, &null_keys(part)),
                KeyCondition::Between(interval) => {
                    return self.add_interval(part, column_type, &prefixes, interval);
                }
                KeyCondition::NoneOf(values) => {
                    return self.add_others(part, column_type, &prefixes, values);
                }
                KeyCondition::Like { pattern, escape } => {
                    return self.add_like(part, &prefixes, pattern, *escape);
                }
            }
        }
        self.close(prefixes)
    }

    /// The whole key when every value is one of its column's type; `None` leaves the rest to `add_point`.
    pub fn exact_key(&self, values: &[Expr]) -> Result<Option<Vec<u8>>, SqlError> {
        let mut key = Vec::with_capacity(32);
        for (part, expr) in self.parts.iter().zip(values) {
            let value = expr.eval_ref(self.frame, self.context)?;
            self.context.check_refusal()?;
            let column_type = self.table.columns[part.column].key_type();
            self.warn_of_constant(&value, expr, column_type)?;
            match bound_of(&value, &expr.ty.column, column_type, self.context) {
                Bound::Exact(value) => part.write(&value, &mut key)?,
                _ => return Ok(None),
            }
        }
        Ok(Some(key))
    }

    /// Equality of every part with one value.
    pub fn add_point(&mut self, values: &[Expr]) -> Result<(), SqlError> {
        let parts = values.iter().map(|expr| KeyCondition::OneOf(vec![expr.clone()])).collect();
        self.add(&RangeCondition { parts })
    }

    /// The ranges sorted and merged.
    pub fn finish(mut self) -> (Vec<KeyRange>, bool) {
        if self.ranges.len() > 1 {
            self.ranges = merged(self.ranges);
        }
        (self.ranges, self.widened)
    }

    /// A constant text that is no number beside integers is told of, once in a statement.
    fn warn_of_constant(&self, value: &Value, expr: &Expr, column_type: &ColumnType) -> Result<(), SqlError> {
        if !expr.is_given_constant() || !matches!(value, Value::Bytes(_)) || !column_type.kind.is_integer() {
            return Ok(());
        }
        // Bounds may be copies of what stands in the text.
        let constant = Some(expr).filter(|expr| matches!(expr.kind, ExprKind::Parameter(_)));
        value.to_f64(&expr.ty.column, &mut |warning| self.context.warn_of_constant(constant, warning));
        self.context.check_refusal()
    }

    fn close(&mut self, prefixes: Vec<Vec<u8>>) -> Result<(), SqlError> {
        self.ranges.extend(prefixes.iter().map(|prefix| KeyRange::prefix(prefix)));
        Ok(())
    }

    /// The key bytes of each value; `None` when a value cannot be expressed.
    fn equal_keys(
        &mut self,
        part: &KeyPart,
        column_type: &ColumnType,
        values: &[Expr],
    ) -> Result<Option<Vec<Vec<u8>>>, SqlError> {
        let mut keys = Vec::with_capacity(values.len());
        for expr in values {
            let value = expr.eval_ref(self.frame, self.context)?.into_owned();
            self.context.check_refusal()?;
            self.warn_of_constant(&value, expr, column_type)?;
            match self.equal_value(part, column_type, &value, &expr.ty.column)? {
                Some(found) => keys.extend(found),
                None => return Ok(None),
            }
        }
        Ok(Some(keys))
    }

    fn equal_value(
        &mut self,
        part: &KeyPart,
        column_type: &ColumnType,
        value: &Value,
        of: &ColumnType,
    ) -> Result<Option<Vec<Vec<u8>>>, SqlError> {
        match bound_of(value, of, column_type, self.context) {
            Bound::Exact(value) => {
                self.widened |= part.prefix_length.is_some();
                let mut key = Vec::with_capacity(16);
                part.write(&value, &mut key)?;
                Ok(Some(vec![key]))
            }
            Bound::Below(_) | Bound::TooLow | Bound::TooHigh | Bound::Never => Ok(Some(Vec::new())),
            Bound::Around(..) | Bound::Unusable => {
                self.widened = true;
                Ok(None)
            }
        }
    }

    fn add_interval(
        &mut self,
        part: &KeyPart,
        column_type: &ColumnType,
        prefixes: &[Vec<u8>],
        interval: &Interval,
    ) -> Result<(), SqlError> {
        let Some(low) = self.side(part, column_type, &interval.lower, true)? else { return Ok(()) };
        let Some(high) = self.side(part, column_type, &interval.upper, false)? else { return Ok(()) };
        let (first, last) = if part.descending { (high, low) } else { (low, high) };
        let mut all_values = Vec::new();
        part.write_not_null(&mut all_values);
        for prefix in prefixes {
            let with = |bytes: &[u8]| [prefix.as_slice(), bytes].concat();
            let lower = match &first {
                Some((key, true)) => Some(with(key)),
                Some((key, false)) => match successor(with(key)) {
                    Some(key) => Some(key),
                    None => continue,
                },
                None => Some(with(&all_values)),
            };
            let upper = match &last {
                Some((key, true)) => successor(with(key)),
                Some((key, false)) => Some(with(key)),
                None => successor(with(&all_values)),
            };
            if let (Some(lower), Some(upper)) = (&lower, &upper)
                && lower >= upper
            {
                continue;
            }
            let lower = lower.filter(|key| !key.is_empty());
            self.ranges.push(KeyRange { lower, lower_excluded: false, upper, upper_excluded: true });
        }
        Ok(())
    }

    /// One side of an interval as (key bytes, included); outer `None`: nothing can match.
    #[expect(clippy::type_complexity, reason = "named by the comment")]
    fn side(
        &mut self,
        part: &KeyPart,
        column_type: &ColumnType,
        bound: &Option<(Expr, bool)>,
        is_lower: bool,
    ) -> Result<Option<Option<(Vec<u8>, bool)>>, SqlError> {
        let Some((expr, included)) = bound else { return Ok(Some(None)) };
        let value = expr.eval_ref(self.frame, self.context)?;
        self.warn_of_constant(&value, expr, column_type)?;
        let (value, included) = match bound_of(&value, &expr.ty.column, column_type, self.context) {
            Bound::Exact(value) => (value, *included),
            // `below < bound < next`: greater than the bound means greater than `below`, less means at most `below`.
            Bound::Below(value) => (value, !is_lower),
            Bound::Never => return Ok(None),
            Bound::TooLow if is_lower => return Ok(Some(None)),
            Bound::TooHigh if !is_lower => return Ok(Some(None)),
            Bound::TooLow | Bound::TooHigh => return Ok(None),
            Bound::Around(earlier, later) => {
                self.widened = true;
                (if is_lower { earlier } else { later }, true)
            }
            Bound::Unusable => {
                self.widened = true;
                return Ok(Some(None));
            }
        };
        let mut key = Vec::with_capacity(16);
        part.write(&value, &mut key)?;
        let truncates = part.prefix_length.is_some();
        self.widened |= truncates;
        Ok(Some(Some((key, included || truncates))))
    }

    /// What lies before, between and behind the values.
    fn add_others(
        &mut self,
        part: &KeyPart,
        column_type: &ColumnType,
        prefixes: &[Vec<u8>],
        values: &[Expr],
    ) -> Result<(), SqlError> {
        let mut keys = Vec::with_capacity(values.len());
        for expr in values {
            let value = expr.eval_ref(self.frame, self.context)?;
            match bound_of(&value, &expr.ty.column, column_type, self.context) {
                Bound::Exact(value) if part.prefix_length.is_none() => {
                    let mut key = Vec::with_capacity(16);
                    part.write(&value, &mut key)?;
                    keys.push(key);
                }
                // No value of the column is equal to it.
                Bound::Below(_) | Bound::TooLow | Bound::TooHigh => {}
                // Where nothing is different from NULL, and where equality is not told by the key, the filter decides.
                Bound::Exact(_) | Bound::Never | Bound::Around(..) | Bound::Unusable => self.widened = true,
            }
        }
        keys.sort_unstable();
        let mut all_values = Vec::new();
        part.write_not_null(&mut all_values);
        for prefix in prefixes {
            let with = |bytes: &[u8]| [prefix.as_slice(), bytes].concat();
            let mut lower = Some(with(&all_values));
            for key in &keys {
                let Some(start) = lower else { break };
                self.push_between(start, Some(with(key)));
                lower = successor(with(key));
            }
            if let Some(start) = lower {
                self.push_between(start, successor(with(&all_values)));
            }
        }
        Ok(())
    }

    /// From the first key on to before the second.
    fn push_between(&mut self, lower: Vec<u8>, upper: Option<Vec<u8>>) {
        if upper.as_ref().is_none_or(|upper| lower < *upper) {
            let lower = Some(lower).filter(|key| !key.is_empty());
            self.ranges.push(KeyRange { lower, lower_excluded: false, upper, upper_excluded: true });
        }
    }

    fn add_like(
        &mut self,
        part: &KeyPart,
        prefixes: &[Vec<u8>],
        pattern: &Expr,
        escape: Option<u8>,
    ) -> Result<(), SqlError> {
        self.widened = true;
        let value = pattern.eval_ref(self.frame, self.context)?;
        let head = match &*value {
            Value::Null => return Ok(()),
            Value::Bytes(pattern) => fixed_head(pattern, escape),
            _ => Vec::new(),
        };
        let mut key = Vec::new();
        if part.write_text_head(&head, &mut key).is_none() {
            key.clear();
        }
        self.ranges
            .extend(prefixes.iter().map(|prefix| KeyRange::prefix(&[prefix.as_slice(), &key].concat())));
        Ok(())
    }
}

fn condition_type(condition: &KeyCondition) -> &ColumnType {
    match condition {
        KeyCondition::SameAs(value) => &value.ty.column,
        _ => unreachable!("asked for SameAs only"),
    }
}

fn null_keys(part: &KeyPart) -> Vec<Vec<u8>> {
    if !part.nullable {
        return Vec::new();
    }
    let mut key = Vec::new();
    part.write_null(&mut key);
    vec![key]
}

fn product(prefixes: &[Vec<u8>], keys: &[Vec<u8>]) -> Vec<Vec<u8>> {
    match prefixes {
        [prefix] if prefix.is_empty() => keys.to_vec(),
        _ => prefixes
            .iter()
            .flat_map(|prefix| keys.iter().map(|key| [prefix.as_slice(), key.as_slice()].concat()))
            .collect(),
    }
}

/// The first key behind all keys that start with `prefix`; `None` when there is none.
fn successor(prefix: Vec<u8>) -> Option<Vec<u8>> {
    KeyRange::prefix(&prefix).upper
}

/// What a LIKE pattern's matches must start with.
fn fixed_head(pattern: &[u8], escape: Option<u8>) -> Vec<u8> {
    let mut head = Vec::with_capacity(pattern.len());
    let mut bytes = pattern.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' | b'_' => break,
            byte if Some(byte) == escape => match bytes.next() {
                Some(escaped) => head.push(escaped),
                None => break,
            },
            byte => head.push(byte),
        }
    }
    head
}

/// Sorts half-open ranges and joins those that touch.
fn merged(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.sort_by(|left, right| left.lower.cmp(&right.lower));
    let mut result: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match result.last_mut() {
            Some(last) if touches(last, &range) => {
                if last.upper.is_some() && (range.upper.is_none() || range.upper > last.upper) {
                    last.upper = range.upper;
                }
            }
            _ => result.push(range),
        }
    }
    result
}

/// Only overlapping ranges are joined: neighbours stay apart so that locks cover no more than asked.
fn touches(left: &KeyRange, right: &KeyRange) -> bool {
    match (&left.upper, &right.lower) {
        (None, _) | (_, None) => true,
        (Some(upper), Some(lower)) => lower < upper,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(lower: &[u8], upper: &[u8]) -> KeyRange {
        KeyRange {
            lower: Some(lower.to_vec()),
            lower_excluded: false,
            upper: Some(upper.to_vec()),
            upper_excluded: true,
        }
    }

    #[test]
    fn overlapping_ranges_are_joined() {
        let joined = merged(vec![range(b"m", b"p"), range(b"a", b"c"), range(b"b", b"d"), range(b"d", b"e")]);
        assert_eq!(joined, [range(b"a", b"d"), range(b"d", b"e"), range(b"m", b"p")]);
        let all = merged(vec![range(b"b", b"c"), KeyRange::all()]);
        assert_eq!(all, [KeyRange { upper_excluded: false, ..KeyRange::all() }]);
    }

    #[test]
    fn heads_end_at_wildcards() {
        assert_eq!(fixed_head(b"ab%c", Some(b'\\')), b"ab");
        assert_eq!(fixed_head(b"a\\%b_", Some(b'\\')), b"a%b");
        assert_eq!(fixed_head(b"a\\%", None), b"a\\");
        assert_eq!(fixed_head(b"%", None), b"");
    }
}
