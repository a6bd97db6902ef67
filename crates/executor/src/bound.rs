//! A value as a bound on a column's keys: the same value in the column's type, or its nearest neighbour there.
//!
//! The result only has to describe the rows for which the comparison can be true; when in doubt it is `Unusable` and
//! the rows are checked one by one.
use datum::{
    ColumnType, Date, DateTime, Decimal, MomentContext, TimeZone, Timestamp, TypeKind, Value, no_warning,
};
use expression::EvalContext;
use table::StorageKind;

#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// The value itself.
    Exact(Value),
    /// The largest value of the type below it.
    Below(Value),
    /// Below or above every value of the type.
    TooLow,
    TooHigh,
    /// Compared with it nothing is true (NULL, or text that is no moment).
    Never,
    /// All values whose comparison could be true lie between the two.
    Around(Value, Value),
    /// Nothing can be said.
    Unusable,
}

/// Widens the bounds of instants where the zone's clock is set forward or back nearby.
const CLOCK_CHANGE_MICROS: i64 = 2 * 3600 * 1_000_000;

pub fn bound_of(value: &Value, of: &ColumnType, column: &ColumnType, context: &EvalContext) -> Bound {
    if value.is_null() {
        return Bound::Never;
    }
    match StorageKind::of(column) {
        StorageKind::Signed(_) | StorageKind::Unsigned(_) => integer_bound(value, of, column),
        StorageKind::Year => match integer_bound(value, of, &ColumnType::bigint()) {
            Bound::Exact(Value::Int(year @ (0 | 1901..=2155))) => Bound::Exact(Value::Year(year as u16)),
            _ => Bound::Unusable,
        },
        StorageKind::Bit => match integer_bound(value, of, &ColumnType::bigint_unsigned()) {
            Bound::Exact(Value::UInt(bits)) => Bound::Exact(Value::Bit(bits)),
            _ => Bound::Unusable,
        },
        StorageKind::Decimal { .. } => match value {
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => {
                let number = value.to_decimal(of, &mut no_warning);
                number.map_or(Bound::Unusable, |number| Bound::Exact(Value::Decimal(number)))
            }
            Value::Float(_) | Value::Double(_) | Value::Bytes(_) => {
                let number = value.to_f64(of, &mut no_warning);
                number.map_or(Bound::Unusable, |number| decimal_bound(number, column))
            }
            _ => Bound::Unusable,
        },
        StorageKind::Double => match value.to_f64(of, &mut no_warning) {
            Some(number) if is_plain(value) => Bound::Exact(Value::Double(number)),
            _ => Bound::Unusable,
        },
        StorageKind::Float => match value.to_f64(of, &mut no_warning) {
            Some(number) if is_plain(value) => float_bound(number),
            _ => Bound::Unusable,
        },
        StorageKind::Binary | StorageKind::Text(_) => match value {
            Value::Bytes(_) if of.collation == column.collation || of.kind.is_string() => {
                Bound::Exact(value.clone())
            }
            _ => Bound::Unusable,
        },
        StorageKind::Date | StorageKind::DateTime | StorageKind::Timestamp | StorageKind::Time => {
            moment_bound(value, of, column, context)
        }
        StorageKind::Enum => member_bound(value, of, column),
        StorageKind::Set | StorageKind::Json => Bound::Unusable,
    }
}

/// The member of an ENUM whose text is equal to the value: no two are by the column's collation.
fn member_bound(value: &Value, of: &ColumnType, column: &ColumnType) -> Bound {
    let number = match value {
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) => {
            value.to_f64(of, &mut no_warning)
        }
        _ => None,
    };
    if let Some(number) = number {
        return number_bound(number);
    }
    let (TypeKind::Enum(members), Value::Bytes(text)) = (&column.kind, value) else { return Bound::Unusable };
    let is_equal = |other: &[u8]| column.collation.compare(other, text).is_eq();
    // What was no member when it was stored has the empty text and the number 0.
    if !of.kind.is_string() || is_equal(b"") {
        return Bound::Unusable;
    }
    match (1u16..).zip(members.iter()).find(|(_, member)| is_equal(member)) {
        Some((number, _)) => Bound::Exact(Value::Enum(number)),
        None => Bound::Never,
    }
}

/// A member of an ENUM by its number.
fn number_bound(number: f64) -> Bound {
    let floor = number.floor();
    match () {
        () if floor < 0.0 => Bound::TooLow,
        () if floor > f64::from(u16::MAX) => Bound::TooHigh,
        () if floor == number => Bound::Exact(Value::Enum(floor as u16)),
        () => Bound::Below(Value::Enum(floor as u16)),
    }
}

/// The DECIMAL, of few enough digits to be a double each, that is the number or its nearest neighbour below.
fn decimal_bound(number: f64, column: &ColumnType) -> Bound {
    let TypeKind::Decimal { precision, scale } = column.kind else { return Bound::Unusable };
    let limit = 10f64.powi(i32::from(precision - scale));
    match () {
        () if number.is_nan() => return Bound::Unusable,
        () if number >= limit => return Bound::TooHigh,
        () if number <= -limit => return Bound::TooLow,
        () => {}
    }
    let text = format!("{number:.*}", usize::from(scale));
    let nearest = Decimal::parse_prefix(text.as_bytes()).value;
    let is_beyond = nearest.integer_digit_count() > u32::from(precision - scale);
    if is_beyond && nearest.is_negative() {
        return Bound::TooLow;
    }
    let own = Value::Decimal(nearest.clone()).to_f64(column, &mut no_warning);
    match own.and_then(|own| own.partial_cmp(&number)) {
        Some(std::cmp::Ordering::Equal) => Bound::Exact(Value::Decimal(nearest)),
        Some(std::cmp::Ordering::Less) => Bound::Below(Value::Decimal(nearest)),
        Some(std::cmp::Ordering::Greater) => match nearest.subtract(&Decimal::new(1, scale)) {
            Ok(below) => Bound::Below(Value::Decimal(below)),
            Err(_) => Bound::Unusable,
        },
        None => Bound::Unusable,
    }
}

