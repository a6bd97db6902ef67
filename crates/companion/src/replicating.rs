//! Replication as `top` shows it: the channels that a server receives, and the replicas that receive from it.
//!
//! Invariant: a server without replication has no such table. Names of columns are MySQL's of all times and MariaDB's.
//! Used by `live`.

use client::Answer;
use recording::Sampler;

use crate::tables::{Table, one_line};

const CHANNELS: [&str; 3] = ["SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"];
const REPLICAS: &str = "SELECT id, host, time, COALESCE(state, '') FROM information_schema.processlist \
    WHERE command LIKE 'Binlog Dump%' LIMIT 100";

/// What a server can tell of it.
#[derive(Debug, Default)]
pub struct Replicating {
    channels: Option<&'static str>,
}

async fn ask(sampler: &mut Sampler, question: &str) -> client::Result<Option<Answer>> {
    match sampler.connection().ask(question).await {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_fatal() => Err(error),
        Err(_) => Ok(None),
    }
}

impl Replicating {
    /// Finds out which question the server answers.
    pub async fn of(sampler: &mut Sampler) -> client::Result<Self> {
        for question in CHANNELS {
            if ask(sampler, question).await?.is_some() {
                return Ok(Self { channels: Some(question) });
            }
        }
        Ok(Self::default())
    }

    /// The table, if there is anything to say.
    pub async fn table(&self, sampler: &mut Sampler) -> client::Result<Option<Table>> {
        let mut rows = Vec::new();
        if let Some(question) = self.channels
            && let Some(answer) = ask(sampler, question).await?
        {
            rows.extend((0..answer.rows()).map(|row| channel(&|names| named(&answer, row, names))));
        }
        if let Some(answer) = ask(sampler, REPLICAS).await? {
            for row in 0..answer.rows() {
                let cell = |column| answer.cell(row, column).text();
                let text = format!("session {} of replica {}: {}", cell(0), cell(1), one_line(&cell(3)));
                rows.push(vec!["sends".into(), "-".into(), "-".into(), text]);
            }
        }
        Ok((!rows.is_empty()).then(|| Table {
            title: "Replication".into(),
            none: "",
            head: vec!["receives", "applies", "s behind", "source and state"],
            rows,
        }))
    }
}

/// The cell of the first of the names that the answer has.
fn named(answer: &Answer, row: usize, names: &[&str]) -> Option<String> {
    let column = names.iter().find_map(|name| {
        (0..answer.columns()).find(|column| answer.name(*column).eq_ignore_ascii_case(name))
    })?;
    let cell = answer.cell(row, column);
    (!cell.is_null()).then(|| cell.text())
}

fn channel(get: &dyn Fn(&[&str]) -> Option<String>) -> Vec<String> {
    let text = |names: &[&str]| get(names).unwrap_or_default();
    let name = text(&["Channel_Name", "Connection_name"]);
    let mut source =
        format!("{}:{}", text(&["Source_Host", "Master_Host"]), text(&["Source_Port", "Master_Port"]));
    if !name.is_empty() {
        source = format!("{source} ({name})");
    }
    let mut parts = vec![source];
    for (names, what) in [
        (["Last_IO_Error", "Last_IO_Error"], "receiving: "),
        (["Last_SQL_Error", "Last_SQL_Error"], "applying: "),
        (["Replica_IO_State", "Slave_IO_State"], ""),
        (["Replica_SQL_Running_State", "Slave_SQL_Running_State"], ""),
    ] {
        let state = one_line(&text(&names));
        // An error says more than the states.
        if !state.is_empty() && (parts.len() == 1 || !what.is_empty() || !parts[1].contains("ing: ")) {
            parts.push(format!("{what}{state}"));
        }
    }
    vec![
        text(&["Replica_IO_Running", "Slave_IO_Running"]),
        text(&["Replica_SQL_Running", "Slave_SQL_Running"]),
        get(&["Seconds_Behind_Source", "Seconds_Behind_Master"]).unwrap_or_else(|| "?".into()),
        parts.join("; "),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(cells: &[(&str, &str)]) -> Vec<String> {
        channel(&|names| {
            names.iter().find_map(|name| {
                cells.iter().find(|(column, _)| column == name).map(|(_, text)| (*text).to_owned())
            })
        })
    }

    #[test]
    fn a_channel_is_told_by_either_family_of_names() {
        let new = shown(&[
            ("Source_Host", "db1"),
            ("Source_Port", "3306"),
            ("Replica_IO_Running", "Yes"),
            ("Replica_SQL_Running", "Yes"),
            ("Seconds_Behind_Source", "4"),
            ("Replica_IO_State", "Waiting for source to send event"),
        ]);
        assert_eq!(new, ["Yes", "Yes", "4", "db1:3306; Waiting for source to send event"]);
        let old = shown(&[
            ("Master_Host", "db1"),
            ("Master_Port", "3306"),
            ("Connection_name", "east"),
            ("Slave_IO_Running", "Yes"),
            ("Slave_SQL_Running", "No"),
            ("Last_SQL_Error", "Duplicate entry"),
            ("Slave_IO_State", "Waiting"),
        ]);
        assert_eq!(old, ["Yes", "No", "?", "db1:3306 (east); applying: Duplicate entry"]);
    }
}
