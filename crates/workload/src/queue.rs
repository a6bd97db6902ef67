//! A table as a queue: the oldest job is taken past those that others hold, done, and another put in.
//!
//! Invariant: the number of jobs stays what it was, whatever fails. Made by `workload`.

use client::{Answer, Result, Statement, Value};

use crate::random::Random;
use crate::script::Borders;
use crate::session::{Does, Link, Session};
use crate::settings::Settings;
use crate::words::{Inserts, Row, digit_groups, pieces};
use crate::{Batch, Check, Chunk, Workload};

/// A queue of `--rows` jobs.
pub struct Queue {
    rows: u64,
    settings: Settings,
}

impl Queue {
    pub fn new(settings: &Settings) -> Self {
        Self { rows: settings.rows_or(10_000), settings: settings.clone() }
    }
}

const HEAD: &str = "INSERT INTO bench_queue (state, payload) VALUES";

impl Workload for Queue {
    fn kinds(&self) -> Vec<&'static str> {
        vec!["job"]
    }

    fn create(&self) -> Vec<String> {
        vec![
            "DROP TABLE IF EXISTS bench_queue".into(),
            format!(
                "CREATE TABLE bench_queue (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, state INT NOT NULL, \
                 payload VARCHAR(120) NOT NULL, KEY (state, id)) {}",
                self.settings.engine
            ),
        ]
    }

    fn chunks(&self) -> Vec<Chunk> {
        pieces(1, self.rows)
    }

    fn batches(&self, chunk: Chunk) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        let mut random = Random::new(self.settings.seed, chunk.first);
        let mut left = chunk.last - chunk.first + 1;
        Box::new(Inserts::new(HEAD.into(), move |row: &mut Row<'_>| {
            if left == 0 {
                return false;
            }
            left -= 1;
            row.put(0).put(digit_groups(&mut random, 8).as_str());
            true
        }))
    }

    fn checks(&self) -> Vec<Check> {
        vec![Check {
            name: "no job is lost or doubled".into(),
            sql: format!("SELECT COUNT(*) FROM bench_queue HAVING COUNT(*) <> {}", self.rows),
        }]
    }

    fn session(&self, number: u64, _connections: u64) -> Session {
        Session::Queue(Box::new(Client {
            random: Random::new(self.settings.seed, number + 1),
            borders: Borders::new(),
            answer: Answer::keeping(),
            take: Statement::new(
                "SELECT id, payload FROM bench_queue WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
            ),
            delete: Statement::new("DELETE FROM bench_queue WHERE id = ?"),
            insert: Statement::new(format!("{HEAD} (0, ?)")),
        }))
    }
}

/// One worker of the queue.
pub struct Client {
    random: Random,
    borders: Borders,
    answer: Answer,
    take: Statement,
    delete: Statement,
    insert: Statement,
}

impl Client {
    pub fn statements(&mut self) -> Vec<&mut Statement> {
        vec![&mut self.take, &mut self.delete, &mut self.insert]
    }

    pub async fn transaction(&mut self, link: &mut Link<'_>) -> Result<()> {
        link.begin(&mut self.borders.begin).await?;
        link.ask(Does::Read, &mut self.take, &[], &mut self.answer).await?;
        if self.answer.rows() > 0 {
            let id = self.answer.cell(0, 0).int();
            link.put(Does::Write, &mut self.delete, &[Value::Int(id)]).await?;
            let payload = digit_groups(&mut self.random, 8);
            link.put(Does::Write, &mut self.insert, &[Value::Text(&payload)]).await?;
        }
        link.commit(&mut self.borders.commit).await
    }
}
