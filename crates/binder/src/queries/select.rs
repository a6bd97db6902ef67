//! One SELECT block: binding in MySQL's order of visibility, then the plan from the tables up.
use crate::binder::{Binder, not_supported};
use crate::block::{AliasUse, Block, Clause, SourceKind};
use crate::bound::{BoundBlock, BoundQuery, BoundSelect, Logical, SelectItem};
use crate::error_codes::{ER_DUPLICATE_TABLE_LOCK, ER_UNRESOLVED_TABLE_LOCK};
use crate::queries::distinct_order::are_distinct;
use crate::queries::from::Joined;
use crate::queries::query::Tail;
use crate::queries::rollup::tell_groups_apart;
use crate::queries::select_items::output_column;
pub use crate::queries::set_operation::ordinal;
use crate::queries::temporary;
use crate::same_name::same_name;
use crate::walk::split_conjuncts;
use datum::{SqlError, error_code};
use expression::{Expr, ExprKind};
use parser::ast;
use plan::{LockClause, LockWait, SortKey, TableUsage};

impl<'p> Binder<'p> {
    pub fn bind_select_block(
        &mut self,
        select: &ast::Select<'p>,
        tail: Tail<'p>,
    ) -> Result<BoundQuery, SqlError> {
        if select.qualify.is_some() {
            return Err(not_supported("QUALIFY"));
        }
        self.blocks.push(Block { allows_windows: true, ..self.hinted_block(select.number) });
        let named_windows = std::mem::replace(&mut self.named_windows, select.windows);
        let bound = self.bind_select(select, tail);
        self.named_windows = named_windows;
        let block = self.blocks.pop().expect("pushed above");
        let (bound, joined) = bound?;
        self.bound_query(block, bound, joined)
    }

    /// `TABLE t` is `SELECT * FROM t`.
    pub fn bind_table_block(&mut self, name: ast::ObjectName<'p>) -> Result<BoundQuery, SqlError> {
        self.blocks.push(Block::default());
        let bound = self.bind_table_statement(name);
        let block = self.blocks.pop().expect("pushed above");
        let (bound, joined) = bound?;
        self.bound_query(block, bound, Some(joined))
    }

    /// A bound block with what is known of its result.
    pub fn bound_query(
        &self,
        block: Block,
        mut bound: BoundSelect,
        joined: Option<Joined>,
    ) -> Result<BoundQuery, SqlError> {
        if !block.groupings.is_empty() && bound.groups.is_none() {
            return Err(error_code::ER_INVALID_GROUP_FUNC_USE.plain());
        }
        let mut columns: Vec<_> = bound.items.iter().map(|item| output_column(&block, item)).collect();
        let is_kept = self.derived_depth > 0
            || bound.distinct
            || !bound.order_by.is_empty()
            || !block.windows.is_empty()
            || block.sources.len() > 1;
        if bound.rollup && is_kept {
            temporary::keep_grouped(&mut columns, &bound.items, &block);
        }
        let strengths = bound.items.iter().map(|item| item.expr.ty.coercibility).collect();
        let count_found_rows = bound.count_found_rows;
        let counted_limit = if count_found_rows { bound.limit.take() } else { None };
        let is_correlated = self.is_correlated();
        let tree = joined.map(|joined| joined.tree);
        let logical = Logical::Select(Box::new(BoundBlock { block, bound, tree, is_correlated }));
        Ok(BoundQuery { logical, columns, strengths, count_found_rows, counted_limit })
    }

    /// Whether the query that was just bound takes values of the blocks around it, and so may run many times.
    pub fn is_correlated(&self) -> bool {
        self.blocks.iter().flat_map(|outer| &outer.correlations).any(|taken| !taken.is_empty())
    }

    fn bind_table_statement(&mut self, name: ast::ObjectName<'p>) -> Result<(BoundSelect, Joined), SqlError> {
        let joined = self.bind_table_name(name, TableUsage::Read)?;
        let items =
            self.bind_select_items(&[ast::SelectItem::Wildcard(name.name.span)], Some(&joined.star))?;
        Ok((BoundSelect::of_items(items), joined))
    }

