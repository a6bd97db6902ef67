//! Plans that all sessions share: of plain statements by their digest, of prepared ones by their text.
//!
//! Invariant: a plan is returned only to a session whose mode, collations and database are those it was made
//! with. Whether its names still mean what they meant is for that session to say, once for each version of the catalog
//! (`PreparedPlan::known_at`): a change of one table leaves the plans of all others as they are. What both caches keep
//! is bounded in number and in bytes of statement text, because a plan grows with its text.
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use foldhash::{HashMap, HashMapExt};
use parking_lot::RwLock;
use parser::Digest;
use parser::hints::Hint;

use crate::piece_rows::PieceRows;
use crate::plan_shape::PlanShape;
use crate::result_shape::Conversion;
use crate::result_shape::ResultShape;
use catalog::{LockMode, LockName};
use datum::Condition;
use plan::Plan;
use schema::TableId;
use table::Relations;

/// A plan with what the session needs to run it.
#[derive(Debug)]
pub struct PreparedPlan {
    pub plan: Plan,
    /// What status counters count of it.
    pub counted: PlanShape,
    /// For queries.
    pub shape: Option<Arc<ResultShape>>,
    pub conversions: Vec<Conversion>,
    /// The tables' metadata locks, in the order in which they are taken.
    pub locks: Vec<(LockName, LockMode)>,
    /// The tables that change with what their foreign keys said; none with `foreign_key_checks=0`.
    pub related: Vec<(TableId, Option<Arc<Relations>>)>,
    /// The version of the catalog for which the plan's names were last found to mean what they meant when it was made;
    /// 0 before anybody has looked.
    pub known_at: AtomicU64,
    /// Of the statistics of the plan's tables, in their order, with which it was made.
    pub epochs: Vec<u64>,
    pub environment: PlanEnvironment,
    /// Under which its statements are summed; found when the first one ends.
    pub digest: Arc<OnceLock<Arc<telemetry::DigestEntry>>>,
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
    pub foreign_key_checks: bool,
    /// The digits of quotients and averages.
    pub division_precision_increment: u8,
    /// `optimizer_switch` as bits.
    pub switches: u64,
}

/// The text of a prepared statement and what its tree told, so that a session that prepares the same text need
/// not parse it.
#[derive(Debug)]
pub struct StatementText {
    pub bytes: Box<[u8]>,
    pub parameter_count: usize,
    /// Identifiers of transactions, or variables: they have to be as they are now.
    pub names_identifiers: bool,
    pub is_query: bool,
    /// SET_VAR and MAX_EXECUTION_TIME among its hints.
    pub hints: Box<[SettingHint]>,
}

/// A hint that sets a variable for its statement.
#[derive(Debug)]
pub struct SettingHint {
    pub hint: Hint,
    /// It stands in the SELECT that is the statement.
    pub may_limit: bool,
}

/// A prepared statement's plan for parameters of certain kinds.
#[derive(Debug)]
pub struct TypedPlan {
    pub text: Arc<StatementText>,
    /// Empty before the first execution: what PREPARE tells the client comes from a plan without types.
    pub classes: Box<[ParameterClass]>,
    pub prepared: Arc<PreparedPlan>,
    /// A row that is assigned is no result.
    pub rows: PieceRows,
    /// What PREPARE warns of, and no execution does.
    pub told: Box<[Condition]>,
}

impl TypedPlan {
    /// Of the rows that the client gets.
    pub fn shape(&self) -> Option<Arc<ResultShape>> {
        self.prepared.shape.clone().filter(|_| self.rows == PieceRows::Given)
    }
}

/// The kinds of parameter values that plans tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterClass {
    Null,
    Integer,
    Unsigned,
    Real,
    Decimal,
    Text,
    Json,
    Date,
    Time,
    DateTime,
}