/// Numbers and text; temporals and JSON have rules of their own.
fn is_plain(value: &Value) -> bool {
    matches!(
        value,
        Value::Int(_)
            | Value::UInt(_)
            | Value::Decimal(_)
            | Value::Float(_)
            | Value::Double(_)
            | Value::Bytes(_)
    )
}

fn integer_bound(value: &Value, of: &ColumnType, column: &ColumnType) -> Bound {
    let (number, exact) = match value {
        Value::Int(number) => (i128::from(*number), true),
        Value::UInt(number) | Value::Bit(number) => (i128::from(*number), true),
        Value::Year(number) => (i128::from(*number), true),
        Value::Decimal(decimal) => match floor_of_decimal(decimal) {
            Some(floor) => floor,
            None => return Bound::Unusable,
        },
        Value::Float(_) | Value::Double(_) | Value::Bytes(_) => {
            let Some(number) = value.to_f64(of, &mut no_warning) else { return Bound::Unusable };
            // From 2^53 on a double stands for several integers.
            if number.abs() >= 9e15 {
                return Bound::Unusable;
            }
            let floor = number.floor();
            (floor as i128, floor == number)
        }
        _ => return Bound::Unusable,
    };
    let Some((lowest, highest)) = column.integer_bounds() else {
        return Bound::Unusable;
    };
    if number < lowest {
        return Bound::TooLow;
    }
    if number > highest {
        return Bound::TooHigh;
    }
    let converted = datum::integer_value(number, column.unsigned);
    if exact { Bound::Exact(converted) } else { Bound::Below(converted) }
}

fn floor_of_decimal(decimal: &Decimal) -> Option<(i128, bool)> {
    let floor = decimal.floor().ok()?;
    let exact = floor.compare(decimal).is_eq();
    match (floor.to_i64(), floor.to_u64()) {
        (Some(number), _) => Some((i128::from(number), exact)),
        (None, Some(number)) => Some((i128::from(number), exact)),
        // Beyond every integer.
        (None, None) if floor.is_negative() => Some((i128::MIN, false)),
        (None, None) => Some((i128::MAX, false)),
    }
}

fn float_bound(number: f64) -> Bound {
    let nearest = number as f32;
    if !nearest.is_finite() {
        return Bound::Unusable;
    }
    let back = f64::from(nearest);
    if back == number {
        return Bound::Exact(Value::Float(nearest));
    }
    Bound::Below(Value::Float(if back < number { nearest } else { nearest.next_down() }))
}

fn moment_bound(value: &Value, of: &ColumnType, column: &ColumnType, context: &EvalContext) -> Bound {
    let zone = &context.settings.time_zone;
    let today = zone.to_local(context.settings.now_utc_micros).map(DateTime::date);
    let Some(today) = today else { return Bound::Unusable };
    let moments = MomentContext { zone, mode: context.settings.sql_mode, today };
    if StorageKind::of(column) == StorageKind::Time {
        return match value.to_time(of, &moments) {
            Ok(time) => Bound::Exact(Value::Time(time.value)),
            Err(_) => Bound::Never,
        };
    }
    let Ok(moment) = value.to_datetime(of, &moments) else { return Bound::Never };
    let moment = moment.value;
    match StorageKind::of(column) {
        StorageKind::Date => {
            let date: Date = moment.date();
            if moment.micros_of_day() == 0 {
                Bound::Exact(Value::Date(date))
            } else {
                Bound::Below(Value::Date(date))
            }
        }
        StorageKind::DateTime => Bound::Exact(Value::DateTime(moment)),
        _ => instant_bound(moment, zone),
    }
}

/// Local times are in the order of instants only where the clock runs evenly.
fn instant_bound(moment: DateTime, zone: &TimeZone) -> Bound {
    let Some(instant) = Timestamp::from_zone(moment, zone) else { return Bound::Unusable };
    if instant.is_zero() {
        return Bound::Exact(Value::Timestamp(instant));
    }
    let micros = instant.to_unix_micros();
    let offset_at = |micros: i64| zone.to_local(micros).map(|local| local.linear_micros() - micros);
    let (earlier, later) = (micros - CLOCK_CHANGE_MICROS, micros + CLOCK_CHANGE_MICROS);
    let here = offset_at(micros);
    if here.is_some() && offset_at(earlier) == here && offset_at(later) == here {
        return Bound::Exact(Value::Timestamp(instant));
    }
    match (Timestamp::from_unix_micros(earlier), Timestamp::from_unix_micros(later)) {
        (Some(earlier), Some(later)) => Bound::Around(Value::Timestamp(earlier), Value::Timestamp(later)),
        _ => Bound::Unusable,
    }
}
