//! What USE, FORCE and IGNORE INDEX and the hints of a block leave of a table's indexes.
use super::BlockHints;
use crate::error_codes::ER_WRONG_USAGE_INDEX;
use crate::same_name::same_table;
use datum::{SqlError, error_code};
use parser::ast;
use parser::hints::{Hint, KeySwitch, ScopeHint};
use schema::TableDef;

/// Positions are those in `TableDef::indexes`.
#[derive(Clone, Debug, Default)]
pub struct IndexHints {
    /// For finding rows.
    pub join: ScopedIndexes,
    /// For giving them in the order of ORDER BY.
    pub order: ScopedIndexes,
    /// For giving them in groups.
    pub group: ScopedIndexes,
    /// Indexes that make no ranges (equalities apart).
    pub no_range: Vec<usize>,
    /// Indexes whose entries are not tested before their rows are read.
    pub no_condition: Vec<usize>,
    /// Whether several indexes are to be merged, and which: empty for all.
    pub merge: Option<(bool, Vec<usize>)>,
    pub skip_scan: Option<(bool, Vec<usize>)>,
    /// By index: MRR or NO_MRR.
    pub in_row_order: Vec<(usize, bool)>,
    pub uses_invisible: bool,
}

#[derive(Clone, Debug, Default)]
pub struct ScopedIndexes {
    /// `None` when no USE or FORCE was given.
    pub allowed: Option<Vec<usize>>,
    pub ignored: Vec<usize>,
    /// FORCE: a table scan only when no index can be used.
    pub force: bool,
}

impl ScopedIndexes {
    pub fn allows(&self, position: usize) -> bool {
        !self.ignored.contains(&position)
            && self.allowed.as_ref().is_none_or(|allowed| allowed.contains(&position))
    }

    fn add(&mut self, action: ast::IndexHintAction, positions: &[usize]) {
        match action {
            ast::IndexHintAction::Ignore => self.ignored.extend(positions),
            ast::IndexHintAction::Use => self.allowed.get_or_insert_default().extend(positions),
            ast::IndexHintAction::Force => {
                self.force = true;
                self.allowed.get_or_insert_default().extend(positions);
            }
        }
    }
}

/// The hints for a table of a block.
pub fn indexes_of(
    named: &ast::NamedTable<'_>,
    alias: &str,
    table: &TableDef,
    block: &BlockHints,
    uses_invisible: bool,
) -> Result<IndexHints, SqlError> {
    let written = written(named, table, uses_invisible)?;
    let mut hints = IndexHints { uses_invisible, ..block.indexes(alias, table).unwrap_or(written) };
    for (position, index) in table.indexes.iter().enumerate() {
        let switch = |wanted| block.key_switch(wanted, alias, &index.name);
        if switch(KeySwitch::Range) == Some(false) {
            hints.no_range.push(position);
        }
        if switch(KeySwitch::IndexCondition) == Some(false) {
            hints.no_condition.push(position);
        }
        hints.in_row_order.extend(switch(KeySwitch::MultiRangeRead).map(|on| (position, on)));
    }
    hints.merge = block.for_table(KeySwitch::IndexMerge, alias, table);
    hints.skip_scan = block.for_table(KeySwitch::SkipScan, alias, table);
    Ok(hints)
}

fn written(
    named: &ast::NamedTable<'_>,
    table: &TableDef,
    uses_invisible: bool,
) -> Result<IndexHints, SqlError> {
    use ast::{IndexHintAction as Action, IndexHintScope as Scope};
    let mut hints = IndexHints::default();
    let has = |action: Action| named.index_hints.iter().any(|hint| hint.action == action);
    if has(Action::Use) && has(Action::Force) {
        return Err(ER_WRONG_USAGE_INDEX.plain());
    }
    for hint in named.index_hints {
        let mut positions = Vec::with_capacity(hint.indexes.len());
        for name in hint.indexes {
            let visible = |at: &usize| uses_invisible || !table.indexes[*at].invisible;
            let position = table.index_named(name.name).filter(visible);
            positions.push(
                position.ok_or_else(|| error_code::ER_KEY_DOES_NOT_EXITS.with(&[&name.name, &table.name]))?,
            );
        }
        let scopes = [
            (&mut hints.join, matches!(hint.scope, Scope::All | Scope::Join)),
            (&mut hints.order, matches!(hint.scope, Scope::All | Scope::OrderBy)),
            (&mut hints.group, matches!(hint.scope, Scope::All | Scope::GroupBy)),
        ];
        scopes
            .into_iter()
            .filter(|(_, meant)| *meant)
            .for_each(|(scope, _)| scope.add(hint.action, &positions));
    }
    Ok(hints)
}

impl BlockHints {
    /// INDEX and its kin take the place of what is written behind the table.
    fn indexes(&self, alias: &str, table: &TableDef) -> Option<IndexHints> {
        let mut found: Option<IndexHints> = None;
        for hint in &self.hints {
            let Hint::Index { scope, on, table: hinted, keys, .. } = hint else { continue };
            if !same_table(&hinted.name, alias) {
                continue;
            }
            let positions = positions(table, keys);
            if positions.is_empty() && !keys.is_empty() {
                continue;
            }
            let action = if *on { ast::IndexHintAction::Force } else { ast::IndexHintAction::Ignore };
            let hints = found.get_or_insert_default();
            let scopes = [
                (&mut hints.join, matches!(scope, ScopeHint::All | ScopeHint::Join)),
                (&mut hints.order, matches!(scope, ScopeHint::All | ScopeHint::Order)),
                (&mut hints.group, matches!(scope, ScopeHint::All | ScopeHint::Group)),
            ];
            scopes
                .into_iter()
                .filter(|(_, meant)| *meant)
                .for_each(|(scope, _)| scope.add(action, &positions));
        }
        found
    }

    fn for_table(&self, wanted: KeySwitch, alias: &str, table: &TableDef) -> Option<(bool, Vec<usize>)> {
        self.hints.iter().find_map(|hint| match hint {
            Hint::Key { switch, on, table: hinted, keys, .. }
                if *switch == wanted && same_table(&hinted.name, alias) =>
            {
                Some((*on, if keys.is_empty() { Vec::new() } else { positions(table, keys) }))
            }
            _ => None,
        })
    }
}

/// The indexes of these names, all without any.
fn positions(table: &TableDef, keys: &[String]) -> Vec<usize> {
    if keys.is_empty() {
        return (0..table.indexes.len()).collect();
    }
    keys.iter().filter_map(|key| table.index_named(key)).collect()
}
