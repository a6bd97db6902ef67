//! `evenkeel bench sweep`: the same workload with ever more connections, as one table.
//!
//! Invariant: each level is a run of its own with the same seed. Device operations are counted by the kernel for the
//! whole host, so they are right when nothing else uses the disk.

use std::path::PathBuf;

use bench::{Event, Result, Stop, run};
use clap::Args;
use serde_json::json;

use crate::arguments::{DriveArguments, WorkloadArguments, default_database, dsn};
use crate::lines::Lines;
use crate::output::{ms, say};

#[derive(Args)]
pub struct Sweep {
    #[command(flatten)]
    workload: WorkloadArguments,
    #[command(flatten)]
    drive: DriveArguments,
    /// The server: mysql://user:password@host:port/database.
    #[arg(long)]
    dsn: String,
    /// Connections: a list as 8,64,512, or FIRST..LAST, doubled each time.
    #[arg(long, default_value = "8..1024")]
    levels: String,
    /// Write JSON lines here, a summary for each level.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

struct Level {
    connections: usize,
    rate: f64,
    qps: f64,
    p95: u64,
    p99: u64,
    operations: Option<u64>,
    queries: u64,
    trouble: u64,
}

impl Sweep {
    pub fn run(&self) -> Result<bool> {
        let levels = levels(&self.levels)?;
        let dsn = dsn(&self.dsn, default_database(&self.workload.workload))?;
        let workload = self.workload.workload()?;
        let mut lines = Lines::to(self.out.as_deref())?;
        let stop = Stop::default();
        crate::bench_command::listen(&stop);
        let mut measured: Vec<Level> = Vec::new();
        for connections in levels {
            if stop.is_wanted() {
                break;
            }
            eprintln!("{connections} connections, {} s", self.drive.time);
            let plan = self.drive.plan(&dsn, connections, &self.workload)?;
            let before = dsn.is_local().then(recording::host_operations).flatten();
            // A level that ends by its time must not end the next one; Ctrl-C ends all.
            let level_stop = Stop::default();
            let result = run(&plan, &*workload, &level_stop, &mut |event| {
                if stop.is_wanted() && matches!(event, Event::Second(_)) {
                    level_stop.now();
                }
            })?;
            let after = dsn.is_local().then(recording::host_operations).flatten();
            let mut line = result.summary.json();
            line["connections"] = json!(connections);
            lines.put(&line);
            if let Some(failure) = result.failure {
                return Err(failure);
            }
            let summary = &result.summary;
            measured.push(Level {
                connections,
                rate: summary.rate(),
                qps: summary.queries as f64 / summary.seconds.max(1e-9),
                p95: summary.p95,
                p99: summary.p99,
                operations: before.zip(after).map(|(before, after)| after.saturating_sub(before)),
                queries: summary.queries,
                trouble: summary.conflicts + summary.errors,
            });
        }
        print_table(&self.workload.shown(), &measured);
        lines.end()?;
        Ok(!stop.is_wanted())
    }
}

fn print_table(name: &str, levels: &[Level]) {
    let peak = levels.iter().map(|level| level.rate).fold(0.0, f64::max);
    say!("\n{name}");
    say!(
        "{:>11} {:>11} {:>8} {:>11} {:>9} {:>9} {:>12} {:>9}",
        "connections",
        "TPS",
        "of peak",
        "QPS",
        "p95 ms",
        "p99 ms",
        "QPS/dev.op",
        "conflicts"
    );
    for level in levels {
        let per_operation = match level.operations {
            Some(operations) if operations > 0 => format!("{:.2}", level.queries as f64 / operations as f64),
            _ => "-".into(),
        };
        say!(
            "{:>11} {:>11.1} {:>8.3} {:>11.1} {:>9} {:>9} {:>12} {:>9}",
            level.connections,
            level.rate,
            level.rate / peak.max(1e-9),
            level.qps,
            ms(level.p95),
            ms(level.p99),
            per_operation,
            level.trouble
        );
    }
}

/// The numbers of connections that a text names.
fn levels(text: &str) -> Result<Vec<usize>> {
    let refuse = || format!("--levels {text}: write 8,64,512 or 8..1024");
    let number = |text: &str| match text.trim().parse::<usize>() {
        Ok(number) if (1..=100_000).contains(&number) => Ok(number),
        _ => Err(refuse()),
    };
    let Some((first, last)) = text.split_once("..") else {
        return text.split(',').map(number).collect();
    };
    let (first, last) = (number(first)?, number(last)?);
    let mut levels: Vec<usize> = std::iter::successors(Some(first), |level| level.checked_mul(2))
        .take_while(|level| *level < last)
        .collect();
    levels.push(last);
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_double_or_are_listed() {
        assert_eq!(levels("8..64"), Ok(vec![8, 16, 32, 64]));
        assert_eq!(levels("8..50"), Ok(vec![8, 16, 32, 50]));
        assert_eq!(levels("4, 9"), Ok(vec![4, 9]));
        assert!(levels("0..8").is_err());
        assert!(levels("few").is_err());
    }
}
