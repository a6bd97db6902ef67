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
    /// The number of its colour: its own, or with several subjects that of its subject.
    pub colour: usize,
    /// The number of its pattern: whole, or with several subjects another one for each of a subject's lines.
    pub dash: usize,
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

/// All graphs; with several subjects each line says whose it is, and a subject has one colour in all of them.
#[must_use]
pub fn panels(subjects: &[Subject]) -> Vec<Panel> {
    let mut all: Vec<Panel> = Vec::new();
    for (number, subject) in subjects.iter().enumerate() {
        for mut panel in of_subject(subject) {
            if subjects.len() > 1 && panel.title == "Latency" {
                panel.lines.retain(|line| ["p50", "p95", "p99"].contains(&line.name.as_str()));
            }
            let lines: Vec<Line> = panel
                .lines
                .into_iter()
                .enumerate()
                .map(|(place, line)| {
                    if subjects.len() > 1 {
                        Line {
                            name: format!("{} {}", subject.name, line.name),
                            colour: number,
                            dash: place,
                            ..line
                        }
                    } else {
                        line
                    }
                })
                .collect();
            match all.iter_mut().find(|other| other.title == panel.title) {
                Some(other) => other.lines.extend(lines),
                None => all.push(Panel { lines, ..panel }),
            }
        }
    }
    all
}

/// The graphs that a list names: each by the beginning of its title, behind a colon the line's own name, as in
/// `throughput,latency:p95`; in the list's order.
pub fn chosen(all: Vec<Panel>, list: &str) -> Result<Vec<Panel>, String> {
    let mut some = Vec::new();
    for one in list.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        let (head, line) = one.split_once(':').unwrap_or((one, ""));
        let is_it = |panel: &&Panel| panel.title.to_lowercase().starts_with(&head.to_lowercase());
        let Some(panel) = all.iter().find(is_it) else {
            let titles: Vec<&str> = all.iter().map(|panel| panel.title).collect();
            return Err(format!("there is no graph {head}; there are: {}", titles.join(", ")));
        };
        let mut panel = panel.clone();
        if !line.is_empty() {
            let is_named = |name: &str| name == line || name.ends_with(&format!(" {line}"));
            panel.lines.retain(|one| is_named(&one.name));
            panel.lines.iter_mut().for_each(|line| line.dash = 0);
        }
        if panel.lines.is_empty() {
            return Err(format!("the graph {} has no line {line}", panel.title));
        }
        some.push(panel);
    }
    Ok(some)
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
        let line = |(colour, (name, points)): (usize, (&str, Points))| Line {
            name: name.to_owned(),
            points,
            colour,
            dash: 0,
        };
        let lines: Vec<Line> = there.enumerate().map(line).collect();
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
    fn graphs_are_chosen_by_title_and_line() {
        let line = |name: &str, dash| Line { name: name.into(), points: vec![Some(1.0)], colour: 0, dash };
        let panel = |title, lines| Panel { title, unit: "", is_log: false, lines };
        let all = || {
            vec![
                panel("Throughput", vec![line("a transactions", 0)]),
                panel("Latency", vec![line("a p50", 0), line("a p95", 1)]),
            ]
        };
        let some = chosen(all(), "latency:p95, thr").unwrap();
        let shown: Vec<(&str, &str, usize)> = some
            .iter()
            .map(|panel| (panel.title, panel.lines[0].name.as_str(), panel.lines[0].dash))
            .collect();
        assert_eq!(shown, [("Latency", "a p95", 0), ("Throughput", "a transactions", 0)]);
        assert!(chosen(all(), "speed").unwrap_err().contains("Throughput, Latency"));
        assert!(chosen(all(), "latency:p77").unwrap_err().contains("no line p77"));
    }

    #[test]
    fn what_is_under_way_shows_where_nothing_that_ended_is_older() {
        let shown = beyond(vec![Some(1.0), Some(900.0), None], &vec![Some(40.0), None, Some(3.0)]);
        assert_eq!(shown, [None, Some(900.0), None]);
    }
}
