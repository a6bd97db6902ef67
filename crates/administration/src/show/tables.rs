//! SHOW TABLES and SHOW TABLE STATUS.
use std::sync::Arc;

use catalog::{ListedLock, LockMode, LockName};
use datum::{SqlError, Value, error_code};
use parser::ast::{Ident, ShowFilter};
use schema::TableDef;
use table::TableHandle;

use super::filter::name_pattern;
use crate::caller::Caller;
use session::{MadeColumn, MadeRows, optional_text};

impl Caller<'_> {
    /// The database that a SHOW names, or the current one.
    pub(super) fn shown_database(&self, name: Option<Ident<'_>>) -> Result<String, SqlError> {
        let name = match (name, self.database()) {
            (Some(name), _) => name.name.to_owned(),
            (None, Some(database)) => database.to_string(),
            (None, None) => return Err(error_code::ER_NO_DB_ERROR.plain()),
        };
        let definition = self.instance().catalog().require_database(&name)?;
        match self.privileges().lists_database(&definition.name) {
            true => Ok(definition.name),
            false => Err(self.database_denied(&name)),
        }
    }

    pub(super) fn show_tables(
        &self,
        full: bool,
        database: Option<Ident<'_>>,
        filter: ShowFilter<'_>,
    ) -> Result<MadeRows, SqlError> {
        let database = self.shown_database(database)?;
        let columns = [MadeColumn::Text("Tables_in_", 64), MadeColumn::Text("Table_type", 11)];
        let mut rows = MadeRows::new(&columns[..if full { 2 } else { 1 }]);
        let mut name = format!("Tables_in_{database}");
        if let ShowFilter::Like(pattern) = filter {
            name = format!("{name} ({})", String::from_utf8_lossy(pattern));
        }
        rows = rows.with_name(0, name);
        let mut push = |table: &str, kind: &str| {
            let mut row = vec![Value::bytes(table)];
            if full {
                row.push(Value::bytes(kind));
            }
            rows.push(row);
        };
        for table in self.instance().virtual_tables.of_database(&database) {
            let kind = if database == catalog::INFORMATION_SCHEMA { "SYSTEM VIEW" } else { "BASE TABLE" };
            push(&table.definition().name, kind);
        }
        for table in self.instance().catalog().tables(&database) {
            let definition = table.definition();
            if self.privileges().sees_table(&database, &definition.name) {
                push(&definition.name, "BASE TABLE");
            }
        }
        for view in self.instance().catalog().views(&database) {
            if self.privileges().sees_table(&database, &view.name) {
                push(&view.name, "VIEW");
            }
        }
        rows.sort_by_name();
        Ok(rows)
    }

    /// The tables that have been made ready since the start. Those are in use which LOCK TABLES holds.
    pub(super) fn show_open_tables(&self, database: Option<Ident<'_>>) -> MadeRows {
        let mut rows = MadeRows::new(&[
            MadeColumn::Text("Database", 64),
            MadeColumn::Text("Table", 64),
            MadeColumn::Number("In_use"),
            MadeColumn::Number("Name_locked"),
        ]);
        let catalog = self.instance().catalog();
        let held = catalog.locks().list();
        let database = database.map(|database| catalog::canonical_database(database.name).to_owned());
        for own in catalog.databases() {
            if database.as_ref().is_some_and(|wanted| *wanted != own.name) {
                continue;
            }
            let mut tables = catalog.tables(&own.name);
            tables.retain(|table| {
                let is_seen = self.privileges().sees_table(&own.name, &table.definition().name);
                is_seen && table.if_ready().is_some()
            });
            for table in tables {
                let name = &table.definition().name;
                let holds = |lock: &&ListedLock| {
                    let is_whole = matches!(lock.mode, LockMode::NoWrite | LockMode::Exclusive);
                    let is_it = matches!(&lock.name, LockName::Table(database, table)
                        if **database == *own.name && **table == **name);
                    lock.granted && is_whole && is_it
                };
                let in_use = held.iter().filter(holds).count() as u64;
                let row = [Value::bytes(&own.name), Value::bytes(name), Value::UInt(in_use), Value::UInt(0)];
                rows.push(row.to_vec());
            }
        }
        rows
    }

    /// The stored tables that SHOW TABLE STATUS is about, as far as that is known before its rows are made.
    pub(super) fn status_tables(
        &self,
        database: Option<Ident<'_>>,
        filter: ShowFilter<'_>,
    ) -> Result<Vec<Arc<TableHandle>>, SqlError> {
        let database = self.shown_database(database)?;
        let pattern = name_pattern(filter);
        let mut tables = self.instance().catalog().tables(&database);
        tables.retain(|table| {
            let name = &table.definition().name;
            let is_asked = pattern.as_ref().is_none_or(|pattern| pattern.matches(name.as_bytes()));
            is_asked && self.privileges().sees_table(&database, name)
        });
        Ok(tables)
    }

    pub(super) fn show_table_status(
        &self,
        database: Option<Ident<'_>>,
        filter: ShowFilter<'_>,
    ) -> Result<MadeRows, SqlError> {
        let pattern = name_pattern(filter);
        let database = self.shown_database(database)?;
        let mut rows = MadeRows::new(&STATUS_COLUMNS);
        for table in self.instance().virtual_tables.of_database(&database) {
            rows.push(virtual_status(table.definition()));
        }
        for view in self.instance().catalog().views(&database) {
            let is_asked = pattern.as_ref().is_none_or(|pattern| pattern.matches(view.name.as_bytes()));
            if is_asked && self.privileges().sees_table(&database, &view.name) {
                rows.push(self.view_status(&view));
            }
        }
        for table in self.instance().catalog().tables(&database) {
            let definition = table.definition();
            if !self.privileges().sees_table(&database, &definition.name) {
                continue;
            }
            // Not known of tables that the filter will drop, and of those whose definition is being changed.
            let ready = table.if_ready();
            let row_count = ready.as_ref().map(|table| table.estimated_rows());
            let size = self.instance().catalog().stored_bytes(&table);
            let counted = ready.filter(|_| definition.auto_increment_column().is_some());
            let next = counted.map(|table| Value::UInt(table.auto_increment().peek()));
            let created = self.settings().time_zone.to_local(definition.created_at.saturating_mul(1_000_000));
            rows.push(vec![
                Value::bytes(&definition.name),
                optional_text(Some(&definition.engine)),
                Value::UInt(10),
                Value::bytes(definition.shown_row_format()),
                row_count.map_or(Value::Null, Value::UInt),
                Value::UInt(size.of_row(row_count.unwrap_or(0))),
                Value::UInt(size.data),
                Value::UInt(0),
                Value::UInt(size.indexes),
                Value::UInt(0),
                next.unwrap_or(Value::Null),
                created.map_or(Value::Null, Value::DateTime),
                Value::Null,
                Value::Null,
                Value::bytes(definition.collation.name()),
                Value::Null,
                Value::bytes(definition.shown_create_options()),
                Value::bytes(&definition.comment),
            ]);
        }
        rows.sort_by_name();
        Ok(rows)
    }
}

