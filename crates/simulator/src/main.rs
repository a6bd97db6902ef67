//! `simulator`: runs seeds against the storage engine until one fails, a count is reached or time is up.

use engine::Engine;
use simulator::{
    Budget, DdlOptions, RotReport, RunOptions, StoreOptions, Violation, run_ddl_many, run_fault, run_many,
    run_rot, run_store_error, run_store_many,
};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const HELP: &str = "\
usage: simulator [--seed N] [--seeds COUNT] [--seconds S] [--threads T]
                 [--crash-point P | --fault F] [--transactions N] [--clients N]

  --seed N          the first seed (default 0)
  --seeds COUNT     how many seeds to run (default 1; unlimited with --seconds)
  --seconds S       start no further seed after this time
  --threads T       seeds that run at the same time (default 1)
  --crash-point P   check one crash point only, as a violation names it
  --fault F         run one injected fault only, as a violation names it
  --faults COUNT    injected faults per seed, beside the crashes (default 8)
  --damages COUNT   damaged copies per seed (default 32)
  --transactions N  transactions per seed
  --clients N       clients per seed
  --rot COUNT       nothing but damages at rest, so many per seed, table by table and counted by kind of file
  --store 1         the page store without an engine; --damages, --transactions, --clients and --threads do not count
  --ddl 1           SQL that changes definitions, through sessions of a server; of the others --seed, --seeds, --seconds,
                    --crash-point and --transactions (changes of definitions) count
  --one-in N        of --ddl: check one of so many crash points (default 1)

Every violation is printed with the command that repeats it; the exit status is then 1.
";

fn main() -> ExitCode {
    let Request { options, budget, fault, store, ddl, one_in, units, rot } =
        match parse(std::env::args().skip(1)) {
            Ok(Some(parsed)) => parsed,
            Ok(None) => {
                print!("{HELP}");
                return ExitCode::SUCCESS;
            }
            Err(message) => {
                eprintln!("simulator: {message}\n\n{HELP}");
                return ExitCode::from(2);
            }
        };
    let result = match fault {
        _ if store => {
            let store = StoreOptions { crash_point: options.crash_point, ..StoreOptions::new(options.seed) };
            match fault {
                Some(fault) => run_store_error(&store, fault).map(|report| format!("{report:?}")),
                None => run_store_many(&store, &budget).map(|summary| summary.to_string()),
            }
        }
        _ if ddl => {
            let mut ddl = DdlOptions { crash_point: options.crash_point, ..DdlOptions::new(options.seed) };
            ddl.units = units.unwrap_or(ddl.units);
            ddl.one_in = one_in;
            run_ddl_many(&ddl, &budget).map(|summary| summary.to_string())
        }
        _ if rot > 0 => run_rot_many(&options, &budget, rot),
        Some(fault) => run_fault::<Engine>(&options, fault).map(|report| format!("{report:?}")),
        None => run_many::<Engine>(&options, &budget).map(|summary| summary.to_string()),
    };
    match result {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(violation) => {
            eprintln!("{violation}");
            ExitCode::FAILURE
        }
    }
}

struct Request {
    options: RunOptions,
    budget: Budget,
    fault: Option<u64>,
    store: bool,
    ddl: bool,
    /// Crash points of which one is checked.
    one_in: usize,
    /// What was asked for instead of the usual number of transactions.
    units: Option<usize>,
    /// Damages per seed.
    rot: u64,
}

fn run_rot_many(options: &RunOptions, budget: &Budget, samples: u64) -> Result<String, Violation> {
    let start = Instant::now();
    let mut report = RotReport::default();
    for seed in (options.seed..).take(usize::try_from(budget.seeds).unwrap_or(usize::MAX)) {
        if budget.time.is_some_and(|time| start.elapsed() >= time) {
            break;
        }
        report.add(&run_rot::<Engine>(&RunOptions { seed, ..options.clone() }, samples)?);
    }
    Ok(format!("{report} in {:.1} s", start.elapsed().as_secs_f64()))
}

/// None asks for help.
fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Request>, String> {
    let mut options = RunOptions::new(0);
    let mut budget = Budget { seeds: 1, time: None, crash_points_min: 0, threads: 1, faults: 8, damages: 32 };
    let mut fault = None;
    let mut store = false;
    let mut ddl = false;
    let mut one_in = 1;
    let mut units = None;
    let mut rot = 0;
    let mut seeds_given = false;
    while let Some(name) = arguments.next() {
        if name == "--help" || name == "-h" {
            return Ok(None);
        }
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number: u64 = value.parse().map_err(|_| format!("{name}: '{value}' is not a number"))?;
        match name.as_str() {
            "--seed" => options.seed = number,
            "--seeds" => {
                budget.seeds = number;
                seeds_given = true;
            }
            "--seconds" => budget.time = Some(Duration::from_secs(number)),
            "--threads" => budget.threads = (number as usize).max(1),
            "--crash-point" => {
                options.crash_point = Some(number);
                budget.faults = 0;
                budget.damages = 0;
            }
            "--store" => store = number > 0,
            "--ddl" => ddl = number > 0,
            "--one-in" => one_in = (number as usize).max(1),
            "--rot" => rot = number,
            "--fault" => fault = Some(number),
            "--faults" => budget.faults = number,
            "--damages" => budget.damages = number,
            "--transactions" => {
                options.workload.transactions = number as usize;
                units = Some(number as usize);
            }
            "--clients" => options.workload.clients = (number as usize).clamp(1, 12),
            _ => return Err(format!("unknown option {name}")),
        }
    }
    if budget.time.is_some() && !seeds_given {
        budget.seeds = u64::MAX;
    }
    Ok(Some(Request { options, budget, fault, store, ddl, one_in, units, rot }))
}
