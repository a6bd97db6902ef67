//! The histories tool: runs random transactions on a server that runs already and reports the anomalies.
//!
//! ```text
//! histories HOST:PORT LEVEL plain|locking TRANSACTIONS [SEED] [reconnect]
//! ```
//!
//! LEVEL is RU, RC, RR, S or SI (REPEATABLE READ with `innodb_snapshot_isolation`). The transactions are divided among
//! the workloads and into histories that are checked one by one. `reconnect` lets the server be killed meanwhile.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Instant;

use histories::{Class, Level, Plan, Reads, Report, Server, Workload, check, permitted, run};

const TRANSACTIONS_PER_HISTORY: u32 = 20_000;
const CONNECTIONS: u32 = 8;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match start(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn start(words: &[&str]) -> Result<bool, String> {
    let [at, level, reads, count, rest @ ..] = words else {
        return Err(
            "usage: histories HOST:PORT LEVEL plain|locking TRANSACTIONS [SEED] [reconnect]".to_owned()
        );
    };
    let server = Server::parse(at).ok_or(format!("{at} is not host:port"))?;
    let level = Level::named(level).ok_or(format!("{level} is no level"))?;
    let reads = match *reads {
        "plain" => Reads::Plain,
        "locking" => Reads::Locking,
        other => return Err(format!("{other} is neither plain nor locking")),
    };
    let count: u32 = count.parse().map_err(|error| format!("{count}: {error}"))?;
    let seed: u64 = rest.first().and_then(|text| text.parse().ok()).unwrap_or(1);
    let began = Instant::now();
    let mut report = Report::default();
    for number in 0..count.div_ceil(TRANSACTIONS_PER_HISTORY) {
        let plan = Plan {
            level,
            reads,
            workload: Workload::ALL[number as usize % Workload::ALL.len()],
            connections: CONNECTIONS,
            transactions: TRANSACTIONS_PER_HISTORY,
            seed: seed + u64::from(number),
            database: format!("histories_{}", std::process::id()),
            reconnects: rest.contains(&"reconnect"),
        };
        report.add(check(&run(&server, &plan)?));
    }
    Ok(show(level, reads, &report, began))
}

fn show(level: Level, reads: Reads, report: &Report, began: Instant) -> bool {
    let permitted = permitted(level, reads);
    let found = report.classes();
    let names =
        |classes: Vec<&Class>| classes.iter().map(|class| class.name()).collect::<Vec<_>>().join(", ");
    println!(
        "{} {reads:?}: {} transactions, {} committed, {:.0} s",
        level.short_name(),
        report.transactions,
        report.committed,
        began.elapsed().as_secs_f64()
    );
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
