//! Opens the catalog: reads the dictionary, or makes that of a new store. Called once, by the start.
use crate::catalog::{Catalog, State, StoredSettings};
use crate::computed::bind_columns;
use crate::dictionary::{self, FORMAT_VERSION};
use crate::live_program::LiveProgram;
use crate::metadata_lock::MetadataLocks;
use datum::{SqlError, error_code};
use engine::{AccessMode, Engine, Isolation};
use parking_lot::RwLock;
use schema::TableDef;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use table::{StatisticsCell, TableHandle};

impl Catalog {
    /// Reads the dictionary; in a new store it makes one. Of the tables themselves nothing is read: their first use makes
    /// them ready (`TableHandle::ready`).
    pub async fn open(engine: Arc<Engine>) -> Result<Arc<Catalog>, SqlError> {
        let mut transaction = engine.begin(Isolation::RepeatableRead, AccessMode::ReadOnly);
        let contents = dictionary::read_all(&mut transaction).await?;
        let is_new = contents.format.is_none();
        if contents.format.is_some_and(|format| format != FORMAT_VERSION) {
            let what = "the data dictionary was written by another version of this program";
            return Err(error_code::ER_INTERNAL_ERROR.with(&[&what]));
        }
        let mut state = State::default();
        for definition in contents.databases {
            state.put_database(definition);
        }
        let mut next_table_id = 1;
        let (mut statistics, mut histograms) = (contents.statistics, contents.histograms);
        for definition in contents.tables {
            next_table_id = next_table_id.max(definition.id.0 + 1);
            let stored = statistics.remove(&definition.id);
            let cell = stored.map_or_else(StatisticsCell::unknown, StatisticsCell::stored);
            if let Some(kept) = histograms.remove(&definition.id) {
                cell.set_histograms(kept);
            }
            state.put_table(Arc::new(TableHandle::new(
                Arc::new(definition),
                Arc::new(cell),
                bind_columns,
            )))?;
        }
        for definition in &contents.temporary {
            next_table_id = next_table_id.max(definition.id.0 + 1);
        }
        for definition in contents.views {
            state.put_view(Arc::new(definition))?;
        }
        let mut next_program_id = 1;
        for definition in contents.programs {
            state.put_program(Arc::new(LiveProgram { id: next_program_id, definition }))?;
            next_program_id += 1;
        }
        state.link_all();
        drop(transaction);
        let catalog = Arc::new(Catalog {
            engine,
            locks: Arc::new(MetadataLocks::default()),
            state: RwLock::new(state),
            version: AtomicU64::new(1),
            next_table_id: AtomicU64::new(next_table_id),
            system_tables: OnceLock::new(),
            next_program_id: AtomicU64::new(next_program_id),
            stored: StoredSettings {
                accounts: contents.accounts,
                variables: contents.variables,
                channels: contents.channels,
                applied: contents.applied,
            },
        });
        if is_new {
            catalog.initialise().await?;
        }
        catalog.remove_temporary(contents.temporary).await?;
        Ok(catalog)
    }

    /// The sessions of these tables ended with the server.
    async fn remove_temporary(self: &Arc<Self>, tables: Vec<TableDef>) -> Result<(), SqlError> {
        if tables.is_empty() {
            return Ok(());
        }
        let mut change = self.begin_change();
        for table in tables {
            change.drop_table(&Arc::new(table)).await?;
        }
        change.commit().await
    }
}
