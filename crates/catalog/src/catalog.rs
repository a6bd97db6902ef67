//! The databases, tables and views that exist: an in-memory copy of the dictionary, shared by all sessions.
//!
//! Invariant: the copy shows what is committed in the catalog tree; only `SchemaChange::commit` changes it, under
//! the exclusive metadata locks of the names it touches. A table that changes has another descriptor (another `Arc`), one
//! that does not keeps its own; `version` grows with each change, so that nobody need compare while nothing changes.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use collation::CollationId;
use datum::{SqlError, error_code};
use engine::{Engine, TreeId};
use foldhash::HashMap;
use parking_lot::RwLock;
use schema::{DatabaseDef, ProgramKind, TableDef, TableId, ViewDef};
use table::{Relations, TableHandle, TableResolver};

use crate::live_program::LiveProgram;
use crate::metadata_lock::{LockName, MetadataLocks};
use crate::name::{INFORMATION_SCHEMA, SYSTEM_DATABASES, canonical_database};

pub struct Catalog {
    pub(super) engine: Arc<Engine>,
    pub(super) locks: Arc<MetadataLocks>,
    /// A leaf lock, held for a lookup or the copying of a list; never across a wait.
    pub(super) state: RwLock<State>,
    pub(super) version: AtomicU64,
    pub(super) next_table_id: AtomicU64,
    /// The tables that are not stored.
    pub(super) system_tables: OnceLock<Vec<Arc<TableDef>>>,
    pub(super) next_program_id: AtomicU64,
    /// What the dictionary held beside tables when it was opened.
    pub(super) stored: StoredSettings,
}

/// Records of the dictionary that other layers interpret.
#[derive(Clone, Debug, Default)]
pub struct StoredSettings {
    /// `None` in a new store.
    pub accounts: Option<Vec<u8>>,
    pub variables: Vec<(String, String)>,
    /// Of replication, by channel: where from, and what has been applied.
    pub channels: Vec<(String, Vec<u8>)>,
    pub applied: Vec<(String, Vec<u8>)>,
}

#[derive(Default)]
pub(crate) struct State {
    pub databases: BTreeMap<String, Database>,
    pub by_id: HashMap<TableId, LiveTable>,
    /// By the number of each.
    pub programs_by_id: HashMap<u64, Arc<LiveProgram>>,
    /// By table: its triggers in the order in which they fire.
    pub triggers: HashMap<FullName, Vec<Arc<LiveProgram>>>,
    /// By parent: the tables with foreign keys that name it, whether it exists or not.
    pub children: HashMap<FullName, BTreeSet<FullName>>,
    /// Names whose tables came, changed or went since `link_changed`.
    pub changed: BTreeSet<FullName>,
}

/// A table with what its foreign keys and those of its children say.
#[derive(Clone)]
pub struct LiveTable {
    pub handle: Arc<TableHandle>,
    pub relations: Option<Arc<Relations>>,
}

/// Database and table.
pub(crate) type FullName = (String, String);

pub(crate) struct Database {
    pub definition: DatabaseDef,
    pub tables: BTreeMap<String, Arc<TableHandle>>,
    /// Tables and views share their names.
    pub views: BTreeMap<String, Arc<ViewDef>>,
    /// By kind and folded name.
    pub programs: BTreeMap<(ProgramKind, String), Arc<LiveProgram>>,
}

impl Catalog {
    /// The temporary tables of all sessions.
    pub fn temporary_tables(&self) -> Vec<Arc<TableHandle>> {
        let state = self.state.read();
        let handles = state.by_id.values().map(|live| &live.handle);
        let mut tables: Vec<_> = handles.filter(|handle| handle.definition().temporary).cloned().collect();
        tables.sort_by_key(|table| table.definition().id);
        tables
    }

    pub(super) async fn initialise(self: &Arc<Self>) -> Result<(), SqlError> {
        let mut change = self.begin_change();
        change.write_format().await?;
        for name in SYSTEM_DATABASES.iter().filter(|name| !name.ends_with("_schema")) {
            let collation = CollationId::UTF8MB4_0900_AI_CI;
            change.create_database(DatabaseDef { name: (*name).to_owned(), collation }).await?;
        }
        change.commit().await
    }

    /// Says once which tables stand beside the stored ones: they are listed with them.
    pub fn set_system_tables(&self, definitions: Vec<Arc<TableDef>>) {
        let _ = self.system_tables.set(definitions);
    }

    /// The tables that are not stored, by database and name.
    pub fn system_tables(&self) -> &[Arc<TableDef>] {
        self.system_tables.get().map_or(&[], Vec::as_slice)
    }

    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub fn locks(&self) -> &Arc<MetadataLocks> {
        &self.locks
    }

