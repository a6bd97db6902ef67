//! What a copy tells while it goes on.
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(2);
const MEGABYTE: u64 = 1 << 20;

/// How far a copy is; sizes are the source's own estimates.
pub(super) struct Progress<'a> {
    teller: &'a dyn Fn(&str),
    begun: Instant,
    told: Instant,
    tables: usize,
    tables_done: usize,
    bytes: u64,
    bytes_done: u64,
}

impl<'a> Progress<'a> {
    pub fn new(teller: &'a dyn Fn(&str)) -> Progress<'a> {
        let now = Instant::now();
        Progress { teller, begun: now, told: now, tables: 0, tables_done: 0, bytes: 0, bytes_done: 0 }
    }

    pub fn expect(&mut self, tables: usize, bytes: u64) {
        (self.tables, self.bytes) = (tables, bytes);
    }

    pub fn tell(&self, message: &str) {
        (self.teller)(&format!("copy: {message}"));
    }

    /// So much of the table is here.
    pub fn advance(&mut self, of_table: u64, table: &str) {
        if self.told.elapsed() < INTERVAL {
            return;
        }
        self.told = Instant::now();
        let done = self.bytes_done + of_table;
        let share = (done * 100).checked_div(self.bytes).unwrap_or(0).min(100);
        let rate = done / MEGABYTE * 1000 / (self.begun.elapsed().as_millis() as u64).max(1);
        self.tell(&format!(
            "{share} % ({} of about {} MB, {rate} MB/s), {} of {} tables, now {table}",
            done / MEGABYTE,
            self.bytes / MEGABYTE,
            self.tables_done,
            self.tables
        ));
    }

    pub fn finish_table(&mut self, bytes: u64) {
        self.tables_done += 1;
        self.bytes_done += bytes;
    }

    pub fn end(&self, what: &str) {
        self.tell(&format!(
            "{} tables in {:.1} s; {what}",
            self.tables_done,
            self.begun.elapsed().as_secs_f64()
        ));
    }
}
