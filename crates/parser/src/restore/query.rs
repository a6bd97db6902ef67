//! Queries as text. INTO is not written: it belongs to a statement, never to a stored query.
use super::Restorer;
use crate::ast::{
    CommonTable, Limit, LockStrength, LockWait, Locking, OrderItem, Query, QueryBody, Select, SelectItem,
    SelectOptions, SetChain, SetOperator,
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
        self.subquery(table.query)
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

    fn query_body(&mut self, body: &QueryBody<'_>) -> Result {
        match body {
            QueryBody::Select(select) => self.select(select),
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
            QueryBody::Parenthesized(query) => self.subquery(query),
            QueryBody::Set(chain) => self.set_chain(chain),
        }
    }

    fn set_chain(&mut self, chain: &SetChain<'_>) -> Result {
        self.query_body(&chain.first)?;
        for branch in chain.rest {
            self.text(match branch.operator {
                SetOperator::Union => " union ",
                SetOperator::Except => " except ",
                SetOperator::Intersect => " intersect ",
            })?;
            if branch.all {
                self.text("all ")?;
            }
            self.query_body(&branch.body)?;
        }
        Ok(())
    }

    fn select(&mut self, select: &Select<'_>) -> Result {
        self.text("select ")?;
        if let Some(hints) = select.hints {
            self.text("/*+ ")?;
            self.text(hints)?;
            self.text(" */ ")?;
        }
        self.select_options(select.options)?;
        self.separated(",", select.items, |restorer, item| restorer.select_item(item))?;
        if !select.from.is_empty() {
            self.text(" from ")?;
            self.separated(", ", select.from, |restorer, table| restorer.table_reference(table))?;
        } else if select.from_dual {
            self.text(" from dual")?;
        }
        if let Some(filter) = select.filter {
            self.text(" where ")?;
            self.expr(filter)?;
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
            self.expr(having)?;
        }
        if !select.windows.is_empty() {
            self.text(" window ")?;
            self.separated(",", select.windows, |restorer, (name, specification)| {
                restorer.name(name.name)?;
                restorer.text(" as ")?;
                restorer.window_specification(specification)
            })?;
        }
        if let Some(qualify) = select.qualify {
            self.text(" qualify ")?;
            self.expr(qualify)?;
        }
        Ok(())
    }

    fn select_options(&mut self, options: SelectOptions) -> Result {
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
