//! From the hints as they were written to those of each block, with MySQL's warnings about those that mean nothing.
use super::text::{shown, word};
use super::{BlockHints, HashMap, Hint, HintText, JoinOrderKind, KeySwitch, StatementHints};
use crate::binder::Binder;
use crate::block::{Block, SourceKind};
use crate::error_codes::{
    ER_PARSE_OPTIMIZER_HINT, ER_WARN_CONFLICTING_HINT, ER_WARN_INVALID_HINT, ER_WARN_UNKNOWN_QB_NAME,
    ER_WARN_UNRESOLVED_HINT_NAME,
};
use crate::same_name::{same_name, same_table};
use datum::Condition;
use parser::hints::{HintTable, ScopeHint, read_hints};

/// Parts of hints that name a block.
fn block_names(hint: &Hint) -> Vec<&String> {
    match hint {
        Hint::QueryBlockName(_)
        | Hint::MaxExecutionTime(_)
        | Hint::SetVariable { .. }
        | Hint::ResourceGroup(_) => Vec::new(),
        Hint::Key { block, table, .. } | Hint::Index { block, table, .. } => {
            block.iter().chain(&table.block).collect()
        }
        Hint::Table { block, tables, .. } | Hint::JoinOrder { block, tables, .. } => {
            block.iter().chain(tables.iter().filter_map(|table| table.block.as_ref())).collect()
        }
        Hint::Semijoin { block, .. } | Hint::Subquery { block, .. } => block.iter().collect(),
    }
}

impl StatementHints {
    /// Reads all comments; what is wrong with them goes to `conditions`.
    pub fn read(
        texts: &[HintText<'_>],
        ansi_quotes: bool,
        conditions: &mut Vec<Condition>,
    ) -> StatementHints {
        let mut read = Vec::with_capacity(texts.len());
        let mut blocks: HashMap<u32, BlockHints> = HashMap::new();
        for text in texts {
            let hints = read_hints(text, ansi_quotes);
            if let Some(error) = hints.error {
                let warning = ER_PARSE_OPTIMIZER_HINT.with(&[&error.what, &error.near, &error.line]);
                conditions.push(warning.into_warning());
            }
            read.push((text.block, hints.hints));
        }
        for (number, hints) in &read {
            for hint in hints {
                let Hint::QueryBlockName(name) = hint else { continue };
                let is_taken = blocks.values().any(|known| known.name.as_deref() == Some(name));
                let block = blocks.entry(*number).or_default();
                if is_taken || block.name.is_some() {
                    conditions.push(conflicting(hint, None));
                } else {
                    block.name = Some(name.clone());
                }
            }
        }
        let mut statement = StatementHints { blocks, reported: Vec::new(), target: None };
        for (number, hints) in read {
            hints.into_iter().for_each(|hint| statement.place(number, hint, conditions));
        }
        statement
    }

    /// Gives a hint to the blocks it is for.
    fn place(&mut self, written_in: u32, hint: Hint, conditions: &mut Vec<Condition>) {
        if matches!(hint, Hint::QueryBlockName(_)) {
            return;
        }
        for name in block_names(&hint) {
            if self.number_of(name).is_none() {
                conditions.push(ER_WARN_UNKNOWN_QB_NAME.with(&[name, &word(&hint)]).into_warning());
                return;
            }
        }
        // The tables of one hint may be in several blocks.
        if let Hint::Table { switch, on, block: None, tables } = &hint
            && !tables.is_empty()
        {
            for table in tables {
                let own = vec![HintTable { name: table.name.clone(), block: None }];
                let one = Hint::Table { switch: *switch, on: *on, block: None, tables: own };
                let at = table.block.as_ref().and_then(|name| self.number_of(name));
                self.keep(at.unwrap_or(written_in), one, conditions);
            }
            return;
        }
        let named = match &hint {
            Hint::Key { block, table, .. } | Hint::Index { block, table, .. } => {
                block.as_ref().or(table.block.as_ref())
            }
            Hint::Table { block, .. }
            | Hint::JoinOrder { block, .. }
            | Hint::Semijoin { block, .. }
            | Hint::Subquery { block, .. } => block.as_ref(),
            _ => None,
        };
        let at = named.and_then(|name| self.number_of(name)).unwrap_or(written_in);
        self.keep(at, hint, conditions);
    }

    fn number_of(&self, name: &str) -> Option<u32> {
        let given = self.blocks.iter().find(|(_, block)| block.name.as_deref() == Some(name));
        given.map(|(number, _)| *number).or_else(|| name.strip_prefix("select#")?.parse().ok())
    }

    fn keep(&mut self, number: u32, hint: Hint, conditions: &mut Vec<Condition>) {
        let block = self.blocks.entry(number).or_default();
        if let Hint::Key { switch: KeySwitch::IndexMerge, on: true, keys, .. } = &hint
            && keys.len() == 1
        {
            let text = shown(&hint, block.name.as_deref());
            conditions.push(ER_WARN_INVALID_HINT.with(&[&text]).into_warning());
            return;
        }
        if block.hints.iter().any(|known| conflict(known, &hint)) {
            conditions.push(conflicting(&hint, block.name.as_deref()));
            return;
        }
        block.hints.push(hint);
    }
}

fn conflicting(hint: &Hint, block: Option<&str>) -> Condition {
    ER_WARN_CONFLICTING_HINT.with(&[&shown(hint, block)]).into_warning()
}

/// Whether the later hint says something where the earlier one has said it already.
fn conflict(known: &Hint, later: &Hint) -> bool {
    match (known, later) {
        (
            Hint::Table { switch, tables, .. },
            Hint::Table { switch: later_switch, tables: later_tables, .. },
        ) => {
            let same =
                |table: &HintTable| later_tables.iter().any(|later| same_table(&later.name, &table.name));
            switch == later_switch
                && (tables.is_empty() && later_tables.is_empty() || tables.iter().any(same))
        }
        (
            Hint::Key { switch, table, keys, .. },
            Hint::Key { switch: later_switch, table: later_table, keys: later_keys, .. },
        ) => {
            switch == later_switch
                && same_table(&table.name, &later_table.name)
                && (switch.is_for_table() || overlap(keys, later_keys))
        }
        (
            Hint::Index { scope, on, table, keys, .. },
            Hint::Index { scope: later_scope, on: later_on, table: later_table, keys: later_keys, .. },
        ) => {
            let has_all = *scope == ScopeHint::All || *later_scope == ScopeHint::All;
            let is_opposite = has_all && on != later_on && overlap(keys, later_keys);
            (scope == later_scope || is_opposite) && same_table(&table.name, &later_table.name)
        }
        (Hint::JoinOrder { kind, .. }, Hint::JoinOrder { kind: later, .. }) => match (kind, later) {
            (JoinOrderKind::Fixed, _) | (_, JoinOrderKind::Fixed) => true,
            (JoinOrderKind::Order, JoinOrderKind::Order) => false,
            (kind, later) => kind == later,
        },
        (Hint::Semijoin { .. } | Hint::Subquery { .. }, Hint::Semijoin { .. } | Hint::Subquery { .. }) => {
            true
        }
        _ => false,
    }
}

/// Lists of indexes that have one in common; an empty list is all of them.
fn overlap(keys: &[String], others: &[String]) -> bool {
    let has = |key: &String| others.iter().any(|other| same_name(other, key));
    keys.is_empty() || others.is_empty() || keys.iter().any(has)
}

impl Binder<'_> {
    /// A new block with the hints for it.
    pub fn hinted_block(&self, number: u32) -> Block {
        Block { hints: self.hints.of(number), ..Block::default() }
    }

