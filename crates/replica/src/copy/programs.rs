//! Routines, triggers and events, each under the settings that it was made with.
//!
//! Invariant: events do not run here: what they change at the source comes by replication.
use super::Copy;
use super::names::{literal, quoted};

/// A definition with what it was made under.
struct Made<'a> {
    what: &'a str,
    sql_mode: &'a str,
    /// Of an event.
    time_zone: Option<&'a str>,
    collation: &'a str,
    text: &'a str,
}

impl Copy<'_> {
    pub(super) async fn copy_routines(&mut self, databases: &[String]) -> Result<(), String> {
        for database in databases {
            let sql = format!(
                "SELECT routine_type, routine_name FROM information_schema.routines \
                 WHERE routine_schema = {} AND routine_type IN ('FUNCTION', 'PROCEDURE') AND external_language IN ('SQL', '')",
                literal(database)
            );
            for row in self.origin.rows(&sql).await? {
                self.copy_program(&row[0], database, &row[1]).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn copy_triggers(&mut self, databases: &[String]) -> Result<(), String> {
        for database in databases {
            let sql = format!(
                "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = {} \
                 ORDER BY event_object_table, action_timing, event_manipulation, action_order",
                literal(database)
            );
            for name in self.origin.rows(&sql).await?.into_iter().flatten() {
                self.copy_program("TRIGGER", database, &name).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn copy_events(&mut self, databases: &[String]) -> Result<(), String> {
        for database in databases {
            let of_database = format!(
                "SELECT event_name FROM information_schema.events WHERE event_schema = {}",
                literal(database)
            );
            for name in self.origin.rows(&of_database).await?.into_iter().flatten() {
                self.copy_program("EVENT", database, &name).await?;
            }
            // One whose time is over was not made at all.
            for name in self.own(&of_database).await? {
                let name = format!("{}.{}", quoted(database), quoted(&name));
                self.obey(&format!("ALTER EVENT {name} DISABLE ON REPLICA")).await?;
            }
        }
        Ok(())
    }

    async fn copy_program(&mut self, kind: &str, database: &str, name: &str) -> Result<(), String> {
        let what = format!("{kind} {}.{}", quoted(database), quoted(name));
        let shown = self.origin.rows(&format!("SHOW CREATE {what}")).await?;
        let Some(row) = shown.first() else { return Ok(()) };
        let made = match row.as_slice() {
            [_, sql_mode, time_zone, text, _, collation, ..] if kind == "EVENT" => {
                Made { what: &what, sql_mode, time_zone: Some(time_zone.as_str()), collation, text }
            }
            [_, sql_mode, text, _, collation, ..] => {
                Made { what: &what, sql_mode, time_zone: None, collation, text }
            }
            _ => return Ok(()),
        };
        self.obey(&format!("USE {}", quoted(database))).await?;
        self.make(made).await
    }

    async fn make(&mut self, made: Made<'_>) -> Result<(), String> {
        self.check_stop()?;
        if made.text.is_empty() {
            let what = made.what;
            self.progress.tell(&format!("{what} is left out: the account may not read its definition"));
            return Ok(());
        }
        let settings = self.text_settings(made.collation);
        self.obey(&settings).await?;
        self.obey(&format!("SET sql_mode = {}", literal(made.sql_mode))).await?;
        if let Some(time_zone) = made.time_zone {
            self.obey(&format!("SET time_zone = {}", literal(time_zone))).await?;
        }
        let result = self.obey(made.text).await;
        self.obey_settings().await?;
        if let Err(error) = result {
            self.progress.tell(&format!("{} is left out: {error}", made.what));
        }
        Ok(())
    }
}