    /// What was stored for other layers when the server started.
    pub fn stored_settings(&self) -> &StoredSettings {
        &self.stored
    }

    /// Grows with every committed change of any definition.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// A number for a program that is created or changed; it lasts until the server stops.
    pub(crate) fn new_program_id(&self) -> u64 {
        let id = self.next_program_id.fetch_add(1, Ordering::Relaxed);
        debug_assert!(!self.state.read().programs_by_id.contains_key(&id), "no program has it yet");
        id
    }

    /// An id for a table that is created or rebuilt.
    pub fn new_table_id(&self) -> TableId {
        let id = TableId(self.next_table_id.fetch_add(1, Ordering::Relaxed));
        debug_assert!(!self.state.read().by_id.contains_key(&id), "no table has it yet");
        id
    }

    /// Makes the changes of a committed transaction visible.
    pub(crate) fn publish(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.write();
        change(&mut state);
        state.link_changed();
        state.check();
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Plans that were made with other statistics are made anew.
    pub(crate) fn outdate_plans(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn state(&self) -> parking_lot::RwLockReadGuard<'_, State> {
        self.state.read()
    }

    pub fn database(&self, name: &str) -> Option<DatabaseDef> {
        let name = canonical_database(name);
        if let Some(database) = self.state.read().databases.get(name) {
            return Some(database.definition.clone());
        }
        let collation = match name {
            INFORMATION_SCHEMA => CollationId::UTF8MB3_GENERAL_CI,
            "performance_schema" => CollationId::UTF8MB4_0900_AI_CI,
            _ => return None,
        };
        Some(DatabaseDef { name: name.to_owned(), collation })
    }

    /// All databases in the order of their names.
    pub fn databases(&self) -> Vec<DatabaseDef> {
        let mut all: Vec<DatabaseDef> =
            self.state.read().databases.values().map(|database| database.definition.clone()).collect();
        all.extend(
            ["information_schema", "performance_schema"].iter().filter_map(|name| self.database(name)),
        );
        all.sort_by(|left, right| left.name.cmp(&right.name));
        all
    }

    pub fn table(&self, database: &str, name: &str) -> Option<Arc<TableHandle>> {
        self.state.read().databases.get(canonical_database(database))?.tables.get(name).cloned()
    }

    pub fn table_by_id(&self, id: TableId) -> Option<Arc<TableHandle>> {
        self.state.read().by_id.get(&id).map(|live| live.handle.clone())
    }

    /// Those of the tables that are not ready yet; `None` when one of them is not defined so any more.
    pub fn not_ready_of<'d>(
        &self,
        tables: impl IntoIterator<Item = (TableId, &'d Arc<TableDef>)>,
    ) -> Option<Vec<Arc<TableHandle>>> {
        let state = self.state.read();
        let mut not_ready = Vec::new();
        for (id, definition) in tables {
            let handle = &state.by_id.get(&id)?.handle;
            if !Arc::ptr_eq(handle.definition(), definition) {
                return None;
            }
            if !handle.is_ready() {
                not_ready.push(handle.clone());
            }
        }
        Some(not_ready)
    }

    /// Whether the tables still have these relations.
    pub fn relates<'r>(
        &self,
        tables: impl IntoIterator<Item = (TableId, &'r Option<Arc<Relations>>)>,
    ) -> bool {
        let state = self.state.read();
        tables.into_iter().all(|(id, relations)| {
            let present = state.by_id.get(&id).and_then(|live| live.relations.as_ref());
            match (relations, present) {
                (None, None) => true,
                (Some(planned), Some(present)) => Arc::ptr_eq(planned, present),
                _ => false,
            }
        })
    }

    pub fn live_table(&self, id: TableId) -> Option<LiveTable> {
        self.state.read().by_id.get(&id).cloned()
    }

    /// How many stored tables there are.
    pub fn table_count(&self) -> usize {
        self.state.read().by_id.len()
    }

    /// The tables of a database in the order of their names.
    pub fn tables(&self, database: &str) -> Vec<Arc<TableHandle>> {
        let state = self.state.read();
        state
            .databases
            .get(canonical_database(database))
            .map(|database| database.tables.values().cloned().collect())
            .unwrap_or_default()
    }

    /// The tables whose rows or indexes are in any of the trees, as names to lock.
    pub fn tables_of(&self, trees: &BTreeSet<TreeId>) -> Vec<LockName> {
        let state = self.state.read();
        let uses = |table: &TableDef| {
            let indexes = table.indexes.iter().map(|index| index.tree);
            indexes.chain([table.tree]).any(|tree| trees.contains(&TreeId(tree)))
        };
        let tables = state.by_id.values().map(|live| live.handle.definition()).filter(|table| uses(table));
        tables
            .map(|table| LockName::Table(table.database.as_str().into(), table.name.as_str().into()))
            .collect()
    }

    pub fn view(&self, database: &str, name: &str) -> Option<Arc<ViewDef>> {
        self.state.read().databases.get(canonical_database(database))?.views.get(name).cloned()
    }

    /// The views of a database in the order of their names.
    pub fn views(&self, database: &str) -> Vec<Arc<ViewDef>> {
        let state = self.state.read();
        let database = state.databases.get(canonical_database(database));
        database.map(|database| database.views.values().cloned().collect()).unwrap_or_default()
    }

    /// Whether a table or a view has the name.
    pub fn is_named(&self, database: &str, name: &str) -> bool {
        let state = self.state.read();
        let database = state.databases.get(canonical_database(database));
        database
            .is_some_and(|database| database.tables.contains_key(name) || database.views.contains_key(name))
    }

    /// The table, or error 1049, 1146 or 1347.
    pub fn require_table(&self, database: &str, name: &str) -> Result<Arc<TableHandle>, SqlError> {
        if let Some(table) = self.table(database, name) {
            return Ok(table);
        }
        if self.view(database, name).is_some() {
            return Err(error_code::ER_WRONG_OBJECT.with(&[&database, &name, &"BASE TABLE"]));
        }
        self.require_database(database)?;
        Err(error_code::ER_NO_SUCH_TABLE.with(&[&database, &name]))
    }

    pub fn require_database(&self, name: &str) -> Result<DatabaseDef, SqlError> {
        self.database(name).ok_or_else(|| error_code::ER_BAD_DB_ERROR.with(&[&name]))
    }
}

impl TableResolver for Catalog {
    fn table(&self, id: TableId) -> Result<Arc<TableHandle>, SqlError> {
        self.table_by_id(id).ok_or_else(|| error_code::ER_TABLE_DEF_CHANGED.plain())
    }