    /// Warns of names in the hints of the innermost block that none of its tables and indexes has.
    pub fn check_hinted_names(&mut self) {
        let number = self.block().hints.number;
        if self.block().hints.hints.is_empty() || self.hints.reported.contains(&number) {
            return;
        }
        self.hints.reported.push(number);
        let block = self.blocks.last().expect("a block is pushed before anything is bound");
        let name = block.hints.shown_name();
        for hint in &block.hints.hints {
            let unresolved =
                |named: String| ER_WARN_UNRESOLVED_HINT_NAME.with(&[&named, &word(hint)]).into_warning();
            let known = |table: &str| block.sources.iter().find(|source| same_table(&source.alias, table));
            let target = self.hints.target.as_deref();
            let is_elsewhere = |table: &str| target.is_some_and(|target| same_table(target, table));
            match hint {
                Hint::Table { tables, .. } => {
                    let missing = tables.iter().filter(|table| known(&table.name).is_none());
                    let text = |table: &HintTable| unresolved(format!("`{}`@`{name}`", table.name));
                    self.conditions.extend(missing.map(text));
                }
                Hint::JoinOrder { tables, .. } => {
                    let is_here = |table: &HintTable| table.block.is_none() && known(&table.name).is_some();
                    for table in tables.iter().filter(|table| !is_here(table)) {
                        let block =
                            table.block.as_ref().map(|block| format!("@`{block}`")).unwrap_or_default();
                        self.conditions.push(unresolved(format!("`{}`{block}", table.name)));
                    }
                }
                Hint::Key { table, keys, .. } | Hint::Index { table, keys, .. } => {
                    let is_index = matches!(hint, Hint::Index { .. });
                    let at = format!("`{}`@`{name}`", table.name);
                    let source = known(&table.name);
                    if source.is_none() && is_elsewhere(&table.name) {
                        continue;
                    }
                    if source.is_none() && (is_index || keys.is_empty()) {
                        self.conditions.push(unresolved(at.clone()));
                    }
                    let has = |key: &String| match source.map(|source| &source.kind) {
                        Some(SourceKind::Stored { table, .. }) => table.index_named(key).is_some(),
                        _ => false,
                    };
                    let missing = keys.iter().filter(|key| !has(key));
                    self.conditions.extend(missing.map(|key| unresolved(format!("{at} `{key}`"))));
                }
                _ => {}
            }
        }
    }
}
