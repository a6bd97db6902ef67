//! A live table: its descriptor, the layout of its rows, and what changes while it is used.
use crate::change_stream::StreamCell;
use crate::counters::Counters;
use crate::error::table_error;
use crate::lacking::ColumnBinder;
use crate::layout::TableLayout;
use crate::statistics::{IndexStatistics, StatisticsCell, StoredBytes};
use datum::{SqlError, Value};
use engine::{ReadMode, Transaction};
use schema::TableDef;
use std::sync::Arc;

/// One for each table, shared by all sessions; the catalog keeps it from the start until DDL replaces it. Rows can be
/// read, changed and deleted through it; what else there is needs it to be ready: [`crate::ReadyTable`].
#[derive(Debug)]
pub struct TableHandle {
    definition: Arc<TableDef>,
    layout: TableLayout,
    pub(crate) counters: Counters,
    statistics: Arc<StatisticsCell>,
    pub(crate) changes: StreamCell,
}

impl TableHandle {
    /// A handle that is not ready yet. `binder` computes what rows lack of virtual columns.
    pub fn new(
        definition: Arc<TableDef>,
        statistics: Arc<StatisticsCell>,
        binder: ColumnBinder,
    ) -> TableHandle {
        TableHandle {
            layout: TableLayout::new(&definition, binder),
            counters: Counters::new(&definition),
            definition,
            statistics,
            changes: StreamCell::default(),
        }
    }

    /// So many rows came at once into a table that had none.
    pub fn count_filled(&self, rows: u64) {
        self.counters.set_rows(rows);
        self.statistics.count_changes(rows);
    }

    /// A tree of which nothing is known yet is small: it counts as one page.
    pub fn stored_bytes(&self, page_bytes: u64) -> StoredBytes {
        let known = self.statistics().present();
        let bytes = |tree: u64| {
            let index = known.as_ref().and_then(|known| known.index(tree));
            index.map_or(1, IndexStatistics::pages) * page_bytes
        };
        let rows = self.definition().tree;
        let others = self.definition().indexes.iter().filter(|index| index.tree != rows);
        StoredBytes { data: bytes(rows), indexes: others.map(|index| bytes(index.tree)).sum() }
    }

    pub fn statistics(&self) -> &Arc<StatisticsCell> {
        &self.statistics
    }

    /// Called before a write of the row: its value of the AUTO_INCREMENT column is not given to another row, also when this one
    /// is gone and the server has been restarted.
    pub(crate) fn keep_number(&self, transaction: &mut Transaction, row: &[Value]) {
        let Some(number) = self.counters.number_in(row) else { return };
        let resets = u128::from(self.definition.auto_increment_resets);
        transaction.raise_mark(self.layout.tree, resets << 64 | u128::from(number));
    }

    /// All columns of the row at `row_key`, or `None` when there is no such row.
    pub async fn read_row_at(
        &self,
        transaction: &mut Transaction,
        row_key: &[u8],
        mode: ReadMode,
    ) -> Result<Option<Vec<Value>>, SqlError> {
        let table = &self.definition;
        let record = transaction.get(self.layout.tree, row_key, mode).await;
        let Some(record) = record.map_err(|error| table_error(table, error))? else { return Ok(None) };
        let wanted: Vec<(usize, usize)> = (0..table.columns.len()).map(|column| (column, column)).collect();
        let projection = self.layout.project_rows(&wanted);
        let mut row = vec![Value::Null; table.columns.len()];
        let read = self.layout.read_row(table, &projection, row_key, &record, &mut row);
        read.map_err(|error| error.of(table))?;
        Ok(Some(row))
    }

    pub fn definition(&self) -> &Arc<TableDef> {
        &self.definition
    }

    pub fn layout(&self) -> &TableLayout {
        &self.layout
    }
}
