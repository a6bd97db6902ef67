//! Which columns CREATE TABLE .. SELECT makes of every function and operator, over columns and constants of each type.
//!
//! MySQL's answers are recorded in `grid/types.zst`; `grid/known_types.txt` lists what differs. An answer is the column's
//! type, `!` if it is NOT NULL, and its character set unless that is utf8mb4; or `!` and the number of an error. No row is
//! read, so errors are those of binding. Invariant: as with the grid of answers, the cells of a template depend on its
//! text and the lists here only.
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::difference::Difference;
use crate::recording::Recording;
use crate::server::Target;
use crate::type_arguments::SETUP;
use crate::type_cells::{type_cells_of, type_templates};

/// Columns that are asked of one statement.
const BATCH: usize = 48;

/// What a server makes of all cells of the templates that hold `part`.
pub fn record_types(target: &Target, part: &str) -> Result<Recording, mysql::Error> {
    let mut connection = target.connect()?;
    for statement in SETUP {
        connection.query_drop(statement)?;
    }
    let mut recording = Recording::default();
    for template in type_templates().filter(|template| template.contains(part)) {
        let mut answers = Vec::new();
        for cells in type_cells_of(template).chunks(BATCH) {
            ask(&mut connection, cells, &mut answers)?;
        }
        recording.answers.insert(template.to_owned(), answers);
    }
    connection.query_drop("drop database type_grid")?;
    Ok(recording)
}

/// How a server differs from what is recorded.
pub fn type_differences(
    target: &Target,
    recording: &Recording,
    part: &str,
) -> Result<Vec<Difference>, mysql::Error> {
    let answered = record_types(target, part)?;
    let mut differences = Vec::new();
    for template in type_templates().filter(|template| template.contains(part)) {
        let pairs = recording.answers[template].iter().zip(&answered.answers[template]);
        for (index, ((expected, answer), cell)) in pairs.zip(type_cells_of(template)).enumerate() {
            if expected != answer {
                let (expected, answer) = (expected.clone(), answer.clone());
                differences.push(Difference { template, index, cell, expected, answer });
            }
        }
    }
    Ok(differences)
}

/// One table for all cells; where that fails, for fewer.
fn ask(connection: &mut Conn, cells: &[String], answers: &mut Vec<String>) -> Result<(), mysql::Error> {
    let columns: Vec<String> =
        cells.iter().enumerate().map(|(number, cell)| format!("{cell} c{number}")).collect();
    connection.query_drop("drop table if exists kept")?;
    match connection.query_drop(format!("create table kept select {} from g limit 0", columns.join(", "))) {
        Ok(()) => {
            let rows: Vec<(String, String, Option<String>)> = connection.query(
                "select column_type, is_nullable, character_set_name from information_schema.columns \
                 where table_schema = 'type_grid' and table_name = 'kept' order by ordinal_position",
            )?;
            answers.extend(rows.into_iter().map(|(column_type, nullable, charset)| {
                let not_null = if nullable == "NO" { "!" } else { "" };
                match charset.filter(|charset| charset != "utf8mb4") {
                    Some(charset) => format!("{column_type}{not_null} {charset}"),
                    None => format!("{column_type}{not_null}"),
                }
            }));
            Ok(())
        }
        Err(mysql::Error::MySqlError(error)) if cells.len() == 1 => {
            answers.push(format!("!{}", error.code));
            Ok(())
        }
        Err(mysql::Error::MySqlError(_)) => {
            cells.chunks(cells.len().div_ceil(4)).try_for_each(|part| ask(connection, part, answers))
        }
        Err(error) => Err(error),
    }
}
