//! sysbench 1.0.20's statements on its own schema, so that either program can run on what the other has loaded.
//!
//! Invariant: the statements, their numbers per transaction and the filling of columns are sysbench's with its default
//! options. Made by `workload`.

use client::{Result, Statement, Value};

use crate::distribution::{Distribution, Shape};
use crate::random::Random;
use crate::script::Borders;
use crate::session::{Does, Link, Session};
use crate::settings::Settings;
use crate::words::{Inserts, Row, digit_groups, pieces};
use crate::{Batch, Chunk, Workload};

const POINT_SELECTS: usize = 10;
const RANDOM_POINTS: usize = 10;
const RANDOM_RANGES: usize = 10;
const RANGE_DELTA: i64 = 5;
const BULK_ROWS: i64 = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mix {
    PointSelect,
    ReadOnly,
    ReadWrite,
    WriteOnly,
    UpdateIndex,
    UpdateNonIndex,
    Insert,
    Delete,
    BulkInsert,
    RandomPoints,
    RandomRanges,
}

/// One of sysbench's OLTP scripts.
pub struct Oltp {
    mix: Mix,
    settings: Settings,
    rows: u64,
    distribution: Distribution,
}

impl Oltp {
    pub fn new(mix: &str, settings: &Settings) -> std::result::Result<Self, String> {
        let mix = match mix {
            "point_select" => Mix::PointSelect,
            "read_only" => Mix::ReadOnly,
            "read_write" | "" => Mix::ReadWrite,
            "write_only" => Mix::WriteOnly,
            "update_index" => Mix::UpdateIndex,
            "update_non_index" => Mix::UpdateNonIndex,
            "insert" => Mix::Insert,
            "delete" => Mix::Delete,
            "bulk_insert" => Mix::BulkInsert,
            "select_random_points" => Mix::RandomPoints,
            "select_random_ranges" => Mix::RandomRanges,
            other => return Err(format!("oltp has no mix {other}; see `evenkeel bench list`")),
        };
        let rows = settings.rows_or(10_000);
        let distribution = Distribution::new(settings.shape.unwrap_or(Shape::Special), rows);
        Ok(Self { mix, settings: settings.clone(), rows, distribution })
    }

    /// The first row of a connection's part of the table, and how it draws from it: sysbench's ranges of different
    /// threads do not overlap.
    fn segment(&self, number: u64, connections: u64) -> (i64, Distribution) {
        let connections = connections.max(1);
        let border = |part: u64| (u128::from(self.rows) * u128::from(part) / u128::from(connections)) as u64;
        let (low, high) = (border(number), border(number + 1));
        (low as i64, Distribution::new(self.settings.shape.unwrap_or(Shape::Special), high - low + 1))
    }
}

impl Workload for Oltp {
    fn kinds(&self) -> Vec<&'static str> {
        vec!["transaction"]
    }

    fn create(&self) -> Vec<String> {
        let mut statements = Vec::new();
        for table in 1..=self.settings.tables {
            statements.push(format!("DROP TABLE IF EXISTS sbtest{table}"));
            let engine = &self.settings.engine;
            statements.push(match self.mix {
                Mix::BulkInsert => format!(
                    "CREATE TABLE sbtest{table} (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, \
                     PRIMARY KEY (id)) {engine}"
                ),
                _ => format!(
                    "CREATE TABLE sbtest{table} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
                     c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) {engine}"
                ),
            });
        }
        statements
    }

    fn chunks(&self) -> Vec<Chunk> {
        if self.mix == Mix::BulkInsert { Vec::new() } else { pieces(self.settings.tables, self.rows) }
    }

    fn batches(&self, chunk: Chunk) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        let mut random = Random::new(self.settings.seed, (chunk.table as u64) << 40 | chunk.first);
        let mut id = chunk.first;
        let head = format!("INSERT INTO sbtest{} (id, k, c, pad) VALUES", chunk.table);
        Box::new(Inserts::new(head, move |row: &mut Row<'_>| {
            if id > chunk.last {
                return false;
            }
            row.put(id as i64).put(self.distribution.draw(&mut random));
            row.put(digit_groups(&mut random, 10).as_str()).put(digit_groups(&mut random, 5).as_str());
            id += 1;
            true
        }))
    }

    fn finish(&self) -> Vec<String> {
        if self.mix == Mix::BulkInsert {
            return Vec::new();
        }
        (1..=self.settings.tables)
            .map(|table| format!("CREATE INDEX k_{table} ON sbtest{table}(k)"))
            .collect()
    }

    fn session(&self, number: u64, connections: u64) -> Session {
        let (first, distribution) = match self.mix {
            Mix::RandomRanges => self.segment(number, connections),
            _ => (1, self.distribution.clone()),
        };
        let tables = (1..=self.settings.tables).map(|table| Table::new(table, self.mix)).collect();
        Session::Oltp(Box::new(Client {
            mix: self.mix,
            skips_transactions: self.settings.skips_transactions,
            range: self.settings.range as i64,
            first,
            distribution,
            random: Random::new(self.settings.seed, number + 1),
            borders: Borders::new(),
            tables,
            number,
            next: 1 + (number / self.settings.tables.max(1)) as i64 * 100_000_000,
        }))
    }
}

