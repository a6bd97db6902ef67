//! The cause of a low second, in one sentence, by what is known of how servers stall.
//!
//! Invariant: a cause needs evidence of its own in that second or beside it, and what tells of it directly (a stopped
//! process, a state that sessions name) goes before what may have other reasons. Used by `dips`.

use crate::dips::short;
use crate::grid::{Points, combine, median, sum};
use crate::subject::Subject;

/// Rows changed per second from which on a change counts as large.
const MANY_ROWS: f64 = 10_000.0;
const MANY_CONNECTIONS: f64 = 50.0;
/// Of its capacity; behind it flushing is forced.
const FULL_LOG: f64 = 0.75;

/// A quantity, and what is usual for it.
struct Measure {
    points: Points,
    usual: f64,
}

impl Measure {
    fn new(points: Points) -> Self {
        let usual = median(points.iter().flatten().copied()).unwrap_or(0.0);
        Self { points, usual }
    }

    /// The highest value at the place and beside it: samples and seconds of a run do not begin together.
    fn near(&self, place: usize) -> f64 {
        let end = (place + 2).min(self.points.len());
        self.points[place.saturating_sub(1)..end].iter().flatten().copied().fold(0.0, f64::max)
    }

    /// The value near the place if it is so many times what is usual, and at least so much.
    fn risen(&self, place: usize, times: f64, least: f64) -> Option<f64> {
        let value = self.near(place);
        (value >= least && value >= times * self.usual).then_some(value)
    }
}

/// All that causes are told from.
pub(crate) struct Causes<'a> {
    subject: &'a Subject,
    stopped: Measure,
    full: Measure,
    global_lock: Measure,
    definition: Measure,
    altering: Measure,
    changed: Measure,
    modified: Measure,
    row_waits: Measure,
    connections: Measure,
    log_use: Measure,
    flushed: Measure,
    busy: Measure,
    others: Measure,
    memory: Measure,
    scanned: Measure,
    missed: Measure,
    io: Measure,
}

impl<'a> Causes<'a> {
    pub fn new(subject: &'a Subject) -> Self {
        let places = subject.grid.places;
        let total = |names: &[&str]| {
            sum(&names.iter().map(|name| subject.rate(name)).collect::<Vec<Points>>(), places)
        };
        let gauges = |names: &[&str]| {
            let all: Vec<Points> = names.iter().map(|name| subject.gauge(name)).collect();
            (0..places).map(|place| all.iter().filter_map(|points| points[place]).reduce(f64::max)).collect()
        };
        let all = total(&[
            "cpu.user",
            "cpu.nice",
            "cpu.system",
            "cpu.irq",
            "cpu.softirq",
            "cpu.idle",
            "cpu.iowait",
        ]);
        let used = total(&["cpu.user", "cpu.nice", "cpu.system", "cpu.irq", "cpu.softirq"]);
        let others = combine(&used, &subject.rate("server.cpu"), |used, server| {
            Some((used - server).max(0.0) / 100.0)
        });
        let engine = total(&["Innodb_rows_inserted", "Innodb_rows_updated", "Innodb_rows_deleted"]);
        let handler = total(&["Handler_write", "Handler_update", "Handler_delete"]);
        let changed = if engine.iter().flatten().any(|rate| *rate > 0.0) { engine } else { handler };
        let free = combine(
            &subject.gauge("host.data_free_bytes"),
            &subject.gauge("host.data_bytes"),
            |free, all| Some(f64::from(u8::from(free < (0.005 * all).max(4_194_304.0)))),
        );
        Self {
            subject,
            stopped: Measure::new(subject.gauge("server.stopped")),
            full: Measure::new(free),
            global_lock: Measure::new(states(subject, &["global read lock", "backup lock", "commit lock"])),
            definition: Measure::new(states(subject, &["metadata lock", "table flush", "table level lock"])),
            altering: Measure::new(states(subject, &["altering table", "copy to tmp table", "alter"])),
            changed: Measure::new(changed),
            modified: Measure::new(subject.gauge("trx.rows_modified")),
            row_waits: Measure::new(gauges(&[
                "Innodb_row_lock_current_waits",
                "trx.lock_waiting",
                "lock.waits",
            ])),
            connections: Measure::new(subject.rate("Connections")),
            log_use: Measure::new(log_use(subject)),
            flushed: Measure::new(subject.rate("Innodb_buffer_pool_pages_flushed")),
            busy: Measure::new(combine(&used, &all, |used, all| (all > 0.0).then(|| used / all))),
            others: Measure::new(others),
            memory: Measure::new(subject.rate("psi.memory.full_us")),
            scanned: Measure::new(total(&[
                "Handler_read_rnd_next",
                "Handler_read_next",
                "Handler_read_first",
            ])),
            missed: Measure::new(subject.rate("Innodb_buffer_pool_reads")),
            io: Measure::new(subject.rate("psi.io.some_us")),
        }
    }