/// Names a prepared statement's plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TextKey {
    pub text: Box<[u8]>,
    /// The mode of the client that decides how the text reads; all others are in the environment.
    pub ignores_space: bool,
    pub classes: Box<[ParameterClass]>,
    pub environment: PlanEnvironment,
}

#[derive(Default)]
pub struct PlanCache {
    by_digest: Kept<(Digest, PlanEnvironment), PreparedPlan>,
    by_text: Kept<TextKey, TypedPlan>,
}

impl PlanCache {
    pub fn get(&self, digest: Digest, environment: &PlanEnvironment) -> Option<Arc<PreparedPlan>> {
        // The key's clone is one reference count.
        self.by_digest.get(&(digest, environment.clone()))
    }

    /// Those that were made for other values than the one `get` gives.
    pub fn others(&self, digest: Digest, environment: &PlanEnvironment) -> Vec<Arc<PreparedPlan>> {
        self.by_digest.others(&(digest, environment.clone()))
    }

    pub fn other_prepared(&self, key: &TextKey) -> Vec<Arc<TypedPlan>> {
        self.by_text.others(key)
    }

    /// `version` is the catalog's: if there is no room, plans that nobody has looked at since go first.
    pub fn put(&self, digest: Digest, text_bytes: usize, plan: Arc<PreparedPlan>, version: u64) {
        self.by_digest.put((digest, plan.environment.clone()), text_bytes, plan, version);
    }

    pub fn get_prepared(&self, key: &TextKey) -> Option<Arc<TypedPlan>> {
        self.by_text.get(key)
    }

    /// See `put`.
    pub fn put_prepared(&self, key: TextKey, plan: Arc<TypedPlan>, version: u64) {
        let text_bytes = key.text.len();
        self.by_text.put(key, text_bytes, plan, version);
    }

    pub fn clear(&self) {
        self.by_digest.plans.write().clear();
        self.by_text.plans.write().clear();
    }
}

/// Statements of an application are hundreds; more than this means texts that never repeat.
const PLANS_MAX: usize = 4096;
/// A plan takes some tens of bytes for each byte of its text, so this bounds a cache to tens of megabytes.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// A longer text is a load of rows; to plan it again costs little beside its execution.
const ONE_TEXT_BYTES_MAX: usize = TEXT_BYTES_MAX / 8;

/// Whether the plan of a text may be kept. For others it need not be made to serve other literals.
pub fn is_kept(text: &[u8]) -> bool {
    text.len() <= ONE_TEXT_BYTES_MAX
}

/// So many plans of one text are kept, each for values that have other numbers of rows.
const PLANS_OF_ONE_MAX: usize = 8;

trait Versioned {
    fn known_at(&self) -> u64;

    /// It serves all values.
    fn is_for_all(&self) -> bool;
}

impl Versioned for PreparedPlan {
    fn known_at(&self) -> u64 {
        self.known_at.load(Relaxed)
    }

    fn is_for_all(&self) -> bool {
        self.plan.checks.is_empty()
    }
}

impl Versioned for TypedPlan {
    fn known_at(&self) -> u64 {
        self.prepared.known_at()
    }

    fn is_for_all(&self) -> bool {
        self.prepared.is_for_all()
    }
}

/// The plans of one text, the newest apart: most texts have one.
struct Variants<Entry> {
    newest: Arc<Entry>,
    others: Vec<Arc<Entry>>,
    /// Of all of them.
    text_bytes: usize,
}

/// One bounded map of plans.
struct Kept<Key, Entry> {
    /// A leaf lock, held for one lookup or insertion.
    plans: RwLock<Plans<Key, Entry>>,
}

impl<Key, Entry> Default for Kept<Key, Entry> {
    fn default() -> Self {
        Self { plans: RwLock::new(Plans { entries: HashMap::new(), text_bytes: 0 }) }
    }
}

struct Plans<Key, Entry> {
    entries: HashMap<Key, Variants<Entry>>,
    text_bytes: usize,
}

