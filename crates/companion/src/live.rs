//! What a server does now: statements, who waits for whom, waits, input and output, replication.
//!
//! Invariant: a look costs a few short questions each second; what a server cannot answer is taken from what it can
//! (the list of its sessions and its counters), and the table says which. Used by `top` and `watch`.

use std::collections::HashMap;
use std::time::Instant;

use client::{Answer, Dsn};
use recording::{Host, Recording, Sampler, Unseen, now_ms};
use serde_json::json;

use crate::replicating::Replicating;
use crate::session::Session;
use crate::tables::{
    Grown, ROWS_MAX, Table, differences, ranked, rate, statements_of_sessions, unseen_table,
};
use crate::waiting::Waiting;

/// Seconds that are kept for the graphs.
const KEPT_MS: u64 = 600_000;

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
    unseen: Vec<Unseen>,
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
        let host = Host::of(dsn);
        let server = sampler.describe(&host).await?;
        let unseen = Unseen::all_of(&server);
        recording.headers.push(json!({ "type": "recording", "at": now_ms(), "server": server }));
        let mut live = Self {
            dsn: dsn.clone(),
            host,
            sampler,
            recording,
            statements: None,
            waits: None,
            files: None,
            waiting: Waiting::default(),
            replicating: Replicating::default(),
            unseen,
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
        let statements = self.statements_table(seconds, &sessions).await?;
        let waits = self.waits_table(seconds, &sessions).await?;
        let files = self.files_table(seconds).await?;
        let locks = self.waiting.table(&mut self.sampler, &sessions).await?;
        let mut tables = vec![statements, locks, waits, files];
        tables.extend(self.replicating.table(&mut self.sampler).await?);
        tables.extend(unseen_table(&self.unseen));
        for table in &mut tables {
            table.rows.truncate(ROWS_MAX);
        }
        Ok(tables)
    }

    async fn statements_table(&mut self, seconds: f64, sessions: &[Session]) -> client::Result<Table> {
        Ok(match self.statements.take() {
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
            None => statements_of_sessions(sessions),
        })
    }

    async fn waits_table(&mut self, seconds: f64, sessions: &[Session]) -> client::Result<Table> {
        Ok(match self.waits.take() {
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
            None => self.waits_of_counters(sessions),
        })
    }

    async fn files_table(&mut self, seconds: f64) -> client::Result<Table> {
        Ok(match self.files.take() {
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
        })
    }

    async fn sessions(&mut self) -> client::Result<Vec<Session>> {
        let is_on = self.sampler.has_performance_schema();
        for question in SESSIONS.into_iter().filter(|text| is_on || !text.contains("performance_schema.")) {
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
