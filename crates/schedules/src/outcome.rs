//! What a server answered to one step, as one line of text that is the same on every server that behaves the same.
//!
//! Invariant: nothing in the text depends on the name of the database, on the number of a connection or on time.

use mysql::prelude::Queryable;
use mysql::{Conn, Error, Value};

/// Runs a statement and describes the answer. Rows are put in order unless the statement orders them itself.
pub fn outcome(client: &mut Conn, sql: &str) -> String {
    match try_query(client, sql) {
        Ok(text) => text,
        Err(Error::MySqlError(error)) => {
            let state = String::from_utf8_lossy(error.state.as_bytes()).into_owned();
            let lost = match error.code {
                1053 | 1927 | 4031 => " (connection lost)",
                _ => "",
            };
            format!("error {} ({state}) {}{lost}", error.code, error.message)
        }
        Err(_) => "connection lost".to_owned(),
    }
}

fn try_query(client: &mut Conn, sql: &str) -> Result<String, Error> {
    let mut result = client.query_iter(sql)?;
    let mut texts = Vec::new();
    while let Some(set) = result.iter() {
        if set.columns().as_ref().is_empty() {
            texts.push(ok_text(&set));
            continue;
        }
        let mut rows = Vec::new();
        for row in set {
            rows.push(row_text(&row?.unwrap()));
        }
        if !sql.to_ascii_uppercase().contains("ORDER BY") {
            rows.sort_by_key(|row| natural(row));
        }
        texts.push(if rows.is_empty() { "no rows".to_owned() } else { format!("rows {}", rows.join(" ")) });
    }
    Ok(texts.join("; "))
}

fn ok_text(set: &mysql::ResultSet<'_, '_, '_, '_, mysql::Text>) -> String {
    let mut text = "ok".to_owned();
    if set.affected_rows() > 0 {
        text.push_str(&format!(" {}", set.affected_rows()));
    }
    if let Some(id) = set.last_insert_id().filter(|id| *id > 0) {
        text.push_str(&format!(" id {id}"));
    }
    let info = set.info_str();
    if !info.is_empty() {
        text.push_str(&format!(" ({info})"));
    } else if set.warnings() > 0 {
        text.push_str(&format!(" warnings {}", set.warnings()));
    }
    text
}

fn row_text(values: &[Value]) -> String {
    let texts: Vec<String> = values
        .iter()
        .map(|value| match value {
            Value::NULL => "NULL".to_owned(),
            Value::Bytes(bytes) => String::from_utf8_lossy(bytes).replace('\n', "\\n"),
            other => other.as_sql(true),
        })
        .collect();
    format!("({})", texts.join(", "))
}

/// A key in which numbers order by their size.
fn natural(row: &str) -> Vec<(u64, String)> {
    row.trim_matches(['(', ')'])
        .split(", ")
        .map(|part| (part.parse::<u64>().map_or(u64::MAX, |number| number), part.to_owned()))
        .collect()
}
