//! How the values of one column are spread, for columns that no index tells of.
//!
//! Buckets hold the keys of their least and greatest value, in the column's own encoding, so ranges of keys can be held
//! against them. A histogram is made at one moment and stays until it is made anew or dropped. The catalog makes and
//! keeps them; the planner is told shares.
use crate::key_codec::KeyPart;
use crate::storage_kind::StorageKind;
use datum::{ColumnType, Json, SqlError, TimeZone, Timestamp, TypeKind, Value, json_of, json_text};
use engine::KeyRange;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// The column's name.
    pub column: String,
    /// What MySQL shows, as a stored document.
    pub text: String,
    /// ANALYZE TABLE makes it anew, with so many buckets.
    pub is_renewed: bool,
    /// Of a sample: how many rows it is worth.
    pub buckets_wanted: u32,
    /// The share of rows that are NULL.
    nulls: f64,
    buckets: Vec<Bucket>,
}

#[derive(Clone, Debug, PartialEq)]
struct Bucket {
    lower: Vec<u8>,
    upper: Vec<u8>,
    /// The share of rows whose values are not above `upper`, NULLs apart.
    cumulative: f64,
    /// Different values in it.
    distinct: u64,
}

/// What is asked of a histogram that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct HistogramOrder {
    pub buckets: usize,
    pub is_renewed: bool,
    /// Microseconds since 1970.
    pub made_at: i64,
}

/// The values of a column, counted; only some rows where all would take too much memory.
pub struct ValueCounts {
    part: KeyPart,
    column: ColumnType,
    values: BTreeMap<Vec<u8>, (Value, u64)>,
    nulls: u64,
    rows: u64,
    bytes: usize,
    /// How often a value differs from the one before.
    changes: u64,
    last: Vec<u8>,
}

/// A value that no row of a sample has is in fewer of all rows.
const UNSEEN_MAX: f64 = 0.1;

/// What an entry of the map takes beside the bytes of its key and value.
const VALUE_BYTES: usize = 120;

impl ValueCounts {
    pub fn new(number: usize, column: &ColumnType) -> ValueCounts {
        ValueCounts {
            part: column_part(number, column),
            column: column.clone(),
            values: BTreeMap::new(),
            nulls: 0,
            rows: 0,
            bytes: 0,
            changes: 0,
            last: Vec::new(),
        }
    }

    pub fn add(&mut self, value: &Value) -> Result<(), SqlError> {
        self.rows += 1;
        if value.is_null() {
            self.nulls += 1;
            return Ok(());
        }
        let mut key = Vec::with_capacity(16);
        self.part.write(value, &mut key)?;
        if key != self.last {
            self.changes += 1;
            self.last.clone_from(&key);
        }
        let size = key.len() + VALUE_BYTES + if let Value::Bytes(bytes) = value { bytes.len() } else { 0 };
        let mut is_new = false;
        let counted = self.values.entry(key).or_insert_with(|| {
            is_new = true;
            (value.clone(), 0)
        });
        counted.1 += 1;
        self.bytes += if is_new { size } else { 0 };
        Ok(())
    }

    /// About what they take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The length of the longest value's key.
    pub fn longest(&self) -> usize {
        self.values.keys().map(Vec::len).max().unwrap_or(0)
    }

    /// As many rows chosen one by one would tell as much: where neighbours have the same value, some leaves show few values.
    fn worth(&self) -> f64 {
        let seen = (self.rows - self.nulls).max(1) as f64;
        let same: f64 = self.values.values().map(|(_, count)| (*count as f64 / seen).powi(2)).sum();
        debug_assert!(self.nulls <= self.rows, "rows with NULL are rows");
        (self.changes as f64 / (1.0 - same).max(1.0 / seen)).clamp(1.0, seen)
    }

