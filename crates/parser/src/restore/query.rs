//! Queries as text. INTO is not written: it belongs to a statement, never to a stored query.
use super::Restorer;
use crate::ast::{
    CommonTable, Expr, Limit, LockStrength, LockWait, Locking, OrderItem, Query, QueryBody, Select,
    SelectItem, SelectOptions, SetChain, SetOperator,
};
use std::fmt::Result;

impl Restorer<'_, '_, '_> {
    pub fn subquery(&mut self, query: &Query<'_>) -> Result {
        self.text("(")?;
        self.query(query)?;
        self.text(")")
    }

    pub fn query(&mut self, query: &Query<'_>) -> Result {
        if let Some(with) = query.with {
            self.text(if with.recursive { "with recursive " } else { "with " })?;
            self.separated(", ", with.tables, |restorer, table| restorer.common_table(table))?;
            self.text(" ")?;
        }
        self.query_body(&query.body)?;
        if self.view().is_some() {
            self.view_order(&query.body, query.order_by)?;
            return query.limit.as_ref().map_or(Ok(()), |limit| self.view_limit(limit));
        }
        self.order_by(query.order_by)?;
        if let Some(limit) = &query.limit {
            self.limit(limit)?;
        }
        for locking in query.locking {
            self.locking(locking)?;
        }
        Ok(())
    }

    fn common_table(&mut self, table: &CommonTable<'_>) -> Result {
        self.name(table.name.name)?;
        self.names(table.columns)?;
        self.text(" as ")?;
        self.source_query(table.query)
    }

    /// A query whose columns have names.
    pub fn source_query(&mut self, query: &Query<'_>) -> Result {
        let is_operand = std::mem::take(&mut self.is_operand);
        let is_exists = std::mem::take(&mut self.is_exists);
        self.subquery(query)?;
        (self.is_operand, self.is_exists) = (is_operand, is_exists);
        Ok(())
    }

    /// ` (a,b)`, or nothing when there are none.
    pub fn names(&mut self, names: &[crate::ast::Ident<'_>]) -> Result {
        if names.is_empty() {
            return Ok(());
        }
        self.text(" (")?;
        self.separated(",", names, |restorer, name| restorer.name(name.name))?;
        self.text(")")
    }

    pub fn query_body(&mut self, body: &QueryBody<'_>) -> Result {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Table(name) if self.view().is_some() => {
                self.begin_block()?;
                self.view_item(&SelectItem::Wildcard(name.name.span))?;
                self.text(" from ")?;
                self.view_table(name, false)
            }
            QueryBody::Table(name) => {
                self.text("table ")?;
                self.object_name(name)
            }
            QueryBody::Values(rows) => {
                self.text("values ")?;
                self.separated(",", rows, |restorer, row| {
                    restorer.text("row(")?;
                    restorer.exprs(row)?;
                    restorer.text(")")
                })
            }
            QueryBody::Parenthesized(query) if self.view().is_some() => self.view_parenthesized(query),
            QueryBody::Parenthesized(query) => self.subquery(query),
            QueryBody::Set(chain) => self.set_chain(chain),
        }
    }

    /// A set operation inside of another one keeps its parentheses.
    fn branch(&mut self, body: &QueryBody<'_>) -> Result {
        match body {
            QueryBody::Parenthesized(query) if matches!(query.body, QueryBody::Set(_)) => {
                self.subquery(query)
            }
            body => self.query_body(body),
        }
    }

    fn set_chain(&mut self, chain: &SetChain<'_>) -> Result {
        self.branch(&chain.first)?;
        for (position, branch) in chain.rest.iter().enumerate() {
            self.text(match branch.operator {
                SetOperator::Union => " union ",
                SetOperator::Except => " except ",
                SetOperator::Intersect => " intersect ",
            })?;
            if branch.all && (self.view().is_none() || Self::keeps_all(chain.rest, position)) {
                self.text("all ")?;
            }
            self.branch(&branch.body)?;
        }
        Ok(())
    }

    /// `select `, behind its number if that is wanted.
    fn begin_block(&mut self) -> Result {
        self.blocks += 1;
        if self.view().is_some_and(|view| view.numbered) {
            write!(self.out, "/* select#{} */ ", self.blocks)?;
        }
        self.text("select ")
    }

    fn select(&mut self, select: &Select<'_>) -> Result {
        self.begin_block()?;
        if let Some(hints) = select.hints.filter(|_| self.view().is_none()) {
            self.text("/*+ ")?;
            self.text(hints)?;
            self.text(" */ ")?;
        }
        self.select_options(select.options)?;
        self.separated(",", select.items, |restorer, item| restorer.select_item(item))?;
        if !select.from.is_empty() {
            self.text(" from ")?;
            match self.view() {
                Some(_) => self.view_from(select.from)?,
                None => {
                    self.separated(", ", select.from, |restorer, table| restorer.table_reference(table))?;
                }
            }
        } else if select.from_dual && self.view().is_none() {
            self.text(" from dual")?;
        }
        if let Some(filter) = select.filter {
            self.text(" where ")?;
            self.clause_condition(filter)?;
        }
        if let Some(group_by) = &select.group_by {
            self.text(" group by ")?;
            self.separated(",", group_by.items, |restorer, item| restorer.expr(&item.expr))?;
            if group_by.rollup {
                self.text(" with rollup")?;
            }
        }
        if let Some(having) = select.having {
            self.text(" having ")?;
            self.clause_condition(having)?;
        }
        if !select.windows.is_empty() {
            self.text(" window ")?;
            self.separated(",", select.windows, |restorer, (name, specification)| {
                restorer.name(name.name)?;
                restorer.text(if restorer.view().is_some() { " AS " } else { " as " })?;
                restorer.window_specification(specification)
            })?;
        }
        if let Some(qualify) = select.qualify {
            self.text(" qualify ")?;
            self.expr(qualify)?;
        }
        Ok(())
    }

    /// WHERE and HAVING.
    fn clause_condition(&mut self, condition: &Expr<'_>) -> Result {
        match self.view() {
            Some(_) => self.condition(condition),
            None => self.expr(condition),
        }
    }

    fn select_options(&mut self, options: SelectOptions) -> Result {
        if self.view().is_some() {
            return self.view_options(options);
        }
        let words = [
            (options.distinct, "distinct "),
            (options.high_priority, "high_priority "),
            (options.straight_join, "straight_join "),
            (options.small_result, "sql_small_result "),
            (options.big_result, "sql_big_result "),
            (options.buffer_result, "sql_buffer_result "),
            (options.no_cache, "sql_no_cache "),
            (options.calc_found_rows, "sql_calc_found_rows "),
        ];
        words.iter().filter(|(is_set, _)| *is_set).try_for_each(|(_, word)| self.text(word))
    }

    fn select_item(&mut self, item: &SelectItem<'_>) -> Result {
        if self.view().is_some() {
            return self.view_item(item);
        }
        match item {
            SelectItem::Wildcard(_) => self.text("*"),
            SelectItem::QualifiedWildcard(name) => {
                self.object_name(name)?;
                self.text(".*")
            }
            SelectItem::Expression { expr, alias, .. } => {
                self.expr(expr)?;
                let Some(alias) = alias else { return Ok(()) };
                self.alias(alias.name)
            }
        }
    }

    pub fn order_by(&mut self, items: &[OrderItem<'_>]) -> Result {
        if items.is_empty() {
            return Ok(());
        }
        self.text(" order by ")?;
        self.separated(",", items, |restorer, item| {
            restorer.expr(&item.expr)?;
            if item.descending { restorer.text(" desc") } else { Ok(()) }
        })
    }

    fn limit(&mut self, limit: &Limit<'_>) -> Result {
        self.text(" limit ")?;
        self.expr(&limit.count)?;
        let Some(offset) = &limit.offset else { return Ok(()) };
        self.text(" offset ")?;
        self.expr(offset)
    }

    fn locking(&mut self, locking: &Locking<'_>) -> Result {
        self.text(match locking.strength {
            LockStrength::Update => " for update",
            LockStrength::Share => " for share",
        })?;
        if !locking.tables.is_empty() {
            self.text(" of ")?;
            self.separated(",", locking.tables, |restorer, table| restorer.object_name(table))?;
        }
        self.text(match locking.wait {
            LockWait::Wait => "",
            LockWait::NoWait => " nowait",
            LockWait::SkipLocked => " skip locked",
        })
    }
}
