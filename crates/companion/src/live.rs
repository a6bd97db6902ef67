//! What a server does now: statements, who waits for whom, waits, input and output, replication.
//!
//! Invariant: a look costs a few short questions each second; what a server cannot answer is taken from what it can
//! (the list of its sessions and its counters), and the table says which. Used by `top` and `watch`.

use std::collections::HashMap;
use std::time::Instant;

use client::{Answer, Dsn};
use recording::{Host, Recording, Sampler, describe_server, now_ms};
use serde_json::{Value, json};

use crate::replicating::Replicating;
use crate::waiting::{Session, Waiting};

/// Seconds that are kept for the graphs.
const KEPT_MS: u64 = 600_000;
const ROWS_MAX: usize = 40;

/// A table of what is going on; the last column is text, the others are numbers.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pub title: String,
    /// What is said instead when there are no rows.
    pub none: &'static str,
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn json(&self) -> Value {
        json!({ "title": self.title, "none": self.none, "head": self.head, "rows": self.rows })
    }
}

/// Counters that grow, of one thing each, as they were at the last look.
type Grown = HashMap<String, Vec<f64>>;

/// An observed server.
pub struct Live {
    dsn: Dsn,
    sampler: Sampler,
    host: Host,
    pub recording: Recording,
    statements: Option<Grown>,
    waits: Option<Grown>,
    files: Option<Grown>,
    waiting: Waiting,
    replicating: Replicating,
    last: Instant,
}

const STATEMENTS: &str = "SELECT CONCAT(COALESCE(schema_name, ''), ' ', COALESCE(LEFT(digest_text, 300), '')), \
    count_star, sum_timer_wait / 1e9, sum_lock_time / 1e9, sum_rows_examined, sum_rows_sent \
    FROM performance_schema.events_statements_summary_by_digest ORDER BY sum_timer_wait DESC LIMIT 300";
const WAITS: &str = "SELECT event_name, count_star, sum_timer_wait / 1e9 \
    FROM performance_schema.events_waits_summary_global_by_event_name \
    WHERE count_star > 0 AND event_name <> 'idle' ORDER BY sum_timer_wait DESC LIMIT 100";
const FILES: &str = "SELECT file_name, count_read, count_write, count_misc, sum_number_of_bytes_read / 1024, \
    sum_number_of_bytes_write / 1024, sum_timer_wait / 1e9 FROM performance_schema.file_summary_by_instance \
    ORDER BY sum_timer_wait DESC LIMIT 200";
const SESSIONS: [&str; 2] = [
    "SELECT COALESCE(info, ''), COALESCE(state, ''), time, id FROM performance_schema.processlist \
     WHERE command NOT IN ('Sleep', 'Daemon', 'Binlog Dump') AND id <> CONNECTION_ID() LIMIT 2000",
    "SELECT COALESCE(info, ''), COALESCE(state, ''), time, id FROM information_schema.processlist \
     WHERE command NOT IN ('Sleep', 'Daemon', 'Binlog Dump') AND id <> CONNECTION_ID() LIMIT 2000",
];

impl Live {
    pub async fn connect(dsn: &Dsn) -> client::Result<Self> {
        let mut sampler = Sampler::connect(dsn).await?;
        let mut recording = Recording::default();
        let server = describe_server(sampler.connection()).await?;
        recording.headers.push(json!({ "type": "recording", "at": now_ms(), "server": server }));
        let mut live = Self {
            dsn: dsn.clone(),
            host: Host::of(dsn),
            sampler,
            recording,
            statements: None,
            waits: None,
            files: None,
            waiting: Waiting::default(),
            replicating: Replicating::default(),
            last: Instant::now(),
        };
        live.statements = live.grown(STATEMENTS).await?.filter(|grown| !grown.is_empty());
        live.waits = live.grown(WAITS).await?.filter(|grown| !grown.is_empty());
        live.files = live.grown(FILES).await?.filter(|grown| !grown.is_empty());
        live.waiting = Waiting::of(&mut live.sampler).await?;
        live.replicating = Replicating::of(&mut live.sampler).await?;
        live.sample().await?;
        Ok(live)
    }

