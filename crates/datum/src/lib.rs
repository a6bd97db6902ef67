//! SQL values and types: MySQL's domains, conversions, comparisons and the order-preserving key encoding.
#![forbid(unsafe_code)]

pub mod error_code;

mod column_type;
mod compare;
mod decimal;
mod error;
mod sql_mode;
mod temporal;
mod time_zone;
mod value;

pub use column_type::{ColumnType, Members, TypeKind};
pub use compare::CompareMode;
pub use decimal::{Decimal, DecimalOverflow, PRECISION_MAX, ParsedDecimal, SCALE_MAX};
pub use error::{Condition, ErrorCode, Severity, SqlError};
pub use sql_mode::SqlMode;
pub use temporal::{
    Civil, Date, DateFlags, DateTime, Interval, ParseFailure, ParsedDateTime, ParsedTime, Span, Time,
    Timestamp, days_in_month, days_in_year, week_number, weekday_from_day_number,
};
pub use time_zone::{TimeZone, ZonedInstant};
pub use value::Value;
