//! Tables of WITH: bound at the first reference, shared by all; and recursive ones.
use crate::binder::{Binder, not_supported};
use crate::block::{QuerySource, Source, SourceColumn, SourceKind};
use crate::bound::{BoundBranch, BoundCommon, BoundQuery, BoundRecursive, JoinTree, Logical};
use crate::error_codes::ER_VIEW_WRONG_LIST;
use crate::queries::derived::mixed_columns;
use crate::queries::from::Joined;
use crate::queries::temporary;
use crate::same_name::{same_name, same_table};
use crate::scopes::{CommonScope, Recursion};
use datum::{ColumnType, SqlError, TypeKind, error_code};
use parser::ast;
use plan::OutputColumn;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

/// The branches of a recursive table's definition.
struct Branches<'p> {
    seeds: Vec<ast::SetBranch<'p>>,
    recursive: Vec<ast::QueryBody<'p>>,
    distinct: bool,
    limit: Option<ast::Limit<'p>>,
}

impl<'p> Binder<'p> {
    /// Opens the scope of a WITH clause; the caller truncates `common_tables` to close it.
    pub fn enter_with(&mut self, with: &'p ast::With<'p>) -> Result<(), SqlError> {
        for (position, table) in with.tables.iter().enumerate() {
            if with.tables[..position].iter().any(|known| same_table(known.name.name, table.name.name)) {
                return Err(error_code::ER_NONUNIQ_TABLE.with(&[&table.name.name]));
            }
        }
        let (may_recurse, block_count) = (with.recursive, self.blocks.len());
        let scopes = with.tables.iter();
        self.common_tables.extend(scopes.map(|table| CommonScope {
            block_count,
            table,
            may_recurse,
            bound: None,
            recursion: None,
        }));
        Ok(())
    }

    pub fn bind_common_table(&mut self, position: usize, alias: String) -> Result<Joined, SqlError> {
        if self.common_tables[position].recursion.is_some() {
            return self.bind_recursive_reference(position, alias);
        }
        let known = self.common_tables[position].bound.clone();
        let is_merged = known.as_ref().is_some_and(|known| {
            known.query.borrow().as_ref().is_some_and(|query| self.merges(query, &alias))
        });
        // One that others share stays theirs: hints may let only some references be merged.
        let common = match known.filter(|_| !is_merged) {
            Some(known) => {
                self.outer_references.extend(&known.references);
                known
            }
            None => Rc::new(self.bind_definition(position)?),
        };
        let mut columns: Vec<SourceColumn> = common.columns.iter().map(source_column).collect();
        let mixed = common.mixed.clone();
        let merges = common.query.borrow().as_ref().is_some_and(|query| self.merges(query, &alias));
        if !merges {
            for (column, kept) in columns.iter_mut().zip(&common.kept) {
                column.column_type = kept.clone();
            }
        }
        // What is merged is bound anew for each reference.
        let kind = match common.query.take() {
            Some(query) if merges => SourceKind::Query(Box::new(QuerySource {
                query,
                correlation: Vec::new(),
                slots: common.slots(),
                merges,
            })),
            query => {
                common.query.replace(query);
                common.uses.set(common.uses.get() + 1);
                self.common_tables[position].bound = Some(common.clone());
                SourceKind::Common(common)
            }
        };
        self.add_source(Source { names_results: merges, mixed, ..Source::made(alias, columns, kind) })
    }

