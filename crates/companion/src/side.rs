//! One of the servers that are measured in turn, and a turn: a run that is recorded beside.
//!
//! Invariant: the recording of a side has the measured seconds of all its turns, one behind the other, as if they had
//! followed each other. Used by `compare_command` and `sweep_command`.

use bench::{Event, Plan, Result, Run, Stop, run};
use client::{Connection, Dsn};
use recording::{Host, Recording, describe_server};
use serde_json::{Value, json};
use workload::Workload;

use crate::arguments::dsn;
use crate::record_command::Beside;

/// A server with what was recorded of it.
pub struct Side {
    pub name: String,
    pub dsn: Dsn,
    pub description: Value,
    pub recording: Recording,
}

impl Side {
    /// Reads `NAME=DSN`, or a DSN alone, and asks the server what it is.
    pub fn of(text: &str, default_database: &str) -> Result<Self> {
        let (name, address) = match text.split_once('=') {
            Some((name, address)) if !name.contains(['/', ':', '?']) => (name.to_owned(), address),
            _ => (text.rsplit('@').next().unwrap_or(text).to_owned(), text),
        };
        let dsn = dsn(address, default_database)?;
        let description = describe(&dsn)?;
        Ok(Self { name, dsn, description, recording: Recording::default() })
    }

    /// The host of the server, which watches the disk of its data.
    pub fn host(&self) -> Host {
        let mut host = Host::of(&self.dsn);
        host.watch_data(self.description["variables"]["datadir"].as_str().unwrap_or(""));
        host
    }

    /// A run with a recording beside it; each second `hear` is told of it. A run that failed is an error.
    pub fn turn(
        &self,
        plan: &Plan,
        workload: &dyn Workload,
        stop: &Stop,
        hear: &mut dyn FnMut(&bench::Second),
    ) -> Result<(Run, Recording)> {
        let path = std::env::temp_dir().join(format!("evenkeel-turn-{}.rec", std::process::id()));
        let beside = Beside::start(&self.dsn, &path);
        // A turn that ends by its time must not end the next one; Ctrl-C ends all.
        let turn_stop = Stop::default();
        let result = run(plan, workload, &turn_stop, &mut |event| {
            if let Event::Second(second) = event {
                hear(second);
            }
            if stop.is_wanted() {
                turn_stop.now();
            }
        });
        let mut recorded = Recording::default();
        // A turn counts without its recording too.
        if let Err(why) = beside.end().and_then(|()| recorded.read(&path)) {
            eprintln!("evenkeel: {}: not recorded: {why}", self.name);
        }
        let _ = std::fs::remove_file(&path);
        let result = result?;
        match &result.failure {
            Some(failure) => Err(format!("{}: {failure}", self.name)),
            None => Ok((result, recorded)),
        }
    }

    /// Puts the measured seconds of a turn behind those of the turns before, under the name of a part.
    pub fn take(&mut self, run: &Run, recorded: &Recording, part: String) {
        let to = self.recording.seconds.len() as u64 * 1000;
        self.recording.marks.push((to, part));
        let ends: Vec<u64> = run.measured().map(|second| second.at).collect();
        if let (Some(first), Some(last)) = (ends.first(), ends.last()) {
            self.recording.append(recorded, first.saturating_sub(1000), *last, to);
        }
        for second in run.measured() {
            let mut line = second.json();
            let place = self.recording.seconds.len() as u64;
            line["t"] = json!(place);
            line["at"] = json!((place + 1) * 1000);
            self.recording.seconds.push(line);
        }
    }
}

fn describe(dsn: &Dsn) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let failed = |error: client::Error| format!("{dsn}: {error}");
        let mut connection = Connection::connect(&dsn.with_database("")).await.map_err(failed)?;
        describe_server(&mut connection).await.map_err(failed)
    })
}

#[cfg(test)]
mod tests {
    use bench::Second;

    use super::*;

    #[test]
    fn turns_follow_each_other_and_their_parts_are_marked() {
        let mut side = Side {
            name: "a".into(),
            dsn: Dsn::parse("127.0.0.1").unwrap(),
            description: Value::Null,
            recording: Recording::default(),
        };
        let second = |t, at| Second { t, at, ..Second::default() };
        let run = |at| Run {
            seconds: vec![second(-1, at), second(0, at + 1000), second(1, at + 2000)],
            ..Run::default()
        };
        for at in [50_000, 90_000] {
            let mut recorded = Recording::default();
            recorded.add_sample(true, at + 500, [("Questions".to_owned(), 5.0)].into());
            side.take(&run(at), &recorded, format!("from {at}"));
        }
        let all = &side.recording;
        let ends: Vec<u64> = all.seconds.iter().filter_map(|second| second["at"].as_u64()).collect();
        assert_eq!(ends, [1000, 2000, 3000, 4000]);
        assert_eq!(all.marks, [(0, "from 50000".to_owned()), (2000, "from 90000".to_owned())]);
        assert_eq!(all.server_times, [500, 2500]);
    }
}
