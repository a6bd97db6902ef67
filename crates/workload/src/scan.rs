//! Whole tables of sysbench's schema, read and summed: what a report beside the other work would do.
//!
//! Invariant: every scan reads every row of its table by the primary key. Made by `workload`.

use client::{Result, Statement};

use crate::oltp::Oltp;
use crate::session::{Does, Link, Session};
use crate::settings::Settings;
use crate::{Batch, Chunk, Workload};

/// The tables are sysbench's.
pub struct Scan {
    tables: u64,
    data: Oltp,
}

impl Scan {
    pub fn new(settings: &Settings) -> Self {
        let data = Oltp::new("read_only", settings).expect("sysbench has that mix");
        Self { tables: settings.tables, data }
    }
}

impl Workload for Scan {
    fn kinds(&self) -> Vec<&'static str> {
        vec!["scan"]
    }

    fn create(&self) -> Vec<String> {
        self.data.create()
    }

    fn chunks(&self) -> Vec<Chunk> {
        self.data.chunks()
    }

    fn batches(&self, chunk: Chunk) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        self.data.batches(chunk)
    }

    fn finish(&self) -> Vec<String> {
        self.data.finish()
    }

    fn session(&self, number: u64, _connections: u64) -> Session {
        let scans = (1..=self.tables)
            .map(|table| {
                Statement::new(format!(
                    "SELECT COUNT(*), SUM(LENGTH(c)), SUM(LENGTH(pad)) FROM sbtest{table}"
                ))
            })
            .collect();
        Session::Scan(Box::new(Client { scans, next: number as usize }))
    }
}

/// One connection that scans one table after the other.
pub struct Client {
    scans: Vec<Statement>,
    next: usize,
}

impl Client {
    pub fn statements(&mut self) -> Vec<&mut Statement> {
        self.scans.iter_mut().collect()
    }

    pub async fn transaction(&mut self, link: &mut Link<'_>) -> Result<()> {
        let place = self.next % self.scans.len();
        self.next += 1;
        link.put(Does::Read, &mut self.scans[place], &[]).await?;
        link.drain().await
    }
}
