//! Column names: from the innermost block outwards, and through the select list's aliases where a clause allows.
use crate::binder::Binder;
use crate::block::{AliasUse, Block, Clause, SourceKind};
use crate::error_codes::ER_WINDOW_OUTER_REFERENCE;
use crate::same_name::same_name;
use datum::{SqlError, error_code};
use expression::Expr;
use parser::ast;
use plan::Rights;

impl Binder<'_> {
    pub fn bind_column(&mut self, reference: &ast::ColumnReference<'_>) -> Result<Expr, SqlError> {
        let database = reference.qualifier.and_then(|qualifier| qualifier.database).map(|name| name.name);
        let table = reference.qualifier.map(|qualifier| qualifier.name.name);
        for depth in (0..self.blocks.len()).rev() {
            if self.blocks[depth].hidden {
                continue;
            }
            if let Some(expr) = self.find_in_block(depth, database, table, reference.name)? {
                self.check_window_reference(depth, &expr)?;
                return Ok(self.carry_inward(depth, expr));
            }
        }
        self.need_unknown_column(reference)?;
        let clause = self.blocks.last().map_or("field list", |block| block.clause_text());
        if let Some(table) = table.filter(|_| self.reaches_no_table()) {
            return Err(error_code::ER_UNKNOWN_TABLE.with(&[&table, &clause]));
        }
        Err(error_code::ER_BAD_FIELD_ERROR.with(&[&full_name(database, table, reference.name), &clause]))
    }

    /// Whether the innermost block has no tables yet, and no block around it is seen.
    fn reaches_no_table(&self) -> bool {
        let Some((inner, around)) = self.blocks.split_last() else { return true };
        inner.reaches_nothing() && around.iter().all(|block| block.hidden)
    }

    /// Windows are partitioned and ordered by columns of their own block.
    fn check_window_reference(&self, depth: usize, expr: &Expr) -> Result<(), SqlError> {
        let clause = self.blocks.last().and_then(|block| block.clause);
        let is_key = matches!(clause, Some(Clause::WindowPartition | Clause::WindowOrder));
        if is_key && depth + 1 < self.blocks.len() {
            let name = expr.ty.name.as_deref().unwrap_or_default().replace('`', "");
            return Err(ER_WINDOW_OUTER_REFERENCE.with(&[&name]));
        }
        Ok(())
    }

    fn find_in_block(
        &mut self,
        depth: usize,
        database: Option<&str>,
        table: Option<&str>,
        name: &str,
    ) -> Result<Option<Expr>, SqlError> {
        let is_outer = depth + 1 < self.blocks.len();
        let block = &mut self.blocks[depth];
        let reads_aliases = block.alias_use != AliasUse::None && table.is_none();
        // Inside an aggregate the tables' columns come first in every clause.
        if reads_aliases
            && block.alias_use == AliasUse::BeforeColumns
            && !block.inside_aggregate
            && let Some(expr) = find_alias(&block.aliases, name)
        {
            let found = check_alias(Some(expr), name, block.clause, is_outer);
            self.note_alias(name);
            return found;
        }
        let found = match block.find_column(database, table, name)? {
            None if same_name(name, ROW_ID) => find_row_id(block, database, table),
            found => found,
        };
        if let Some((source, column)) = found {
            let expr = self.context.bind.read_column(block.column_expr(source, column));
            // What HAVING itself may not name, its subqueries may: ONLY_FULL_GROUP_BY judges it.
            let is_visible = is_outer
                || block.inside_aggregate
                || block
                    .visible
                    .as_ref()
                    .is_none_or(|visible| visible.iter().any(|seen| seen.kind == expr.kind));
            if is_visible {
                self.need_column(depth, source, column, Rights::SELECT, false)?;
                self.note_reference(depth, source, column, name);
                return Ok(Some(expr));
            }
        }
        let block = &self.blocks[depth];
        if is_outer && table.is_none() && block.clause == Some(Clause::FieldList) {
            return earlier_item(block, name);
        }
        let found = find_alias(&block.aliases, name).filter(|_| reads_aliases);
        if block.inside_aggregate && found.as_ref().is_some_and(crate::walk::has_aggregate) {
            return Err(error_code::ER_INVALID_GROUP_FUNC_USE.plain());
        }
        let found = check_alias(found, name, block.clause, is_outer)?;
        if found.is_some() {
            self.note_alias(name);
        }
        Ok(found)
    }

    /// An expression of block `depth` as the innermost block reads it: itself, or a slot that the subquery's `Apply`
    /// in block `depth` fills.
    pub fn carry_inward(&mut self, depth: usize, expr: Expr) -> Expr {
        if depth + 1 == self.blocks.len() {
            return expr;
        }
        let column_type = expr.ty.column.clone();
        let name = expr.ty.name.clone();
        let known = self.blocks[depth]
            .correlations
            .last()
            .and_then(|list| list.iter().find(|(_, outer)| *outer == expr))
            .map(|(slot, _)| *slot);
        let slot = match known {
            Some(slot) => slot,
            None => {
                let slot = self.new_slot();
                let list = self.blocks[depth].correlations.last_mut();
                list.expect("a block with an inner block is binding a subquery").push((slot, expr));
                slot
            }
        };
        self.outer_references.push((depth, slot));
        let mut outer = Expr::slot(slot, column_type);
        outer.ty.name = name;
        outer
    }
}

/// Another name for the integer key of a table that has no column of this name.
const ROW_ID: &str = "_rowid";

fn find_row_id(block: &Block, database: Option<&str>, table: Option<&str>) -> Option<(usize, usize)> {
    let mut sources = block.sources.iter().enumerate();
    sources.find_map(|(number, source)| match &source.kind {
        SourceKind::Stored { table: stored, .. } if source.is_named(database, table) => {
            stored.row_id_column().map(|column| (number, column))
        }
        _ => None,
    })
}

/// An alias of a window function means something in ORDER BY only, and subqueries (`is_outer`) cannot name what is known after
/// rows are grouped.
fn check_alias(
    found: Option<Expr>,
    name: &str,
    clause: Option<Clause>,
    is_outer: bool,
) -> Result<Option<Expr>, SqlError> {
    let Some(expr) = &found else { return Ok(None) };
    if crate::walk::has_window(expr) && (is_outer || !matches!(clause, Some(Clause::Order | Clause::Group))) {
        return Err(error_code::ER_WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE.with(&[&name]));
    }
    if is_outer && crate::walk::has_aggregate(expr) {
        return Err(illegal_reference(name, "reference to group function"));
    }
    Ok(found)
}

fn illegal_reference(name: &str, why: &str) -> SqlError {
    error_code::ER_ILLEGAL_REFERENCE.with(&[&name, &why])
}

/// A subquery in the select list may name the items before its own.
fn earlier_item(block: &Block, name: &str) -> Result<Option<Expr>, SqlError> {
    let found = check_alias(find_alias(&block.aliases, name), name, block.clause, true)?;
    if found.is_none() && block.later_aliases.iter().any(|later| crate::same_name::same_name(later, name)) {
        return Err(illegal_reference(name, "forward reference in item list"));
    }
    Ok(found)
}

fn find_alias(aliases: &[(String, Expr)], name: &str) -> Option<Expr> {
    aliases.iter().find(|(alias, _)| crate::same_name::same_name(alias, name)).map(|(_, expr)| expr.clone())
}

pub fn full_name(database: Option<&str>, table: Option<&str>, name: &str) -> String {
    let mut full = String::new();
    for part in [database, table].into_iter().flatten() {
        full.push_str(part);
        full.push('.');
    }
    full + name
}
