//! The statements of the benchmarks: schemas, loads, and transactions against any MySQL-speaking server.
//!
//! ```text
//! Settings ──▶ Workload (schema, chunks of rows, checks) ──▶ Session (one per connection) ──▶ Tally (what was done)
//! ```
//!
//! Invariant: equal settings and seeds give equal data and equal requests on every server. Callers: `bench`, `companion`.
#![forbid(unsafe_code)]

mod distribution;
mod random;
mod script;
mod session;
mod settings;
mod words;

mod graph;
mod hot_row;
mod insert;
mod oltp;
mod queue;
mod scan;
mod sql_files;
mod stress;
mod tpcc;
mod ycsb;

pub use distribution::{Distribution, Shape};
pub use random::Random;
pub use session::{Session, Tally};
pub use settings::Settings;

/// What of a load can be done beside the rest of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The table, or what the workload calls the group of tables.
    pub table: usize,
    pub first: u64,
    pub last: u64,
}

/// An INSERT of many rows.
#[derive(Debug, Clone)]
pub struct Batch {
    pub sql: Vec<u8>,
    pub rows: u64,
}

/// A statement of SQL that finds nothing while the data is consistent.
#[derive(Debug, Clone)]
pub struct Check {
    pub name: String,
    pub sql: String,
}

/// A kind of work: its data, and the sessions that do it.
pub trait Workload: Send + Sync {
    /// The names of the kinds of transactions, as `Tally::kind` numbers them.
    fn kinds(&self) -> Vec<&'static str>;

    /// Statements that drop what there was and create what is needed.
    fn create(&self) -> Vec<String>;

    /// The load in pieces that may be done in any order.
    fn chunks(&self) -> Vec<Chunk>;

    /// The rows of a piece.
    fn batches(&self, chunk: Chunk) -> Box<dyn Iterator<Item = Batch> + Send + '_>;

    /// Statements after the rows: secondary indexes.
    fn finish(&self) -> Vec<String> {
        Vec::new()
    }

    /// What must hold after a run.
    fn checks(&self) -> Vec<Check> {
        Vec::new()
    }

    /// The work of the connection `number` of so many.
    fn session(&self, number: u64, connections: u64) -> Session;

    /// The name of the kind whose rate is the figure of this workload, per minute (TPC-C's new orders).
    fn headline(&self) -> Option<(&'static str, usize)> {
        None
    }
}

/// All names that `workload` knows, with what they are.
pub const NAMES: [(&str, &str); 11] = [
    ("tpcc", "TPC-C's five transactions on tpcc-mysql's schema; --scale is warehouses"),
    (
        "oltp:MIX",
        "sysbench's statements: point_select, read_only, read_write, write_only, update_index, update_non_index, insert, delete, bulk_insert, select_random_points, select_random_ranges",
    ),
    ("ycsb:A..F", "the Yahoo cloud serving benchmark's six mixes"),
    ("insert:0..5", "inserts into a table with so many secondary indexes"),
    ("scan", "whole tables, read and counted"),
    ("hotrow", "every session updates the same few rows (--rows, default 1)"),
    ("queue", "takes the oldest job with SKIP LOCKED, does it, puts in another"),
    ("stress:ro|rw", "objects in zones with history rows, as dbSTRESS has them; hot objects by --dist"),
    ("graph", "a social graph: nodes, links and counts, as LinkBench has them"),
    ("sql:FILE[@W],FILE..", "files of statements, each chosen by its weight; -- kind: NAME may head a file"),
    ("oltp_MIX", "the same as oltp:MIX, as sysbench calls it"),
];

/// The workload of a name.
pub fn workload(name: &str, settings: &Settings) -> Result<Box<dyn Workload>, String> {
    let (family, variant) = match name.split_once(':') {
        Some(parts) => parts,
        None => match name.strip_prefix("oltp_") {
            Some(mix) => ("oltp", mix),
            None if name.starts_with("select_random_") || name == "bulk_insert" => ("oltp", name),
            None => (name, ""),
        },
    };
    Ok(match family {
        "tpcc" => Box::new(tpcc::Tpcc::new(settings)?),
        "oltp" => Box::new(oltp::Oltp::new(variant, settings)?),
        "ycsb" => Box::new(ycsb::Ycsb::new(variant, settings)?),
        "insert" => Box::new(insert::Insert::new(variant, settings)?),
        "scan" => Box::new(scan::Scan::new(settings)),
        "hotrow" => Box::new(hot_row::HotRow::new(settings)),
        "queue" => Box::new(queue::Queue::new(settings)),
        "stress" => Box::new(stress::Stress::new(variant, settings)?),
        "graph" => Box::new(graph::Graph::new(settings)),
        "sql" => Box::new(sql_files::SqlFiles::new(variant, settings)?),
        _ => {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            return Err(format!("{name} is no workload; there are {}", names.join(", ")));
        }
    })
}
