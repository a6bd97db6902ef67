//! What a run measured: each second, each kind of transaction, and the whole.
//!
//! Invariant: the JSON lines of a run are all that `report`, `compare` and `history` need. Made by `driver`.

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::bucket::Counts;

/// One second of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Second {
    /// Seconds since the measured part began; the warm-up has negative ones.
    pub t: i64,
    /// Wall clock at its end, in milliseconds since 1970.
    pub at: u64,
    pub events: u64,
    pub queries: u64,
    pub commits: u64,
    pub conflicts: u64,
    pub errors: u64,
    pub reconnects: u64,
    /// Microseconds.
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub max: u64,
    /// Arrivals that waited at its end.
    pub backlog: u64,
    /// Transactions under way at its end.
    pub open: u64,
    /// For how long the oldest of them has been, in microseconds.
    pub oldest: u64,
    /// How long it really was, in seconds.
    pub length: f64,
}

impl Second {
    pub(crate) fn new(t: i64, at: u64, length: f64, backlog: u64, counts: &Counts) -> Self {
        let all = merged(&counts.latencies);
        Self {
            t,
            at,
            events: counts.events(),
            queries: counts.tally.queries(),
            commits: counts.tally.commits,
            conflicts: counts.conflicts,
            errors: counts.errors,
            reconnects: counts.reconnects,
            p50: all.value_at_quantile(0.5),
            p95: all.value_at_quantile(0.95),
            p99: all.value_at_quantile(0.99),
            max: all.max(),
            backlog,
            open: 0,
            oldest: 0,
            length,
        }
    }

    /// Events per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.length > 0.0 { self.events as f64 / self.length } else { 0.0 }
    }

    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "type": "second", "t": self.t, "at": self.at, "events": self.events, "queries": self.queries,
            "commits": self.commits, "conflicts": self.conflicts, "errors": self.errors,
            "reconnects": self.reconnects, "p50_us": self.p50, "p95_us": self.p95, "p99_us": self.p99,
            "max_us": self.max, "backlog": self.backlog, "open": self.open, "oldest_us": self.oldest, "length": (self.length * 1000.0).round() / 1000.0,
        })
    }
}

/// One kind of transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct KindResult {
    pub name: String,
    pub events: u64,
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub max: u64,
}

/// The whole of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    pub seconds: f64,
    pub events: u64,
    pub queries: u64,
    pub reads: u64,
    pub writes: u64,
    pub rows: u64,
    pub commits: u64,
    pub conflicts: u64,
    pub errors: u64,
    pub reconnects: u64,
    pub mean: f64,
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
    pub median_rate: f64,
    /// Seconds without an event.
    pub zero_seconds: u64,
    /// Seconds below half of the median.
    pub low_seconds: u64,
    /// The longest row of seconds without an event.
    pub longest_gap: u64,
    /// Transactions under way at the end, which no latency tells of.
    pub unfinished: u64,
    /// The longest that one was seen under way, in microseconds.
    pub oldest: u64,
    /// How late this program began transactions of an open loop, though a connection was free: p99 and the longest,
    /// in microseconds. `None` in a closed loop.
    pub lateness: Option<(u64, u64)>,
    /// Processor seconds of this program.
    pub generator_cpu: f64,
    pub kinds: Vec<KindResult>,
    /// The figure that the workload is known by, per minute.
    pub headline: Option<(String, f64)>,
}

