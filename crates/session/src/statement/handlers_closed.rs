//! What changes of definitions do to the tables that the session has open by HANDLER. Called by the dispatch.
use datum::SqlError;
use definition::TableName;
use parser::ast::{ObjectName, RoutineKind, StatementKind};

use crate::session::Session;

impl Session {
    /// What a change of definitions by this session does to its open tables.
    pub(super) fn close_handlers(&mut self, kind: &StatementKind<'_>) -> Result<(), SqlError> {
        use StatementKind::*;
        if self.handlers.is_empty() {
            return Ok(());
        }
        let one = |table: ObjectName<'_>| self.table_name(table).map(|name| vec![name]);
        let all = |tables: &[ObjectName<'_>]| -> Result<Vec<TableName>, SqlError> {
            tables.iter().map(|table| self.table_name(*table)).collect()
        };
        let concerned: Vec<TableName> = match kind {
            AlterTable(statement) => one(statement.table)?,
            CreateIndex(statement) => one(statement.table)?,
            DropIndex(statement) => one(statement.table)?,
            TruncateTable(statement) => one(statement.table)?,
            CreateTable(statement) => one(statement.name)?,
            CreateProgram(statement) => match &statement.trigger {
                Some(trigger) => one(trigger.table)?,
                None => return Ok(()),
            },
            DropStored(statement) if statement.kind == RoutineKind::Trigger => {
                let name = self.table_name(statement.name)?;
                let table = self.triggers_table(&name.database, &name.name);
                table.map(|table| TableName { name: table, ..name }).into_iter().collect()
            }
            DropTable(statement) => all(statement.tables)?,
            RenameTable(statement) => {
                let old = statement.renames.iter().map(|rename| self.table_name(rename.from));
                old.collect::<Result<_, _>>()?
            }
            MaintainTable(statement) => all(statement.tables)?,
            DropDatabase(statement) => {
                let database = catalog::canonical_database(statement.name.name).to_owned();
                self.handlers.close_if(|table| table.database == database);
                return Ok(());
            }
            Flush(_) => {
                self.handlers.rewind();
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.handlers.close_if(|table| concerned.contains(table));
        Ok(())
    }
}
