//! Temporary tables: known to one session by name, gone with it.
//!
//! They are tables as others, in trees of the engine, with rows in the session's transactions; only their names are
//! the session's own and hide those of tables and views. Making and dropping one is no part of the open transaction: the
//! trees are made in a transaction of their own, and those of a dropped table go when no open transaction can need them.
//! What a session leaves behind when the server ends is removed at the next start.
use std::collections::BTreeMap;
use std::sync::Arc;

use datum::SqlError;
use definition::TableName;
use plan::TableUsage;
use schema::TableDef;
use table::TableHandle;

use crate::session::Session;

/// The temporary tables of a session.
#[derive(Default)]
pub(crate) struct TemporaryTables {
    tables: BTreeMap<TableName, Arc<TableHandle>>,
    /// Dropped ones, whose rows an open transaction may still roll back.
    doomed: Vec<Arc<TableDef>>,
    /// What the open transaction did that its end does not undo.
    has_created: bool,
    has_dropped: bool,
}

impl TemporaryTables {
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    pub fn find(&self, database: &str, name: &str) -> Option<&Arc<TableHandle>> {
        if self.tables.is_empty() {
            return None;
        }
        let database = catalog::canonical_database(database).to_owned();
        self.tables.get(&TableName { database, name: name.to_owned() })
    }

    pub fn has(&self, name: &TableName) -> bool {
        self.tables.contains_key(name)
    }

    fn put(&mut self, handle: Arc<TableHandle>) {
        self.tables.insert(TableName::of(handle.definition()), handle);
    }
}

impl Session {
    /// The table that a statement of data definition means.
    pub fn stored_table(&self, name: &TableName) -> Result<Arc<TableHandle>, SqlError> {
        match self.temporary.find(&name.database, &name.name) {
            Some(table) => Ok(table.clone()),
            None => self.instance.catalog().require_table(&name.database, &name.name),
        }
    }

    /// The session's temporary table of this name.
    pub fn temporary_table(&self, name: &TableName) -> Option<Arc<TableHandle>> {
        self.temporary.find(&name.database, &name.name).cloned()
    }

    /// Whether the session has a temporary table of this name.
    pub fn has_temporary(&self, name: &TableName) -> bool {
        self.temporary.has(name)
    }

    /// The session has made a temporary table, which is not known by a name yet; a rollback does not undo that.
    pub fn note_temporary_made(&mut self) {
        self.temporary.has_created |= self.transaction.explicit;
    }

    /// The temporary table is known by its name, in the place of one that had it.
    pub fn put_temporary(&mut self, handle: Arc<TableHandle>) {
        self.temporary.put(handle);
    }

    /// The temporary table is known by another name than its own.
    pub fn put_temporary_as(&mut self, name: TableName, handle: Arc<TableHandle>) {
        self.temporary.tables.insert(name, handle);
    }

    /// The name means no temporary table any more; the table stays.
    pub fn take_temporary(&mut self, name: &TableName) -> Option<Arc<TableHandle>> {
        self.temporary.tables.remove(name)
    }

    /// Forgets a table; its trees go later.
    pub fn doom(&mut self, name: &TableName) {
        if let Some(handle) = self.temporary.tables.remove(name) {
            self.temporary.doomed.push(handle.definition().clone());
            self.temporary.has_dropped |= self.transaction.explicit;
        }
    }

    /// Removes what no transaction can need any more.
    pub(crate) async fn remove_doomed(&mut self) {
        if self.temporary.doomed.is_empty() || self.transaction.is_open() {
            return;
        }
        let doomed = std::mem::take(&mut self.temporary.doomed);
        if let Err(error) = self.drop_trees_of(&doomed).await {
            // The next start removes them.
            self.instance.log(&format!("a temporary table stays until the server is restarted: {error}"));
        }
    }

    async fn drop_trees_of(&self, tables: &[Arc<TableDef>]) -> Result<(), SqlError> {
        let mut change = self.instance.catalog().begin_change();
        for table in tables {
            change.drop_table(table).await?;
        }
        change.commit().await
    }

    /// The session ends, or starts anew: no transaction is open.
    pub(crate) async fn drop_temporary_tables(&mut self) {
        let temporary = std::mem::take(&mut self.temporary);
        let live = temporary.tables.into_values().map(|handle| handle.definition().clone());
        self.temporary.doomed = temporary.doomed.into_iter().chain(live).collect();
        self.remove_doomed().await;
    }

    /// What a rollback leaves as it is, told to the client.
    pub(in crate::statement) fn warn_of_temporary(&mut self, is_rollback: bool) {
        let created = std::mem::take(&mut self.temporary.has_created);
        let dropped = std::mem::take(&mut self.temporary.has_dropped);
        if is_rollback && created {
            self.shared.warning(ER_WARNING_NOT_COMPLETE_ROLLBACK_CREATED.plain());
        }
        if is_rollback && dropped {
            self.shared.warning(ER_WARNING_NOT_COMPLETE_ROLLBACK_DROPPED.plain());
        }
    }

    /// Error 4091: a branch that is prepared may outlive the session, which its temporary tables do not.
    pub(in crate::statement) fn check_xa_tables(&self, plan: &plan::Plan) -> Result<(), SqlError> {
        match self.xa.is_some() && plan.tables.iter().any(|used| used.table.temporary) {
            true => Err(ER_XA_TEMP_TABLE.plain()),
            false => Ok(()),
        }
    }
}

/// Whether a plan changes or locks rows that others know.
pub(in crate::statement) fn changes_shared(plan: &plan::Plan) -> bool {
    plan.tables.iter().any(|used| used.usage >= TableUsage::ReadForUpdate && !used.table.temporary)
}

const ER_WARNING_NOT_COMPLETE_ROLLBACK_CREATED: datum::ErrorCode =
    datum::ErrorCode::new(1751, "HY000", "The creation of some temporary tables could not be rolled back.");
const ER_WARNING_NOT_COMPLETE_ROLLBACK_DROPPED: datum::ErrorCode = datum::ErrorCode::new(
    1752,
    "HY000",
    "Some temporary tables were dropped, but these operations could not be rolled back.",
);
const ER_XA_TEMP_TABLE: datum::ErrorCode = datum::ErrorCode::new(
    4091,
    "HY000",
    "XA: Temporary tables cannot be accessed inside XA transactions when xa_detach_on_prepare=ON",
);
