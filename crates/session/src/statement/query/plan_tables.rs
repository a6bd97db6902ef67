//! The tables of a plan before it runs: may it use them, their metadata locks, are they ready, and are they still those
//! it was made for.
//!
//! Invariant: after `lock_plan` every table of the plan is locked and ready, so nothing that runs it waits for that.
//! Called by everything that runs a plan.

use std::sync::Arc;

use catalog::{LockMode, LockName};
use datum::{SqlError, error_code};
use plan::{Plan, TableUsage, TableUse};
use schema::ViewDef;

use crate::session::Session;
use crate::statement::tables::temporary::changes_shared;
use instance::{PlanShape, PreparedPlan};

impl Session {
    /// Whether the plan may change what it changes, and its tables' locks.
    pub async fn enter_plan(&mut self, prepared: &PreparedPlan) -> Result<(), SqlError> {
        self.statements.set_plan_is_stale(false);
        let mut tables = prepared.plan.tables.iter();
        if tables.any(|used| used.usage >= TableUsage::ReadForUpdate && !used.table.temporary) {
            self.require_write_access()?;
        }
        self.lock_plan(prepared).await
    }

    /// Locks a plan's tables and makes sure that they are ready and still those it was made for.
    pub async fn lock_plan(&mut self, prepared: &PreparedPlan) -> Result<(), SqlError> {
        self.statements.set_plan_is_stale(false);
        self.admit_plan(&prepared.plan, prepared.counted.has_sources)?;
        if changes_shared(&prepared.plan) {
            self.pass_to_change().await?;
        }
        self.lock_shared(&prepared.locks).await?;
        let tables = prepared.plan.tables.iter().map(|used| (used.id, &used.table));
        let Some(not_ready) = self.instance.catalog().not_ready_of(tables) else {
            return Err(self.outdated());
        };
        if !self.has_views(&prepared.plan.views) || !self.means_the_same_functions(&prepared.plan.functions) {
            return Err(self.outdated());
        }
        for table in not_ready {
            table.ready(self.instance.engine()).await?;
        }
        let related = prepared.related.iter().map(|(table, relations)| (*table, relations));
        // What was not known of the tables while the plan was made is known now.
        if prepared.plan.is_guess || !self.instance.catalog().relates(related) {
            return Err(self.outdated());
        }
        Ok(())
    }

    /// What can refuse a plan before anything is waited for.
    fn admit_plan(&mut self, plan: &Plan, has_sources: bool) -> Result<(), SqlError> {
        if has_sources {
            self.require_usable_xa()?;
        }
        self.check_xa_tables(plan)?;
        self.require_plan(plan)?;
        if self.settings.safe_updates {
            crate::statement::query::safe_updates::check(plan)?;
        }
        self.check_locked_uses(plan)
    }

    /// Plans for a caller who cannot come back for another plan: what `make` guesses is found out first, and it is asked
    /// again.
    pub async fn plan_knowing(
        &mut self,
        make: impl Fn(&Session) -> Result<Plan, SqlError>,
    ) -> Result<Plan, SqlError> {
        let mut plan = make(self)?;
        if self.read_cold_ranges().await {
            plan = make(self)?;
        }
        if !plan.is_guess {
            return Ok(plan);
        }
        self.admit_plan(&plan, PlanShape::of(&plan).has_sources)?;
        for used in plan.tables.iter().filter(|used| !used.table.temporary) {
            // No longer than it takes: the statement's own locks are taken in their order.
            let lock = vec![(lock_of(used).0, LockMode::Shared)];
            let _lock = Box::pin(self.lock_for_change(lock)).await?;
            if let Some(table) = self.instance.catalog().table_by_id(used.id) {
                table.ready(self.instance.engine()).await?;
            }
        }
        make(self)
    }

    /// The plan has to be made again.
    fn outdated(&mut self) -> SqlError {
        self.statements.set_plan_is_stale(true);
        error_code::ER_TABLE_DEF_CHANGED.plain()
    }
}

/// Readers share a table with everybody but DDL, writers also exclude LOCK TABLES .. READ.
pub(in crate::statement) fn lock_of(used: &TableUse) -> (LockName, LockMode) {
    let name = LockName::Table(used.table.database.as_str().into(), used.table.name.as_str().into());
    let mode = match used.usage {
        TableUsage::Read | TableUsage::ReadLocking => LockMode::Shared,
        TableUsage::ReadForUpdate | TableUsage::Insert | TableUsage::Update | TableUsage::Delete => {
            LockMode::SharedWrite
        }
    };
    (name, mode)
}

/// A view that is read stays as it is.
pub(in crate::statement) fn lock_of_view(view: &Arc<ViewDef>) -> (LockName, LockMode) {
    (LockName::Table(view.database.as_str().into(), view.name.as_str().into()), LockMode::Shared)
}
