//! Trees back to text: canonical MySQL, for SHOW CREATE TABLE, EXPLAIN and messages.
//!
//! Invariant: the text parses to the same tree (but for spans and ordinals), in the default SQL mode. Names are
//! quoted, words are in lower case, and every operator stands in parentheses of its own, so precedence never matters.
mod expression;
mod function;
mod literal;
mod names;
mod query;
mod resolved;
mod table;
mod view;
mod view_expression;

#[cfg(test)]
mod tests;

pub use names::{NamedColumn, NamedTable, ResolvedNames};
pub use resolved::is_condition;

use crate::ast::{Expr, Query};
use std::fmt::{Debug, Display, Formatter, Result};

/// What the text is for.
#[derive(Debug, Clone, Copy, Default)]
pub struct RestoreOptions<'a> {
    /// Written as an introducer before strings that have none, as SHOW CREATE TABLE does.
    pub string_charset: Option<&'a str>,
    /// As MySQL keeps the expressions of a table's definition, after it has resolved them: see `resolved`.
    pub resolved: bool,
    /// As the query of a view; `resolved` is set as well.
    pub view: Option<ViewText<'a>>,
}

/// How the query of a view is written.
#[derive(Debug, Clone, Copy, Default)]
pub struct ViewText<'a> {
    /// What the names mean; the text of a view that is defined tells it itself.
    pub names: Option<&'a ResolvedNames>,
    /// The current database of those who read the text: it is left out.
    pub current_database: Option<&'a str>,
    /// Each block begins with its number: `/* select#1 */`.
    pub numbered: bool,
}

/// An expression that displays as text.
pub struct RestoredExpr<'a> {
    expr: &'a Expr<'a>,
    options: RestoreOptions<'a>,
}

/// A query that displays as text.
pub struct RestoredQuery<'a> {
    query: &'a Query<'a>,
    options: RestoreOptions<'a>,
}

pub fn restore<'a>(expr: &'a Expr<'a>, options: RestoreOptions<'a>) -> RestoredExpr<'a> {
    RestoredExpr { expr, options }
}

pub fn restore_query<'a>(query: &'a Query<'a>, options: RestoreOptions<'a>) -> RestoredQuery<'a> {
    RestoredQuery { query, options }
}

/// Writes nodes in the order of the text. Each method writes one kind of node.
struct Restorer<'f, 'b, 'o> {
    out: &'f mut Formatter<'b>,
    options: RestoreOptions<'o>,
    /// Inside a query that is an operand, of EXISTS among others.
    is_operand: bool,
    is_exists: bool,
    /// Blocks written so far.
    blocks: usize,
}

impl<'f, 'b, 'o> Restorer<'f, 'b, 'o> {
    fn new(out: &'f mut Formatter<'b>, options: RestoreOptions<'o>) -> Self {
        Restorer { out, options, is_operand: false, is_exists: false, blocks: 0 }
    }
}

impl Display for RestoredExpr<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        Restorer::new(formatter, self.options).expr(self.expr)
    }
}

impl Display for RestoredQuery<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        Restorer::new(formatter, self.options).query(self.query)
    }
}

impl Display for Expr<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        Restorer::new(formatter, RestoreOptions::default()).expr(self)
    }
}

impl Display for Query<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        Restorer::new(formatter, RestoreOptions::default()).query(self)
    }
}

/// Expressions and queries debug as text too: their trees would fill pages.
impl Debug for Expr<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        write!(formatter, "«{self}»")
    }
}

impl Debug for Query<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        write!(formatter, "«{self}»")
    }
}

impl Restorer<'_, '_, '_> {
    fn text(&mut self, text: &str) -> Result {
        self.out.write_str(text)
    }

    /// A name in backticks.
    fn name(&mut self, name: &str) -> Result {
        literal::write_quoted_name(self.out, name)
    }

    /// ` as name`. A name in backticks cannot hold a zero byte, an alias written as a string can.
    fn alias(&mut self, name: &str) -> Result {
        self.text(" as ")?;
        if name.contains('\0') { self.string(name) } else { self.name(name) }
    }

    /// The name of a character set or collation: in backticks only when it needs them.
    fn word(&mut self, name: &str) -> Result {
        if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return self.text(name);
        }
        self.name(name)
    }

    /// Items with `separator` between them.
    fn separated<T>(
        &mut self,
        separator: &str,
        items: &[T],
        write: impl Fn(&mut Self, &T) -> Result,
    ) -> Result {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.text(separator)?;
            }
            write(self, item)?;
        }
        Ok(())
    }

    fn exprs(&mut self, exprs: &[Expr<'_>]) -> Result {
        self.separated(",", exprs, |restorer, expr| restorer.expr(expr))
    }
}
