//! YCSB's core workloads A to F on its table of ten text fields.
//!
//! Invariant: the mixes are those of the core properties files; hot keys are spread by a hash, and D reads the latest.
//! Made by `workload`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use client::{Answer, Result, Statement, Value};

use crate::distribution::{Distribution, Shape};
use crate::random::Random;
use crate::script::Borders;
use crate::session::{Does, Link, Session};
use crate::settings::Settings;
use crate::words::{Inserts, Row, pieces};
use crate::{Batch, Chunk, Workload};

const FIELDS: u64 = 10;
const FIELD_BYTES: i64 = 100;
const SCAN_MAX: i64 = 100;
const KINDS: [&str; 5] = ["read", "update", "insert", "scan", "read_modify_write"];

/// Chances of the kinds, in their order.
type Mix = [f64; 5];

/// One of the six.
pub struct Ycsb {
    mix: Mix,
    rows: u64,
    distribution: Distribution,
    settings: Settings,
    /// The newest key.
    newest: Arc<AtomicU64>,
}

impl Ycsb {
    pub fn new(variant: &str, settings: &Settings) -> std::result::Result<Self, String> {
        let mix = match variant.to_ascii_lowercase().as_str() {
            "a" | "" => [0.5, 0.5, 0.0, 0.0, 0.0],
            "b" => [0.95, 0.05, 0.0, 0.0, 0.0],
            "c" => [1.0, 0.0, 0.0, 0.0, 0.0],
            "d" => [0.95, 0.0, 0.05, 0.0, 0.0],
            "e" => [0.0, 0.0, 0.05, 0.95, 0.0],
            "f" => [0.5, 0.0, 0.0, 0.0, 0.5],
            other => return Err(format!("ycsb:{other}: the workloads are a to f")),
        };
        let rows = settings.rows_or(100_000);
        let is_d = variant.eq_ignore_ascii_case("d");
        let default = if is_d { Shape::Latest(0.99) } else { Shape::Scattered(0.99) };
        let distribution = Distribution::new(settings.shape.unwrap_or(default), rows);
        Ok(Self {
            mix,
            rows,
            distribution,
            settings: settings.clone(),
            newest: Arc::new(AtomicU64::new(rows)),
        })
    }
}

fn key(row: i64) -> String {
    format!("user{row:019}")
}

impl Workload for Ycsb {
    fn kinds(&self) -> Vec<&'static str> {
        KINDS.to_vec()
    }

    fn create(&self) -> Vec<String> {
        let fields: Vec<String> = (0..FIELDS).map(|field| format!("field{field} TEXT")).collect();
        vec![
            "DROP TABLE IF EXISTS usertable".into(),
            format!(
                "CREATE TABLE usertable (ycsb_key VARCHAR(255) PRIMARY KEY, {}) {}",
                fields.join(", "),
                self.settings.engine
            ),
        ]
    }

    fn chunks(&self) -> Vec<Chunk> {
        pieces(1, self.rows)
    }

    fn batches(&self, chunk: Chunk) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        let mut random = Random::new(self.settings.seed, chunk.first);
        let mut next = chunk.first;
        Box::new(Inserts::new("INSERT INTO usertable VALUES".into(), move |row: &mut Row<'_>| {
            if next > chunk.last {
                return false;
            }
            row.put(key(next as i64).as_str());
            for _ in 0..FIELDS {
                row.put(random.letters(FIELD_BYTES, FIELD_BYTES).as_str());
            }
            next += 1;
            true
        }))
    }

    fn session(&self, number: u64, _connections: u64) -> Session {
        let places = vec!["?"; FIELDS as usize + 1].join(", ");
        Session::Ycsb(Box::new(Client {
            mix: self.mix,
            random: Random::new(self.settings.seed, number + 1),
            distribution: self.distribution.clone(),
            newest: Arc::clone(&self.newest),
            borders: Borders::new(),
            answer: Answer::keeping(),
            read: Statement::new("SELECT * FROM usertable WHERE ycsb_key = ?"),
            updates: (0..FIELDS)
                .map(|field| {
                    Statement::new(format!("UPDATE usertable SET field{field} = ? WHERE ycsb_key = ?"))
                })
                .collect(),
            insert: Statement::new(format!("INSERT INTO usertable VALUES ({places})")),
            scan: Statement::new("SELECT * FROM usertable WHERE ycsb_key >= ? ORDER BY ycsb_key LIMIT ?"),
        }))
    }
}

/// One connection of YCSB.
pub struct Client {
    mix: Mix,
    random: Random,
    distribution: Distribution,
    newest: Arc<AtomicU64>,
    borders: Borders,
    answer: Answer,
    read: Statement,
    updates: Vec<Statement>,
    insert: Statement,
    scan: Statement,
}

impl Client {
    pub fn statements(&mut self) -> Vec<&mut Statement> {
        let mut all = vec![&mut self.read, &mut self.insert, &mut self.scan];
        all.extend(&mut self.updates);
        all
    }

    fn existing(&mut self) -> String {
        let newest = self.newest.load(Ordering::Relaxed);
        key(self.distribution.draw_newest(&mut self.random, newest))
    }

    fn kind(&mut self) -> usize {
        let mut left = self.random.fraction();
        for (kind, chance) in self.mix.iter().enumerate() {
            if left < *chance {
                return kind;
            }
            left -= chance;
        }
        0
    }

    pub async fn transaction(&mut self, link: &mut Link<'_>) -> Result<()> {
        let kind = self.kind();
        link.kind(kind);
        let key = self.existing();
        let text = self.random.letters(FIELD_BYTES, FIELD_BYTES);
        let field = self.random.below(FIELDS) as usize;
        match kind {
            0 => link.put(Does::Read, &mut self.read, &[Value::Text(&key)]).await?,
            1 => {
                let values = [Value::Text(&text), Value::Text(&key)];
                link.put(Does::Commits, &mut self.updates[field], &values).await?;
            }
            2 => {
                let key = crate::ycsb::key(self.newest.fetch_add(1, Ordering::Relaxed) as i64 + 1);
                let mut values = vec![Value::Text(&key)];
                values.resize(FIELDS as usize + 1, Value::Text(&text));
                link.put(Does::Commits, &mut self.insert, &values).await?;
            }
            3 => {
                let count = self.random.between(1, SCAN_MAX);
                link.put(Does::Read, &mut self.scan, &[Value::Text(&key), Value::Int(count)]).await?;
            }
            _ => {
                link.begin(&mut self.borders.begin).await?;
                link.ask(Does::Read, &mut self.read, &[Value::Text(&key)], &mut self.answer).await?;
                let old = self.answer.cell(0, 1 + field).text();
                let new: String = old.chars().rev().collect();
                let values = [Value::Text(&new), Value::Text(&key)];
                link.put(Does::Write, &mut self.updates[field], &values).await?;
                return link.commit(&mut self.borders.commit).await;
            }
        }
        link.drain().await
    }
}
