//! A social graph after LinkBench: nodes, typed links between them, and a count of links for each node and type.
//!
//! Invariant: a count is the number of visible links, since both change in one transaction. Made by `workload`.

use client::{Answer, Result, Statement, Value};

use crate::distribution::{Distribution, Shape};
use crate::random::Random;
use crate::script::Borders;
use crate::session::{Does, Link, Session};
use crate::settings::Settings;
use crate::words::{Inserts, Row, pieces};
use crate::{Batch, Check, Chunk, Workload};

const KINDS: [&str; 10] = [
    "get_node",
    "add_node",
    "update_node",
    "delete_node",
    "get_link",
    "link_list",
    "count_links",
    "add_link",
    "update_link",
    "delete_link",
];
/// LinkBench's mix in percent, in the order of `KINDS`.
const CHANCES: [f64; 10] = [12.9, 2.6, 7.4, 1.0, 0.5, 50.7, 4.9, 9.0, 8.0, 3.0];
const LINKS: u64 = 5;
const TYPE: i64 = 123_456_789;
const NODES: usize = 1;

/// `--rows` nodes with five links each.
pub struct Graph {
    rows: u64,
    settings: Settings,
}

impl Graph {
    pub fn new(settings: &Settings) -> Self {
        Self { rows: settings.rows_or(10_000), settings: settings.clone() }
    }
}

impl Workload for Graph {
    fn kinds(&self) -> Vec<&'static str> {
        KINDS.to_vec()
    }

    fn create(&self) -> Vec<String> {
        let engine = &self.settings.engine;
        vec![
            "DROP TABLE IF EXISTS nodetable, linktable, counttable".into(),
            format!(
                "CREATE TABLE nodetable (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, type INT UNSIGNED NOT NULL, \
                 version BIGINT UNSIGNED NOT NULL, time INT UNSIGNED NOT NULL, data MEDIUMTEXT NOT NULL, \
                 PRIMARY KEY (id)) {engine}"
            ),
            format!(
                "CREATE TABLE linktable (id1 BIGINT UNSIGNED NOT NULL, id2 BIGINT UNSIGNED NOT NULL, \
                 link_type BIGINT UNSIGNED NOT NULL, visibility TINYINT NOT NULL, data VARCHAR(255) NOT NULL, \
                 time BIGINT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL, PRIMARY KEY (link_type, id1, id2), \
                 KEY id1_type (id1, link_type, visibility, time, id2, version, data)) {engine}"
            ),
            format!(
                "CREATE TABLE counttable (id BIGINT UNSIGNED NOT NULL, link_type BIGINT UNSIGNED NOT NULL, \
                 count INT NOT NULL, time BIGINT UNSIGNED NOT NULL, version BIGINT UNSIGNED NOT NULL, \
                 PRIMARY KEY (id, link_type)) {engine}"
            ),
        ]
    }

    fn chunks(&self) -> Vec<Chunk> {
        pieces(3, self.rows)
    }

    fn batches(&self, chunk: Chunk) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        let mut random = Random::new(self.settings.seed, (chunk.table as u64) << 40 | chunk.first);
        let (mut next, mut link) = (chunk.first, 0);
        let table = ["nodetable", "linktable", "counttable"][chunk.table - 1];
        let nodes = self.rows;
        Box::new(Inserts::new(format!("INSERT INTO {table} VALUES"), move |row: &mut Row<'_>| {
            if next > chunk.last {
                return false;
            }
            let id = next as i64;
            match chunk.table {
                NODES => {
                    row.put(id).put(2048).put(0).put(0).put(random.letters(64, 192).as_str());
                }
                2 => {
                    link += 1;
                    row.put(id).put(((next + link * 7) % nodes + link * nodes) as i64).put(TYPE).put(1);
                    row.put(random.letters(8, 16).as_str()).put(link as i64).put(0);
                    if link < LINKS {
                        return true;
                    }
                    link = 0;
                }
                _ => {
                    row.put(id).put(TYPE).put(LINKS as i64).put(0).put(0);
                }
            }
            next += 1;
            true
        }))
    }

    fn checks(&self) -> Vec<Check> {
        vec![Check {
            name: "counts are the numbers of visible links".into(),
            sql: "SELECT c.id, c.count, l.n FROM counttable c JOIN (SELECT id1, COUNT(*) n FROM linktable \
                  WHERE visibility = 1 GROUP BY id1) l ON l.id1 = c.id WHERE c.count <> l.n LIMIT 10"
                .into(),
        }]
    }

    fn session(&self, number: u64, _connections: u64) -> Session {
        let texts = [
            "SELECT id, type, version, time, data FROM nodetable WHERE id = ?",
            "INSERT INTO nodetable (type, version, time, data) VALUES (2048, 0, 0, ?)",
            "UPDATE nodetable SET version = version + 1, data = ? WHERE id = ?",
            "DELETE FROM nodetable WHERE id = ?",
            "SELECT id1, id2, link_type, visibility, data, time, version FROM linktable WHERE id1 = ? AND link_type = ? AND id2 = ?",
            "SELECT id1, id2, link_type, visibility, data, time, version FROM linktable WHERE id1 = ? AND link_type = ? AND visibility = 1 ORDER BY time DESC LIMIT 10000",
            "SELECT count FROM counttable WHERE id = ? AND link_type = ?",
            "SELECT visibility FROM linktable WHERE id1 = ? AND link_type = ? AND id2 = ? FOR UPDATE",
            "INSERT INTO linktable VALUES (?, ?, ?, 1, ?, 0, 0) ON DUPLICATE KEY UPDATE visibility = 1, data = ?, version = version + 1",
            "UPDATE linktable SET visibility = 0 WHERE id1 = ? AND link_type = ? AND id2 = ?",
            "INSERT INTO counttable VALUES (?, ?, ?, 0, 0) ON DUPLICATE KEY UPDATE count = count + ?, version = version + 1",
            "SELECT count FROM counttable WHERE id = ? AND link_type = ? FOR UPDATE",
        ];
        let shape = self.settings.shape.unwrap_or(Shape::Scattered(0.8));
        Session::Graph(Box::new(Client {
            nodes: self.rows,
            random: Random::new(self.settings.seed, number + 1),
            distribution: Distribution::new(shape, self.rows),
            borders: Borders::new(),
            answer: Answer::keeping(),
            sql: texts.map(Statement::new),
        }))
    }
}