impl<Key: Eq + Hash, Entry: Versioned> Kept<Key, Entry> {
    fn get(&self, key: &Key) -> Option<Arc<Entry>> {
        self.plans.read().entries.get(key).map(|plans| plans.newest.clone())
    }

    fn others(&self, key: &Key) -> Vec<Arc<Entry>> {
        self.plans.read().entries.get(key).map(|plans| plans.others.clone()).unwrap_or_default()
    }

    fn put(&self, key: Key, text_bytes: usize, plan: Arc<Entry>, version: u64) {
        if text_bytes > ONE_TEXT_BYTES_MAX {
            return;
        }
        let mut plans = self.plans.write();
        let mut others = Vec::new();
        if let Some(before) = plans.entries.remove(&key) {
            plans.text_bytes -= before.text_bytes;
            if !plan.is_for_all() {
                others = before.others;
                others.insert(0, before.newest);
                others.truncate(PLANS_OF_ONE_MAX - 1);
            }
        }
        let text_bytes = text_bytes * (1 + others.len());
        if !plans.has_room(text_bytes) {
            plans.keep_known_at(version);
            if !plans.has_room(text_bytes) {
                plans.clear();
            }
        }
        plans.entries.insert(key, Variants { newest: plan, others, text_bytes });
        plans.text_bytes += text_bytes;
    }
}

impl<Key: Eq + Hash, Entry: Versioned> Plans<Key, Entry> {
    fn has_room(&self, text_bytes: usize) -> bool {
        self.entries.len() < PLANS_MAX && self.text_bytes + text_bytes <= TEXT_BYTES_MAX
    }

    fn keep_known_at(&mut self, version: u64) {
        self.entries.retain(|_, plans| plans.newest.known_at() == version);
        self.text_bytes = self.entries.values().map(|plans| plans.text_bytes).sum();
    }
}

impl<Key, Entry> Plans<Key, Entry> {
    fn clear(&mut self) {
        self.entries.clear();
        self.text_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake(u64);

    impl Versioned for Fake {
        fn known_at(&self) -> u64 {
            self.0
        }

        fn is_for_all(&self) -> bool {
            self.0 < 10
        }
    }

    #[test]
    fn plans_for_some_values_stand_beside_one_another() {
        let kept = Kept::<usize, Fake>::default();
        for _ in 0..2 * PLANS_OF_ONE_MAX {
            kept.put(1, 10, Arc::new(Fake(11)), 11);
        }
        assert_eq!(kept.others(&1).len(), PLANS_OF_ONE_MAX - 1);
        assert_eq!(kept.plans.read().text_bytes, 10 * PLANS_OF_ONE_MAX);
        kept.put(1, 10, Arc::new(Fake(2)), 11);
        assert!(kept.others(&1).is_empty() && kept.get(&1).is_some());
    }

    #[test]
    fn plans_are_bounded_by_number_and_by_text() {
        let kept = Kept::<usize, Fake>::default();
        let count = || kept.plans.read().entries.len();
        kept.put(0, ONE_TEXT_BYTES_MAX + 1, Arc::new(Fake(1)), 1);
        assert_eq!(count(), 0, "a load of rows is not kept");
        for key in 0..8 {
            kept.put(key, ONE_TEXT_BYTES_MAX, Arc::new(Fake(1)), 1);
            kept.put(key, ONE_TEXT_BYTES_MAX, Arc::new(Fake(1)), 1);
        }
        assert_eq!((count(), kept.plans.read().text_bytes), (8, TEXT_BYTES_MAX));
        kept.put(8, 1, Arc::new(Fake(2)), 2);
        assert_eq!(
            (count(), kept.plans.read().text_bytes),
            (1, 1),
            "plans of which nothing is known go first"
        );
        assert!(kept.get(&8).is_some() && kept.get(&7).is_none());
        for key in 0..PLANS_MAX {
            kept.put(100 + key, 1, Arc::new(Fake(2)), 2);
        }
        assert!(count() <= PLANS_MAX);
    }
}
