//! The session as binding and planning see it: the tables it may name, what is known of their rows, and the values of its
//! variables.
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use binder::{CatalogView, IndexStatistics, ResolvedTable, SessionValues, TableStatistics};
use catalog::{LockMode, LockName, canonical_database};
use datum::{ColumnType, SqlError, Value, error_code};
use expression::SessionServices;
use instance::PreparedPlan;
use parser::ast::{DataType, VariableScope};
use plan::{RangeCondition, TableUse};
use planner::{Estimates, Leaves};
use schema::{TableDef, ViewDef, VirtualTable};
use table::TableHandle;

use crate::session::Session;
use session_state::view_columns::ViewColumns;

/// What the name of a table means.
pub enum Named {
    Virtual(Arc<dyn VirtualTable>),
    Stored(Arc<TableHandle>),
    View(Arc<ViewDef>),
}

impl Session {
    /// The one place where the name of a table becomes what it means to this session: plans are made by it, and kept
    /// ones are held against it.
    pub fn resolve(&self, database: &str, name: &str) -> Option<Named> {
        if let Some(table) = self.temporary.find(database, name) {
            return Some(Named::Stored(table.clone()));
        }
        self.resolve_shared(database, name)
    }

    /// The same for what all sessions know, which is all that views reach.
    pub fn resolve_shared(&self, database: &str, name: &str) -> Option<Named> {
        if let Some(table) = self.instance.virtual_tables.find(database, name) {
            return Some(Named::Virtual(table));
        }
        let catalog = self.instance.catalog();
        match catalog.table(database, name) {
            Some(table) => Some(Named::Stored(table)),
            None => catalog.view(database, name).map(Named::View),
        }
    }

    /// Whether the names of a kept plan mean what they meant when it was made. Asked anew only when some definition has
    /// changed since; a change of other tables than the plan's leaves it as it is.
    pub fn means_the_same(&self, prepared: &PreparedPlan) -> bool {
        if !self.shared.have_types(&prepared.plan.user_variables) {
            return false;
        }
        let catalog = self.instance.catalog();
        // Read before the names: a change in between makes the next one who asks look again.
        let version = catalog.version();
        let knows_more = !self.temporary.is_empty();
        if prepared.known_at.load(Relaxed) == version && !knows_more {
            return true;
        }
        let is_same = |(used, epoch): (&TableUse, &u64)| {
            let (database, name) = (&used.table.database, &used.table.name);
            let now = match used.is_below_view {
                true => self.resolve_shared(database, name),
                false => self.resolve(database, name),
            };
            match now {
                Some(Named::Stored(handle)) => {
                    Arc::ptr_eq(handle.definition(), &used.table) && handle.statistics().epoch() == *epoch
                }
                _ => false,
            }
        };
        let related = prepared.related.iter().map(|(table, relations)| (*table, relations));
        let mut used = prepared.plan.tables.iter().zip(&prepared.epochs);
        let same = used.all(is_same)
            && self.has_views(&prepared.plan.views)
            && catalog.relates(related)
            && self.means_the_same_functions(&prepared.plan.functions);
        if same && !knows_more {
            prepared.known_at.store(version, Relaxed);
        }
        same
    }

    /// Whether the views still are what they were.
    pub(crate) fn has_views(&self, views: &[Arc<ViewDef>]) -> bool {
        views.iter().all(|view| {
            let now = self.resolve_shared(&view.database, &view.name);
            matches!(now, Some(Named::View(now)) if Arc::ptr_eq(&now, view))
        })
    }

    /// For those who describe views.
    pub fn view_columns(&self) -> ViewColumns {
        ViewColumns { instance: self.instance.clone(), settings: self.settings.clone() }
    }

    /// Why a name means nothing.
    fn unresolved(&self, database: &str, name: &str) -> SqlError {
        if canonical_database(database) == catalog::INFORMATION_SCHEMA {
            return error_code::ER_UNKNOWN_TABLE.with(&[&name.to_uppercase(), &"information_schema"]);
        }
        let lock = LockName::Table(database.into(), name.into());
        let missing = || error_code::ER_NO_SUCH_TABLE.with(&[&database, &name]);
        match self.check_locked_tables(&[(lock, LockMode::Shared)]) {
            Err(error) => error,
            Ok(()) => self.instance.catalog().require_database(database).err().unwrap_or_else(missing),
        }
    }
}

