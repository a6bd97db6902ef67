//! Keeping the tables' statistics: made anew in the background when enough has changed, or by ANALYZE TABLE.
//!
//! Invariant: a table's trees are only looked at with its metadata lock, and at most one renewal of a table runs at a
//! time. Plans are made anew when numbers have changed much. A failure leaves the statistics as they were: they guide
//! the planner and decide nothing else.
use std::sync::Arc;

use datum::SqlError;
use table::{Extent, Statistics, StoredBytes, TableHandle, TableResolver};

use crate::catalog::Catalog;
use crate::metadata_lock::{LockMode, LockName, LockOwner};

/// Leaves of each index that the background looks at: `innodb_stats_persistent_sample_pages`.
const LEAVES_SAMPLED: u64 = 20;
/// Background tasks hold metadata locks as owners that no session is.
const FIRST_OWNER: u64 = 1 << 62;

impl Catalog {
    pub fn stored_bytes(&self, table: &TableHandle) -> StoredBytes {
        table.stored_bytes(self.engine().page_bytes())
    }

    /// Starts making new statistics if they are due; nobody waits for them.
    pub fn renew_statistics_if_due(self: &Arc<Self>, table: &Arc<TableHandle>, now_us: i64) {
        let rows = table.if_ready().map_or(0, |table| table.estimated_rows());
        if !table.statistics().is_due(rows) {
            return;
        }
        let Some(renewal) = table.statistics().begin_renewal() else { return };
        let (catalog, table) = (self.clone(), table.clone());
        self.engine().run_in_background("make statistics", async move {
            match catalog.survey_unless_changing(&table, now_us).await {
                Ok(Some(statistics)) => {
                    catalog.publish_statistics(&table, statistics, |new| renewal.finish(new))
                }
                Ok(None) | Err(_) => renewal.give_up(),
            }
        });
    }

    async fn survey_unless_changing(
        self: &Arc<Self>,
        table: &Arc<TableHandle>,
        now_us: i64,
    ) -> Result<Option<Statistics>, SqlError> {
        let definition = table.definition();
        let name = LockName::Table(definition.database.as_str().into(), definition.name.as_str().into());
        debug_assert!(definition.id.0 < FIRST_OWNER, "each table has an owner of its own");
        let owner = LockOwner(FIRST_OWNER + definition.id.0);
        let Some(_lock) = self.locks().try_acquire(owner, &name, LockMode::Shared) else { return Ok(None) };
        if !TableResolver::table(&**self, definition.id).is_ok_and(|present| Arc::ptr_eq(&present, table)) {
            return Ok(None);
        }
        let rows = table.if_ready().map(|table| table.estimated_rows());
        let extent = Extent::Leaves { wanted: LEAVES_SAMPLED, rows };
        let mut statistics = table.survey(self.engine(), extent, now_us, &|| Ok(())).await?;
        statistics.columns = table.sample_columns(self.engine(), statistics.rows, &|| Ok(())).await?;
        self.store_statistics(table, &statistics).await?;
        Ok(Some(statistics))
    }

    /// ANALYZE TABLE: exact numbers. The caller holds the table's metadata lock; `check` may end it.
    pub async fn analyze(
        self: &Arc<Self>,
        table: &Arc<TableHandle>,
        now_us: i64,
        check: &(dyn Fn() -> Result<(), SqlError> + Sync),
    ) -> Result<(), SqlError> {
        let mut statistics = table.survey(self.engine(), Extent::All, now_us, check).await?;
        statistics.columns = table.sample_columns(self.engine(), statistics.rows, check).await?;
        self.store_statistics(table, &statistics).await?;
        let cell = table.statistics();
        self.publish_statistics(table, statistics, |new| match cell.begin_renewal() {
            Some(renewal) => renewal.finish(new),
            None => cell.replace(new),
        });
        Ok(())
    }

    async fn store_statistics(
        self: &Arc<Self>,
        table: &TableHandle,
        statistics: &Statistics,
    ) -> Result<(), SqlError> {
        let mut change = self.begin_change();
        change.put_statistics(table.definition().id, statistics).await?;
        change.commit_quietly().await
    }

    fn publish_statistics(
        &self,
        table: &Arc<TableHandle>,
        statistics: Statistics,
        replace: impl FnOnce(Arc<Statistics>) -> bool,
    ) {
        if let Some(ready) = table.if_ready() {
            ready.set_estimated_rows(statistics.rows);
        }
        if replace(Arc::new(statistics)) {
            self.outdate_plans();
        }
    }
}
