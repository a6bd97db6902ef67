//! Inserts into tables with zero to five secondary indexes whose keys are random.
//!
//! Invariant: every row goes to the end of the primary key and to a random place of each other index. Made by
//! `workload`.

use client::{Result, Statement, Value};

use crate::random::Random;
use crate::session::{Does, Link, Session};
use crate::settings::Settings;
use crate::words::{Inserts, Row, digit_groups, pieces};
use crate::{Batch, Chunk, Workload};

const INDEXES_MAX: usize = 5;
const KEYS: u64 = 1 << 31;

/// The table with its number of indexes.
pub struct Insert {
    indexes: usize,
    settings: Settings,
}

impl Insert {
    pub fn new(variant: &str, settings: &Settings) -> std::result::Result<Self, String> {
        match variant.parse().or(if variant.is_empty() { Ok(3) } else { Err(()) }) {
            Ok(indexes) if indexes <= INDEXES_MAX => Ok(Self { indexes, settings: settings.clone() }),
            _ => Err(format!("insert:{variant}: 0 to {INDEXES_MAX} secondary indexes")),
        }
    }
}

fn head(table: u64) -> String {
    format!("INSERT INTO bench_insert{table} (k1, k2, k3, k4, k5, pad) VALUES")
}

impl Workload for Insert {
    fn kinds(&self) -> Vec<&'static str> {
        vec!["insert"]
    }

    fn create(&self) -> Vec<String> {
        let indexes: String = (1..=self.indexes).map(|index| format!(", KEY (k{index})")).collect();
        let mut statements = Vec::new();
        for table in 1..=self.settings.tables {
            statements.push(format!("DROP TABLE IF EXISTS bench_insert{table}"));
            statements.push(format!(
                "CREATE TABLE bench_insert{table} (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, k1 INT NOT NULL, \
                 k2 INT NOT NULL, k3 INT NOT NULL, k4 INT NOT NULL, k5 INT NOT NULL, pad VARCHAR(60) NOT NULL{indexes}) {}",
                self.settings.engine
            ));
        }
        statements
    }

    fn chunks(&self) -> Vec<Chunk> {
        pieces(self.settings.tables, self.settings.rows)
    }

    fn batches(&self, chunk: Chunk) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        let mut random = Random::new(self.settings.seed, (chunk.table as u64) << 40 | chunk.first);
        let mut left = chunk.last - chunk.first + 1;
        Box::new(Inserts::new(head(chunk.table as u64), move |row: &mut Row<'_>| {
            if left == 0 {
                return false;
            }
            left -= 1;
            for _ in 0..INDEXES_MAX {
                row.put(random.below(KEYS) as i64);
            }
            row.put(digit_groups(&mut random, 5).as_str());
            true
        }))
    }

    fn session(&self, number: u64, _connections: u64) -> Session {
        let table = number % self.settings.tables.max(1) + 1;
        Session::Insert(Box::new(Client {
            random: Random::new(self.settings.seed, number + 1),
            insert: Statement::new(head(table) + " (?, ?, ?, ?, ?, ?)"),
        }))
    }
}

/// One connection that inserts.
pub struct Client {
    random: Random,
    insert: Statement,
}

impl Client {
    pub fn statements(&mut self) -> Vec<&mut Statement> {
        vec![&mut self.insert]
    }

    pub async fn transaction(&mut self, link: &mut Link<'_>) -> Result<()> {
        let events = link.pipeline();
        link.events(events as u64);
        for _ in 0..events {
            let pad = digit_groups(&mut self.random, 5);
            let mut values = [Value::Text(&pad); INDEXES_MAX + 1];
            for value in &mut values[..INDEXES_MAX] {
                *value = Value::Int(self.random.below(KEYS) as i64);
            }
            link.put(Does::Commits, &mut self.insert, &values).await?;
        }
        link.drain().await
    }
}
