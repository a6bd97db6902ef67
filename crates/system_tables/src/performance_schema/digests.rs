//! Statements by their digest: `events_statements_summary_by_digest` and the histograms.
use catalog::Viewer;
use datum::Value;
use instance::Instance;
use telemetry::{BUCKET_COUNT, DigestEntry, DigestFigures, Histogram, bucket_high_ps, bucket_low_ps};

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::{optional, time, timestamp, timings};

pub(super) const TABLES: &[Table] = &[
    Table::summary(BY_DIGEST, by_digest, forget),
    Table::summary(HISTOGRAM_BY_DIGEST, histogram_by_digest, |instance| {
        instance.telemetry.digests.clear_histograms();
    }),
    Table::summary(HISTOGRAM_GLOBAL, histogram_global, |instance| {
        instance.telemetry.digests.clear_histograms();
    }),
];

const BY_DIGEST: Shape = Shape {
    name: "events_statements_summary_by_digest",
    columns: "SCHEMA_NAME varchar(64)?; DIGEST varchar(64)?; DIGEST_TEXT longtext?; COUNT_STAR bigint unsigned; \
        SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; \
        MAX_TIMER_WAIT bigint unsigned; SUM_LOCK_TIME bigint unsigned; SUM_ERRORS bigint unsigned; SUM_WARNINGS \
        bigint unsigned; SUM_ROWS_AFFECTED bigint unsigned; SUM_ROWS_SENT bigint unsigned; SUM_ROWS_EXAMINED \
        bigint unsigned; SUM_CREATED_TMP_DISK_TABLES bigint unsigned; SUM_CREATED_TMP_TABLES bigint unsigned; \
        SUM_SELECT_FULL_JOIN bigint unsigned; SUM_SELECT_FULL_RANGE_JOIN bigint unsigned; SUM_SELECT_RANGE \
        bigint unsigned; SUM_SELECT_RANGE_CHECK bigint unsigned; SUM_SELECT_SCAN bigint unsigned; \
        SUM_SORT_MERGE_PASSES bigint unsigned; SUM_SORT_RANGE bigint unsigned; SUM_SORT_ROWS bigint unsigned; \
        SUM_SORT_SCAN bigint unsigned; SUM_NO_INDEX_USED bigint unsigned; SUM_NO_GOOD_INDEX_USED bigint \
        unsigned; SUM_CPU_TIME bigint unsigned; MAX_CONTROLLED_MEMORY bigint unsigned; MAX_TOTAL_MEMORY bigint \
        unsigned; COUNT_SECONDARY bigint unsigned; FIRST_SEEN timestamp(6); LAST_SEEN timestamp(6); QUANTILE_95 \
        bigint unsigned; QUANTILE_99 bigint unsigned; QUANTILE_999 bigint unsigned; QUERY_SAMPLE_TEXT longtext?; \
        QUERY_SAMPLE_SEEN timestamp(6); QUERY_SAMPLE_TIMER_WAIT bigint unsigned",
};
const HISTOGRAM_BY_DIGEST: Shape = Shape {
    name: "events_statements_histogram_by_digest",
    columns: "SCHEMA_NAME varchar(64)?; DIGEST varchar(64)?; BUCKET_NUMBER int unsigned; BUCKET_TIMER_LOW bigint \
        unsigned; BUCKET_TIMER_HIGH bigint unsigned; COUNT_BUCKET bigint unsigned; COUNT_BUCKET_AND_LOWER bigint \
        unsigned; BUCKET_QUANTILE double",
};
const HISTOGRAM_GLOBAL: Shape = Shape {
    name: "events_statements_histogram_global",
    columns: "BUCKET_NUMBER int unsigned; BUCKET_TIMER_LOW bigint unsigned; BUCKET_TIMER_HIGH bigint unsigned; \
        COUNT_BUCKET bigint unsigned; COUNT_BUCKET_AND_LOWER bigint unsigned; BUCKET_QUANTILE double",
};

/// Kept plans know their digests, so they go too.
fn forget(instance: &Instance) {
    instance.telemetry.digests.clear();
    instance.plan_cache.clear();
}

/// Every digest that has counted something.
fn counted(instance: &Instance) -> Vec<(std::sync::Arc<DigestEntry>, DigestFigures)> {
    let all = instance.telemetry.digests.all().into_iter();
    let with_figures = all.map(|digest| {
        let figures = digest.figures();
        (digest, figures)
    });
    with_figures.filter(|(_, figures)| figures.totals.timings.count > 0).collect()
}

fn by_digest(instance: &Instance, _: &Viewer) -> Rows {
    counted(instance).iter().map(|(digest, figures)| row(digest, figures)).collect()
}

fn row(digest: &DigestEntry, figures: &DigestFigures) -> Vec<Value> {
    let totals = &figures.totals;
    let mut row = vec![
        optional(digest.schema.as_deref()),
        optional(digest.digest.as_deref()),
        optional(digest.text.as_deref()),
    ];
    row.extend(timings(&totals.timings));
    row.push(time(totals.figures.lock_time_ns));
    row.extend(totals.figures.counts().map(Value::UInt));
    row.push(time(totals.figures.cpu_time_ns));
    // Memory is not measured by statement; no engine is secondary.
    row.extend(crate::values::zeros(3));
    row.push(timestamp(figures.first_seen_us));
    row.push(timestamp(figures.last_seen_us));
    row.extend([0.95, 0.99, 0.999].map(|part| Value::UInt(figures.histogram.quantile_ps(part))));
    row.push(Value::bytes(String::from_utf8_lossy(&figures.sample.text).as_ref()));
    row.push(timestamp(figures.sample.seen_us));
    row.push(time(figures.sample.elapsed_ns));
    row
}

/// Bucket, its limits, what is in it, what is in it and those before, and which part that is.
fn buckets(histogram: &Histogram) -> impl Iterator<Item = Vec<Value>> + use<> {
    let total = histogram.total();
    let counts: Vec<u64> = (0..BUCKET_COUNT).map(|bucket| histogram.count(bucket)).collect();
    let mut before = 0;
    counts.into_iter().enumerate().map(move |(bucket, count)| {
        before += count;
        let part = if total == 0 { 0.0 } else { before as f64 / total as f64 };
        vec![
            Value::UInt(bucket as u64),
            Value::UInt(bucket_low_ps(bucket)),
            Value::UInt(bucket_high_ps(bucket)),
            Value::UInt(count),
            Value::UInt(before),
            Value::Double((part * 1e6).round() / 1e6),
        ]
    })
}

fn histogram_by_digest(instance: &Instance, _: &Viewer) -> Rows {
    let rows = counted(instance).into_iter().flat_map(|(digest, figures)| {
        let names = [optional(digest.schema.as_deref()), optional(digest.digest.as_deref())];
        buckets(&figures.histogram).map(move |bucket| names.iter().cloned().chain(bucket).collect())
    });
    rows.collect()
}

fn histogram_global(instance: &Instance, _: &Viewer) -> Rows {
    let mut all = Histogram::default();
    counted(instance).iter().for_each(|(_, figures)| all.merge(&figures.histogram));
    buckets(&all).collect()
}
