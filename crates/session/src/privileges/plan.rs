//! Whether the account may run a plan: each need of each table and column against what it has.
//!
//! Called while the plan is made, so that errors tell nothing of what is forbidden, and before a plan of the cache runs.

use auth::{Privilege, PrivilegeSet};
use datum::SqlError;
use plan::{ColumnNeed, Plan, Rights, TableNeed};

use super::refusal::listed;
use super::viewer::is_open_to_all;
use crate::session::Session;

fn privileges_of(rights: Rights) -> PrivilegeSet {
    let pairs = [
        (Rights::SELECT, Privilege::Select),
        (Rights::INSERT, Privilege::Insert),
        (Rights::UPDATE, Privilege::Update),
        (Rights::DELETE, Privilege::Delete),
    ];
    let held = pairs.into_iter().filter(|(right, _)| rights.has(*right));
    held.fold(PrivilegeSet::NONE, |set, (_, privilege)| set | privilege.into())
}

impl Session {
    /// What a plan does to its tables.
    pub(crate) fn require_plan(&self, plan: &Plan) -> Result<(), SqlError> {
        if self.privileges.is_full() {
            return Ok(());
        }
        for need in &plan.needs {
            self.permit_table(need)?;
            for column in &need.columns {
                self.permit_table_column(need, column)?;
            }
        }
        Ok(())
    }

    pub(crate) fn permit_table(&self, need: &TableNeed) -> Result<(), SqlError> {
        if self.privileges.is_full() {
            return Ok(());
        }
        let (database, table) = (need.database.as_str(), need.table.as_str());
        let (every, either) = (privileges_of(need.every), privileges_of(need.either));
        let select = Privilege::Select.into();
        if catalog::canonical_database(database) == catalog::INFORMATION_SCHEMA {
            return match (every | either).without(select).is_empty() {
                true => Ok(()),
                false => Err(self.database_denied(catalog::INFORMATION_SCHEMA)),
            };
        }
        if every == select && is_open_to_all(database, table) {
            return Ok(());
        }
        let held = self.privileges.access().any_column(database, table);
        let missing = every.without(held);
        if !missing.is_empty() {
            return Err(self.table_denied(&listed(missing), table));
        }
        if !either.is_empty() && !held.meets(either) {
            return Err(self.table_denied("SELECT", table));
        }
        let locking = [Privilege::Update, Privilege::Delete, Privilege::LockTables];
        if need.locks && !held.meets(PrivilegeSet::of(&locking)) {
            return Err(self.table_denied("SELECT with locking clause", table));
        }
        Ok(())
    }

    pub(crate) fn permit_table_column(&self, need: &TableNeed, column: &ColumnNeed) -> Result<(), SqlError> {
        if self.privileges.is_full() {
            return Ok(());
        }
        let (database, table) = (need.database.as_str(), need.table.as_str());
        let is_open = catalog::canonical_database(database) == catalog::INFORMATION_SCHEMA
            || (need.every == Rights::SELECT && is_open_to_all(database, table));
        let needed = privileges_of(column.rights);
        if is_open || self.privileges.has_on_table(needed, database, table) {
            return Ok(());
        }
        let missing = needed.without(self.privileges.access().column(database, table, &column.name));
        match (missing.is_empty(), column.is_unnamed) {
            (true, _) => Ok(()),
            (false, true) => Err(self.table_denied(&listed(missing), table)),
            (false, false) => Err(self.column_denied(&listed(missing), &column.name, table)),
        }
    }
}
