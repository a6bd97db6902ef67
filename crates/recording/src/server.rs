//! Asks a server for its figures, and for what describes it.
//!
//! Invariant: one sample is one round of questions on one connection; a question that fails takes nothing from the
//! others. Used by `recorder`, `companion`'s `top`, `watch` and `doctor`.

use client::{Answer, Connection, Dsn, Error};
use serde_json::{Map, Value, json};

use crate::Values;
use crate::host::Host;
use crate::probes::{Form, PROBES, Probe};
use crate::unseen::Unseen;

/// The account lacks a right of the whole server, which is PROCESS where it only looks.
const LACKS_RIGHT: u16 = 1227;

/// A connection that asks.
pub struct Sampler {
    connection: Connection,
    probes: Vec<(Probe, &'static str)>,
    answer: Answer,
    has_performance_schema: bool,
    unseen: Vec<Unseen>,
}

impl Sampler {
    /// Connects, and finds out which questions this server answers.
    pub async fn connect(dsn: &Dsn) -> client::Result<Self> {
        let mut sampler = Self {
            connection: Connection::connect(&dsn.with_database("")).await?,
            probes: Vec::new(),
            answer: Answer::keeping(),
            has_performance_schema: false,
            unseen: Vec::new(),
        };
        let is_on = sampler.understands("SELECT @@performance_schema").await?.is_ok();
        sampler.has_performance_schema = is_on && sampler.answer.cell(0, 0).int() == 1;
        let mut lacks_process = false;
        for probe in PROBES {
            lacks_process |= sampler.choose(probe).await? == Some(LACKS_RIGHT);
        }
        if lacks_process {
            sampler.unseen.push(Unseen::new("sessions of other accounts", "the account lacks PROCESS"));
        }
        sampler.leave_the_monitor().await?;
        Ok(sampler)
    }

    /// Whether the server understands a question; its refusal is within, a lost connection is not.
    async fn understands(&mut self, question: &str) -> client::Result<std::result::Result<(), Error>> {
        match self.connection.query(question, &mut self.answer).await {
            Ok(()) => Ok(Ok(())),
            Err(error) if error.is_fatal() => Err(error),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Takes the first form of a question that is answered; the number of the last refusal if there is none.
    async fn choose(&mut self, probe: Probe) -> client::Result<Option<u16>> {
        let mut refused = None;
        for variant in probe.variants {
            if !self.has_performance_schema && variant.contains("performance_schema.") {
                continue;
            }
            match self.understands(variant).await? {
                Ok(()) => {
                    self.probes.push((probe, *variant));
                    return Ok(None);
                }
                // A form may be refused for being another server's; that rights are missing says more.
                Err(error) if refused.is_none() || is_about_rights(&error) => refused = Some(error),
                Err(_) => {}
            }
        }
        let why = refused.as_ref().map_or_else(|| "performance_schema is off".to_owned(), Error::to_string);
        self.unseen.push(Unseen::new(probe.what, why));
        Ok(refused.and_then(|error| error.code()))
    }

    /// The monitor's text costs the most and is needed only for what no counter tells.
    async fn leave_the_monitor(&mut self) -> client::Result<()> {
        let sample = self.sample().await?;
        if sample.contains_key("Innodb_redo_log_checkpoint_lsn")
            || sample.contains_key("Innodb_checkpoint_age")
        {
            self.probes.retain(|(probe, _)| probe.form != Form::Monitor);
            let monitors = PROBES.iter().filter(|probe| probe.form == Form::Monitor);
            let monitors: Vec<&str> = monitors.map(|probe| probe.what).collect();
            self.unseen.retain(|unseen| !monitors.contains(&unseen.what.as_str()));
        }
        Ok(())
    }

    /// Whether performance_schema is on: its tables may be asked for even where it is off, and are empty then.
    #[must_use]
    pub fn has_performance_schema(&self) -> bool {
        self.has_performance_schema
    }

    /// What describes the server, with what the account does not see of it and of its host.
    pub async fn describe(&mut self, host: &Host) -> client::Result<Value> {
        let mut server = describe_server(&mut self.connection).await?;
        let unseen = self.unseen.iter().chain(&host.unseen()).map(Unseen::json).collect();
        server["unseen"] = Value::Array(unseen);
        Ok(server)
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

fn is_about_rights(error: &Error) -> bool {
    matches!(error.code(), Some(LACKS_RIGHT | 1044 | 1142 | 1143))
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
