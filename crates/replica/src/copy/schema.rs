//! Databases, tables and views as the source defines them.
//!
//! Invariant: every table is made before the first row is copied, so what cannot be copied is told at once and all together.
use super::Copy;
use super::names::{literal, quoted};

/// Not copied: each server has its own.
const OWN_DATABASES: [&str; 4] = ["information_schema", "performance_schema", "mysql", "sys"];

/// A table, or a view, of the source.
pub(super) struct Relation {
    pub database: String,
    pub name: String,
    pub is_view: bool,
    pub bytes: u64,
    engine: String,
}

impl Copy<'_> {
    pub(super) async fn databases(&mut self) -> Result<Vec<String>, String> {
        let rows = self.origin.rows("SHOW DATABASES").await?;
        let names = rows.into_iter().flatten();
        Ok(names.filter(|name| !OWN_DATABASES.contains(&name.to_lowercase().as_str())).collect())
    }

    /// Removes what an earlier copy that did not finish has left.
    pub(super) async fn begin_anew(&mut self) -> Result<(), String> {
        self.obey("RESET REPLICA ALL").await?;
        let accounts = "SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user WHERE user <> 'root' OR host <> 'localhost'";
        for account in self.own(accounts).await? {
            self.obey(&format!("DROP USER {account}")).await?;
        }
        for name in self.own("SHOW DATABASES").await? {
            if !OWN_DATABASES.contains(&name.to_lowercase().as_str()) {
                self.obey(&format!("DROP DATABASE {}", quoted(&name))).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn create_databases(&mut self, databases: &[String]) -> Result<(), String> {
        for database in databases {
            let shown = self.origin.rows(&format!("SHOW CREATE DATABASE {}", quoted(database))).await?;
            let Some(create) = shown.first().and_then(|row| row.get(1)) else { continue };
            self.obey(create).await?;
        }
        Ok(())
    }

    pub(super) async fn relations(&mut self, databases: &[String]) -> Result<Vec<Relation>, String> {
        let mut relations = Vec::new();
        for database in databases {
            let sql = format!(
                "SELECT table_name, table_type, IFNULL(data_length, 0), IFNULL(engine, '') \
                 FROM information_schema.tables WHERE table_schema = {} ORDER BY table_name",
                literal(database)
            );
            for row in self.origin.rows(&sql).await? {
                relations.push(Relation {
                    database: database.clone(),
                    name: row[0].clone(),
                    is_view: row[1].contains("VIEW"),
                    bytes: row[2].parse().unwrap_or(0),
                    engine: row[3].clone(),
                });
            }
        }
        Ok(relations)
    }

    pub(super) async fn create_tables(&mut self, relations: &[Relation]) -> Result<(), String> {
        let mut refused = Vec::new();
        for table in relations.iter().filter(|relation| !relation.is_view) {
            let name = format!("{}.{}", quoted(&table.database), quoted(&table.name));
            if !table.engine.eq_ignore_ascii_case("InnoDB") {
                let engine = &table.engine;
                self.progress.tell(&format!(
                    "{name} is {engine}: it becomes InnoDB, and changes of it meanwhile may be missed"
                ));
            }
            let shown = self.origin.rows(&format!("SHOW CREATE TABLE {name}")).await?;
            let Some(create) = shown.first().and_then(|row| row.get(1)) else { continue };
            self.obey(&format!("USE {}", quoted(&table.database))).await?;
            if let Err(error) = self.obey(create).await {
                refused.push(format!("{name}: {error}"));
            }
            self.check_stop()?;
        }
        match refused.is_empty() {
            true => Ok(()),
            false => Err(format!("tables that cannot be here:\n{}", refused.join("\n"))),
        }
    }

    /// Views may read each other: those that fail are tried again behind the others.
    pub(super) async fn create_views(&mut self, relations: &[Relation]) -> Result<(), String> {
        let mut left: Vec<(String, String, String)> = Vec::new();
        for view in relations.iter().filter(|relation| relation.is_view) {
            let name = format!("{}.{}", quoted(&view.database), quoted(&view.name));
            match self.origin.rows(&format!("SHOW CREATE VIEW {name}")).await {
                Ok(shown) => {
                    if let Some([_, create, _, collation]) = shown.first().map(Vec::as_slice) {
                        let text = self.text_settings(collation);
                        left.push((view.database.clone(), text, create.clone()));
                    }
                }
                Err(error) => self.progress.tell(&format!("{name} is left out: {error}")),
            }
        }
        loop {
            let count = left.len();
            let mut failed = Vec::new();
            let mut errors = Vec::new();
            for view in left {
                self.obey(&format!("USE {}", quoted(&view.0))).await?;
                self.obey(&view.1).await?;
                if let Err(error) = self.obey(&view.2).await {
                    errors.push(error);
                    failed.push(view);
                }
            }
            if failed.is_empty() || failed.len() == count {
                // A view of something that is gone at the source as well is no reason to stop.
                errors.iter().for_each(|error| self.progress.tell(&format!("a view is left out: {error}")));
                return self.obey("SET NAMES utf8mb4").await;
            }
            left = failed;
        }
    }

    /// Texts come in utf8mb4; their collation is that of the definition where it can be.
    pub(super) fn text_settings(&self, collation: &str) -> String {
        match collation.starts_with("utf8mb4_") {
            true => format!("SET NAMES utf8mb4 COLLATE {collation}"),
            false => "SET NAMES utf8mb4".to_owned(),
        }
    }
}
