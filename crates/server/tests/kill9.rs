//! kill -9 at random moments under write load: nothing acknowledged is lost, nothing is half there.
//!
//! Every writer keeps its own list of acknowledged transactions, each entry on disk before the next transaction
//! begins. Transaction k of a writer always does the same, so the rows after its first K transactions are known;
//! after each kill K must be what was acknowledged, or one more (the one whose answer the kill swallowed).
//! EVENKEEL_KILL9_CYCLES sets the number of kills (20), EVENKEEL_KILL9_SEED repeats the moments of a run.

mod support;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use support::{RawClient, ServerError, TestDirectory, TestServer};

const WRITER_COUNT: u64 = 8;
const ACCOUNT_COUNT: u64 = 50;
const INITIAL_BALANCE: u64 = 1_000;
const LOAD_MS_MIN: u64 = 30;
const LOAD_MS_MAX: u64 = 900;
/// A victim of a deadlock or a lock timeout tries again.
const RETRIED: [u16; 2] = [1213, 1205];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    note: String,
    marker: u64,
}

type Rows = BTreeMap<(u64, u64), Row>;

fn note(writer: u64, sequence: u64) -> String {
    format!("{writer}-{sequence}-{}", "n".repeat((sequence % 60) as usize))
}

/// The statements of a writer's transaction, without the transfer between accounts.
fn statements(writer: u64, number: u64) -> Vec<String> {
    let (first, second) = (2 * number, 2 * number + 1);
    let row = |sequence| format!("({writer}, {sequence}, '{}', {})", note(writer, sequence), sequence % 97);
    let mut statements = vec![
        format!("INSERT INTO journal VALUES {}", row(first)),
        format!("INSERT INTO journal VALUES {}", row(second)),
    ];
    if number > 0 && number.is_multiple_of(3) {
        statements.push(format!(
            "UPDATE journal SET marker = marker + 1000, note = CONCAT(note, 'u') \
             WHERE writer = {writer} AND sequence IN ({}, {})",
            first - 2,
            first - 1
        ));
    }
    if number >= 5 && number.is_multiple_of(5) {
        statements.push(format!("DELETE FROM journal WHERE writer = {writer} AND sequence = {}", first - 8));
    }
    statements
}

/// What the same does to the rows of the model.
fn apply(rows: &mut Rows, writer: u64, number: u64) {
    let first = 2 * number;
    for sequence in [first, first + 1] {
        rows.insert((writer, sequence), Row { note: note(writer, sequence), marker: sequence % 97 });
    }
    if number > 0 && number.is_multiple_of(3) {
        for sequence in [first - 2, first - 1] {
            if let Some(row) = rows.get_mut(&(writer, sequence)) {
                row.marker += 1000;
                row.note.push('u');
            }
        }
    }
    if number >= 5 && number.is_multiple_of(5) {
        rows.remove(&(writer, first - 8));
    }
}

/// The list of one writer: a line for each acknowledged transaction.
struct Acknowledged {
    file: File,
    count: u64,
}

impl Acknowledged {
    fn open(path: &Path) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(path).expect("writable");
        let text = std::fs::read_to_string(path).expect("readable");
        Self { file, count: text.lines().count() as u64 }
    }

    fn add(&mut self) {
        writeln!(self.file, "{}", self.count).expect("writable");
        self.file.sync_data().expect("the list reaches the disk");
        self.count += 1;
    }

    /// The transaction whose answer was lost turned out to be there.
    fn catch_up(&mut self, count: u64) {
        while self.count < count {
            self.add();
        }
    }
}

/// Writes until the server is gone.
fn write_until_killed(port: u16, writer: u64, path: &Path, seed: u64) {
    let mut acknowledged = Acknowledged::open(path);
    let mut random = Random(seed);
    let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) else { return };
    let mut client = RawClient::new(stream);
    if client.log_in("root").is_err() || client.execute("USE kills").is_err() {
        return;
    }
    loop {
        match transaction(&mut client, writer, acknowledged.count, &mut random) {
            Ok(()) => acknowledged.add(),
            Err(error) if RETRIED.contains(&error.number) => {
                if client.execute("ROLLBACK").is_err() {
                    return;
                }
            }
            Err(error) if error.number == 0 => return,
            Err(error) => panic!("writer {writer}: {error:?}"),
        }
    }
}

fn transaction(
    client: &mut RawClient,
    writer: u64,
    number: u64,
    random: &mut Random,
) -> Result<(), ServerError> {
    let (from, to) = (random.below(ACCOUNT_COUNT), random.below(ACCOUNT_COUNT));
    let amount = random.below(10);
    client.execute("BEGIN")?;
    client.execute(&format!("UPDATE accounts SET balance = balance - {amount} WHERE id = {from}"))?;
    for statement in statements(writer, number) {
        client.execute(&statement)?;
    }
    client.execute(&format!("UPDATE accounts SET balance = balance + {amount} WHERE id = {to}"))?;
    client.execute("COMMIT")
}

