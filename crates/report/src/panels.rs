//! The graphs: which lines of which values stand in each.
//!
//! Invariant: a panel whose values nobody recorded is not there; a quantity that servers name differently is one line.
//! Used by `page`, `svg` and `csv`.

use crate::grid::{Points, combine, scale, sum};
use crate::subject::Subject;

/// A line of a graph.
#[derive(Debug, Clone)]
pub struct Line {
    pub name: String,
    pub points: Points,
}

/// A graph.
#[derive(Debug, Clone)]
pub struct Panel {
    pub title: &'static str,
    pub unit: &'static str,
    /// Whether its scale is by powers of ten.
    pub is_log: bool,
    pub lines: Vec<Line>,
}

const PAGE_BYTES: f64 = 16_384.0;
const STATES_SHOWN: usize = 6;

/// All graphs; with several subjects each line says whose it is.
#[must_use]
pub fn panels(subjects: &[Subject]) -> Vec<Panel> {
    let mut all: Vec<Panel> = Vec::new();
    for subject in subjects {
        for mut panel in of_subject(subject) {
            if subjects.len() > 1 && panel.title == "Latency" {
                panel.lines.retain(|line| ["p50", "p99"].contains(&line.name.as_str()));
            }
            let prefix =
                |name: String| if subjects.len() > 1 { format!("{} {name}", subject.name) } else { name };
            let lines = panel.lines.into_iter().map(|line| Line { name: prefix(line.name), ..line });
            match all.iter_mut().find(|other| other.title == panel.title) {
                Some(other) => other.lines.extend(lines),
                None => all.push(Panel { lines: lines.collect(), ..panel }),
            }
        }
    }
    all
}

struct Gathered {
    panels: Vec<Panel>,
}

impl Gathered {
    fn add(&mut self, title: &'static str, unit: &'static str, lines: Vec<(&str, Points)>) {
        self.add_scaled(title, unit, false, lines);
    }

    fn add_scaled(
        &mut self,
        title: &'static str,
        unit: &'static str,
        is_log: bool,
        lines: Vec<(&str, Points)>,
    ) {
        let there = lines.into_iter().filter(|(_, points)| points.iter().any(Option::is_some));
        let lines: Vec<Line> = there.map(|(name, points)| Line { name: name.to_owned(), points }).collect();
        if !lines.is_empty() {
            self.panels.push(Panel { title, unit, is_log, lines });
        }
    }
}

fn of_subject(subject: &Subject) -> Vec<Panel> {
    let mut gathered = Gathered { panels: Vec::new() };
    work(subject, &mut gathered);
    storage(subject, &mut gathered);
    devices(subject, &mut gathered);
    host(subject, &mut gathered);
    waits(subject, &mut gathered);
    gathered.panels
}

/// Where what is under way is older than anything that ended: elsewhere the line would only hide the others.
fn beyond(oldest: Points, longest: &Points) -> Points {
    let longest = longest.iter().map(|point| point.unwrap_or(0.0));
    oldest.into_iter().zip(longest).map(|(old, long)| old.filter(|old| *old > long)).collect()
}

fn work(subject: &Subject, gathered: &mut Gathered) {
    gathered.add("Throughput", "per s", vec![(subject.throughput_name(), subject.throughput())]);
    let ms = |name: &str| scale(&subject.bench(name), 0.001);
    gathered.add_scaled(
        "Latency",
        "ms",
        true,
        vec![
            ("p50", ms("p50_us")),
            ("p95", ms("p95_us")),
            ("p99", ms("p99_us")),
            ("max", ms("max_us")),
            ("oldest under way", beyond(ms("oldest_us"), &ms("max_us"))),
        ],
    );
    if !subject.recording.seconds.is_empty() {
        gathered.add("Statements at the server", "per s", vec![("statements", subject.rate("Questions"))]);
    }
    gathered.add(
        "Trouble",
        "per s",
        vec![
            ("conflicts", not_zero(subject.bench("conflicts"))),
            ("errors", not_zero(subject.bench("errors"))),
            ("arrivals that wait", not_zero(subject.bench("backlog"))),
        ],
    );
}

