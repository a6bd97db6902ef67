//! One atomic change of definitions: dictionary rows, trees and, after the commit, the shared in-memory copy.
//!
//! Invariant: nothing is visible to other sessions before `commit` returns; dropping the change undoes all of it,
//! created trees included. The caller holds exclusive metadata locks on every table it creates, changes or drops.
use std::sync::Arc;

use datum::SqlError;
use engine::{AccessMode, Engine, Isolation, Transaction, TreeId};
use schema::{DatabaseDef, ProgramDef, TableDef, TableId, ViewDef};
use table::{Histogram, ReadyTable, Statistics, StatisticsCell, TableHandle, engine_error};

use crate::catalog::Catalog;
use crate::computed::bind_columns;
use crate::dictionary::{self, FORMAT_VERSION, RecordKey};
use crate::edit::{Edit, apply, show_temporary_tables};
use crate::live_program::LiveProgram;
use crate::program::folded;

pub struct SchemaChange {
    catalog: Arc<Catalog>,
    transaction: Transaction,
    edits: Vec<Edit>,
    /// Trees whose rows have other columns from now on.
    renewed: Vec<TreeId>,
    /// Trees that take the places of empty ones.
    filled: Vec<TreeId>,
}

impl Catalog {
    /// Starts a transaction of the dictionary. The caller holds the metadata locks of what it changes.
    pub fn begin_change(self: &Arc<Self>) -> SchemaChange {
        SchemaChange::new(self.clone())
    }
}

impl SchemaChange {
    pub(crate) fn new(catalog: Arc<Catalog>) -> SchemaChange {
        let transaction = catalog.engine().begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
        SchemaChange { catalog, transaction, edits: Vec::new(), renewed: Vec::new(), filled: Vec::new() }
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.catalog.engine()
    }

    pub(crate) fn shared_engine(&self) -> Arc<Engine> {
        self.catalog.engine().clone()
    }

    /// For moving rows between trees within the same change.
    pub fn transaction(&mut self) -> &mut Transaction {
        &mut self.transaction
    }

    pub(crate) async fn write_format(&mut self) -> Result<(), SqlError> {
        dictionary::put(&mut self.transaction, &RecordKey::format(), &[FORMAT_VERSION]).await
    }

    /// Creates a database or gives it a new default collation.
    pub async fn create_database(&mut self, definition: DatabaseDef) -> Result<(), SqlError> {
        let key = RecordKey::database(&definition.name);
        let value = definition.collation.number().to_le_bytes();
        dictionary::put(&mut self.transaction, &key, &value).await?;
        self.edits.push(Edit::PutDatabase(definition));
        Ok(())
    }

    /// Drops a database and every table and view in it; gives their number.
    pub async fn drop_database(&mut self, name: &str) -> Result<usize, SqlError> {
        let tables = self.catalog.tables(name);
        for table in &tables {
            self.drop_table(table.definition()).await?;
        }
        let views = self.catalog.views(name);
        for view in &views {
            self.remove_view(view).await?;
        }
        for program in self.catalog.programs(name) {
            self.remove_program(&program).await?;
        }
        dictionary::remove(&mut self.transaction, &RecordKey::database(name)).await?;
        self.edits.push(Edit::RemoveDatabase(name.to_owned()));
        Ok(tables.len() + views.len())
    }

    /// Creates an empty table: gives it its id and its trees. `clustered_by` and the indexes are arranged.
    pub async fn create_table(&mut self, mut definition: TableDef) -> Result<Arc<TableHandle>, SqlError> {
        definition.id = self.catalog.new_table_id();
        self.create_trees(&mut definition).await?;
        self.store_definition(&definition).await?;
        let table = ReadyTable::of_new_trees(Arc::new(definition));
        self.edits.push(Edit::PutTable(table.handle().clone()));
        Ok(table.handle().clone())
    }

