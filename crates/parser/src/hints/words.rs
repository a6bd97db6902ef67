//! The names of hints and of their arguments.

/// On or off for a table or a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableSwitch {
    /// BNL: a hash join.
    BlockNestedLoop,
    HashJoin,
    BatchedKeyAccess,
    Merge,
    DerivedConditionPushdown,
}

/// On or off for indexes of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySwitch {
    MultiRangeRead,
    /// ICP
    IndexCondition,
    /// RANGE_OPTIMIZATION
    Range,
    IndexMerge,
    SkipScan,
}

/// What indexes are allowed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeHint {
    /// INDEX: for everything.
    All,
    Join,
    Group,
    Order,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinOrderKind {
    /// JOIN_FIXED_ORDER: as written.
    Fixed,
    Order,
    Prefix,
    Suffix,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SemijoinStrategy {
    DuplicateWeedout,
    FirstMatch,
    LooseScan,
    Materialization,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubqueryStrategy {
    InToExists,
    Materialization,
}

/// The word before the parenthesis.
#[derive(Clone, Copy)]
pub(super) enum Word {
    QueryBlockName,
    MaxExecutionTime,
    SetVariable,
    ResourceGroup,
    Table(TableSwitch, bool),
    Key(KeySwitch, bool),
    Index(ScopeHint, bool),
    JoinOrder(JoinOrderKind),
    Semijoin(bool),
    Subquery,
}

impl Word {
    pub(super) fn named(text: &str) -> Option<Word> {
        let upper = text.to_ascii_uppercase();
        let (on, name) = match upper.strip_prefix("NO_") {
            Some(rest) => (false, rest),
            None => (true, upper.as_str()),
        };
        Some(match (name, on) {
            ("QB_NAME", true) => Word::QueryBlockName,
            ("MAX_EXECUTION_TIME", true) => Word::MaxExecutionTime,
            ("SET_VAR", true) => Word::SetVariable,
            ("RESOURCE_GROUP", true) => Word::ResourceGroup,
            ("JOIN_FIXED_ORDER", true) => Word::JoinOrder(JoinOrderKind::Fixed),
            ("JOIN_ORDER", true) => Word::JoinOrder(JoinOrderKind::Order),
            ("JOIN_PREFIX", true) => Word::JoinOrder(JoinOrderKind::Prefix),
            ("JOIN_SUFFIX", true) => Word::JoinOrder(JoinOrderKind::Suffix),
            ("SUBQUERY", true) => Word::Subquery,
            ("SEMIJOIN", on) => Word::Semijoin(on),
            ("RANGE_OPTIMIZATION", false) => Word::Key(KeySwitch::Range, false),
            ("ICP", false) => Word::Key(KeySwitch::IndexCondition, false),
            (name, on) => {
                return TableSwitch::named(name)
                    .map(|switch| Word::Table(switch, on))
                    .or_else(|| KeySwitch::named(name).map(|switch| Word::Key(switch, on)))
                    .or_else(|| ScopeHint::named(name).map(|scope| Word::Index(scope, on)));
            }
        })
    }
}

impl TableSwitch {
    const NAMES: [(&'static str, TableSwitch); 5] = [
        ("BNL", TableSwitch::BlockNestedLoop),
        ("HASH_JOIN", TableSwitch::HashJoin),
        ("BKA", TableSwitch::BatchedKeyAccess),
        ("MERGE", TableSwitch::Merge),
        ("DERIVED_CONDITION_PUSHDOWN", TableSwitch::DerivedConditionPushdown),
    ];

    fn named(name: &str) -> Option<TableSwitch> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, switch)| *switch)
    }

    /// As it is written, without `NO_`.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, switch)| *switch == self).map_or("", |(name, _)| name)
    }
}

impl KeySwitch {
    const NAMES: [(&'static str, KeySwitch); 5] = [
        ("MRR", KeySwitch::MultiRangeRead),
        ("INDEX_MERGE", KeySwitch::IndexMerge),
        ("SKIP_SCAN", KeySwitch::SkipScan),
        ("ICP", KeySwitch::IndexCondition),
        ("RANGE_OPTIMIZATION", KeySwitch::Range),
    ];

    fn named(name: &str) -> Option<KeySwitch> {
        // ICP and RANGE_OPTIMIZATION exist with NO_ only.
        Self::NAMES[..3].iter().find(|(known, _)| *known == name).map(|(_, switch)| *switch)
    }

    /// As it is written, without `NO_`.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, switch)| *switch == self).map_or("", |(name, _)| name)
    }

    /// One hint for a table stands alone, whatever indexes it names.
    pub fn is_for_table(self) -> bool {
        matches!(self, KeySwitch::IndexMerge | KeySwitch::SkipScan)
    }
}

impl ScopeHint {
    const NAMES: [(&'static str, ScopeHint); 4] = [
        ("INDEX", ScopeHint::All),
        ("JOIN_INDEX", ScopeHint::Join),
        ("GROUP_INDEX", ScopeHint::Group),
        ("ORDER_INDEX", ScopeHint::Order),
    ];

    fn named(name: &str) -> Option<ScopeHint> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, scope)| *scope)
    }

    /// As it is written, without `NO_`.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, scope)| *scope == self).map_or("", |(name, _)| name)
    }
}

impl JoinOrderKind {
    pub fn name(self) -> &'static str {
        match self {
            JoinOrderKind::Fixed => "JOIN_FIXED_ORDER",
            JoinOrderKind::Order => "JOIN_ORDER",
            JoinOrderKind::Prefix => "JOIN_PREFIX",
            JoinOrderKind::Suffix => "JOIN_SUFFIX",
        }
    }
}

impl SemijoinStrategy {
    const NAMES: [(&'static str, SemijoinStrategy); 4] = [
        ("DUPSWEEDOUT", SemijoinStrategy::DuplicateWeedout),
        ("FIRSTMATCH", SemijoinStrategy::FirstMatch),
        ("LOOSESCAN", SemijoinStrategy::LooseScan),
        ("MATERIALIZATION", SemijoinStrategy::Materialization),
    ];

    pub(super) fn named(name: &str) -> Option<SemijoinStrategy> {
        Self::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, strategy)| *strategy)
    }

    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, strategy)| *strategy == self).map_or("", |(name, _)| name)
    }
}

impl SubqueryStrategy {
    pub(super) fn named(name: &str) -> Option<SubqueryStrategy> {
        [SubqueryStrategy::InToExists, SubqueryStrategy::Materialization]
            .into_iter()
            .find(|strategy| strategy.name().eq_ignore_ascii_case(name))
    }

    pub fn name(self) -> &'static str {
        match self {
            SubqueryStrategy::InToExists => "INTOEXISTS",
            SubqueryStrategy::Materialization => "MATERIALIZATION",
        }
    }
}