/// A line that is zero all the time says nothing.
fn not_zero(points: Points) -> Points {
    if points.iter().flatten().any(|value| *value != 0.0) { points } else { vec![None; points.len()] }
}

fn storage(subject: &Subject, gathered: &mut Gathered) {
    let (age, capacity) = (subject.checkpoint_age(), subject.capacity());
    let room = combine(&age, &capacity, |_, capacity| Some(capacity));
    gathered.add(
        "Checkpoint age",
        "MiB",
        vec![("age", scale(&age, 1.0 / 1_048_576.0)), ("capacity", scale(&room, 1.0 / 1_048_576.0))],
    );
    let dirty_bytes = scale(&subject.gauge("Innodb_buffer_pool_bytes_dirty"), 1.0);
    let dirty = if dirty_bytes.iter().any(Option::is_some) {
        dirty_bytes
    } else {
        scale(
            &subject.gauge("Innodb_buffer_pool_pages_dirty"),
            subject.number(&["innodb_page_size"]).unwrap_or(PAGE_BYTES),
        )
    };
    gathered.add("Dirty pages", "MiB", vec![("dirty", scale(&dirty, 1.0 / 1_048_576.0))]);
    let mib = |name: &str| scale(&subject.rate(name), 1.0 / 1_048_576.0);
    gathered.add(
        "Log and data writes",
        "MiB/s",
        vec![("log", mib("Innodb_os_log_written")), ("data", mib("Innodb_data_written"))],
    );
    gathered.add(
        "Syncs",
        "per s",
        vec![("log", subject.rate("Innodb_os_log_fsyncs")), ("all", subject.rate("Innodb_data_fsyncs"))],
    );
    gathered.add(
        "Reads of pages",
        "per s",
        vec![
            ("missed the pool", subject.rate("Innodb_buffer_pool_reads")),
            ("read ahead", subject.rate("Innodb_buffer_pool_read_ahead")),
        ],
    );
    let hits = combine(
        &subject.rate("Innodb_buffer_pool_reads"),
        &subject.rate("Innodb_buffer_pool_read_requests"),
        |reads, requests| (requests > 0.0).then(|| 100.0 * (1.0 - reads / requests).max(0.0)),
    );
    gathered.add("Pool hits", "%", vec![("hits", hits)]);
}

fn devices(subject: &Subject, gathered: &mut Gathered) {
    let names = subject.recording.series.keys().filter_map(|name| {
        let rest = name.strip_prefix("disk.")?;
        rest.strip_suffix(".writes")
    });
    let disks: Vec<String> = names.map(str::to_owned).collect();
    let total = |what: &str| {
        let all: Vec<Points> =
            disks.iter().map(|disk| subject.rate(&format!("disk.{disk}.{what}"))).collect();
        sum(&all, subject.grid.places)
    };
    let (reads, writes, flushes) = (total("reads"), total("writes"), total("flushes"));
    let operations = combine(&reads, &writes, |reads, writes| Some(reads + writes));
    let waited = combine(&total("read_ms"), &total("write_ms"), |reads, writes| Some(reads + writes));
    let each =
        combine(&waited, &operations, |waited, operations| (operations > 0.0).then(|| waited / operations));
    gathered.add(
        "Device operations",
        "per s",
        vec![("reads", reads), ("writes", writes), ("flushes", flushes)],
    );
    gathered.add(
        "Device bytes",
        "MiB/s",
        vec![
            ("read", scale(&total("read_sectors"), 1.0 / 2048.0)),
            ("written", scale(&total("write_sectors"), 1.0 / 2048.0)),
        ],
    );
    gathered.add("Device queue", "requests", vec![("in the queue", scale(&total("queue_ms"), 0.001))]);
    gathered.add("Device time per operation", "ms", vec![("mean", each)]);
}

