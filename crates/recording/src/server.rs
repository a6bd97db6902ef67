//! Asks a server for its figures, and for what describes it.
//!
//! Invariant: one sample is one round of questions on one connection; a question that fails takes nothing from the
//! others. Used by `recorder`, `companion`'s `top`, `watch` and `doctor`.

use client::{Answer, Connection, Dsn, Error};
use serde_json::{Map, Value, json};

use crate::Values;
use crate::probes::{Form, PROBES, Probe};

/// A connection that asks.
pub struct Sampler {
    connection: Connection,
    probes: Vec<(Probe, &'static str)>,
    answer: Answer,
}

impl Sampler {
    /// Connects, and finds out which questions this server answers.
    pub async fn connect(dsn: &Dsn) -> client::Result<Self> {
        let mut connection = Connection::connect(&dsn.with_database("")).await?;
        let mut answer = Answer::keeping();
        let mut probes = Vec::new();
        for probe in PROBES {
            for variant in probe.variants {
                match connection.query(variant, &mut answer).await {
                    Ok(()) => {
                        probes.push((probe, *variant));
                        break;
                    }
                    Err(error) if error.is_fatal() => return Err(error),
                    Err(_) => {}
                }
            }
        }
        // The monitor's text costs the most and is needed only for what no counter tells.
        let has_age = |probes: &[(Probe, &str)], sample: &Values| {
            probes.iter().any(|(probe, _)| probe.form == Form::Monitor)
                && (sample.contains_key("Innodb_redo_log_checkpoint_lsn")
                    || sample.contains_key("Innodb_checkpoint_age"))
        };
        let mut sampler = Self { connection, probes, answer };
        let sample = sampler.sample().await?;
        if has_age(&sampler.probes, &sample) {
            sampler.probes.retain(|(probe, _)| probe.form != Form::Monitor);
        }
        Ok(sampler)
    }

    /// One round of all questions.
    pub async fn sample(&mut self) -> client::Result<Values> {
        let mut values = Values::new();
        for (probe, variant) in self.probes.clone() {
            match self.connection.query(variant, &mut self.answer).await {
                Ok(()) => take(probe, &self.answer, &mut values),
                Err(error) if error.is_fatal() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(values)
    }

    /// The connection, for questions of the caller's own.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

fn take(probe: Probe, answer: &Answer, values: &mut Values) {
    let prefix = probe.prefix;
    match probe.form {
        Form::Pairs => {
            for row in 0..answer.rows() {
                if let Ok(number) = answer.cell(row, 1).text().parse::<f64>() {
                    values.insert(format!("{prefix}{}", answer.cell(row, 0).text()), number);
                }
            }
        }
        Form::Row => {
            for column in 0..answer.columns() {
                values.insert(format!("{prefix}{}", answer.name(column)), answer.cell(0, column).float());
            }
        }
        Form::Counts => {
            for row in 0..answer.rows() {
                let name = format!("{prefix}{}/{}", answer.cell(row, 0).text(), answer.cell(row, 1).text());
                values.insert(name, answer.cell(row, 2).float());
            }
        }
        Form::Monitor => monitor(&answer.cell(0, 2).text(), values),
    }
}

/// The two positions of the log that old servers tell only here.
fn monitor(text: &str, values: &mut Values) {
    let number = |head: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(head))?;
        line.trim().parse::<f64>().ok()
    };
    if let (Some(end), Some(checkpoint)) = (number("Log sequence number"), number("Last checkpoint at")) {
        values.insert("monitor.checkpoint_age".into(), end - checkpoint);
        values.insert("monitor.lsn".into(), end);
    }
    if let Some(history) = number("History list length") {
        values.insert("monitor.history_list_length".into(), history);
    }
}

/// Version, settings, and how durable a commit is there.
pub async fn describe_server(connection: &mut Connection) -> client::Result<Value> {
    let answer = connection.ask("SHOW GLOBAL VARIABLES").await?;
    let mut variables = Map::new();
    for row in 0..answer.rows() {
        variables.insert(answer.cell(row, 0).text(), Value::String(answer.cell(row, 1).text()));
    }
    let get = |name: &str| variables.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    let version = connection.version().to_owned();
    let durability = json!({
        "commit_flush": get("innodb_flush_log_at_trx_commit"), "doublewrite": get("innodb_doublewrite"),
        "binlog_sync": if get("log_bin") == "ON" { get("sync_binlog") } else { "no binlog".into() },
    });
    Ok(json!({
        "version": version, "comment": get("version_comment"), "durability": durability, "variables": variables,
    }))
}

/// Why a server could not be asked, in a few words.
pub(crate) fn why(error: &Error) -> String {
    match error {
        Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monitor_tells_the_checkpoint_age() {
        let text = "---\nLOG\n---\nLog sequence number          5000\nLast checkpoint at           1200\nHistory list length 7\n";
        let mut values = Values::new();
        monitor(text, &mut values);
        assert_eq!(values["monitor.checkpoint_age"], 3800.0);
        assert_eq!(values["monitor.history_list_length"], 7.0);
    }
}
