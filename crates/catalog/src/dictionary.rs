//! The data dictionary's rows in the engine's catalog tree: keys, values and their reading at start.
//!
//! Key: one kind byte, the name's parts each ended by a zero byte (names hold none), then a chunk number of two
//! bytes, big-endian. A value is cut into chunks so that no dictionary row exceeds what a page of any size takes.
//!
//! | kind | name            | value                                     |
//! |------|-----------------|-------------------------------------------|
//! | 1    | `format`        | version of this layout, one byte          |
//! | 2    | database        | default collation, two bytes little-endian |
//! | 3    | database, table | stored form of the table descriptor       |
//! | 4    | `accounts`      | what the session encodes                  |
//! | 5    | variable        | text of a persisted global variable       |
//! | 6    | database, view  | stored form of the view                   |
//! | 7    | kind, database, folded name | stored form of the stored program |
//! | 8    | table's id      | stored form of a temporary table          |
//! | 9    | channel         | where it replicates from                  |
//! | 10   | channel         | what it has applied                       |
//! | 16   | table's id      | its statistics                            |
//! | 17   | table's id      | its histograms                            |
//!
//! Invariant: the chunks of a value are numbered from 0 without gaps and only the last is shorter than
//! `CHUNK_BYTES`; a value that is a multiple of it ends with an empty chunk.
use collation::CollationId;
use datum::{SqlError, error_code};
use engine::{Direction, EntryBatch, KeyRange, ReadMode, Transaction, TreeId, Uniqueness, WaitPolicy};
use foldhash::HashMap;
use schema::{DatabaseDef, ProgramDef, ProgramKind, TableDef, TableId, ViewDef};
use table::{Histogram, Statistics, engine_error};

pub(crate) const FORMAT_VERSION: u8 = 1;
const CHUNK_BYTES: usize = 1024;
/// Dictionary rows are only contended when a client creates and drops the same name concurrently.
const WAIT: WaitPolicy = WaitPolicy::Wait { timeout_us: 50_000_000 };
const WHAT: &str = "data dictionary";

/// Names one value of the dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordKey(Vec<u8>);

impl RecordKey {
    fn new(kind: u8, parts: &[&str]) -> RecordKey {
        let mut key = vec![kind];
        for part in parts {
            debug_assert!(!part.as_bytes().contains(&0), "names are checked before they are stored");
            key.extend_from_slice(part.as_bytes());
            key.push(0);
        }
        RecordKey(key)
    }

    pub fn format() -> RecordKey {
        RecordKey::new(1, &["format"])
    }

    pub fn database(name: &str) -> RecordKey {
        RecordKey::new(2, &[name])
    }

    pub fn table(database: &str, name: &str) -> RecordKey {
        RecordKey::new(3, &[database, name])
    }

    pub fn program(kind: ProgramKind, database: &str, folded: &str) -> RecordKey {
        RecordKey::new(7, &[kind.word(), database, folded])
    }

    pub fn accounts() -> RecordKey {
        RecordKey::new(4, &["accounts"])
    }

    pub fn variable(name: &str) -> RecordKey {
        RecordKey::new(5, &[name])
    }

    pub fn view(database: &str, name: &str) -> RecordKey {
        RecordKey::new(6, &[database, name])
    }

    /// What a session made and a restart removes.
    pub fn temporary(table: TableId) -> RecordKey {
        RecordKey::new(8, &[&table.0.to_string()])
    }

    pub fn channel(name: &str) -> RecordKey {
        RecordKey::new(9, &[name])
    }

    pub fn applied(channel: &str) -> RecordKey {
        RecordKey::new(10, &[channel])
    }

    pub fn statistics(table: TableId) -> RecordKey {
        RecordKey::new(16, &[&table.0.to_string()])
    }

    pub fn histograms(table: TableId) -> RecordKey {
        RecordKey::new(17, &[&table.0.to_string()])
    }

    fn chunk(&self, number: usize) -> Vec<u8> {
        let number = u16::try_from(number).expect("a dictionary value has fewer than 65,536 chunks");
        let mut key = self.0.clone();
        key.extend_from_slice(&number.to_be_bytes());
        key
    }
}

fn failed(error: engine::EngineError) -> SqlError {
    engine_error(WHAT, error)
}

fn corrupt(what: &str) -> SqlError {
    error_code::ER_INTERNAL_ERROR.with(&[&format!("the data dictionary is damaged: {what}")])
}

/// Stores a value, replacing an earlier one.
pub(crate) async fn put(
    transaction: &mut Transaction,
    key: &RecordKey,
    value: &[u8],
) -> Result<(), SqlError> {
    remove(transaction, key).await?;
    let mut number = 0;
    loop {
        debug_assert!(number * CHUNK_BYTES <= value.len(), "each chunk but the last is full");
        let chunk =
            &value[(number * CHUNK_BYTES).min(value.len())..((number + 1) * CHUNK_BYTES).min(value.len())];
        let result =
            transaction.insert(TreeId::CATALOG, &key.chunk(number), chunk, Uniqueness::Key, WAIT).await;
        result.map_err(failed)?;
        if chunk.len() < CHUNK_BYTES {
            return Ok(());
        }
        number += 1;
    }
}