    /// An answer, or `None` where the server does not understand the question.
    async fn answer(&mut self, question: &str) -> client::Result<Option<Answer>> {
        match self.sampler.connection().ask(question).await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.is_fatal() => Err(error),
            Err(_) => Ok(None),
        }
    }

    async fn grown(&mut self, question: &str) -> client::Result<Option<Grown>> {
        let Some(answer) = self.answer(question).await? else { return Ok(None) };
        let mut grown = Grown::new();
        for row in 0..answer.rows() {
            let counters = (1..answer.columns()).map(|column| answer.cell(row, column).float()).collect();
            grown.insert(answer.cell(row, 0).text(), counters);
        }
        Ok(Some(grown))
    }

    async fn sample(&mut self) -> client::Result<()> {
        let values = self.sampler.sample().await?;
        let at = now_ms();
        self.recording.add_sample(true, at, values);
        if self.dsn.is_local() {
            self.recording.add_sample(false, at, self.host.sample());
        }
        self.recording.forget_before(at.saturating_sub(KEPT_MS));
        Ok(())
    }

    /// One look: what happened since the last one.
    pub async fn look(&mut self) -> client::Result<Vec<Table>> {
        self.sample().await?;
        let seconds = self.last.elapsed().as_secs_f64().max(0.1);
        self.last = Instant::now();
        let sessions = self.sessions().await?;
        let statements = match self.statements.take() {
            Some(before) => {
                let now = self.grown(STATEMENTS).await?.unwrap_or_default();
                let rows = differences(&before, &now, seconds, 1, |[count, ms, lock_ms, examined, sent]| {
                    vec![
                        rate(count),
                        rate(ms),
                        rate(ms / count.max(1e-9)),
                        rate(lock_ms),
                        rate(examined),
                        rate(sent),
                    ]
                });
                self.statements = Some(now);
                Table {
                    title: "Statements".into(),
                    none: "none ended in the last second",
                    head: vec![
                        "per s",
                        "ms/s",
                        "ms each",
                        "lock ms/s",
                        "rows read/s",
                        "rows sent/s",
                        "statement",
                    ],
                    rows,
                }
            }
            None => statements_of_sessions(&sessions),
        };
        let waits = match self.waits.take() {
            Some(before) => {
                let now = self.grown(WAITS).await?.unwrap_or_default();
                let rows = differences(&before, &now, seconds, 1, |[count, ms]| vec![rate(count), rate(ms)]);
                self.waits = Some(now);
                Table {
                    title: "Waits".into(),
                    none: "nobody waited",
                    head: vec!["per s", "ms/s", "for"],
                    rows,
                }
            }
            None => self.waits_of_counters(&sessions),
        };
        let files = match self.files.take() {
            Some(before) => {
                let now = self.grown(FILES).await?.unwrap_or_default();
                let rows =
                    differences(&before, &now, seconds, 5, |[reads, writes, misc, read, written, ms]| {
                        vec![rate(reads), rate(writes), rate(misc), rate(read), rate(written), rate(ms)]
                    });
                self.files = Some(now);
                Table {
                    title: "Files".into(),
                    none: "no file was touched",
                    head: vec![
                        "reads/s",
                        "writes/s",
                        "other/s",
                        "KiB read/s",
                        "KiB written/s",
                        "ms/s",
                        "file",
                    ],
                    rows,
                }
            }
            None => self.files_of_counters(),
        };
        let locks = self.waiting.table(&mut self.sampler, &sessions).await?;
        let mut tables = vec![statements, locks, waits, files];
        tables.extend(self.replicating.table(&mut self.sampler).await?);
        for table in &mut tables {
            table.rows.truncate(ROWS_MAX);
        }
        Ok(tables)
    }

    async fn sessions(&mut self) -> client::Result<Vec<Session>> {
        for question in SESSIONS {
            if let Some(answer) = self.answer(question).await? {
                let session = |row| Session {
                    id: answer.cell(row, 3).int(),
                    text: answer.cell(row, 0).text(),
                    state: answer.cell(row, 1).text(),
                    seconds: answer.cell(row, 2).float(),
                };
                return Ok((0..answer.rows()).map(session).collect());
            }
        }
        Ok(Vec::new())
    }

    /// How fast a counter grew lately.
    pub fn rate(&self, name: &str) -> f64 {
        let times = &self.recording.server_times;
        match times.len().checked_sub(2).map(|place| (times[place], times[place + 1])) {
            Some((from, to)) => self.recording.rate(name, from, to).unwrap_or(0.0),
            None => 0.0,
        }
    }

    fn waits_of_counters(&self, sessions: &[Session]) -> Table {
        let mut rows: Vec<(f64, Vec<String>)> = Vec::new();
        // Servers that count their own waits name them so, with a time in microseconds beside each.
        for name in
            self.recording.series.keys().filter(|name| name.contains("_wait_") && name.ends_with("_us"))
        {
            let count = self.rate(name.trim_end_matches("_us"));
            let time = self.rate(name) / 1000.0;
            if count > 0.0 || time > 0.0 {
                rows.push((time, vec![rate(count), rate(time), name.trim_end_matches("_us").to_owned()]));
            }
        }
        let mut states: HashMap<&str, f64> = HashMap::new();
        for session in sessions.iter().filter(|session| !session.state.is_empty()) {
            *states.entry(&session.state).or_default() += 1.0;
        }
        let states = states
            .into_iter()
            .map(|(state, count)| (count, vec![rate(count), "-".into(), format!("sessions: {state}")]));
        rows.extend(states);
        let (title, head) =
            ("Waits (from counters and states of sessions)", vec!["per s or now", "ms/s", "for"]);
        Table { title: title.into(), none: "nobody waits", head, rows: ranked(rows) }
    }

    fn files_of_counters(&self) -> Table {
        let kib = |name: &str| self.rate(name) / 1024.0;
        let all = [
            ("Innodb_data_reads", kib("Innodb_data_read"), "reads of data"),
            ("Innodb_data_writes", kib("Innodb_data_written"), "writes of data"),
            ("Innodb_log_writes", kib("Innodb_os_log_written"), "writes of the log"),
            ("Innodb_data_fsyncs", 0.0, "syncs"),
        ];
        let rows = all
            .into_iter()
            .filter(|(name, _, _)| self.recording.series.contains_key(*name))
            .map(|(name, kib, what)| vec![rate(self.rate(name)), rate(kib), what.to_owned()])
            .collect();
        Table {
            title: "Input and output (from counters)".into(),
            none: "not told",
            head: vec!["per s", "KiB/s", "what"],
            rows,
        }
    }

    /// The state of the server in one line.
    pub fn headline(&self) -> String {
        let last = |name: &str| self.recording.last(name).unwrap_or(0.0);
        let version = self.recording.headers.last().and_then(|header| header["server"]["version"].as_str());
        let requests = self.rate("Innodb_buffer_pool_read_requests");
        let hits = if requests > 0.0 {
            100.0 * (1.0 - self.rate("Innodb_buffer_pool_reads") / requests).max(0.0)
        } else {
            100.0
        };
        format!(
            "{}  {}  up {:.0} s  sessions {:.0}, {:.0} running  {:.0} statements/s  {:.0} commits/s  reads {:.1} writes {:.1} log {:.2} MiB/s  pool hits {hits:.2} %",
            self.dsn,
            version.unwrap_or(""),
            last("Uptime"),
            last("Threads_connected"),
            last("Threads_running"),
            self.rate("Questions"),
            self.rate("Com_commit")
                + self.rate("Handler_commit") * f64::from(u8::from(self.rate("Com_commit") == 0.0)),
            self.rate("Innodb_data_read") / 1_048_576.0,
            self.rate("Innodb_data_written") / 1_048_576.0,
            self.rate("Innodb_os_log_written") / 1_048_576.0,
        )
    }
}

