//! The cause of a low second, in one sentence, by what is known of how servers stall.
//!
//! Invariant: a cause needs evidence of its own in that second or beside it, and what tells of it directly (a stopped
//! process, a state that sessions name) goes before what may have other reasons. Used by `dips`.

mod measure;

use crate::grid::{Points, combine, sum};
use crate::low_places::low_places;
use crate::number_text::short;
use crate::subject::Subject;

use measure::{Measure, log_use, states};

/// Rows changed per second from which on a change counts as large.
const MANY_ROWS: f64 = 10_000.0;
const MANY_CONNECTIONS: f64 = 50.0;
/// Of its capacity; behind it flushing is forced.
const FULL_LOG: f64 = 0.75;

/// All that causes are told from.
pub(crate) struct Causes<'a> {
    subject: &'a Subject,
    /// The places that are not low.
    is_good: Vec<bool>,
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
        let mut is_good = vec![true; places];
        low_places(subject).into_iter().for_each(|(place, _)| is_good[place] = false);
        let measure = |points: Points| Measure::new(points, &is_good);
        Self {
            subject,
            stopped: measure(subject.gauge("server.stopped")),
            full: measure(free),
            global_lock: measure(states(subject, &["global read lock", "backup lock", "commit lock"])),
            definition: measure(states(subject, &["metadata lock", "table flush", "table level lock"])),
            altering: measure(states(subject, &["altering table", "copy to tmp table", "alter"])),
            changed: measure(changed),
            modified: measure(subject.gauge("trx.rows_modified")),
            row_waits: measure(gauges(&["Innodb_row_lock_current_waits", "trx.lock_waiting", "lock.waits"])),
            connections: measure(subject.rate("Connections")),
            log_use: measure(log_use(subject)),
            flushed: measure(subject.rate("Innodb_buffer_pool_pages_flushed")),
            busy: measure(combine(&used, &all, |used, all| (all > 0.0).then(|| used / all))),
            others: measure(others),
            memory: measure(subject.rate("psi.memory.full_us")),
            scanned: measure(total(&["Handler_read_rnd_next", "Handler_read_next", "Handler_read_first"])),
            missed: measure(subject.rate("Innodb_buffer_pool_reads")),
            io: measure(subject.rate("psi.io.some_us")),
            is_good,
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
            // One that is there while all goes well explains nothing.
            let good =
                || points.iter().zip(&self.is_good).filter(|(_, is_good)| **is_good).map(|(limit, _)| limit);
            let as_low = good().flatten().filter(|limit| **limit <= least).count();
            (2 * as_low < good().count())
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
                self.subject.recording.at(name, end)?
                    - Measure::new(self.subject.gauge(name), &self.is_good).usual * 0.5,
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

#[cfg(test)]
mod tests;
