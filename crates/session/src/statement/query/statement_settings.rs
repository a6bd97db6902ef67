//! What a statement sees of the session's settings and clock while it runs: its operators, and its expressions.
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use auth::{DynamicPrivilege, Privilege};
use engine::{Isolation, WaitPolicy};
use executor::{ExecSettings, MemoryShares};
use expression::StatementSettings;
use plan::{NodeKind, Plan, PlanKind};

use crate::program::Strictness;
use crate::session::Session;

impl Session {
    pub(super) fn exec_settings(&self, plan: &Plan) -> ExecSettings {
        let timeout_us = self.settings.row_lock_wait_timeout_s.saturating_mul(1_000_000);
        let isolation = self.transaction.current.as_ref().map(|transaction| transaction.isolation());
        ExecSettings {
            lock_wait: WaitPolicy::Wait { timeout_us },
            auto_increment_increment: self.settings.auto_increment_increment,
            auto_increment_offset: self.settings.auto_increment_offset,
            tests_before_waiting: false,
            locks_one_by_one: executor::OneByOne::Never,
            foreign_key_checks: self.settings.foreign_key_checks,
            is_inside_strict: self.programs.strictness() > Strictness::None,
            share_reads: self.transaction.explicit && isolation == Some(Isolation::Serializable),
            recursion_depth_max: self.settings.recursion_depth_max,
            select_limit: if has_limit(plan) { u64::MAX } else { self.settings.select_limit },
            shares: self.memory_shares(),
        }
    }

    /// What one operator may hold in memory.
    pub(in crate::statement) fn memory_shares(&self) -> MemoryShares {
        let bytes = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let rows_bytes = bytes(self.settings.tmp_table_bytes);
        MemoryShares {
            sort_bytes: bytes(self.settings.sort_buffer_bytes),
            rows_bytes,
            join_bytes: bytes(self.settings.join_buffer_bytes).max(rows_bytes),
        }
    }

    /// The session's clock: `SET timestamp` stops it.
    pub fn now_utc_micros(&self) -> i64 {
        if self.settings.fixed_timestamp_us != 0 {
            return self.settings.fixed_timestamp_us;
        }
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros() as i64)
    }

    /// What expressions of one statement see; functions and triggers see the clock of the statement around them. The same
    /// allocation serves one statement after the other.
    pub(crate) fn statement_settings(&mut self) -> Arc<StatementSettings> {
        if !self.programs.is_inside_statement() {
            self.programs.statement_time_us = self.now_utc_micros();
        }
        let now = self.programs.statement_time_us;
        let mut settings =
            self.statement_settings.take().unwrap_or_else(|| Arc::new(self.expression_settings()));
        if settings.now_utc_micros != now {
            Arc::make_mut(&mut settings).now_utc_micros = now;
        }
        self.statement_settings = Some(settings.clone());
        settings
    }

    /// The same for expressions that do not ask for the time.
    pub(crate) fn settings_without_time(&mut self) -> Arc<StatementSettings> {
        match &self.statement_settings {
            Some(settings) => settings.clone(),
            None => self.statement_settings(),
        }
    }

    /// What expressions see of the settings.
    pub fn expression_settings(&self) -> StatementSettings {
        StatementSettings {
            connection_id: u64::from(self.connection.id.0),
            user: format!("{}@{}", self.connection.user, self.connection.host).into(),
            current_role: self.privileges.role_text().into(),
            sees_roles: self.privileges.has_dynamic(DynamicPrivilege::RoleAdmin)
                || self.privileges.has_global(Privilege::Super),
            current_user: format!("{}@{}", self.connection.account_user, self.connection.account_host).into(),
            database: self.database.clone(),
            version: self.instance.version().into(),
            ..self.settings.statement_settings(self.now_utc_micros())
        }
    }
}

/// A LIMIT of the statement takes the place of `sql_select_limit`.
fn has_limit(plan: &Plan) -> bool {
    let PlanKind::Query(query) = &plan.kind else { return true };
    if query.counted_limit.is_some() {
        return true;
    }
    let mut node = &query.root;
    loop {
        node = match &node.kind {
            NodeKind::Limit { .. } => return true,
            NodeKind::Project { input, .. } | NodeKind::Filter { input, .. } => input,
            NodeKind::Sort { input, limit: None, .. } | NodeKind::Distinct { input, .. } => input,
            NodeKind::Sort { .. } => return true,
            NodeKind::Apply(apply) => &apply.input,
            NodeKind::Initialise(initialise) => &initialise.input,
            _ => return false,
        };
    }
}