    fn bind_definition(&mut self, position: usize) -> Result<BoundCommon, SqlError> {
        let scope = &mut self.common_tables[position];
        let (table, may_recurse, block_count) = (scope.table, scope.may_recurse, scope.block_count);
        let branches = if may_recurse { split(table)? } else { None };
        // Inside its own definition only earlier members of WITH are visible, and itself if it recurses.
        let later = self.common_tables.split_off(position + usize::from(may_recurse));
        let inner = self.blocks.split_off(block_count);
        let first = self.outer_references.len();
        let named_windows = std::mem::take(&mut self.named_windows);
        self.derived_depth += 1;
        let number = self.kept_count;
        self.kept_count += 2;
        if may_recurse {
            self.common_tables[position].recursion = Some(Recursion {
                columns: None,
                is_union: is_union(table.query),
                round: number + 1,
                references: 0,
                block_count: block_count + 1,
                derived_depth: self.derived_depth,
            });
        }
        let bound = match branches {
            Some(branches) => self.bind_recursive(position, branches, number + 1),
            None => self.bind_query(table.query),
        };
        self.derived_depth -= 1;
        self.blocks.extend(inner);
        self.named_windows = named_windows;
        if may_recurse {
            self.common_tables[position].recursion = None;
        }
        self.common_tables.extend(later);
        let bound = bound?;
        let mut references = self.outer_references[first..].to_vec();
        references.retain(|(block, _)| *block < block_count);
        let mut kept = bound.columns.clone();
        if !matches!(bound.logical, Logical::Recursive(_)) {
            let reads: Vec<usize> = references.iter().map(|(_, slot)| *slot).collect();
            temporary::keep_computed(&mut kept, &bound.logical, &reads);
        }
        temporary::keep_bytes(&mut kept);
        let mixed = mixed_columns(&bound.strengths);
        let columns = named_columns(bound.columns, table.columns)?;
        Ok(BoundCommon {
            number,
            mixed,
            query: RefCell::new(Some(bound.logical)),
            node: OnceCell::new(),
            uses: Cell::new(0),
            columns,
            kept: kept.into_iter().map(|column| column.column_type).collect(),
            references,
        })
    }

    fn bind_recursive(
        &mut self,
        position: usize,
        branches: Branches<'p>,
        round: usize,
    ) -> Result<BoundQuery, SqlError> {
        let table = self.common_tables[position].table;
        self.enter()?;
        let seed = self.bind_seed(&branches.seeds)?;
        let nullable = |column: OutputColumn| {
            // A column has no type NULL, and a DECIMAL of several queries has a sign.
            let column_type = match column.column_type.kind {
                TypeKind::Null => ColumnType::varbinary(0),
                TypeKind::Decimal { .. } => ColumnType { unsigned: false, ..column.column_type },
                _ => column.column_type,
            };
            OutputColumn::computed(column.name, ColumnType { nullable: true, ..column_type })
        };
        let outputs: Vec<OutputColumn> = seed.columns.into_iter().map(nullable).collect();
        let columns = named_columns(outputs.clone(), table.columns)?;
        let recursion = self.common_tables[position].recursion.as_mut().expect("set by the caller");
        recursion.columns = Some(columns.clone());
        let mut bound = Vec::with_capacity(branches.recursive.len());
        for body in &branches.recursive {
            let recursion = self.common_tables[position].recursion.as_mut().expect("set by the caller");
            recursion.references = 0;
            check_branch(body)?;
            let query = self.bind_body(*body)?;
            if query.columns.len() != columns.len() {
                return Err(error_code::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT.plain());
            }
            let types = query.columns.into_iter().map(|column| column.column_type).collect();
            bound.push(BoundBranch { query: query.logical, types });
        }
        self.leave();
        let recursive = BoundRecursive {
            name: table.name.name.to_owned(),
            seed: self.with_kept_digits(seed.logical),
            distinct: branches.distinct,
            branches: bound,
            columns,
            round,
        };
        let limit = self.bind_limit(branches.limit)?;
        let logical = Logical::Recursive(Box::new(recursive)).limited(limit);
        let strengths = seed.strengths;
        Ok(BoundQuery { logical, columns: outputs, strengths, count_found_rows: false, counted_limit: None })
    }

