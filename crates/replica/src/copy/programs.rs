//! Routines, triggers and events, each under the settings that it was made with.
//!
//! Invariant: events do not run here: what they change at the source comes by replication.
use super::Copy;
use super::names::{literal, quoted};

/// A definition with what it was made under.
struct Made {
    database: String,
    what: String,
    sql_mode: String,
    time_zone: String,
    collation: String,
    text: String,
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
                let name = format!("{} {}.{}", row[0], quoted(database), quoted(&row[1]));
                let shown = self.origin.rows(&format!("SHOW CREATE {name}")).await?;
                let Some([_, sql_mode, text, _, collation, ..]) = shown.first().map(Vec::as_slice) else {
                    continue;
                };
                self.make(Made {
                    database: database.clone(),
                    what: name,
                    sql_mode: sql_mode.clone(),
                    time_zone: String::new(),
                    collation: collation.clone(),
                    text: text.clone(),
                })
                .await?;
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
                let name = format!("{}.{}", quoted(database), quoted(&name));
                let shown = self.origin.rows(&format!("SHOW CREATE TRIGGER {name}")).await?;
                let Some([_, sql_mode, text, _, collation, ..]) = shown.first().map(Vec::as_slice) else {
                    continue;
                };
                self.make(Made {
                    database: database.clone(),
                    what: format!("TRIGGER {name}"),
                    sql_mode: sql_mode.clone(),
                    time_zone: String::new(),
                    collation: collation.clone(),
                    text: text.clone(),
                })
                .await?;
            }
        }
        Ok(())
    }

    pub(super) async fn copy_events(&mut self, databases: &[String]) -> Result<(), String> {
        for database in databases {
            let sql = format!(
                "SELECT event_name FROM information_schema.events WHERE event_schema = {}",
                literal(database)
            );
            for name in self.origin.rows(&sql).await?.into_iter().flatten() {
                let name = format!("{}.{}", quoted(database), quoted(&name));
                let shown = self.origin.rows(&format!("SHOW CREATE EVENT {name}")).await?;
                let Some([_, sql_mode, time_zone, text, _, collation, ..]) = shown.first().map(Vec::as_slice)
                else {
                    continue;
                };
                self.make(Made {
                    database: database.clone(),
                    what: format!("EVENT {name}"),
                    sql_mode: sql_mode.clone(),
                    time_zone: time_zone.clone(),
                    collation: collation.clone(),
                    text: text.clone(),
                })
                .await?;
                // One whose time is over is not made at all.
                let _ = self.obey(&format!("ALTER EVENT {name} DISABLE ON REPLICA")).await;
            }
        }
        Ok(())
    }

    async fn make(&mut self, made: Made) -> Result<(), String> {
        self.check_stop()?;
        if made.text.is_empty() {
            let what = &made.what;
            self.progress.tell(&format!("{what} is left out: the account may not read its definition"));
            return Ok(());
        }
        self.obey(&format!("USE {}", quoted(&made.database))).await?;
        let settings = self.text_settings(&made.collation);
        self.obey(&settings).await?;
        self.obey(&format!("SET sql_mode = {}", literal(&made.sql_mode))).await?;
        if !made.time_zone.is_empty() {
            self.obey(&format!("SET time_zone = {}", literal(&made.time_zone))).await?;
        }
        let result = self.obey(&made.text).await;
        self.obey_settings().await?;
        if let Err(error) = result {
            self.progress.tell(&format!("{} is left out: {error}", made.what));
        }
        Ok(())
    }
}