    /// What made the second at a place low, if something known did.
    pub fn of(&self, place: usize) -> Option<String> {
        let rules: [fn(&Self, usize) -> Option<String>; 15] = [
            Self::stopped,
            Self::full,
            Self::limit,
            Self::global_lock,
            Self::definition,
            Self::changed,
            Self::row_waits,
            Self::connections,
            Self::flushing,
            Self::others,
            Self::memory,
            Self::altering,
            Self::reads,
            Self::disk,
            Self::unanswered,
        ];
        rules.iter().find_map(|rule| rule(self, place))
    }

    fn stopped(&self, place: usize) -> Option<String> {
        (self.stopped.near(place) > 0.0)
            .then(|| "the server's process was stopped (a signal or a debugger)".into())
    }

    fn full(&self, place: usize) -> Option<String> {
        (self.full.near(place) > 0.0).then(|| "there is no room on the disk of the data".into())
    }

    /// A limit of the server's group that is not always there.
    fn limit(&self, place: usize) -> Option<String> {
        let kinds = [
            ("wiops", "writes per second"),
            ("riops", "reads per second"),
            ("wbps", "bytes written per second"),
            ("rbps", "bytes read per second"),
        ];
        kinds.iter().find_map(|(name, what)| {
            let points = self.subject.gauge(&format!("cgroup.limit.{name}"));
            let there: Vec<f64> = points[place.saturating_sub(1)..points.len().min(place + 2)]
                .iter()
                .flatten()
                .copied()
                .collect();
            let least = there.into_iter().reduce(f64::min)?;
            let as_low = points.iter().flatten().filter(|limit| **limit <= least).count();
            (2 * as_low < points.len())
                .then(|| format!("the server's cgroup was limited to {} {what}", short(least)))
        })
    }

    fn global_lock(&self, place: usize) -> Option<String> {
        let waiting = self.global_lock.risen(place, 2.0, 1.0)?;
        Some(format!(
            "{waiting:.0} sessions waited for a global read lock (FLUSH TABLES WITH READ LOCK, a backup)"
        ))
    }

    fn definition(&self, place: usize) -> Option<String> {
        let waiting = self.definition.risen(place, 2.0, 1.0)?;
        let who = if self.altering.near(place) > 0.0 {
            ": a table was altered"
        } else {
            ": DDL, LOCK TABLES or a transaction that keeps one back"
        };
        Some(format!("{waiting:.0} sessions waited for a table's metadata lock{who}"))
    }

    fn changed(&self, place: usize) -> Option<String> {
        let rate = self.changed.risen(place, 3.0, MANY_ROWS);
        let open = self.modified.risen(place, 20.0, MANY_ROWS);
        let text = match (rate, open) {
            (_, Some(open)) => format!("a transaction changed very many rows: {} uncommitted", short(open)),
            (Some(rate), None) => format!(
                "a statement changed very many rows: {} per s, usually {}",
                short(rate),
                short(self.changed.usual)
            ),
            (None, None) => return None,
        };
        let waiting = self.row_waits.near(place);
        Some(if waiting >= 1.0 { format!("{text}; {waiting:.0} sessions waited for them") } else { text })
    }

    fn row_waits(&self, place: usize) -> Option<String> {
        let waiting = self.row_waits.risen(place, 3.0, 2.0)?;
        Some(format!("{waiting:.0} sessions waited for rows that another transaction had locked"))
    }

    fn connections(&self, place: usize) -> Option<String> {
        let rate = self.connections.risen(place, 10.0, MANY_CONNECTIONS)?;
        Some(format!("{} connections came per second", short(rate)))
    }

