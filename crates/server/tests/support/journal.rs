//! A load whose outcome is known, for tests that end a server in the middle of it.
//!
//! Every writer keeps its own list of acknowledged transactions outside the database, each entry on disk before the
//! next transaction begins. Transaction k of a writer always does the same, so the rows after its first K transactions
//! are known; after each end K must be what was acknowledged, or one more (the one whose answer was swallowed).

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use super::{RawClient, ServerError};

pub const WRITER_COUNT: u64 = 8;
/// Transfers take from one of so few accounts that writers meet.
const HOT_ACCOUNT_COUNT: u64 = 50;
const INITIAL_BALANCE: u64 = 1_000;
const ROWS_PER_INSERT: u64 = 500;
/// A victim of a deadlock or a lock timeout tries again.
const RETRIED: [u16; 2] = [1213, 1205];

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// How large the database is: transfers go to any of the accounts.
#[derive(Clone, Copy)]
pub struct Shape {
    pub accounts: u64,
    /// Bytes that each account has beside its balance.
    pub padding: usize,
}

/// Few rows, which all stay in memory.
pub const SMALL: Shape = Shape { accounts: HOT_ACCOUNT_COUNT, padding: 0 };

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

/// The list of one writer: a byte for each acknowledged transaction, so no entry can be torn.
struct Acknowledged {
    file: File,
    count: u64,
}

