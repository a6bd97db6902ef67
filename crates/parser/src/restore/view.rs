//! Queries as MySQL keeps them in the definition of a view: every name with what it belongs to, `*` written out, joins
//! in the order in which they are made, every item of a select list with its name.
//!
//! The text parses to a query of the same meaning, and writing that again gives the same text.
use super::names::NamedColumn;
use super::{Restorer, ViewText};
use crate::ast::{
    Expr, ExprKind, Join, JoinConstraint, JoinKind, Limit, Literal, LiteralValue, ObjectName, OrderItem,
    Query, QueryBody, Select, SelectItem, SelectOptions, SetBranch, TableReference,
};
use std::fmt::Result;

/// An item of a select list, stars written out.
#[derive(Clone, Copy)]
enum Item<'q> {
    Column(&'q NamedColumn),
    Expr { expr: &'q Expr<'q>, name: &'q str, is_alias: bool },
}

impl<'o> Restorer<'_, '_, 'o> {
    pub fn view(&self) -> Option<ViewText<'o>> {
        self.options.view
    }

    /// The column that a reference means, or nothing: then it is written as it stands.
    pub fn view_column(&mut self, name: &str) -> Option<Result> {
        let view = self.view()?;
        match view.names?.column(name)? {
            NamedColumn::Item(name) => Some(self.name(name)),
            column => Some(self.named_column(column)),
        }
    }

    fn named_column(&mut self, column: &NamedColumn) -> Result {
        let NamedColumn::Column { database, table, name } = column else { return Ok(()) };
        if let Some(database) = database {
            self.database(database)?;
        }
        if !table.is_empty() {
            self.name(table)?;
            self.text(".")?;
        }
        self.name(name)
    }

    /// A database before a name, unless the text is for that database.
    pub fn database(&mut self, database: &str) -> Result {
        if self.view().is_some_and(|view| view.current_database == Some(database)) {
            return Ok(());
        }
        self.name(database)?;
        self.text(".")
    }

    /// The name of a table in FROM and, where the query gives none, an alias that keeps the query's way of writing it.
    pub fn view_table(&mut self, name: &ObjectName<'_>, has_alias: bool) -> Result {
        let table = self.view().and_then(|view| view.names?.table(name.name.name));
        let Some(table) = table else { return self.object_name(name) };
        self.database(&table.database)?;
        self.name(&table.name)?;
        if has_alias || table.name == name.name.name {
            return Ok(());
        }
        self.text(" ")?;
        self.name(name.name.name)
    }

    pub fn view_from(&mut self, from: &[TableReference<'_>]) -> Result {
        let [first, others @ ..] = from else { return Ok(()) };
        others.iter().try_for_each(|_| self.text("("))?;
        self.table_reference(first)?;
        for table in others {
            self.text(" join ")?;
            self.table_reference(table)?;
            self.text(")")?;
        }
        Ok(())
    }

    pub fn view_join(&mut self, join: &Join<'_>) -> Result {
        let is_right = join.kind == JoinKind::Right;
        let (first, second) = if is_right { (&join.right, &join.left) } else { (&join.left, &join.right) };
        self.text("(")?;
        self.table_reference(first)?;
        self.text(match join.kind {
            JoinKind::Inner => " join ",
            JoinKind::Left | JoinKind::Right => " left join ",
            JoinKind::Straight => " straight_join ",
        })?;
        self.table_reference(second)?;
        let pairs = self.view().and_then(|view| view.names?.join(join));
        match (join.constraint, pairs) {
            (JoinConstraint::On(condition), _) => {
                self.text(" on(")?;
                self.condition(condition)?;
                self.text(")")?;
            }
            (_, Some(pairs)) if !pairs.is_empty() => {
                self.text(if pairs.len() > 1 { " on((" } else { " on(" })?;
                self.separated(" and ", pairs, |restorer, (left, right)| {
                    let (first, second) = if is_right { (right, left) } else { (left, right) };
                    restorer.text("(")?;
                    restorer.named_column(first)?;
                    restorer.text(" = ")?;
                    restorer.named_column(second)?;
                    restorer.text(")")
                })?;
                self.text(if pairs.len() > 1 { "))" } else { ")" })?;
            }
            _ => {}
        }
        self.text(")")
    }

    pub fn view_options(&mut self, options: SelectOptions) -> Result {
        let words = [
            (options.distinct, "distinct "),
            (options.straight_join, "straight_join "),
            (options.high_priority, "high_priority "),
            (options.small_result, "sql_small_result "),
            (options.big_result, "sql_big_result "),
            (options.buffer_result, "sql_buffer_result "),
            (options.calc_found_rows, "sql_calc_found_rows "),
        ];
        words.iter().filter(|(is_set, _)| *is_set).try_for_each(|(_, word)| self.text(word))
    }

    /// Items of queries that are operands have no use for their names.
    pub fn view_item(&mut self, item: &SelectItem<'_>) -> Result {
        let is_operand = self.is_operand;
        let names = self.view().and_then(|view| view.names);
        match item {
            SelectItem::Wildcard(span) => {
                let Some(columns) = names.and_then(|names| names.star(span.start)) else {
                    return self.text("*");
                };
                if self.is_exists {
                    return self.text("1");
                }
                self.star(columns)
            }
            SelectItem::QualifiedWildcard(name) => {
                match names.and_then(|names| names.star(name.name.span.start)) {
                    Some(columns) => self.star(columns),
                    None => {
                        self.object_name(name)?;
                        self.text(".*")
                    }
                }
            }
            SelectItem::Expression { expr, alias, name } => {
                self.expr(expr)?;
                let other = names.and_then(|names| names.item(name));
                match (alias, other) {
                    _ if is_operand => Ok(()),
                    (Some(alias), _) => self.item_name(alias.name),
                    (None, Some(other)) => self.item_name(other),
                    (None, None) => self.item_name(name),
                }
            }
        }
    }

    fn star(&mut self, columns: &[NamedColumn]) -> Result {
        let is_operand = self.is_operand;
        self.separated(",", columns, |restorer, column| {
            restorer.named_column(column)?;
            let NamedColumn::Column { name, .. } = column else { return Ok(()) };
            if is_operand { Ok(()) } else { restorer.item_name(name) }
        })
    }

    fn item_name(&mut self, name: &str) -> Result {
        self.text(" AS ")?;
        self.name(name)
    }

    /// A query in parentheses; those that say nothing are left out.
    pub fn view_parenthesized(&mut self, query: &Query<'_>) -> Result {
        let is_bare = query.with.is_none() && query.order_by.is_empty() && query.limit.is_none();
        match is_bare {
            true => self.query_body(&query.body),
            false => self.view_subquery(query),
        }
    }

    fn view_subquery(&mut self, query: &Query<'_>) -> Result {
        self.text("(")?;
        self.query(query)?;
        self.text(")")
    }

    /// A query that is an operand of an expression.
    pub fn operand_query(&mut self, query: &Query<'_>, is_exists: bool) -> Result {
        let before = (self.is_operand, self.is_exists);
        (self.is_operand, self.is_exists) = (true, is_exists);
        self.view_subquery(query)?;
        (self.is_operand, self.is_exists) = before;
        Ok(())
    }

    /// UNION ALL before a UNION keeps no more rows than that.
    pub fn keeps_all(rest: &[SetBranch<'_>], position: usize) -> bool {
        use crate::ast::SetOperator::Union;
        rest[position].all && !rest[position + 1..].iter().any(|later| later.operator == Union && !later.all)
    }

    pub fn view_limit(&mut self, limit: &Limit<'_>) -> Result {
        self.text(" limit ")?;
        if let Some(offset) = &limit.offset {
            self.expr(offset)?;
            self.text(",")?;
        }
        self.expr(&limit.count)
    }

    /// ORDER BY of a query expression.
    pub fn view_order(&mut self, body: &QueryBody<'_>, items: &[OrderItem<'_>]) -> Result {
        if items.is_empty() {
            return Ok(());
        }
        self.text(" order by ")?;
        self.separated(",", items, |restorer, item| {
            restorer.order_member(body, &item.expr)?;
            if item.descending { restorer.text(" desc") } else { Ok(()) }
        })
    }

    fn order_member(&mut self, body: &QueryBody<'_>, expr: &Expr<'_>) -> Result {
        let Some(select) = first_select(body) else { return self.expr(expr) };
        let items = self.items(select);
        let found = match expr.kind {
            ExprKind::Literal(Literal { value: LiteralValue::Integer(number), .. }) => {
                usize::try_from(number).ok().and_then(|number| items.get(number.checked_sub(1)?).copied())
            }
            ExprKind::Column(column) => self.item_meant(column.name, &items),
            _ => None,
        };
        let is_whole = !matches!(body, QueryBody::Select(_));
        match found {
            None => self.expr(expr),
            Some(Item::Column(NamedColumn::Column { name, .. })) if is_whole => self.name(name),
            Some(Item::Column(column)) => self.named_column(column),
            Some(Item::Expr { name, .. }) if is_whole => self.name(name),
            // It would be read as a position.
            Some(Item::Expr { expr: item, .. }) if is_integer(item) => self.expr(expr),
            Some(Item::Expr { expr, name, is_alias }) => {
                let is_grouped = select.group_by.is_some() && is_alias;
                if is_grouped || has_aggregate(expr) { self.name(name) } else { self.expr(expr) }
            }
        }
    }

    /// The item that a name in ORDER BY means.
    fn item_meant<'q>(&self, name: &str, items: &[Item<'q>]) -> Option<Item<'q>> {
        let NamedColumn::Item(wanted) = self.view()?.names?.column(name)? else { return None };
        let is_it = |item: &&Item<'q>| match item {
            Item::Column(_) => false,
            Item::Expr { name, .. } => name.to_lowercase() == wanted.to_lowercase(),
        };
        items.iter().find(is_it).copied()
    }

    fn items<'q>(&self, select: &'q Select<'q>) -> Vec<Item<'q>>
    where
        'o: 'q,
    {
        let names = self.view().and_then(|view| view.names);
        let mut items = Vec::new();
        for item in select.items {
            let star = match item {
                SelectItem::Wildcard(span) => names.and_then(|names| names.star(span.start)),
                SelectItem::QualifiedWildcard(name) => {
                    names.and_then(|names| names.star(name.name.span.start))
                }
                SelectItem::Expression { expr, alias, name } => {
                    let name = alias.map_or(*name, |alias| alias.name);
                    items.push(Item::Expr { expr, name, is_alias: alias.is_some() });
                    None
                }
            };
            items.extend(star.into_iter().flatten().map(Item::Column));
        }
        items
    }
}

fn first_select<'q>(body: &QueryBody<'q>) -> Option<&'q Select<'q>> {
    match body {
        QueryBody::Select(select) => Some(select),
        QueryBody::Parenthesized(query) => first_select(&query.body),
        QueryBody::Set(chain) => first_select(&chain.first),
        QueryBody::Table(_) | QueryBody::Values(_) => None,
    }
}

fn is_integer(expr: &Expr<'_>) -> bool {
    matches!(expr.kind, ExprKind::Literal(Literal { value: LiteralValue::Integer(_), .. }))
}

fn has_aggregate(expr: &Expr<'_>) -> bool {
    if matches!(expr.kind, ExprKind::Aggregate(_) | ExprKind::Window(_)) {
        return true;
    }
    let mut found = false;
    expr.for_each_operand(&mut |operand| found |= has_aggregate(operand));
    found
}
