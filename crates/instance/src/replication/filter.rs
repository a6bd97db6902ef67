//! One rule of replication filters: which databases or tables of a source are applied, or under which name.
//!
//! Invariant: a rule never changes; where another takes its place, the count of its uses begins anew. `filters` puts the rules of a
//! channel together.
use std::sync::atomic::{AtomicU64, Ordering};

use collation::{CollationId, LikePattern};

use crate::unix_now_us;

/// The kinds of rules, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilterKind {
    DoDatabase,
    IgnoreDatabase,
    DoTable,
    IgnoreTable,
    WildDoTable,
    WildIgnoreTable,
    RewriteDatabase,
}

impl FilterKind {
    pub const ALL: [FilterKind; 7] = [
        FilterKind::DoDatabase,
        FilterKind::IgnoreDatabase,
        FilterKind::DoTable,
        FilterKind::IgnoreTable,
        FilterKind::WildDoTable,
        FilterKind::WildIgnoreTable,
        FilterKind::RewriteDatabase,
    ];

    pub fn name(self) -> &'static str {
        match self {
            FilterKind::DoDatabase => "REPLICATE_DO_DB",
            FilterKind::IgnoreDatabase => "REPLICATE_IGNORE_DB",
            FilterKind::DoTable => "REPLICATE_DO_TABLE",
            FilterKind::IgnoreTable => "REPLICATE_IGNORE_TABLE",
            FilterKind::WildDoTable => "REPLICATE_WILD_DO_TABLE",
            FilterKind::WildIgnoreTable => "REPLICATE_WILD_IGNORE_TABLE",
            FilterKind::RewriteDatabase => "REPLICATE_REWRITE_DB",
        }
    }

    /// By its name in any case, with `-` or `_`.
    pub fn by_name(name: &str) -> Option<FilterKind> {
        let name = name.replace('-', "_");
        FilterKind::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(&name))
    }
}

/// Who has made a rule; as the members of the ENUM of `performance_schema` are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterOrigin {
    Options = 1,
    Statement = 2,
    OptionsForChannel = 3,
    StatementForChannel = 4,
}

/// What a rule names: a database, `database.table`, a pattern of that, or a database and its new name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterValue {
    Name(String),
    Renamed(String, String),
}

impl FilterValue {
    fn shown(&self) -> String {
        match self {
            FilterValue::Name(name) => name.clone(),
            FilterValue::Renamed(from, to) => format!("({from},{to})"),
        }
    }
}

/// See the head of this file.
#[derive(Debug)]
pub struct FilterRule {
    pub kind: FilterKind,
    pub origin: FilterOrigin,
    /// Micros since 1970.
    pub since_us: u64,
    values: Vec<FilterValue>,
    /// Of the kinds that have patterns.
    patterns: Vec<LikePattern>,
    uses: AtomicU64,
}

impl FilterRule {
    pub fn new(kind: FilterKind, origin: FilterOrigin, values: Vec<FilterValue>) -> FilterRule {
        let pattern = |value: &FilterValue| match (kind, value) {
            (FilterKind::WildDoTable | FilterKind::WildIgnoreTable, FilterValue::Name(text)) => {
                let escape = Some(u32::from(b'\\'));
                Some(LikePattern::new(CollationId::UTF8MB4_GENERAL_CI, text.as_bytes(), escape))
            }
            _ => None,
        };
        let patterns = values.iter().filter_map(pattern).collect();
        FilterRule { kind, origin, since_us: unix_now_us(), values, patterns, uses: AtomicU64::new(0) }
    }

    /// The same rule with one value more.
    pub fn with(&self, value: FilterValue) -> FilterRule {
        let mut values = self.values.clone();
        values.push(value);
        FilterRule::new(self.kind, self.origin, values)
    }

    /// The same rule for another channel.
    pub fn copied(&self) -> FilterRule {
        FilterRule::new(self.kind, self.origin, self.values.clone())
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values as SHOW REPLICA STATUS has them.
    pub fn shown(&self) -> String {
        self.values.iter().map(FilterValue::shown).collect::<Vec<_>>().join(",")
    }

    /// How often it has decided.
    pub fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    /// It has decided once more.
    pub(super) fn count(&self) {
        self.uses.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a value is this name, or a pattern fits it.
    pub(super) fn fits(&self, name: &str) -> bool {
        if !self.patterns.is_empty() {
            return self.patterns.iter().any(|pattern| pattern.matches(name.as_bytes()));
        }
        self.values.iter().any(|value| matches!(value, FilterValue::Name(one) if one == name))
    }

    pub(super) fn renamed(&self, database: &str) -> Option<&str> {
        self.values.iter().find_map(|value| match value {
            FilterValue::Renamed(from, to) if from == database => Some(to.as_str()),
            _ => None,
        })
    }
}
