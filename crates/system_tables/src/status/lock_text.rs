//! Locks of the engine in words: which table and index a tree is, what a key says, how a lock's mode is called.
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use datum::{ColumnType, DateTime, TimeZone, TypeKind, Value};
use engine::{LockInfo, LockMode, LockedItem, TreeId};
use table::TableHandle;

use instance::Instance;

/// The index of InnoDB's name for a table without a primary key.
const HIDDEN_INDEX: &str = "GEN_CLUST_INDEX";
/// What InnoDB calls the end of every index.
const SUPREMUM: &str = "supremum pseudo-record";

/// The tables and indexes that some trees belong to.
pub struct TreeNames(HashMap<TreeId, TreeName>);

struct TreeName {
    handle: Arc<TableHandle>,
    /// `None` for the rows themselves.
    index: Option<usize>,
}

impl TreeNames {
    /// Looks the trees of these locks up. The dictionary's own tree has no name.
    pub fn of<'l>(instance: &Instance, locks: impl Iterator<Item = &'l LockInfo>) -> TreeNames {
        TreeNames::of_trees(instance, locks.map(|lock| lock.tree).collect())
    }

    /// Looks up trees by their numbers.
    pub fn of_trees(instance: &Instance, mut wanted: Vec<TreeId>) -> TreeNames {
        wanted.sort_unstable();
        wanted.dedup();
        let mut names = HashMap::new();
        if wanted.is_empty() {
            return TreeNames(names);
        }
        for database in instance.catalog().databases() {
            for handle in instance.catalog().tables(&database.name) {
                let layout = handle.layout();
                let secondary = layout.indexes.iter().enumerate().filter(|(_, index)| !index.clustered);
                let trees = secondary.map(|(position, index)| (index.tree, Some(position)));
                for (tree, index) in trees.chain([(layout.tree, None)]) {
                    if wanted.binary_search(&tree).is_ok() {
                        names.insert(tree, TreeName { handle: handle.clone(), index });
                    }
                }
            }
        }
        TreeNames(names)
    }

    /// Database, table and index.
    pub fn place(&self, tree: TreeId) -> Option<(&str, &str, &str)> {
        let TreeName { handle, index } = self.0.get(&tree)?;
        let table = handle.definition();
        let index = match index {
            Some(index) => table.indexes[*index].name.as_str(),
            None => table.clustering_index().map_or(HIDDEN_INDEX, |index| index.name.as_str()),
        };
        Some((&table.database, &table.name, index))
    }

    /// The key, or for a range its end, as InnoDB names a lock on a gap by the record behind it.
    pub fn data(&self, lock: &LockInfo) -> String {
        let key = match &lock.what {
            LockedItem::Row(key) | LockedItem::Gap(key) => key,
            LockedItem::Range(_, end) | LockedItem::Rows(_, end) => match end {
                Bound::Included(key) | Bound::Excluded(key) => key,
                Bound::Unbounded => return SUPREMUM.to_owned(),
            },
        };
        match self.0.get(&lock.tree) {
            Some(TreeName { handle, index }) => handle.layout().key_text(handle.definition(), *index, key),
            None => String::from_utf8_lossy(key).into_owned(),
        }
    }
}

/// `LOCK_MODE` of `performance_schema.data_locks`.
pub fn mode_text(lock: &LockInfo) -> &'static str {
    match (&lock.what, lock.mode) {
        (LockedItem::Row(_) | LockedItem::Rows(..), LockMode::Shared) => "S,REC_NOT_GAP",
        (LockedItem::Row(_) | LockedItem::Rows(..), LockMode::Exclusive) => "X,REC_NOT_GAP",
        (LockedItem::Range(_, Bound::Unbounded), _) => "S",
        (LockedItem::Range(..), _) => "S,GAP",
        (LockedItem::Gap(_), _) => "X,GAP,INSERT_INTENTION",
    }
}

/// The same as the monitor's text puts it.
pub fn mode_words(lock: &LockInfo) -> &'static str {
    match (&lock.what, lock.mode) {
        (LockedItem::Row(_) | LockedItem::Rows(..), LockMode::Shared) => "lock mode S locks rec but not gap",
        (LockedItem::Row(_) | LockedItem::Rows(..), LockMode::Exclusive) => {
            "lock_mode X locks rec but not gap"
        }
        (LockedItem::Range(_, Bound::Unbounded), _) => "lock mode S",
        (LockedItem::Range(..), _) => "lock mode S locks gap before rec",
        (LockedItem::Gap(_), _) => "lock_mode X locks gap before rec insert intention",
    }
}

/// Names one lock among all, the same each time it is looked at.
pub fn lock_id(lock: &LockInfo) -> String {
    let mut hasher = DefaultHasher::new();
    match &lock.what {
        LockedItem::Row(key) => (0, key).hash(&mut hasher),
        LockedItem::Range(lower, upper) => (1, lower, upper).hash(&mut hasher),
        LockedItem::Gap(key) => (2, key).hash(&mut hasher),
        LockedItem::Rows(lower, upper) => (3, lower, upper).hash(&mut hasher),
    }
    (lock.mode == LockMode::Exclusive, lock.granted).hash(&mut hasher);
    format!("{}:{}:{:016x}", lock.transaction, lock.tree.0, hasher.finish())
}

/// Whether `held`, which its transaction holds or asked for earlier, is what keeps `wanted` waiting.
pub fn is_in_the_way(held: &LockInfo, wanted: &LockInfo) -> bool {
    if held.tree != wanted.tree {
        return false;
    }
    match (&held.what, &wanted.what) {
        (LockedItem::Row(held), LockedItem::Row(wanted)) => held == wanted,
        (LockedItem::Range(lower, upper), LockedItem::Gap(key)) => {
            let is_above = match lower {
                Bound::Unbounded => true,
                Bound::Included(lower) => lower <= key,
                Bound::Excluded(lower) => lower < key,
            };
            let is_below = match upper {
                Bound::Unbounded => true,
                Bound::Included(upper) => key <= upper,
                Bound::Excluded(upper) => key < upper,
            };
            is_above && is_below
        }
        _ => false,
    }
}

/// Microseconds since 1970.
pub fn unix_now_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros() as i64)
}

/// A moment of so long ago.
pub fn moment(zone: &TimeZone, now_us: i64, age_us: u64) -> Value {
    let at = zone.to_local(now_us.saturating_sub_unsigned(age_us));
    // Without the fraction, as the columns have none.
    let whole = at.and_then(|at| at.add_micros(-i64::from(at.micros())));
    whole.map_or(Value::Null, Value::DateTime)
}

pub fn datetime_text(at: DateTime) -> String {
    let text = Value::DateTime(at);
    let text = text.to_text(&ColumnType::new(TypeKind::DateTime { fsp: 0 })).into_owned();
    String::from_utf8_lossy(&text).into_owned()
}
