//! The stress tool: runs workloads on a server that runs already, and checks what must hold under load.

use std::process::ExitCode;
use std::time::Duration;

use stress::{Plan, Server, Workload};

const SECONDS: u64 = 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match start(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn help() -> String {
    let mut text = "\
stress HOST:PORT WORKLOAD [OPTION..]

Runs many sessions against a server (as root, without a password) and checks, during the run and at its end, what must
hold. A line per second goes to stderr, the result as a table to stdout; the exit status is 1 if anything did not hold.
All tables are in a database of the run's own, stress_PID, which is dropped.

Workloads:
"
    .to_owned();
    for workload in &Workload::ALL {
        text.push_str(&format!(
            "  {:15} {} ({} sessions)\n",
            workload.name, workload.about, workload.sessions
        ));
    }
    text.push_str(&format!(
        "  {:15} one after the other\n
Options:
  --seconds N     how long, {SECONDS} unless said; those that measure in rounds end the round
  --sessions N    instead of the workload's own number
  --seed N        other random numbers
  --kills N       kill N random queries or connections per second (not convoy, long_snapshot, release)
  --process PID   the server's process on this machine: long_snapshot shows its memory
  --quiet         no line per second

Examples:
  stress 127.0.0.1:3306 bank --seconds 600 --sessions 64 --kills 5
  stress 127.0.0.1:3306 long_snapshot --seconds 3600 --process $(pidof evenkeel)
  for port in 3306 3307 3306 3307; do stress 127.0.0.1:$port hot_row --quiet; done    two servers, by turns

How to read it: `refused` counts error numbers that the workload expects (1205, 1213, kills). `unknown` are transactions
whose connection was lost at COMMIT: they may have been carried out, and the exact checks allow for just these. Sessions
wait for locks, so many of them need no more of the machine than few; a server needs max_connections above SESSIONS + 5.",
        "all"
    ));
    text
}

fn start(arguments: &[String]) -> Result<bool, String> {
    let (at, name, options) = match arguments {
        [at, name, options @ ..] if !at.starts_with('-') => (at, name, options),
        _ if arguments.iter().any(|word| word == "--help" || word == "-h") => {
            println!("{}", help());
            return Ok(true);
        }
        _ => return Err(help()),
    };
    let server = Server::parse(at).ok_or(format!("{at} is not HOST:PORT"))?;
    let chosen = match name.as_str() {
        "all" => Workload::ALL.iter().collect(),
        name => vec![Workload::named(name).ok_or(format!("{name} is no workload; see --help"))?],
    };
    let mut plan = Plan {
        duration: Duration::from_secs(SECONDS),
        sessions: 0,
        seed: 1,
        kills_per_second: 0,
        database: format!("stress_{}", std::process::id()),
        process: None,
        shows_progress: true,
    };
    let mut sessions = None;
    let mut words = options.iter();
    while let Some(option) = words.next() {
        let mut number = || -> Result<u64, String> {
            let text = words.next().ok_or(format!("{option} needs a number"))?;
            text.parse().map_err(|error| format!("{option} {text}: {error}"))
        };
        let small = |number: u64| u32::try_from(number).map_err(|error| format!("{option}: {error}"));
        match option.as_str() {
            "--seconds" => plan.duration = Duration::from_secs(number()?),
            "--sessions" => sessions = Some(small(number()?)?.max(1)),
            "--seed" => plan.seed = number()?,
            "--kills" => plan.kills_per_second = small(number()?)?,
            "--process" => plan.process = Some(small(number()?)?),
            "--quiet" => plan.shows_progress = false,
            other => return Err(format!("{other} is no option; see --help")),
        }
    }
    let mut all_hold = true;
    for workload in chosen {
        let sessions = sessions.unwrap_or(workload.sessions);
        let kills_per_second = if workload.bears_kills || name != "all" { plan.kills_per_second } else { 0 };
        let report = workload.run(&server, &Plan { sessions, kills_per_second, ..plan.clone() });
        println!("{report}");
        all_hold &= report.faults().is_empty();
    }
    Ok(all_hold)
}
