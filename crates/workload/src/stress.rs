//! Objects in regions and sections with rows of history, after dbSTRESS: reads join, writes change history.
//!
//! Invariant: every object keeps as many history rows as it was loaded with. Made by `workload`.

use client::{Result, Statement, Value};

use crate::distribution::{Distribution, Shape};
use crate::random::Random;
use crate::script::Borders;
use crate::session::{Does, Link, Session};
use crate::settings::Settings;
use crate::words::{Inserts, Row, pieces};
use crate::{Batch, Check, Chunk, Workload};

const ZONES: u64 = 100;
const HISTORY: u64 = 20;
const OBJECTS: usize = 1;
const KINDS: [&str; 3] = ["object", "history", "write"];

/// Objects, hot ones by the distribution.
pub struct Stress {
    writes: bool,
    rows: u64,
    settings: Settings,
}

impl Stress {
    pub fn new(variant: &str, settings: &Settings) -> std::result::Result<Self, String> {
        let writes = match variant {
            "rw" | "" => true,
            "ro" => false,
            other => return Err(format!("stress:{other}: there are stress:ro and stress:rw")),
        };
        Ok(Self { writes, rows: settings.rows_or(10_000), settings: settings.clone() })
    }
}

impl Workload for Stress {
    fn kinds(&self) -> Vec<&'static str> {
        KINDS.to_vec()
    }

    fn create(&self) -> Vec<String> {
        let engine = &self.settings.engine;
        vec![
            "DROP TABLE IF EXISTS stress_zone, stress_object, stress_history".into(),
            format!(
                "CREATE TABLE stress_zone (id INT NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL) {engine}"
            ),
            format!(
                "CREATE TABLE stress_object (id INT NOT NULL PRIMARY KEY, zone INT NOT NULL, section INT NOT NULL, \
                 name VARCHAR(40) NOT NULL, note VARCHAR(80) NOT NULL, KEY (zone)) {engine}"
            ),
            format!(
                "CREATE TABLE stress_history (object INT NOT NULL, place INT NOT NULL, begins DATETIME NOT NULL, \
                 note VARCHAR(80) NOT NULL, PRIMARY KEY (object, place)) {engine}"
            ),
        ]
    }

    fn chunks(&self) -> Vec<Chunk> {
        let mut chunks = vec![Chunk { table: 0, first: 1, last: ZONES }];
        chunks.extend(pieces(2, self.rows));
        chunks
    }

    fn batches(&self, chunk: Chunk) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        let mut random = Random::new(self.settings.seed, (chunk.table as u64) << 40 | chunk.first);
        let (mut next, mut place) = (chunk.first, 0);
        let table = ["stress_zone", "stress_object", "stress_history"][chunk.table];
        Box::new(Inserts::new(format!("INSERT INTO {table} VALUES"), move |row: &mut Row<'_>| {
            if next > chunk.last {
                return false;
            }
            row.put(next as i64);
            match chunk.table {
                0 => {
                    row.put(random.letters(10, 40).as_str());
                }
                OBJECTS => {
                    row.put(random.between(1, ZONES as i64)).put(random.between(1, 50));
                    row.put(random.letters(10, 40).as_str()).put(random.letters(40, 80).as_str());
                }
                _ => {
                    place += 1;
                    row.put(place as i64).put("2026-01-01 00:00:00").put(random.letters(40, 80).as_str());
                    if place < HISTORY {
                        return true;
                    }
                    place = 0;
                }
            }
            next += 1;
            true
        }))
    }

    fn checks(&self) -> Vec<Check> {
        vec![Check {
            name: "every object keeps its history".into(),
            sql: format!(
                "SELECT object FROM stress_history GROUP BY object HAVING COUNT(*) <> {HISTORY} LIMIT 10"
            ),
        }]
    }

    fn session(&self, number: u64, _connections: u64) -> Session {
        let shape = self.settings.shape.unwrap_or(Shape::Uniform);
        let texts = [
            "SELECT o.id, o.name, o.note, z.name FROM stress_object o JOIN stress_zone z ON z.id = o.zone WHERE o.id = ?",
            "SELECT h.place, h.begins, h.note FROM stress_history h WHERE h.object = ? ORDER BY h.place",
            "UPDATE stress_history SET note = ?, begins = NOW() WHERE object = ? AND place = ?",
            "DELETE FROM stress_history WHERE object = ? AND place = ?",
            "INSERT INTO stress_history VALUES (?, ?, NOW(), ?)",
        ];
        Session::Stress(Box::new(Client {
            writes: self.writes,
            random: Random::new(self.settings.seed, number + 1),
            distribution: Distribution::new(shape, self.rows),
            borders: Borders::new(),
            sql: texts.map(Statement::new),
        }))
    }
}

/// One connection.
pub struct Client {
    writes: bool,
    random: Random,
    distribution: Distribution,
    borders: Borders,
    sql: [Statement; 5],
}

impl Client {
    pub fn statements(&mut self) -> Vec<&mut Statement> {
        self.sql.iter_mut().collect()
    }

    pub async fn transaction(&mut self, link: &mut Link<'_>) -> Result<()> {
        let object = Value::Int(self.distribution.draw(&mut self.random));
        let kind = self.random.below(if self.writes { 3 } else { 2 }) as usize;
        link.kind(kind);
        if kind < 2 {
            link.put(Does::Read, &mut self.sql[kind], &[object]).await?;
            return link.drain().await;
        }
        let note = self.random.letters(40, 80);
        let note = Value::Text(&note);
        let mut place = || Value::Int(self.random.between(1, HISTORY as i64));
        let (updated, replaced) = (place(), place());
        link.begin(&mut self.borders.begin).await?;
        link.put(Does::Write, &mut self.sql[2], &[note, object, updated]).await?;
        link.put(Does::Write, &mut self.sql[3], &[object, replaced]).await?;
        link.put(Does::Write, &mut self.sql[4], &[object, replaced, note]).await?;
        link.commit(&mut self.borders.commit).await
    }
}
