//! The text of `/metrics`: the numbers of SHOW GLOBAL STATUS under the names that mysqld_exporter gives them, so that its
//! dashboards show this server, and the latencies of all statements as a histogram.
use std::fmt::Write;

use instance::Instance;
use telemetry::{BUCKET_COUNT, Histogram, bucket_high_ps};

use crate::status::global_status;

/// Families whose members differ in their last part, which becomes a label: prefix, family, label.
const FAMILIES: &[(&str, &str, &str)] = &[
    ("com_", "mysql_global_status_commands", "command"),
    ("handler_", "mysql_global_status_handlers", "handler"),
    ("innodb_rows_", "mysql_global_status_innodb_row_ops", "operation"),
    ("connection_errors_", "mysql_global_status_connection_errors", "error"),
];
/// One edge for each power of ten is enough for a graph.
const BUCKETS_PER_EDGE: usize = 25;

pub fn text(instance: &Instance) -> String {
    let mut text = String::with_capacity(64 << 10);
    line(&mut text, "# TYPE mysql_up gauge");
    line(&mut text, "mysql_up 1");
    let mut families: Vec<Vec<(String, String)>> = vec![Vec::new(); FAMILIES.len()];
    for (name, value) in global_status(instance) {
        let name = name.to_lowercase();
        let Some(number) = number(&value) else { continue };
        let family = FAMILIES.iter().position(|(prefix, ..)| name.starts_with(prefix));
        match family {
            Some(family) => families[family].push((name, number)),
            None => {
                line(&mut text, &format!("# TYPE mysql_global_status_{name} unknown"));
                line(&mut text, &format!("mysql_global_status_{name} {number}"));
            }
        }
    }
    for ((prefix, family, label), members) in FAMILIES.iter().zip(&families) {
        line(&mut text, &format!("# TYPE {family} counter"));
        for (name, number) in members {
            let member = name.strip_prefix(prefix).unwrap_or(name);
            line(&mut text, &format!("{family}_total{{{label}=\"{member}\"}} {number}"));
        }
    }
    write_latencies(instance, &mut text);
    line(&mut text, "# EOF");
    text
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// What is a number, or one of the words that stand for one.
fn number(value: &str) -> Option<String> {
    match value {
        "ON" => Some("1".to_owned()),
        "OFF" => Some("0".to_owned()),
        value => value.parse::<f64>().ok().filter(|number| number.is_finite()).map(|_| value.to_owned()),
    }
}

fn write_latencies(instance: &Instance, text: &mut String) {
    const NAME: &str = "evenkeel_statement_duration_seconds";
    let mut all = Histogram::default();
    let mut sum_ns = 0;
    for digest in instance.telemetry.digests.all() {
        let figures = digest.figures();
        all.merge(&figures.histogram);
        sum_ns += figures.totals.timings.sum_ns;
    }
    line(text, &format!("# TYPE {NAME} histogram"));
    line(text, &format!("# UNIT {NAME} seconds"));
    let mut count = 0;
    for bucket in 0..BUCKET_COUNT - 1 {
        count += all.count(bucket);
        if bucket.is_multiple_of(BUCKETS_PER_EDGE) {
            let edge = bucket_high_ps(bucket) as f64 / 1e12;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{NAME}_bucket{{le=\"{edge}\"}} {count}");
        }
    }
    let _ = writeln!(text, "{NAME}_bucket{{le=\"+Inf\"}} {}", all.total());
    let _ = writeln!(text, "{NAME}_sum {}", sum_ns as f64 / 1e9);
    let _ = writeln!(text, "{NAME}_count {}", all.total());
}
