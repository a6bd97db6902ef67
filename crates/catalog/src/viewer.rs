//! Who looks at a virtual table: what the session hands to the executor for it.
use std::sync::Arc;

/// Whether a table (or, without one, a database) may be seen.
pub type Visibility = dyn Fn(&str, Option<&str>) -> bool + Send + Sync;

/// The rows of virtual tables depend on who asks.
pub struct Viewer {
    pub sees: Arc<Visibility>,
    /// The name the client logged in with.
    pub user: String,
    pub connection_id: u64,
    pub time_zone: datum::TimeZone,
    /// May see the sessions of all users.
    pub sees_all_sessions: bool,
}
