//! Runs a history: tables of its own, random transactions on several connections, and a last look at everything.
//!
//! A disturbance (the caller kills the server and starts it again) goes on beside the transactions and has ended before
//! the last look, so what that shows is what the server kept.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Error, OptsBuilder};

use crate::history::{History, Operation, Outcome, Transaction};
use crate::permitted::{Level, Reads};
use crate::random::Random;
use crate::transaction_run::{self, Counters, INITIAL_MEMBERS, PART_KEYS, Workload, key_count};

/// What disturbs a history; called again and again while its transactions run, and returns when the server is back.
pub type Disturbance<'d> = &'d mut (dyn FnMut() + Send);

/// A server that is killed comes back within this.
const RECONNECT_MAX: Duration = Duration::from_secs(60);
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);
/// No answer takes longer than this, a lock's wait included. A server that is killed while it accepts a connection may leave the
/// client with one that nobody ever answers or ends.
const ANSWER_MAX: Duration = Duration::from_secs(20);
/// A transaction that waits longer than this gives up.
const LOCK_WAIT_S: u32 = 5;
const ROWS_PER_INSERT: usize = 500;

/// Where the server is.
#[derive(Debug, Clone)]
pub struct Server {
    pub host: String,
    pub port: u16,
}

/// One history to run.
#[derive(Debug, Clone)]
pub struct Plan {
    pub level: Level,
    pub reads: Reads,
    pub workload: Workload,
    pub connections: u32,
    pub transactions: u32,
    pub seed: u64,
    /// Made and dropped.
    pub database: String,
}

/// What one connection has run, by number.
type Ran = Result<Vec<(u32, Transaction)>, String>;

/// The history, the last transaction of which has seen everything; an error says what no server should do.
pub fn run(
    server: &Server,
    plan: &Plan,
    mut disturbance: Option<Disturbance<'_>>,
) -> Result<History, String> {
    let mut control = server.connect(None).map_err(|error| error.to_string())?;
    let initial_members = set_up(&mut control, plan).map_err(|error| format!("setup: {error}"))?;
    drop(control);
    let keys = key_count(plan.transactions);
    let counters = Counters::new(keys * INITIAL_MEMBERS + 1);
    let results: Mutex<Vec<Ran>> = Mutex::default();
    let running = AtomicU32::new(plan.connections);
    let loses_connections = disturbance.is_some();
    std::thread::scope(|scope| {
        for connection in 0..plan.connections {
            let (counters, results, running) = (&counters, &results, &running);
            scope.spawn(move || {
                let result = run_connection(server, plan, connection, counters, loses_connections);
                results.lock().expect("no thread panics while it holds this").push(result);
                running.fetch_sub(1, Ordering::SeqCst);
            });
        }
        while let Some(disturb) = disturbance.as_mut()
            && running.load(Ordering::SeqCst) > 0
        {
            disturb();
        }
    });
    let mut transactions = Vec::with_capacity(plan.transactions as usize);
    for ran in results.into_inner().expect("no thread panics while it holds this") {
        transactions.extend(ran?);
    }
    transactions.sort_unstable_by_key(|(number, _)| *number);
    let mut transactions: Vec<Transaction> =
        transactions.into_iter().map(|(_, transaction)| transaction).collect();
    let mut control = server.session(plan, loses_connections)?;
    let last = last_look(&mut control, plan, keys).map_err(|error| format!("last look: {error}"))?;
    transactions.push(last);
    let dropped = control.query_drop(format!("DROP DATABASE {}", plan.database));
    dropped.map_err(|error| error.to_string())?;
    Ok(History { initial_members, transactions, has_last_look: true })
}

impl Server {
    /// From `host:port`.
    pub fn parse(text: &str) -> Option<Server> {
        let (host, port) = text.rsplit_once(':')?;
        Some(Server { host: host.to_owned(), port: port.parse().ok()? })
    }

    fn connect(&self, database: Option<&str>) -> Result<Conn, Error> {
        let options = OptsBuilder::new()
            .ip_or_hostname(Some(&self.host))
            .tcp_port(self.port)
            .user(Some("root"))
            .db_name(database)
            .prefer_socket(false)
            .tcp_connect_timeout(Some(ANSWER_MAX))
            .read_timeout(Some(ANSWER_MAX))
            .write_timeout(Some(ANSWER_MAX));
        Conn::new(options)
    }

    /// Whether a connection can be made now.
    pub fn answers(&self) -> bool {
        self.connect(None).is_ok()
    }

