//! The schedules tool: records, checks and compares schedules on servers that run already.
//!
//! ```text
//! schedules record HOST:PORT [PART]       record the answers of a server, of schedules whose name holds PART
//! schedules check HOST:PORT [PART]        compare a server with what is recorded
//! schedules show HOST:PORT PART           print what a server answers
//! schedules random LEFT RIGHT FIRST COUNT [CLASS]
//!                                         compare two servers on random schedules from seed FIRST on; shrink and
//!                                         show the differences whose class holds CLASS
//! ```

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;

use schedules::{
    KnownDifferences, Library, Schedule, Target, Verdict, check_all, first_difference, folder, in_parallel,
    random_schedule, record_all, run, shrink,
};

const THREADS: usize = 8;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["record", target, rest @ ..] => record(target, rest.first().copied()),
        ["check", target, rest @ ..] => check(target, rest.first().copied().unwrap_or_default()),
        ["show", target, part] => show(target, part),
        ["random", left, right, first, count, rest @ ..] => {
            random(left, right, first, count, rest.first().copied().unwrap_or_default())
        }
        _ => Err("usage: schedules record|check|show|random ..".to_owned()),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn target(text: &str) -> Result<Target, String> {
    Target::parse(text).ok_or(format!("{text} is not host:port"))
}

fn record(at: &str, part: Option<&str>) -> Result<bool, String> {
    let mut library = Library::read(&folder())?;
    let mut chosen = Library::read(&folder())?.only(part.unwrap_or_default());
    let faults = record_all(&target(at)?, &mut chosen, THREADS);
    for entry in &mut library.entries {
        if let Some(recorded) = chosen.entries.iter_mut().find(|recorded| recorded.id() == entry.id()) {
            entry.recorded = recorded.recorded.take();
        }
    }
    library.write()?;
    for (id, why) in &faults {
        println!("{id}\n    {why}");
    }
    println!("{} recorded, {} not", chosen.entries.len() - faults.len(), faults.len());
    Ok(faults.is_empty())
}

fn check(at: &str, part: &str) -> Result<bool, String> {
    let library = Library::read(&folder())?.only(part);
    let known = KnownDifferences::read(&folder())?;
    let verdicts = check_all(&target(at)?, &library, &known, THREADS);
    for (id, verdict) in &verdicts {
        match verdict {
            Verdict::Equal | Verdict::Known => {}
            Verdict::Different { expected, found } => {
                println!("{id}\n    MySQL: {expected}\n    found: {found}")
            }
            other => println!("{id}\n    {other:?}"),
        }
    }
    let equal = verdicts.iter().filter(|(_, verdict)| *verdict == Verdict::Equal).count();
    let known = verdicts.iter().filter(|(_, verdict)| *verdict == Verdict::Known).count();
    println!("{} schedules: {equal} equal, {known} known to differ", verdicts.len());
    Ok(verdicts.iter().all(|(_, verdict)| !verdict.is_fault()))
}

fn show(at: &str, part: &str) -> Result<bool, String> {
    let target = target(at)?;
    for entry in Library::read(&folder())?.only(part).entries {
        println!("== {}", entry.id());
        for line in run(&target, &entry.schedule, &database("show"))? {
            println!("{line}");
        }
    }
    Ok(true)
}

fn database(what: &str) -> String {
    format!("schedules_{}_{what}", std::process::id())
}

/// What kind of difference it is, to tell those that change data from those that only change who waits.
fn class_of((left, right): &(String, String)) -> &'static str {
    let answer =
        |line: &str| line.split_once(" | ").map_or_else(String::new, |(_, answer)| answer.to_owned());
    let (left, right) = (answer(left), answer(right));
    let waits = |answer: &str| answer.starts_with("waits");
    let deadlock = |answer: &str| answer.contains("error 1213");
    match (waits(&left), waits(&right)) {
        (true, false) => "only the left one waits",
        (false, true) => "only the right one waits",
        _ if deadlock(&left) || deadlock(&right) => "another deadlock",
        _ => "another answer",
    }
}

/// The first difference between two servers on a schedule; `None` as well when a server is not of one mind.
fn difference(
    servers: &[Target; 2],
    schedule: &Schedule,
    database: &str,
) -> Result<Option<(String, String)>, String> {
    let left = run(&servers[0], schedule, database)?;
    let right = run(&servers[1], schedule, database)?;
    let Some(found) = first_difference(&left, &right) else { return Ok(None) };
    for (server, first) in servers.iter().zip([&left, &right]) {
        if first_difference(first, &run(server, schedule, database)?).is_some() {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

fn random(left: &str, right: &str, first: &str, count: &str, wanted: &str) -> Result<bool, String> {
    let servers = [target(left)?, target(right)?];
    let number = |text: &str| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
    let (first, count) = (number(first)?, number(count)?);
    let classes: Mutex<BTreeMap<&'static str, usize>> = Mutex::default();
    in_parallel(THREADS, count as usize, |index, thread| {
        let seed = first + index as u64;
        let database = database(&thread.to_string());
        let schedule = random_schedule(seed);
        match difference(&servers, &schedule, &database) {
            Ok(None) => {}
            Ok(Some(found)) => {
                let class = class_of(&found);
                *classes.lock().expect("no thread panics while it holds this").entry(class).or_default() += 1;
                if class.contains(wanted) {
                    report(&servers, &schedule, &database, class);
                }
            }
            Err(error) => println!("seed {seed}: {error}"),
        }
    });
    let classes = classes.into_inner().expect("no thread panics while it holds this");
    println!("{count} random schedules from seed {first}: {} differ", classes.values().sum::<usize>());
    for (class, count) in &classes {
        println!("    {class}: {count}");
    }
    Ok(classes.is_empty())
}

fn report(servers: &[Target; 2], schedule: &Schedule, database: &str, class: &str) {
    let differs = |candidate: &Schedule| match difference(servers, candidate, database) {
        Ok(Some(found)) => class_of(&found) == class,
        _ => false,
    };
    let small = shrink(schedule, differs);
    let mut text = format!("== {}\n", schedule.name);
    for server in servers {
        let lines = run(server, &small, database).unwrap_or_else(|error| vec![error]);
        text.push_str(&format!("--- port {}\n{}\n", server.port, lines.join("\n")));
    }
    if let Ok(Some((left, right))) = difference(servers, &small, database) {
        text.push_str(&format!("*** {left}\n*** {right}\n"));
    }
    println!("{text}");
}
