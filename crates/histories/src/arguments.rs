//! The command line of the tool.

use std::path::PathBuf;

use histories::{Level, Reads, Server, Workload};

pub const USAGE: &str = "usage: histories HOST:PORT LEVEL plain|locking TRANSACTIONS [seed=N] [history=N] \
    [workload=lists|registers|members] [kill=PROGRAM,DATADIR] [export=DIR]";

const TRANSACTIONS_PER_HISTORY: u32 = 50_000;

#[derive(Debug)]
pub struct Arguments {
    pub server: Server,
    pub level: Level,
    pub reads: Reads,
    pub transactions: u32,
    pub seed: u64,
    /// How many transactions are checked together.
    pub history: u32,
    /// One of the workloads, or else all in turn.
    pub workload: Option<Workload>,
    /// The server's program and its data directory: the tool starts it, and kills it again and again.
    pub kill: Option<(PathBuf, PathBuf)>,
    /// Where histories are written for another checker.
    pub export: Option<PathBuf>,
}

impl Arguments {
    pub fn parse(words: &[String]) -> Result<Arguments, String> {
        let [at, level, reads, transactions, options @ ..] = words else { return Err(USAGE.to_owned()) };
        let mut arguments = Arguments {
            server: Server::parse(at).ok_or(format!("{at} is not host:port"))?,
            level: Level::named(level).ok_or(format!("{level} is no level"))?,
            reads: match reads.as_str() {
                "plain" => Reads::Plain,
                "locking" => Reads::Locking,
                other => return Err(format!("{other} is neither plain nor locking")),
            },
            transactions: number(transactions)?,
            seed: 1,
            history: TRANSACTIONS_PER_HISTORY,
            workload: None,
            kill: None,
            export: None,
        };
        for option in options {
            arguments.set(option)?;
        }
        Ok(arguments)
    }

    fn set(&mut self, option: &str) -> Result<(), String> {
        let (name, value) = option.split_once('=').ok_or(USAGE.to_owned())?;
        match name {
            "seed" => self.seed = number(value)?,
            "history" => self.history = number(value)?,
            "workload" => {
                self.workload = Some(Workload::named(value).ok_or(format!("{value} is no workload"))?)
            }
            "kill" => {
                let (program, directory) = value.split_once(',').ok_or(USAGE.to_owned())?;
                self.kill = Some((program.into(), directory.into()));
            }
            "export" => self.export = Some(value.into()),
            _ => return Err(USAGE.to_owned()),
        }
        Ok(())
    }
}

fn number<N: std::str::FromStr<Err = std::num::ParseIntError>>(text: &str) -> Result<N, String> {
    text.parse().map_err(|error| format!("{text}: {error}"))
}
