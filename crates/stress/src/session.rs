//! A connection of a workload, and what can become of a statement on it.
//!
//! Invariant: a statement that got an error answer was not carried out; one without an answer may have been (`Lost`).
//! A server that is silent for `ANSWER_MAX` is at fault, so no run hangs on it.

use std::time::Duration;

use mysql::prelude::{FromRow, Queryable};
use mysql::{Conn, Error, OptsBuilder};

use crate::random::Random;

/// Longer than any lock wait that a workload allows.
const ANSWER_MAX: Duration = Duration::from_secs(90);
const CONNECT_MAX: Duration = Duration::from_secs(30);

pub const DUPLICATE: u16 = 1062;
pub const LOCK_TIMEOUT: u16 = 1205;
pub const DEADLOCK: u16 = 1213;
pub const INTERRUPTED: u16 = 1317;
/// MariaDB's last word on a killed connection.
pub const KILLED: u16 = 1927;

/// Where the server is.
#[derive(Debug, Clone)]
pub struct Server {
    pub host: String,
    pub port: u16,
}

impl Server {
    /// From `host:port`.
    pub fn parse(text: &str) -> Option<Server> {
        let (host, port) = text.rsplit_once(':')?;
        Some(Server { host: host.to_owned(), port: port.parse().ok()? })
    }

    pub fn connect(&self, database: Option<&str>) -> Result<Conn, Error> {
        let options = OptsBuilder::new()
            .ip_or_hostname(Some(&self.host))
            .tcp_port(self.port)
            .user(Some("root"))
            .db_name(database)
            .prefer_socket(false)
            .tcp_connect_timeout(Some(CONNECT_MAX))
            .read_timeout(Some(ANSWER_MAX));
        Conn::new(options)
    }
}

/// Why a transaction did not get to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// An error of the server. The statement was not carried out; the transaction is to be rolled back.
    Refused(u16, String),
    /// The connection is gone; whether the statement under way was carried out is not known.
    Lost(String),
    /// What no server should do.
    Fault(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        match error {
            Error::MySqlError(error) => Stop::Refused(error.code, error.message),
            Error::IoError(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
            {
                Stop::Fault(format!("no answer within {} s", ANSWER_MAX.as_secs()))
            }
            other if other.is_connectivity_error() => Stop::Lost(other.to_string()),
            other => Stop::Fault(other.to_string()),
        }
    }
}

/// How COMMIT ended, when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    Done,
    /// The connection was lost, or the query was killed, while COMMIT ran.
    Unknown,
}

pub struct Session {
    client: Conn,
    /// 0 for the first one of a workload.
    pub number: u32,
    pub random: Random,
}

impl Session {
    pub fn new(server: &Server, database: &str, number: u32, seed: u64) -> Result<Session, Error> {
        let mut client = server.connect(Some(database))?;
        // MariaDB's default is ON, MySQL has no such variable.
        let _ = client.query_drop("SET SESSION innodb_snapshot_isolation = OFF");
        Ok(Session { client, number, random: Random::new(seed, number) })
    }

    /// Goes on with a new connection.
    pub fn reconnect(&mut self, server: &Server, database: &str) -> Result<(), Error> {
        let fresh = Session::new(server, database, self.number, 0)?;
        self.client = fresh.client;
        Ok(())
    }

    pub fn connection_id(&self) -> u32 {
        self.client.connection_id()
    }

    /// A statement without rows; answers how many rows it affected.
    pub fn execute(&mut self, sql: impl AsRef<str>) -> Result<u64, Stop> {
        let sql = sql.as_ref();
        self.client.query_drop(sql).map_err(|error| with_text(error.into(), sql))?;
        Ok(self.client.affected_rows())
    }

    pub fn execute_all(&mut self, statements: &[&str]) -> Result<(), Stop> {
        statements.iter().try_for_each(|sql| self.execute(sql).map(drop))
    }

    pub fn last_insert_id(&self) -> u64 {
        self.client.last_insert_id()
    }

    pub fn rows<T: FromRow>(&mut self, sql: impl AsRef<str>) -> Result<Vec<T>, Stop> {
        let sql = sql.as_ref();
        self.client.query(sql).map_err(|error| with_text(error.into(), sql))
    }

    /// The first row, which there must be.
    pub fn row<T: FromRow>(&mut self, sql: impl AsRef<str>) -> Result<T, Stop> {
        let sql = sql.as_ref();
        let row: Option<T> = self.client.query_first(sql).map_err(|error| with_text(error.into(), sql))?;
        row.ok_or_else(|| Stop::Fault(format!("no row: {sql}")))
    }

    pub fn commit(&mut self) -> Result<Commit, Stop> {
        match self.execute("COMMIT") {
            Ok(_) => Ok(Commit::Done),
            Err(Stop::Refused(INTERRUPTED | KILLED, _) | Stop::Lost(_)) => Ok(Commit::Unknown),
            Err(other) => Err(other),
        }
    }

    /// Ends the transaction, whether one is open or not.
    pub fn roll_back(&mut self) -> Result<(), Stop> {
        self.execute("ROLLBACK").map(drop)
    }
}

fn with_text(stop: Stop, sql: &str) -> Stop {
    let shown: String = sql.chars().take(120).collect();
    match stop {
        Stop::Refused(number, text) => Stop::Refused(number, format!("{number} {text}: {shown}")),
        Stop::Lost(text) => Stop::Lost(format!("{text}: {shown}")),
        Stop::Fault(text) => Stop::Fault(format!("{text}: {shown}")),
    }
}
