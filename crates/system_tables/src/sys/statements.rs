//! Statements by their digest: `statement_analysis` and the selections from it, the slowest first.
use datum::Value;
use instance::Instance;
use telemetry::{DigestEntry, DigestFigures};

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::{optional, short_statement, time, time_text, timestamp};

pub(super) const TABLES: &[Table] = &[
    Table::of("sys", ANALYSIS, |instance, _| analysis(instance, false)),
    Table::of("sys", X_ANALYSIS, |instance, _| analysis(instance, true)),
    Table::of("sys", SCANS, |instance, _| scans(instance, false)),
    Table::of("sys", X_SCANS, |instance, _| scans(instance, true)),
    Table::of("sys", ERRORS, |instance, _| errors(instance, false)),
    Table::of("sys", X_ERRORS, |instance, _| errors(instance, true)),
    Table::of("sys", SORTING, |instance, _| sorting(instance, false)),
    Table::of("sys", X_SORTING, |instance, _| sorting(instance, true)),
    Table::of("sys", TEMPORARY, |instance, _| temporary(instance, false)),
    Table::of("sys", X_TEMPORARY, |instance, _| temporary(instance, true)),
    Table::of("sys", SLOWEST, |instance, _| slowest(instance, false)),
    Table::of("sys", X_SLOWEST, |instance, _| slowest(instance, true)),
];

