//! `evenkeel bench sweep`: the same workload with ever more connections, on one server or several, as tables, a page
//! and a picture.
//!
//! Invariant: each level is a run of its own with the same seed. Device operations are those of the server's control
//! group; where it has none of its own they are the whole host's, which is said.

use std::path::PathBuf;

use bench::{Result, Stop};
use clap::Args;
use recording::{Host, Limit};
use report::{Chart, Page, Subject, Table};
use serde_json::json;
use workload::Workload;

use crate::arguments::{DriveArguments, WorkloadArguments, default_database};
use crate::lines::Lines;
use crate::output::{ms, say};
use crate::report_command::write;
use crate::side::Side;

#[derive(Args)]
pub struct Sweep {
    #[command(flatten)]
    workload: WorkloadArguments,
    #[command(flatten)]
    drive: DriveArguments,
    /// The server: mysql://user:password@host:port/database.
    #[arg(long, required_unless_present = "servers")]
    dsn: Option<String>,
    /// Several servers instead, one after the other.
    #[arg(value_name = "NAME=DSN", conflicts_with = "dsn")]
    servers: Vec<String>,
    /// Connections: a list as 8,64,512, or FIRST..LAST, doubled each time.
    #[arg(long, default_value = "8..1024")]
    levels: String,
    /// Load the same data into each server first.
    #[arg(long)]
    load: bool,
    /// All levels once for each of these limits of reads, and as many writes, per second for the server's control group;
    /// 0 is none. Needs root.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    iops: Vec<u64>,
    /// Write JSON lines here, a summary for each level.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write a page with tables, graphs by level, and graphs over time.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Write a picture of the graphs by level.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Graphs over time below those by level in the picture, as throughput,latency:p95,checkpoint.
    #[arg(long, value_name = "LIST", default_value = "")]
    only: String,
}

/// One level of one server under one limit.
struct Level {
    side: usize,
    limit: u64,
    connections: usize,
    rate: f64,
    qps: f64,
    p95: u64,
    p99: u64,
    operations: Option<Operations>,
    trouble: u64,
}

/// What the disks did meanwhile.
#[derive(Clone, Copy)]
struct Operations {
    /// Statements for each, if there were any.
    each: Option<f64>,
    per_second: f64,
    /// Whether others of the host did some of them.
    is_whole_host: bool,
}

impl Sweep {
    pub fn run(&self) -> Result<bool> {
        let levels = levels(&self.levels)?;
        let names = if self.servers.is_empty() {
            self.dsn.iter().collect()
        } else {
            self.servers.iter().collect::<Vec<_>>()
        };
        let database = default_database(&self.workload.workload);
        let mut sides =
            names.into_iter().map(|name| Side::of(name, database)).collect::<Result<Vec<Side>>>()?;
        let workload = self.workload.workload()?;
        let mut lines = Lines::to(self.out.as_deref())?;
        let stop = Stop::default();
        crate::listen::listen(&stop);
        if self.load {
            for side in &sides {
                crate::bench_command::load_with_bar(&side.dsn, 4, &*workload, &stop)?;
            }
        }
        let limits = if self.iops.is_empty() { vec![0] } else { self.iops.clone() };
        let mut measured: Vec<Level> = Vec::new();
        let mut is_good = true;
        for limit in &limits {
            for (number, side) in sides.iter_mut().enumerate() {
                let host = side.host();
                let _limit = if *limit > 0 { Some(Limit::set(&host, *limit)?) } else { None };
                for connections in &levels {
                    if stop.is_wanted() {
                        break;
                    }
                    let place = format!("{}{}, {connections} connections", side.name, limit_text(*limit));
                    eprintln!("{place}, {} s", self.drive.time);
                    let under = (number, *limit, *connections);
                    match self.level(side, &host, &*workload, &stop, under, &mut lines) {
                        Ok(level) => measured.push(level),
                        // What was measured before counts; higher levels would fail as this one did.
                        Err(why) => {
                            crate::advice::tell(&format!("{connections} connections: {why}"));
                            is_good = false;
                            break;
                        }
                    }
                }
            }
        }
        let tables = tables(&sides, &limits, &measured);
        say!("\n{}", self.workload.shown());
        tables.iter().for_each(print_table);
        is_good &= self.draw(&sides, &limits, &levels, &measured, &tables)?;
        lines.end()?;
        Ok(is_good && !stop.is_wanted())
    }

