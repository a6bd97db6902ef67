//! How an instance is shown to its clients: virtual tables and reports that the program joins to it at start.
//!
//! Invariant: the instance knows them by name only; what they show is theirs to say.
use std::sync::{Arc, Weak};

use catalog::Catalog;
use engine::DeadlockObserver;
use schema::VirtualTable;

use crate::instance::{EngineStatus, Instance};

/// Makes the tables of a new instance, which owns them.
pub type MakeSystemTables = fn(&Arc<Catalog>, &Weak<Instance>) -> SystemTables;

pub struct SystemTables {
    /// With the database of each.
    pub tables: Vec<(&'static str, Arc<dyn VirtualTable>)>,
    /// The text of SHOW ENGINE INNODB STATUS.
    pub engine_status: EngineStatus,
    /// The text of `/metrics`.
    pub open_metrics: EngineStatus,
    /// Who is told of deadlocks.
    pub deadlocks: Arc<dyn DeadlockObserver>,
}
