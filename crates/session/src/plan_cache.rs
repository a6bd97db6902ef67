//! Plans kept by statement digest, shared by all sessions.
//!
//! Invariant: a plan is returned only to a session whose mode, collations and database are those it was made
//! with, and only while the catalog has the version it was made from.
use std::sync::Arc;

use foldhash::HashMap;
use parking_lot::RwLock;
use parser::Digest;

use crate::result::Conversion;
use crate::sink::ResultShape;
use catalog::{LockMode, LockName};
use plan::Plan;

/// A plan with what the session needs to run it.
#[derive(Debug)]
pub struct PreparedPlan {
    pub plan: Plan,
    /// For queries.
    pub shape: Option<Arc<ResultShape>>,
    pub conversions: Vec<Conversion>,
    /// The tables' metadata locks, in the order in which they are taken.
    pub locks: Vec<(LockName, LockMode)>,
    pub catalog_version: u64,
    pub environment: PlanEnvironment,
}

/// The parts of a session that a plan or its result's shape depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlanEnvironment {
    pub database: Option<Arc<str>>,
    pub sql_mode: u64,
    pub connection_collation: u16,
    /// 0 when results are sent as stored.
    pub results_collation: u16,
    pub locks_source_rows: bool,
}

type Key = (Digest, PlanEnvironment);

#[derive(Default)]
pub struct PlanCache {
    /// A leaf lock, held for one lookup or insertion.
    plans: RwLock<HashMap<Key, Arc<PreparedPlan>>>,
}

/// Statements of an application are hundreds; more than this means texts that never repeat.
const PLANS_MAX: usize = 4096;

impl PlanCache {
    pub fn get(
        &self,
        digest: Digest,
        environment: &PlanEnvironment,
        catalog_version: u64,
    ) -> Option<Arc<PreparedPlan>> {
        // The key's clone is one reference count.
        let key = (digest, environment.clone());
        let plan = self.plans.read().get(&key).cloned()?;
        (plan.catalog_version == catalog_version).then_some(plan)
    }

    pub fn put(&self, digest: Digest, plan: Arc<PreparedPlan>) {
        let mut plans = self.plans.write();
        if plans.len() >= PLANS_MAX {
            let version = plan.catalog_version;
            plans.retain(|_, kept| kept.catalog_version == version);
            if plans.len() >= PLANS_MAX {
                plans.clear();
            }
        }
        plans.insert((digest, plan.environment.clone()), plan);
    }

    pub fn clear(&self) {
        self.plans.write().clear();
    }
}
