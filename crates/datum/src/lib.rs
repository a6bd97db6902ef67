//! SQL values and types: MySQL's domains, conversions, comparisons and the order-preserving key encoding.
#![forbid(unsafe_code)]

pub mod error_code;

mod column_type;
mod compare;
mod compare_key;
mod decimal;
mod error;
mod json;
mod key;
mod locale;
mod moment;
mod number;
mod number_text;
mod row;
mod sql_mode;
mod store;
mod temporal;
mod text;
mod time_zone;
mod value;

pub use column_type::{ColumnType, Members, TypeKind};
pub use compare::{CompareMode, Operand, compare, compare_in_type, hash_in_type, is_forbidden};
pub use compare_key::{write_compare_key, write_integer_key};
pub use decimal::{COMPUTED_DIGITS_MAX, Decimal, DecimalOverflow, PRECISION_MAX, ParsedDecimal, SCALE_MAX};
pub use error::{Condition, ErrorCode, Severity, SqlError};
pub use json::path as json_path;
pub use json::{
    InvalidJson, JSON_DEPTH_MAX, Json, JsonMap, StoredJson, compare_documents, json_key, json_of,
    json_of_text, json_shown, json_shown_text, json_text, normalize_json, opaque as json_opaque, opaque_of,
    parse_json, read_json, stored_array, typed_elements, typed_value, write_json_string,
};
pub use key::{InvalidKey, decode_key, encode_key, encode_key_prefix, is_decodable};
pub use locale::{LOCALE_NAMES, Locale};
pub use moment::{MomentContext, NoMoment, fraction_digits};
pub use number::{
    NumberPrefix, WarningSink, double_prefix, integer_value, is_exact_integer, no_warning, shown, truncated,
};
pub use number_text::{write_double, write_float};
pub use row::{InvalidRow, RowReader, write_row};
pub use sql_mode::SqlMode;
pub use store::{ConversionError, ConversionProblem, StoreMode, Stored};
pub use temporal::{
    Date, DateTime, Parsed, Time, Timestamp, days_in_month, days_in_year, weekday_name_index,
};
pub use text::pad_with_zeros;
pub use time_zone::TimeZone;
pub use value::Value;