/// What SHOW TABLE STATUS tells of a table.
const STATUS_COLUMNS: [MadeColumn; 18] = [
    MadeColumn::Text("Name", 64),
    MadeColumn::NullableText("Engine", 64),
    MadeColumn::NullableNumber("Version"),
    MadeColumn::NullableText("Row_format", 10),
    MadeColumn::NullableNumber("Rows"),
    MadeColumn::NullableNumber("Avg_row_length"),
    MadeColumn::NullableNumber("Data_length"),
    MadeColumn::NullableNumber("Max_data_length"),
    MadeColumn::NullableNumber("Index_length"),
    MadeColumn::NullableNumber("Data_free"),
    MadeColumn::NullableNumber("Auto_increment"),
    MadeColumn::DateTime("Create_time"),
    MadeColumn::DateTime("Update_time"),
    MadeColumn::DateTime("Check_time"),
    MadeColumn::NullableText("Collation", 64),
    MadeColumn::NullableNumber("Checksum"),
    MadeColumn::NullableText("Create_options", 256),
    MadeColumn::Text("Comment", 2048),
];

/// A virtual table has no storage to tell of, and a view not even an engine.
fn virtual_status(table: &TableDef) -> Vec<Value> {
    let mut row = vec![Value::Null; STATUS_COLUMNS.len()];
    row[0] = Value::bytes(&table.name);
    if table.database != catalog::INFORMATION_SCHEMA {
        row[1] = Value::bytes(&table.engine);
        row[2] = Value::UInt(10);
        row[3] = Value::bytes("Dynamic");
        row[4..10].fill(Value::UInt(0));
        row[14] = Value::bytes(table.collation.name());
        row[16] = Value::bytes("");
    }
    row[17] = Value::bytes(&table.comment);
    row
}
