//! The companion: `evenkeel bench|record|report|compare|top|watch|doctor|device|ping|backup`, for any MySQL-speaking server.
//!
//! Invariant: nothing here needs a feature of one server; what a server lacks is left out and said. Called by
//! `server`'s main, which hands over the arguments.
//!
//! Reading order: `arguments` has what all commands share, then one file per command.
#![forbid(unsafe_code)]

mod advice;
mod arguments;
mod backup_command;
mod backup_file;
mod bench_command;
mod compare_command;
mod device_command;
mod directory;
mod directory_host;
mod doctor_command;
mod examination;
mod history_command;
mod lines;
mod listen;
mod live;
mod output;
mod ping_command;
mod place;
mod record_command;
mod replicating;
mod report_command;
mod session;
mod side;
mod sweep_command;
mod tables;
mod top_command;
mod waiting;
mod watch_command;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use directory::Examine;
pub use examination::{Examination, Fact, size_text};

/// The names of the commands, as the first argument of the program.
pub const COMMANDS: [&str; 10] =
    ["bench", "record", "report", "compare", "top", "watch", "doctor", "device", "ping", "backup"];

/// Whether the arguments are for this crate.
#[must_use]
pub fn is_command(arguments: &[String]) -> bool {
    arguments.first().is_some_and(|first| COMMANDS.contains(&first.as_str()))
}

#[derive(Parser)]
#[command(
    name = "evenkeel",
    disable_version_flag = true,
    disable_help_subcommand = true,
    after_help = "--help behind each of them lists its options, with an example. A server is named by a DSN: mysql://user:password@host:port/database"
)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Load data, run workloads, sweep connections, keep a history.
    #[command(subcommand)]
    Bench(Bench),
    /// Record a server and its host every second into one file.
    #[command(
        after_help = "Example: evenkeel record --dsn mysql://root@127.0.0.1:3306 run.rec    (Ctrl-C ends it; then: evenkeel report run.rec)"
    )]
    Record(record_command::Record),
    /// Draw recordings and runs: HTML, SVG, CSV.
    #[command(
        after_help = "Example: evenkeel report old=old.rec,old.jsonl new=new.rec,new.jsonl --out report.html --svg report.svg"
    )]
    Report(report_command::Report),
    /// Run the same work on several servers in turn, and say which does more and how sure that is.
    #[command(
        after_help = "Example: evenkeel compare oltp:read_write --rows 100000 --load -c 16 --time 60 --blocks 6 old=mysql://root@127.0.0.1:3306 new=mysql://root@127.0.0.1:3307"
    )]
    Compare(compare_command::Compare),
    /// Watch a server on a terminal: statements, waits, input and output, locks.
    #[command(
        after_help = "Example: evenkeel top --dsn mysql://root@127.0.0.1:3306    (q ends, space holds still)"
    )]
    Top(top_command::Top),
    /// The same as a live page on 127.0.0.1.
    #[command(after_help = "Example: evenkeel watch --dsn mysql://root@127.0.0.1:3306 --port 0")]
    Watch(watch_command::Watch),
    /// Look for what hurts a server, by rules of thumb.
    #[command(
        after_help = "Example: evenkeel doctor --dsn mysql://root@127.0.0.1:3306\n         evenkeel doctor run.rec\n         evenkeel doctor /var/lib/evenkeel -- --innodb-buffer-pool-size=8G"
    )]
    Doctor(doctor_command::Doctor),
    /// Measure what a disk does, as a profile that reports embed.
    #[command(after_help = "Example: evenkeel device /var/lib/mysql --out disk.json")]
    Device(device_command::Device),
    /// Have a server copy its data while it works.
    #[command(
        after_help = "Examples: evenkeel backup --to /backups/monday --dsn mysql://root@127.0.0.1:3306\n          evenkeel backup --to-file monday.ekb --compress --key-file backup.key\n          evenkeel backup --to-file tuesday.ekb --incremental-from monday.ekb --compress --key-file backup.key\n          evenkeel backup --to - --max-rate 50M | ssh host 'cat > monday.ekb'"
    )]
    Backup(backup_command::Backup),
    /// Ask whether a server answers.
    #[command(after_help = "Example: evenkeel ping --dsn mysql://root@127.0.0.1:3306 --wait 60")]
    Ping(ping_command::Ping),
}

#[derive(Subcommand)]
enum Bench {
    /// The workloads there are.
    List,
    /// Create and fill a workload's tables.
    #[command(after_help = "Example: evenkeel bench load tpcc --scale 10 --dsn mysql://root@127.0.0.1:3306")]
    Load(bench_command::Load),
    /// Run a workload.
    #[command(
        after_help = "Example: evenkeel bench run oltp:read_write --rows 100000 --load -c 16 --time 60 --dsn mysql://root@127.0.0.1:3306"
    )]
    Run(bench_command::Run),
    /// Ask a workload's consistency questions.
    #[command(after_help = "Example: evenkeel bench check tpcc --scale 10 --dsn mysql://root@127.0.0.1:3306")]
    Check(bench_command::Check),
    /// Run a workload with ever more connections, as one table.
    #[command(
        after_help = "Example: evenkeel bench sweep oltp:read_only --rows 100000 --levels 8..512 --time 20 --dsn mysql://root@127.0.0.1:3306"
    )]
    Sweep(sweep_command::Sweep),
    /// The runs kept so far.
    #[command(after_help = "Example: evenkeel bench history oltp:read_write")]
    History(history_command::List),
}

/// Does what the arguments say. 0 is good; 1 is a run that failed or met a `--fail-if`; 2 is a wrong argument.
/// `examine` is what the server knows of a data directory.
pub fn run(arguments: &[String], examine: Examine) -> ExitCode {
    let line =
        match Line::try_parse_from(std::iter::once("evenkeel".to_owned()).chain(arguments.iter().cloned())) {
            Ok(line) => line,
            Err(error) => {
                // It goes to standard output when it is the help that was asked for.
                let _ = error.print();
                return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
            }
        };
    let result = match line.command {
        Command::Bench(Bench::List) => bench_command::list(),
        Command::Bench(Bench::Load(load)) => load.run(),
        Command::Bench(Bench::Run(run)) => run.run(),
        Command::Bench(Bench::Check(check)) => check.run(),
        Command::Bench(Bench::Sweep(sweep)) => sweep.run(),
        Command::Bench(Bench::History(list)) => list.run(),
        Command::Record(record) => record.run(),
        Command::Report(report) => report.run(),
        Command::Doctor(doctor) => doctor.run(examine),
        Command::Compare(compare) => compare.run(),
        Command::Top(top) => top.run(),
        Command::Watch(watch) => watch.run(),
        Command::Device(device) => device.run(),
        Command::Backup(backup) => backup.run(),
        Command::Ping(ping) => ping.run(),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            advice::tell(&message);
            ExitCode::FAILURE
        }
    }
}
