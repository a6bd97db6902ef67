//! One record of the slow log, in the form that MySQL and Percona Server write and pt-query-digest reads.
use std::fmt::Write;

use telemetry::StatementFigures;

use super::moment::timestamp_text;
use super::rows::SlowRow;
use env::{TaskWaits, WaitCause};

pub struct SlowRecord<'a> {
    /// When the statement ended.
    pub unix_us: i64,
    pub thread: u64,
    /// `user[user] @ host [address]`
    pub user_host: &'a str,
    pub query_us: u64,
    pub figures: &'a StatementFigures,
    /// The current database.
    pub database: Option<&'a str>,
    /// The session's last record was of another database.
    pub names_database: bool,
    /// The session's clock in seconds: `SET timestamp`.
    pub clock_s: i64,
    pub last_insert_id: u64,
    pub text: &'a [u8],
    pub extra: Option<SlowExtra<'a>>,
    /// `log_slow_verbosity = full`.
    pub waits: Option<&'a TaskWaits>,
    /// Which part of all statements is written, when it is not all.
    pub rate: Option<(u64, bool)>,
}

/// What `log_slow_extra` adds.
pub struct SlowExtra<'a> {
    pub errno: u16,
    pub killed: u16,
    pub bytes_received: u64,
    pub bytes_sent: u64,
    /// By name, in MySQL's order.
    pub counters: &'a [(&'static str, u64)],
}

impl SlowRecord<'_> {
    pub fn text(&self) -> Vec<u8> {
        let mut head = String::with_capacity(256 + self.text.len());
        let figures = self.figures;
        // Writing to a string cannot fail.
        let _ = writeln!(head, "# Time: {}", timestamp_text(self.unix_us));
        let _ = writeln!(head, "# User@Host: {}  Id: {:5}", self.user_host, self.thread);
        let _ = write!(
            head,
            "# Query_time: {}  Lock_time: {} Rows_sent: {}  Rows_examined: {}",
            seconds(self.query_us),
            seconds(figures.lock_time_ns / 1000),
            figures.rows_sent,
            figures.rows_examined
        );
        self.write_extra(&mut head);
        head.push('\n');
        self.write_full(&mut head);
        if let (Some(database), true) = (self.database, self.names_database) {
            let _ = writeln!(head, "use {database};");
        }
        let _ = writeln!(head, "SET timestamp={};", self.clock_s);
        let mut text = head.into_bytes();
        text.extend_from_slice(self.text);
        text.extend_from_slice(b";\n");
        text
    }

    fn write_extra(&self, head: &mut String) {
        let Some(extra) = &self.extra else { return };
        let _ = write!(
            head,
            " Thread_id: {} Errno: {} Killed: {} Bytes_received: {} Bytes_sent: {}",
            self.thread, extra.errno, extra.killed, extra.bytes_received, extra.bytes_sent
        );
        for (name, number) in extra.counters {
            let _ = write!(head, " {name}: {number}");
        }
        let began = timestamp_text(self.unix_us - self.query_us as i64);
        let _ = write!(head, "  Start: {began} End: {}", timestamp_text(self.unix_us));
    }

    /// Percona Server's lines, with the waits that this server measures.
    fn write_full(&self, head: &mut String) {
        let figures = self.figures;
        if let Some(waits) = self.waits {
            let yes_no = |number: u64| if number > 0 { "Yes" } else { "No" };
            let _ = writeln!(
                head,
                "# Rows_affected: {}  Tmp_tables: {}  Tmp_disk_tables: {}",
                figures.rows_affected, figures.created_tmp_tables, figures.created_tmp_disk_tables
            );
            let _ = writeln!(
                head,
                "# Full_scan: {}  Full_join: {}  Tmp_table: {}  Tmp_table_on_disk: {}  Filesort: {}  \
                 Filesort_on_disk: {}  Merge_passes: {}",
                yes_no(figures.select_scan),
                yes_no(figures.select_full_join),
                yes_no(figures.created_tmp_tables),
                yes_no(figures.created_tmp_disk_tables),
                yes_no(figures.sort_scan + figures.sort_range),
                yes_no(figures.sort_merge_passes),
                figures.sort_merge_passes
            );
            let _ = writeln!(
                head,
                "#   InnoDB_IO_r_ops: {}  InnoDB_IO_r_wait: {}  InnoDB_rec_lock_wait: {}  InnoDB_queue_wait: {}",
                waits.count(WaitCause::PageRead),
                seconds(waits.time_us(WaitCause::PageRead)),
                seconds(waits.time_us(WaitCause::RowLock)),
                seconds(waits.time_us(WaitCause::FreeFrame)),
            );
            let _ = writeln!(
                head,
                "#   Log_flush_wait: {}  Log_space_wait: {}  Metadata_lock_wait: {}",
                seconds(waits.time_us(WaitCause::LogFlush)),
                seconds(waits.time_us(WaitCause::LogSpace)),
                seconds(waits.time_us(WaitCause::MetadataLock)),
            );
        }
        if let Some((rate, by_session)) = self.rate {
            let kind = if by_session { "session" } else { "query" };
            let _ = writeln!(head, "# Log_slow_rate_type: {kind}  Log_slow_rate_limit: {rate}");
        }
    }

    pub fn row(&self) -> SlowRow {
        SlowRow {
            unix_us: self.unix_us,
            user_host: self.user_host.to_owned(),
            query_us: self.query_us,
            lock_us: self.figures.lock_time_ns / 1000,
            rows_sent: self.figures.rows_sent,
            rows_examined: self.figures.rows_examined,
            database: self.database.unwrap_or_default().to_owned(),
            last_insert_id: self.last_insert_id,
            text: self.text.to_vec(),
            thread: self.thread,
        }
    }
}

fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_mysqls_form() {
        let figures =
            StatementFigures { rows_sent: 1, rows_examined: 2, lock_time_ns: 3000, ..Default::default() };
        let record = SlowRecord {
            unix_us: 1_795_807_212_269_230,
            thread: 112,
            user_host: "root[root] @  [127.0.0.1]",
            query_us: 276,
            figures: &figures,
            database: Some("test"),
            names_database: true,
            clock_s: 1_795_807_212,
            last_insert_id: 0,
            text: b"select * from t where b=2",
            extra: None,
            waits: None,
            rate: None,
        };
        let expected = "# Time: 2026-11-27T19:20:12.269230Z\n# User@Host: root[root] @  [127.0.0.1]  Id:   112\n\
                        # Query_time: 0.000276  Lock_time: 0.000003 Rows_sent: 1  Rows_examined: 2\nuse test;\n\
                        SET timestamp=1795807212;\nselect * from t where b=2;\n";
        assert_eq!(String::from_utf8_lossy(&record.text()), expected);
    }
}