    fn flushing(&self, place: usize) -> Option<String> {
        let flushed = self.flushed.near(place);
        if let Some(share) = self.log_use.risen(place, 1.1, FULL_LOG) {
            return Some(format!(
                "the redo log was {:.0} % full, so that pages had to be written first ({} per s)",
                100.0 * share,
                short(flushed)
            ));
        }
        let flushed = self.flushed.risen(place, 3.0, 500.0)?;
        Some(format!(
            "pages were flushed in haste: {} per s, usually {}",
            short(flushed),
            short(self.flushed.usual)
        ))
    }

    fn others(&self, place: usize) -> Option<String> {
        let (used, usual) = (self.others.near(place), self.others.usual);
        if self.busy.near(place) < 0.85 || used - usual < 0.3 {
            return None;
        }
        Some(format!("other processes took {used:.1} processors, usually {usual:.1}{}", self.busiest(place)))
    }

    /// The process that used most more than it usually does.
    fn busiest(&self, place: usize) -> String {
        let grid = &self.subject.grid;
        let end = grid.start + (place as u64 + 2) * grid.step;
        let series = &self.subject.recording.series;
        let used = series.keys().filter_map(|name| {
            let process = name.strip_prefix("process.")?;
            let process = process.split_once('[').map_or(process, |(name, _)| name);
            Some((
                self.subject.recording.at(name, end)? - Measure::new(self.subject.gauge(name)).usual * 0.5,
                process,
            ))
        });
        used.max_by(|left, right| left.0.total_cmp(&right.0))
            .map_or_else(String::new, |(_, name)| format!(" ({name})"))
    }

    fn memory(&self, place: usize) -> Option<String> {
        let waited = self.memory.risen(place, 3.0, 100_000.0)?;
        Some(format!("the host was short of memory: all waited for it {:.0} % of the time", waited / 1e4))
    }

    fn altering(&self, place: usize) -> Option<String> {
        self.altering.risen(place, 2.0, 1.0).map(|_| "a table was altered".into())
    }

    fn reads(&self, place: usize) -> Option<String> {
        if let Some(rate) = self.scanned.risen(place, 4.0, 100_000.0) {
            return Some(format!(
                "a statement read very many rows: {} per s, usually {}",
                short(rate),
                short(self.scanned.usual)
            ));
        }
        let rate = self.missed.risen(place, 4.0, 200.0)?;
        Some(format!(
            "pages were not in the pool: {} read per s, usually {}",
            short(rate),
            short(self.missed.usual)
        ))
    }

    fn disk(&self, place: usize) -> Option<String> {
        let waited = self.io.risen(place, 1.5, 300_000.0)?;
        Some(format!(
            "the disk was slow: something waited for it {:.0} % of the time, usually {:.0} %",
            waited / 1e4,
            self.io.usual / 1e4
        ))
    }

    /// Why the recorder has no sample of that second.
    pub fn unanswered(&self, place: usize) -> Option<String> {
        let grid = &self.subject.grid;
        let begin = grid.start + place as u64 * grid.step;
        let mut gaps = self.subject.recording.gaps.iter();
        let gap = gaps.find(|gap| gap.at < begin + grid.step && gap.until > begin)?;
        Some(format!("the server did not answer: {}", gap.why))
    }
}

/// How many sessions are in a state with one of these words in it.
fn states(subject: &Subject, words: &[&str]) -> Points {
    let names = subject.recording.series.keys().filter(|name| {
        let lower = name.to_lowercase();
        name.starts_with("state.") && words.iter().any(|word| lower.contains(word))
    });
    sum(&names.map(|name| subject.gauge(name)).collect::<Vec<Points>>(), subject.grid.places)
}

/// The checkpoint's age as a share of the log's capacity.
fn log_use(subject: &Subject) -> Points {
    combine(&subject.checkpoint_age(), &subject.capacity(), |age, capacity| {
        (capacity > 0.0).then(|| age / capacity)
    })
}

#[cfg(test)]
mod tests {
    use recording::{Gap, Recording, Values};

    use super::*;