/// Rows of what grew, those first that took the most time (column `by`).
fn differences<const N: usize>(
    before: &Grown,
    now: &Grown,
    seconds: f64,
    by: usize,
    shown: impl Fn([f64; N]) -> Vec<String>,
) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (name, counters) in now {
        let old = before.get(name);
        let grown: [f64; N] = std::array::from_fn(|place| {
            let new = counters.get(place).copied().unwrap_or(0.0);
            (new - old.and_then(|old| old.get(place)).copied().unwrap_or(0.0)).max(0.0) / seconds
        });
        if grown[0] > 0.0 || grown[by.min(N - 1)] > 0.0 {
            let mut row = shown(grown);
            row.push(one_line(name));
            rows.push((grown[by.min(N - 1)], row));
        }
    }
    ranked(rows)
}

fn ranked(mut rows: Vec<(f64, Vec<String>)>) -> Vec<Vec<String>> {
    rows.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    rows.into_iter().take(ROWS_MAX).map(|(_, row)| row).collect()
}

fn statements_of_sessions(sessions: &[Session]) -> Table {
    let mut groups: HashMap<String, (f64, f64)> = HashMap::new();
    for session in sessions.iter().filter(|session| !session.text.is_empty()) {
        let group = groups.entry(without_literals(&session.text)).or_default();
        group.0 += 1.0;
        group.1 = group.1.max(session.seconds);
    }
    let rows = groups
        .into_iter()
        .map(|(text, (count, longest))| (count, vec![rate(count), rate(longest), text]))
        .collect();
    Table {
        title: "Statements (running at this moment; performance_schema is off or lacks digests)".into(),
        none: "none is running",
        head: vec!["sessions", "longest s", "statement"],
        rows: ranked(rows),
    }
}