    /// Runs one level; `under` is the number of the side, the limit, and the connections.
    fn level(
        &self,
        side: &mut Side,
        host: &Host,
        workload: &dyn Workload,
        stop: &Stop,
        under: (usize, u64, usize),
        lines: &mut Lines,
    ) -> Result<Level> {
        let (number, limit, connections) = under;
        let plan = self.drive.plan(&side.dsn, connections, &self.workload)?;
        // The measured part begins when the last second of the warm-up ends, and ends with its own last one: what is
        // under way then is waited for, and not counted.
        let (mut before, mut after) = (host.operations(), None);
        let (run, recorded) = side.turn(&plan, workload, stop, &mut |second| {
            let now = host.operations();
            if second.t < 0 {
                before = now;
            } else {
                after = now;
            }
        })?;
        let summary = &run.summary;
        let operations = before.zip(after).map(|((before, is_whole_host), (after, _))| {
            let count = after.saturating_sub(before) as f64;
            Operations {
                each: (count > 0.0).then(|| summary.queries as f64 / count),
                per_second: count / summary.seconds.max(1e-9),
                is_whole_host,
            }
        });
        let mut line = summary.json();
        line["server"] = json!(side.name);
        line["connections"] = json!(connections);
        line["iops_limit"] = json!(limit);
        line["device_operations_per_second"] = json!(operations.map(|operations| operations.per_second));
        lines.put(&line);
        let part = if limit > 0 { format!("{connections} @{limit}") } else { connections.to_string() };
        side.take(&run, &recorded, part);
        Ok(Level {
            side: number,
            limit,
            connections,
            rate: summary.rate(),
            qps: summary.queries as f64 / summary.seconds.max(1e-9),
            p95: summary.p95,
            p99: summary.p99,
            operations,
            trouble: summary.conflicts + summary.errors,
        })
    }