impl Acknowledged {
    fn open(path: &Path) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(path).expect("writable");
        let count = file.metadata().expect("a file has a length").len();
        Self { file, count }
    }

    fn add(&mut self) {
        self.file.write_all(b".").expect("writable");
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
pub fn write_until_killed(port: u16, writer: u64, path: &Path, seed: u64, shape: Shape) {
    let mut acknowledged = Acknowledged::open(path);
    let mut random = Random(seed);
    let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) else { return };
    let mut client = RawClient::new(stream);
    if client.log_in("root").is_err() || client.execute("USE kills").is_err() {
        return;
    }
    loop {
        match transaction(&mut client, writer, acknowledged.count, &mut random, shape) {
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
    shape: Shape,
) -> Result<(), ServerError> {
    let (from, to) = (random.below(HOT_ACCOUNT_COUNT), random.below(shape.accounts));
    let amount = random.below(10);
    client.execute("BEGIN")?;
    client.execute(&format!("UPDATE accounts SET balance = balance - {amount} WHERE id = {from}"))?;
    for statement in statements(writer, number) {
        client.execute(&statement)?;
    }
    client.execute(&format!("UPDATE accounts SET balance = balance + {amount} WHERE id = {to}"))?;
    client.execute("COMMIT")
}

/// Makes the tables that the writers need.
pub fn prepare(client: &mut RawClient, shape: Shape) {
    let mut run = |text: &str| client.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    run("CREATE DATABASE kills");
    run("USE kills");
    run("CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, padding VARCHAR(250) NOT NULL)");
    run("CREATE TABLE journal (writer INT NOT NULL, sequence INT NOT NULL, note VARCHAR(100) NOT NULL, \
         marker INT NOT NULL, PRIMARY KEY (writer, sequence), KEY marker_key (marker), UNIQUE KEY note_key (note))");
    let padding = "p".repeat(shape.padding);
    for first in (0..shape.accounts).step_by(ROWS_PER_INSERT as usize) {
        let ids = first..shape.accounts.min(first + ROWS_PER_INSERT);
        let rows: Vec<_> = ids.map(|id| format!("({id}, {INITIAL_BALANCE}, '{padding}')")).collect();
        run(&format!("INSERT INTO accounts VALUES {}", rows.join(", ")));
    }
    // Whatever commits wait for: no check allows for money that was never there.
    run("FLUSH ENGINE LOGS");
}

/// What the database has of that which was acknowledged.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// Transactions that are there, of all writers and from the first on.
    pub transactions: u64,
    /// Acknowledged ones that are not.
    pub lost: u64,
    /// Where rows, sums or indexes are not what any number of whole transactions makes.
    pub faults: Vec<String>,
}

impl Finding {
    pub fn is_sound(&self) -> bool {
        self.lost == 0 && self.faults.is_empty()
    }
}

fn number(cell: &Option<String>) -> u64 {
    cell.as_ref().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no number: {cell:?}"))
}

/// The rows that there should be, carried on from one look at the database to the next.
#[derive(Default)]
pub struct Models(BTreeMap<u64, (u64, Rows)>);

/// Compares the database with the lists (one a writer), and brings the lists up to date.
pub fn compare(client: &mut RawClient, models: &mut Models, lists: &[PathBuf], shape: Shape) -> Finding {
    let mut finding = Finding::default();
    client.execute("USE kills").expect("the database is there");
    let mut query = |text: &str| client.query(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let balance = query("SELECT SUM(balance) FROM accounts");
    if number(&balance[0][0]) != shape.accounts * INITIAL_BALANCE {
        finding.faults.push(format!("money was lost or made: {:?}", balance[0][0]));
    }
    let mut found = Rows::new();
    for row in query("SELECT writer, sequence, note, marker FROM journal ORDER BY writer, sequence") {
        let note = row[2].clone().expect("not null");
        found.insert((number(&row[0]), number(&row[1])), Row { note, marker: number(&row[3]) });
    }
    let mut expected = Rows::new();
    for (writer, list) in (0..).zip(lists) {
        let mut acknowledged = Acknowledged::open(list);
        // The rows of the last transaction are never deleted by itself.
        let last = found.range((writer, 0)..(writer + 1, 0)).next_back();
        let present = last.map_or(0, |((_, sequence), _)| sequence / 2 + 1);
        finding.transactions += present;
        finding.lost += acknowledged.count.saturating_sub(present);
        if present > acknowledged.count + 1 {
            finding.faults.push(format!(
                "writer {writer}: {present} transactions, where {} were acknowledged",
                acknowledged.count
            ));
        }
        acknowledged.catch_up(present);
        let (applied, rows) = models.0.entry(writer).or_default();
        while *applied < present {
            apply(rows, writer, *applied);
            *applied += 1;
        }
        expected.extend(rows.iter().map(|(key, row)| (*key, row.clone())));
    }
    for (key, row) in &expected {
        if found.get(key) != Some(row) {
            finding.faults.push(format!("row {key:?} is {:?} instead of {row:?}", found.get(key)));
        }
    }
    for key in found.keys().filter(|key| !expected.contains_key(key)) {
        finding.faults.push(format!("row {key:?} is of a transaction that never happened"));
    }
    let by_marker =
        query("SELECT marker, writer, sequence FROM journal FORCE INDEX (marker_key) WHERE marker >= 0");
    let mut by_marker: Vec<_> =
        by_marker.iter().map(|row| (number(&row[0]), number(&row[1]), number(&row[2]))).collect();
    by_marker.sort_unstable();
    let mut markers: Vec<_> = found.iter().map(|(key, row)| (row.marker, key.0, key.1)).collect();
    markers.sort_unstable();
    if by_marker != markers {
        finding.faults.push("the secondary index disagrees with the rows".to_owned());
    }
    let by_note = query("SELECT note FROM journal FORCE INDEX (note_key) WHERE note > ''");
    let mut by_note: Vec<_> = by_note.into_iter().filter_map(|mut row| row[0].take()).collect();
    by_note.sort_unstable();
    let mut notes: Vec<_> = found.into_values().map(|row| row.note).collect();
    notes.sort_unstable();
    if by_note != notes {
        finding.faults.push("the unique index disagrees with the rows".to_owned());
    }
    finding
}

/// The files of the writers' lists.
pub fn lists_in(directory: &Path) -> Vec<PathBuf> {
    (0..WRITER_COUNT).map(|writer| directory.join(format!("writer-{writer}"))).collect()
}

/// A number that the environment sets.
pub fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
