//! The rows of a table: read from the source as they come, inserted here many at a time.
//!
//! Invariant: what is counted as copied has been inserted. Generated columns are made here.
use super::Copy;
use super::insert_text::InsertText;
use super::names::{literal, quoted};

impl Copy<'_> {
    async fn inserts_of(&mut self, database: &str, table: &str) -> Result<InsertText, String> {
        let rows = self
            .origin
            .rows(&format!(
                "SELECT column_name, data_type, IFNULL(character_set_name, ''), generation_expression <> '' \
                 FROM information_schema.columns WHERE table_schema = {} AND table_name = {} ORDER BY ordinal_position",
                literal(database),
                literal(table)
            ))
            .await?;
        let copied = rows.iter().filter(|row| row[3] != "1");
        let name = format!("{}.{}", quoted(database), quoted(table));
        Ok(InsertText::new(&name, copied.map(|row| [&row[0], &row[1], &row[2]])))
    }

    /// Copies all rows of the table; `bytes` is about how large it is at the source.
    pub(super) async fn copy_rows(&mut self, database: &str, table: &str, bytes: u64) -> Result<(), String> {
        let mut inserts = self.inserts_of(database, table).await?;
        let name = format!("{}.{}", quoted(database), quoted(table));
        let begun =
            self.origin.connection.begin_rows(&format!("SELECT {} FROM {name}", inserts.selected())).await;
        begun.map_err(|error| format!("{} (table {name})", self.origin.failed(&error)))?;
        let (mut row, mut warnings) = (Vec::new(), 0u64);
        let mut counted = 0;
        loop {
            let more = self.origin.connection.next_row(&mut row).await;
            let more = more.map_err(|error| format!("{} (table {name})", self.origin.failed(&error)))?;
            if let Some(statement) = inserts.statement().filter(|_| !more || inserts.is_full()) {
                warnings += u64::from(self.obey_in(&name, statement).await?);
                counted += statement.len() as u64;
                inserts.clear();
                self.progress.advance(counted.min(bytes), &name);
                self.check_stop()?;
            }
            if !more {
                break;
            }
            inserts.add(&row).map_err(|error| self.origin.failed(&error))?;
        }
        if warnings > 0 {
            self.progress
                .tell(&format!("{name}: {warnings} values are not the same here (warnings of INSERT)"));
        }
        self.progress.finish_table(bytes);
        Ok(())
    }
}
