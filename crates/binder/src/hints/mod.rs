//! Optimizer hints as the planner obeys them: each query block has those that concern it, whichever block they were
//! written in.
//!
//! A hint never changes a result. One that names what is not there, or contradicts an earlier one, is left out with a
//! warning (`resolve`). Called where a block is begun, where its tables are bound and where paths are priced.
mod indexes;
mod resolve;
mod text;

use crate::same_name::{same_name, same_table};
use parser::hints::{
    Hint, HintTable, HintText, JoinOrderKind, KeySwitch, SemijoinStrategy, SubqueryStrategy, TableSwitch,
};
use std::collections::HashMap;

pub use indexes::{IndexHints, ScopedIndexes, indexes_of};

/// The hints of a statement by query block.
#[derive(Debug, Default)]
pub struct StatementHints {
    blocks: HashMap<u32, BlockHints>,
    /// Blocks whose names have been looked up: a table of WITH may be planned more than once.
    reported: Vec<u32>,
    /// The table that an INSERT fills: its hints may name it.
    pub target: Option<String>,
}

/// The hints for one query block.
#[derive(Debug, Clone, Default)]
pub struct BlockHints {
    pub number: u32,
    /// QB_NAME.
    name: Option<String>,
    /// In the order written, without those that contradict an earlier one.
    hints: Vec<Hint>,
}

/// How SEMIJOIN and NO_SEMIJOIN restrict what is made of an IN or EXISTS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SemijoinHint {
    pub on: bool,
    /// Those that are asked for (or refused); empty: all.
    pub strategies: Vec<SemijoinStrategy>,
}

/// An order of tables that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinOrderHint {
    pub kind: JoinOrderKind,
    /// Names of tables of the block, none for `Fixed`.
    pub tables: Vec<String>,
}

impl StatementHints {
    /// The hints for the block of this number.
    pub fn of(&self, number: u32) -> BlockHints {
        let known = self.blocks.get(&number).cloned();
        BlockHints { number, ..known.unwrap_or_default() }
    }
}

impl BlockHints {
    /// Whether the table (by its alias) is to be treated so; a hint for the table goes before one for the block.
    pub fn switch(&self, wanted: TableSwitch, alias: &str) -> Option<bool> {
        let mut of_block = None;
        for hint in &self.hints {
            let Hint::Table { switch, on, tables, .. } = hint else { continue };
            if *switch != wanted {
                continue;
            }
            if tables.iter().any(|table| same_table(&table.name, alias)) {
                return Some(*on);
            }
            if tables.is_empty() {
                of_block = Some(*on);
            }
        }
        of_block
    }

    /// The same for an index of the table.
    pub fn key_switch(&self, wanted: KeySwitch, alias: &str, index: &str) -> Option<bool> {
        self.hints.iter().find_map(|hint| match hint {
            Hint::Key { switch, on, table, keys, .. }
                if *switch == wanted
                    && same_table(&table.name, alias)
                    && (keys.is_empty() || keys.iter().any(|key| same_name(key, index))) =>
            {
                Some(*on)
            }
            _ => None,
        })
    }

    /// For a block that is a subquery.
    pub fn semijoin(&self) -> Option<SemijoinHint> {
        self.hints.iter().find_map(|hint| match hint {
            Hint::Semijoin { on, strategies, .. } => {
                Some(SemijoinHint { on: *on, strategies: strategies.clone() })
            }
            _ => None,
        })
    }

    /// For a block that is a subquery.
    pub fn subquery(&self) -> Option<SubqueryStrategy> {
        self.hints.iter().find_map(|hint| match hint {
            Hint::Subquery { strategy, .. } => Some(*strategy),
            _ => None,
        })
    }

    /// The orders that are asked for, as written.
    pub fn join_orders(&self) -> Vec<JoinOrderHint> {
        let name = |table: &HintTable| table.name.clone();
        let of = |hint: &Hint| match hint {
            Hint::JoinOrder { kind, tables, .. } => {
                Some(JoinOrderHint { kind: *kind, tables: tables.iter().map(name).collect() })
            }
            _ => None,
        };
        self.hints.iter().filter_map(of).collect()
    }

    /// Whether the tables are joined in the order in which they are written.
    pub fn fixes_order(&self) -> bool {
        self.join_orders().iter().any(|hint| hint.kind == JoinOrderKind::Fixed)
    }

    /// As warnings name the block.
    fn shown_name(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("select#{}", self.number))
    }
}
