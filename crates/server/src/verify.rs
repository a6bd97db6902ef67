//! `evenkeel verify`: everything in a data directory is checked, and what is wrong is told by the names of tables; and
//! `evenkeel inspect`, which shows one thing of it.
//!
//! Invariant: the directory is not written. Recovery, which a killed server leaves to do, happens in memory, so what is
//! checked is what the next start would find. Called by `main`.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use catalog::Catalog;
use engine::{Engine, EngineError, EngineOptions, Fault, Inspected, Survey, TreeId};
use env::local::{ThreadSpawner, block_on};

use crate::data_directory::hold_for_reading;

const POOL_BYTES: u64 = 64 << 20;

/// A tree of a table, as people know it.
struct Owner {
    table: String,
    /// `None`: the rows themselves.
    index: Option<String>,
}

/// True when nothing is wrong.
pub fn verify(directory: &Path, key_file: Option<&Path>) -> Result<bool, String> {
    if key_file.is_none() && crate::log_archive::is_archive(directory)? {
        return crate::log_archive::verify(directory);
    }
    if crate::backup_file::is_one(directory) {
        return crate::backup_file::verify(directory, key_file);
    }
    if key_file.is_some() {
        return Err(format!("{} is a directory: --key-file is for backup files", directory.display()));
    }
    let _lock = hold_for_reading(directory)?;
    println!("checking {}; nothing is written there", directory.display());
    let environment = env::real::scratch_env(directory, Arc::new(ThreadSpawner::new(1)));
    let options = EngineOptions { buffer_pool_bytes: POOL_BYTES, ..EngineOptions::default() };
    let engine = match block_on(Engine::open(environment, options)) {
        Ok(engine) => engine,
        Err(error @ EngineError::SegmentStore { .. }) => return Err(error.to_string()),
        Err(error) => {
            println!("damaged: {error}");
            println!(
                "  a server does not start on this; go back to a backup, or to another copy of the file named"
            );
            return Ok(false);
        }
    };
    println!("superblocks and log: sound, a server can start");
    let mut is_sound = true;
    block_on(engine.finish_background());
    for lost in engine.take_damage_news() {
        is_sound = false;
        println!("damaged: {lost}; the log has changes for it that cannot be made");
    }
    let survey = block_on(engine.survey(show_progress));
    let catalog = block_on(Catalog::open(engine.clone()));
    let owners = match &catalog {
        Ok(catalog) => owners(catalog),
        Err(error) => {
            is_sound = false;
            println!("damaged: the data dictionary: {}", error.message);
            BTreeMap::new()
        }
    };
    describe(&survey);
    for fault in &survey.faults {
        is_sound = false;
        print_fault(fault, &owners);
    }
    if let Ok(catalog) = &catalog {
        is_sound &= check_tables(catalog, &engine, &survey, &owners);
    }
    println!("{}", if is_sound { "everything is sound" } else { "there is damage, see above" });
    Ok(is_sound)
}

/// Shows one thing of a data directory.
pub fn inspect(directory: &Path, what: Inspected) -> Result<(), String> {
    let _lock = hold_for_reading(directory)?;
    let environment = env::real::scratch_env(directory, Arc::new(ThreadSpawner::new(1)));
    let text = block_on(engine::inspect(&environment, what)).map_err(|error| error.to_string())?;
    print!("{text}");
    Ok(())
}

/// One line that is written over and over, for people; nothing when the output goes to a file.
fn show_progress(what: &str, done: u64, all: u64) {
    let mut output = std::io::stderr();
    if output.is_terminal() {
        let end = if done == all { "\n" } else { "" };
        // Progress that cannot be shown is no reason to stop.
        let _ = write!(output, "\r{what}: {done} of {all}{end}");
    }
}

