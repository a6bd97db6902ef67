//! Runs one schedule and writes down what it shows.
//!
//! After each step the runner waits until every session is idle or waits for a lock, by the server's own word
//! (`waits`). So the next step always meets a settled server, and the same schedule gives the same lines again. A step
//! for a session that still waits is put off until that session is free.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use crate::outcome::outcome;
use crate::schedule::{Action, Schedule};
use crate::session::{Answer, Session};
use crate::waits::{Observer, Waits};

/// After this a step that neither ended nor waits for a lock is written down as hanging.
const HANG_MAX: Duration = Duration::from_secs(10);
/// Most steps end within this; only then is the server asked who waits.
const FIRST_LOOK: Duration = Duration::from_millis(3);
/// Between two looks that have to agree.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// A server.
#[derive(Debug, Clone)]
pub struct Target {
    pub host: String,
    pub port: u16,
}

impl Target {
    /// From `host:port`.
    pub fn parse(text: &str) -> Option<Target> {
        let (host, port) = text.rsplit_once(':')?;
        Some(Target { host: host.to_owned(), port: port.parse().ok()? })
    }

    fn options(&self, database: Option<&str>) -> OptsBuilder {
        OptsBuilder::new()
            .ip_or_hostname(Some(&self.host))
            .tcp_port(self.port)
            .user(Some("root"))
            .db_name(database)
            .prefer_socket(false)
            .tcp_connect_timeout(Some(HANG_MAX))
    }

    pub fn connect(&self) -> Result<Conn, mysql::Error> {
        Conn::new(self.options(None))
    }
}

struct Run {
    sessions: Vec<Session>,
    /// The statement under way in each session.
    busy: Vec<Option<String>>,
    /// Steps that were put off because their session waits.
    later: Vec<VecDeque<String>>,
    answers: Receiver<Answer>,
    observer: Observer,
    database: String,
    hangs: bool,
    lines: Vec<String>,
}

/// The lines of a schedule, run in a database of that name, which is made and dropped.
pub fn run(target: &Target, schedule: &Schedule, database: &str) -> Result<Vec<String>, String> {
    let failed = |error: mysql::Error| format!("{}: {error}", schedule.name);
    let mut control = target.connect().map_err(failed)?;
    control.query_drop(format!("DROP DATABASE IF EXISTS {database}")).map_err(failed)?;
    control.query_drop(format!("CREATE DATABASE {database}")).map_err(failed)?;
    control.query_drop(format!("USE {database}")).map_err(failed)?;
    for sql in &schedule.setup {
        control.query_drop(sql).map_err(|error| format!("{}: {sql}: {error}", schedule.name))?;
    }
    let (sender, answers) = channel();
    let count = schedule.session_count();
    let started =
        (0..count).map(|session| Session::start(session, target.options(Some(database)), sender.clone()));
    let mut run = Run {
        sessions: started.collect::<Result<_, _>>().map_err(failed)?,
        busy: vec![None; count],
        later: vec![VecDeque::new(); count],
        answers,
        observer: Observer::new(target.connect().map_err(failed)?),
        database: database.to_owned(),
        hangs: false,
        lines: Vec::new(),
    };
    run.all_steps(schedule).map_err(failed)?;
    run.end_transactions().map_err(failed)?;
    run.final_rows(&mut control).map_err(failed)?;
    let lines = run.end(&mut control);
    control.query_drop(format!("DROP DATABASE IF EXISTS {database}")).map_err(failed)?;
    Ok(lines)
}

impl Run {
    fn all_steps(&mut self, schedule: &Schedule) -> Result<(), mysql::Error> {
        for sql in &schedule.prelude {
            for session in 0..self.sessions.len() {
                self.send(session, sql);
            }
            self.settle()?;
        }
        self.lines.clear();
        for step in &schedule.steps {
            let session = step.session - 1;
            match &step.action {
                Action::Query(sql) if self.busy[session].is_some() => {
                    self.note(session, sql, "later");
                    self.later[session].push_back(sql.clone());
                }
                Action::Query(sql) => self.step(session, sql)?,
                Action::Await => {
                    let deadline = Instant::now() + HANG_MAX;
                    while self.busy[session].is_some() && Instant::now() < deadline {
                        self.receive(Duration::from_millis(20));
                    }
                    self.run_put_off()?;
                }
            }
        }
        Ok(())
    }

    /// One statement, what it lets go on, and what was put off for that.
    fn step(&mut self, session: usize, sql: &str) -> Result<(), mysql::Error> {
        let before = self.lines.len();
        self.send(session, sql);
        let waits = self.settle()?;
        let own = format!("  s{}: {sql} | then ", session + 1);
        let answered = self.lines[before..].iter().position(|line| line.starts_with(&own));
        let text = match answered {
            Some(position) => self.lines.remove(before + position)[own.len()..].to_owned(),
            None => self.describe_wait(session, &waits),
        };
        self.lines[before..].sort();
        self.lines.insert(before, format!("s{}: {sql} | {text}", session + 1));
        self.run_put_off()
    }

