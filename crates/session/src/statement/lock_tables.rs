//! LOCK TABLES and UNLOCK TABLES.
//!
//! The locks are metadata locks that outlive transactions. While a session holds any, it may use the tables it
//! named, those that foreign keys make it need, and no others, as in MySQL; aliases are not told apart.
use auth::Privilege;
use catalog::{LockGuard, LockMode, LockName};
use datum::{SqlError, error_code};
use parser::ast::{AlterSpecification, LockTable, LockTableKind, ObjectName, StatementKind};

use super::Done;
use super::dispatch::is_account_statement;
use super::reach::Reach;
use super::schema_change::TableName;
use crate::session::Session;

impl Session {
    pub(super) async fn lock_tables(&mut self, tables: &[LockTable<'_>]) -> Result<Done, SqlError> {
        self.table_locks.clear();
        let catalog = self.server.catalog().clone();
        let mut reach = Reach::new(&catalog);
        let mut wanted = Vec::with_capacity(tables.len());
        let mut aliases: Vec<&str> = Vec::with_capacity(tables.len());
        for table in tables {
            let name = self.table_name(table.table)?;
            self.require_changeable(&name.database)?;
            self.require_table(Privilege::Select, &name.database, &name.name)?;
            let alias = table.alias.map_or(table.table.name.name, |alias| alias.name);
            if aliases.contains(&alias) {
                return Err(error_code::ER_NONUNIQ_TABLE.with(&[&alias]));
            }
            aliases.push(alias);
            let mode = match table.kind {
                LockTableKind::Read | LockTableKind::ReadLocal => LockMode::NoWrite,
                LockTableKind::Write | LockTableKind::LowPriorityWrite => LockMode::Exclusive,
            };
            // The rows of virtual tables are made for each reader: nobody can change them meanwhile.
            if self.server.virtual_tables.find(&name.database, &name.name).is_some() {
                continue;
            }
            let handle = self.server.catalog().require_table(&name.database, &name.name)?;
            if mode == LockMode::Exclusive && self.settings.foreign_key_checks {
                reach.follow_table(handle.definition().id);
            }
            wanted.push((name.lock(), mode));
        }
        // Relatives are locked as if they had been named.
        wanted.extend(reach.locks().map(|(name, mode)| match mode {
            LockMode::Shared => (name, LockMode::NoWrite),
            _ => (name, LockMode::Exclusive),
        }));
        let guards = self.lock_for_change(wanted).await?;
        self.table_locks = guards;
        Ok(Done::ok())
    }

    pub(super) fn unlock_tables(&mut self) -> Done {
        self.table_locks.clear();
        Done::ok()
    }

    /// Errors 1099 and 1100: under LOCK TABLES a statement uses locked tables, and writes what is locked for it.
    pub(crate) fn check_locked_tables(&self, used: &[(LockName, LockMode)]) -> Result<(), SqlError> {
        if self.table_locks.is_empty() {
            return Ok(());
        }
        for (name, mode) in used {
            let LockName::Table(_, table) = name else { continue };
            let held: Option<&LockGuard> = self.table_locks.iter().find(|guard| guard.name() == name);
            match held {
                None => return Err(error_code::ER_TABLE_NOT_LOCKED.with(&[table])),
                Some(guard) if guard.mode() == LockMode::NoWrite && *mode >= LockMode::SharedWrite => {
                    return Err(error_code::ER_TABLE_NOT_LOCKED_FOR_WRITE.with(&[table]));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// What LOCK TABLES leaves of definition statements: those of the tables it locked for writing.
    pub(super) fn check_locked_change(&self, kind: &StatementKind<'_>) -> Result<(), SqlError> {
        use StatementKind::*;
        if self.table_locks.is_empty() {
            return Ok(());
        }
        let changed: Vec<ObjectName<'_>> = match kind {
            CreateTable(statement) if statement.temporary => return Ok(()),
            CreateTable(statement) => vec![statement.name],
            AlterTable(statement) => vec![statement.table],
            CreateIndex(statement) => vec![statement.table],
            DropIndex(statement) => vec![statement.table],
            TruncateTable(statement) => vec![statement.table],
            DropTable(statement) if statement.temporary => return Ok(()),
            DropTable(statement) => statement.tables.to_vec(),
            RenameTable(statement) => statement.renames.iter().map(|rename| rename.from).collect(),
            CreateDatabase(_) | AlterDatabase(_) | DropDatabase(_) | CreateView(_) | DropView(_) => {
                return Err(error_code::ER_LOCK_OR_ACTIVE_TRANSACTION.plain());
            }
            // Accounts are rows of a table that cannot have been locked for writing.
            kind if is_account_statement(kind) && !matches!(kind, SetRole(_)) => {
                return Err(error_code::ER_TABLE_NOT_LOCKED.with(&[&"user"]));
            }
            _ => return Ok(()),
        };
        for table in changed {
            let is_reading = matches!(kind, CreateTable(_));
            let mode = if is_reading { LockMode::Shared } else { LockMode::Exclusive };
            self.check_locked_tables(&[(self.table_name(table)?.lock(), mode)])?;
        }
        Ok(())
    }

    /// The locks follow the tables that a definition statement dropped or renamed.
    pub(super) async fn move_table_locks(&mut self, kind: &StatementKind<'_>) -> Result<(), SqlError> {
        if self.table_locks.is_empty() {
            return Ok(());
        }
        match kind {
            StatementKind::DropTable(statement) if !statement.temporary => {
                for table in statement.tables {
                    let dropped = self.table_name(*table)?.lock();
                    self.table_locks.retain(|guard| *guard.name() != dropped);
                }
            }
            StatementKind::RenameTable(statement) => {
                for rename in statement.renames {
                    let (from, to) = (self.table_name(rename.from)?, self.table_name(rename.to)?);
                    self.move_table_lock(&from, &to).await?;
                }
            }
            StatementKind::AlterTable(statement) => {
                let from = self.table_name(statement.table)?;
                for specification in statement.specifications {
                    if let AlterSpecification::RenameTable(to) = specification {
                        let to = self.table_name(*to)?;
                        self.move_table_lock(&from, &to).await?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    async fn move_table_lock(&mut self, from: &TableName, to: &TableName) -> Result<(), SqlError> {
        let guards = self.lock_for_change(vec![(to.lock(), LockMode::Exclusive)]).await?;
        self.table_locks.retain(|guard| *guard.name() != from.lock());
        self.table_locks.extend(guards);
        Ok(())
    }
}