    /// New trees for the rows and for each index that is not the clustering one.
    pub async fn create_trees(&mut self, definition: &mut TableDef) -> Result<(), SqlError> {
        let rows = self.create_tree(&definition.name).await?;
        definition.tree = rows;
        definition.auto_increment_resets = 0;
        // New rows have no history.
        definition.places = None;
        definition.columns.iter_mut().for_each(|column| column.added_value = None);
        for position in 0..definition.indexes.len() {
            let is_clustering = Some(definition.indexes[position].id) == definition.clustered_by;
            let tree = if is_clustering { rows } else { self.create_tree(&definition.name).await? };
            definition.indexes[position].tree = tree;
        }
        debug_assert!(
            has_own_trees(definition),
            "each index has a tree, the clustering one that of the rows"
        );
        Ok(())
    }

    pub async fn create_tree(&mut self, table: &str) -> Result<u64, SqlError> {
        let tree = self.transaction.create_tree().await.map_err(|error| engine_error(table, error))?;
        Ok(tree.0)
    }

    /// Stores a descriptor whose trees exist; replaces one of the same name. The table is ready when it becomes visible.
    pub async fn put_table(&mut self, definition: TableDef) -> Result<Arc<TableHandle>, SqlError> {
        self.store_definition(&definition).await?;
        // A table that is only described anew keeps its statistics.
        let statistics = match self.catalog.table_by_id(definition.id) {
            Some(table) => {
                table.statistics().expect_indexes(definition.indexes.iter().map(|index| index.tree));
                self.forget_histograms(&table, &definition).await?;
                if table.definition().places != definition.places {
                    self.renewed.push(TreeId(definition.tree));
                }
                table.statistics().clone()
            }
            None => Arc::new(StatisticsCell::unknown()),
        };
        let handle = Arc::new(TableHandle::new(Arc::new(definition), statistics, bind_columns));
        // Trees of this change are nobody else's to read yet.
        handle.ready_within(&mut self.transaction).await?;
        debug_assert!(handle.is_ready(), "a table is ready when it becomes visible");
        self.edits.push(Edit::PutTable(handle.clone()));
        Ok(handle)
    }

    /// Puts trees that were filled in the places of the table's own, which have no records for anybody: whoever has an older
    /// snapshot still sees none.
    pub async fn replace_empty(
        &mut self,
        before: &Arc<TableDef>,
        filled: TableDef,
    ) -> Result<Arc<TableHandle>, SqlError> {
        debug_assert_ne!(before.tree, filled.tree, "the filled trees are others");
        self.drop_trees(before).await?;
        let trees = filled.indexes.iter().map(|index| index.tree).chain([filled.tree]);
        self.filled.extend(trees.map(TreeId));
        self.put_table(filled).await
    }

    /// A histogram goes with its column.
    async fn forget_histograms(&mut self, table: &TableHandle, after: &TableDef) -> Result<(), SqlError> {
        let mut all = Vec::clone(&table.statistics().histograms());
        let before = all.len();
        all.retain(|histogram| after.column_named(&histogram.column).is_some());
        if all.len() < before {
            self.put_histograms(after.id, &all).await?;
            table.statistics().set_histograms(all);
        }
        Ok(())
    }

    async fn store_definition(&mut self, definition: &TableDef) -> Result<(), SqlError> {
        let stored = definition.to_bytes();
        debug_assert!(
            has_own_trees(definition),
            "each index has a tree, the clustering one that of the rows"
        );
        debug_assert!(TableDef::from_bytes(&stored).is_ok(), "what is stored can be read");
        dictionary::put(&mut self.transaction, &key_of(definition), &stored).await
    }

    /// Drops a table with all its trees.
    pub async fn drop_table(&mut self, definition: &Arc<TableDef>) -> Result<(), SqlError> {
        self.drop_trees(definition).await?;
        dictionary::remove(&mut self.transaction, &RecordKey::statistics(definition.id)).await?;
        dictionary::remove(&mut self.transaction, &RecordKey::histograms(definition.id)).await?;
        self.remove_definition(definition).await
    }

    /// Forgets a descriptor but leaves its trees: the table gets another name or descriptor.
    pub async fn remove_definition(&mut self, definition: &Arc<TableDef>) -> Result<(), SqlError> {
        dictionary::remove(&mut self.transaction, &key_of(definition)).await?;
        self.edits.push(Edit::RemoveTable(definition.clone()));
        Ok(())
    }

