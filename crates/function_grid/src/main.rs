//! The function grid's tool, for servers that run already.
//!
//! ```text
//! function_grid record HOST:PORT          record the answers of a server
//! function_grid compare HOST:PORT [PART]  show how a server differs from what is recorded, in templates with PART
//! function_grid known HOST:PORT           write the list of differences anew; reasons stay with their templates
//! ```
use std::process::ExitCode;

use function_grid::{Cell, Known, KnownDifferences, Recording, TEMPLATES, Target, ask_all, cells_of, folder};

const THREADS: usize = 4;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["record", at] => record(at),
        ["compare", at] => compare(at, ""),
        ["compare", at, part] => compare(at, part),
        ["known", at] => known(at),
        _ => Err("usage: function_grid record|compare|known HOST:PORT".to_owned()),
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

/// All cells of the templates that hold `part`, with the template and the position of each.
fn grid(part: &str) -> Vec<(&'static str, usize, Cell)> {
    let chosen = TEMPLATES.iter().filter(|template| template.contains(part));
    let of_one = |template: &&'static str| {
        let template = *template;
        cells_of(template).into_iter().enumerate().map(move |(index, cell)| (template, index, cell))
    };
    chosen.flat_map(of_one).collect()
}

fn ask(at: &str, grid: &[(&'static str, usize, Cell)]) -> Result<Vec<String>, String> {
    let cells: Vec<Cell> = grid.iter().map(|(_, _, cell)| cell.clone()).collect();
    ask_all(&target(at)?, &cells, None, THREADS).map_err(|error| error.to_string())
}

fn record(at: &str) -> Result<(), String> {
    let grid = grid("");
    let mut recording = Recording::default();
    for ((template, ..), answer) in grid.iter().zip(ask(at, &grid)?) {
        recording.answers.entry((*template).to_owned()).or_default().push(answer);
    }
    recording.write(&folder())?;
    println!("{} cells of {} templates", grid.len(), TEMPLATES.len());
    Ok(())
}

fn compare(at: &str, part: &str) -> Result<(), String> {
    let recording = Recording::read(&folder())?;
    let grid = grid(part);
    let mut differences = 0;
    for ((template, index, cell), answer) in grid.iter().zip(ask(at, &grid)?) {
        let expected = &recording.answers[*template][*index];
        if *expected != answer {
            differences += 1;
            println!("{template}\t{index}\t{}\n    {expected}\n    {answer}", cell.shown());
        }
    }
    println!("{differences} of {} cells differ", grid.len());
    Ok(())
}

fn known(at: &str) -> Result<(), String> {
    const NO_REASON: &str = "Not yet looked at.";
    let recording = Recording::read(&folder())?;
    let old = KnownDifferences::read(&folder()).unwrap_or_default();
    let mut list = KnownDifferences::default();
    let grid = grid("");
    for ((template, index, _), answer) in grid.iter().zip(ask(at, &grid)?) {
        if recording.answers[*template][*index] != answer {
            let reason = old.templates.get(*template).map_or(NO_REASON, |known| known.reason.as_str());
            let entry = list.templates.entry((*template).to_owned());
            let entry = entry.or_insert_with(|| Known { reason: reason.to_owned(), ..Known::default() });
            entry.cells.insert(*index);
        }
    }
    list.write(&folder())
}
