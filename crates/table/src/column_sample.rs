//! How the values of columns are spread that no index begins with: judged by the rows of some leaves.
//!
//! The leaves are those that `survey` looks at, so a survey reads little more for it. What is found guides the planner where a
//! column has no histogram of its own; it is stored with the table's statistics and shown to nobody. Called by the catalog
//! behind each survey, with the table's metadata lock.
use crate::error::table_error;
use crate::handle::TableHandle;
use crate::histogram::{Histogram, HistogramOrder, ValueCounts, histogram_type};
use datum::{SqlError, TypeKind, Value};
use engine::{AccessMode, Engine, EngineError, Isolation, ReadMode};
use std::collections::HashSet;
use std::sync::Arc;

/// Of smaller tables a guess is no worse.
const ROWS_MIN: u64 = 20;
const LEAVES: u64 = 20;
const BUCKETS: usize = 64;
/// Of wider tables the first columns are looked at.
const COLUMNS_MAX: usize = 48;
/// Columns with longer values are hardly compared with values, and would take much room.
const KEY_BYTES_MAX: usize = 128;

impl TableHandle {
    /// What some rows tell of the columns; nothing for small tables. `rows` are those of the table; `check` may end it.
    pub async fn sample_columns(
        &self,
        engine: &Arc<Engine>,
        rows: u64,
        check: &(dyn Fn() -> Result<(), SqlError> + Sync),
    ) -> Result<Vec<Histogram>, SqlError> {
        let columns = self.columns_to_sample();
        if rows < ROWS_MIN || columns.is_empty() {
            return Ok(Vec::new());
        }
        let definition = self.definition().clone();
        let failed = |error: EngineError| table_error(&definition, error);
        let wanted: Vec<(usize, usize)> =
            columns.iter().enumerate().map(|(place, column)| (*column, place)).collect();
        let projection = self.layout().project_rows(&wanted);
        let mut counts: Vec<ValueCounts> = columns
            .iter()
            .map(|column| ValueCounts::new(*column, &definition.columns[*column].column_type))
            .collect();
        let mut transaction = engine.begin(Isolation::RepeatableRead, AccessMode::ReadOnly);
        let tree = self.layout().tree;
        let mut seen = HashSet::new();
        let mut row = vec![Value::Null; columns.len()];
        for number in 0..LEAVES {
            check()?;
            let sample = engine.sample_leaf(tree, tree.0 << 32 | number).await.map_err(failed)?;
            // Few leaves come up more than once.
            let is_new = sample.keys.first().is_some_and(|first| seen.insert(first.clone()));
            for key in sample.keys.iter().filter(|_| is_new) {
                let record = transaction.get(tree, key, ReadMode::Snapshot).await.map_err(failed)?;
                let Some(record) = record else { continue };
                let read = self.layout().read_row(&definition, &projection, key, &record, &mut row);
                read.map_err(|error| error.of(&definition))?;
                for (value, counted) in row.iter().zip(&mut counts) {
                    counted.add(value)?;
                }
            }
            env::yield_now().await;
        }
        let kept = columns.into_iter().zip(counts).filter(|(_, counts)| counts.longest() <= KEY_BYTES_MAX);
        let order = HistogramOrder { buckets: BUCKETS, is_renewed: false, made_at: 0 };
        Ok(kept
            .map(|(column, counts)| counts.into_sample(&definition.columns[column].name, order, rows))
            .collect())
    }

    /// Columns of which no index tells.
    fn columns_to_sample(&self) -> Vec<usize> {
        let definition = self.definition();
        let is_long = |kind: &TypeKind| {
            use TypeKind::{Blob, LongBlob, LongText, MediumBlob, MediumText, Text, TinyBlob, TinyText};
            matches!(kind, Blob | LongBlob | LongText | MediumBlob | MediumText | Text | TinyBlob | TinyText)
        };
        let columns = definition.columns.iter().enumerate().filter(|(number, column)| {
            !column.hidden
                && column.generated.is_none()
                && histogram_type(&column.column_type).is_some()
                && !is_long(&column.column_type.kind)
                && !definition.indexes.iter().any(|index| index.is_led_by(&[*number]))
        });
        columns.map(|(number, _)| number).take(COLUMNS_MAX).collect()
    }
}
