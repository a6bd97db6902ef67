//! The schedule of an event, from the expressions of CREATE and ALTER EVENT.
//!
//! Invariant: moments are whole seconds that TIMESTAMP can hold; an interval is one that `program` reads back.
use datum::{ColumnType, Date, DateTime, MomentContext, SqlError, StoreMode, TypeKind, Value, error_code};
use parser::ast::{Expr, IntervalUnit, Schedule};
use program::{EventInterval, EventUnit, NoInterval, numbers_in};

use crate::caller::Caller;
use session::{Request, Shield};

const MICROS: i64 = 1_000_000;
/// The last second of TIMESTAMP functions.
const SECOND_MAX: i64 = 32_536_771_199;

/// When an event happens; microseconds since 1970.
#[derive(Clone, Debug, Default)]
pub(super) struct Timing {
    pub at_us: Option<i64>,
    pub every: Option<(String, String)>,
    pub starts_us: Option<i64>,
    pub ends_us: Option<i64>,
}

impl Caller<'_> {
    pub(super) async fn timing(
        &mut self,
        schedule: &Schedule<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Timing, SqlError> {
        let (amount, unit, starts, ends) = match schedule {
            Schedule::At(at) => {
                let at_us = self.event_moment(at, request, shield).await?;
                let at_us = Some(at_us.map_err(|shown| wrong_value("AT", &shown))?);
                return Ok(Timing { at_us, ..Timing::default() });
            }
            Schedule::Every { amount, unit, starts, ends } => (amount, *unit, starts, ends),
        };
        let interval = self.event_interval(amount, unit, request, shield).await?;
        let starts_us = match starts {
            Some(starts) => {
                let moment = self.event_moment(starts, request, shield).await?;
                moment.map_err(|shown| wrong_value("STARTS", &shown))?
            }
            None => self.now_utc_micros().div_euclid(MICROS) * MICROS,
        };
        let mut ends_us = None;
        if let Some(ends) = ends {
            let moment = self.event_moment(ends, request, shield).await?;
            let moment = moment.ok().filter(|ends| *ends > starts_us);
            ends_us = Some(moment.ok_or_else(|| error_code::ER_EVENT_ENDS_BEFORE_STARTS.plain())?);
        }
        let every = Some((interval.text(), interval.unit().name().to_owned()));
        Ok(Timing { at_us: None, every, starts_us: Some(starts_us), ends_us })
    }

    /// A moment, or how what is none is shown.
    async fn event_moment(
        &mut self,
        expr: &Expr<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Result<i64, String>, SqlError> {
        let (value, from) = self.evaluate_without_tables(expr, request, shield).await?;
        if value.is_null() {
            return Ok(Err("NULL".to_owned()));
        }
        let zone = &self.settings().time_zone;
        let today = zone.to_local(self.now_utc_micros()).map_or(Date::ZERO, DateTime::date);
        let moments = MomentContext { zone, mode: self.settings().sql_mode, today };
        let to = ColumnType::new(TypeKind::DateTime { fsp: 6 });
        let stored = value.cast_to_column(&from, &to, &StoreMode { moments, is_strict: true });
        let local = match stored.map(|stored| stored.value) {
            Ok(Value::DateTime(local)) => Some(local),
            _ => None,
        };
        let second =
            local.and_then(|local| zone.to_unix_micros(local)).map(|micros| micros.div_euclid(MICROS));
        let second = second.filter(|second| (1..=SECOND_MAX).contains(second));
        let shown = || String::from_utf8_lossy(&value.to_text(&from)).into_owned();
        Ok(second.map(|second| second * MICROS).ok_or_else(shown))
    }

    async fn event_interval(
        &mut self,
        amount: &Expr<'_>,
        unit: IntervalUnit,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<EventInterval, SqlError> {
        let Some(unit) = EventUnit::of(unit) else {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"MICROSECOND"]));
        };
        let (value, from) = self.evaluate_without_tables(amount, request, shield).await?;
        if value.is_null() {
            return Err(wrong_value("INTERVAL", "NULL"));
        }
        let text = String::from_utf8_lossy(&value.to_text(&from)).into_owned();
        let numbers = match () {
            () if text.trim_start().starts_with('-') => vec![0],
            () if unit.is_composite() => numbers_in(&text),
            // Seconds have a fraction, which events do not use; the others are rounded.
            () if unit.name() == "SECOND" => numbers_in(&text).into_iter().take(1).collect(),
            () => {
                let mut warnings = Vec::new();
                let number = value.to_integer(&from, &mut |warning| warnings.push(warning));
                for warning in warnings {
                    self.shared().warning(warning);
                }
                vec![number.map_or(i64::MAX, |number| i64::try_from(number).unwrap_or(i64::MAX))]
            }
        };
        EventInterval::of_numbers(unit, &numbers).map_err(|reason| match reason {
            NoInterval::Malformed => wrong_value("INTERVAL", &text),
            NoInterval::NotPositiveOrTooBig => error_code::ER_EVENT_INTERVAL_NOT_POSITIVE_OR_TOO_BIG.plain(),
        })
    }
}

fn wrong_value(clause: &str, shown: &str) -> SqlError {
    error_code::ER_WRONG_VALUE.with(&[&clause, &shown])
}
