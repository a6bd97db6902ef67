//! What functions take their arguments for, which says what a `?` there is before it has a value.
//!
//! Invariant: a function that is not named here takes text. Caller: `markers`.

/// What a function takes an argument for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wanted {
    Integer,
    /// A BIGINT UNSIGNED, which takes signed ones as well.
    Unsigned,
    /// A DOUBLE or DECIMAL that other numbers are converted to.
    Double,
    Decimal,
    /// A DECIMAL that is told, while values keep their types.
    ToldDecimal,
    Text,
    Date,
    Moment,
    /// A moment that texts become, while numbers stay what they are.
    ToldMoment,
    /// A moment that is told and that texts become which are one.
    MomentOrTime,
    /// A moment that texts and numbers become which are one, while others become times.
    KeptMoment,
    /// A TIME that values are converted to, and one that is told.
    Time,
    ToldTime,
    Document,
    /// A document that texts become.
    Parsed,
    Bits,
}

impl Wanted {
    /// A date, or a moment that may be a date.
    pub(super) fn is_moment(self) -> bool {
        use Wanted::{Date, KeptMoment, Moment, MomentOrTime, ToldMoment};
        matches!(self, Date | Moment | ToldMoment | MomentOrTime | KeptMoment)
    }
}

/// What a function wants in an argument's place.
pub(super) fn wanted_by(name: &str, place: usize) -> Wanted {
    use Wanted::{
        Bits, Decimal, Document, Double, Integer, KeptMoment, Moment, MomentOrTime, Text, Time, ToldMoment,
        ToldTime,
    };
    match (name, place) {
        (
            "abs" | "ceiling" | "ceil" | "floor" | "sign" | "sqrt" | "exp" | "ln" | "log" | "log2" | "log10"
            | "pow" | "power" | "sin" | "cos" | "tan" | "cot" | "asin" | "acos" | "atan" | "atan2"
            | "degrees" | "radians" | "sleep",
            _,
        ) => Double,
        ("round" | "truncate" | "format" | "sec_to_time" | "from_unixtime", 0) | ("maketime", 2) => Decimal,
        ("date", 0) => ToldMoment,
        (
            "year" | "quarter" | "month" | "dayofweek" | "weekday" | "dayofyear" | "weekofyear" | "to_days"
            | "to_seconds" | "dayname" | "monthname" | "day" | "dayofmonth" | "last_day" | "unix_timestamp"
            | "week" | "yearweek" | "date_format",
            0,
        )
        | ("timestampdiff", 1 | 2) => ToldMoment,
        ("time_format" | "convert_tz" | "timestamp" | "datediff", 0) | ("datediff", 1) => Moment,
        ("time", 0) => KeptMoment,
        ("time_to_sec", 0) => ToldTime,
        ("hour" | "minute" | "second" | "microsecond", 0) | ("extract", 1) => MomentOrTime,
        ("timestamp", 1) => ToldTime,
        ("addtime" | "subtime", _) => Time,
        (
            "json_extract" | "json_contains" | "json_keys" | "json_length" | "json_depth" | "json_remove",
            0,
        )
        | ("json_set" | "json_insert" | "json_replace" | "json_array_append" | "json_array_insert", 0)
        | ("json_contains_path" | "json_search" | "json_type" | "json_pretty", 0)
        | ("member of" | "json_overlaps" | "json_merge_patch" | "json_merge_preserve", _) => Document,
        ("json_set" | "json_insert" | "json_replace" | "json_array_append" | "json_array_insert", place)
            if place % 2 == 0 =>
        {
            Document
        }
        ("json_valid", _) => Wanted::Parsed,
        ("bit_count", _) => Bits,
        (
            "makedate" | "period_add" | "period_diff" | "from_days" | "interval" | "char" | "space"
            | "inet_ntoa" | "rand",
            _,
        )
        | ("conv", 1..)
        | (
            "substring" | "substr" | "mid" | "left" | "right" | "repeat" | "sha2" | "week" | "yearweek",
            1..,
        )
        | ("round" | "truncate" | "format" | "lpad" | "rpad", 1)
        | ("maketime", 0 | 1)
        | ("insert", 1 | 2)
        | ("locate" | "substring_index", 2)
        | ("elt" | "make_set" | "export_set" | "if", 0) => Integer,
        _ => Text,
    }
}