/// The statements on one table; those that the mix does not need are not there.
struct Table {
    point: Option<Statement>,
    ranges: Vec<Statement>,
    update_index: Option<Statement>,
    update: Option<Statement>,
    delete: Option<Statement>,
    insert: Option<Statement>,
    random: Option<Statement>,
    number: u64,
}

impl Table {
    fn new(number: u64, mix: Mix) -> Self {
        let needs = |mixes: &[Mix], text: String| mixes.contains(&mix).then(|| Statement::new(text));
        let t = format!("sbtest{number}");
        let reads = [Mix::ReadOnly, Mix::ReadWrite];
        let ranges = [
            format!("SELECT c FROM {t} WHERE id BETWEEN ? AND ?"),
            format!("SELECT SUM(k) FROM {t} WHERE id BETWEEN ? AND ?"),
            format!("SELECT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c"),
            format!("SELECT DISTINCT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c"),
        ];
        let random = match mix {
            Mix::RandomPoints => Some(format!(
                "SELECT id, k, c, pad FROM {t} WHERE k IN ({})",
                ["?"; RANDOM_POINTS].join(", ")
            )),
            Mix::RandomRanges => {
                let ranges = ["k BETWEEN ? AND ?"; RANDOM_RANGES].join(" OR ");
                Some(format!("SELECT count(k) FROM {t} WHERE {ranges}"))
            }
            _ => None,
        };
        Self {
            number,
            point: needs(&[Mix::PointSelect, reads[0], reads[1]], format!("SELECT c FROM {t} WHERE id=?")),
            ranges: ranges.into_iter().filter_map(|text| needs(&reads, text)).collect(),
            update_index: needs(
                &[Mix::ReadWrite, Mix::WriteOnly, Mix::UpdateIndex],
                format!("UPDATE {t} SET k=k+1 WHERE id=?"),
            ),
            update: needs(
                &[Mix::ReadWrite, Mix::WriteOnly, Mix::UpdateNonIndex],
                format!("UPDATE {t} SET c=? WHERE id=?"),
            ),
            delete: needs(
                &[Mix::ReadWrite, Mix::WriteOnly, Mix::Delete],
                format!("DELETE FROM {t} WHERE id=?"),
            ),
            insert: match mix {
                Mix::Insert => Some(Statement::new(format!("INSERT INTO {t} (k, c, pad) VALUES (?, ?, ?)"))),
                _ => needs(
                    &[Mix::ReadWrite, Mix::WriteOnly],
                    format!("INSERT INTO {t} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
                ),
            },
            random: random.map(Statement::new),
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Statement> {
        let single = [
            &mut self.point,
            &mut self.update_index,
            &mut self.update,
            &mut self.delete,
            &mut self.insert,
            &mut self.random,
        ];
        single.into_iter().flatten().chain(&mut self.ranges)
    }
}

/// One connection of sysbench's.
pub struct Client {
    mix: Mix,
    skips_transactions: bool,
    range: i64,
    /// The first of the rows that it draws from.
    first: i64,
    distribution: Distribution,
    random: Random,
    borders: Borders,
    tables: Vec<Table>,
    number: u64,
    /// The next key of a bulk insert.
    next: i64,
}

impl Client {
    pub fn statements(&mut self) -> Vec<&mut Statement> {
        self.tables.iter_mut().flat_map(Table::all).collect()
    }

    fn table(&mut self) -> usize {
        self.random.below(self.tables.len() as u64) as usize
    }

    fn row(&mut self) -> i64 {
        self.first - 1 + self.distribution.draw(&mut self.random)
    }

    pub async fn transaction(&mut self, link: &mut Link<'_>) -> Result<()> {
        match self.mix {
            Mix::ReadOnly | Mix::ReadWrite | Mix::WriteOnly => self.mixed(link).await,
            Mix::BulkInsert => self.bulk_insert(link).await,
            _ => {
                // Transactions of one statement go together when several commands may be in flight.
                let events = link.pipeline();
                link.events(events as u64);
                for _ in 0..events {
                    self.single(link).await?;
                }
                link.drain().await
            }
        }
    }

    async fn single(&mut self, link: &mut Link<'_>) -> Result<()> {
        let table = self.table();
        match self.mix {
            Mix::PointSelect => self.point_select(link, table).await,
            Mix::UpdateIndex => self.update_index(link, table, Does::Commits).await,
            Mix::UpdateNonIndex => self.update(link, table, Does::Commits).await,
            Mix::Delete => {
                let row = self.row();
                put(link, Does::Commits, &mut self.tables[table].delete, &[Value::Int(row)]).await
            }
            Mix::Insert => {
                let row = self.row();
                let (c, pad) = (digit_groups(&mut self.random, 10), digit_groups(&mut self.random, 5));
                let values = [Value::Int(row), Value::Text(&c), Value::Text(&pad)];
                put(link, Does::Commits, &mut self.tables[table].insert, &values).await
            }
            Mix::RandomPoints => {
                let rows: [i64; RANDOM_POINTS] = std::array::from_fn(|_| self.row());
                let values = rows.map(Value::Int);
                put(link, Does::Read, &mut self.tables[table].random, &values).await
            }
            _ => {
                let values: [Value<'_>; 2 * RANDOM_RANGES] = {
                    let mut low = 0;
                    std::array::from_fn(|place| {
                        if place % 2 == 0 {
                            low = self.row();
                            Value::Int(low)
                        } else {
                            Value::Int(low + RANGE_DELTA)
                        }
                    })
                };
                put(link, Does::Read, &mut self.tables[table].random, &values).await
            }
        }
    }

    async fn mixed(&mut self, link: &mut Link<'_>) -> Result<()> {
        let has_borders = !self.skips_transactions;
        let alone = if has_borders { Does::Write } else { Does::Commits };
        if has_borders {
            link.begin(&mut self.borders.begin).await?;
        }
        if self.mix != Mix::WriteOnly {
            let table = self.table();
            for _ in 0..POINT_SELECTS {
                self.point_select(link, table).await?;
            }
            for range in 0..self.tables[0].ranges.len() {
                let (table, low) = (self.table(), self.row());
                let values = [Value::Int(low), Value::Int(low + self.range - 1)];
                link.put(Does::Read, &mut self.tables[table].ranges[range], &values).await?;
            }
        }
        if self.mix != Mix::ReadOnly {
            let table = self.table();
            self.update_index(link, table, alone).await?;
            let table = self.table();
            self.update(link, table, alone).await?;
            let (table, row, k) = (self.table(), self.row(), self.row());
            put(link, alone, &mut self.tables[table].delete, &[Value::Int(row)]).await?;
            let (c, pad) = (digit_groups(&mut self.random, 10), digit_groups(&mut self.random, 5));
            let values = [Value::Int(row), Value::Int(k), Value::Text(&c), Value::Text(&pad)];
            put(link, alone, &mut self.tables[table].insert, &values).await?;
        }
        if has_borders { link.commit(&mut self.borders.commit).await } else { link.drain().await }
    }

    async fn point_select(&mut self, link: &mut Link<'_>, table: usize) -> Result<()> {
        let row = self.row();
        put(link, Does::Read, &mut self.tables[table].point, &[Value::Int(row)]).await
    }

    async fn update_index(&mut self, link: &mut Link<'_>, table: usize, does: Does) -> Result<()> {
        let row = self.row();
        put(link, does, &mut self.tables[table].update_index, &[Value::Int(row)]).await
    }

    async fn update(&mut self, link: &mut Link<'_>, table: usize, does: Does) -> Result<()> {
        let c = digit_groups(&mut self.random, 10);
        let row = self.row();
        put(link, does, &mut self.tables[table].update, &[Value::Text(&c), Value::Int(row)]).await
    }

    /// Ever larger keys, a table for each session (or, with fewer tables, a range of keys in one).
    async fn bulk_insert(&mut self, link: &mut Link<'_>) -> Result<()> {
        let table = self.tables[(self.number % self.tables.len() as u64) as usize].number;
        let mut sql = format!("INSERT INTO sbtest{table} (id, k) VALUES ");
        for id in self.next..self.next + BULK_ROWS {
            use std::fmt::Write;
            // A write to memory cannot fail.
            let _ = write!(sql, "{}({id},{id})", if id == self.next { "" } else { "," });
        }
        self.next += BULK_ROWS;
        link.put(Does::Commits, &mut Statement::new(sql), &[]).await?;
        link.drain().await
    }
}

async fn put(
    link: &mut Link<'_>,
    does: Does,
    statement: &mut Option<Statement>,
    values: &[Value<'_>],
) -> Result<()> {
    match statement {
        Some(statement) => link.put(does, statement, values).await,
        None => Err(client::Error::Usage("a mix lacks a statement that it uses".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_different_connections_come_from_their_own_parts() {
        let settings = Settings { rows: 1000, shape: Some(Shape::Uniform), ..Settings::default() };
        let rows = |mix: &str, number| {
            let Session::Oltp(mut client) = Oltp::new(mix, &settings).unwrap().session(number, 4) else {
                panic!("no session of oltp");
            };
            let rows: Vec<i64> = (0..500).map(|_| client.row()).collect();
            (*rows.iter().min().unwrap(), *rows.iter().max().unwrap())
        };
        let (low, high) = rows("select_random_ranges", 3);
        assert!(low >= 750 && high <= 1000, "{low} {high}");
        let (low, high) = rows("select_random_points", 3);
        assert!(low < 250 && high > 750, "{low} {high}");
    }
}