const SLOWEST: Shape = Shape {
    name: "statements_with_runtimes_in_95th_percentile",
    columns: "query longtext?; db varchar(64)?; full_scan varchar(1); exec_count bigint unsigned; err_count \
        bigint unsigned; warn_count bigint unsigned; total_latency varchar(11)?; max_latency \
        varchar(11)?; avg_latency varchar(11)?; rows_sent bigint unsigned; rows_sent_avg decimal(21,0); \
        rows_examined bigint unsigned; rows_examined_avg decimal(21,0); first_seen timestamp(6); \
        last_seen timestamp(6); digest varchar(64)?",
};
const X_SLOWEST: Shape = Shape {
    name: "x$statements_with_runtimes_in_95th_percentile",
    columns: "query longtext?; db varchar(64)?; full_scan varchar(1); exec_count bigint unsigned; err_count \
        bigint unsigned; warn_count bigint unsigned; total_latency bigint unsigned; max_latency bigint \
        unsigned; avg_latency bigint unsigned; rows_sent bigint unsigned; rows_sent_avg decimal(21,0); \
        rows_examined bigint unsigned; rows_examined_avg decimal(21,0); first_seen timestamp(6); \
        last_seen timestamp(6); digest varchar(64)?",
};
const ANALYSIS: Shape = Shape {
    name: "statement_analysis",
    columns: "query longtext?; db varchar(64)?; full_scan varchar(1); exec_count bigint unsigned; err_count bigint \
        unsigned; warn_count bigint unsigned; total_latency varchar(11)?; max_latency varchar(11)?; avg_latency \
        varchar(11)?; lock_latency varchar(11)?; cpu_latency varchar(11)?; rows_sent bigint unsigned; \
        rows_sent_avg decimal(21,0); rows_examined bigint unsigned; rows_examined_avg decimal(21,0); \
        rows_affected bigint unsigned; rows_affected_avg decimal(21,0); tmp_tables bigint unsigned; \
        tmp_disk_tables bigint unsigned; rows_sorted bigint unsigned; sort_merge_passes bigint unsigned; \
        max_controlled_memory varchar(11)?; max_total_memory varchar(11)?; digest varchar(64)?; first_seen \
        timestamp(6); last_seen timestamp(6)",
};
const X_ANALYSIS: Shape = Shape {
    name: "x$statement_analysis",
    columns: "query longtext?; db varchar(64)?; full_scan varchar(1); exec_count bigint unsigned; exec_secondary_count \
        bigint unsigned; err_count bigint unsigned; warn_count bigint unsigned; total_latency bigint unsigned; \
        max_latency bigint unsigned; avg_latency bigint unsigned; lock_latency bigint unsigned; cpu_latency \
        bigint unsigned; rows_sent bigint unsigned; rows_sent_avg decimal(21,0); rows_examined bigint unsigned; \
        rows_examined_avg decimal(21,0); rows_affected bigint unsigned; rows_affected_avg decimal(21,0); \
        tmp_tables bigint unsigned; tmp_disk_tables bigint unsigned; rows_sorted bigint unsigned; \
        sort_merge_passes bigint unsigned; max_controlled_memory bigint unsigned; max_total_memory bigint \
        unsigned; digest varchar(64)?; first_seen timestamp(6); last_seen timestamp(6)",
};
const SCANS: Shape = Shape {
    name: "statements_with_full_table_scans",
    columns: "query longtext?; db varchar(64)?; exec_count bigint unsigned; total_latency varchar(11)?; \
        no_index_used_count bigint unsigned; no_good_index_used_count bigint unsigned; no_index_used_pct \
        decimal(24,0); rows_sent bigint unsigned; rows_examined bigint unsigned; rows_sent_avg decimal(21,0)?; \
        rows_examined_avg decimal(21,0)?; first_seen timestamp(6); last_seen timestamp(6); digest varchar(64)?",
};
const X_SCANS: Shape = Shape {
    name: "x$statements_with_full_table_scans",
    columns: "query longtext?; db varchar(64)?; exec_count bigint unsigned; total_latency bigint unsigned; \
        no_index_used_count bigint unsigned; no_good_index_used_count bigint unsigned; no_index_used_pct \
        decimal(24,0); rows_sent bigint unsigned; rows_examined bigint unsigned; rows_sent_avg decimal(21,0)?; \
        rows_examined_avg decimal(21,0)?; first_seen timestamp(6); last_seen timestamp(6); digest varchar(64)?",
};
const ERRORS: Shape = Shape {
    name: "statements_with_errors_or_warnings",
    columns: "query longtext?; db varchar(64)?; exec_count bigint unsigned; errors bigint unsigned; error_pct \
        decimal(27,4); warnings bigint unsigned; warning_pct decimal(27,4); first_seen timestamp(6); last_seen \
        timestamp(6); digest varchar(64)?",
};
const X_ERRORS: Shape = Shape {
    name: "x$statements_with_errors_or_warnings",
    columns: "query longtext?; db varchar(64)?; exec_count bigint unsigned; errors bigint unsigned; error_pct \
        decimal(27,4); warnings bigint unsigned; warning_pct decimal(27,4); first_seen timestamp(6); last_seen \
        timestamp(6); digest varchar(64)?",
};
const SORTING: Shape = Shape {
    name: "statements_with_sorting",
    columns: "query longtext?; db varchar(64)?; exec_count bigint unsigned; total_latency varchar(11)?; \
        sort_merge_passes bigint unsigned; avg_sort_merges decimal(21,0); sorts_using_scans bigint unsigned; \
        sort_using_range bigint unsigned; rows_sorted bigint unsigned; avg_rows_sorted decimal(21,0); first_seen \
        timestamp(6); last_seen timestamp(6); digest varchar(64)?",
};
const X_SORTING: Shape = Shape {
    name: "x$statements_with_sorting",
    columns: "query longtext?; db varchar(64)?; exec_count bigint unsigned; total_latency bigint unsigned; \
        sort_merge_passes bigint unsigned; avg_sort_merges decimal(21,0); sorts_using_scans bigint unsigned; \
        sort_using_range bigint unsigned; rows_sorted bigint unsigned; avg_rows_sorted decimal(21,0); first_seen \
        timestamp(6); last_seen timestamp(6); digest varchar(64)?",
};
const TEMPORARY: Shape = Shape {
    name: "statements_with_temp_tables",
    columns: "query longtext?; db varchar(64)?; exec_count bigint unsigned; total_latency varchar(11)?; \
        memory_tmp_tables bigint unsigned; disk_tmp_tables bigint unsigned; avg_tmp_tables_per_query \
        decimal(21,0); tmp_tables_to_disk_pct decimal(24,0); first_seen timestamp(6); last_seen timestamp(6); \
        digest varchar(64)?",
};
const X_TEMPORARY: Shape = Shape {
    name: "x$statements_with_temp_tables",
    columns: "query longtext?; db varchar(64)?; exec_count bigint unsigned; total_latency bigint unsigned; \
        memory_tmp_tables bigint unsigned; disk_tmp_tables bigint unsigned; avg_tmp_tables_per_query \
        decimal(21,0); tmp_tables_to_disk_pct decimal(24,0); first_seen timestamp(6); last_seen timestamp(6); \
        digest varchar(64)?",
};