/// One connection.
pub struct Client {
    nodes: u64,
    random: Random,
    distribution: Distribution,
    borders: Borders,
    answer: Answer,
    sql: [Statement; 12],
}

impl Client {
    pub fn statements(&mut self) -> Vec<&mut Statement> {
        self.sql.iter_mut().collect()
    }

    fn kind(&mut self) -> usize {
        let mut left = self.random.fraction() * 100.0;
        for (kind, chance) in CHANCES.iter().enumerate() {
            if left < *chance {
                return kind;
            }
            left -= chance;
        }
        5
    }

    pub async fn transaction(&mut self, link: &mut Link<'_>) -> Result<()> {
        let kind = self.kind();
        link.kind(kind);
        let id = self.distribution.draw(&mut self.random);
        let place = 1 + self.random.below(LINKS);
        let other = (id as u64 + place * 7) % self.nodes + place * self.nodes;
        let link_key = [Value::Int(id), Value::Int(TYPE), Value::Int(other as i64)];
        match kind {
            0 => link.put(Does::Read, &mut self.sql[0], &link_key[..1]).await?,
            1 => {
                let data = self.random.letters(64, 192);
                link.put(Does::Commits, &mut self.sql[1], &[Value::Text(&data)]).await?;
            }
            2 => {
                let data = self.random.letters(64, 192);
                link.put(Does::Commits, &mut self.sql[2], &[Value::Text(&data), Value::Int(id)]).await?;
            }
            3 => link.put(Does::Commits, &mut self.sql[3], &link_key[..1]).await?,
            4 => link.put(Does::Read, &mut self.sql[4], &link_key).await?,
            5 | 6 => link.put(Does::Read, &mut self.sql[kind], &link_key[..2]).await?,
            _ => return self.change_link(link, link_key, kind == 9).await,
        }
        link.drain().await
    }

    /// The count is locked first, so that those who change links of one node wait in line.
    async fn change_link(&mut self, link: &mut Link<'_>, key: [Value<'_>; 3], hides: bool) -> Result<()> {
        link.begin(&mut self.borders.begin).await?;
        link.ask(Does::Read, &mut self.sql[11], &key[..2], &mut self.answer).await?;
        link.ask(Does::Read, &mut self.sql[7], &key, &mut self.answer).await?;
        let was_visible = self.answer.rows() > 0 && self.answer.cell(0, 0).int() == 1;
        if hides {
            link.put(Does::Write, &mut self.sql[9], &key).await?;
        } else {
            let data = self.random.letters(8, 16);
            let data = Value::Text(&data);
            link.put(Does::Write, &mut self.sql[8], &[key[0], key[2], key[1], data, data]).await?;
        }
        let step = i64::from(!hides) - i64::from(was_visible);
        if step != 0 {
            let step = Value::Int(step);
            link.put(Does::Write, &mut self.sql[10], &[key[0], key[1], step, step]).await?;
        }
        link.commit(&mut self.borders.commit).await
    }
}
