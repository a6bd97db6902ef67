//! The text of SHOW ENGINE INNODB STATUS, in the monitor's layout so that the tools which read it find their way.
//!
//! Sections of things that do not exist here (the change buffer, the adaptive hash index, the master thread, spinning)
//! are left out; within a line, numbers of such things are 0. Rates are since the text was made the last time.
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use datum::TimeZone;
use engine::{EngineStats, LockInfo};
use parking_lot::Mutex;

use super::deadlock::{connection_text, deadlock_text, lock_line, transaction_text};
use super::lock_text::{TreeNames, datetime_text, unix_now_us};
use super::transactions::UNNUMBERED;
use instance::Counters;
use instance::Instance;

/// Makes the text and remembers what it said.
#[derive(Default)]
pub struct InnodbReport {
    /// A leaf lock.
    last: Mutex<Option<Sample>>,
}

/// The counters of one moment.
#[derive(Clone, Copy)]
struct Sample {
    at: Instant,
    stats: EngineStats,
    rows: Rows,
}

#[derive(Clone, Copy, Default)]
struct Rows {
    inserted: u64,
    updated: u64,
    deleted: u64,
    read: u64,
}

impl Rows {
    fn of(total: &Counters) -> Rows {
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Relaxed);
        Rows {
            inserted: load(&total.handler_write),
            updated: load(&total.handler_update),
            deleted: load(&total.handler_delete),
            read: load(&total.handler_read_key)
                + load(&total.handler_read_next)
                + load(&total.handler_read_prev)
                + load(&total.handler_read_rnd_next),
        }
    }
}

/// Two moments and the time between them.
struct Span {
    now: Sample,
    before: Sample,
    seconds: f64,
}

impl Span {
    fn rate(&self, number: impl Fn(&EngineStats) -> u64) -> f64 {
        number(&self.now.stats).saturating_sub(number(&self.before.stats)) as f64 / self.seconds
    }

    fn row_rate(&self, number: impl Fn(&Rows) -> u64) -> f64 {
        number(&self.now.rows).saturating_sub(number(&self.before.rows)) as f64 / self.seconds
    }
}

impl InnodbReport {
    pub fn text(&self, instance: &Instance) -> String {
        let span = self.span(instance);
        let at = TimeZone::system().to_local(unix_now_us()).map(datetime_text).unwrap_or_default();
        let ruler = "=====================================";
        let mut text = format!(
            "\n{ruler}\n{at} 0 INNODB MONITOR OUTPUT\n{ruler}\n\
             Per second averages calculated from the last {:.0} seconds\n",
            span.seconds
        );
        if let Some(report) = instance.engine().latest_deadlock() {
            heading(&mut text, "LATEST DETECTED DEADLOCK");
            text.push_str(&deadlock_text(instance, &report));
        }
        heading(&mut text, "TRANSACTIONS");
        transactions(&mut text, instance, &span.now.stats);
        heading(&mut text, "FILE I/O");
        files(&mut text, &span);
        heading(&mut text, "LOG");
        log(&mut text, &span);
        heading(&mut text, "BUFFER POOL AND MEMORY");
        buffer_pool(&mut text, &span);
        heading(&mut text, "ROW OPERATIONS");
        row_operations(&mut text, instance, &span);
        let end = "----------------------------";
        let _ = writeln!(text, "{end}\nEND OF INNODB MONITOR OUTPUT\n{}", "=".repeat(end.len()));
        text
    }

    fn span(&self, instance: &Instance) -> Span {
        let stats = instance.engine().stats();
        let now = Sample { at: Instant::now(), stats, rows: Rows::of(&instance.total_counters()) };
        let before = self.last.lock().replace(now).unwrap_or(Sample {
            at: now.at - instance.uptime(),
            stats: EngineStats::default(),
            rows: Rows::default(),
        });
        let seconds = (now.at - before.at).as_secs_f64().max(1.0);
        Span { now, before, seconds }
    }
}

fn heading(text: &mut String, title: &str) {
    let line = "-".repeat(title.len());
    let _ = writeln!(text, "{line}\n{title}\n{line}");
}

fn transactions(text: &mut String, instance: &Instance, stats: &EngineStats) {
    let _ = writeln!(text, "Trx id counter {}", stats.next_transaction);
    let _ = writeln!(text, "History list length {}", stats.history_length);
    let _ = writeln!(
        text,
        "Old versions: {} bytes in memory, {} in {} runs ({} bytes)",
        stats.history_bytes, stats.version_run_entries, stats.version_runs, stats.version_run_bytes
    );
    text.push_str("LIST OF TRANSACTIONS FOR EACH SESSION:\n");
    let active = instance.engine().active_transactions();
    let mut locks: HashMap<u64, Vec<LockInfo>> = HashMap::new();
    for lock in instance.engine().locks() {
        locks.entry(lock.transaction).or_default().push(lock);
    }
    for entry in instance.processes().all() {
        let label = u64::from(entry.id.0);
        if active.iter().any(|transaction| transaction.label == label) {
            continue;
        }
        let since = entry.in_transaction_since();
        let state = since
            .map_or("not started".to_owned(), |since| format!("ACTIVE {} sec", since.elapsed().as_secs()));
        let _ = writeln!(text, "---TRANSACTION {}, {state}", UNNUMBERED + label);
        text.push_str("0 lock struct(s), heap size 0, 0 row lock(s)\n");
        text.push_str(&connection_text(instance, label).filter(|_| since.is_some()).unwrap_or_default());
    }
    let names = TreeNames::of(instance, locks.values().flatten().filter(|lock| !lock.granted));
    for transaction in active.iter().rev() {
        let own = locks.get(&transaction.id).map_or(&[][..], Vec::as_slice);
        let _ = write!(text, "---{}", transaction_text(transaction, own.len() as u64));
        text.push_str(&connection_text(instance, transaction.label).unwrap_or_default());
        let wanted = own.iter().find(|lock| !lock.granted);
        if let (Some(waiting), Some(wanted)) = (&transaction.waiting, wanted) {
            let _ = writeln!(
                text,
                "------- TRX HAS BEEN WAITING {} SEC FOR THIS LOCK TO BE GRANTED:\n{}------------------",
                waiting.for_us / 1_000_000,
                lock_line(&names, wanted),
            );
        }
    }
}

