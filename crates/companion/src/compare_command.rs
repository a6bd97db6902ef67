//! `evenkeel compare`: the same work on several servers in turn, and one line of verdict with its uncertainty.
//!
//! Invariant: a block is one turn of every server with the same seed, and the order is reversed in every other block,
//! so that what drifts (a warming host, a filling disk) hits all alike. Durability is read from the servers themselves.

use std::path::PathBuf;

use bench::{Estimate, Result, Stop, ratio_of_blocks};
use clap::Args;
use recording::Values;
use report::{Page, Subject, Table};
use serde_json::json;
use workload::Workload;

use crate::arguments::{DriveArguments, WorkloadArguments, default_database};
use crate::lines::Lines;
use crate::output::{ms, say};
use crate::report_command::{dip_lines, write};
use crate::side::Side;

#[derive(Args)]
pub struct Compare {
    #[command(flatten)]
    workload: WorkloadArguments,
    #[command(flatten)]
    drive: DriveArguments,
    /// The servers: NAME=mysql://.., two or more; the first is what the others are compared with.
    #[arg(required = true, num_args = 2.., value_name = "NAME=DSN")]
    servers: Vec<String>,
    /// Connections.
    #[arg(short, long, default_value_t = 8)]
    connections: usize,
    /// Turns of each server.
    #[arg(long, default_value_t = 4)]
    blocks: u64,
    /// Load the same data into each server first.
    #[arg(long)]
    load: bool,
    /// Refuse unless all servers are equally and fully durable.
    #[arg(long)]
    publish: bool,
    /// The page to write.
    #[arg(long, default_value = "compare.html", value_name = "FILE")]
    out: PathBuf,
    /// Write JSON lines here too.
    #[arg(long, value_name = "FILE")]
    lines: Option<PathBuf>,
    /// Write the dips as JSON lines too; their seconds are counted over all turns of a server.
    #[arg(long, value_name = "FILE")]
    dips: Option<PathBuf>,
    /// Write a picture of some graphs too.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// The graphs of the picture.
    #[arg(long, value_name = "LIST", default_value = "throughput,latency:p95")]
    only: String,
}

struct Server {
    side: Side,
    durability: [String; 3],
    rates: Vec<f64>,
    p99: Vec<u64>,
    costs: Costs,
}

/// What transactions cost the host, as far as it is this one.
#[derive(Default)]
struct Costs {
    transactions: u64,
    operations: f64,
    bytes: f64,
    processor: f64,
    is_known: bool,
    /// Whether device operations are those of everybody on the host.
    is_whole_host: bool,
}

impl Compare {
    pub fn run(&self) -> Result<bool> {
        let mut servers =
            self.servers.iter().map(|text| self.server(text)).collect::<Result<Vec<Server>>>()?;
        let durability = judge_durability(&servers);
        match &durability {
            Err(why) if self.publish => return Err(format!("not to be published: {why}")),
            Err(why) => say!("durability: {why}"),
            Ok(()) => say!("durability: equal and full on all servers"),
        }
        let workload = self.workload.workload()?;
        let stop = Stop::default();
        crate::listen::listen(&stop);
        if self.load {
            for server in &servers {
                crate::bench_command::load_with_bar(&server.side.dsn, 4, &*workload, &stop)?;
            }
        }
        let mut lines = Lines::to(self.lines.as_deref())?;
        for block in 0..self.blocks.max(1) {
            let mut order: Vec<usize> = (0..servers.len()).collect();
            if block % 2 == 1 {
                order.reverse();
            }
            for place in order {
                if stop.is_wanted() {
                    break;
                }
                self.turn(&mut servers[place], block, &stop, &mut lines)?;
            }
        }
        let verdicts: Vec<String> = servers[1..].iter().map(|other| verdict(&servers[0], other)).collect();
        let mut verdict = verdicts.join(" ");
        if let Err(why) = durability {
            verdict.push_str(&format!(" Not to be published: {why}."));
        }
        self.write(&servers, &verdict)?;
        say!("\n{verdict}\n{}", self.out.display());
        lines.end()?;
        Ok(!stop.is_wanted())
    }

    fn server(&self, text: &str) -> Result<Server> {
        let side = Side::of(text, default_database(&self.workload.workload))?;
        let part = |part: &str| side.description["durability"][part].as_str().unwrap_or("").to_owned();
        let durability = [part("commit_flush"), part("doublewrite"), part("binlog_sync")];
        Ok(Server { side, durability, rates: Vec::new(), p99: Vec::new(), costs: Costs::default() })
    }