    fn bind_seed(&mut self, seeds: &[ast::SetBranch<'p>]) -> Result<BoundQuery, SqlError> {
        let mut left = self.bind_set_branch(seeds[0].body)?;
        for branch in &seeds[1..] {
            let right = self.bind_set_branch(branch.body)?;
            left = self.combine(left, right, branch.operator, branch.all)?;
        }
        Ok(left)
    }

    fn bind_recursive_reference(&mut self, position: usize, alias: String) -> Result<Joined, SqlError> {
        let (block_count, derived_depth) = (self.blocks.len(), self.derived_depth);
        let scope = &mut self.common_tables[position];
        let name = scope.table.name.name;
        let recursion = scope.recursion.as_mut().expect("asked by the caller");
        let Some(columns) = recursion.columns.clone() else {
            return Err(if recursion.is_union {
                error_code::ER_CTE_RECURSIVE_REQUIRES_NONRECURSIVE_FIRST.with(&[&name])
            } else {
                error_code::ER_CTE_RECURSIVE_REQUIRES_UNION.with(&[&name])
            });
        };
        recursion.references += 1;
        let is_inner = block_count != recursion.block_count || derived_depth != recursion.derived_depth;
        if is_inner || recursion.references > 1 {
            return Err(error_code::ER_CTE_RECURSIVE_REQUIRES_SINGLE_REFERENCE.with(&[&name]));
        }
        let round = recursion.round;
        self.add_source(Source::made(
            alias,
            columns.iter().map(source_column).collect(),
            SourceKind::Round(round),
        ))
    }

    /// In a recursive branch: the recursive table is not on the inner side of an outer join, and nothing is aggregated.
    pub fn check_recursive_block(
        &mut self,
        select: &ast::Select<'p>,
        joined: Option<&Joined>,
    ) -> Result<(), SqlError> {
        let block = self.block();
        let Some(place) = block.sources.iter().position(|source| matches!(source.kind, SourceKind::Round(_)))
        else {
            return Ok(());
        };
        let is_grouped =
            select.group_by.is_some() || !block.aggregates.is_empty() || !block.window_calls.is_empty();
        let is_inner = block.sources[place].optional
            || select.options.straight_join && place > 0
            || joined.is_some_and(|joined| is_forced_behind(&joined.tree, place));
        let scope = self.common_tables.iter().rev().find(|scope| scope.recursion.is_some());
        let name = scope.map_or("", |scope| scope.table.name.name);
        if is_grouped {
            return Err(error_code::ER_CTE_RECURSIVE_FORBIDS_AGGREGATION.with(&[&name]));
        }
        if is_inner {
            return Err(error_code::ER_CTE_RECURSIVE_FORBIDDEN_JOIN_ORDER.with(&[&name]));
        }
        Ok(())
    }
}

/// Whether STRAIGHT_JOIN puts a source behind another.
fn is_forced_behind(tree: &JoinTree, place: usize) -> bool {
    match tree {
        JoinTree::Source(_) => false,
        JoinTree::Left { left, right, .. } | JoinTree::Semi { left, right, .. } => {
            is_forced_behind(left, place) || is_forced_behind(right, place)
        }
        JoinTree::Inner { left, right, straight, .. } => {
            *straight && right.sources() & 1 << place != 0
                || is_forced_behind(left, place)
                || is_forced_behind(right, place)
        }
    }
}

fn source_column((name, column_type): &(String, ColumnType)) -> SourceColumn {
    SourceColumn { name: name.clone(), column_type: column_type.clone(), hidden: false, invisible: false }
}

/// The columns of a derived table under the names of its column list, if it has one.
pub fn named_columns(
    columns: Vec<OutputColumn>,
    names: &[ast::Ident<'_>],
) -> Result<Vec<(String, ColumnType)>, SqlError> {
    if !names.is_empty() && names.len() != columns.len() {
        return Err(ER_VIEW_WRONG_LIST.plain());
    }
    let mut named: Vec<(String, ColumnType)> = Vec::with_capacity(columns.len());
    for (position, column) in columns.into_iter().enumerate() {
        let name = names.get(position).map_or(column.name, |name| name.name.to_owned());
        if named.iter().any(|(known, _)| same_name(known, &name)) {
            return Err(error_code::ER_DUP_FIELDNAME.with(&[&name]));
        }
        named.push((name, column.column_type));
    }
    Ok(named)
}

fn is_union(query: &ast::Query<'_>) -> bool {
    match query.body {
        ast::QueryBody::Set(chain) => {
            chain.rest.iter().any(|branch| branch.operator == ast::SetOperator::Union)
        }
        ast::QueryBody::Parenthesized(inner) => is_union(inner),
        _ => false,
    }
}

/// The definition's branches, or `None` when none of them names the table in its FROM.
fn split<'p>(table: &'p ast::CommonTable<'p>) -> Result<Option<Branches<'p>>, SqlError> {
    let name = table.name.name;
    let mut query = table.query;
    while let (ast::QueryBody::Parenthesized(inner), None, []) = (query.body, query.limit, query.order_by) {
        query = inner;
    }
    let ast::QueryBody::Set(chain) = query.body else { return Ok(None) };
    let mut members =
        vec![ast::SetBranch { operator: ast::SetOperator::Union, all: true, body: chain.first }];
    for branch in chain.rest {
        flatten(*branch, &mut members);
    }
    let recurses = |branch: &ast::SetBranch<'p>| mentions(&branch.body, name);
    let Some(first) = members.iter().position(recurses) else { return Ok(None) };
    let wrong_order = || error_code::ER_CTE_RECURSIVE_REQUIRES_NONRECURSIVE_FIRST.with(&[&name]);
    if members.iter().any(|branch| branch.operator != ast::SetOperator::Union) {
        return Err(error_code::ER_CTE_RECURSIVE_REQUIRES_UNION.with(&[&name]));
    }
    if first == 0 || !members[first..].iter().all(recurses) {
        return Err(wrong_order());
    }
    if !query.order_by.is_empty() {
        return Err(not_supported("ORDER BY over UNION in recursive Common Table Expression"));
    }
    let recursive = members.split_off(first);
    let distinct = !recursive[0].all;
    if recursive.iter().any(|branch| branch.all == distinct) {
        return Err(not_supported(
            "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive Common Table Expression",
        ));
    }
    let recursive = recursive.into_iter().map(|branch| branch.body).collect();
    Ok(Some(Branches { seeds: members, recursive, distinct, limit: query.limit }))
}

/// A branch in parentheses that is itself a plain union is as good as its branches.
fn flatten<'p>(branch: ast::SetBranch<'p>, members: &mut Vec<ast::SetBranch<'p>>) {
    if let ast::QueryBody::Parenthesized(query) = branch.body
        && let ast::QueryBody::Set(chain) = query.body
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.with.is_none()
        && chain.rest.iter().all(|inner| inner.operator == ast::SetOperator::Union && inner.all == branch.all)
    {
        flatten(ast::SetBranch { body: chain.first, ..branch }, members);
        chain.rest.iter().for_each(|inner| flatten(*inner, members));
    } else {
        members.push(branch);
    }
}

/// A recursive branch neither orders nor cuts its rows.
fn check_branch(body: &ast::QueryBody<'_>) -> Result<(), SqlError> {
    let cuts = || {
        not_supported(
            "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression",
        )
    };
    match body {
        ast::QueryBody::Select(select) if select.options.distinct => Err(cuts()),
        ast::QueryBody::Parenthesized(query) => {
            if !query.order_by.is_empty() || query.limit.is_some() {
                return Err(cuts());
            }
            check_branch(&query.body)
        }
        _ => Ok(()),
    }
}

/// Whether a query's own FROM clauses name the table, those of derived tables included.
fn mentions(body: &ast::QueryBody<'_>, name: &str) -> bool {
    fn in_reference(reference: &ast::TableReference<'_>, name: &str) -> bool {
        match reference {
            ast::TableReference::Table(table) => {
                table.name.database.is_none() && same_table(table.name.name.name, name)
            }
            ast::TableReference::Derived(derived) => mentions(&derived.query.body, name),
            ast::TableReference::JsonTable(_) => false,
            ast::TableReference::Join(join) => {
                in_reference(&join.left, name) || in_reference(&join.right, name)
            }
            ast::TableReference::List(members) => members.iter().any(|member| in_reference(member, name)),
        }
    }
    match body {
        ast::QueryBody::Select(select) => select.from.iter().any(|member| in_reference(member, name)),
        ast::QueryBody::Table(table) => table.database.is_none() && same_table(table.name.name, name),
        ast::QueryBody::Values(_) => false,
        ast::QueryBody::Parenthesized(query) => mentions(&query.body, name),
        ast::QueryBody::Set(chain) => {
            mentions(&chain.first, name) || chain.rest.iter().any(|branch| mentions(&branch.body, name))
        }
    }
}
