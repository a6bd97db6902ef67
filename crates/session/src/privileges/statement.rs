//! What statements without a plan need, asked before they look at anything.
//!
//! Invariant: a statement that is listed here has passed its check before it waits for a lock or names what it found.
//! Called by `dispatch`. The account statements check themselves, since what they need depends on the accounts they name;
//! plans carry their own needs.

use auth::{DynamicPrivilege, Privilege, PrivilegeSet};
use datum::{SqlError, error_code};
use parser::ast::{
    AlterSpecification, AlterTable, CreateTable, CreateView, DeleteTarget, FlushTarget, Ident, Into,
    LockTable, MaintenanceKind, ObjectName, RenameTable, Show, StatementKind,
};

use crate::session::Session;
use definition::TableName;

impl Session {
    /// Errors 1044, 1142 and 1227.
    pub(crate) fn require_statement(&self, kind: &StatementKind<'_>) -> Result<(), SqlError> {
        use StatementKind::*;
        self.require_stored_target(kind)?;
        if self.privileges.is_full() {
            return Ok(());
        }
        match kind {
            CreateTable(statement) => self.require_create_table(statement),
            AlterTable(statement) => self.require_alter_table(statement),
            CreateIndex(statement) => self.require_on(Privilege::Index.into(), statement.table),
            DropIndex(statement) => self.require_on(Privilege::Index.into(), statement.table),
            DropTable(statement) if statement.temporary => Ok(()),
            CreateView(statement) => self.require_create_view(statement),
            DropTable(statement) | DropView(statement) => {
                self.require_on_all(Privilege::Drop.into(), statement.tables)
            }
            TruncateTable(statement) => self.require_on(Privilege::Drop.into(), statement.table),
            RenameTable(statement) => self.require_rename(statement),
            CreateDatabase(statement) => self.require_database(Privilege::Create, statement.name.name),
            AlterDatabase(statement) => self.require_shown_database(Privilege::Alter, statement.name),
            DropDatabase(statement) => self.require_database(Privilege::Drop, statement.name.name),
            LockTables(tables) => self.require_lock_tables(tables),
            MaintainTable(maintain) if maintain.kind == MaintenanceKind::Check => {
                maintain.tables.iter().try_for_each(|table| self.require_seen(&self.table_name(*table)?))
            }
            MaintainTable(maintain) => {
                let needed = match maintain.kind {
                    MaintenanceKind::Checksum => Privilege::Select.into(),
                    _ => PrivilegeSet::of(&[Privilege::Select, Privilege::Insert]),
                };
                self.require_on_all(needed, maintain.tables)
            }
            Flush(flush) => flush.targets.iter().try_for_each(|target| self.require_flush(target)),
            Show(show) => self.require_show(show),
            PurgeBinaryLogs(_) if !self.privileges.has_super_or(&[DynamicPrivilege::BinlogAdmin]) => {
                Err(Self::privilege_missing("SUPER or BINLOG_ADMIN"))
            }
            ResetBinaryLogs(_) if !self.privileges.has_global(Privilege::Reload) => {
                Err(Self::privilege_missing("RELOAD or FLUSH_TABLES"))
            }
            Query(query) if matches!(query.into, Some(Into::OutFile { .. } | Into::DumpFile { .. })) => {
                self.require_global(Privilege::File)
            }
            LoadData(load) if !load.local && !self.privileges.has_global(Privilege::File) => {
                Err(self.account_denied())
            }
            CloneLocal(_) | BackupInstance { .. }
                if !self.privileges.has_dynamic(DynamicPrivilege::BackupAdmin) =>
            {
                Err(Self::privilege_missing(DynamicPrivilege::BackupAdmin.name()))
            }
            RestoreTable(restore) => {
                if !self.privileges.has_dynamic(DynamicPrivilege::BackupAdmin) {
                    return Err(Self::privilege_missing(DynamicPrivilege::BackupAdmin.name()));
                }
                let needed = PrivilegeSet::of(&[Privilege::Create, Privilege::Insert]);
                let name = self.table_name(restore.new.unwrap_or(restore.table))?;
                self.require_changeable(&name.database)?;
                self.require_table(needed, &name.database, &name.name)
            }
            _ => Ok(()),
        }
    }

