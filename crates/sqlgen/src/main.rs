//! The sqlgen tool: compares two servers on the queries of random seeds.
//!
//! ```text
//! sqlgen REFERENCE TESTED FIRST COUNT     run COUNT seeds from FIRST on; addresses are HOST:PORT
//! sqlgen scripts SERVER FOLDER [PART]     play the SQL scripts of a folder on a server and tell what it answers otherwise
//! sqlgen show SEED                        print the statements that make a seed's table
//! ```
use std::path::Path;
use std::process::ExitCode;

use sqlgen::{Random, Table, compare_seed, connect, play_scripts};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["show", seed] => show(seed),
        ["scripts", at, folder] => scripts(at, folder, ""),
        ["scripts", at, folder, part] => scripts(at, folder, part),
        [reference, tested, first, count] => compare(reference, tested, first, count),
        _ => Err("usage: sqlgen REFERENCE TESTED FIRST COUNT | sqlgen show SEED | sqlgen scripts SERVER FOLDER [PART]".to_owned()),
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
    let table = Table::new(&mut Random::new(number(seed)?));
    table.statements.iter().for_each(|statement| println!("{statement};"));
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

/// Gives the number of differences.
fn compare(reference: &str, tested: &str, first: &str, count: &str) -> Result<usize, String> {
    let (first, count) = (number(first)?, number(count)?);
    let (mut reference, mut tested) = (connect(reference)?, connect(tested)?);
    let mut found = 0;
    for seed in first..first.saturating_add(count) {
        for difference in compare_seed(seed, &mut reference, &mut tested) {
            found += 1;
            println!("seed {}: {}", difference.seed, difference.query);
            println!("  {}", difference.statements.get(1).map_or("", String::as_str));
            println!("  reference {:?}", difference.reference);
            println!("  tested    {:?}", difference.tested);
        }
    }
    println!("{count} seeds, {found} differences");
    Ok(found)
}
