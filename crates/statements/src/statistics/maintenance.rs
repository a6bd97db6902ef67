//! ANALYZE, CHECK, CHECKSUM, OPTIMIZE and REPAIR TABLE.
//!
//! Each table has its own outcome: what is wrong with one is told in its rows and the next one has its turn. Only KILL
//! and the time limit end the statement. Called by `dispatch`, after the implicit commit.
use catalog::LockMode;
use datum::{SqlError, Value, error_code};
use parser::ast::{AlterSpecification, Histogram, MaintainTable, MaintenanceKind, SchemaChangeOption};

use crate::caller::Caller;
use definition::TableName;
use session::Done;
use session::Shield;
use session::{MadeColumn, MadeRows};

/// A line of the answer: the kind of message and its text.
pub(crate) type Line = (&'static str, String);

impl Caller<'_> {
    pub(crate) async fn maintain_tables(
        &mut self,
        maintain: &MaintainTable<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        if let Some(histogram) = maintain.histogram {
            return Box::pin(self.maintain_histograms(maintain, histogram)).await;
        }
        let word = match maintain.kind {
            MaintenanceKind::Analyze => "analyze",
            MaintenanceKind::Check => "check",
            MaintenanceKind::Optimize => "optimize",
            MaintenanceKind::Repair => "repair",
            MaintenanceKind::Checksum => return self.checksum_tables(maintain).await,
        };
        let mut rows = MadeRows::new(&[
            MadeColumn::Text("Table", 128),
            MadeColumn::Text("Op", 10),
            MadeColumn::Text("Msg_type", 10),
            MadeColumn::MediumText("Msg_text"),
        ]);
        for table in maintain.tables {
            let mut name = self.table_name(*table)?;
            if let Some(table) = self.instance().virtual_tables.find(&name.database, &name.name) {
                name.name.clone_from(&table.definition().name);
            }
            let lines = match self.maintain_table(maintain.kind, &name, shield).await {
                Ok(lines) => lines,
                Err(error) if ends_statement(&error) => return Err(error),
                Err(error) => vec![("Error", error.message), ("status", "Operation failed".to_owned())],
            };
            for (kind, text) in lines {
                rows.push([name.dotted().as_str(), word, kind, &text].map(Value::bytes).to_vec());
            }
        }
        Ok(Done::Made(rows))
    }

    async fn maintain_histograms(
        &mut self,
        maintain: &MaintainTable<'_>,
        histogram: Histogram<'_>,
    ) -> Result<Done, SqlError> {
        let mut rows = MadeRows::new(&[
            MadeColumn::Text("Table", 128),
            MadeColumn::Text("Op", 10),
            MadeColumn::Text("Msg_type", 10),
            MadeColumn::MediumText("Msg_text"),
        ]);
        let name = self.table_name(maintain.tables[0])?;
        let shown = if maintain.tables.len() > 1 { String::new() } else { name.dotted() };
        for (kind, text) in self.change_histograms(maintain, &histogram, &name).await? {
            rows.push([shown.as_str(), "histogram", kind, &text].map(Value::bytes).to_vec());
        }
        Ok(Done::Made(rows))
    }

    async fn maintain_table(
        &mut self,
        kind: MaintenanceKind,
        name: &TableName,
        shield: &Shield,
    ) -> Result<Vec<Line>, SqlError> {
        let sound = vec![("status", "OK".to_owned())];
        if self.instance().virtual_tables.find(&name.database, &name.name).is_some() {
            return Ok(sound);
        }
        if let Some(view) = self.instance().catalog().view(&name.database, &name.name)
            && kind == MaintenanceKind::Check
        {
            return Ok(match self.view_columns().columns_of(&view) {
                Ok(_) => sound,
                Err(error) => vec![("Error", error.message), ("error", "Corrupt".to_owned())],
            });
        }
        let mode = if kind == MaintenanceKind::Optimize { LockMode::Exclusive } else { LockMode::Shared };
        self.check_locked_tables(&[(name.lock(), mode)])?;
        match kind {
            MaintenanceKind::Check => self.check_table(name).await,
            MaintenanceKind::Optimize => {
                self.stored_table(name)?;
                let (rebuild, options) = ([AlterSpecification::Force], SchemaChangeOption::default());
                self.alter(name.clone(), &rebuild, options, shield).await?;
                let note = "Table does not support optimize, doing recreate + analyze instead";
                Ok(vec![("note", note.to_owned()), ("status", "OK".to_owned())])
            }
            MaintenanceKind::Repair => {
                self.stored_table(name)?;
                Ok(vec![("note", "The storage engine for the table doesn't support repair".to_owned())])
            }
            MaintenanceKind::Analyze => {
                self.analyze_table(name).await?;
                Ok(sound)
            }
            MaintenanceKind::Checksum => unreachable!("it has an answer of its own"),
        }
    }

    async fn analyze_table(&mut self, name: &TableName) -> Result<(), SqlError> {
        let _locks = self.lock_for_change(vec![(name.lock(), LockMode::Shared)]).await?;
        let catalog = self.instance().catalog().clone();
        let table = self.stored_table(name)?;
        table.clone().ready(catalog.engine()).await?;
        let interrupt = &self.process().kill.interrupt;
        catalog.analyze(&table, self.now_utc_micros(), &|| interrupt.check()).await?;
        self.renew_histograms(&table).await
    }

    async fn check_table(&mut self, name: &TableName) -> Result<Vec<Line>, SqlError> {
        let _locks = self.lock_for_change(vec![(name.lock(), LockMode::Shared)]).await?;
        let catalog = self.instance().catalog().clone();
        let table = self.stored_table(name)?;
        let faults = catalog::check_table(&table, &mut catalog.begin_change()).await?;
        if faults.is_empty() {
            return Ok(vec![("status", "OK".to_owned())]);
        }
        let mut lines: Vec<Line> = faults.into_iter().map(|fault| ("Warning", fault)).collect();
        lines.push(("error", "Corrupt".to_owned()));
        Ok(lines)
    }

    /// CHECKSUM TABLE: NULL for a table that cannot be read, with the reason as a condition, and with QUICK.
    async fn checksum_tables(&mut self, maintain: &MaintainTable<'_>) -> Result<Done, SqlError> {
        let mut rows =
            MadeRows::new(&[MadeColumn::Text("Table", 128), MadeColumn::NullableNumber("Checksum")]);
        let is_quick = maintain.options.contains(&"QUICK");
        for table in maintain.tables {
            let name = self.table_name(*table)?;
            let checksum = match self.checksum_table(&name, is_quick).await {
                Ok(checksum) => checksum,
                Err(error) if ends_statement(&error) => return Err(error),
                Err(error) => {
                    self.shared().diagnostics.lock().add_error(&error);
                    Value::Null
                }
            };
            rows.push(vec![Value::bytes(name.dotted()), checksum]);
        }
        Ok(Done::Made(rows))
    }

    async fn checksum_table(&mut self, name: &TableName, is_quick: bool) -> Result<Value, SqlError> {
        self.check_locked_tables(&[(name.lock(), LockMode::Shared)])?;
        let _locks = self.lock_for_change(vec![(name.lock(), LockMode::Shared)]).await?;
        let catalog = self.instance().catalog().clone();
        let table = self.stored_table(name)?;
        if is_quick {
            return Ok(Value::Null);
        }
        let sum = catalog::checksum_table(&table, &mut catalog.begin_change()).await?;
        Ok(Value::UInt(u64::from(sum)))
    }
}

fn ends_statement(error: &SqlError) -> bool {
    error.is(&error_code::ER_QUERY_INTERRUPTED) || error.is(&error_code::ER_QUERY_TIMEOUT)
}
