//! Arguments that several commands share: the server, the workload, and how it is driven.
//!
//! Invariant: what is not given has one default, shown by `--help`. Used by all commands.

use std::path::PathBuf;
use std::time::Duration;

use bench::{Plan, Rates, Result};
use clap::Args;
use client::Dsn;
use workload::{Settings, Shape, Workload};

/// What a workload is made of.
#[derive(Args, Debug, Clone)]
pub struct WorkloadArguments {
    /// The workload; `evenkeel bench list` names them.
    pub workload: String,
    /// Tables of equal shape.
    #[arg(long, default_value_t = 1)]
    pub tables: u64,
    /// Rows of each table; 0 is the workload's own default.
    #[arg(long, alias = "table-size", default_value_t = 0)]
    pub rows: u64,
    /// Warehouses of tpcc.
    #[arg(long, alias = "warehouses", default_value_t = 1)]
    pub scale: u64,
    /// Which rows: uniform, special, pareto[:h], zipf[:s], scattered[:s], sequential, latest[:s].
    #[arg(long)]
    pub dist: Option<String>,
    /// Equal seeds give equal data and equal requests.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Send statements as text instead of preparing them once.
    #[arg(long)]
    pub text: bool,
    /// Commands that one connection has in flight at most.
    #[arg(long, default_value_t = 1)]
    pub pipeline: usize,
    /// Leave out BEGIN and COMMIT.
    #[arg(long)]
    pub skip_trx: bool,
    /// Rows of a range.
    #[arg(long, default_value_t = 100)]
    pub range_size: u64,
    /// Items of tpcc; less than 100000 is not TPC-C, and good for a try.
    #[arg(long, default_value_t = 100_000)]
    pub items: u64,
    /// Customers of a district of tpcc; less than 3000 is not TPC-C.
    #[arg(long, default_value_t = 3_000)]
    pub customers: u64,
    /// What stands behind CREATE TABLE (..).
    #[arg(long, default_value = "ENGINE=InnoDB")]
    pub engine: String,
}

impl WorkloadArguments {
    pub fn settings(&self) -> Result<Settings> {
        Ok(Settings {
            tables: self.tables.max(1),
            rows: self.rows,
            scale: self.scale,
            shape: self.dist.as_deref().map(Shape::parse).transpose()?,
            seed: self.seed,
            is_prepared: !self.text,
            pipeline: self.pipeline.max(1),
            skips_transactions: self.skip_trx,
            range: self.range_size,
            items: self.items,
            customers: self.customers,
            engine: self.engine.clone(),
        })
    }

    pub fn workload(&self) -> Result<Box<dyn Workload>> {
        workload::workload(&self.workload, &self.settings()?)
    }

    /// The choices as one line, for files and the history.
    pub fn shown(&self) -> String {
        let mut text = self.workload.clone();
        let mut add = |is_there: bool, part: String| {
            if is_there {
                text.push(' ');
                text.push_str(&part);
            }
        };
        add(self.tables != 1, format!("tables={}", self.tables));
        add(self.rows != 0, format!("rows={}", self.rows));
        add(self.workload == "tpcc", format!("scale={}", self.scale));
        add(self.dist.is_some(), format!("dist={}", self.dist.as_deref().unwrap_or("")));
        add(self.text, "text".into());
        add(self.pipeline > 1, format!("pipeline={}", self.pipeline));
        add(self.skip_trx, "skip-trx".into());
        add(self.range_size != 100, format!("range={}", self.range_size));
        add(self.items != 100_000, format!("items={}", self.items));
        add(self.customers != 3_000, format!("customers={}", self.customers));
        text
    }
}

/// How a workload is driven.
#[derive(Args, Debug, Clone)]
pub struct DriveArguments {
    /// Threads of the generator; they share the connections.
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    /// Measured time in seconds.
    #[arg(long, default_value_t = 10.0)]
    pub time: f64,
    /// Seconds before what is measured.
    #[arg(long, default_value_t = 0)]
    pub warmup: u64,
    /// Open loop: transactions per second, as 1000 or in steps as 1000x30,5000x10.
    #[arg(long)]
    pub rate: Option<String>,
    /// Arrivals of the open loop by chance (poisson) or at equal distances (even).
    #[arg(long, default_value = "poisson", value_parser = ["poisson", "even"])]
    pub arrival: String,
    /// End after so many transactions.
    #[arg(long)]
    pub events: Option<u64>,
    /// Count failures and connect again instead of ending.
    #[arg(long)]
    pub keep_going: bool,
    /// A statement for every new connection; may be given several times.
    #[arg(long = "init", value_name = "SQL")]
    pub on_connect: Vec<String>,
}

impl DriveArguments {
    pub fn plan(&self, dsn: &Dsn, connections: usize, workload: &WorkloadArguments) -> Result<Plan> {
        if !(self.time > 0.0 && self.time < 1e9) {
            return Err("--time is a number of seconds above 0".into());
        }
        for (name, count) in
            [("--connections", connections), ("--threads", self.threads), ("--pipeline", workload.pipeline)]
        {
            if count == 0 {
                return Err(format!("{name} is 1 or more"));
            }
        }
        let rates = self.rate.as_deref().map(Rates::parse).transpose()?;
        Ok(Plan {
            dsn: dsn.clone(),
            threads: self.threads,
            connections,
            pipeline: workload.pipeline,
            is_prepared: !workload.text,
            warmup: Duration::from_secs(self.warmup),
            duration: Duration::from_secs_f64(self.time),
            rates: rates.map(|rates| rates.evenly(self.arrival == "even")),
            seed: workload.seed,
            goes_on: self.keep_going,
            events_max: self.events,
            on_connect: self.on_connect.clone(),
        })
    }
}

/// Where runs are kept unless a file is named.
pub fn default_history() -> PathBuf {
    let home = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share")));
    home.unwrap_or_else(|| PathBuf::from(".")).join("evenkeel/history.jsonl")
}

/// The server's address; a workload without a database gets `default`.
pub fn dsn(text: &str, default: &str) -> Result<Dsn> {
    let dsn = Dsn::parse(text).map_err(|error| error.to_string())?;
    Ok(if dsn.database.is_empty() { dsn.with_database(default) } else { dsn })
}

/// The database of a workload that was given none: sysbench's own for its schema.
pub fn default_database(workload: &str) -> &'static str {
    match workload.split([':', '_']).next().unwrap_or("") {
        "tpcc" => "tpcc",
        _ => "sbtest",
    }
}
