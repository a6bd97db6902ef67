//! How a statement ended, as its logs and profile tell.

use datum::SqlError;
use env::TaskWaits;
use instance::Counters;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use telemetry::StatementFigures;

/// A statement that has ended.
pub struct Ended<'a> {
    pub name: &'static str,
    pub text: &'a [u8],
    pub elapsed_ns: u64,
    pub ended_ns: u64,
    pub figures: StatementFigures,
    pub marks: Marks,
    pub waits: TaskWaits,
    pub error: Option<&'a SqlError>,
    pub reads_without_index: bool,
}

/// The session's counters at one moment.
#[derive(Clone, Copy, Default)]
pub struct Marks([u64; 17]);

impl Marks {
    pub fn of(counters: &Counters) -> Marks {
        let load = |counter: &AtomicU64| counter.load(Relaxed);
        Marks([
            load(&counters.created_tmp_tables),
            load(&counters.select_full_join),
            load(&counters.select_full_range_join),
            load(&counters.select_range),
            load(&counters.select_scan),
            load(&counters.sort_range),
            load(&counters.sort_rows),
            load(&counters.sort_scan),
            load(&counters.rows_examined),
            load(&counters.handler_read_first),
            load(&counters.handler_read_last),
            load(&counters.handler_read_key),
            load(&counters.handler_read_next),
            load(&counters.handler_read_prev),
            load(&counters.handler_read_rnd_next),
            load(&counters.sort_merge_passes),
            load(&counters.created_tmp_disk_tables),
        ])
    }

    pub fn since(&self, before: &Marks) -> Marks {
        let mut differences = self.0;
        differences.iter_mut().zip(before.0).for_each(|(now, before)| *now = now.wrapping_sub(before));
        Marks(differences)
    }

    pub fn figures(&self) -> StatementFigures {
        let at = &self.0;
        StatementFigures {
            created_tmp_tables: at[0],
            select_full_join: at[1],
            select_full_range_join: at[2],
            select_range: at[3],
            select_scan: at[4],
            sort_range: at[5],
            sort_rows: at[6],
            sort_scan: at[7],
            rows_examined: at[8],
            sort_merge_passes: at[15],
            created_tmp_disk_tables: at[16],
            ..StatementFigures::default()
        }
    }

    /// As `log_slow_extra` names them.
    pub fn named(&self) -> Vec<(&'static str, u64)> {
        let at = &self.0;
        vec![
            ("Read_first", at[9]),
            ("Read_last", at[10]),
            ("Read_key", at[11]),
            ("Read_next", at[12]),
            ("Read_prev", at[13]),
            ("Read_rnd", 0),
            ("Read_rnd_next", at[14]),
            ("Sort_merge_passes", at[15]),
            ("Sort_range_count", at[5]),
            ("Sort_rows", at[6]),
            ("Sort_scan_count", at[7]),
            ("Created_tmp_disk_tables", at[16]),
            ("Created_tmp_tables", at[0]),
            ("Count_hit_tmp_table_size", 0),
        ]
    }
}