    /// One turn of one server.
    fn turn(&self, server: &mut Server, block: u64, stop: &Stop, lines: &mut Lines) -> Result<()> {
        let arguments = WorkloadArguments { seed: self.workload.seed + block, ..self.workload.clone() };
        let workload: Box<dyn Workload> = arguments.workload()?;
        let plan = self.drive.plan(&server.side.dsn, self.connections, &arguments)?;
        let mut host = server.side.host();
        let is_local = server.side.dsn.is_local();
        let mut before = None;
        let (result, recorded) = server.side.turn(&plan, &*workload, stop, &mut |second| {
            // The measured part begins when the last second of the warm-up ends.
            if is_local && (second.t == -1 || before.is_none()) && second.t <= 0 {
                before = Some((host.sample(), if second.t < 0 { 0 } else { second.events }));
            }
        })?;
        if let Some((before, missed)) = before {
            server.costs.add(&before, &host.sample(), result.summary.events.saturating_sub(missed));
        }
        say!(
            "block {:2} {:16} {:>10.1} tps  p99 {:>8} ms  {} s below half the median",
            block + 1,
            server.side.name,
            result.summary.rate(),
            ms(result.summary.p99),
            result.summary.low_seconds
        );
        let mut line = result.summary.json();
        line["server"] = json!(server.side.name);
        line["block"] = json!(block);
        let first = result.measured().next();
        line["began_at"] = json!(first.map(|second| second.at.saturating_sub(1000)));
        lines.put(&line);
        server.rates.push(result.summary.rate());
        server.p99.push(result.summary.p99);
        server.side.take(&result, &recorded, format!("block {}", block + 1));
        Ok(())
    }

    fn write(&self, servers: &[Server], verdict: &str) -> Result<()> {
        let title = format!("{}, {} connections", self.workload.shown(), self.connections);
        let mut tables = vec![self.blocks_table(servers), costs_table(servers), servers_table(servers)];
        tables.retain(|table| !table.rows.is_empty());
        let subjects: Vec<Subject> = servers
            .iter()
            .map(|server| Subject::new(&server.side.name, server.side.recording.clone()))
            .collect();
        let page = Page { title: &title, verdict: Some(verdict), charts: &[], tables: &tables };
        write(&self.out, &report::html(&page, &subjects))?;
        if let Some(path) = &self.dips {
            write(path, &dip_lines(&subjects))?;
        }
        if let Some(path) = &self.svg {
            let panels = report::chosen(report::panels(&subjects), &self.only)?;
            write(path, &report::svg(&[], &panels, &subjects))?;
        }
        Ok(())
    }

    fn blocks_table(&self, servers: &[Server]) -> Table {
        let mut head = vec!["block".to_owned()];
        head.extend(servers.iter().flat_map(|server| [format!("{} tps", server.side.name), "p99 ms".into()]));
        let row = |block: usize| {
            let mut row = vec![format!("{} (seed {})", block + 1, self.workload.seed + block as u64)];
            for server in servers {
                row.push(server.rates.get(block).map_or_else(String::new, |rate| format!("{rate:.1}")));
                row.push(server.p99.get(block).map_or_else(String::new, |p99| ms(*p99)));
            }
            row
        };
        let blocks = servers.iter().map(|server| server.rates.len()).max().unwrap_or(0);
        Table { title: "Blocks".into(), head, rows: (0..blocks).map(row).collect() }
    }
}

impl Costs {
    fn add(&mut self, before: &Values, after: &Values, transactions: u64) {
        let grown = |name: &str| after.get(name).unwrap_or(&0.0) - before.get(name).unwrap_or(&0.0);
        let all = |ends: &[&str]| -> f64 {
            let names = after.keys().filter(|name| name.starts_with("disk."));
            names.filter(|name| ends.iter().any(|end| name.ends_with(end))).map(|name| grown(name)).sum()
        };
        self.transactions += transactions;
        // A control group of its own tells the server's operations from those of everybody else.
        let own = |ends: [&str; 2]| ends.map(|end| after.get(end).map(|_| grown(end)));
        if let [Some(reads), Some(writes)] = own(["cgroup.io.rios", "cgroup.io.wios"]) {
            self.operations += reads + writes;
            self.bytes += own(["cgroup.io.rbytes", "cgroup.io.wbytes"]).into_iter().flatten().sum::<f64>();
        } else {
            self.operations += all(&[".reads", ".writes", ".flushes"]);
            self.bytes += all(&[".read_sectors", ".write_sectors"]) * 512.0;
            self.is_whole_host = true;
        }
        // A cgroup counts what helpers of the server used as well.
        let cgroup = grown("cgroup.cpu.usage_usec") / 1e6;
        self.processor += if cgroup > 0.0 { cgroup } else { grown("server.cpu") / 100.0 };
        self.is_known = true;
    }
}

