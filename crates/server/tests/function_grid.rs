//! Functions and operators answer as MySQL 9.7 did, but for the cells of the grid that are known to differ.
//!
//! `UPDATE_FUNCTION_GRID=1` writes the list of differences anew; reasons stay with their templates.

mod support;

use function_grid::{Difference, Grid, KnownDifferences, Recording, Target, folder, type_differences};
use support::TestServer;

const THREADS: usize = 4;
/// Differences that are shown in full.
const SHOWN_MAX: usize = 40;

#[test]
fn the_grid_answers_as_recorded() {
    let recording = Recording::read(&folder()).expect("the recording is whole");
    let known = KnownDifferences::read(&folder()).expect("the list is well formed");
    let server = TestServer::start(&[]);
    let target = Target { host: "127.0.0.1".to_owned(), port: server.port };
    let grid = Grid::all();
    let differences = grid.differences(&target, &recording, THREADS).expect("the server answers");
    if std::env::var_os("UPDATE_FUNCTION_GRID").is_some() {
        known.renewed(&differences).write(&folder()).expect("the list is written");
        return;
    }
    check(&known, &differences);
}

#[test]
fn tables_keep_the_values_in_the_columns_that_are_recorded() {
    let recording = Recording::read_types(&folder()).expect("the recording is whole");
    let known = KnownDifferences::read_types(&folder()).expect("the list is well formed");
    let server = TestServer::start(&[]);
    let target = Target { host: "127.0.0.1".to_owned(), port: server.port };
    let differences = type_differences(&target, &recording, "").expect("the server answers");
    if std::env::var_os("UPDATE_FUNCTION_GRID").is_some() {
        known.renewed(&differences).write_types(&folder()).expect("the list is written");
        return;
    }
    check(&known, &differences);
}

fn check(known: &KnownDifferences, differences: &[Difference]) {
    let new = differences.iter().filter(|difference| !known.is_known(difference.template, difference.index));
    let new: Vec<String> = new.map(ToString::to_string).collect();
    let gone = known.without(differences);
    assert!(
        new.is_empty() && gone.is_empty(),
        "{} cells differ that did not:\n{}\n{} cells are right that differed: {gone:?}",
        new.len(),
        new[..new.len().min(SHOWN_MAX)].join("\n"),
        gone.len(),
    );
}
