//! What the families of statements above this crate read of a session, and the parts of its state that they change.
//!
//! Invariant: a change through here leaves nothing behind that was derived from the old state; `refresh_settings` follows a
//! change of variables. Fields that no family needs have no method.
use std::sync::Arc;

use auth::AccountName;
use catalog::ClosedGate;
use variables::{SessionVariables, Settings};

use crate::families::Families;
use crate::privileges::Privileges;
use crate::session::Session;
use crate::statement::{OpenHandlers, Profiles};
use session_state::connection_info::ConnectionInfo;
use session_state::shared_state::SharedState;
use session_state::sink::StateChange;

impl Session {
    /// What was handed to the session, for one that it makes.
    pub fn families(&self) -> &'static dyn Families {
        self.families
    }

    /// Who is connected, and how.
    pub fn connection(&self) -> &ConnectionInfo {
        &self.connection
    }

    /// What the session's account may do, with its active roles.
    pub fn privileges(&self) -> &Privileges {
        &self.privileges
    }

    /// SET ROLE: these are active, and no others.
    pub fn activate_roles(&mut self, roles: Vec<AccountName>) {
        self.privileges.activate_roles(&self.instance, roles);
        self.show_account();
    }

    /// What expressions and sessions share: conditions, user variables, the last insert id, memory.
    pub fn shared(&self) -> &Arc<SharedState> {
        &self.shared
    }

    /// The values that the variables mean.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The session's own values of system variables.
    pub fn variables(&self) -> &SessionVariables {
        &self.variables
    }

    /// For SET; `refresh_settings` follows.
    pub fn variables_mut(&mut self) -> &mut SessionVariables {
        &mut self.variables
    }

    /// The current database.
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// `SET timestamp`; 0 lets the clock run again.
    pub fn fix_timestamp(&mut self, micros: i64) {
        Arc::make_mut(&mut self.settings).fixed_timestamp_us = micros;
    }

    /// The client is told with the end of the statement.
    pub fn tell_change(&mut self, change: StateChange) {
        self.changes.push(change);
    }

    /// Whether the session is inside a branch of XA.
    pub fn is_in_branch(&self) -> bool {
        self.xa.is_some()
    }

    /// Whether LOCK TABLES or FLUSH TABLES WITH READ LOCK holds something.
    pub fn holds_table_locks(&self) -> bool {
        !self.table_locks.is_empty() || self.global_read_lock.is_some()
    }

    /// The tables that are open by HANDLER.
    pub fn handlers(&self) -> &OpenHandlers {
        &self.handlers
    }

    /// For HANDLER itself.
    pub fn handlers_mut(&mut self) -> &mut OpenHandlers {
        &mut self.handlers
    }

    /// Whether LOCK TABLES holds nothing.
    pub fn holds_no_locked_tables(&self) -> bool {
        self.table_locks.is_empty()
    }

    /// Forgets the kept traces of the optimizer.
    pub fn forget_traces(&mut self) {
        self.traces.forget();
    }

    /// Whether the plan that could not be locked may be made again: no statement around it has run yet.
    pub fn plan_is_stale(&self) -> bool {
        self.statements.plan_is_stale()
    }

    /// What SHOW PROFILES lists.
    pub fn profiles(&self) -> &Profiles {
        &self.observed.profiles
    }

    /// LOCK INSTANCE FOR BACKUP and its end.
    pub fn set_backup_lock(&mut self, lock: Option<ClosedGate>) {
        self.backup_lock = lock;
    }

    /// Whether LOCK INSTANCE FOR BACKUP is in force here.
    pub fn has_backup_lock(&self) -> bool {
        self.backup_lock.is_some()
    }

    /// The text that the binary log will have of the running change of definitions takes the place of what was written.
    pub fn replace_definition_text(&mut self, sql: Vec<u8>) {
        if let Some(kept) = &mut self.definition_text {
            kept.sql = sql;
        }
    }

    /// The change of definitions is over.
    pub fn forget_definition_text(&mut self) {
        self.definition_text = None;
    }
}
