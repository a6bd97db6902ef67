//! The flags of `optimizer_switch` as the planner reads them.
//!
//! A flag that is off takes a strategy out of what the planner may choose; it never changes a result.

/// One flag for each strategy that can be turned off (or on).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Switch {
    IndexMerge,
    IndexMergeUnion,
    IndexMergeSortUnion,
    IndexMergeIntersection,
    IndexConditionPushdown,
    MultiRangeRead,
    BlockNestedLoop,
    BatchedKeyAccess,
    Materialization,
    Semijoin,
    LooseScan,
    FirstMatch,
    DuplicateWeedout,
    UseIndexExtensions,
    ConditionFanoutFilter,
    DerivedMerge,
    UseInvisibleIndexes,
    SkipScan,
    HashJoin,
    SubqueryToDerived,
    PreferOrderingIndex,
    DerivedConditionPushdown,
}

const NAMES: [(&str, Switch); 22] = [
    ("index_merge", Switch::IndexMerge),
    ("index_merge_union", Switch::IndexMergeUnion),
    ("index_merge_sort_union", Switch::IndexMergeSortUnion),
    ("index_merge_intersection", Switch::IndexMergeIntersection),
    ("index_condition_pushdown", Switch::IndexConditionPushdown),
    ("mrr", Switch::MultiRangeRead),
    ("block_nested_loop", Switch::BlockNestedLoop),
    ("batched_key_access", Switch::BatchedKeyAccess),
    ("materialization", Switch::Materialization),
    ("semijoin", Switch::Semijoin),
    ("loosescan", Switch::LooseScan),
    ("firstmatch", Switch::FirstMatch),
    ("duplicateweedout", Switch::DuplicateWeedout),
    ("use_index_extensions", Switch::UseIndexExtensions),
    ("condition_fanout_filter", Switch::ConditionFanoutFilter),
    ("derived_merge", Switch::DerivedMerge),
    ("use_invisible_indexes", Switch::UseInvisibleIndexes),
    ("skip_scan", Switch::SkipScan),
    ("hash_join", Switch::HashJoin),
    ("subquery_to_derived", Switch::SubqueryToDerived),
    ("prefer_ordering_index", Switch::PreferOrderingIndex),
    ("derived_condition_pushdown", Switch::DerivedConditionPushdown),
];

/// Which flags are on, and what else bounds the search for a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches {
    flags: u32,
    /// So many pairs of sets of tables are weighed as bushy joins of one list (`optimizer_max_subgraph_pairs`); 1: none.
    pub pairs_max: u32,
}

/// As a server begins.
const PAIRS_MAX: u32 = 100_000;

impl Default for Switches {
    /// As a server begins.
    fn default() -> Switches {
        let off = [Switch::BatchedKeyAccess, Switch::UseInvisibleIndexes, Switch::SubqueryToDerived]
            .map(Switch::bit);
        Switches { flags: !off.iter().fold(0, |all, bit| all | bit), pairs_max: PAIRS_MAX }
    }
}

impl Switch {
    fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl Switches {
    /// From the whole text of the variable.
    pub fn of(text: &str) -> Switches {
        let mut switches = Switches::default();
        for (name, value) in text.split(',').filter_map(|flag| flag.split_once('=')) {
            if let Some((_, switch)) = NAMES.iter().find(|(known, _)| *known == name) {
                let bit = switch.bit();
                switches.flags = if value == "on" { switches.flags | bit } else { switches.flags & !bit };
            }
        }
        switches
    }

    /// With another bound for bushy joins.
    pub fn with_pairs_max(self, pairs_max: u32) -> Switches {
        Switches { pairs_max, ..self }
    }

    pub fn has(self, switch: Switch) -> bool {
        self.flags & switch.bit() != 0
    }

    /// For comparing whole settings.
    pub fn bits(self) -> u64 {
        u64::from(self.pairs_max) << 32 | u64::from(self.flags)
    }
}