impl Summary {
    /// Events per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.events as f64 / self.seconds } else { 0.0 }
    }

    pub(crate) fn new(seconds: &[Second], counts: &Counts, names: &[&str], generator_cpu: f64) -> Self {
        let all = merged(&counts.latencies);
        let length: f64 = seconds.iter().map(|second| second.length).sum();
        let mut rates: Vec<f64> = seconds.iter().map(Second::rate).collect();
        rates.sort_by(f64::total_cmp);
        // Where most seconds are empty, what is usual is the median of the others.
        let empty = rates.iter().filter(|rate| **rate == 0.0).count();
        let first = if empty > rates.len() / 2 { empty } else { 0 };
        let median_rate = rates.get(first + (rates.len() - first) / 2).copied().unwrap_or(0.0);
        let gaps = seconds.split(|second| second.events > 0).map(<[Second]>::len);
        let kinds = names.iter().zip(&counts.latencies).filter(|(_, latencies)| !latencies.is_empty());
        Self {
            seconds: length,
            events: counts.events(),
            queries: counts.tally.queries(),
            reads: counts.tally.reads,
            writes: counts.tally.writes,
            rows: counts.tally.rows,
            commits: counts.tally.commits,
            conflicts: counts.conflicts,
            errors: counts.errors,
            reconnects: counts.reconnects,
            mean: all.mean(),
            p50: all.value_at_quantile(0.5),
            p95: all.value_at_quantile(0.95),
            p99: all.value_at_quantile(0.99),
            p999: all.value_at_quantile(0.999),
            max: all.max(),
            median_rate,
            zero_seconds: seconds.iter().filter(|second| second.events == 0).count() as u64,
            low_seconds: rates.iter().filter(|rate| **rate < median_rate / 2.0).count() as u64,
            unfinished: seconds.last().map_or(0, |second| second.open),
            oldest: seconds.iter().map(|second| second.oldest).max().unwrap_or(0),
            longest_gap: gaps.max().unwrap_or(0) as u64,
            lateness: (!counts.lateness.is_empty())
                .then(|| (counts.lateness.value_at_quantile(0.99), counts.lateness.max())),
            generator_cpu,
            kinds: kinds.map(|(name, latencies)| kind(name, latencies)).collect(),
            headline: None,
        }
    }

    /// Everything as one JSON object.
    #[must_use]
    pub fn json(&self) -> Value {
        let kinds: Vec<Value> = self
            .kinds
            .iter()
            .map(|kind| {
                json!({ "name": kind.name, "events": kind.events, "p50_us": kind.p50, "p95_us": kind.p95,
                        "p99_us": kind.p99, "max_us": kind.max })
            })
            .collect();
        let mut object = json!({
            "type": "summary", "seconds": self.seconds, "events": self.events, "tps": self.rate(),
            "qps": self.queries as f64 / self.seconds.max(1e-9), "queries": self.queries, "reads": self.reads,
            "writes": self.writes, "rows": self.rows, "commits": self.commits,
            "commits_per_second": self.commits as f64 / self.seconds.max(1e-9), "conflicts": self.conflicts,
            "errors": self.errors, "reconnects": self.reconnects, "mean_us": self.mean, "p50_us": self.p50,
            "p95_us": self.p95, "p99_us": self.p99, "p999_us": self.p999, "max_us": self.max,
            "median_tps": self.median_rate, "zero_seconds": self.zero_seconds, "low_seconds": self.low_seconds,
            "longest_gap": self.longest_gap, "unfinished": self.unfinished, "oldest_us": self.oldest,
            "generator_cpu_seconds": self.generator_cpu, "kinds": kinds,
        });
        if let Some((p99, max)) = self.lateness {
            object["late_p99_us"] = json!(p99);
            object["late_max_us"] = json!(max);
        }
        if let Some((name, figure)) = &self.headline {
            object[name] = json!(figure);
        }
        object
    }
}

fn kind(name: &str, latencies: &Histogram<u64>) -> KindResult {
    KindResult {
        name: name.to_owned(),
        events: latencies.len(),
        p50: latencies.value_at_quantile(0.5),
        p95: latencies.value_at_quantile(0.95),
        p99: latencies.value_at_quantile(0.99),
        max: latencies.max(),
    }
}

fn merged(latencies: &[Histogram<u64>]) -> Histogram<u64> {
    let mut all = crate::bucket::histogram();
    for one in latencies {
        all.add(one).expect("all histograms have the same bounds");
    }
    all
}

/// A finished run.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// The warm-up's seconds have negative times.
    pub seconds: Vec<Second>,
    pub summary: Summary,
    /// Why it ended early, if it was not by wish.
    pub failure: Option<String>,
}

impl Run {
    /// The measured seconds.
    pub fn measured(&self) -> impl Iterator<Item = &Second> {
        self.seconds.iter().filter(|second| second.t >= 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_low_seconds_are_counted() {
        let events = [100, 100, 0, 0, 30, 100, 0, 110];
        let seconds: Vec<Second> = events
            .iter()
            .enumerate()
            .map(|(t, events)| Second { t: t as i64, events: *events, length: 1.0, ..Second::default() })
            .collect();
        let summary = Summary::new(&seconds, &Counts::new(1), &["x"], 0.0);
        assert_eq!((summary.zero_seconds, summary.low_seconds, summary.longest_gap), (3, 4, 2));
        assert_eq!(summary.median_rate, 100.0);
    }
}