    /// Nobody may change `information_schema`, whether the table exists or not; an UPDATE says first what does not exist.
    fn require_stored_target(&self, kind: &StatementKind<'_>) -> Result<(), SqlError> {
        use StatementKind::*;
        let table = match kind {
            Insert(insert) => insert.table,
            Delete(delete) => match delete.target {
                DeleteTarget::Single(table) => table.name,
                DeleteTarget::Multiple { .. } => return Ok(()),
            },
            Update(update) => match update.single_table() {
                Some(table) => table.name,
                None => return Ok(()),
            },
            TruncateTable(truncate) => truncate.table,
            _ => return Ok(()),
        };
        let database = match table.database {
            Some(database) => database.name,
            None => self.database.as_deref().unwrap_or_default(),
        };
        if catalog::canonical_database(database) != catalog::INFORMATION_SCHEMA {
            return Ok(());
        }
        let is_missing = || self.resolve_shared(catalog::INFORMATION_SCHEMA, table.name.name).is_none();
        match matches!(kind, Update(_)) && is_missing() {
            true => Ok(()),
            false => Err(self.database_denied(catalog::INFORMATION_SCHEMA)),
        }
    }

    fn require_on(&self, privileges: PrivilegeSet, table: ObjectName<'_>) -> Result<(), SqlError> {
        let name = self.table_name(table)?;
        self.require_changeable(&name.database)?;
        if self.temporary.has(&name) {
            return Ok(());
        }
        self.require_table(privileges, &name.database, &name.name)
    }