    /// What they tell of a table with so many rows, of which they are a few: how many different values there are is judged
    /// by how many came up once (Haas and others, \"Sampling-based estimation of the number of distinct values\", Duj1).
    pub fn into_sample(self, name: &str, order: HistogramOrder, rows: u64) -> Histogram {
        let seen = (self.rows - self.nulls).max(1) as f64;
        let once = self.values.values().filter(|(_, count)| *count == 1).count() as f64;
        let share = (self.rows as f64 / rows.max(1) as f64).clamp(1e-9, 1.0);
        let factor = seen / (seen - once + once * share).max(1.0);
        debug_assert!(
            factor >= 1.0 && factor.is_finite(),
            "a table has at least the values that a sample shows"
        );
        let worth = self.worth();
        let mut histogram = self.into_histogram(name, order, share);
        histogram.text = String::new();
        histogram.buckets_wanted = worth as u32;
        for bucket in histogram.buckets.iter_mut().filter(|bucket| bucket.distinct > 1) {
            bucket.distinct = (bucket.distinct as f64 * factor).round() as u64;
        }
        histogram
    }

    /// `sampled` is the share of rows that were counted.
    pub fn into_histogram(self, name: &str, order: HistogramOrder, sampled: f64) -> Histogram {
        let total = self.rows.max(1) as f64;
        let counts: Vec<u64> = self.values.values().map(|(_, count)| *count).collect();
        let is_singleton = counts.len() <= order.buckets;
        let size = if is_singleton { 0 } else { bucket_size(&counts, order.buckets) };
        let mut buckets: Vec<Bucket> = Vec::with_capacity(order.buckets.min(counts.len()));
        let mut shown: Vec<(Json, Json)> = Vec::with_capacity(buckets.capacity());
        let (mut seen, mut held) = (0u64, 0u64);
        for (key, (value, count)) in self.values {
            seen += count;
            let cumulative = seen as f64 / total;
            let json = shown_value(&value, &self.column);
            match buckets.last_mut() {
                Some(last) if held + count <= size => {
                    held += count;
                    (last.upper, last.cumulative) = (key, cumulative);
                    last.distinct += 1;
                    shown.last_mut().expect("one for each bucket").1 = json;
                }
                _ => {
                    held = count;
                    buckets.push(Bucket { lower: key.clone(), upper: key, cumulative, distinct: 1 });
                    shown.push((json.clone(), json));
                }
            }
        }
        debug_assert!(buckets.len() <= order.buckets.max(1), "there are no more buckets than were asked for");
        debug_assert!(buckets.is_sorted_by_key(|bucket| bucket.cumulative), "shares add up");
        debug_assert_eq!(seen + self.nulls, self.rows, "each row is counted");
        let nulls = self.nulls as f64 / total;
        let listed = buckets.iter().zip(shown).map(|(bucket, (lower, upper))| {
            Json::Array(match is_singleton {
                true => vec![upper, Json::Double(bucket.cumulative)],
                false => {
                    let distinct = Json::Int(bucket.distinct as i64);
                    vec![lower, upper, Json::Double(bucket.cumulative), distinct]
                }
            })
        });
        let text = shown_text(&self.column, listed.collect(), order, (nulls, sampled), is_singleton);
        Histogram {
            column: name.to_owned(),
            text,
            is_renewed: order.is_renewed,
            buckets_wanted: order.buckets as u32,
            nulls,
            buckets,
        }
    }
}