    fn bind_select(
        &mut self,
        select: &ast::Select<'p>,
        tail: Tail<'p>,
    ) -> Result<(BoundSelect, Option<Joined>), SqlError> {
        let usage = usage_of(tail.locking);
        let asks_for_rows =
            self.existence_block.take() == Some(select.number) && rows_are_plain(select, &tail);
        let locking = std::mem::replace(&mut self.locking, tail.locking);
        let joined = self.bind_from(select.from, usage);
        self.locking = locking;
        let joined = joined?;
        self.check_hinted_names();
        self.apply_locking(tail.locking)?;
        if let (true, Some(locking)) = (tail.locking.is_empty(), self.lock_reads) {
            self.apply_locking(&[locking])?;
        }
        let star = joined.as_ref().map(|joined| joined.star.as_slice());
        let read_before = self.block().frame.len();
        let mut items = self.bind_select_items(select.items, star)?;
        if asks_for_rows && items.iter().all(|item| item.expr.as_column().is_some()) {
            self.block().frame.truncate(read_before);
            items = vec![SelectItem { expr: Expr::int(1), name: "1".to_owned(), is_alias: false }];
        }
        self.check_named_windows()?;
        let conditions = self.bind_where(select.filter)?;
        self.block().aliases = items.iter().map(|item| (item.name.clone(), item.expr.clone())).collect();
        let mut groups = select.group_by.map(|group_by| self.bind_groups(&group_by, &items)).transpose()?;
        if let (Some(group_by), Some(groups)) = (&select.group_by, &mut groups)
            && group_by.rollup
        {
            tell_groups_apart(group_by.items, groups, &mut items, self.block());
        }
        let having = match select.having {
            Some(having) => {
                self.block().clause = Some(Clause::Having);
                self.block().alias_use = AliasUse::BeforeColumns;
                let selected = items.iter().map(|item| item.expr.clone());
                self.block().visible = Some(selected.chain(groups.iter().flatten().cloned()).collect());
                let aliases = self.name_groups_first(groups.as_deref().unwrap_or_default());
                let bound = self.bind(having)?;
                self.block().aliases = aliases;
                self.block().visible = None;
                split_conjuncts(bound)
            }
            None => Vec::new(),
        };
        let rollup = select.group_by.is_some_and(|group_by| group_by.rollup);
        let distinct = select.options.distinct && !are_distinct(&items, groups.as_deref(), rollup);
        let order_by = self.bind_order(tail.order_by, &items, distinct)?;
        let limit = self.bind_limit(tail.limit)?;
        self.check_recursive_block(select, joined.as_ref())?;
        let bound = BoundSelect {
            items,
            conditions,
            groups,
            rollup,
            having,
            order_by,
            limit,
            distinct,
            straight: select.options.straight_join,
            count_found_rows: select.options.calc_found_rows,
        };
        Ok((bound, joined))
    }

    /// HAVING takes a name for a column of GROUP BY rather than for an alias of something else. Answers the aliases as they
    /// were.
    fn name_groups_first(&mut self, groups: &[Expr]) -> Vec<(String, Expr)> {
        let block = self.block();
        let named = |group: &Expr| block.column_name(group).map(|name| (name.to_owned(), group.clone()));
        let columns: Vec<_> = groups.iter().filter_map(named).collect();
        let aliases = block.aliases.clone();
        for (alias, expr) in &mut block.aliases {
            if let Some((_, group)) = columns.iter().find(|(name, _)| same_name(alias, name)) {
                *expr = group.clone();
            }
        }
        aliases
    }

