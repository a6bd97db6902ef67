//! Statements from files, each file a kind with a weight, as mysqlslap's `--query` runs them.
//!
//! Invariant: a file's statements are run in their order on one connection. `-- create:` heads a part that is run by
//! `load`, `-- kind: NAME` names the file's kind. In a statement, `{row}` is a row by the distribution, `{uniform}` one
//! of all rows, `{text}` a random text. Made by `workload`.

use client::{Result, Statement};

use crate::distribution::{Distribution, Shape};
use crate::random::Random;
use crate::session::{Does, Link, Session};
use crate::settings::Settings;
use crate::{Batch, Chunk, Workload};

#[derive(Debug, Clone, PartialEq)]
struct File {
    kind: String,
    weight: f64,
    create: Vec<String>,
    statements: Vec<String>,
}

/// The files.
pub struct SqlFiles {
    files: Vec<File>,
    settings: Settings,
}

impl SqlFiles {
    pub fn new(list: &str, settings: &Settings) -> std::result::Result<Self, String> {
        let mut files = Vec::new();
        for entry in list.split(',').filter(|entry| !entry.is_empty()) {
            let (path, weight) = match entry.rsplit_once('@') {
                Some((path, weight)) => {
                    (path, weight.parse().map_err(|_| format!("{entry}: {weight} is no weight"))?)
                }
                None => (entry, 1.0),
            };
            let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
            let file = read(path, &text, weight);
            if file.statements.is_empty() {
                return Err(format!("{path} has no statement to run"));
            }
            files.push(file);
        }
        if files.is_empty() {
            return Err("sql: name at least one file, as sql:queries.sql".into());
        }
        Ok(Self { files, settings: settings.clone() })
    }
}

fn read(path: &str, text: &str, weight: f64) -> File {
    let stem = std::path::Path::new(path).file_stem().map_or(path.into(), |stem| stem.to_string_lossy());
    let mut file = File { kind: stem.into_owned(), weight, create: Vec::new(), statements: Vec::new() };
    let (mut is_create, mut statement) = (false, String::new());
    // A text comes with its quotes; who has written them means the same.
    let text = text.replace("'{text}'", "{text}").replace("\"{text}\"", "{text}");
    for line in text.lines() {
        if let Some(comment) = line.trim_start().strip_prefix("--") {
            match comment.trim().split_once(':') {
                Some(("create", _)) => is_create = true,
                Some(("run", _)) => is_create = false,
                Some(("kind", name)) => file.kind = name.trim().to_owned(),
                _ => {}
            }
            continue;
        }
        statement.push_str(line);
        statement.push('\n');
        if line.trim_end().ends_with(';') {
            let done = std::mem::take(&mut statement);
            let done = done.trim().trim_end_matches(';').to_owned();
            if is_create { file.create.push(done) } else { file.statements.push(done) }
        }
    }
    let rest = statement.trim().to_owned();
    if !rest.is_empty() {
        if is_create { file.create.push(rest) } else { file.statements.push(rest) }
    }
    file
}

impl Workload for SqlFiles {
    fn kinds(&self) -> Vec<&'static str> {
        // Names come from files, and live as long as the program.
        self.files.iter().map(|file| &*file.kind.clone().leak()).collect()
    }

    fn create(&self) -> Vec<String> {
        self.files.iter().flat_map(|file| file.create.clone()).collect()
    }

    fn chunks(&self) -> Vec<Chunk> {
        Vec::new()
    }

    fn batches(&self, _: Chunk) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        Box::new(std::iter::empty())
    }

    fn session(&self, number: u64, _connections: u64) -> Session {
        let rows = self.settings.rows_or(10_000);
        let shape = self.settings.shape.unwrap_or(Shape::Uniform);
        Session::SqlFiles(Box::new(Client {
            files: self.files.clone(),
            random: Random::new(self.settings.seed, number + 1),
            distribution: Distribution::new(shape, rows),
            rows,
        }))
    }
}

/// One connection.
pub struct Client {
    files: Vec<File>,
    random: Random,
    distribution: Distribution,
    rows: u64,
}

impl Client {
    pub fn statements(&mut self) -> Vec<&mut Statement> {
        Vec::new()
    }

    pub async fn transaction(&mut self, link: &mut Link<'_>) -> Result<()> {
        let total: f64 = self.files.iter().map(|file| file.weight).sum();
        let mut left = self.random.fraction() * total;
        let mut kind = 0;
        while kind + 1 < self.files.len() && left >= self.files[kind].weight {
            left -= self.files[kind].weight;
            kind += 1;
        }
        link.kind(kind);
        for place in 0..self.files[kind].statements.len() {
            let sql = self.filled(kind, place);
            let does = does(&sql);
            // Question marks in a file are its own.
            link.put(does, &mut Statement::plain(sql), &[]).await?;
        }
        link.drain().await
    }

    fn filled(&mut self, kind: usize, place: usize) -> String {
        let mut sql = String::new();
        let text = &self.files[kind].statements[place];
        let mut rest = text.as_str();
        while let Some(at) = rest.find('{') {
            sql.push_str(&rest[..at]);
            let tail = &rest[at..];
            if let Some(after) = tail.strip_prefix("{row}") {
                sql.push_str(&self.distribution.draw(&mut self.random).to_string());
                rest = after;
            } else if let Some(after) = tail.strip_prefix("{uniform}") {
                sql.push_str(&self.random.between(1, self.rows as i64).to_string());
                rest = after;
            } else if let Some(after) = tail.strip_prefix("{text}") {
                sql.push_str(&format!("'{}'", self.random.letters(20, 60)));
                rest = after;
            } else {
                sql.push('{');
                rest = &tail[1..];
            }
        }
        sql.push_str(rest);
        sql
    }
}

fn does(sql: &str) -> Does {
    let word = sql.split_whitespace().next().unwrap_or("").to_ascii_uppercase();
    match word.as_str() {
        "SELECT" | "SHOW" | "WITH" | "EXPLAIN" => Does::Read,
        "INSERT" | "UPDATE" | "DELETE" | "REPLACE" => Does::Write,
        _ => Does::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_statements_and_a_part_for_the_load() {
        let text = "-- kind: shop\n-- create: what is needed\nCREATE TABLE t\n(a INT);\n-- run:\nSELECT 1;\nSELECT {row}";
        let file = read("x/y.sql", text, 2.0);
        assert_eq!(file.kind, "shop");
        assert_eq!(file.create, ["CREATE TABLE t\n(a INT)"]);
        assert_eq!(file.statements, ["SELECT 1", "SELECT {row}"]);
        assert_eq!(read("x/y.sql", "SELECT 1", 1.0).kind, "y");
        assert_eq!(read("y.sql", "INSERT t VALUES ('{text}')", 1.0).statements, ["INSERT t VALUES ({text})"]);
    }
}