    pub async fn drop_trees(&mut self, definition: &TableDef) -> Result<(), SqlError> {
        self.drop_tree(&definition.name, definition.tree).await?;
        for index in &definition.indexes {
            if index.tree != definition.tree {
                self.drop_tree(&definition.name, index.tree).await?;
            }
        }
        Ok(())
    }

    pub async fn drop_tree(&mut self, table: &str, tree: u64) -> Result<(), SqlError> {
        self.transaction.drop_tree(TreeId(tree)).await.map_err(|error| engine_error(table, error))
    }

    /// Stores a view; replaces one of the same name.
    pub async fn put_view(&mut self, view: ViewDef) -> Result<(), SqlError> {
        let key = RecordKey::view(&view.database, &view.name);
        let stored = view.to_bytes();
        debug_assert!(ViewDef::from_bytes(&stored).is_ok(), "what is stored can be read");
        dictionary::put(&mut self.transaction, &key, &stored).await?;
        self.edits.push(Edit::PutView(Arc::new(view)));
        Ok(())
    }

    pub async fn remove_view(&mut self, view: &Arc<ViewDef>) -> Result<(), SqlError> {
        let key = RecordKey::view(&view.database, &view.name);
        dictionary::remove(&mut self.transaction, &key).await?;
        self.edits.push(Edit::RemoveView(view.clone()));
        Ok(())
    }

    /// Stores a program; replaces one of the same kind and name.
    pub async fn put_program(&mut self, definition: ProgramDef) -> Result<Arc<LiveProgram>, SqlError> {
        let name = folded(definition.kind, &definition.name);
        let key = RecordKey::program(definition.kind, &definition.database, &name);
        let stored = definition.to_bytes();
        debug_assert!(ProgramDef::from_bytes(&stored).is_ok(), "what is stored can be read");
        dictionary::put(&mut self.transaction, &key, &stored).await?;
        let program = Arc::new(LiveProgram { id: self.catalog.new_program_id(), definition });
        self.edits.push(Edit::PutProgram(program.clone()));
        Ok(program)
    }

    /// Stores when an event was last executed and what it is then. It is still the same program.
    pub async fn put_event_state(
        &mut self,
        event: &Arc<LiveProgram>,
        state: schema::EventState,
        last_executed_us: i64,
    ) -> Result<(), SqlError> {
        let mut definition = event.definition.clone();
        debug_assert!(definition.event.is_some(), "only events have such a state");
        if let Some(event) = &mut definition.event {
            event.state = state;
            event.last_executed_us = Some(last_executed_us);
        }
        let name = folded(definition.kind, &definition.name);
        let key = RecordKey::program(definition.kind, &definition.database, &name);
        dictionary::put(&mut self.transaction, &key, &definition.to_bytes()).await?;
        self.edits.push(Edit::PutProgram(Arc::new(LiveProgram { id: event.id, definition })));
        Ok(())
    }

    pub async fn remove_program(&mut self, program: &Arc<LiveProgram>) -> Result<(), SqlError> {
        let definition = &program.definition;
        let name = folded(definition.kind, &definition.name);
        let key = RecordKey::program(definition.kind, &definition.database, &name);
        dictionary::remove(&mut self.transaction, &key).await?;
        self.edits.push(Edit::RemoveProgram(program.clone()));
        Ok(())
    }

    /// Has plans of the table made anew: its triggers change. The descriptor is another one that says the same.
    pub async fn renew_table(&mut self, table: &Arc<TableHandle>) -> Result<(), SqlError> {
        let mut definition = (**table.definition()).clone();
        // What has been counted since it was stored must not be forgotten.
        if let Some(ready) = table.if_ready() {
            definition.auto_increment_start =
                definition.auto_increment_start.max(ready.auto_increment().peek());
        }
        self.put_table(definition).await.map(|_| ())
    }

    /// Stores the encoded accounts.
    pub async fn put_accounts(&mut self, accounts: &[u8]) -> Result<(), SqlError> {
        dictionary::put(&mut self.transaction, &RecordKey::accounts(), accounts).await
    }

