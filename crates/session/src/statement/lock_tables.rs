//! LOCK TABLES and UNLOCK TABLES.
//!
//! The locks are metadata locks that outlive transactions. While a session holds any, it may use the tables it
//! named and no others, as in MySQL; aliases are not told apart.
use auth::Privilege;
use catalog::{LockGuard, LockMode, LockName};
use datum::{SqlError, error_code};
use parser::ast::{LockTable, LockTableKind};

use super::Done;
use crate::session::Session;

impl Session {
    pub(super) async fn lock_tables(&mut self, tables: &[LockTable<'_>]) -> Result<Done, SqlError> {
        self.table_locks.clear();
        let mut wanted = Vec::with_capacity(tables.len());
        for table in tables {
            let name = self.table_name(table.table)?;
            self.require_changeable(&name.database)?;
            self.require_table(Privilege::Select, &name.database, &name.name)?;
            let mode = match table.kind {
                LockTableKind::Read | LockTableKind::ReadLocal => LockMode::NoWrite,
                LockTableKind::Write | LockTableKind::LowPriorityWrite => LockMode::Exclusive,
            };
            self.server.catalog().require_table(&name.database, &name.name)?;
            wanted.push((name.lock(), mode));
        }
        let guards = self.lock_for_change(wanted).await?;
        self.table_locks = guards;
        Ok(Done::ok())
    }

    pub(super) fn unlock_tables(&mut self) -> Done {
        self.table_locks.clear();
        Done::ok()
    }

    /// Errors 1099 and 1100: under LOCK TABLES a statement uses locked tables, and writes what is locked for it.
    pub(super) fn check_locked_tables(&self, used: &[(LockName, LockMode)]) -> Result<(), SqlError> {
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
}
