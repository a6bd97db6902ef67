//! Several sessions insert the same key at about the same time, as primary or unique key. At most one insert of a key is
//! acknowledged and its row is there in the end; who gets 1062 meets a row that is there in the end, since none is
//! deleted; and a key that nobody got has no row.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Report;
use crate::load::Load;
use crate::session::{Commit, DUPLICATE, KILLED, Session, Stop};

#[derive(Default)]
pub struct Unique {
    /// Each attempt takes the next number; `RACERS` numbers are of one key.
    attempts: AtomicU64,
    fates: Mutex<HashMap<u64, Fate>>,
    duplicates: AtomicU64,
}

const RACERS: u64 = 6;
/// What the check under load looks at.
const NEWEST_KEYS: u64 = 2000;

/// What is known of a key.
#[derive(Default, Clone, Copy)]
struct Fate {
    winner: Option<u64>,
    lost: bool,
    unknown: bool,
}

impl Unique {
    fn note(&self, key: u64, note: impl FnOnce(&mut Fate)) {
        note(self.fates.lock().expect("no thread panics while it holds this").entry(key).or_default());
    }

    /// The attempt's insert is acknowledged.
    fn won(&self, key: u64, attempt: u64) -> Result<(), Stop> {
        let mut other = None;
        self.note(key, |fate| other = fate.winner.replace(attempt));
        match other {
            None => Ok(()),
            Some(other) => Err(Stop::Fault(format!("key {key} was won by attempts {other} and {attempt}"))),
        }
    }

    fn lost(&self, key: u64) {
        self.note(key, |fate| fate.lost = true);
        self.duplicates.fetch_add(1, Relaxed);
    }

    fn unknown(&self, key: u64) {
        self.note(key, |fate| fate.unknown = true);
    }

    fn single(&self, session: &mut Session, sql: &str, key: u64, attempt: u64) -> Result<(), Stop> {
        match session.execute(sql) {
            Ok(_) => self.won(key, attempt),
            Err(Stop::Refused(DUPLICATE, _)) => {
                self.lost(key);
                Ok(())
            }
            Err(stop) => {
                if let Stop::Lost(_) | Stop::Refused(KILLED, _) = stop {
                    self.unknown(key);
                }
                Err(stop)
            }
        }
    }

    fn in_transaction(&self, session: &mut Session, sql: &str, key: u64, attempt: u64) -> Result<(), Stop> {
        session.execute("BEGIN")?;
        match session.execute(sql) {
            Ok(_) => {}
            Err(Stop::Refused(DUPLICATE, _)) => {
                self.lost(key);
                return session.roll_back();
            }
            Err(stop) => return Err(stop),
        }
        // Those who wait for a row that is rolled back have to go on and race again.
        if session.random.one_in(3) {
            return session.roll_back();
        }
        match session.commit()? {
            Commit::Done => self.won(key, attempt),
            Commit::Unknown => {
                self.unknown(key);
                Ok(())
            }
        }
    }
}

impl Load for Unique {
    fn set_up(&self, client: &mut Session) -> Result<(), Stop> {
        client.execute_all(&[
            "CREATE TABLE by_primary (k BIGINT PRIMARY KEY, attempt BIGINT NOT NULL)",
            "CREATE TABLE by_unique (attempt BIGINT PRIMARY KEY, k BIGINT NOT NULL, UNIQUE KEY k (k))",
        ])
    }

    fn step(&self, session: &mut Session) -> Result<(), Stop> {
        let attempt = self.attempts.fetch_add(1, Relaxed);
        let key = attempt / RACERS;
        let table = if key.is_multiple_of(2) { "by_primary" } else { "by_unique" };
        let sql = format!("INSERT INTO {table} (k, attempt) VALUES ({key}, {attempt})");
        if session.random.one_in(2) {
            self.single(session, &sql, key, attempt)
        } else {
            self.in_transaction(session, &sql, key, attempt)
        }
    }

    fn check(&self, client: &mut Session) -> Result<(), Stop> {
        let first = (self.attempts.load(Relaxed) / RACERS).saturating_sub(NEWEST_KEYS);
        for index in ["k", "PRIMARY"] {
            let (rows, keys): (u64, u64) = client.row(format!(
                "SELECT COUNT(*), COUNT(DISTINCT k) FROM by_unique FORCE INDEX ({index}) WHERE k >= {first}"
            ))?;
            if rows != keys {
                return Err(Stop::Fault(format!("{rows} rows have {keys} unique keys, by {index}")));
            }
        }
        Ok(())
    }

    fn finish(&self, client: &mut Session, report: &mut Report) -> Result<(), Stop> {
        let mut found: HashMap<u64, u64> = HashMap::new();
        for table in ["by_primary", "by_unique"] {
            let rows: Vec<(u64, u64)> = client.rows(format!("SELECT k, attempt FROM {table}"))?;
            for (key, attempt) in rows {
                report
                    .expect(found.insert(key, attempt).is_none(), || format!("{table} has key {key} twice"));
            }
        }
        let fates = self.fates.lock().expect("no thread panics while it holds this");
        report.row("keys, 1062", format!("{}, {}", found.len(), self.duplicates.load(Relaxed)));
        for (key, fate) in fates.iter() {
            let row = found.remove(key);
            let holds = match (row, fate.winner) {
                (Some(attempt), Some(winner)) => attempt == winner,
                (Some(_), None) => fate.unknown,
                (None, Some(_)) => false,
                (None, None) => !fate.lost,
            };
            report.expect(holds, || {
                format!(
                    "key {key}: the row of attempt {row:?}, acknowledged {:?}, 1062 given {}, unknown {}",
                    fate.winner, fate.lost, fate.unknown
                )
            });
        }
        let keys: Vec<&u64> = found.keys().take(5).collect();
        report.expect(found.is_empty(), || format!("{} keys of nobody: {keys:?} ..", found.len()));
        Ok(())
    }
}
