//! What a server answers to a statement, in a form that two servers can be compared by.
use mysql::consts::{ColumnFlags, ColumnType};
use mysql::prelude::Protocol;
use mysql::prelude::Queryable;
use mysql::{Conn, Error, OptsBuilder, QueryResult, Value};

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The kind of each column, and the rows in order of their text.
    Rows { kinds: Vec<String>, rows: Vec<String> },
    /// The error's number.
    Refused(u16),
    /// The connection was lost or the answer unreadable.
    Failed(String),
}

/// A session of `HOST:PORT` in the database of a worker.
pub fn connect(address: &str, worker: usize) -> Result<Conn, String> {
    let (host, port) = address.rsplit_once(':').ok_or_else(|| format!("{address} is no HOST:PORT"))?;
    let port: u16 = port.parse().map_err(|_| format!("{port} is no port"))?;
    let options =
        OptsBuilder::new().ip_or_hostname(Some(host)).tcp_port(port).user(Some("root")).prefer_socket(false);
    let mut conn = Conn::new(options).map_err(|error| error.to_string())?;
    for statement in [
        "SET NAMES utf8mb4".to_owned(),
        format!("CREATE DATABASE IF NOT EXISTS sqlgen{worker}"),
        format!("USE sqlgen{worker}"),
        "SET time_zone = '+00:00'".to_owned(),
    ] {
        conn.query_drop(&statement).map_err(|error| error.to_string())?;
    }
    Ok(conn)
}

pub fn run(conn: &mut Conn, sql: &str) -> Answer {
    match conn.query_iter(sql) {
        Ok(result) => taken(result),
        Err(error) => refused(&error),
    }
}

/// The same as a prepared statement, whose rows come in the binary form.
pub fn run_prepared(conn: &mut Conn, sql: &str, parameters: &[Value]) -> Answer {
    match conn.exec_iter(sql, parameters.to_vec()) {
        Ok(result) => taken(result),
        Err(error) => refused(&error),
    }
}

/// The answer to a change of rows, with what the table holds afterwards; nothing of it stays.
pub fn run_change(conn: &mut Conn, sql: &str) -> Answer {
    run(conn, "BEGIN");
    let answer = match conn.query_iter(sql).map(|result| result.affected_rows()) {
        Ok(changed) => match run(conn, "SELECT * FROM t") {
            Answer::Rows { kinds, mut rows } => {
                rows.push(format!("{changed} rows"));
                Answer::Rows { kinds, rows }
            }
            other => other,
        },
        Err(error) => refused(&error),
    };
    run(conn, "ROLLBACK");
    answer
}

fn taken<P: Protocol>(mut result: QueryResult<'_, '_, '_, P>) -> Answer {
    let kinds = result.columns().as_ref().iter().map(kind_of).collect();
    let mut rows = Vec::new();
    for row in result.by_ref() {
        match row {
            Ok(row) => rows.push(
                row.unwrap_raw()
                    .into_iter()
                    .map(|value| text_of(value.as_ref()))
                    .collect::<Vec<_>>()
                    .join("|"),
            ),
            Err(error) => return refused(&error),
        }
    }
    rows.sort();
    Answer::Rows { kinds, rows }
}

fn refused(error: &Error) -> Answer {
    match error {
        Error::MySqlError(error) => Answer::Refused(error.code),
        other => Answer::Failed(other.to_string()),
    }
}

/// Texts of any length are one kind, told apart by whether they are binary; so are integers of any width, which depends
/// on whether a server keeps them in a temporary table.
fn kind_of(column: &mysql::Column) -> String {
    use ColumnType::{
        MYSQL_TYPE_BLOB, MYSQL_TYPE_INT24, MYSQL_TYPE_LONG, MYSQL_TYPE_LONG_BLOB, MYSQL_TYPE_LONGLONG,
        MYSQL_TYPE_MEDIUM_BLOB, MYSQL_TYPE_SHORT, MYSQL_TYPE_STRING, MYSQL_TYPE_TINY, MYSQL_TYPE_TINY_BLOB,
        MYSQL_TYPE_VAR_STRING, MYSQL_TYPE_VARCHAR,
    };
    const BINARY: u16 = 63;
    let is_unsigned = column.flags().contains(ColumnFlags::UNSIGNED_FLAG);
    match column.column_type() {
        MYSQL_TYPE_BLOB
        | MYSQL_TYPE_LONG_BLOB
        | MYSQL_TYPE_MEDIUM_BLOB
        | MYSQL_TYPE_STRING
        | MYSQL_TYPE_TINY_BLOB
        | MYSQL_TYPE_VAR_STRING
        | MYSQL_TYPE_VARCHAR => {
            if column.character_set() == BINARY {
                "bytes".to_owned()
            } else {
                "text".to_owned()
            }
        }
        MYSQL_TYPE_LONG | MYSQL_TYPE_LONGLONG | MYSQL_TYPE_INT24 | MYSQL_TYPE_SHORT | MYSQL_TYPE_TINY => {
            if is_unsigned {
                "unsigned integer".to_owned()
            } else {
                "integer".to_owned()
            }
        }
        other => format!("{other:?}{}", if is_unsigned { " unsigned" } else { "" }),
    }
}

fn text_of(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::NULL) => "NULL".to_owned(),
        Some(Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).escape_debug().to_string(),
        Some(other) => format!("{other:?}"),
    }
}
