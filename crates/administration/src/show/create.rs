//! SHOW CREATE TABLE and DATABASE.
use catalog::LockMode;
use datum::{SqlError, Value};
use parser::ast::ObjectName;
use schema::{create_table_text, quote_identifier};

use crate::caller::Caller;
use session::Named;
use session::{MadeColumn, MadeRows};

impl Caller<'_> {
    pub(super) fn show_create_table(&self, table: ObjectName<'_>) -> Result<MadeRows, SqlError> {
        let name = self.table_name(table)?;
        if let Some(Named::View(view)) = self.resolve(&name.database, &name.name) {
            return Ok(self.view_rows(&view));
        }
        let definition = self.named_table(table)?;
        let handle = self.instance().catalog().table_by_id(definition.id);
        if handle.is_some() && !definition.temporary {
            let lock = self.table_name(table)?.lock();
            self.check_locked_tables(&[(lock, LockMode::Shared)])?;
        }
        let next = handle.map(|handle| match handle.if_ready() {
            Some(ready) => ready.auto_increment().peek(),
            // Its definition is just being changed.
            None => definition.auto_increment_start,
        });
        let text = create_table_text(&definition, next);
        let mut rows =
            MadeRows::new(&[MadeColumn::Text("Table", 64), statement_column("Create Table", &text)]);
        rows.push(vec![Value::bytes(&definition.name), Value::bytes(text)]);
        Ok(rows)
    }

    pub(super) fn show_create_database(&self, name: &str, if_not_exists: bool) -> Result<MadeRows, SqlError> {
        if !self.privileges().opens_database(catalog::canonical_database(name)) {
            return Err(self.database_denied_to_client(name));
        }
        let definition = self.instance().catalog().require_database(name)?;
        let collation = definition.collation;
        let condition = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
        let collate = match collation.collation().is_default && collation.charset().name() != "utf8mb4" {
            true => String::new(),
            false => format!(" COLLATE {}", collation.name()),
        };
        let text = format!(
            "CREATE DATABASE {condition}{} /*!40100 DEFAULT CHARACTER SET {}{collate} */ \
             /*!80016 DEFAULT ENCRYPTION='N' */",
            quote_identifier(&definition.name),
            collation.charset().name(),
        );
        let mut rows =
            MadeRows::new(&[MadeColumn::Text("Database", 64), statement_column("Create Database", &text)]);
        rows.push(vec![Value::bytes(&definition.name), Value::bytes(text)]);
        Ok(rows)
    }
}

/// The column of a statement's text, which is told to be as long as that is.
pub(super) fn statement_column(name: &'static str, text: &str) -> MadeColumn {
    const CHARACTERS_MIN: usize = 1024;
    let characters = text.chars().count().max(CHARACTERS_MIN);
    MadeColumn::Text(name, u32::try_from(characters).unwrap_or(u32::MAX))
}