/// Stores a value that changes often; `earlier` is the length of the one that is there. One that is short is replaced in place.
pub(crate) async fn replace(
    transaction: &mut Transaction,
    key: &RecordKey,
    earlier: Option<usize>,
    value: &[u8],
) -> Result<(), SqlError> {
    if earlier.is_some_and(|length| length < CHUNK_BYTES) && value.len() < CHUNK_BYTES {
        return transaction.update(TreeId::CATALOG, &key.chunk(0), value, WAIT).await.map_err(failed);
    }
    put(transaction, key, value).await
}

/// Removes a value if there is one.
pub(crate) async fn remove(transaction: &mut Transaction, key: &RecordKey) -> Result<(), SqlError> {
    let mut number = 0;
    loop {
        match transaction.delete(TreeId::CATALOG, &key.chunk(number), WAIT).await {
            Ok(()) => number += 1,
            Err(engine::EngineError::NotFound) => return Ok(()),
            Err(error) => return Err(failed(error)),
        }
    }
}

/// Everything in the dictionary.
#[derive(Default)]
pub(crate) struct Contents {
    pub format: Option<u8>,
    pub databases: Vec<DatabaseDef>,
    pub tables: Vec<TableDef>,
    pub views: Vec<ViewDef>,
    pub temporary: Vec<TableDef>,
    pub programs: Vec<ProgramDef>,
    pub accounts: Option<Vec<u8>>,
    pub variables: Vec<(String, String)>,
    pub channels: Vec<(String, Vec<u8>)>,
    pub applied: Vec<(String, Vec<u8>)>,
    pub statistics: HashMap<TableId, Statistics>,
    pub histograms: HashMap<TableId, Vec<Histogram>>,
}

pub(crate) async fn read_all(transaction: &mut Transaction) -> Result<Contents, SqlError> {
    let mut cursor =
        transaction.scan(TreeId::CATALOG, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
    let mut contents = Contents::default();
    let mut batch = EntryBatch::default();
    let mut value = Vec::new();
    loop {
        batch.clear();
        let more = cursor.next_batch(transaction, 256, &mut batch).await.map_err(failed)?;
        for (key, chunk) in batch.iter() {
            value.extend_from_slice(chunk);
            if chunk.len() < CHUNK_BYTES {
                let name = key.len().checked_sub(2).map(|end| &key[..end]).ok_or_else(|| corrupt("a key"))?;
                contents.add(name, std::mem::take(&mut value))?;
            }
        }
        if !more {
            return Ok(contents);
        }
    }
}

impl Contents {
    fn add(&mut self, key: &[u8], value: Vec<u8>) -> Result<(), SqlError> {
        let (kind, rest) = key.split_first().ok_or_else(|| corrupt("an empty key"))?;
        let name = rest.strip_suffix(b"\0").ok_or_else(|| corrupt("a key without end"))?;
        let name = std::str::from_utf8(name).map_err(|_| corrupt("a name"))?;
        match kind {
            1 => self.format = value.first().copied(),
            2 => {
                let number = value.try_into().map(u16::from_le_bytes).map_err(|_| corrupt("a database"))?;
                let collation = CollationId::by_number(number).ok_or_else(|| corrupt("a collation"))?;
                self.databases.push(DatabaseDef { name: name.to_owned(), collation });
            }
            3 => {
                let table = TableDef::from_bytes(&value).map_err(|error| corrupt(&error.to_string()))?;
                self.tables.push(table);
            }
            4 => self.accounts = Some(value),
            5 => {
                let text = String::from_utf8(value).map_err(|_| corrupt("a variable"))?;
                self.variables.push((name.to_owned(), text));
            }
            6 => {
                let view = ViewDef::from_bytes(&value).map_err(|error| corrupt(&error.to_string()))?;
                self.views.push(view);
            }
            7 => {
                let program = ProgramDef::from_bytes(&value).map_err(|error| corrupt(&error.to_string()))?;
                self.programs.push(program);
            }
            8 => {
                let table = TableDef::from_bytes(&value).map_err(|error| corrupt(&error.to_string()))?;
                self.temporary.push(TableDef { temporary: true, ..table });
            }
            9 => self.channels.push((name.to_owned(), value)),
            10 => self.applied.push((name.to_owned(), value)),
            16 => {
                let table = name.parse().map(TableId).map_err(|_| corrupt("the name of statistics"))?;
                // They only guide the planner: what cannot be read is made anew.
                self.statistics.extend(Statistics::from_bytes(&value).map(|read| (table, read)));
            }
            17 => {
                let table = name.parse().map(TableId).map_err(|_| corrupt("the name of histograms"))?;
                self.histograms.extend(Histogram::from_bytes(&value).map(|read| (table, read)));
            }
            _ => return Err(corrupt("an unknown kind of record")),
        }
        Ok(())
    }
}
