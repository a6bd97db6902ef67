//! LOCK TABLES and UNLOCK TABLES.
//!
//! The locks are metadata locks that outlive transactions. While a session holds any, it may use the tables it
//! named, those that foreign keys make it need, and no others, as in MySQL: queries and changes by the alias that was
//! locked, definitions by the table's own name.
use catalog::{LockGuard, LockMode, LockName, Passage};
use datum::{SqlError, error_code};
use parser::ast::{AlterSpecification, LockTable, LockTableKind, ObjectName, RoutineKind, StatementKind};
use plan::Plan;
use schema::ViewDef;

use crate::session::Session;
use crate::statement::Done;
use crate::statement::dispatch::is_account_statement;
use crate::statement::query::plan_tables::{lock_of, lock_of_view};
use definition::TableName;
use session_state::reach::Reach;

/// What LOCK TABLES holds for a session.
#[derive(Default)]
pub(crate) struct TableLocks {
    guards: Vec<LockGuard>,
    /// Tables that are locked for writing keep their session inside the gate of changes.
    passage: Option<Passage>,
    /// Every name that was locked; one table may be locked under several.
    aliases: Vec<LockedAlias>,
}

struct LockedAlias {
    table: LockName,
    alias: String,
    mode: LockMode,
    /// The statement named it; what views and foreign keys brought along may have the same name.
    is_named: bool,
}

impl TableLocks {
    pub fn is_empty(&self) -> bool {
        self.guards.is_empty()
    }

    /// The session may change what it has locked, also while others wait for the lock of all tables.
    pub fn is_inside(&self) -> bool {
        self.passage.is_some()
    }

    pub fn clear(&mut self) {
        *self = TableLocks::default();
    }

    fn forget(&mut self, table: &LockName) {
        self.guards.retain(|guard| guard.name() != table);
        self.aliases.retain(|locked| locked.table != *table);
    }

    fn rename(&mut self, from: &LockName, to: &LockName, guards: Vec<LockGuard>) {
        self.guards.retain(|guard| guard.name() != from);
        self.guards.extend(guards);
        for locked in self.aliases.iter_mut().filter(|locked| locked.table == *from) {
            locked.table = to.clone();
            // The new name is also what it is called from now on, unless it was locked under another one.
            if let (LockName::Table(_, old), LockName::Table(_, new)) = (from, to)
                && **old == *locked.alias
            {
                locked.alias = new.to_string();
            }
        }
    }
}

