//! Executes the statements of a file, one to a line, and counts how they end: what the parser knows is not yet
//! what the server can do. Lines that begin with `#` name a section.
//!
//! Run: `cargo run -p session --example run_statements -- FILE [--all]`; with `--all` the statements that execute
//! and those that are refused as unsupported are printed too.
//!
//! Each statement runs in a session of a new server in memory. The databases, tables and columns that it misses
//! are made, as its errors ask for them, with types guessed from the names; so errors about data say little.
#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use bumpalo::Bump;
use datum::Value;
use parser::ast::StatementKind;
use parser::{ParseOptions, parse};
use session::CursorKind;
use support::{Client, Printer, new_server};

const REPAIRS_MAX: usize = 60;
const STATEMENT_TIME_MAX: Duration = Duration::from_secs(10);
const UNSUPPORTED: u16 = 1235;
const SYNTAX: u16 = 1064;
/// The object of the statement is absent: databases, tables, keys, accounts, grants, routines, prepared statements.
const ABSENT: [u16; 17] =
    [1008, 1049, 1051, 1091, 1094, 1109, 1133, 1141, 1146, 1176, 1243, 1269, 1305, 1360, 1396, 1539, 3523];

/// How a statement parses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Parsed {
    Structurally,
    ByLeadingWords,
    NotAtAll,
}

/// How a statement ends: the error's number and line, or `None` when it executes.
type End = Option<(u16, String)>;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = arguments.first() else {
        eprintln!("usage: run_statements FILE [--all]");
        std::process::exit(2);
    };
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let mut results = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let local = tokio::task::LocalSet::new();
        results.push((line, parsed(line), local.block_on(&runtime, end(line))));
    }
    report(&results, arguments.iter().any(|argument| argument == "--all"));
}

fn parsed(statement: &str) -> Parsed {
    let arena = Bump::new();
    match parse(statement.as_bytes(), ParseOptions { parameters: true, ..ParseOptions::default() }, &arena) {
        Ok(outcome) if matches!(outcome.statement.kind, StatementKind::Unsupported(_)) => {
            Parsed::ByLeadingWords
        }
        Ok(_) => Parsed::Structurally,
        Err(_) => Parsed::NotAtAll,
    }
}

/// Executes a statement, with what it misses made for it.
async fn end(statement: &str) -> End {
    let server = new_server().await;
    let mut client = Client::connect(&server).await;
    client.query("CREATE DATABASE here; USE here").await;
    let mut tables = Vec::new();
    let mut end = run(&mut client, statement).await;
    for _ in 0..REPAIRS_MAX {
        let Some((number, message)) = &end else { break };
        let repairs = repairs(*number, message, &mut tables);
        let mut repaired = false;
        for repair in repairs {
            repaired |= !client.query(&repair).await.starts_with("ERROR");
        }
        if !repaired {
            break;
        }
        end = run(&mut client, statement).await;
    }
    end
}

/// Once, as text or, when it has parameters, prepared.
async fn run(client: &mut Client, statement: &str) -> End {
    let work = async {
        let mut answer = client.query(statement).await;
        if answer.starts_with("ERROR 1064") && statement.contains('?') {
            answer = match client.session.prepare(statement.as_bytes()).await {
                Err(error) => error.to_string(),
                Ok(prepared) => {
                    let values = vec![Value::Int(1); prepared.parameters.len()];
                    let mut printer = Printer::default();
                    client.session.execute(prepared.id, values, CursorKind::None, &mut printer).await;
                    printer.text
                }
            };
        }
        answer
    };
    let Ok(answer) = tokio::time::timeout(STATEMENT_TIME_MAX, work).await else {
        return Some((0, "no end in time".to_owned()));
    };
    let error = answer.lines().find(|line| line.starts_with("ERROR "))?;
    let number = error.split(' ').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
    Some((number, error.to_owned()))
}

/// Statements of which one may make what the error misses.
fn repairs(number: u16, message: &str, tables: &mut Vec<String>) -> Vec<String> {
    let Some(name) = message.split('\'').nth(1) else { return Vec::new() };
    match number {
        1049 => vec![format!("CREATE DATABASE `{name}`")],
        1146 | 1051 => {
            let table = name.split('.').map(|part| format!("`{part}`")).collect::<Vec<_>>().join(".");
            tables.push(table.clone());
            let database = name.split('.').next().unwrap_or_default();
            let columns = "id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(100), c VARCHAR(100)";
            let create = format!("CREATE TABLE {table} ({columns})");
            vec![format!("CREATE DATABASE IF NOT EXISTS `{database}`"), create.clone(), create]
        }
        1054 | 1072 => {
            let column = name.rsplit('.').next().unwrap_or_default();
            let kind = match column.chars().next() {
                Some('j') => "JSON",
                Some('d') => "DATETIME",
                Some('t') if column.starts_with("ts") => "DATETIME",
                _ => "INT",
            };
            tables.iter().map(|table| format!("ALTER TABLE {table} ADD COLUMN `{column}` {kind}")).collect()
        }
        1176 | 1091 => {
            tables.iter().map(|table| format!("ALTER TABLE {table} ADD KEY `{name}` (a)")).collect()
        }
        _ => Vec::new(),
    }
}

fn report(results: &[(&str, Parsed, End)], all: bool) {
    let mut counts: BTreeMap<(Parsed, Option<u16>), usize> = BTreeMap::new();
    for (statement, parsed, end) in results {
        *counts.entry((*parsed, end.as_ref().map(|(number, _)| *number))).or_default() += 1;
        let expected = match end {
            None => true,
            Some((number, _)) => *number == UNSUPPORTED || ABSENT.contains(number),
        };
        if all || !expected {
            println!("{statement}");
            println!("    {}", end.as_ref().map_or("executes", |(_, message)| message));
        }
    }
    println!("\n{:>5}  parsed           ends", "count");
    for ((parsed, number), count) in &counts {
        let end = match number {
            None => "executes".to_owned(),
            Some(UNSUPPORTED) => "error 1235: not supported".to_owned(),
            Some(SYNTAX) => "error 1064: syntax".to_owned(),
            Some(number) if ABSENT.contains(number) => format!("error {number}: its object is absent"),
            Some(number) => format!("error {number}"),
        };
        println!("{count:>5}  {:<15}  {end}", format!("{parsed:?}"));
    }
    let executed = results.iter().filter(|(.., end)| end.is_none()).count();
    println!("{executed} of {} statements execute", results.len());
}
