//! The function grid's tool, for servers that run already.
//!
//! ```text
//! function_grid record HOST:PORT          record the answers of a server
//! function_grid compare HOST:PORT [PART]  show how a server differs from what is recorded, in templates with PART
//! function_grid show PART                 print the recorded answers to the cells of templates with PART
//! function_grid known HOST:PORT           write the list of differences anew; reasons stay with their templates
//! function_grid types record HOST:PORT    the same of the columns that CREATE TABLE .. SELECT makes
//! function_grid types compare HOST:PORT [PART]
//! ```
use std::process::ExitCode;

use function_grid::{Grid, KnownDifferences, Recording, Target, folder, record_types, type_differences};

const THREADS: usize = 4;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["record", at] => record(at),
        ["compare", at] => compare(at, ""),
        ["compare", at, part] => compare(at, part),
        ["show", part] => show(part),
        ["known", at] => known(at),
        ["types", "record", at] => record_all_types(at),
        ["types", "compare", at] => compare_types(at, ""),
        ["types", "compare", at, part] => compare_types(at, part),
        _ => Err("usage: function_grid record|compare|known HOST:PORT, or show PART".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn target(at: &str) -> Result<Target, String> {
    Target::parse(at).ok_or(format!("{at} is not host:port"))
}

fn record(at: &str) -> Result<(), String> {
    let grid = Grid::all();
    let recording = grid.record(&target(at)?, THREADS).map_err(|error| error.to_string())?;
    recording.write(&folder())?;
    println!("{} cells of {} templates", grid.len(), recording.answers.len());
    Ok(())
}

fn compare(at: &str, part: &str) -> Result<(), String> {
    let grid = Grid::of(part);
    let recording = Recording::read(&folder())?;
    let differences =
        grid.differences(&target(at)?, &recording, THREADS).map_err(|error| error.to_string())?;
    for difference in &differences {
        println!("{difference}");
    }
    println!("{} of {} cells differ", differences.len(), grid.len());
    Ok(())
}

fn show(part: &str) -> Result<(), String> {
    let recording = Recording::read(&folder())?;
    for (cell, answer) in Grid::of(part).recorded(&recording) {
        println!("{cell}\n    {answer}");
    }
    Ok(())
}

fn record_all_types(at: &str) -> Result<(), String> {
    let recording = record_types(&target(at)?, "").map_err(|error| error.to_string())?;
    recording.write_types(&folder())?;
    let count: usize = recording.answers.values().map(Vec::len).sum();
    println!("{count} cells of {} templates", recording.answers.len());
    Ok(())
}

fn compare_types(at: &str, part: &str) -> Result<(), String> {
    let recording = Recording::read_types(&folder())?;
    let differences = type_differences(&target(at)?, &recording, part).map_err(|error| error.to_string())?;
    for difference in &differences {
        println!("{difference}");
    }
    println!("{} cells differ", differences.len());
    Ok(())
}

fn known(at: &str) -> Result<(), String> {
    let recording = Recording::read(&folder())?;
    let old = KnownDifferences::read(&folder()).unwrap_or_default();
    let differences =
        Grid::all().differences(&target(at)?, &recording, THREADS).map_err(|error| error.to_string())?;
    old.renewed(&differences).write(&folder())
}