    /// A session of the plan's level; with `waits` for a server that is being started again.
    fn session(&self, plan: &Plan, waits: bool) -> Result<Conn, String> {
        let deadline = Instant::now() + RECONNECT_MAX;
        loop {
            let connected = self.connect(Some(&plan.database)).and_then(|mut client| {
                for statement in plan.level.statements() {
                    client.query_drop(statement)?;
                }
                client.query_drop(format!("SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT_S}"))?;
                Ok(client)
            });
            match connected {
                Ok(client) => return Ok(client),
                Err(error) if !waits || Instant::now() > deadline => return Err(error.to_string()),
                Err(_) => std::thread::sleep(RECONNECT_PAUSE),
            }
        }
    }
}

/// The tables, and the members that are there from the start.
fn set_up(control: &mut Conn, plan: &Plan) -> Result<Vec<(u32, u32)>, Error> {
    let database = &plan.database;
    let keys = key_count(plan.transactions);
    for sql in [
        format!("DROP DATABASE IF EXISTS {database}"),
        format!("CREATE DATABASE {database}"),
        format!("USE {database}"),
        "CREATE TABLE lists (id INT PRIMARY KEY, elements TEXT NOT NULL)".to_owned(),
        "CREATE TABLE registers (id INT PRIMARY KEY, part INT, value INT, replaced INT, KEY part (part, value))"
            .to_owned(),
        "CREATE TABLE members (id INT PRIMARY KEY, class INT, KEY class (class))".to_owned(),
    ] {
        control.query_drop(sql)?;
    }
    let registers: Vec<String> = (0..keys).map(|key| format!("({key}, {}, 0, 0)", key / PART_KEYS)).collect();
    for rows in registers.chunks(ROWS_PER_INSERT) {
        control.query_drop(format!("INSERT INTO registers VALUES {}", rows.join(", ")))?;
    }
    let members: Vec<(u32, u32)> =
        (0..keys * INITIAL_MEMBERS).map(|key| (key, key / INITIAL_MEMBERS)).collect();
    for rows in members.chunks(ROWS_PER_INSERT) {
        let rows: Vec<String> = rows.iter().map(|(key, class)| format!("({key}, {class})")).collect();
        control.query_drop(format!("INSERT INTO members VALUES {}", rows.join(", ")))?;
    }
    Ok(members)
}

fn run_connection(
    server: &Server,
    plan: &Plan,
    connection: u32,
    counters: &Counters,
    loses_connections: bool,
) -> Ran {
    let mut random = Random::new(plan.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(connection)));
    let mut client = server.session(plan, loses_connections)?;
    let mut transactions = Vec::new();
    loop {
        let number = counters.begin();
        if number >= plan.transactions {
            return Ok(transactions);
        }
        let ran = transaction_run::run(&mut client, number, plan.workload, plan.reads, counters, &mut random);
        match ran {
            Ok(transaction) => transactions.push((number, transaction)),
            Err((_, error)) if matches!(error, Error::MySqlError(_)) || !loses_connections => {
                return Err(format!("transaction {number}: {error}"));
            }
            Err((transaction, _)) => {
                transactions.push((number, transaction));
                client = server.session(plan, loses_connections)?;
            }
        }
    }
}

/// Reads everything when all others have ended.
fn last_look(control: &mut Conn, plan: &Plan, keys: u32) -> Result<Transaction, Error> {
    let mut operations = Vec::new();
    match plan.workload {
        Workload::Lists => {
            let rows: Vec<(u32, String)> = control.query("SELECT id, elements FROM lists")?;
            for (key, elements) in rows {
                let values = elements.split(',').map(|value| value.parse().unwrap_or(u32::MAX)).collect();
                operations.push(Operation::List { key, values });
            }
        }
        Workload::Registers | Workload::Members => {
            let rows: Vec<(u32, u32)> = control.query("SELECT id, value FROM registers")?;
            operations.extend(rows.into_iter().map(|(key, value)| Operation::Register { key, value }));
        }
    }
    if plan.workload == Workload::Members {
        let rows: Vec<(u32, u32)> = control.query("SELECT id, class FROM members")?;
        let mut members = vec![Vec::new(); keys as usize];
        for (key, class) in rows {
            members[class as usize].push(key);
        }
        for (class, keys) in members.into_iter().enumerate() {
            operations.push(Operation::Members { class: class as u32, keys });
        }
    }
    Ok(Transaction { operations, outcome: Outcome::Committed })
}
