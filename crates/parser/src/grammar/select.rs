//! One SELECT block.
use super::core::{Parser, Result};
use super::literal::unescape_string;
use crate::ast::{
    Expr, ExprKind, GroupBy, Ident, LiteralValue, ObjectName, OrderItem, Select, SelectItem, SelectOptions,
    Span, TableReference, WindowSpecification,
};
use crate::hints::HintText;
use crate::lexer::{Keyword as K, TokenKind as T, scan};

/// MySQL cuts the name that it makes from an expression's text.
const DERIVED_NAME_BYTES_MAX: usize = 256;

impl<'a> Parser<'a> {
    pub fn select(&mut self) -> Result<&'a Select<'a>> {
        let start = self.start();
        self.expect_keyword(K::Select)?;
        let number = self.next_block();
        let hints = self.hints(number)?;
        let options = self.select_options()?;
        self.select_list_depth += 1;
        let items = self.comma_list(Self::select_item)?;
        self.select_list_depth -= 1;
        // Only the first item may be a bare star; `SELECT a, *` is a syntax error.
        if let Some(SelectItem::Wildcard(span)) =
            items.iter().skip(1).find(|item| matches!(item, SelectItem::Wildcard(_)))
        {
            return Err(self.syntax_error_from(span.start));
        }
        if self.pending_into.is_none() {
            self.pending_into = self.select_into()?;
        }
        let mut select = Select {
            number,
            options,
            hints,
            items,
            from: &[],
            from_dual: false,
            filter: None,
            group_by: None,
            having: None,
            windows: &[],
            qualify: None,
            span: Span::default(),
        };
        self.tables_clause(&mut select)?;
        self.filters(&mut select)?;
        select.span = self.span_from(start);
        Ok(self.alloc(select))
    }

    fn tables_clause(&mut self, select: &mut Select<'a>) -> Result<()> {
        if !self.accept_keyword(K::From) {
            return Ok(());
        }
        if self.accept_keyword(K::Dual) {
            select.from_dual = true;
            return Ok(());
        }
        let from: &[TableReference<'a>] = self.comma_list(Self::table_reference)?;
        select.from = from;
        Ok(())
    }

    /// WHERE, GROUP BY, HAVING, WINDOW, QUALIFY.
    fn filters(&mut self, select: &mut Select<'a>) -> Result<()> {
        select.filter = self.where_clause()?;
        if self.accept_keyword(K::Group) {
            self.expect_keyword(K::By)?;
            select.group_by = Some(self.group_by()?);
        }
        if self.accept_keyword(K::Having) {
            let having = self.expr()?;
            select.having = Some(self.alloc(having));
        }
        if self.accept_keyword(K::Window) {
            select.windows = self.comma_list(Self::named_window)?;
        }
        if self.accept_keyword(K::Qualify) {
            let qualify = self.expr()?;
            select.qualify = Some(self.alloc(qualify));
        }
        Ok(())
    }

    pub fn where_clause(&mut self) -> Result<Option<&'a Expr<'a>>> {
        if !self.accept_keyword(K::Where) {
            return Ok(None);
        }
        let filter = self.expr()?;
        Ok(Some(self.alloc(filter)))
    }

    fn group_by(&mut self) -> Result<GroupBy<'a>> {
        if self.at_keyword(K::Rollup) && self.peek_at(1).kind == T::LeftParen {
            self.advance();
            let items: &[OrderItem<'a>] = self.paren_list(Self::order_expr)?;
            return Ok(GroupBy { items, rollup: true });
        }
        let items: &[OrderItem<'a>] = self.comma_list(Self::order_expr)?;
        let rollup = self.accept_keyword(K::With);
        if rollup {
            self.expect_keyword(K::Rollup)?;
        }
        Ok(GroupBy { items, rollup })
    }

    fn named_window(&mut self) -> Result<(Ident<'a>, WindowSpecification<'a>)> {
        let name = self.ident()?;
        self.expect_keyword(K::As)?;
        let mut below = 0;
        let specification = self.window_specification(&mut below)?;
        self.height_above(below)?;
        Ok((name, specification))
    }

    /// The number of the query block that begins.
    pub fn next_block(&mut self) -> u32 {
        self.block_count += 1;
        self.block_count
    }

    /// The text of `/*+ .. */` after the verb of a query block.
    pub fn hints(&mut self, block: u32) -> Result<Option<&'a str>> {
        if !self.at(T::Hint) {
            return Ok(None);
        }
        let token = self.advance();
        let inner = self.text_at(token.start + 3, token.end - 2)?;
        // A literal behind it may be in no character set.
        let text = self.text_at(token.start + 3, self.text.len() as u32);
        let text = text.or_else(|_| self.text_at(token.start + 3, token.end))?;
        let before = &self.text[self.statement_start as usize..token.start as usize + 3];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count() as u32;
        self.hint_texts.push(HintText { block, text, length: inner.len(), line });
        Ok(Some(inner.trim()))
    }

    fn select_options(&mut self) -> Result<SelectOptions> {
        let mut options = SelectOptions::default();
        let mut all = false;
        loop {
            match self.keyword() {
                K::All => all = true,
                K::Distinct | K::Distinctrow => options.distinct = true,
                K::HighPriority => options.high_priority = true,
                K::StraightJoin => options.straight_join = true,
                K::SqlSmallResult => options.small_result = true,
                K::SqlBigResult => options.big_result = true,
                K::SqlBufferResult => options.buffer_result = true,
                K::SqlNoCache => options.no_cache = true,
                K::SqlCalcFoundRows => options.calc_found_rows = true,
                _ => return Ok(options),
            }
            if all && options.distinct {
                let message = "Incorrect usage of ALL and DISTINCT".to_owned();
                return Err(self.rule_error(self.start(), 1221, "HY000", message));
            }
            self.advance();
        }
    }

    fn select_item(&mut self) -> Result<SelectItem<'a>> {
        if self.at(T::Star) {
            let token = self.advance();
            return Ok(SelectItem::Wildcard(Span::new(token.start, token.end)));
        }
        if let Some(name) = self.qualified_wildcard()? {
            return Ok(SelectItem::QualifiedWildcard(name));
        }
        let start = self.start();
        let expr = self.expr()?;
        let text = self.span_from(start);
        let alias = self.alias(true)?;
        let name = match alias {
            Some(alias) => alias.name,
            None => self.derived_name(&expr, text)?,
        };
        Ok(SelectItem::Expression { expr, alias, name })
    }