/// A statement with `?` for each number and text, on one line.
fn without_literals(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars().peekable();
    let mut last = ' ';
    while let Some(letter) = letters.next() {
        if letter == '\'' || letter == '"' {
            while let Some(inner) = letters.next() {
                if inner == '\\' {
                    letters.next();
                } else if inner == letter {
                    break;
                }
            }
            out.push('?');
        } else if letter.is_ascii_digit() && !last.is_alphanumeric() && last != '_' {
            while letters.peek().is_some_and(|next| next.is_ascii_alphanumeric() || *next == '.') {
                letters.next();
            }
            out.push('?');
        } else {
            out.push(letter);
        }
        last = letter;
    }
    one_line(&out)
}

/// White space of any kind as single spaces.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn rate(value: f64) -> String {
    if value >= 100.0 || value == 0.0 {
        format!("{value:.0}")
    } else if value >= 1.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_become_question_marks() {
        assert_eq!(
            without_literals("SELECT c FROM sbtest1\n WHERE id=15 AND k='a\\'b'"),
            "SELECT c FROM sbtest1 WHERE id=? AND k=?"
        );
    }

    #[test]
    fn what_grew_is_ranked_by_time() {
        let before = Grown::from([("a".to_owned(), vec![1.0, 10.0]), ("b".to_owned(), vec![5.0, 5.0])]);
        let now = Grown::from([
            ("a".to_owned(), vec![3.0, 12.0]),
            ("b".to_owned(), vec![5.0, 5.0]),
            ("c".to_owned(), vec![1.0, 40.0]),
        ]);
        let rows = differences(&before, &now, 2.0, 1, |[count, ms]| vec![rate(count), rate(ms)]);
        assert_eq!(rows, [["0.500", "20.0", "c"], ["1.0", "1.0", "a"]]);
    }
}