fn owners(catalog: &Catalog) -> BTreeMap<TreeId, Owner> {
    let mut owners = BTreeMap::new();
    for database in catalog.databases() {
        for table in catalog.tables(&database.name) {
            let definition = table.definition();
            let name = format!("{}.{}", definition.database, definition.name);
            owners.insert(TreeId(definition.tree), Owner { table: name.clone(), index: None });
            for index in definition.indexes.iter().filter(|index| index.tree != definition.tree) {
                let owner = Owner { table: name.clone(), index: Some(index.name.clone()) };
                owners.insert(TreeId(index.tree), owner);
            }
        }
    }
    owners
}

fn describe(survey: &Survey) {
    let Survey { report, pages_intact, pages_absent, pages_damaged_unused, .. } = survey;
    println!(
        "trees: {} sound with {} records in {} pages, {} long values in {} pages",
        report.trees, report.records, report.tree_pages, report.long_values, report.long_value_pages
    );
    println!("pages: {pages_intact} intact, {pages_absent} not in use and empty");
    if *pages_damaged_unused > 0 {
        println!("note: {pages_damaged_unused} damaged pages are not in use; the next use overwrites them");
    }
}

fn print_fault(fault: &Fault, owners: &BTreeMap<TreeId, Owner>) {
    let owner = fault.tree.and_then(|tree| owners.get(&tree));
    match (owner, fault.tree) {
        (Some(Owner { table, index: None }), _) => {
            println!("damaged: table {table}: {}", fault.what);
            println!(
                "  what lies on other pages can still be selected (by ranges of the primary key); then DROP TABLE \
                 and restore it from a backup"
            );
        }
        (Some(Owner { table, index: Some(index) }), _) => {
            println!("damaged: table {table}, index {index}: {}", fault.what);
            println!("  the rows are not concerned: OPTIMIZE TABLE {table} makes the index anew");
        }
        (None, Some(TreeId::CATALOG)) => {
            println!("damaged: the data dictionary: {}", fault.what);
            println!("  a server does not start on this; go back to a backup");
        }
        (None, Some(tree)) => println!("damaged: tree {}, which belongs to no table: {}", tree.0, fault.what),
        (None, None) => {
            println!("damaged: {}", fault.what);
            println!(
                "  it belongs to no tree that can be followed there: a long value, the space map or a lost branch"
            );
        }
    }
}

/// The dictionary against the trees, and the rows of sound tables against their indexes.
fn check_tables(
    catalog: &Arc<Catalog>,
    engine: &Engine,
    survey: &Survey,
    owners: &BTreeMap<TreeId, Owner>,
) -> bool {
    let trees = engine.tree_ids();
    let mut is_sound = true;
    for (_, owner) in owners.iter().filter(|(tree, _)| !trees.contains(tree)) {
        is_sound = false;
        let index = owner.index.as_ref().map_or(String::new(), |index| format!(", index {index}"));
        println!("damaged: table {}{index}: its tree is missing", owner.table);
    }
    for tree in trees.iter().filter(|tree| **tree != TreeId::CATALOG && !owners.contains_key(tree)) {
        println!("note: tree {} belongs to no table; it takes space and does no other harm", tree.0);
    }
    let damaged: Vec<&str> = survey
        .faults
        .iter()
        .filter_map(|fault| fault.tree)
        .filter_map(|tree| owners.get(&tree).map(|owner| owner.table.as_str()))
        .collect();
    let (mut compared, mut rows_wrong) = (0, 0);
    for database in catalog.databases() {
        for table in catalog.tables(&database.name) {
            let name = format!("{}.{}", table.definition().database, table.definition().name);
            if damaged.contains(&name.as_str()) {
                continue;
            }
            compared += 1;
            let faults = match block_on(catalog::check_table(&table, &mut catalog.begin_change())) {
                Ok(faults) => faults,
                Err(error) => vec![error.message],
            };
            rows_wrong += usize::from(!faults.is_empty());
            faults.iter().for_each(|fault| println!("damaged: table {name}: {fault}"));
        }
    }
    println!("tables: rows and indexes of {} agree", compared - rows_wrong);
    is_sound && rows_wrong == 0
}
