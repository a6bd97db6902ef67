//! Who looks at a virtual table: what the session hands to the executor for it.
use std::collections::VecDeque;
use std::sync::Arc;

use datum::SqlError;
use parking_lot::Mutex;
use schema::{ColumnDef, ProgramDef, ViewDef};

/// Whether a table (or, without one, a database) may be seen.
pub type Visibility = dyn Fn(&str, Option<&str>) -> bool + Send + Sync;

/// What a column may be used for, as `information_schema` lists it; empty when it may not be seen.
pub type ColumnPrivileges = dyn Fn(&str, &str, &str) -> String + Send + Sync;

/// The columns of a view as its tables are now; error 1356 when it is invalid.
pub type ViewColumns = dyn Fn(&Arc<ViewDef>) -> Result<Vec<ColumnDef>, SqlError> + Send + Sync;
/// How much of a stored program may be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramSight {
    Nothing,
    /// All but the body.
    Existence,
    Whole,
}

pub type ProgramVisibility = dyn Fn(&ProgramDef) -> ProgramSight + Send + Sync;

/// What the planner weighed for one statement.
#[derive(Debug, Default)]
pub struct OptimizerTrace {
    pub query: String,
    pub trace: String,
    /// What did not fit.
    pub missing_bytes: usize,
    /// The session may not know of what the statement reads: there is no text.
    pub is_hidden: bool,
}

/// The kept traces of a session, the oldest first.
#[derive(Debug, Default)]
pub struct OptimizerTraces {
    pub kept: VecDeque<OptimizerTrace>,
    pub shown_max: usize,
}

pub type SharedTraces = Arc<Mutex<OptimizerTraces>>;

/// The rows of virtual tables depend on who asks.
pub struct Viewer {
    pub sees: Arc<Visibility>,
    pub column_privileges: Arc<ColumnPrivileges>,
    /// Whether the query of a view may be seen.
    pub sees_query: Arc<Visibility>,
    pub view_columns: Arc<ViewColumns>,
    pub program_sight: Arc<ProgramVisibility>,
    /// As SHOW GRANTS writes it.
    pub account: String,
    /// User and host of each.
    pub active_roles: Vec<(String, String)>,
    /// May read the privileges of all accounts.
    pub sees_all_accounts: bool,
    /// The name the client logged in with.
    pub user: String,
    pub connection_id: u64,
    pub time_zone: datum::TimeZone,
    pub optimizer_traces: SharedTraces,
    /// May see the sessions of all users.
    pub sees_all_sessions: bool,
}

impl Viewer {
    /// Whether the query of a view may be seen: by its definer, and where SHOW VIEW says so.
    pub fn shows_view(&self, view: &ViewDef) -> bool {
        let definer = [&view.definer_user, &view.definer_host].map(|name| name.replace('`', "``"));
        self.account == format!("`{}`@`{}`", definer[0], definer[1])
            || (self.sees_query)(&view.database, Some(&view.name))
    }
}
