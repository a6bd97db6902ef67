//! Statements about what is not a table: views, triggers, programs, events, and temporary tables, which nobody else sees.
//!
//! Called by the author of definitions. Most fit what exists; some name what is gone.

use super::statements::{Author, Texts, name};
use schema::TableDef;
use std::sync::Arc;

/// Of each kind and database.
const NAMES: usize = 3;

impl Author<'_> {
    /// A definition of something that is no table.
    pub fn object(&self, table: &TableDef) -> Texts {
        let text = match self.below(12) {
            0..=2 => self.view(table),
            3..=5 => self.trigger(table),
            6 | 7 => self.function(),
            8 => self.procedure(table),
            9 => self.event(table),
            10 => return self.call(),
            _ => self.drop_object(),
        };
        vec![text]
    }

    fn named(&self, kind: &str) -> String {
        format!("{}.{kind}{}", self.database(), self.below(NAMES))
    }

    fn view(&self, table: &TableDef) -> String {
        let verb =
            *self.one(&["CREATE VIEW", "CREATE OR REPLACE VIEW", "CREATE OR REPLACE VIEW", "ALTER VIEW"]);
        let (view, table) = (self.named("v"), name(table));
        let query = match self.below(6) {
            0 => format!("SELECT * FROM {table}"),
            1 => format!("SELECT a FROM {table} WHERE a > {} WITH CHECK OPTION", self.below(100)),
            2 => format!("SELECT a, COUNT(*) AS n FROM {table} GROUP BY a"),
            3 => format!("SELECT * FROM {}", self.named("v")),
            4 => format!("SELECT {}(a) AS f FROM {table}", self.named("f")),
            _ => format!("SELECT x.a, y.a AS other FROM {table} x JOIN {table} y USING (id)"),
        };
        format!("{verb} {view} AS {query}")
    }

    /// Their effects do not depend on the order of rows.
    fn trigger(&self, table: &TableDef) -> String {
        let trigger = format!("{}.g{}", table.database, self.below(2 * NAMES));
        let others = self.tables();
        let other: &Arc<TableDef> = self.one(&others);
        let other = name(other);
        let event = *self.one(&["INSERT", "UPDATE", "DELETE"]);
        let row = if event == "INSERT" { "NEW" } else { "OLD" };
        let (time, body) = match self.below(4) {
            0 if event != "DELETE" => {
                ("BEFORE", format!("SET NEW.a = COALESCE(NEW.a, 0) + {}", self.below(9)))
            }
            1 => ("BEFORE", format!("SET @seen = {row}.a")),
            2 if event != "DELETE" => ("BEFORE", format!("SET NEW.a = {}(NEW.a)", self.named("f"))),
            _ => ("AFTER", format!("UPDATE {other} SET a = COALESCE(a, 0) + 1 WHERE id = {row}.id")),
        };
        format!("CREATE TRIGGER {trigger} {time} {event} ON {} FOR EACH ROW {body}", name(table))
    }

    fn function(&self) -> String {
        let (function, add) = (self.named("f"), self.below(100));
        format!("CREATE FUNCTION {function} (n BIGINT) RETURNS BIGINT DETERMINISTIC RETURN n + {add}")
    }

    fn procedure(&self, table: &TableDef) -> String {
        let (procedure, table) = (self.named("p"), name(table));
        format!(
            "CREATE PROCEDURE {procedure} (IN n INT) COMMENT 'adds' BEGIN UPDATE {table} SET a = COALESCE(a, 0) + n; \
             IF n > 3 THEN DELETE FROM {table} WHERE id % n = 0; END IF; END"
        )
    }

    /// Far from now: nothing runs it here.
    fn event(&self, table: &TableDef) -> String {
        let (event, days) = (self.named("e"), 1 + self.below(9));
        let body = format!("DELETE FROM {} WHERE id = {days}", name(table));
        match self.below(3) {
            0 => format!("ALTER EVENT {event} DISABLE"),
            1 => format!("CREATE EVENT {event} ON SCHEDULE AT '2037-01-0{days} 00:00:00' DO {body}"),
            _ => format!(
                "CREATE EVENT {event} ON SCHEDULE EVERY {days} DAY STARTS '2037-01-01 00:00:00' DO {body}"
            ),
        }
    }

    /// Several statements, seen together at the end.
    fn call(&self) -> Texts {
        let end = if self.below(4) == 0 { "ROLLBACK" } else { "COMMIT" };
        vec!["BEGIN".to_owned(), format!("CALL {} ({})", self.named("p"), self.below(8)), end.to_owned()]
    }

    fn drop_object(&self) -> String {
        match self.below(6) {
            0 => format!("DROP VIEW IF EXISTS {}, {}", self.named("v"), self.named("v")),
            1 => format!("DROP VIEW {}", self.named("v")),
            2 => format!("DROP TRIGGER {}.g{}", self.database(), self.below(2 * NAMES)),
            3 => format!("DROP FUNCTION {}", self.named("f")),
            4 => format!("DROP PROCEDURE IF EXISTS {}", self.named("p")),
            _ => format!("DROP EVENT {}", self.named("e")),
        }
    }

    /// A temporary table, sometimes one that hides the table that it is filled from, with rows that go through it.
    pub fn temporary(&self, table: &TableDef) -> Texts {
        let database = &table.database;
        let (hides, source) = (self.below(3) == 0, name(table));
        let temporary = if hides { source.clone() } else { format!("{database}.x{}", self.below(NAMES)) };
        let copy =
            |from: &str, to: &str| format!("INSERT IGNORE INTO {to} (id, a) SELECT id + 400, a FROM {from}");
        let create = match self.below(3) {
            0 => format!("CREATE TEMPORARY TABLE {temporary} LIKE {source}"),
            1 => format!(
                "CREATE TEMPORARY TABLE {temporary} (KEY (a)) AS SELECT id, a, REPEAT('t', 300) AS t FROM {source}"
            ),
            _ => format!(
                "CREATE TEMPORARY TABLE {temporary} (id INT PRIMARY KEY, a INT, u INT AS (a + 1) VIRTUAL, KEY (u))"
            ),
        };
        let mut texts = vec!["BEGIN".to_owned(), create, copy(&source, &temporary)];
        // These commit what is open, and behind a failed CREATE they would find the table that is to be hidden.
        if !hides && self.below(2) == 0 {
            texts.push(match self.below(2) {
                0 => format!("ALTER TABLE {temporary} ADD COLUMN extra INT DEFAULT 7, ADD INDEX (extra)"),
                _ => format!("TRUNCATE TABLE {temporary}"),
            });
            texts.push("BEGIN".to_owned());
        }
        let changes = [
            format!("UPDATE {temporary} SET a = COALESCE(a, 0) + 1"),
            copy(&temporary, &source),
            format!("DELETE FROM {temporary} WHERE id % 3 = 0"),
        ];
        for _ in 0..1 + self.below(4) {
            texts.push(self.one(&changes).clone());
        }
        texts.push(if self.below(4) == 0 { "ROLLBACK" } else { "COMMIT" }.to_owned());
        texts.push(format!("DROP TEMPORARY TABLE IF EXISTS {temporary}"));
        texts
    }
}