impl Session {
    /// FLUSH TABLES .. WITH READ LOCK: the same as LOCK TABLES .. READ, but it does not give up earlier locks.
    pub async fn lock_flushed_tables(&mut self, tables: &[ObjectName<'_>]) -> Result<(), SqlError> {
        if !self.table_locks.is_empty() {
            return Err(error_code::ER_LOCK_OR_ACTIVE_TRANSACTION.plain());
        }
        let kind = LockTableKind::Read;
        let tables: Vec<_> = tables.iter().map(|&table| LockTable { table, alias: None, kind }).collect();
        self.lock_tables(&tables).await.map(|_| ())
    }

    pub(in crate::statement) async fn lock_tables(
        &mut self,
        tables: &[LockTable<'_>],
    ) -> Result<Done, SqlError> {
        self.table_locks.clear();
        let catalog = self.instance.catalog().clone();
        let mut reach = Reach::new(&catalog);
        let mut wanted = Vec::with_capacity(tables.len());
        let mut handles = Vec::with_capacity(tables.len());
        let mut aliases: Vec<LockedAlias> = Vec::with_capacity(tables.len());
        for table in tables {
            let name = self.table_name(table.table)?;
            let writes = matches!(table.kind, LockTableKind::Write | LockTableKind::LowPriorityWrite);
            if writes && !self.temporary.has(&name) {
                self.require_write_access()?;
            }
            self.require_changeable(&name.database)?;
            let alias = table.alias.map_or(table.table.name.name, |alias| alias.name);
            if aliases.iter().any(|earlier| earlier.is_named && earlier.alias == alias) {
                return Err(error_code::ER_NONUNIQ_TABLE.with(&[&alias]));
            }
            let mode = match table.kind {
                LockTableKind::Read | LockTableKind::ReadLocal => LockMode::NoWrite,
                LockTableKind::Write | LockTableKind::LowPriorityWrite => LockMode::Exclusive,
            };
            aliases.push(LockedAlias { table: name.lock(), alias: alias.to_owned(), mode, is_named: true });
            if self.temporary.has(&name) {
                aliases.pop();
                continue;
            }
            // The rows of virtual tables are made for each reader: nobody can change them meanwhile.
            if self.instance.virtual_tables.find(&name.database, &name.name).is_some() {
                continue;
            }
            if let Some(view) = catalog.view(&name.database, &name.name) {
                wanted.push((name.lock(), LockMode::Shared));
                self.lock_below(&view, mode, &mut wanted, &mut aliases);
                continue;
            }
            let handle = self.instance.catalog().require_table(&name.database, &name.name)?;
            if mode == LockMode::Exclusive && self.settings.foreign_key_checks {
                reach.follow_table(handle.definition().id);
            }
            wanted.push((name.lock(), mode));
            handles.push(handle);
        }
        // Relatives are locked as if they had been named.
        for (name, mode) in reach.locks() {
            let mode = if mode == LockMode::Shared { LockMode::NoWrite } else { LockMode::Exclusive };
            if let LockName::Table(_, table) = &name {
                let alias = table.to_string();
                aliases.push(LockedAlias { table: name.clone(), alias, mode, is_named: false });
            }
            wanted.push((name, mode));
        }
        if wanted.iter().any(|(_, mode)| *mode == LockMode::Exclusive) {
            self.pass_to_change().await?;
        }
        let guards = self.lock_all(wanted).await?;
        for handle in handles {
            // One that DDL replaced before it was locked has been made anew.
            self.instance.catalog().ready_unless_changing(&handle, self.lock_owner()).await?;
        }
        self.table_locks = TableLocks { guards, passage: self.statement_passage.take(), aliases };
        Ok(Done::ok())
    }

    /// What a view reads is locked as if it had been named.
    fn lock_below(
        &self,
        view: &ViewDef,
        mode: LockMode,
        wanted: &mut Vec<(LockName, LockMode)>,
        aliases: &mut Vec<LockedAlias>,
    ) {
        for (database, name) in &view.uses {
            let table = LockName::Table(database.as_str().into(), name.as_str().into());
            if wanted.iter().any(|(known, held)| *known == table && *held >= mode) {
                continue;
            }
            if let Some(below) = self.instance.catalog().view(database, name) {
                wanted.push((table, LockMode::Shared));
                self.lock_below(&below, mode, wanted, aliases);
            } else if self.instance.catalog().table(database, name).is_some() {
                wanted.push((table.clone(), mode));
                aliases.push(LockedAlias { table, alias: name.clone(), mode, is_named: false });
            }
        }
    }

    /// Under LOCK TABLES only tables that are locked for writing can be flushed.
    pub fn check_flushed_tables(&self, tables: &[ObjectName<'_>]) -> Result<(), SqlError> {
        if tables.is_empty() {
            let read = self.table_locks.aliases.iter().find(|locked| locked.mode == LockMode::NoWrite);
            return match read {
                Some(locked) => check_lock(Some(locked.mode), LockMode::Exclusive, &locked.alias),
                None => Ok(()),
            };
        }
        for table in tables {
            self.check_locked_tables(&[(self.table_name(*table)?.lock(), LockMode::Exclusive)])?;
        }
        Ok(())
    }

    pub(in crate::statement) fn unlock_tables(&mut self) -> Done {
        self.table_locks.clear();
        self.global_read_lock = None;
        Done::ok()
    }

    /// Errors 1099 and 1100: under LOCK TABLES a statement uses locked tables, and writes what is locked for it.
    pub(crate) fn check_locked_uses(&self, plan: &Plan) -> Result<(), SqlError> {
        if self.table_locks.is_empty() {
            return Ok(());
        }
        let views: Vec<_> = plan.views.iter().map(lock_of_view).collect();
        self.check_locked_tables(&views)?;
        for used in plan.tables.iter().filter(|used| !used.table.temporary) {
            let (table, mode) = lock_of(used);
            if used.is_below_view {
                self.check_locked_tables(&[(table, mode)])?;
                continue;
            }
            let locked = self
                .table_locks
                .aliases
                .iter()
                .filter(|locked| locked.table == table && locked.alias == used.alias)
                .map(|locked| locked.mode)
                .max();
            // What programs inside of a statement use counts as locked with it: MySQL locks it at LOCK TABLES.
            if locked.is_some() || !self.programs.is_inside_statement() {
                check_lock(locked, mode, &used.alias)?;
            }
        }
        Ok(())
    }

    /// The same for a statement that names tables by their own names.
    pub fn check_locked_tables(&self, used: &[(LockName, LockMode)]) -> Result<(), SqlError> {
        if self.table_locks.is_empty() {
            return Ok(());
        }
        for (name, mode) in used {
            let LockName::Table(_, table) = name else { continue };
            let held = self.table_locks.guards.iter().find(|guard| guard.name() == name);
            check_lock(held.map(LockGuard::mode), *mode, table)?;
        }
        Ok(())
    }

    /// What LOCK TABLES leaves of definition statements: those of the tables it locked for writing.
    pub(in crate::statement) fn check_locked_change(&self, kind: &StatementKind<'_>) -> Result<(), SqlError> {
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
            CreateProgram(create) if create.trigger.is_none() => {
                return Err(error_code::ER_LOCK_OR_ACTIVE_TRANSACTION.plain());
            }
            CreateProgram(create) => create.trigger.iter().map(|head| head.table).collect(),
            DropStored(dropped) if dropped.kind == RoutineKind::Trigger => return Ok(()),
            AlterRoutine(_) | AlterEvent(_) | DropStored(_) => {
                return Err(error_code::ER_LOCK_OR_ACTIVE_TRANSACTION.plain());
            }
            // Accounts are rows of a table that cannot have been locked for writing.
            kind if is_account_statement(kind) && !matches!(kind, SetRole(_)) => {
                return Err(error_code::ER_TABLE_NOT_LOCKED.with(&[&"user"]));
            }
            _ => return Ok(()),
        };
        for table in changed {
            if self.temporary.has(&self.table_name(table)?) {
                continue;
            }
            let is_reading = matches!(kind, CreateTable(_));
            let mode = if is_reading { LockMode::Shared } else { LockMode::Exclusive };
            self.check_locked_tables(&[(self.table_name(table)?.lock(), mode)])?;
        }
        Ok(())
    }

    /// The locks follow the tables that a definition statement dropped or renamed.
    pub(in crate::statement) async fn move_table_locks(
        &mut self,
        kind: &StatementKind<'_>,
    ) -> Result<(), SqlError> {
        if self.table_locks.is_empty() {
            return Ok(());
        }
        match kind {
            StatementKind::DropTable(statement) if !statement.temporary => {
                for table in statement.tables {
                    let dropped = self.table_name(*table)?.lock();
                    self.table_locks.forget(&dropped);
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
        let guards = self.lock_all(vec![(to.lock(), LockMode::Exclusive)]).await?;
        self.table_locks.rename(&from.lock(), &to.lock(), guards);
        Ok(())
    }
}

fn check_lock(held: Option<LockMode>, wanted: LockMode, shown: &str) -> Result<(), SqlError> {
    match held {
        None => Err(error_code::ER_TABLE_NOT_LOCKED.with(&[&shown])),
        Some(LockMode::NoWrite) if wanted >= LockMode::SharedWrite => {
            Err(error_code::ER_TABLE_NOT_LOCKED_FOR_WRITE.with(&[&shown]))
        }
        Some(_) => Ok(()),
    }
}
