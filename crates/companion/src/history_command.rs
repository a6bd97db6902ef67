//! `evenkeel bench history`: the runs that were kept, each beside the median of its predecessors.
//!
//! Invariant: a run is judged as it was when it was kept: by those before it.

use std::path::PathBuf;

use bench::{History, Result, Verdict};
use clap::Args;
use client::{Connection, Dsn};
use serde_json::Value;

use crate::arguments::default_history;
use crate::output::say;

#[derive(Args)]
pub struct List {
    /// The file of the history.
    #[arg(long, value_name = "FILE")]
    history_file: Option<PathBuf>,
    /// Only runs whose description has this text.
    #[arg(default_value = "")]
    about: String,
}

impl List {
    pub fn run(&self) -> Result<bool> {
        let history = History::at(&self.history_file.clone().unwrap_or_else(default_history));
        let runs = history.runs()?;
        let text = |run: &Value, name: &str| run.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
        let mut is_good = true;
        for (place, run) in runs.iter().enumerate() {
            if !text(run, "key").contains(&self.about) {
                continue;
            }
            let verdict = bench::judge(&runs[..place], run);
            let p99 = run.get("p99_us").and_then(Value::as_u64).unwrap_or(0);
            say!(
                "{}  {:>10.1} tps  p99 {:>8} ms  {:24} {}  {}",
                time_text(run.get("at").and_then(Value::as_u64).unwrap_or(0)),
                verdict.figure,
                crate::output::ms(p99),
                share_text(&verdict),
                text(run, "key"),
                text(run, "version"),
            );
            // The last word on each kind of run is the newest one.
            let is_last = runs[place + 1..].iter().all(|later| later.get("key") != run.get("key"));
            is_good &= !(is_last && verdict.is_regression());
        }
        if runs.is_empty() {
            say!("no runs kept yet: `evenkeel bench run .. --history` keeps one");
        }
        Ok(is_good)
    }
}

fn share_text(verdict: &Verdict) -> String {
    match verdict.share() {
        None => "the first".into(),
        Some(share) if verdict.is_regression() => {
            format!("REGRESSION {share:.3} of {}", verdict.predecessors)
        }
        Some(share) => format!("{share:.3} of {}", verdict.predecessors),
    }
}

/// The verdict as a sentence.
pub fn verdict_text(verdict: &Verdict) -> String {
    match (verdict.share(), verdict.median) {
        (Some(share), Some(median)) => format!(
            "{}: {:.1} tps is {share:.3} of {median:.1}, the median of {} runs before",
            if verdict.is_regression() { "REGRESSION" } else { "history" },
            verdict.figure,
            verdict.predecessors
        ),
        _ => "history: the first run of its kind".into(),
    }
}

/// What the server says of itself.
pub fn server_version(dsn: &Dsn) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let connection = Connection::connect(dsn).await.map_err(|error| format!("{dsn}: {error}"))?;
        let version = connection.version().to_owned();
        connection.quit().await;
        Ok(version)
    })
}

/// Seconds since 1970.
pub fn now() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::SystemTime::UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

/// Seconds since 1970 as a date and a time (UTC).
pub fn time_text(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01 by eras of 400 years.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02} {:02}:{:02}", rest / 3600, rest / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        assert_eq!(time_text(0), "1970-01-01 00:00");
        assert_eq!(time_text(951_782_400), "2000-02-29 00:00");
        assert_eq!(time_text(1_767_225_599), "2025-12-31 23:59");
    }
}