type Counted = (std::sync::Arc<DigestEntry>, DigestFigures);

/// By the time they took together, the most first.
fn by_latency(instance: &Instance) -> Vec<Counted> {
    let all = instance.telemetry.digests.all().into_iter();
    let mut counted: Vec<Counted> = all
        .map(|digest| {
            let figures = digest.figures();
            (digest, figures)
        })
        .filter(|(_, figures)| figures.totals.timings.count > 0)
        .collect();
    counted.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.totals.timings.sum_ns));
    counted
}

/// How values are shown: as they are, or for people.
#[derive(Clone, Copy)]
struct Style {
    is_raw: bool,
}

impl Style {
    fn time(self, nanoseconds: u64) -> Value {
        if self.is_raw { time(nanoseconds) } else { Value::bytes(time_text(nanoseconds)) }
    }

    fn query(self, digest: &DigestEntry) -> Value {
        match (&digest.text, self.is_raw) {
            (Some(text), false) => Value::bytes(short_statement(text)),
            (text, _) => optional(text.as_deref()),
        }
    }
}

/// Rounded, as text of a DECIMAL.
fn average(sum: u64, count: u64) -> Value {
    decimal(format!("{:.0}", sum as f64 / count.max(1) as f64))
}

fn decimal(text: String) -> Value {
    crate::values::decimal(&text)
}

fn analysis(instance: &Instance, is_raw: bool) -> Rows {
    let style = Style { is_raw };
    let row = |(digest, all): &Counted| {
        let (timings, figures) = (&all.totals.timings, &all.totals.figures);
        let count = timings.count;
        let scans = figures.no_index_used + figures.no_good_index_used > 0;
        let mut row = vec![
            style.query(digest),
            optional(digest.schema.as_deref()),
            Value::bytes(if scans { "*" } else { "" }),
            Value::UInt(count),
        ];
        if is_raw {
            row.push(Value::UInt(0));
        }
        row.extend([
            Value::UInt(figures.errors),
            Value::UInt(figures.warnings),
            style.time(timings.sum_ns),
            style.time(timings.max_ns),
            style.time(timings.average_ns()),
            style.time(figures.lock_time_ns),
            style.time(figures.cpu_time_ns),
            Value::UInt(figures.rows_sent),
            average(figures.rows_sent, count),
            Value::UInt(figures.rows_examined),
            average(figures.rows_examined, count),
            Value::UInt(figures.rows_affected),
            average(figures.rows_affected, count),
            Value::UInt(figures.created_tmp_tables),
            Value::UInt(figures.created_tmp_disk_tables),
            Value::UInt(figures.sort_rows),
            Value::UInt(figures.sort_merge_passes),
        ]);
        let no_memory = || if is_raw { Value::UInt(0) } else { Value::bytes(crate::values::bytes_text(0)) };
        row.extend([no_memory(), no_memory(), optional(digest.digest.as_deref())]);
        row.extend([timestamp(all.first_seen_us), timestamp(all.last_seen_us)]);
        row
    };
    by_latency(instance).iter().map(row).collect()
}

/// The last columns of the selections.
fn ending(digest: &DigestEntry, all: &DigestFigures) -> [Value; 3] {
    [timestamp(all.first_seen_us), timestamp(all.last_seen_us), optional(digest.digest.as_deref())]
}

fn scans(instance: &Instance, is_raw: bool) -> Rows {
    let style = Style { is_raw };
    let mut rows = Rows::new();
    for (digest, all) in by_latency(instance) {
        let (timings, figures) = (&all.totals.timings, &all.totals.figures);
        if figures.no_index_used + figures.no_good_index_used == 0 {
            continue;
        }
        let count = timings.count;
        let mut row = vec![
            style.query(&digest),
            optional(digest.schema.as_deref()),
            Value::UInt(count),
            style.time(timings.sum_ns),
            Value::UInt(figures.no_index_used),
            Value::UInt(figures.no_good_index_used),
            average(figures.no_index_used * 100, count),
            Value::UInt(figures.rows_sent),
            Value::UInt(figures.rows_examined),
            average(figures.rows_sent, count),
            average(figures.rows_examined, count),
        ];
        row.extend(ending(&digest, &all));
        rows.push(row);
    }
    rows
}