    fn relations(&self, id: TableId) -> Option<Arc<Relations>> {
        self.state.read().by_id.get(&id)?.relations.clone()
    }
}

impl State {
    /// What holds between two changes.
    fn check(&self) {
        let tables: usize = self.databases.values().map(|database| database.tables.len()).sum();
        debug_assert!(self.by_id.len() >= tables, "each table is found by its id");
        let programs: usize = self.databases.values().map(|database| database.programs.len()).sum();
        debug_assert_eq!(self.programs_by_id.len(), programs, "each program is found by its number");
        let is_both =
            |database: &Database| database.views.keys().any(|name| database.tables.contains_key(name));
        debug_assert!(!self.databases.values().any(is_both), "tables and views share their names");
    }

    pub fn put_database(&mut self, definition: DatabaseDef) {
        match self.databases.get_mut(&definition.name) {
            Some(database) => database.definition = definition,
            None => {
                let name = definition.name.clone();
                let (tables, views, programs) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
                self.databases.insert(name, Database { definition, tables, views, programs });
            }
        }
    }

    pub fn put_table(&mut self, handle: Arc<TableHandle>) -> Result<(), SqlError> {
        let definition: Arc<TableDef> = handle.definition().clone();
        if definition.temporary {
            // Only its session knows the name.
            self.by_id.insert(definition.id, LiveTable { handle, relations: None });
            return Ok(());
        }
        self.databases.get(&definition.database).ok_or_else(|| {
            let what = format!("the data dictionary has a table of no database, {}", definition.database);
            error_code::ER_INTERNAL_ERROR.with(&[&what])
        })?;
        self.note_parents(&definition);
        self.by_id.insert(definition.id, LiveTable { handle: handle.clone(), relations: None });
        let database = self.databases.get_mut(&definition.database).expect("it was just found");
        database.tables.insert(definition.name.clone(), handle);
        Ok(())
    }

    pub fn put_view(&mut self, view: Arc<ViewDef>) -> Result<(), SqlError> {
        let database = self.databases.get_mut(&view.database).ok_or_else(|| {
            let what = format!("the data dictionary has a view of no database, {}", view.database);
            error_code::ER_INTERNAL_ERROR.with(&[&what])
        })?;
        database.views.insert(view.name.clone(), view);
        Ok(())
    }

    pub fn remove_view(&mut self, view: &ViewDef) {
        if let Some(database) = self.databases.get_mut(&view.database) {
            database.views.remove(&view.name);
        }
    }

    pub fn remove_table(&mut self, definition: &TableDef) {
        self.by_id.remove(&definition.id);
        if definition.temporary {
            return;
        }
        self.forget_parents(definition);
        if let Some(database) = self.databases.get_mut(&definition.database) {
            database.tables.remove(&definition.name);
        }
    }
}