    /// SET PERSIST; `None` is RESET PERSIST.
    pub async fn put_variable(&mut self, name: &str, value: Option<&str>) -> Result<(), SqlError> {
        let key = RecordKey::variable(name);
        match value {
            Some(text) => dictionary::put(&mut self.transaction, &key, text.as_bytes()).await,
            None => dictionary::remove(&mut self.transaction, &key).await,
        }
    }

    /// Where a channel replicates from; `None` forgets it.
    pub async fn put_channel(&mut self, name: &str, value: Option<&[u8]>) -> Result<(), SqlError> {
        let key = RecordKey::channel(name);
        match value {
            Some(value) => dictionary::put(&mut self.transaction, &key, value).await,
            None => dictionary::remove(&mut self.transaction, &key).await,
        }
    }

    /// Forgets what a channel has applied.
    pub async fn remove_applied(&mut self, channel: &str) -> Result<(), SqlError> {
        dictionary::remove(&mut self.transaction, &RecordKey::applied(channel)).await
    }

    /// Stores what the planner is told of a table.
    pub(crate) async fn put_statistics(
        &mut self,
        table: TableId,
        statistics: &Statistics,
    ) -> Result<(), SqlError> {
        let stored = statistics.to_bytes();
        debug_assert!(Statistics::from_bytes(&stored).is_some(), "what is stored can be read");
        dictionary::put(&mut self.transaction, &RecordKey::statistics(table), &stored).await
    }

    /// Stores the histograms of a table's columns.
    pub(crate) async fn put_histograms(
        &mut self,
        table: TableId,
        histograms: &[Histogram],
    ) -> Result<(), SqlError> {
        let key = RecordKey::histograms(table);
        match histograms.is_empty() {
            true => dictionary::remove(&mut self.transaction, &key).await,
            false => {
                let stored = Histogram::to_bytes(histograms);
                debug_assert!(Histogram::from_bytes(&stored).is_some(), "what is stored can be read");
                dictionary::put(&mut self.transaction, &key, &stored).await
            }
        }
    }

    /// Makes everything durable without touching the copy in memory.
    pub(crate) async fn commit_quietly(self) -> Result<(), SqlError> {
        debug_assert!(self.edits.is_empty(), "edits are published");
        self.transaction.commit().await.map_err(|error| engine_error("data dictionary", error))
    }

    /// Makes everything durable and visible. The future must be run to its end: dropped in the middle, the
    /// dictionary may have changed while the copy in memory has not.
    pub async fn commit(self) -> Result<(), SqlError> {
        let SchemaChange { catalog, transaction, edits, renewed, filled } = self;
        let mark = transaction.change_mark();
        transaction.commit().await.map_err(|error| engine_error("data dictionary", error))?;
        renewed.iter().for_each(|tree| catalog.engine().hide_from_older(*tree, &mark));
        filled.iter().for_each(|tree| catalog.engine().show_empty_to_older(*tree));
        show_temporary_tables(&catalog, &edits);
        catalog.publish(|state| {
            for edit in edits {
                apply(state, edit);
            }
        });
        Ok(())
    }

    /// Undoes everything and waits for it.
    pub async fn rollback(self) -> Result<(), SqlError> {
        self.transaction.rollback().await.map_err(|error| engine_error("data dictionary", error))
    }
}

/// Stores what a channel has applied, in the transaction that applies it; `earlier` is the length of what is stored.
pub async fn put_applied(
    transaction: &mut Transaction,
    channel: &str,
    earlier: Option<usize>,
    value: &[u8],
) -> Result<(), SqlError> {
    dictionary::replace(transaction, &RecordKey::applied(channel), earlier, value).await
}

/// Whether the clustering index has the tree of the rows, and each other index one of its own.
fn has_own_trees(definition: &TableDef) -> bool {
    let indexes = &definition.indexes;
    indexes.iter().enumerate().all(|(position, index)| {
        let is_clustering = Some(index.id) == definition.clustered_by;
        (index.tree == definition.tree) == is_clustering
            && indexes[..position].iter().all(|other| other.tree != index.tree)
    })
}

/// Where the descriptor is stored.
fn key_of(definition: &TableDef) -> RecordKey {
    match definition.temporary {
        true => RecordKey::temporary(definition.id),
        false => RecordKey::table(&definition.database, &definition.name),
    }
}