fn files(text: &mut String, span: &Span) {
    let (data, log) = (&span.now.stats.data_io, &span.now.stats.log_io);
    let reads = span.rate(|stats| stats.data_io.reads + stats.log_io.reads);
    let bytes_read = span.rate(|stats| stats.data_io.bytes_read + stats.log_io.bytes_read);
    let average = if reads > 0.0 { bytes_read / reads } else { 0.0 };
    let _ = writeln!(
        text,
        "Pending normal aio reads: [{}] , aio writes: [{}] ,\nPending flushes (fsync) log: {}; buffer pool: {}\n\
         {} OS file reads, {} OS file writes, {} OS fsyncs\n\
         {reads:.2} reads/s, {average:.0} avg bytes/read, {:.2} writes/s, {:.2} fsyncs/s",
        data.reads_pending + log.reads_pending,
        data.writes_pending + log.writes_pending,
        log.syncs_pending,
        data.syncs_pending,
        data.reads + log.reads,
        data.writes + log.writes,
        data.syncs + log.syncs,
        span.rate(|stats| stats.data_io.writes + stats.log_io.writes),
        span.rate(|stats| stats.data_io.syncs + stats.log_io.syncs),
    );
}

fn log(text: &mut String, span: &Span) {
    let stats = &span.now.stats;
    for (name, number) in [
        ("Log capacity", stats.log_capacity_bytes),
        ("Log capacity used", stats.log_used_bytes),
        ("Log sequence number", stats.log_end_lsn),
        ("Log written up to", stats.log_written_lsn),
        ("Log flushed up to", stats.log_durable_lsn),
        ("Pages flushed up to", stats.pool_oldest_dirty_lsn),
        ("Last checkpoint at", stats.checkpoint_lsn),
        ("Log minimum file id is", stats.log_files.0),
        ("Log maximum file id is", stats.log_files.1),
    ] {
        let _ = writeln!(text, "{name:<28} {number}");
    }
    let _ = writeln!(
        text,
        "{} log i/o's done, {:.2} log i/o's/second",
        stats.log_io.writes,
        span.rate(|stats| stats.log_io.writes)
    );
}

fn buffer_pool(text: &mut String, span: &Span) {
    let stats = &span.now.stats;
    let requests = span.rate(|stats| stats.pool_read_requests);
    let misses = span.rate(|stats| stats.pool_reads);
    for (name, number) in [
        ("Total large memory allocated", stats.pool_pages_total * stats.page_size_bytes),
        ("Buffer pool size  ", stats.pool_pages_total),
        ("Free buffers      ", stats.pool_pages_free()),
        ("Database pages    ", stats.pool_pages_used),
        ("Modified db pages ", stats.pool_pages_dirty),
        ("Pending reads     ", stats.data_io.reads_pending),
    ] {
        let _ = writeln!(text, "{name} {number}");
    }
    let _ = writeln!(
        text,
        "Pending writes: LRU 0, flush list {}, single page 0\nPages read {}, created {}, written {}\n\
         {:.2} reads/s, {:.2} creates/s, {:.2} writes/s",
        stats.data_io.writes_pending,
        stats.pool_reads + stats.pool_pages_prefetched,
        stats.pool_pages_created,
        stats.pool_pages_written,
        span.rate(|stats| stats.pool_reads + stats.pool_pages_prefetched),
        span.rate(|stats| stats.pool_pages_created),
        span.rate(|stats| stats.pool_pages_written),
    );
    if requests > 0.0 {
        let hits = (1.0 - misses / requests).max(0.0) * 1000.0;
        let _ = writeln!(text, "Buffer pool hit rate {hits:.0} / 1000");
    } else {
        text.push_str("No buffer pool page gets since the last printout\n");
    }
    let _ = writeln!(text, "Pages read ahead {:.2}/s", span.rate(|stats| stats.pool_pages_prefetched));
}

fn row_operations(text: &mut String, instance: &Instance, span: &Span) {
    let running = instance.processes().all().iter().filter(|entry| entry.is_running()).count();
    let rows = &span.now.rows;
    let _ = writeln!(
        text,
        "{running} queries inside InnoDB, 0 queries in queue\n{} read views open inside InnoDB\n\
         Process ID={}\n\
         Number of rows inserted {}, updated {}, deleted {}, read {}\n\
         {:.2} inserts/s, {:.2} updates/s, {:.2} deletes/s, {:.2} reads/s",
        span.now.stats.active_snapshots,
        std::process::id(),
        rows.inserted,
        rows.updated,
        rows.deleted,
        rows.read,
        span.row_rate(|rows| rows.inserted),
        span.row_rate(|rows| rows.updated),
        span.row_rate(|rows| rows.deleted),
        span.row_rate(|rows| rows.read),
    );
}
