//! Rules of thumb over a recording: what is wrong, why one thinks so, what to do, and what that would change.
//!
//! Invariant: a finding needs evidence from the samples, not from a setting alone (durability is the exception, which is
//! named and not judged); a healthy server has none. Used by `companion`'s doctor.

use crate::grid::Points;
use crate::subject::Subject;

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub title: String,
    pub evidence: String,
    /// The statement or the measure.
    pub action: String,
    pub effect: String,
}

struct Patient<'a> {
    subject: &'a Subject,
    found: Vec<Finding>,
}

/// All findings, the weightier first.
#[must_use]
pub fn findings(subject: &Subject) -> Vec<Finding> {
    let mut patient = Patient { subject, found: Vec::new() };
    patient.log();
    patient.pool();
    patient.device();
    patient.sessions();
    patient.locks();
    patient.statements();
    patient.settings();
    patient.found
}

fn mean(points: &Points) -> f64 {
    let values: Vec<f64> = points.iter().flatten().copied().collect();
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

fn highest(points: &Points) -> f64 {
    points.iter().flatten().copied().fold(0.0, f64::max)
}

impl Patient<'_> {
    fn rate(&self, name: &str) -> f64 {
        mean(&self.subject.rate(name))
    }

    fn last(&self, name: &str) -> Option<f64> {
        self.subject.recording.last(name)
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.subject.recording.variable(name)
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.variable(name)?.parse().ok()
    }

    fn add(&mut self, title: &str, evidence: String, action: String, effect: &str) {
        let (title, effect) = (title.to_owned(), effect.to_owned());
        self.found.push(Finding { title, evidence, action, effect });
    }

    fn log(&mut self) {
        let waits = self.rate("Innodb_log_waits");
        if waits > 0.1 {
            let size = self.number("innodb_log_buffer_size").unwrap_or(16_777_216.0);
            self.add(
                "the log buffer is too small",
                format!(
                    "{waits:.1} waits per second for room in a buffer of {:.0} MiB (Innodb_log_waits)",
                    size / 1_048_576.0
                ),
                format!("SET GLOBAL innodb_log_buffer_size = {:.0}", size * 4.0),
                "large transactions write their log without waiting for it to be flushed",
            );
        }
        let names = ["Innodb_checkpoint_age", "monitor.checkpoint_age", "metric.log_lsn_checkpoint_age"];
        let age = match self.subject.known(&names) {
            Some(name) => highest(&self.subject.gauge(name)),
            None => {
                let end = self.last("Innodb_redo_log_current_lsn").unwrap_or(0.0);
                end - self.last("Innodb_redo_log_checkpoint_lsn").unwrap_or(end)
            }
        };
        let own =
            self.number("innodb_redo_log_capacity").map(|capacity| (capacity, "innodb_redo_log_capacity"));
        let old = self.number("innodb_log_file_size").map(|size| {
            (size * self.number("innodb_log_files_in_group").unwrap_or(1.0), "innodb_log_file_size")
        });
        if let Some((capacity, name)) = own.or(old)
            && age > 0.75 * capacity
        {
            self.add(
                "the log is too short for the rate of changes",
                format!(
                    "the checkpoint is {:.0} MiB old, {:.0} % of {name}",
                    age / 1_048_576.0,
                    100.0 * age / capacity
                ),
                format!(
                    "SET GLOBAL {name} = {:.0} (of MySQL before 8.0.30 in its option file)",
                    capacity * 2.0
                ),
                "a page is written once for more of its changes: fewer page writes, and no flushing in haste",
            );
        }
    }

    fn pool(&mut self) {
        let (reads, requests) =
            (self.rate("Innodb_buffer_pool_reads"), self.rate("Innodb_buffer_pool_read_requests"));
        let size = self.number("innodb_buffer_pool_size").unwrap_or(0.0);
        let free = self.last("Innodb_buffer_pool_pages_free").unwrap_or(0.0);
        let total = self.last("Innodb_buffer_pool_pages_total").unwrap_or(1.0);
        let available = self.last("memory.MemAvailable_kb").unwrap_or(0.0) * 1024.0;
        if reads > 100.0 && reads > 0.01 * requests && free < 0.1 * total {
            let room = available > size * 0.5;
            self.add(
                "the buffer pool is too small for what is asked for",
                format!(
                    "{reads:.0} reads per second miss the pool, {:.1} % of all; it has {:.0} MiB and {free:.0} free pages",
                    100.0 * reads / requests.max(1.0),
                    size / 1_048_576.0
                ),
                if room {
                    format!("SET GLOBAL innodb_buffer_pool_size = {:.0}", size + available * 0.5)
                } else {
                    "more memory, or indexes that touch fewer pages: this host has none to spare".into()
                },
                "reads that wait for the disk become reads from memory",
            );
        }
        let waits = self.rate("Innodb_buffer_pool_wait_free");
        if waits > 0.1 {
            self.add(
                "sessions wait for a free page",
                format!("{waits:.1} waits per second (Innodb_buffer_pool_wait_free)"),
                "SET GLOBAL innodb_io_capacity to what `evenkeel device` says the disk writes, and innodb_lru_scan_depth = 2048".into(),
                "pages are cleaned before they are needed, by threads that nobody waits for",
            );
        }
        let dirty = self.last("Innodb_buffer_pool_pages_dirty").unwrap_or(0.0);
        let limit = self.number("innodb_max_dirty_pages_pct").unwrap_or(90.0);
        if total > 1.0 && 100.0 * dirty / total > 0.95 * limit && limit > 1.0 {
            self.add(
                "dirty pages are at their limit",
                format!(
                    "{:.0} % of the pool is dirty; innodb_max_dirty_pages_pct is {limit}",
                    100.0 * dirty / total
                ),
                "SET GLOBAL innodb_io_capacity higher, if the disk has operations to spare".into(),
                "writing keeps up with changes, so that flushing never has to be forced",
            );
        }
    }

    fn device(&mut self) {
        let series = &self.subject.recording.series;
        let disks: Vec<String> = series
            .keys()
            .filter_map(|name| name.strip_prefix("disk.")?.strip_suffix(".busy_ms"))
            .map(str::to_owned)
            .collect();
        for disk in disks {
            let busy = self.rate(&format!("disk.{disk}.busy_ms")) / 10.0;
            let queue = self.rate(&format!("disk.{disk}.queue_ms")) / 1000.0;
            let operations =
                self.rate(&format!("disk.{disk}.reads")) + self.rate(&format!("disk.{disk}.writes"));
            if busy > 90.0 && queue > 8.0 {
                self.add(
                    "the disk is the limit",
                    format!("{disk} is busy {busy:.0} % of the time with {operations:.0} operations per second and {queue:.0} in its queue"),
                    "a faster or a second disk; or fewer operations: a larger pool, a longer log".into(),
                    "with twice the disk, what waits for it takes about half as long",
                );
            }
        }
        let all: f64 = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"]
            .iter()
            .map(|name| self.rate(&format!("cpu.{name}")))
            .sum();
        let steal = 100.0 * self.rate("cpu.steal") / all.max(1e-9);
        if steal > 5.0 {
            self.add(
                "the machine under this one takes processor time away",
                format!("{steal:.1} % of processor time is stolen"),
                "a larger or a dedicated machine".into(),
                "latencies no longer depend on the neighbours",
            );
        }
        let memory = self.rate("psi.memory.full_us") / 1e4;
        if memory > 1.0 {
            self.add(
                "the host is short of memory",
                format!("everything waits for memory {memory:.1} % of the time"),
                "SET GLOBAL innodb_buffer_pool_size lower, or more memory".into(),
                "the kernel stops taking pages from the server that it needs at once",
            );
        }
    }

    fn sessions(&mut self) {
        let queue = self.subject.recording.series.keys().filter(|name| {
            let name = name.to_lowercase();
            name.starts_with("state.") && (name.contains("innodb queue") || name.contains("thread pool"))
        });
        let waiting: f64 = queue.map(|name| mean(&self.subject.gauge(name))).sum();
        let concurrency = self.number("innodb_thread_concurrency").unwrap_or(0.0);
        if waiting > 1.0 && concurrency > 0.0 {
            self.add(
                "statements queue for a place inside the engine",
                format!("{waiting:.0} sessions wait while innodb_thread_concurrency is {concurrency}"),
                "SET GLOBAL innodb_thread_concurrency = 0".into(),
                "they run; watch p99 if there are far more sessions than processors",
            );
        }
        let (most, limit) =
            (self.last("Max_used_connections").unwrap_or(0.0), self.number("max_connections").unwrap_or(0.0));
        if limit > 0.0 && most > 0.85 * limit {
            self.add(
                "connections are near their limit",
                format!("{most:.0} of {limit:.0} were used"),
                format!("SET GLOBAL max_connections = {:.0}, or a pool in the application", limit * 2.0),
                "no client is refused with error 1040",
            );
        }
        let created = self.rate("Threads_created");
        if created > 2.0 {
            self.add(
                "threads are made for connections that come and go",
                format!("{created:.1} threads made per second"),
                format!(
                    "SET GLOBAL thread_cache_size = {:.0}",
                    self.number("thread_cache_size").unwrap_or(8.0).max(8.0) * 4.0
                ),
                "a connection takes a thread that is there",
            );
        }
        let aborted = self.rate("Aborted_connects");
        if aborted > 0.5 {
            self.add(
                "connections fail",
                format!("{aborted:.1} per second do not get through the greeting (Aborted_connects)"),
                "look into the server's error log for the account or the address".into(),
                "clients with a wrong password or a broken health check stop costing time",
            );
        }
    }

    fn locks(&mut self) {
        let waits = self.rate("Innodb_row_lock_waits");
        let waited = self.rate("Innodb_row_lock_time") / waits.max(1e-9);
        if waits > 1.0 && waited > 100.0 {
            self.add(
                "transactions wait long for rows",
                format!("{waits:.1} waits per second, {waited:.0} ms each"),
                "`evenkeel top` shows who waits for whom; shorten the transactions that hold the rows".into(),
                "those who wait go on sooner",
            );
        }
        let deadlocks = self.rate("Innodb_deadlocks").max(self.rate("metric.lock_deadlocks"));
        if deadlocks > 0.5 {
            self.add(
                "transactions lock each other out",
                format!("{deadlocks:.1} deadlocks per second"),
                "let all of them take rows in the same order (SHOW ENGINE INNODB STATUS names the last pair)"
                    .into(),
                "no work is thrown away",
            );
        }
        let oldest = self.last("trx.oldest_seconds").unwrap_or(0.0);
        let names =
            ["Innodb_history_list_length", "metric.trx_rseg_history_len", "monitor.history_list_length"];
        let history = self.subject.known(&names).and_then(|name| self.last(name)).unwrap_or(0.0);
        if oldest > 600.0 {
            self.add(
                "a transaction has been open for long",
                format!("the oldest is {oldest:.0} s old; the history is {history:.0} long"),
                "SELECT trx_mysql_thread_id, trx_started FROM information_schema.innodb_trx ORDER BY trx_started LIMIT 1, then KILL it or end it".into(),
                "old versions of rows can be removed",
            );
        } else if history > 1_000_000.0 {
            self.add(
                "old versions of rows pile up",
                format!("the history is {history:.0} transactions long"),
                "SET GLOBAL innodb_purge_threads higher (a restart in MySQL), and shorter reading transactions".into(),
                "reads pass fewer old versions",
            );
        }
    }

    fn statements(&mut self) {
        let (on_disk, all) = (self.rate("Created_tmp_disk_tables"), self.rate("Created_tmp_tables"));
        if on_disk > 5.0 && on_disk > 0.25 * all {
            self.add(
                "temporary tables go to disk",
                format!("{on_disk:.1} of {all:.1} per second"),
                "SET GLOBAL tmp_table_size and max_heap_table_size (temptable_max_ram in MySQL 8) higher; look at the statements with GROUP BY and DISTINCT".into(),
                "they stay in memory",
            );
        }
        let passes = self.rate("Sort_merge_passes");
        if passes > 5.0 {
            self.add(
                "sorts do not fit their buffer",
                format!("{passes:.1} merge passes per second"),
                format!(
                    "SET GLOBAL sort_buffer_size = {:.0}",
                    self.number("sort_buffer_size").unwrap_or(262_144.0) * 4.0
                ),
                "one pass instead of several",
            );
        }
        let (joins, rows) = (self.rate("Select_full_join"), self.rate("Handler_read_rnd_next"));
        if joins > 1.0 && rows > 100_000.0 {
            self.add(
                "joins without an index",
                format!("{joins:.1} per second, with {rows:.0} rows scanned per second"),
                "find them in performance_schema (sys.statements_with_full_table_scans) or the slow log, and index the joined columns".into(),
                "rows are looked up instead of scanned",
            );
        }
        let opened = self.rate("Opened_tables");
        let (open, cache) =
            (self.last("Open_tables").unwrap_or(0.0), self.number("table_open_cache").unwrap_or(1e9));
        if opened > 5.0 && open >= 0.95 * cache {
            self.add(
                "tables are opened again and again",
                format!("{opened:.1} per second while {open:.0} of {cache:.0} are open"),
                format!("SET GLOBAL table_open_cache = {:.0}", cache * 2.0),
                "statements find their tables open",
            );
        }
        let binlog = self.rate("Binlog_cache_disk_use");
        if binlog > 1.0 && binlog > 0.1 * self.rate("Binlog_cache_use") {
            self.add(
                "transactions outgrow the binlog's cache",
                format!("{binlog:.1} per second go through a file"),
                "SET GLOBAL binlog_cache_size higher".into(),
                "they are written from memory",
            );
        }
        let (hits, inserts) = (self.rate("Qcache_hits"), self.rate("Qcache_inserts"));
        if self.variable("query_cache_type").is_some_and(|kind| kind == "ON")
            && inserts > 10.0
            && hits < 0.1 * inserts
        {
            self.add(
                "the query cache does not pay",
                format!("{hits:.1} hits and {inserts:.1} inserts per second"),
                "SET GLOBAL query_cache_type = OFF".into(),
                "writes no longer invalidate what nobody reads",
            );
        }
    }

    fn settings(&mut self) {
        let changes = self.rate("Innodb_os_log_written") > 1024.0;
        let mut relaxed = Vec::new();
        if self.number("innodb_flush_log_at_trx_commit").is_some_and(|value| value != 1.0) {
            relaxed.push("innodb_flush_log_at_trx_commit");
        }
        if self.variable("innodb_doublewrite").is_some_and(|value| value == "OFF" || value == "DETECT_ONLY") {
            relaxed.push("innodb_doublewrite");
        }
        if self.variable("log_bin").is_some_and(|value| value == "ON")
            && self.number("sync_binlog").is_some_and(|value| value != 1.0)
        {
            relaxed.push("sync_binlog");
        }
        if changes && !relaxed.is_empty() {
            let set: Vec<String> = relaxed
                .iter()
                .map(|name| format!("{name} = {}", self.variable(name).unwrap_or_default()))
                .collect();
            self.add(
                "a crash may lose or damage what was committed",
                set.join(", "),
                "set them to 1 (doublewrite: ON) unless that is wanted".into(),
                "commits survive a power cut; each costs a sync",
            );
        }
    }
}

#[cfg(test)]
mod tests;