impl Session {
    fn resolved(&self, named: Option<Named>, database: &str, name: &str) -> Result<ResolvedTable, SqlError> {
        match named {
            Some(Named::Virtual(table)) => Ok(ResolvedTable::Virtual(table)),
            Some(Named::Stored(handle)) => {
                self.instance.catalog().renew_statistics_if_due(&handle, self.now_utc_micros());
                let statistics = statistics_of(&handle);
                Ok(ResolvedTable::Stored { table: handle.definition().clone(), statistics })
            }
            Some(Named::View(view)) => Ok(ResolvedTable::View(view)),
            None => Err(self.unresolved(database, name)),
        }
    }
}

impl CatalogView for Session {
    fn table(&self, database: &str, name: &str) -> Result<ResolvedTable, SqlError> {
        self.resolved(self.resolve(database, name), database, name)
    }

    fn base_table(&self, database: &str, name: &str) -> Result<ResolvedTable, SqlError> {
        self.resolved(self.resolve_shared(database, name), database, name)
    }

    fn function(&self, database: &str, name: &str) -> Result<Option<binder::StoredFunction>, SqlError> {
        self.stored_function(database, name)
    }

    fn has_triggers(&self, table: &TableDef) -> bool {
        !self.instance.catalog().trigger_set(&table.database, &table.name).is_empty()
    }

    fn permit(&self, need: &plan::TableNeed) -> Result<(), SqlError> {
        self.permit_table(need)
    }

    fn permit_view(&self, view: &ViewDef) -> Result<(), SqlError> {
        Session::permit_view(self, view)
    }

    fn permit_column(&self, need: &plan::TableNeed, column: &plan::ColumnNeed) -> Result<(), SqlError> {
        self.permit_table_column(need, column)
    }
}

impl Estimates for Session {
    fn rows_in(
        &self,
        table: &TableDef,
        index: usize,
        ranges: &[RangeCondition],
        parameters: &[Value],
    ) -> Option<f64> {
        self.count_in(table, index, ranges, parameters, true)
    }

    fn leaves(&self, table: &TableDef, index: Option<usize>) -> Option<Leaves> {
        self.leaves_of(table, index)
    }

    fn share_in_histogram(
        &self,
        table: &TableDef,
        column: usize,
        ranges: &[RangeCondition],
        parameters: &[Value],
    ) -> Option<f64> {
        self.share_of_column(table, column, ranges, parameters)
    }

    fn equality_dives_max(&self) -> usize {
        self.variables.by_name("eq_range_index_dive_limit").as_unsigned() as usize
    }
}

/// What the planner is told of a table.
fn statistics_of(handle: &Arc<TableHandle>) -> TableStatistics {
    let rows = handle.if_ready().map(|table| table.estimated_rows());
    let known = handle.statistics().present();
    let distinct = |index: &schema::IndexDef| {
        let known = known.as_ref().and_then(|known| known.index(index.tree));
        IndexStatistics { distinct_prefixes: known.map(|index| index.distinct.clone()).unwrap_or_default() }
    };
    let definition = handle.definition();
    let column = |known: &table::Histogram| {
        definition.columns.iter().position(|column| !column.hidden && column.name == known.column)
    };
    let mut histograms: Vec<usize> = handle.statistics().histograms().iter().filter_map(column).collect();
    histograms.extend(known.iter().flat_map(|known| &known.columns).filter_map(column));
    histograms.sort_unstable();
    histograms.dedup();
    TableStatistics { rows, indexes: definition.indexes.iter().map(distinct).collect(), histograms }
}

impl SessionValues for Session {
    fn system_variable(&self, scope: VariableScope, name: &str) -> Result<(Value, ColumnType), SqlError> {
        self.read_variable(scope, name)
    }

    fn column_type(&self, data_type: &DataType<'_>, column: &str) -> Result<ColumnType, SqlError> {
        session_state::view_columns::written_type(data_type, column)
    }

    fn user_variable_type(&self, name: &str) -> Option<ColumnType> {
        self.shared.user_variable(name).map(|(_, column_type)| column_type)
    }
}
