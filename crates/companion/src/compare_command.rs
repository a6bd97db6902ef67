//! `evenkeel compare`: the same work on several servers in turn, and one line of verdict with its uncertainty.
//!
//! Invariant: a block is one turn of every server with the same seed, and the order is reversed in every other block,
//! so that what drifts (a warming host, a filling disk) hits all alike. Durability is read from the servers themselves.

use std::path::PathBuf;

use bench::{Estimate, Event, Result, Run, Stop, ratio_of_blocks, run};
use clap::Args;
use client::{Connection, Dsn};
use recording::{Host, Recording, Values, describe_server};
use report::{Subject, Table};
use serde_json::{Value, json};
use workload::Workload;

use crate::arguments::{DriveArguments, WorkloadArguments, default_database, dsn};
use crate::lines::Lines;
use crate::output::{ms, say};
use crate::record_command::Beside;

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
}

struct Server {
    name: String,
    dsn: Dsn,
    description: Value,
    durability: [String; 3],
    rates: Vec<f64>,
    p99: Vec<u64>,
    recording: Recording,
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
        crate::bench_command::listen(&stop);
        if self.load {
            for server in &servers {
                crate::bench_command::load_with_bar(&server.dsn, 4, &*workload, &stop)?;
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
        let (name, address) = match text.split_once('=') {
            Some((name, address)) if !name.contains(['/', ':', '?']) => (name.to_owned(), address),
            _ => (text.rsplit('@').next().unwrap_or(text).to_owned(), text),
        };
        let dsn = dsn(address, default_database(&self.workload.workload))?;
        let description = describe(&dsn)?;
        let part = |part: &str| description["durability"][part].as_str().unwrap_or("").to_owned();
        let durability = [part("commit_flush"), part("doublewrite"), part("binlog_sync")];
        Ok(Server {
            name,
            dsn,
            description,
            durability,
            rates: Vec::new(),
            p99: Vec::new(),
            recording: Recording::default(),
            costs: Costs::default(),
        })
    }

    /// One turn of one server.
    fn turn(&self, server: &mut Server, block: u64, stop: &Stop, lines: &mut Lines) -> Result<()> {
        let arguments = WorkloadArguments { seed: self.workload.seed + block, ..self.workload.clone() };
        let workload: Box<dyn Workload> = arguments.workload()?;
        let plan = self.drive.plan(&server.dsn, self.connections, &arguments)?;
        let mut host = Host::of(&server.dsn);
        let is_local = server.dsn.is_local();
        let mut before = None;
        let path = std::env::temp_dir().join(format!("evenkeel-compare-{}.rec", std::process::id()));
        let beside = Beside::start(&server.dsn, &path);
        let turn_stop = Stop::default();
        let result = run(&plan, &*workload, &turn_stop, &mut |event| {
            if let Event::Second(second) = event {
                // The measured part begins when the last second of the warm-up ends.
                if is_local && (second.t == -1 || before.is_none()) && second.t <= 0 {
                    before = Some((host.sample(), if second.t < 0 { 0 } else { second.events }));
                }
                if stop.is_wanted() {
                    turn_stop.now();
                }
            }
        });
        let mut recorded = Recording::default();
        // A turn counts without its recording too.
        if let Err(why) = beside.end().and_then(|()| recorded.read(&path)) {
            eprintln!("evenkeel: {}: not recorded: {why}", server.name);
        }
        let _ = std::fs::remove_file(&path);
        let result = result?;
        if let Some(failure) = result.failure {
            return Err(format!("{}: {failure}", server.name));
        }
        if let Some((before, missed)) = before {
            server.costs.add(&before, &host.sample(), result.summary.events.saturating_sub(missed));
        }
        say!(
            "block {:2} {:16} {:>10.1} tps  p99 {:>8} ms  {} s below half the median",
            block + 1,
            server.name,
            result.summary.rate(),
            ms(result.summary.p99),
            result.summary.low_seconds
        );
        let mut line = result.summary.json();
        line["server"] = json!(server.name);
        line["block"] = json!(block);
        lines.put(&line);
        server.take(&result, &recorded);
        Ok(())
    }

    fn write(&self, servers: &[Server], verdict: &str) -> Result<()> {
        let title = format!("{}, {} connections", self.workload.shown(), self.connections);
        let mut tables = vec![self.blocks_table(servers), costs_table(servers), servers_table(servers)];
        tables.retain(|table| !table.rows.is_empty());
        let subjects: Vec<Subject> =
            servers.iter().map(|server| Subject::new(&server.name, server.recording.clone())).collect();
        crate::report_command::write(&self.out, &report::html(&title, Some(verdict), &tables, &subjects))
    }

    fn blocks_table(&self, servers: &[Server]) -> Table {
        let mut head = vec!["block".to_owned()];
        head.extend(servers.iter().flat_map(|server| [format!("{} tps", server.name), "p99 ms".into()]));
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
        self.operations += all(&[".reads", ".writes", ".flushes"]);
        self.bytes += all(&[".read_sectors", ".write_sectors"]) * 512.0;
        // A cgroup counts what helpers of the server used as well.
        let cgroup = grown("cgroup.cpu.usage_usec") / 1e6;
        self.processor += if cgroup > 0.0 { cgroup } else { grown("server.cpu") / 100.0 };
        self.is_known = true;
    }
}

impl Server {
    /// Puts the measured seconds behind those of earlier blocks, as if they had followed each other.
    fn take(&mut self, run: &Run, recorded: &Recording) {
        let to = self.recording.seconds.len() as u64 * 1000;
        let ends: Vec<u64> = run.measured().filter_map(|second| second.json()["at"].as_u64()).collect();
        if let (Some(first), Some(last)) = (ends.first(), ends.last()) {
            self.recording.append(recorded, first.saturating_sub(1000), *last, to);
        }
        self.rates.push(run.summary.rate());
        self.p99.push(run.summary.p99);
        for second in run.measured() {
            let mut line = second.json();
            let place = self.recording.seconds.len() as u64;
            line["t"] = json!(place);
            line["at"] = json!((place + 1) * 1000);
            self.recording.seconds.push(line);
        }
    }
}

fn describe(dsn: &Dsn) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let failed = |error: client::Error| format!("{dsn}: {error}");
        let mut connection = Connection::connect(&dsn.with_database("")).await.map_err(failed)?;
        describe_server(&mut connection).await.map_err(failed)
    })
}