    fn require_on_all(&self, privileges: PrivilegeSet, tables: &[ObjectName<'_>]) -> Result<(), SqlError> {
        for table in tables {
            let name = self.table_name(*table)?;
            if self.temporary.has(&name) {
                continue;
            }
            if privileges.has(Privilege::Drop.into()) {
                self.require_changeable(&name.database)?;
            }
            if !super::is_open_to_all(&name.database, &name.name) {
                self.require_table(privileges, &name.database, &name.name)?;
            }
        }
        Ok(())
    }

    fn require_create_table(&self, statement: &CreateTable<'_>) -> Result<(), SqlError> {
        let name = self.table_name(statement.name)?;
        self.require_changeable(&name.database)?;
        if statement.temporary {
            self.require_database(Privilege::CreateTemporaryTables, &name.database)?;
            return statement.like.map_or(Ok(()), |like| self.require_on(Privilege::Select.into(), like));
        }
        let mut needed: PrivilegeSet = Privilege::Create.into();
        if statement.query.is_some() {
            needed |= Privilege::Insert.into();
        }
        self.require_table(needed, &name.database, &name.name)?;
        let Some(like) = statement.like else { return Ok(()) };
        let like = self.table_name(like)?;
        self.require_table(Privilege::Select.into(), &like.database, &like.name)
    }

    fn require_create_view(&self, statement: &CreateView<'_>) -> Result<(), SqlError> {
        let name = self.table_name(statement.name)?;
        self.require_changeable(&name.database)?;
        self.require_table(Privilege::CreateView.into(), &name.database, &name.name)?;
        match statement.or_replace || statement.alter {
            true => self.require_table(Privilege::Drop.into(), &name.database, &name.name),
            false => Ok(()),
        }
    }

    fn require_rename(&self, statement: &RenameTable<'_>) -> Result<(), SqlError> {
        for rename in statement.renames {
            self.require_on(PrivilegeSet::of(&[Privilege::Drop, Privilege::Alter]), rename.from)?;
            self.require_on(PrivilegeSet::of(&[Privilege::Create, Privilege::Insert]), rename.to)?;
        }
        Ok(())
    }

    /// With RENAME as much as RENAME TABLE.
    fn require_alter_table(&self, statement: &AlterTable<'_>) -> Result<(), SqlError> {
        let renamed = statement.specifications.iter().find_map(|specification| match specification {
            AlterSpecification::RenameTable(to) => Some(*to),
            _ => None,
        });
        let Some(to) = renamed else { return self.require_on(Privilege::Alter.into(), statement.table) };
        self.require_on(PrivilegeSet::of(&[Privilege::Drop, Privilege::Alter]), statement.table)?;
        self.require_on(PrivilegeSet::of(&[Privilege::Create, Privilege::Insert]), to)
    }

    fn require_shown_database(&self, privilege: Privilege, name: Option<Ident<'_>>) -> Result<(), SqlError> {
        let name = match (name, &self.database) {
            (Some(name), _) => name.name,
            (None, Some(database)) => database,
            (None, None) => return Err(error_code::ER_NO_DB_ERROR.plain()),
        };
        self.require_changeable(name)?;
        self.require_database(privilege, name)
    }

    fn require_lock_tables(&self, tables: &[LockTable<'_>]) -> Result<(), SqlError> {
        for table in tables {
            let name = self.table_name(table.table)?;
            self.require_lock_of(&name)?;
        }
        Ok(())
    }

    fn require_lock_of(&self, name: &TableName) -> Result<(), SqlError> {
        self.require_changeable(&name.database)?;
        self.require_database(Privilege::LockTables, &name.database)?;
        self.require_table(Privilege::Select.into(), &name.database, &name.name)
    }

    fn require_flush(&self, target: &FlushTarget<'_>) -> Result<(), SqlError> {
        let own = match target {
            FlushTarget::Tables { .. } => Some(DynamicPrivilege::FlushTables),
            FlushTarget::Privileges => Some(DynamicPrivilege::FlushPrivileges),
            FlushTarget::Status => Some(DynamicPrivilege::FlushStatus),
            FlushTarget::OptimizerCosts => Some(DynamicPrivilege::FlushOptimizerCosts),
            FlushTarget::UserResources => Some(DynamicPrivilege::FlushUserResources),
            _ => None,
        };
        let may = self.privileges.has_global(Privilege::Reload)
            || own.is_some_and(|own| self.privileges.has_dynamic(own));
        if !may {
            let needed = own.map_or("RELOAD".to_owned(), |own| format!("RELOAD or {}", own.name()));
            return Err(Self::privilege_missing(&needed));
        }
        match target {
            FlushTarget::Tables { tables, read_lock, for_export } if *read_lock || *for_export => {
                tables.iter().try_for_each(|table| self.require_lock_of(&self.table_name(*table)?))
            }
            _ => Ok(()),
        }
    }

    fn require_show(&self, show: &Show<'_>) -> Result<(), SqlError> {
        match show {
            Show::CreateTable(table) => self.require_show_create_table(*table),
            Show::Triggers { database, .. } | Show::Events { database, .. } => {
                let name = database.map(|name| name.name).or(self.database.as_deref());
                match name.is_none_or(|name| self.privileges.lists_database(name)) {
                    true => Ok(()),
                    false => Err(self.database_denied(name.unwrap_or_default())),
                }
            }
            Show::CreateView(view) => self.require_show_create_view(*view),
            Show::BinaryLogs | Show::BinaryLogStatus | Show::ReplicaStatus { .. }
                if !self.privileges.has_super_or(&[])
                    && !self.privileges.has_global(Privilege::ReplicationClient) =>
            {
                Err(Self::privilege_missing("SUPER, REPLICATION CLIENT"))
            }
            Show::Replicas | Show::LogEvents { .. } => self.require_global(Privilege::ReplicationSlave),
            _ => Ok(()),
        }
    }

    fn require_show_create_view(&self, view: ObjectName<'_>) -> Result<(), SqlError> {
        let name = self.table_name(view)?;
        for privilege in [Privilege::Select, Privilege::ShowView] {
            self.require_table(privilege.into(), &name.database, &name.name)?;
        }
        Ok(())
    }

    fn require_show_create_table(&self, table: ObjectName<'_>) -> Result<(), SqlError> {
        let name = self.table_name(table)?;
        let visible = PrivilegeSet::all_table();
        if self.instance.catalog().view(&name.database, &name.name).is_some() {
            return self.require_show_create_view(table);
        }
        let is_open = super::is_open_to_all(&name.database, &name.name);
        match is_open || self.privileges.access().table(&name.database, &name.name).meets(visible) {
            true => Ok(()),
            false => Err(self.table_denied("SHOW", &name.name)),
        }
    }
}