    /// `t.*` and `d.t.*`, if that is what stands here.
    fn qualified_wildcard(&mut self) -> Result<Option<ObjectName<'a>>> {
        if self.peek_at(1).kind != T::Dot || !self.at_ident() {
            return Ok(None);
        }
        if self.peek_at(2).kind == T::Star {
            let name = self.ident()?;
            self.advance();
            self.advance();
            return Ok(Some(ObjectName { database: None, name }));
        }
        if self.peek_at(3).kind == T::Dot && self.peek_at(4).kind == T::Star {
            let database = self.ident()?;
            self.advance();
            let name = self.ident_after_dot()?;
            self.advance();
            self.advance();
            return Ok(Some(ObjectName { database: Some(database), name }));
        }
        Ok(None)
    }

    /// A string names its column by its content without leading space, whatever its character set; of adjacent strings
    /// the first one does.
    fn string_name(&self, bytes: &'a [u8], span: Span) -> &'a [u8] {
        let backslash = !self.mode.no_backslash_escapes;
        let literal = span.of(self.text);
        let quote = literal.iter().position(|byte| matches!(byte, b'\'' | b'"')).unwrap_or(0);
        let quoted = &literal[quote..];
        let first = match scan::quoted_end(quoted, 0, backslash) {
            Some((end, _)) if end < quoted.len() => unescape_string(&quoted[..end], backslash, self.arena),
            _ => bytes,
        };
        let start = first.iter().position(|&byte| byte > b' ').unwrap_or(first.len());
        &first[start..]
    }

    fn derived_name(&self, expr: &Expr<'a>, text: Span) -> Result<&'a str> {
        let mut bytes = match expr.kind {
            ExprKind::Column(column) => return Ok(column.name),
            // NEW.name and OLD.name are called as the column.
            ExprKind::Local(_) => match expr.span.of(self.text) {
                name if name.contains(&b'.') => name.rsplit(|byte| *byte == b'.').next().unwrap_or(name),
                name => name,
            }
            .trim_ascii(),
            ExprKind::Null => return Ok("NULL"),
            ExprKind::Boolean(true) => return Ok("TRUE"),
            ExprKind::Boolean(false) => return Ok("FALSE"),
            ExprKind::Literal(literal) => match literal.value {
                LiteralValue::String { bytes, .. } => self.string_name(bytes, expr.span),
                _ => expr.span.of(self.text),
            },
            _ => text.of(self.text),
        };
        if bytes.len() > DERIVED_NAME_BYTES_MAX {
            let mut end = DERIVED_NAME_BYTES_MAX;
            while end > 0 && bytes[end] & 0xC0 == 0x80 {
                end -= 1;
            }
            bytes = &bytes[..end];
        }
        match std::str::from_utf8(bytes) {
            Ok(name) => Ok(name),
            Err(_) => Ok(self.arena.alloc_str(&String::from_utf8_lossy(bytes))),
        }
    }
}