    fn apply_locking(&mut self, locking: &[ast::Locking<'p>]) -> Result<(), SqlError> {
        for clause in locking {
            let lock = LockClause {
                exclusive: clause.strength == ast::LockStrength::Update,
                wait: match clause.wait {
                    ast::LockWait::Wait => LockWait::Session,
                    ast::LockWait::NoWait => LockWait::NoWait,
                    ast::LockWait::SkipLocked => LockWait::SkipLocked,
                },
            };
            let block = self.block();
            if clause.tables.is_empty() {
                if let Some(source) = block.sources.iter().find(|source| source.lock.is_some()) {
                    return Err(ER_DUPLICATE_TABLE_LOCK.with(&[&source.alias]));
                }
                block.sources.iter_mut().for_each(|source| source.lock = Some(lock));
                continue;
            }
            for name in clause.tables {
                let database = name.database.map(|database| database.name);
                let named =
                    |source: &&mut crate::block::Source| source.is_named(database, Some(name.name.name));
                match block.sources.iter_mut().find(named) {
                    Some(source) if source.lock.is_some() => {
                        return Err(ER_DUPLICATE_TABLE_LOCK.with(&[&source.alias]));
                    }
                    Some(source) => source.lock = Some(lock),
                    None => return Err(ER_UNRESOLVED_TABLE_LOCK.with(&[&name.name.name])),
                }
            }
        }
        let stored = |source: &crate::block::Source| matches!(source.kind, SourceKind::Stored { .. });
        for source in &mut self.block().sources {
            if !stored(source) {
                source.lock = None;
            }
        }
        Ok(())
    }

    fn bind_groups(
        &mut self,
        group_by: &ast::GroupBy<'p>,
        items: &[SelectItem],
    ) -> Result<Vec<Expr>, SqlError> {
        self.block().clause = Some(Clause::Group);
        self.block().alias_use = AliasUse::AfterColumns;
        let mut groups = Vec::with_capacity(group_by.items.len());
        for item in group_by.items {
            let (expr, name) = match ordinal(&item.expr) {
                Some(number) => {
                    let item = number.checked_sub(1).and_then(|position| items.get(position));
                    let Some(item) = item else {
                        let clause = Clause::Group.text();
                        return Err(error_code::ER_BAD_FIELD_ERROR.with(&[&number, &clause]));
                    };
                    (item.expr.clone(), item.name.as_str())
                }
                None => {
                    let name = match item.expr.kind {
                        ast::ExprKind::Column(reference) => reference.name,
                        _ => "expression",
                    };
                    let mut expr = self.bind_group(&item.expr, items)?;
                    self.context.bind.told_text_marker(&mut expr);
                    (expr, name)
                }
            };
            if crate::walk::has_aggregate(&expr)
                || crate::walk::has_window(&expr)
                || self.reads_aggregate(&expr)
            {
                return Err(error_code::ER_WRONG_GROUP_FIELD.with(&[&name]));
            }
            if crate::walk::any(&expr, &|part| crate::walk::grouping_number(part).is_some()) {
                return Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"GROUPING function"]));
            }
            groups.push(expr);
        }
        Ok(groups)
    }

    /// A name that several tables have means the select item of that name.
    fn bind_group(&mut self, expr: &ast::Expr<'p>, items: &[SelectItem]) -> Result<Expr, SqlError> {
        let error = match self.bind(expr) {
            Ok(bound) => return Ok(bound),
            Err(error) => error,
        };
        match expr.kind {
            ast::ExprKind::Column(reference)
                if reference.qualifier.is_none() && error.is(&error_code::ER_NON_UNIQ_ERROR) =>
            {
                let mut named =
                    items.iter().filter(|item| crate::same_name::same_name(&item.name, reference.name));
                match (named.next(), named.next()) {
                    (Some(item), None) => Ok(item.expr.clone()),
                    _ => Err(error),
                }
            }
            _ => Err(error),
        }
    }

    /// Whether a subquery of the expression takes an aggregate of this block.
    fn reads_aggregate(&mut self, expr: &Expr) -> bool {
        let subqueries = &self.block().subqueries;
        crate::walk::any(expr, &|part| {
            let pending = crate::walk::subquery_number(part).and_then(|number| subqueries.get(number));
            pending.is_some_and(|pending| {
                pending.correlation.iter().any(|(_, taken)| crate::walk::has_aggregate(taken))
            })
        })
    }

    fn bind_order(
        &mut self,
        order_by: &[ast::OrderItem<'p>],
        items: &[SelectItem],
        distinct: bool,
    ) -> Result<Vec<SortKey>, SqlError> {
        self.block().clause = Some(Clause::Order);
        self.block().alias_use = AliasUse::AfterColumns;
        let mut keys = Vec::with_capacity(order_by.len());
        for (number, item) in order_by.iter().enumerate() {
            let expr = match (ordinal(&item.expr), item.expr.kind) {
                (Some(number), _) => {
                    let item = number.checked_sub(1).and_then(|position| items.get(position));
                    let clause = Clause::Order.text();
                    item.ok_or_else(|| error_code::ER_BAD_FIELD_ERROR.with(&[&number, &clause]))?.expr.clone()
                }
                (None, ast::ExprKind::Column(reference)) if reference.qualifier.is_none() => {
                    match named_item(items, reference.name)? {
                        Some(expr) => {
                            self.note_item_meant(items, &reference, &expr);
                            expr
                        }
                        None => self.bind_column(&reference)?,
                    }
                }
                _ => {
                    let mut expr = self.bind(&item.expr)?;
                    self.context.bind.told_text_marker(&mut expr);
                    expr
                }
            };
            if distinct {
                self.check_order_of_distinct(number + 1, &item.expr, &expr, items)?;
            }
            // A constant orders nothing.
            if !matches!(expr.kind, ExprKind::Literal(_)) {
                keys.push(SortKey { expr, descending: item.descending });
            }
        }
        Ok(keys)
    }

    pub fn bind_limit(
        &mut self,
        limit: Option<ast::Limit<'p>>,
    ) -> Result<Option<(Expr, Option<Expr>)>, SqlError> {
        let Some(limit) = limit else { return Ok(None) };
        let mut count = self.bind(&limit.count)?;
        self.context.bind.count_marker(&mut count);
        let mut offset = limit.offset.map(|offset| self.bind(&offset)).transpose()?;
        offset.iter_mut().for_each(|offset| self.context.bind.count_marker(offset));
        Ok(Some((count, offset)))
    }
}