/// Whether all servers are equally and fully durable; else why not.
fn judge_durability(servers: &[Server]) -> std::result::Result<(), String> {
    let named = |server: &Server| format!("{} has {}", server.side.name, server.durability.join(" / "));
    for server in servers {
        let [flush, doublewrite, binlog] = &server.durability;
        let is_relaxed = flush != "1"
            || matches!(doublewrite.as_str(), "OFF" | "0" | "DETECT_ONLY")
            || !(binlog == "1" || binlog == "no binlog");
        if is_relaxed {
            return Err(format!(
                "{} (commit flush / doublewrite / binlog sync), which is relaxed",
                named(server)
            ));
        }
    }
    let has_binlog = |server: &Server| server.durability[2] != "no binlog";
    if servers.iter().any(|server| has_binlog(server) != has_binlog(&servers[0])) {
        let all: Vec<String> = servers.iter().map(named).collect();
        return Err(format!(
            "durability differs: {} (commit flush / doublewrite / binlog sync)",
            all.join(", ")
        ));
    }
    Ok(())
}

fn verdict(first: &Server, other: &Server) -> String {
    let Some(Estimate { ratio, low, high, blocks }) = ratio_of_blocks(&other.rates, &first.rates) else {
        return format!("{} and {} have no block in common.", other.side.name, first.side.name);
    };
    let (other, first) = (&other.side.name, &first.side.name);
    if blocks == 1 {
        return format!(
            "{other} does {ratio:.3} times the transactions of {first} in one block, which tells no interval."
        );
    }
    let interval = format!("95 % interval {low:.3} to {high:.3}, {blocks} blocks");
    if low <= 1.0 && 1.0 <= high {
        format!("No difference is proven between {other} and {first}: ratio {ratio:.3} ({interval}).")
    } else {
        format!("{other} does {ratio:.3} times the transactions of {first} ({interval}).")
    }
}

fn costs_table(servers: &[Server]) -> Table {
    let head = ["", "device operations", "device bytes", "processor µs"].map(str::to_owned).to_vec();
    let rows = servers
        .iter()
        .filter(|server| server.costs.is_known && server.costs.transactions > 0)
        .map(|server| {
            let each = |sum: f64| sum / server.costs.transactions as f64;
            vec![
                server.side.name.clone(),
                format!("{:.2}", each(server.costs.operations)),
                format!("{:.0}", each(server.costs.bytes)),
                format!("{:.0}", each(server.costs.processor * 1e6)),
            ]
        })
        .collect();
    let is_whole = servers.iter().any(|server| server.costs.is_whole_host);
    let title = format!(
        "Cost of a transaction on this host{}",
        if is_whole { " (devices: the whole host)" } else { "" }
    );
    Table { title, head, rows }
}

fn servers_table(servers: &[Server]) -> Table {
    let head = ["", "version", "commit flush / doublewrite / binlog sync", "pool", "log"]
        .map(str::to_owned)
        .to_vec();
    let rows = servers
        .iter()
        .map(|server| {
            let variables = &server.side.description["variables"];
            let size = |names: &[&str]| {
                let found = names.iter().find_map(|name| variables[*name].as_str()?.parse::<f64>().ok());
                found.map_or_else(String::new, |bytes| format!("{:.0} MiB", bytes / 1_048_576.0))
            };
            vec![
                server.side.name.clone(),
                server.side.description["version"].as_str().unwrap_or("").to_owned(),
                server.durability.join(" / "),
                size(&["innodb_buffer_pool_size"]),
                size(&["innodb_redo_log_capacity", "innodb_log_file_size"]),
            ]
        })
        .collect();
    Table { title: "Servers".into(), head, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, durability: [&str; 3], rates: &[f64]) -> Server {
        Server {
            side: Side {
                name: name.into(),
                dsn: client::Dsn::parse("127.0.0.1").unwrap(),
                description: json!(null),
                recording: recording::Recording::default(),
            },
            durability: durability.map(str::to_owned),
            rates: rates.to_vec(),
            p99: Vec::new(),
            costs: Costs::default(),
        }
    }

    #[test]
    fn durability_must_be_full_and_equal() {
        let full = server("a", ["1", "ON", "1"], &[]);
        let judged = |other| judge_durability(&[server("a", ["1", "ON", "1"], &[]), other]);
        assert!(judge_durability(&[full]).is_ok());
        assert!(judged(server("b", ["1", "ON", "1"], &[])).is_ok());
        assert!(judged(server("b", ["2", "ON", "1"], &[])).unwrap_err().contains("relaxed"));
        assert!(judged(server("b", ["1", "OFF", "1"], &[])).unwrap_err().contains("relaxed"));
        assert!(judged(server("b", ["1", "ON", "no binlog"], &[])).unwrap_err().contains("differs"));
    }

    #[test]
    fn a_verdict_says_how_sure_it_is() {
        let first = server("a", ["1", "ON", "1"], &[100.0, 104.0, 98.0]);
        let said = |rates: &[f64]| verdict(&first, &server("b", ["1", "ON", "1"], rates));
        assert!(said(&[200.0, 207.0, 197.0]).starts_with("b does 2.0"));
        assert!(said(&[103.0, 98.0, 101.0]).starts_with("No difference is proven"));
        assert!(said(&[200.0]).contains("one block"));
    }
}