    type Sample = Vec<(&'static str, f64)>;

    /// Forty seconds of the same, but for the values of the second at 20 (counters keep what they grew by then).
    fn cause(usual: &Sample, then: &Sample, gap: Option<&str>) -> Option<String> {
        const GAUGES: [&str; 7] =
            ["state.", "trx.", "server.stopped", "host.", "cgroup.limit", "process.", "Innodb_row_lock_c"];
        let mut recording = Recording::default();
        let mut counters = Values::new();
        for second in 0..40_u64 {
            let mut values = Values::new();
            let mut now: Values = usual.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            if second == 20 {
                now.extend(then.iter().map(|(name, value)| ((*name).to_owned(), *value)));
            }
            for (name, value) in now {
                let is_gauge = GAUGES.iter().any(|head| name.starts_with(head));
                let counter = counters.entry(name.clone()).or_default();
                *counter += value;
                values.insert(name, if is_gauge { value } else { *counter });
            }
            let (host, server) = values.into_iter().partition(|(name, _)| {
                ["cpu.", "server.", "host.", "cgroup.", "process.", "psi."]
                    .iter()
                    .any(|head| name.starts_with(head))
            });
            recording.add_sample(true, second * 1000, server);
            recording.add_sample(false, second * 1000, host);
        }
        if let Some(why) = gap {
            recording.gaps.push(Gap { at: 19_500, until: 21_000, why: why.into() });
        }
        Causes::new(&Subject::new("x", recording)).of(20)
    }

    #[test]
    fn each_stall_has_its_cause() {
        let usual: Sample = vec![
            ("Questions", 1000.0),
            ("Innodb_rows_updated", 4000.0),
            ("Connections", 0.0),
            ("server.stopped", 0.0),
            ("host.data_free_bytes", 5e9),
            ("host.data_bytes", 9e9),
            ("Innodb_row_lock_current_waits", 0.0),
            ("trx.rows_modified", 30.0),
            ("Innodb_buffer_pool_pages_flushed", 50.0),
            ("cpu.user", 60.0),
            ("cpu.system", 20.0),
            ("cpu.idle", 120.0),
            ("server.cpu", 50.0),
            ("psi.io.some_us", 100_000.0),
            ("Handler_read_rnd_next", 10.0),
        ];
        let stalls: [(Sample, &str); 13] = [
            (vec![("server.stopped", 1.0)], "was stopped"),
            (vec![("host.data_free_bytes", 1000.0)], "no room"),
            (vec![("cgroup.limit.wiops", 20.0)], "limited to 20.0 writes per second"),
            (
                vec![("state.Query/Waiting for global read lock", 8.0)],
                "8 sessions waited for a global read lock",
            ),
            (vec![("state.Query/Waiting for backup lock", 8.0)], "global read lock"),
            (vec![("state.Query/Waiting for table metadata lock", 7.0)], "metadata lock"),
            (
                vec![("trx.rows_modified", 2e5), ("Innodb_row_lock_current_waits", 8.0)],
                "changed very many rows: 200.0k uncommitted; 8",
            ),
            (vec![("Innodb_rows_updated", 2e5)], "a statement changed very many rows"),
            (vec![("Innodb_row_lock_current_waits", 8.0)], "8 sessions waited for rows"),
            (vec![("Connections", 900.0)], "900 connections came"),
            (vec![("Innodb_buffer_pool_pages_flushed", 9000.0)], "flushed in haste"),
            (
                vec![
                    ("cpu.user", 190.0),
                    ("cpu.idle", 0.0),
                    ("server.cpu", 15.0),
                    ("process.stress[7]", 150.0),
                ],
                "(stress)",
            ),
            (vec![("Handler_read_rnd_next", 5e6)], "read very many rows"),
        ];
        for (then, wanted) in stalls {
            let found = cause(&usual, &then, None);
            assert!(found.as_ref().is_some_and(|found| found.contains(wanted)), "{wanted}: {found:?}");
        }
        assert_eq!(cause(&usual, &Vec::new(), None), None);
        assert_eq!(
            cause(&usual, &Vec::new(), Some("reset")),
            Some("the server did not answer: reset".into())
        );
        assert!(
            cause(&usual, &vec![("psi.io.some_us", 900_000.0)], None).unwrap().contains("the disk was slow")
        );
    }
}