fn errors(instance: &Instance, is_raw: bool) -> Rows {
    let style = Style { is_raw };
    let mut rows = Rows::new();
    for (digest, all) in by_latency(instance) {
        let (count, figures) = (all.totals.timings.count, &all.totals.figures);
        if figures.errors + figures.warnings == 0 {
            continue;
        }
        let percent = |number: u64| decimal(format!("{:.4}", number as f64 * 100.0 / count as f64));
        let mut row = vec![
            style.query(&digest),
            optional(digest.schema.as_deref()),
            Value::UInt(count),
            Value::UInt(figures.errors),
            percent(figures.errors),
            Value::UInt(figures.warnings),
            percent(figures.warnings),
        ];
        row.extend(ending(&digest, &all));
        rows.push(row);
    }
    rows
}

fn sorting(instance: &Instance, is_raw: bool) -> Rows {
    let style = Style { is_raw };
    let mut rows = Rows::new();
    for (digest, all) in by_latency(instance) {
        let (timings, figures) = (&all.totals.timings, &all.totals.figures);
        if figures.sort_rows == 0 {
            continue;
        }
        let count = timings.count;
        let mut row = vec![
            style.query(&digest),
            optional(digest.schema.as_deref()),
            Value::UInt(count),
            style.time(timings.sum_ns),
            Value::UInt(figures.sort_merge_passes),
            average(figures.sort_merge_passes, count),
            Value::UInt(figures.sort_scan),
            Value::UInt(figures.sort_range),
            Value::UInt(figures.sort_rows),
            average(figures.sort_rows, count),
        ];
        row.extend(ending(&digest, &all));
        rows.push(row);
    }
    rows
}

fn temporary(instance: &Instance, is_raw: bool) -> Rows {
    let style = Style { is_raw };
    let mut rows = Rows::new();
    for (digest, all) in by_latency(instance) {
        let (timings, figures) = (&all.totals.timings, &all.totals.figures);
        let (memory, disk) = (figures.created_tmp_tables, figures.created_tmp_disk_tables);
        if memory == 0 {
            continue;
        }
        let mut row = vec![
            style.query(&digest),
            optional(digest.schema.as_deref()),
            Value::UInt(timings.count),
            style.time(timings.sum_ns),
            Value::UInt(memory),
            Value::UInt(disk),
            average(memory, timings.count),
            average(disk * 100, memory),
        ];
        row.extend(ending(&digest, &all));
        rows.push(row);
    }
    rows
}

/// Those whose average is among the highest twentieth of all averages.
fn slowest(instance: &Instance, is_raw: bool) -> Rows {
    let style = Style { is_raw };
    let all = by_latency(instance);
    let mut averages: Vec<u64> = all.iter().map(|(_, one)| one.totals.timings.average_ns()).collect();
    averages.sort_unstable();
    let Some(limit) = averages.get((averages.len() * 19).div_ceil(20).saturating_sub(1)).copied() else {
        return Rows::new();
    };
    let mut slow: Vec<_> =
        all.into_iter().filter(|(_, one)| one.totals.timings.average_ns() >= limit).collect();
    slow.sort_by_key(|(_, one)| std::cmp::Reverse(one.totals.timings.average_ns()));
    let row = |(digest, one): Counted| {
        let (timings, figures) = (&one.totals.timings, &one.totals.figures);
        let scans = figures.no_index_used + figures.no_good_index_used > 0;
        let mut row = vec![
            style.query(&digest),
            optional(digest.schema.as_deref()),
            Value::bytes(if scans { "*" } else { "" }),
            Value::UInt(timings.count),
            Value::UInt(figures.errors),
            Value::UInt(figures.warnings),
            style.time(timings.sum_ns),
            style.time(timings.max_ns),
            style.time(timings.average_ns()),
            Value::UInt(figures.rows_sent),
            average(figures.rows_sent, timings.count),
            Value::UInt(figures.rows_examined),
            average(figures.rows_examined, timings.count),
        ];
        row.extend(ending(&digest, &one));
        row
    };
    slow.into_iter().map(row).collect()
}