/// The least size of which so many buckets are enough, filled one after the other.
fn bucket_size(counts: &[u64], buckets: usize) -> u64 {
    let fits = |size: u64| {
        let (mut used, mut held) = (1, 0);
        for count in counts {
            if held > 0 && held + count > size {
                used += 1;
                held = 0;
            }
            held += count;
        }
        used <= buckets
    };
    let (mut low, mut high) = (1, counts.iter().sum::<u64>().max(1));
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

fn column_part(number: usize, column: &ColumnType) -> KeyPart {
    let kind = StorageKind::of(column);
    KeyPart {
        column: number,
        kind,
        nullable: column.nullable,
        descending: false,
        prefix_length: None,
        array: false,
    }
}

/// The part of a column, as its histogram has it.
pub fn histogram_part(number: usize, column: &ColumnType) -> KeyPart {
    column_part(number, column)
}

/// The word for the type's values; `None` for types without histograms.
pub fn histogram_type(column: &ColumnType) -> Option<&'static str> {
    use TypeKind::*;
    Some(match &column.kind {
        LongLong if column.unsigned => "uint",
        Tiny | Short | Int24 | Long | LongLong | Year | Bit(_) => "int",
        Float { .. } | Double { .. } => "double",
        Decimal { .. } => "decimal",
        Char | VarChar | TinyText | Text | MediumText | LongText => "string",
        Binary | VarBinary | TinyBlob | Blob | MediumBlob | LongBlob => "string",
        Date => "date",
        Time { .. } => "time",
        DateTime { .. } | Timestamp { .. } => "datetime",
        Enum(_) => "enum",
        Set(_) => "set",
        Json | Null => return None,
    })
}

fn shown_value(value: &Value, column: &ColumnType) -> Json {
    match value {
        Value::Bytes(bytes) => Json::Opaque(254, bytes.clone()),
        Value::Enum(number) => Json::Int(i64::from(*number)),
        Value::Set(bits) | Value::Bit(bits) => Json::UInt(*bits),
        Value::Year(year) => Json::Int(i64::from(*year)),
        Value::Float(number) => Json::Double(f64::from(*number)),
        value => json_of(value, column),
    }
}

/// A moment as histograms tell when they were made; microseconds since 1970.
pub fn histogram_moment(made_at: i64) -> Json {
    let mut moment = Vec::new();
    if let Some(made_at) = Timestamp::from_unix_micros(made_at) {
        made_at.in_zone(&TimeZone::utc()).write_text(6, &mut moment);
    }
    Json::String(String::from_utf8_lossy(&moment).into_owned())
}

fn shown_text(
    column: &ColumnType,
    buckets: Vec<Json>,
    order: HistogramOrder,
    (nulls, sampled): (f64, f64),
    is_singleton: bool,
) -> String {
    let word = |text: &str| Json::String(text.to_owned());
    let kind = if is_singleton { "singleton" } else { "equi-height" };
    let members = [
        ("buckets", Json::Array(buckets)),
        ("data-type", word(histogram_type(column).unwrap_or("string"))),
        ("auto-update", Json::Bool(order.is_renewed)),
        ("null-values", Json::Double(nulls)),
        ("collation-id", Json::Int(collation_number(column))),
        ("last-updated", histogram_moment(order.made_at)),
        ("sampling-rate", Json::Double(sampled)),
        ("histogram-type", word(kind)),
        ("number-of-buckets-specified", Json::Int(order.buckets as i64)),
    ];
    let members = members.map(|(name, value)| (name.to_owned(), value));
    json_text(&Json::Object(members.into_iter().collect()))
}

/// Numbers and moments carry the one MySQL writes for them.
fn collation_number(column: &ColumnType) -> i64 {
    const LATIN1_SWEDISH: i64 = 8;
    const BINARY: i64 = 63;
    match histogram_type(column) {
        Some("string" | "enum" | "set") => i64::from(column.collation.number()),
        _ if matches!(column.kind, TypeKind::Bit(_)) => BINARY,
        _ => LATIN1_SWEDISH,
    }
}

/// A bucket of a histogram that is given, not counted: keys as `histogram_part` writes them.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenBucket {
    pub lower: Vec<u8>,
    pub upper: Vec<u8>,
    pub cumulative: f64,
    pub distinct: u64,
}

impl Histogram {
    /// The same where this was made of some rows: what they did not show may be there.
    pub fn share_at_least(&self, ranges: &[KeyRange]) -> f64 {
        let unseen = 1.0 / f64::from(self.buckets_wanted.max(1));
        self.share(ranges).max(unseen.min(UNSEEN_MAX))
    }