    /// Writes page and picture; false if the picture has not the graphs that were asked for.
    fn draw(
        &self,
        sides: &[Side],
        limits: &[u64],
        levels: &[usize],
        measured: &[Level],
        tables: &[Table],
    ) -> Result<bool> {
        if self.page.is_none() && self.svg.is_none() {
            return Ok(true);
        }
        let charts = charts(sides, limits, levels, measured);
        let subjects: Vec<Subject> =
            sides.iter().map(|side| Subject::new(&side.name, side.recording.clone())).collect();
        if let Some(path) = &self.page {
            let title = format!("{} by connections", self.workload.shown());
            write(
                path,
                &report::html(&Page { title: &title, verdict: None, charts: &charts, tables }, &subjects),
            )?;
            say!("{}", path.display());
        }
        if let Some(path) = &self.svg {
            // Two levels are no curve.
            let charts = if levels.len() > 2 { &charts[..] } else { &[] };
            let all = report::panels(&subjects);
            let (panels, trouble) = match report::chosen(all.clone(), &self.only) {
                Ok(panels) => (panels, None),
                // The measurement took too long to lose its picture to a slip of the pen.
                Err(why) => (all, Some(why)),
            };
            write(path, &report::svg(charts, &panels, &subjects))?;
            say!("{}", path.display());
            if let Some(why) = trouble {
                crate::advice::tell(&format!("--only {}: {why}; the picture has all graphs", self.only));
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn limit_text(limit: u64) -> String {
    if limit > 0 { format!(" at {} operations/s", crate::output::grouped(limit)) } else { String::new() }
}

/// A table for each server and limit.
fn tables(sides: &[Side], limits: &[u64], measured: &[Level]) -> Vec<Table> {
    let mut operations = measured.iter().filter_map(|level| level.operations);
    let is_whole_host = operations.any(|operations| operations.is_whole_host);
    let whose = if is_whole_host { ", device operations of the whole host" } else { "" };
    let mut tables = Vec::new();
    for limit in limits {
        for (number, side) in sides.iter().enumerate() {
            let levels: Vec<&Level> =
                measured.iter().filter(|level| level.side == number && level.limit == *limit).collect();
            let peak = levels.iter().map(|level| level.rate).fold(0.0, f64::max);
            let head = [
                "connections",
                "TPS",
                "of peak",
                "QPS",
                "p95 ms",
                "p99 ms",
                "dev.op/s",
                "QPS/dev.op",
                "conflicts",
            ];
            let row = |level: &&Level| {
                let (each, rate) = match level.operations {
                    Some(done) => (
                        done.each.map_or_else(|| "-".into(), |each| format!("{each:.2}")),
                        format!("{:.0}", done.per_second),
                    ),
                    None => ("-".into(), "-".into()),
                };
                vec![
                    level.connections.to_string(),
                    format!("{:.1}", level.rate),
                    format!("{:.3}", level.rate / peak.max(1e-9)),
                    format!("{:.1}", level.qps),
                    ms(level.p95),
                    ms(level.p99),
                    rate,
                    each,
                    level.trouble.to_string(),
                ]
            };
            tables.push(Table {
                title: format!("{}{}{whose}", side.name, limit_text(*limit)),
                head: head.map(str::to_owned).to_vec(),
                rows: levels.iter().map(row).collect(),
            });
        }
    }
    tables
}

/// Transactions and statements per device operation by level, for each limit.
fn charts(sides: &[Side], limits: &[u64], levels: &[usize], measured: &[Level]) -> Vec<Chart> {
    let mut charts = Vec::new();
    for limit in limits {
        let chart = |title: &str, unit: &str, value: &dyn Fn(&Level) -> Option<f64>| {
            let of_level = |side: usize, connections: usize| {
                let is_it = |level: &&Level| {
                    level.side == side && level.limit == *limit && level.connections == connections
                };
                measured.iter().find(is_it).and_then(value)
            };
            let line = |(number, side): (usize, &Side)| {
                (side.name.clone(), levels.iter().map(|connections| of_level(number, *connections)).collect())
            };
            Chart {
                title: format!("{title}{}", limit_text(*limit)),
                unit: unit.into(),
                across: "connections".into(),
                levels: levels.iter().map(usize::to_string).collect(),
                lines: sides.iter().enumerate().map(line).collect(),
            }
        };
        charts.push(chart("Transactions", "per s", &|level| Some(level.rate)));
        let each = chart("Statements per device operation", "", &|level| {
            level.operations.and_then(|done| done.each)
        });
        if each.lines.iter().any(|(_, values)| values.iter().any(Option::is_some)) {
            charts.push(each);
        }
    }
    charts
}

fn print_table(table: &Table) {
    say!("\n{}", table.title);
    let widths: Vec<usize> = (0..table.head.len())
        .map(|column| {
            let cells = table.rows.iter().map(|row| row[column].len());
            cells.chain([table.head[column].len()]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &[String]| {
        let padded: Vec<String> =
            cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        padded.join("  ")
    };
    say!("{}", line(&table.head));
    for row in &table.rows {
        say!("{}", line(row));
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
    use client::Dsn;

    use super::*;

    #[test]
    fn levels_double_or_are_listed() {
        assert_eq!(levels("8..64"), Ok(vec![8, 16, 32, 64]));
        assert_eq!(levels("8..50"), Ok(vec![8, 16, 32, 50]));
        assert_eq!(levels("4, 9"), Ok(vec![4, 9]));
        assert!(levels("0..8").is_err());
        assert!(levels("few").is_err());
    }

    #[test]
    fn each_server_has_a_line_and_each_limit_its_graphs() {
        let side = |name: &str| Side {
            name: name.into(),
            dsn: Dsn::parse("127.0.0.1").unwrap(),
            description: json!(null),
            recording: recording::Recording::default(),
        };
        let sides = [side("a"), side("b")];
        let level = |side, limit, connections, rate| Level {
            side,
            limit,
            connections,
            rate,
            qps: rate * 20.0,
            p95: 1,
            p99: 2,
            operations: (side == 0).then_some(Operations {
                each: Some(4.0),
                per_second: 10.0,
                is_whole_host: false,
            }),
            trouble: 0,
        };
        let measured =
            [level(0, 0, 8, 10.0), level(0, 0, 16, 20.0), level(1, 0, 8, 7.0), level(0, 900, 8, 3.0)];
        let charts = charts(&sides, &[0, 900], &[8, 16], &measured);
        assert_eq!(charts.len(), 4);
        assert_eq!(charts[0].lines[0].1, [Some(10.0), Some(20.0)]);
        assert_eq!(charts[0].lines[1].1, [Some(7.0), None]);
        assert_eq!(charts[2].title, "Transactions at 900 operations/s");
        let tables = tables(&sides, &[0, 900], &measured);
        assert_eq!(tables[0].rows[0][2], "0.500");
        assert_eq!((tables[1].rows[0][7].as_str(), tables[3].rows.len()), ("-", 0));
    }
}