/// Whether all servers are equally and fully durable; else why not.
fn judge_durability(servers: &[Server]) -> std::result::Result<(), String> {
    let named = |server: &Server| format!("{} has {}", server.name, server.durability.join(" / "));
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
        return format!("{} and {} have no block in common.", other.name, first.name);
    };
    let (other, first) = (&other.name, &first.name);
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
                server.name.clone(),
                format!("{:.2}", each(server.costs.operations)),
                format!("{:.0}", each(server.costs.bytes)),
                format!("{:.0}", each(server.costs.processor * 1e6)),
            ]
        })
        .collect();
    Table { title: "Cost of a transaction on this host (devices: the whole host)".into(), head, rows }
}

fn servers_table(servers: &[Server]) -> Table {
    let head = ["", "version", "commit flush / doublewrite / binlog sync", "pool", "log"]
        .map(str::to_owned)
        .to_vec();
    let rows = servers
        .iter()
        .map(|server| {
            let variables = &server.description["variables"];
            let size = |names: &[&str]| {
                let found = names.iter().find_map(|name| variables[*name].as_str()?.parse::<f64>().ok());
                found.map_or_else(String::new, |bytes| format!("{:.0} MiB", bytes / 1_048_576.0))
            };
            vec![
                server.name.clone(),
                server.description["version"].as_str().unwrap_or("").to_owned(),
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
            name: name.into(),
            dsn: Dsn::parse("127.0.0.1").unwrap(),
            description: Value::Null,
            durability: durability.map(str::to_owned),
            rates: rates.to_vec(),
            p99: Vec::new(),
            recording: Recording::default(),
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