    /// A histogram that a statement spells out; `text` is its document, the buckets are in order.
    pub fn given(
        column: &str,
        text: String,
        order: HistogramOrder,
        nulls: f64,
        buckets: Vec<GivenBucket>,
    ) -> Histogram {
        let bucket = |given: GivenBucket| {
            let GivenBucket { lower, upper, cumulative, distinct } = given;
            Bucket { lower, upper, cumulative, distinct }
        };
        Histogram {
            column: column.to_owned(),
            text,
            is_renewed: order.is_renewed,
            buckets_wanted: order.buckets as u32,
            nulls,
            buckets: buckets.into_iter().map(bucket).collect(),
        }
    }

    /// The share of all rows whose values lie in the ranges, which do not overlap.
    pub fn share(&self, ranges: &[KeyRange]) -> f64 {
        ranges.iter().map(|range| self.share_of(range)).sum::<f64>().clamp(0.0, 1.0)
    }

    fn share_of(&self, range: &KeyRange) -> f64 {
        let is_from = |key: &[u8]| range.lower.as_deref().is_none_or(|lower| lower <= key);
        let is_before = |key: &[u8]| range.upper.as_deref().is_none_or(|upper| key < upper);
        // All keys begin with the same byte where the column may be NULL.
        let null_key: &[u8] = &[0];
        let mut share =
            if self.nulls > 0.0 && is_from(null_key) && is_before(null_key) { self.nulls } else { 0.0 };
        let mut before = 0.0;
        for bucket in &self.buckets {
            let own = bucket.cumulative - before;
            before = bucket.cumulative;
            let is_reached = is_from(&bucket.upper) && is_before(&bucket.lower);
            if !is_reached {
                continue;
            }
            if is_from(&bucket.lower) && is_before(&bucket.upper) {
                share += own;
                continue;
            }
            let start = range.lower.as_deref().map_or(0.0, |key| bucket.position(key));
            let end = range.upper.as_deref().map_or(1.0, |key| bucket.position(key));
            // At least one of its values.
            share += own * (end - start).clamp(1.0 / bucket.distinct.max(1) as f64, 1.0);
        }
        share
    }

    pub fn to_bytes(all: &[Histogram]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let put = |bytes: &mut Vec<u8>, part: &[u8]| {
            bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
            bytes.extend_from_slice(part);
        };
        for histogram in all {
            put(&mut bytes, histogram.column.as_bytes());
            put(&mut bytes, histogram.text.as_bytes());
            put(&mut bytes, &[u8::from(histogram.is_renewed)]);
            put(&mut bytes, &histogram.buckets_wanted.to_le_bytes());
            put(&mut bytes, &histogram.nulls.to_le_bytes());
            put(&mut bytes, &(histogram.buckets.len() as u32).to_le_bytes());
            for bucket in &histogram.buckets {
                put(&mut bytes, &bucket.lower);
                put(&mut bytes, &bucket.upper);
                put(&mut bytes, &bucket.cumulative.to_le_bytes());
                put(&mut bytes, &bucket.distinct.to_le_bytes());
            }
        }
        bytes
    }

    /// `None` for bytes that are no histograms.
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Vec<Histogram>> {
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let column = String::from_utf8(take(&mut bytes)?.to_vec()).ok()?;
            let text = String::from_utf8(take(&mut bytes)?.to_vec()).ok()?;
            let is_renewed = take(&mut bytes)? == [1];
            let buckets_wanted = u32::from_le_bytes(take(&mut bytes)?.try_into().ok()?);
            let nulls = f64::from_le_bytes(take(&mut bytes)?.try_into().ok()?);
            let count = u32::from_le_bytes(take(&mut bytes)?.try_into().ok()?);
            let mut buckets = Vec::new();
            for _ in 0..count {
                buckets.push(Bucket {
                    lower: take(&mut bytes)?.to_vec(),
                    upper: take(&mut bytes)?.to_vec(),
                    cumulative: f64::from_le_bytes(take(&mut bytes)?.try_into().ok()?),
                    distinct: u64::from_le_bytes(take(&mut bytes)?.try_into().ok()?),
                });
            }
            all.push(Histogram { column, text, is_renewed, buckets_wanted, nulls, buckets });
        }
        Some(all)
    }
}