    fn run_put_off(&mut self) -> Result<(), mysql::Error> {
        let free = |run: &Run| {
            (0..run.busy.len())
                .find(|session| run.busy[*session].is_none() && !run.later[*session].is_empty())
        };
        while let Some(session) = free(self) {
            let sql = self.later[session].pop_front().expect("there is a step");
            self.step(session, &sql)?;
        }
        Ok(())
    }

    fn describe_wait(&self, session: usize, waits: &Waits) -> String {
        let connection = self.sessions[session].connection_id;
        if !waits.waits(connection) {
            return "hangs".to_owned();
        }
        let blockers: Vec<u32> = waits.blockers(connection).collect();
        let names: Vec<String> = (0..self.sessions.len())
            .filter(|index| blockers.contains(&self.sessions[*index].connection_id))
            .map(|index| format!("s{}", index + 1))
            .collect();
        if names.is_empty() { "waits".to_owned() } else { format!("waits for {}", names.join(" ")) }
    }

    fn note(&mut self, session: usize, sql: &str, text: &str) {
        self.lines.push(format!("s{}: {sql} | {text}", session + 1));
    }

    fn send(&mut self, session: usize, sql: &str) {
        self.busy[session] = Some(sql.to_owned());
        let mut text = sql.to_owned();
        for (index, other) in self.sessions.iter().enumerate() {
            text = text.replace(&format!("{{s{}}}", index + 1), &other.connection_id.to_string());
        }
        self.sessions[session].send(text);
    }

    /// Takes an answer if one comes in time; false when none did.
    fn receive(&mut self, limit: Duration) -> bool {
        let Ok(answer) = self.answers.recv_timeout(limit) else { return false };
        let sql = self.busy[answer.session].take().expect("an answer follows a statement");
        let text = answer.text.replace(&self.database, "db");
        self.lines.push(format!("  s{}: {sql} | then {text}", answer.session + 1));
        true
    }

    /// Waits until nobody runs: all are idle or wait for a lock, in several looks that agree.
    fn settle(&mut self) -> Result<Waits, mysql::Error> {
        let deadline = Instant::now() + HANG_MAX;
        let connections: Vec<u32> = self.sessions.iter().map(|session| session.connection_id).collect();
        let mut limit = FIRST_LOOK;
        let mut seen: Option<(Waits, u32)> = None;
        loop {
            while self.busy.iter().any(Option::is_some) && self.receive(limit) {
                seen = None;
            }
            limit = BETWEEN_LOOKS;
            if self.busy.iter().all(Option::is_none) {
                return Ok(Waits::default());
            }
            let waits = self.observer.ask()?.of(&connections);
            let sessions = self.sessions.iter().zip(&self.busy);
            let mut under_way = sessions.filter(|(_, busy)| busy.is_some());
            if !under_way.all(|(session, _)| waits.waits(session.connection_id)) || waits.has_cycle() {
                if Instant::now() > deadline {
                    self.hangs = true;
                    return Ok(waits);
                }
                seen = None;
                continue;
            }
            let looks = seen.filter(|(before, _)| *before == waits).map_or(1, |(_, looks)| looks + 1);
            if looks >= self.observer.looks_needed(&waits) {
                return Ok(waits);
            }
            seen = Some((waits, looks));
        }
    }

    /// Rolls back in the order of the sessions until nobody waits any more.
    fn end_transactions(&mut self) -> Result<(), mysql::Error> {
        self.lines.push("end".to_owned());
        for round in 0..3 {
            for session in 0..self.sessions.len() {
                if self.busy[session].is_some() || round > 0 && self.busy.iter().all(Option::is_none) {
                    continue;
                }
                let before = self.lines.len();
                for sql in ["ROLLBACK", "UNLOCK TABLES"] {
                    self.send(session, sql);
                    self.settle()?;
                }
                let own = format!("  s{}: ", session + 1);
                let mut index = before;
                while index < self.lines.len() {
                    match self.lines[index].starts_with(&own) {
                        true => drop(self.lines.remove(index)),
                        false => index += 1,
                    }
                }
            }
        }
        Ok(())
    }

    fn final_rows(&mut self, control: &mut Conn) -> Result<(), mysql::Error> {
        control.query_drop("SET SESSION lock_wait_timeout = 2")?;
        let tables: Vec<String> = control.query("SHOW TABLES")?;
        for table in tables {
            let rows = outcome(control, &format!("SELECT * FROM `{table}`"));
            let rows = rows.replace(&self.database, "db");
            self.lines.push(format!("{table} | {rows}"));
        }
        Ok(())
    }

    fn end(self, control: &mut Conn) -> Vec<String> {
        for (session, busy) in self.sessions.into_iter().zip(self.busy) {
            if busy.is_some() {
                // It may be gone already; then there is nothing to end.
                let _ = control.query_drop(format!("KILL {}", session.connection_id));
            }
            session.end(busy.is_some());
        }
        self.lines
    }
}
