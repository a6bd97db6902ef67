//! Asking a server: one connection sends cells one by one, or several in one statement where all should go well.
//!
//! An answer is the type, the value and the codes of the warnings, with tabs between, or `!` and the number of an
//! error. Values of prepared cells come through the binary protocol.
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Params, Value};

use crate::arguments::SETUP;
use crate::cell::Cell;

/// Where a server listens; its account is root without a password.
#[derive(Clone, Debug)]
pub struct Target {
    pub host: String,
    pub port: u16,
}

impl Target {
    /// `host:port`
    pub fn parse(text: &str) -> Option<Target> {
        let (host, port) = text.rsplit_once(':')?;
        Some(Target { host: host.to_owned(), port: port.parse().ok()? })
    }

    pub(crate) fn connect(&self) -> Result<Conn, mysql::Error> {
        let options =
            OptsBuilder::new().ip_or_hostname(Some(&self.host)).tcp_port(self.port).user(Some("root"));
        Conn::new(options.prefer_socket(false))
    }
}

/// The answers to all cells, in their order. `expected` are answers that may be asked for many at a time.
pub fn ask_all(
    target: &Target,
    cells: &[Cell],
    expected: Option<&[String]>,
    threads: usize,
) -> Result<Vec<String>, mysql::Error> {
    let mut first = target.connect()?;
    for statement in SETUP {
        first.query_drop(statement)?;
    }
    let share = cells.len().div_ceil(threads).max(1);
    let answers: Vec<Result<Vec<String>, mysql::Error>> = std::thread::scope(|scope| {
        let workers: Vec<_> = cells
            .chunks(share)
            .enumerate()
            .map(|(index, cells)| {
                let expected = expected.map(|expected| &expected[index * share..index * share + cells.len()]);
                scope.spawn(move || Session::start(target)?.ask(cells, expected))
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("the worker does not panic")).collect()
    });
    let mut all = Vec::with_capacity(cells.len());
    for share in answers {
        all.extend(share?);
    }
    first.query_drop("drop database function_grid")?;
    Ok(all)
}

/// Cells that are asked in one statement.
const BATCH: usize = 24;

struct Session {
    connection: Conn,
}

impl Session {
    fn start(target: &Target) -> Result<Session, mysql::Error> {
        let mut connection = target.connect()?;
        for statement in SETUP.iter().filter(|statement| statement.starts_with("set ")) {
            connection.query_drop(statement)?;
        }
        connection.query_drop("use function_grid")?;
        Ok(Session { connection })
    }

    fn ask(mut self, cells: &[Cell], expected: Option<&[String]>) -> Result<Vec<String>, mysql::Error> {
        let mut answers = Vec::with_capacity(cells.len());
        while answers.len() < cells.len() {
            let start = answers.len();
            let smooth = expected.map_or(0, |expected| {
                let goes_well = |index: &usize| {
                    let expected = &expected[start + index];
                    let cell = &cells[start + index];
                    !expected.starts_with('!') && expected.ends_with('\t') && cell.parameters.is_empty()
                };
                (0..BATCH.min(cells.len() - start)).take_while(goes_well).count()
            });
            let batch = if smooth > 1 { self.ask_batch(&cells[start..start + smooth])? } else { None };
            match batch {
                Some(batch) => answers.extend(batch),
                None => {
                    for cell in &cells[start..start + smooth.max(1)] {
                        answers.push(self.ask_one(cell)?);
                    }
                }
            }
        }
        Ok(answers)
    }

    /// `None` when something warned or failed, which only single statements tell.
    fn ask_batch(&mut self, cells: &[Cell]) -> Result<Option<Vec<String>>, mysql::Error> {
        let list: Vec<&str> = cells.iter().map(|cell| cell.expression.as_str()).collect();
        // Aggregates and columns cannot stand beside each other.
        let answer = match self.connection.query_iter(format!("select {} from g", list.join(", "))) {
            Ok(answer) => read(answer, cells.len()),
            Err(error) => Err(error),
        };
        match answer.map(|values| (values, self.connection.warnings())) {
            Ok((values, 0)) => Ok(Some(values.into_iter().map(|value| format!("{value}\t")).collect())),
            Ok(_) | Err(mysql::Error::MySqlError(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn ask_one(&mut self, cell: &Cell) -> Result<String, mysql::Error> {
        let text = format!("select {} from g", cell.expression);
        let answer = if cell.parameters.is_empty() {
            self.connection.query_iter(text).and_then(|answer| read(answer, 1))
        } else {
            let values = cell.parameters.iter().map(|parameter| bound(parameter)).collect();
            let prepared = self.connection.prep(text);
            prepared.and_then(|statement| {
                let answer = self
                    .connection
                    .exec_iter(&statement, Params::Positional(values))
                    .and_then(|answer| read(answer, 1));
                self.connection.close(statement)?;
                answer
            })
        };
        match answer.map(|values| (values, self.connection.warnings())) {
            Ok((values, 0)) => Ok(format!("{}\t", values.concat())),
            Ok((values, _)) => {
                let mut codes: Vec<u16> =
                    self.connection.query_map("show warnings", |(_, code, _): (String, u16, String)| code)?;
                codes.dedup();
                let codes: Vec<String> = codes.iter().map(u16::to_string).collect();
                Ok(format!("{}\t{}", values.concat(), codes.join(",")))
            }
            Err(mysql::Error::MySqlError(error)) => Ok(format!("!{}", error.code)),
            // A value that the driver cannot read.
            Err(mysql::Error::DriverError(error)) => Ok(format!("!driver {error}")),
            Err(error) => Err(error),
        }
    }
}

/// Type and value of each column of the one row.
fn read<T: mysql::prelude::Protocol>(
    mut answer: mysql::QueryResult<'_, '_, '_, T>,
    count: usize,
) -> Result<Vec<String>, mysql::Error> {
    let columns = answer.columns().as_ref().to_vec();
    let mut texts = vec![String::new(); count];
    for row in answer.by_ref() {
        for (index, value) in row?.unwrap().into_iter().enumerate().take(count) {
            texts[index] = shown(&value);
        }
    }
    let shown = columns.iter().zip(texts).map(|(column, text)| {
        let flags = column.flags();
        let unsigned = if flags.contains(mysql::consts::ColumnFlags::UNSIGNED_FLAG) { "u" } else { "" };
        let (kind, decimals) = (column.column_type() as u8, column.decimals());
        format!("{kind}{unsigned}.{decimals}.{}\t{text}", column.character_set())
    });
    Ok(shown.collect())
}

fn shown(value: &Value) -> String {
    match value {
        Value::NULL => "NULL".to_owned(),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains(char::is_control) => format!("'{text}"),
            _ => format!("x{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        },
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Double(number) => format!("{number:?}"),
        Value::Date(year, month, day, hour, minute, second, micros) => {
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}")
        }
        Value::Time(negative, days, hours, minutes, seconds, micros) => {
            let sign = if *negative { "-" } else { "" };
            format!("{sign}{days} {hours:02}:{minutes:02}:{seconds:02}.{micros:06}")
        }
    }
}

/// The value of a parameter of `cell::PARAMETERS`.
fn bound(parameter: &str) -> Value {
    match parameter {
        "null" => Value::NULL,
        "18446744073709551615" => Value::UInt(u64::MAX),
        "date 2024-02-29" => Value::Date(2024, 2, 29, 0, 0, 0, 0),
        "datetime 2024-02-29 12:34:56.5" => Value::Date(2024, 2, 29, 12, 34, 56, 500_000),
        "time -12:34:56.5" => Value::Time(true, 0, 12, 34, 56, 500_000),
        text if text.starts_with('\'') => Value::Bytes(text.trim_matches('\'').as_bytes().to_vec()),
        number => match number.parse() {
            Ok(integer) => Value::Int(integer),
            Err(_) => Value::Double(number.parse().expect("the others are numbers")),
        },
    }
}
