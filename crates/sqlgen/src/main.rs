//! The sqlgen tool: compares two servers on the queries of random seeds.
//!
//! ```text
//! sqlgen REFERENCE TESTED FIRST COUNT     run COUNT seeds from FIRST on, 100 queries each; addresses are HOST:PORT
//! sqlgen check SERVER FIRST COUNT         ask one server whether it agrees with itself, 100 conditions a seed
//! sqlgen scripts SERVER FOLDER [PART]     play the SQL scripts of a folder on a server and tell what it answers otherwise
//! sqlgen programs REFERENCE TESTED FIRST COUNT   run COUNT seeds of stored programs, six a seed
//! sqlgen program SEED                     print the script of a seed of programs, as the session's tests have it
//! sqlgen show SEED                        print the statements that make a seed's table, in its SQL mode
//! ```
use std::path::Path;
use std::process::ExitCode;

use sqlgen::{
    CLEAN, Random, Script, begin, check_seed, classify, compare_programs, compare_seed, connect,
    play_scripts, summary,
};

/// Seeds that are run beside each other.
const WORKERS: usize = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["show", seed] => show(seed),
        ["program", seed] => program(seed),
        ["programs", reference, tested, first, count] => programs(reference, tested, first, count),
        ["scripts", at, folder] => scripts(at, folder, ""),
        ["scripts", at, folder, part] => scripts(at, folder, part),
        ["check", at, first, count] => check(at, first, count),
        [reference, tested, first, count] => compare(reference, tested, first, count),
        _ => Err("usage: sqlgen REFERENCE TESTED FIRST COUNT | check SERVER FIRST COUNT | programs REFERENCE TESTED FIRST COUNT | program SEED | show SEED | scripts SERVER FOLDER [PART]"
            .to_owned()),
    };
    match result {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("{word} is no number"))
}

fn show(seed: &str) -> Result<usize, String> {
    let (table, mode) = begin(&mut Random::new(number(seed)?));
    std::iter::once(&mode).chain(&table.statements).for_each(|statement| println!("{statement};"));
    Ok(0)
}

fn scripts(at: &str, folder: &str, part: &str) -> Result<usize, String> {
    let (differences, count) = play_scripts(at, Path::new(folder), part)?;
    for difference in &differences {
        println!("{}: {}", difference.script, difference.statement);
        println!("--- recorded\n{}\n--- answered\n{}", difference.recorded, difference.answered);
    }
    println!("{count} statements, {} differences", differences.len());
    Ok(differences.len())
}

/// Runs the seeds on all workers; `run` is told the worker's number and a seed.
fn on_workers<T: Send, S>(
    first: &str,
    count: &str,
    begin: impl Fn(usize) -> Result<S, String> + Sync,
    run: impl Fn(&mut S, u64) -> Vec<T> + Sync,
) -> Result<Vec<T>, String> {
    let (first, count) = (number(first)?, number(count)?);
    let work = &|worker: usize| -> Result<Vec<T>, String> {
        let mut state = begin(worker)?;
        let seeds = (first..first.saturating_add(count)).skip(worker).step_by(WORKERS);
        Ok(seeds.flat_map(|seed| run(&mut state, seed)).collect::<Vec<T>>())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|worker| scope.spawn(move || work(worker))).collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().map_err(|_| "a worker panicked".to_owned())??);
        }
        Ok(all)
    })
}

/// Gives the number of differences.
fn compare(reference: &str, tested: &str, first: &str, count: &str) -> Result<usize, String> {
    let begin = |worker| Ok((connect(reference, worker)?, connect(tested, worker)?));
    let differences =
        on_workers(first, count, begin, |(reference, tested), seed| compare_seed(seed, reference, tested))?;
    let found = differences.len();
    let classes = classify(differences);
    for class in &classes {
        let difference = &class.smallest;
        println!("{} x {}", class.count, class.name);
        println!("seed {}: {}", difference.seed, difference.query);
        println!("  {}", difference.statements.get(1).map_or("", String::as_str));
        println!("  reference {:?}", difference.reference);
        println!("  tested    {:?}", difference.tested);
    }
    println!("{count} seeds, {found} differences in {} classes: {}", classes.len(), summary(&classes));
    Ok(found)
}

/// As a script without answers, which the session's tests add.
fn program(seed: &str) -> Result<usize, String> {
    let script = Script::new(&mut Random::new(number(seed)?)).all();
    println!("# seed {seed}\n");
    for statement in script.iter().map(String::as_str).chain(CLEAN.iter().copied()) {
        println!("{statement}\n----\n");
    }
    Ok(0)
}

/// Gives the number of seeds that differ otherwise than in argued ways, the smallest of each class first.
fn programs(reference: &str, tested: &str, first: &str, count: &str) -> Result<usize, String> {
    let begin = |worker| Ok((connect(reference, worker)?, connect(tested, worker)?));
    let mut found = on_workers(first, count, begin, |(reference, tested), seed| {
        compare_programs(seed, reference, tested).into_iter().collect()
    })?;
    let (argued, mut found): (Vec<_>, Vec<_>) =
        found.drain(..).partition(|difference| difference.argued.is_some());
    found.sort_by_key(|difference| (difference.class(), difference.statements.concat().len()));
    for class in found.chunk_by(|one, other| one.class() == other.class()) {
        let Some(smallest) = class.first() else { continue };
        println!("{} x {}", class.len(), smallest.class());
        println!("seed {}: {}", smallest.seed, smallest.statements.join(";\n"));
        println!("  reference {}", smallest.reference);
        println!("  tested    {}", smallest.tested);
    }
    for difference in &argued {
        println!("argued seed {}: {}", difference.seed, difference.argued.unwrap_or_default());
    }
    println!("{count} seeds, {} differences, {} argued ones", found.len(), argued.len());
    Ok(found.len())
}

/// Gives the number of contradictions.
fn check(at: &str, first: &str, count: &str) -> Result<usize, String> {
    let begin = |worker| connect(at, worker);
    let seeds = on_workers(first, count, begin, |tested, seed| vec![check_seed(seed, tested)])?;
    let conditions: usize = seeds.iter().map(|(_, count)| count).sum();
    let found: Vec<_> = seeds.into_iter().flat_map(|(found, _)| found).collect();
    for contradiction in &found {
        println!("seed {}: {}: {}", contradiction.seed, contradiction.problem, contradiction.condition);
        println!("  {}", contradiction.table);
    }
    println!("{conditions} conditions, {} contradictions", found.len());
    Ok(found.len())
}
