//! Which columns CREATE TABLE .. SELECT makes of every function and operator, over columns and constants of each type.
//!
//! MySQL's answers are recorded in `grid/types.zst`; `grid/known_types.txt` lists what differs. An answer is the column's
//! type, `!` if it is NOT NULL, and its character set unless that is utf8mb4; or `!` and the number of an error. No row is
//! read, so errors are those of binding. Invariant: as with the grid of answers, the cells of a template depend on its
//! text and the lists here only.
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::cell::{Random, filled, pieces};
use crate::grid::Difference;
use crate::recording::Recording;
use crate::server::Target;
use crate::templates::TEMPLATES;

/// Columns that are asked of one statement.
const BATCH: usize = 48;
/// Cells of a template with several places.
const CELLS_MAX: usize = 48;

/// The columns are named after their types; those that begin with `x` are NOT NULL.
const SETUP: &[&str] = &[
    "set names utf8mb4",
    "set time_zone = '+00:00'",
    "set sql_mode = ''",
    "drop database if exists type_grid",
    "create database type_grid charset utf8mb4",
    "use type_grid",
    "create table g (ti tinyint, ui int unsigned, bi bigint, ub bigint unsigned, de decimal(12,3), d0 decimal(20,0), \
     fl float, db double, ch char(5), vc varchar(20), la varchar(20) charset latin1, tx text, vb varbinary(20), bl blob, \
     da date, t0 time, tm time(2), dt datetime, dm datetime(3), ts timestamp(3) null, yr year, en enum('b','a','12'), \
     st set('x','y','z'), bt bit(9), js json, xi int not null, xv varchar(10) not null, xd decimal(5,2) not null, \
     xt datetime not null, xb varbinary(7) not null)",
];

/// What the grid of answers leaves out, because its values are the session's, the clock's or random, and what is no
/// function of one row.
const MORE: &[&str] = &[
    "benchmark(1, {i})",
    "connection_id()",
    "current_role()",
    "current_user()",
    "database()",
    "extractvalue({s}, '/a')",
    "found_rows()",
    "get_lock('a', 0)",
    "gtid_subset({s}, {s})",
    "gtid_subtract({s}, {s})",
    "icu_version()",
    "is_free_lock('a')",
    "is_ipv4_compat({a})",
    "is_ipv4_mapped({a})",
    "is_used_lock('a')",
    "last_insert_id()",
    "last_insert_id({i})",
    "load_file('/x')",
    "localtime()",
    "random_bytes({i})",
    "release_all_locks()",
    "release_lock('a')",
    "row_count()",
    "sleep(0)",
    "statement_digest({s})",
    "statement_digest_text({s})",
    "sysdate()",
    "sysdate(3)",
    "updatexml({s}, '/a', {s})",
    "utc_date()",
    "utc_time(2)",
    "utc_timestamp()",
    "uuid()",
    "uuid_short()",
    "validate_password_strength({s})",
    "version()",
    "ps_thread_id({i})",
    "ps_current_thread_id()",
    "unix_timestamp()",
    "rand()",
    "rand({i})",
    "aes_encrypt({s}, {s})",
    "compress({a})",
    "{a} << {i}",
    "(select {a} from g limit 1)",
    "max(ifnull({a}, {a}))",
    "max(concat({a}))",
    "lag({a}) over ()",
    "first_value({a}) over ()",
    "row_number() over ()",
    "rank() over (order by ti)",
    "cume_dist() over (order by ti)",
    "percent_rank() over (order by ti)",
    "ntile(2) over (order by ti)",
    "count({a}) over ()",
    "sum({a}) over ()",
    "max({a}) over ()",
];

pub(crate) fn type_templates() -> impl Iterator<Item = &'static str> {
    TEMPLATES.iter().copied().chain(MORE.iter().copied().filter(|template| !TEMPLATES.contains(template)))
}

const ANY: &[&str] = &[
    "1",
    "-12",
    "1.5",
    "2.5e0",
    "'abc'",
    "null",
    "date'2024-02-29'",
    "time'10:11:12.5'",
    "x'4142'",
    "18446744073709551615",
    "ti",
    "ui",
    "bi",
    "ub",
    "de",
    "d0",
    "fl",
    "db",
    "ch",
    "vc",
    "la",
    "tx",
    "vb",
    "bl",
    "da",
    "t0",
    "tm",
    "dt",
    "dm",
    "ts",
    "yr",
    "en",
    "st",
    "bt",
    "js",
    "xi",
    "xv",
    "xd",
    "xt",
    "xb",
];
const NUMBERS: &[&str] = &[
    "1", "-12", "1.50", "2.5e0", "'1.5'", "null", "123.456", "ti", "ui", "bi", "ub", "de", "d0", "fl", "db",
    "vc", "yr", "bt", "xi", "xd", "xv",
];
const INTEGERS: &[&str] = &["1", "2", "0", "-1", "3", "100", "null", "'2'", "ti", "ui", "xi", "de"];
const STRINGS: &[&str] = &[
    "'abc'",
    "'a'",
    "''",
    "12",
    "1.5",
    "null",
    "x'4142'",
    "_latin1'abc'",
    "ch",
    "vc",
    "la",
    "tx",
    "vb",
    "bl",
    "en",
    "st",
    "js",
    "xv",
    "xi",
    "xd",
    "ti",
    "de",
    "da",
    "dt",
];
const MOMENTS: &[&str] = &[
    "'2024-02-29'",
    "'2024-02-29 12:34:56.789'",
    "20240229",
    "20240229123456.5",
    "date'2024-02-29'",
    "time'10:11:12'",
    "timestamp'2024-01-31 23:59:59.999999'",
    "null",
    "da",
    "t0",
    "tm",
    "dt",
    "dm",
    "ts",
    "yr",
    "vc",
    "js",
    "bi",
    "de",
    "db",
    "xt",
    "xv",
    "xi",
];
const DOCUMENTS: &[&str] = &["'[1]'", "'{\"a\": 1}'", "null", "js", "vc", "tx", "xv", "json_array(1)"];
const PATHS: &[&str] = &["'$'", "'$.a'", "vc", "xv"];
const FORMATS: &[&str] = &["'%Y-%m-%d'", "'%H:%i:%s.%f'", "'%W %M'", "'%Y%j'", "''", "vc", "xv", "null"];

fn list(letter: char) -> &'static [&'static str] {
    match letter {
        'n' => NUMBERS,
        'i' => INTEGERS,
        's' => STRINGS,
        't' => MOMENTS,
        'j' => DOCUMENTS,
        'p' => PATHS,
        'f' => FORMATS,
        _ => ANY,
    }
}

/// The expressions that are made of a template.
#[must_use]
pub fn type_cells_of(template: &str) -> Vec<String> {
    let pieces = pieces(template);
    let places: Vec<char> = pieces.iter().filter_map(|(_, place)| *place).collect();
    match places.as_slice() {
        [] => vec![template.to_owned()],
        [letter] => list(*letter).iter().map(|value| filled(&pieces, |_| (*value).to_owned())).collect(),
        _ => {
            let mut random = Random::of(template);
            let mut cells: Vec<String> = Vec::new();
            for _ in 0..CELLS_MAX {
                let cell = filled(&pieces, |letter| random.pick(list(letter)).to_owned());
                if !cells.contains(&cell) {
                    cells.push(cell);
                }
            }
            cells
        }
    }
}

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
