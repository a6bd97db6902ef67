//! Making, keeping and dropping the histograms of a table's columns.
//!
//! All rows are read once for all columns. Where the values would take more memory than is allowed, half of the rows
//! are left out, and half of the rest, chosen by their keys; the histogram tells how many were looked at.
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use datum::SqlError;
use engine::EntryBatch;
use env::yield_now;
use foldhash::fast::FixedState;
use table::{Histogram, HistogramOrder, TableHandle, ValueCounts};

use crate::catalog::Catalog;
use crate::rebuild::TableRows;

impl Catalog {
    /// New histograms of columns (by position), which take the place of older ones. The caller holds the table's
    /// metadata lock; `check` may end it.
    pub async fn make_histograms(
        self: &Arc<Self>,
        table: &Arc<TableHandle>,
        columns: &[usize],
        order: HistogramOrder,
        memory_bytes: usize,
        check: &(dyn Fn() -> Result<(), SqlError> + Sync),
    ) -> Result<(), SqlError> {
        let definition = table.definition();
        let mut skipped_bits = 0;
        let counts = loop {
            if let Some(counts) = self.count_values(table, columns, skipped_bits, memory_bytes, check).await?
            {
                break counts;
            }
            skipped_bits += 1;
        };
        let sampled = 0.5f64.powi(skipped_bits as i32);
        debug_assert_eq!(counts.len(), columns.len(), "each column was counted");
        let mut all = Vec::clone(&table.statistics().histograms());
        for (&column, counts) in columns.iter().zip(counts) {
            let name = &definition.columns[column].name;
            all.retain(|known| known.column != *name);
            all.push(counts.into_histogram(name, order, sampled));
        }
        self.keep_histograms(table, all).await
    }

    /// Keeps a histogram that a statement spells out, in the place of an older one of its column.
    pub async fn put_histogram(
        self: &Arc<Self>,
        table: &Arc<TableHandle>,
        histogram: Histogram,
    ) -> Result<(), SqlError> {
        let mut all = Vec::clone(&table.statistics().histograms());
        all.retain(|known| known.column != histogram.column);
        all.push(histogram);
        self.keep_histograms(table, all).await
    }

    /// Leaves the histogram of this column out; whether there was one.
    pub async fn drop_histogram(
        self: &Arc<Self>,
        table: &Arc<TableHandle>,
        column: &str,
    ) -> Result<bool, SqlError> {
        let mut all = Vec::clone(&table.statistics().histograms());
        let before = all.len();
        all.retain(|known| !known.column.eq_ignore_ascii_case(column));
        if all.len() == before {
            return Ok(false);
        }
        self.keep_histograms(table, all).await?;
        Ok(true)
    }

    async fn keep_histograms(
        self: &Arc<Self>,
        table: &Arc<TableHandle>,
        all: Vec<Histogram>,
    ) -> Result<(), SqlError> {
        let mut change = self.begin_change();
        change.put_histograms(table.definition().id, &all).await?;
        change.commit_quietly().await?;
        table.statistics().set_histograms(all);
        self.outdate_plans();
        Ok(())
    }

    /// The values of the rows whose key's hash ends in so many zero bits; `None` when they take too much memory.
    async fn count_values(
        self: &Arc<Self>,
        table: &TableHandle,
        columns: &[usize],
        skipped_bits: u32,
        memory_bytes: usize,
        check: &(dyn Fn() -> Result<(), SqlError> + Sync),
    ) -> Result<Option<Vec<ValueCounts>>, SqlError> {
        debug_assert!(skipped_bits < 64, "a hash has 64 bits");
        let definition = table.definition();
        let types = columns.iter().map(|column| &definition.columns[*column].column_type);
        let mut counts: Vec<ValueCounts> =
            columns.iter().zip(types).map(|(column, of)| ValueCounts::new(*column, of)).collect();
        let mut change = self.begin_change();
        let mut rows = TableRows::new(&mut change, table);
        let mut batch = EntryBatch::default();
        let seed = FixedState::with_seed(17);
        loop {
            check()?;
            let next = rows.next(&mut change, &mut batch).await?;
            if next.is_empty() {
                return Ok(Some(counts));
            }
            for (key, row) in &next {
                let mut hasher = seed.build_hasher();
                hasher.write(key);
                if hasher.finish().trailing_zeros() < skipped_bits {
                    continue;
                }
                for (column, counted) in columns.iter().zip(&mut counts) {
                    counted.add(&row[*column])?;
                }
            }
            if counts.iter().map(ValueCounts::bytes).sum::<usize>() > memory_bytes && skipped_bits < 63 {
                return Ok(None);
            }
            yield_now().await;
        }
    }
}