fn take<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(part)
}

impl Bucket {
    /// Where between its ends the key lies, from 0 to 1: by the bytes behind those that the ends share.
    fn position(&self, key: &[u8]) -> f64 {
        let shared = self.lower.iter().zip(&self.upper).take_while(|(lower, upper)| lower == upper).count();
        let number = |key: &[u8]| {
            let behind = key.iter().skip(shared).chain(std::iter::repeat(&0)).take(8);
            behind.fold(0.0, |number, byte| number * 256.0 + f64::from(*byte))
        };
        let (low, high) = (number(&self.lower), number(&self.upper));
        if key <= self.lower.as_slice() {
            0.0
        } else if key > self.upper.as_slice() {
            1.0
        } else {
            ((number(key) - low) / (high - low).max(1.0)).clamp(0.0, 1.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(values: &[i64]) -> ValueCounts {
        let mut counts = ValueCounts::new(0, &ColumnType::bigint());
        values.iter().for_each(|value| counts.add(&Value::Int(*value)).expect("a number"));
        counts
    }

    fn range(low: i64, high: i64) -> KeyRange {
        let part = column_part(0, &ColumnType::bigint());
        let key = |value| {
            let mut key = Vec::new();
            part.write(&Value::Int(value), &mut key).expect("a number");
            key
        };
        KeyRange {
            lower: Some(key(low)),
            upper: Some(key(high)),
            lower_excluded: false,
            upper_excluded: true,
        }
    }

    #[test]
    fn buckets_are_of_one_value_or_of_one_height() {
        let order = HistogramOrder { buckets: 2, is_renewed: false, made_at: 0 };
        let high = counted(&[1, 1, 2, 3]).into_histogram("c", order, 1.0);
        let shown = datum::json_shown(&high.text);
        assert!(shown.contains("\"buckets\": [[1, 1, 0.5, 1], [2, 3, 1.0, 2]]"), "{shown}");
        assert!(shown.contains("\"histogram-type\": \"equi-height\""), "{shown}");
        assert_eq!(high.share(&[range(1, 2)]), 0.5);
        assert_eq!(high.share(&[range(2, 4)]), 0.5);
        assert_eq!(high.share(&[range(3, 4)]), 0.25);
        assert_eq!(high.share(&[range(4, 9), range(-3, 0)]), 0.0);
        let order = HistogramOrder { buckets: 3, ..order };
        let single = counted(&[1, 1, 2, 3]).into_histogram("c", order, 1.0);
        let shown = datum::json_shown(&single.text);
        assert!(shown.contains("\"buckets\": [[1, 0.5], [2, 0.75], [3, 1.0]]"), "{shown}");
        assert_eq!(single.share(&[range(1, 3)]), 0.75);
    }

    #[test]
    fn ranges_take_their_part_of_a_bucket() {
        let values: Vec<i64> = (0..1000).collect();
        let order = HistogramOrder { buckets: 10, is_renewed: true, made_at: 0 };
        let histogram = counted(&values).into_histogram("c", order, 1.0);
        for (low, high) in [(0, 1000), (100, 400), (550, 560), (990, 5000)] {
            let share = (high.min(1000) - low) as f64 / 1000.0;
            let judged = histogram.share(&[range(low, high)]);
            assert!((judged - share).abs() < 0.02, "{low}..{high}: {judged}");
        }
        let bytes = Histogram::to_bytes(std::slice::from_ref(&histogram));
        assert_eq!(Histogram::from_bytes(&bytes), Some(vec![histogram]));
        assert_eq!(Histogram::from_bytes(&bytes[1..]), None);
    }
}