fn host(subject: &Subject, gathered: &mut Gathered) {
    let names = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    let rates: Vec<Points> = names.iter().map(|name| subject.rate(&format!("cpu.{name}"))).collect();
    let all = sum(&rates, subject.grid.places);
    let share = |places: &[usize]| {
        let some: Vec<Points> = places.iter().map(|place| rates[*place].clone()).collect();
        combine(&sum(&some, subject.grid.places), &all, |some, all| (all > 0.0).then(|| 100.0 * some / all))
    };
    gathered.add(
        "Processors",
        "%",
        vec![
            ("user", share(&[0, 1])),
            ("system", share(&[2, 5, 6])),
            ("waiting for disks", share(&[4])),
            ("stolen", not_zero(share(&[7]))),
        ],
    );
    gathered.add(
        "Processors of the server",
        "processors",
        vec![("server", scale(&subject.rate("server.cpu"), 0.01))],
    );
    gathered.add(
        "Run queue",
        "tasks",
        vec![("running", subject.gauge("cpu.running")), ("blocked", subject.gauge("cpu.blocked"))],
    );
    let pressure = |name: &str| scale(&subject.rate(name), 1e-4);
    gathered.add(
        "Pressure",
        "% of time",
        vec![
            ("processor", pressure("psi.cpu.some_us")),
            ("disk", pressure("psi.io.some_us")),
            ("memory", not_zero(pressure("psi.memory.some_us"))),
        ],
    );
    gathered.add(
        "Memory of the server",
        "MiB",
        vec![("resident", scale(&subject.gauge("server.rss_kb"), 1.0 / 1024.0))],
    );
}

fn waits(subject: &Subject, gathered: &mut Gathered) {
    gathered.add("Sessions at work", "sessions", vec![("running", subject.gauge("Threads_running"))]);
    gathered.add(
        "Lock waits",
        "",
        vec![
            ("begun per s", subject.rate("Innodb_row_lock_waits")),
            ("waiting now", subject.gauge("Innodb_row_lock_current_waits")),
        ],
    );
    gathered.add(
        "Waits inside the server",
        "per s",
        vec![
            ("log buffer full", not_zero(subject.rate("Innodb_log_waits"))),
            ("no free page", not_zero(subject.rate("Innodb_buffer_pool_wait_free"))),
            ("deadlocks", not_zero(subject.rate("Innodb_deadlocks"))),
        ],
    );
    gathered.add(
        "Transactions",
        "",
        vec![
            ("open", subject.gauge("trx.active")),
            ("oldest, s", not_zero(subject.gauge("trx.oldest_seconds"))),
        ],
    );
    let history =
        ["Innodb_history_list_length", "metric.trx_rseg_history_len", "monitor.history_list_length"];
    if let Some(name) = subject.known(&history) {
        gathered.add("History", "transactions", vec![("length", subject.gauge(name))]);
    }
    states(subject, gathered);
}

/// What the sessions say they do: the states that were seen most.
fn states(subject: &Subject, gathered: &mut Gathered) {
    let mut states: Vec<(f64, String, Points)> = Vec::new();
    for name in subject.recording.series.keys().filter(|name| name.starts_with("state.")) {
        let shown = name.trim_start_matches("state.").trim_end_matches('/').to_owned();
        if shown.starts_with("Sleep") || shown.starts_with("Daemon") {
            continue;
        }
        let points = subject.gauge(name);
        states.push((points.iter().flatten().sum(), shown, points));
    }
    states.sort_by(|left, right| right.0.total_cmp(&left.0));
    states.truncate(STATES_SHOWN);
    gathered.add(
        "States of sessions",
        "sessions",
        states.iter().map(|(_, name, points)| (name.as_str(), points.clone())).collect(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_shows_where_nothing_that_ended_is_older() {
        let shown = beyond(vec![Some(1.0), Some(900.0), None], &vec![Some(40.0), None, Some(3.0)]);
        assert_eq!(shown, [None, Some(900.0), None]);
    }
}