fn prepare(server: &TestServer) {
    let mut client = server.log_in();
    let mut run = |text: &str| client.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    run("CREATE DATABASE kills");
    run("USE kills");
    run("CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL)");
    run("CREATE TABLE journal (writer INT NOT NULL, sequence INT NOT NULL, note VARCHAR(100) NOT NULL, \
         marker INT NOT NULL, PRIMARY KEY (writer, sequence), KEY marker_key (marker), UNIQUE KEY note_key (note))");
    let rows: Vec<_> = (0..ACCOUNT_COUNT).map(|id| format!("({id}, {INITIAL_BALANCE})")).collect();
    run(&format!("INSERT INTO accounts VALUES {}", rows.join(", ")));
}

fn number(cell: &Option<String>) -> u64 {
    cell.as_ref().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no number: {cell:?}"))
}

/// Compares the database with the lists, and brings the lists up to date; returns transactions in all.
fn verify(server: &TestServer, models: &mut [(u64, Rows)], lists: &[PathBuf]) -> u64 {
    let mut client = server.log_in();
    client.execute("USE kills").expect("the database is there");
    let mut query = |text: &str| client.query(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let balance = query("SELECT SUM(balance) FROM accounts");
    assert_eq!(number(&balance[0][0]), ACCOUNT_COUNT * INITIAL_BALANCE, "money was lost or made");
    let mut found = Rows::new();
    for row in query("SELECT writer, sequence, note, marker FROM journal ORDER BY writer, sequence") {
        let note = row[2].clone().expect("not null");
        found.insert((number(&row[0]), number(&row[1])), Row { note, marker: number(&row[3]) });
    }
    let mut total = 0;
    let mut expected = Rows::new();
    for (writer, ((applied, rows), list)) in models.iter_mut().zip(lists).enumerate() {
        let writer = writer as u64;
        let mut acknowledged = Acknowledged::open(list);
        while *applied < acknowledged.count {
            apply(rows, writer, *applied);
            *applied += 1;
        }
        if found.contains_key(&(writer, 2 * acknowledged.count)) {
            apply(rows, writer, *applied);
            *applied += 1;
            acknowledged.catch_up(*applied);
        }
        total += *applied;
        expected.extend(rows.iter().map(|(key, row)| (*key, row.clone())));
    }
    for (key, row) in &expected {
        assert_eq!(found.get(key), Some(row), "row {key:?} of an acknowledged transaction");
    }
    assert_eq!(found.len(), expected.len(), "rows of transactions that never happened");
    let by_marker =
        query("SELECT marker, writer, sequence FROM journal FORCE INDEX (marker_key) WHERE marker >= 0");
    let mut by_marker: Vec<_> =
        by_marker.iter().map(|row| (number(&row[0]), number(&row[1]), number(&row[2]))).collect();
    by_marker.sort_unstable();
    let mut markers: Vec<_> = found.iter().map(|(key, row)| (row.marker, key.0, key.1)).collect();
    markers.sort_unstable();
    assert!(by_marker == markers, "the secondary index disagrees with the rows");
    let by_note = query("SELECT note FROM journal FORCE INDEX (note_key) WHERE note > ''");
    let mut by_note: Vec<_> = by_note.into_iter().filter_map(|mut row| row[0].take()).collect();
    by_note.sort_unstable();
    let mut notes: Vec<_> = found.into_values().map(|row| row.note).collect();
    notes.sort_unstable();
    assert!(by_note == notes, "the unique index disagrees with the rows");
    total
}

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn nothing_acknowledged_is_lost() {
    let cycles = from_environment("EVENKEEL_KILL9_CYCLES", 20);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    let seed = from_environment("EVENKEEL_KILL9_SEED", now | 1);
    println!("seed {seed}, {cycles} cycles");
    let mut random = Random(seed);
    let lists_directory = TestDirectory::new();
    let lists: Vec<_> =
        (0..WRITER_COUNT).map(|writer| lists_directory.path().join(format!("writer-{writer}"))).collect();
    let mut models = vec![(0, Rows::new()); WRITER_COUNT as usize];
    let mut server = TestServer::start(&[]);
    prepare(&server);
    let started = Instant::now();
    let mut total = 0;
    for cycle in 0..cycles {
        let load = Duration::from_millis(LOAD_MS_MIN + random.below(LOAD_MS_MAX - LOAD_MS_MIN));
        let port = server.port;
        let seeds: Vec<_> = lists.iter().map(|_| random.below(u64::MAX) | 1).collect();
        let directory = std::thread::scope(|scope| {
            for (writer, (list, seed)) in lists.iter().zip(seeds).enumerate() {
                scope.spawn(move || write_until_killed(port, writer as u64, list, seed));
            }
            std::thread::sleep(load);
            server.kill_nine()
        });
        server = TestServer::start_in(directory, &[]);
        total = verify(&server, &mut models, &lists);
        println!("cycle {cycle}: killed after {load:?}, {total} transactions are all there");
    }
    assert!(total > cycles, "there was no load to speak of");
    println!("{cycles} kills, {total} transactions, 0 lost, 0 half applied, in {:?}", started.elapsed());
}
