//! All sessions update the same few rows: counters, stock of the one thing that everybody wants.
//!
//! Invariant: the sum of the counters is the number of commits that were acknowledged or are unknown. Made by `workload`.

use client::{Result, Statement, Value};

use crate::distribution::{Distribution, Shape};
use crate::random::Random;
use crate::script::Borders;
use crate::session::{Does, Link, Session};
use crate::settings::Settings;
use crate::words::{Inserts, Row};
use crate::{Batch, Chunk, Workload};

/// A table of `--rows` counters.
pub struct HotRow {
    rows: u64,
    settings: Settings,
}

impl HotRow {
    pub fn new(settings: &Settings) -> Self {
        Self { rows: settings.rows_or(1), settings: settings.clone() }
    }
}

impl Workload for HotRow {
    fn kinds(&self) -> Vec<&'static str> {
        vec!["count"]
    }

    fn create(&self) -> Vec<String> {
        vec![
            "DROP TABLE IF EXISTS bench_hot".into(),
            format!(
                "CREATE TABLE bench_hot (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL, pad CHAR(60) NOT NULL) {}",
                self.settings.engine
            ),
        ]
    }

    fn chunks(&self) -> Vec<Chunk> {
        vec![Chunk { table: 1, first: 1, last: self.rows }]
    }

    fn batches(&self, chunk: Chunk) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        let mut next = chunk.first as i64;
        Box::new(Inserts::new("INSERT INTO bench_hot VALUES".into(), move |row: &mut Row<'_>| {
            if next > chunk.last as i64 {
                return false;
            }
            row.put(next).put(0).put("");
            next += 1;
            true
        }))
    }

    fn session(&self, number: u64, _connections: u64) -> Session {
        let shape = self.settings.shape.unwrap_or(Shape::Uniform);
        Session::HotRow(Box::new(Client {
            random: Random::new(self.settings.seed, number + 1),
            distribution: Distribution::new(shape, self.rows),
            skips_transactions: self.settings.skips_transactions,
            borders: Borders::new(),
            read: Statement::new("SELECT n FROM bench_hot WHERE id = ?"),
            update: Statement::new("UPDATE bench_hot SET n = n + 1 WHERE id = ?"),
        }))
    }
}

/// One connection that counts.
pub struct Client {
    random: Random,
    distribution: Distribution,
    skips_transactions: bool,
    borders: Borders,
    read: Statement,
    update: Statement,
}

impl Client {
    pub fn statements(&mut self) -> Vec<&mut Statement> {
        vec![&mut self.read, &mut self.update]
    }

    pub async fn transaction(&mut self, link: &mut Link<'_>) -> Result<()> {
        let row = [Value::Int(self.distribution.draw(&mut self.random))];
        if self.skips_transactions {
            link.put(Does::Commits, &mut self.update, &row).await?;
            return link.drain().await;
        }
        link.begin(&mut self.borders.begin).await?;
        link.put(Does::Write, &mut self.update, &row).await?;
        link.put(Does::Read, &mut self.read, &row).await?;
        link.commit(&mut self.borders.commit).await
    }
}
