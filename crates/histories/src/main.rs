//! The histories tool: runs random transactions on a server and reports the anomalies.
//!
//! ```text
//! histories HOST:PORT LEVEL plain|locking TRANSACTIONS [seed=N] [history=N] [workload=NAME]
//!           [kill=PROGRAM,DATADIR] [export=DIR]
//! ```
//!
//! LEVEL is RU, RC, RR, S or SI (REPEATABLE READ with `innodb_snapshot_isolation`). The transactions are divided among
//! the workloads and into histories (`history=` transactions each) that are checked one by one. With `kill=` the tool
//! starts the server itself and kills it (SIGKILL) every few seconds while transactions run; else the server runs
//! already. `export=` writes each history of lists or registers as Elle's EDN.

mod arguments;
mod keeper;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use arguments::Arguments;
use histories::{Class, History, Plan, Report, Workload, check, edn, permitted, run};
use keeper::Keeper;

const CONNECTIONS: u32 = 8;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match Arguments::parse(&words).and_then(|arguments| start(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: &Arguments) -> Result<bool, String> {
    let began = Instant::now();
    let mut keeper = match &arguments.kill {
        Some((program, directory)) => Some(Keeper::start(program, directory, &arguments.server)?),
        None => None,
    };
    let mut report = Report::default();
    let mut checked = Duration::ZERO;
    for number in 0..arguments.transactions.div_ceil(arguments.history) {
        let plan = plan(arguments, number);
        let history = match keeper.as_mut() {
            Some(keeper) => run(&arguments.server, &plan, Some(&mut || keeper.disturb()))?,
            None => run(&arguments.server, &plan, None)?,
        };
        export(arguments, &plan, number, &history)?;
        let since = Instant::now();
        report.add(check(history));
        checked += since.elapsed();
    }
    println!(
        "{} {:?} seed {}: {} transactions, {} committed, {} unknown, {} kills, {:.0} s of which {:.1} s checking",
        arguments.level.short_name(),
        arguments.reads,
        arguments.seed,
        report.transactions,
        report.committed,
        report.unknown,
        keeper.map_or(0, |keeper| keeper.kills),
        began.elapsed().as_secs_f64(),
        checked.as_secs_f64(),
    );
    Ok(show(arguments, &report))
}

fn plan(arguments: &Arguments, number: u32) -> Plan {
    let workload = arguments.workload.unwrap_or(Workload::ALL[number as usize % Workload::ALL.len()]);
    Plan {
        level: arguments.level,
        reads: arguments.reads,
        workload,
        connections: CONNECTIONS,
        transactions: arguments.history.min(arguments.transactions - number * arguments.history),
        seed: arguments.seed + u64::from(number),
        database: format!("histories_{}", std::process::id()),
    }
}

fn export(arguments: &Arguments, plan: &Plan, number: u32, history: &History) -> Result<(), String> {
    let Some(directory) = &arguments.export else { return Ok(()) };
    let name = format!("{}-{:?}-{:?}-{number}.edn", plan.level.short_name(), plan.reads, plan.workload);
    let path = directory.join(name.to_lowercase());
    std::fs::write(&path, edn(history)).map_err(|error| format!("{}: {error}", path.display()))
}

fn show(arguments: &Arguments, report: &Report) -> bool {
    let permitted = permitted(arguments.level, arguments.reads);
    let found = report.classes();
    let names =
        |classes: Vec<&Class>| classes.iter().map(|class| class.name()).collect::<Vec<_>>().join(", ");
    println!("    seen and permitted: {}", names(found.intersection(&permitted).collect()));
    println!("    permitted, not seen: {}", names(permitted.difference(&found).collect()));
    let forbidden: BTreeSet<Class> = found.difference(&permitted).copied().collect();
    for class in &forbidden {
        for anomaly in &report.anomalies[class] {
            println!("    FORBIDDEN {anomaly}");
        }
    }
    forbidden.is_empty()
}