/// The select item that an unqualified name in ORDER BY means: one with that alias or column name.
fn named_item(items: &[SelectItem], name: &str) -> Result<Option<Expr>, SqlError> {
    let mut found: Option<&SelectItem> = None;
    for item in items.iter().filter(|item| crate::same_name::same_name(&item.name, name)) {
        if !item.is_alias && !matches!(item.expr.kind, ExprKind::Column(_)) {
            continue;
        }
        match found {
            Some(known) if known.expr != item.expr && (known.is_alias == item.is_alias) => {
                return Err(error_code::ER_NON_UNIQ_ERROR.with(&[&name, &Clause::Order.text()]));
            }
            Some(known) if known.is_alias => {}
            _ => found = Some(item),
        }
    }
    Ok(found.map(|item| item.expr.clone()))
}

/// Whether the select list decides nothing of whether there are rows, and nothing else refers to it.
fn rows_are_plain(select: &ast::Select<'_>, tail: &Tail<'_>) -> bool {
    let is_grouped = select.group_by.is_some() || select.having.is_some() || select.options.distinct;
    !is_grouped && tail.order_by.is_empty()
}

/// What the clauses of locking ask of the tables.
fn usage_of(locking: &[ast::Locking<'_>]) -> TableUsage {
    match locking {
        [] => TableUsage::Read,
        clauses if clauses.iter().any(|clause| clause.strength == ast::LockStrength::Update) => {
            TableUsage::ReadForUpdate
        }
        _ => TableUsage::ReadLocking,
    }
}
