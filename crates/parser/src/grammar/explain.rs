//! EXPLAIN, DESCRIBE and DESC, which are one word in three spellings.
use super::core::{Parser, Result};
use crate::ast::{Explain, ExplainFormat, ExplainTarget, StatementKind};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    pub fn explain(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let explain = if self.at_described_table() {
            let target = self.described_table()?;
            Explain { analyze: false, format: ExplainFormat::Unspecified, into: None, database: None, target }
        } else {
            self.explained_statement()?
        };
        Ok(StatementKind::Explain(self.alloc(explain)))
    }

    /// FORMAT is no reserved word, so only what follows tells it from a table.
    fn at_described_table(&self) -> bool {
        let has_format = self.at_keyword(K::Format) && self.peek_at(1).kind == T::Equal;
        self.at_ident() && !has_format
    }

    /// `table [column]`
    fn described_table(&mut self) -> Result<ExplainTarget<'a>> {
        let table = self.object_name()?;
        let column = if self.at(T::End) { None } else { Some(self.ident_or_string()?.name) };
        Ok(ExplainTarget::Table { table, column })
    }

    fn explained_statement(&mut self) -> Result<Explain<'a>> {
        let analyze = self.accept_keyword(K::Analyze);
        let mut format = ExplainFormat::Unspecified;
        if self.accept_keyword(K::Format) {
            self.expect(T::Equal)?;
            format = self.explain_format()?;
        }
        let into = if self.accept_keyword(K::Into) { Some(self.user_variable()?) } else { None };
        let mut database = None;
        if self.at_keyword(K::For) && matches!(self.keyword_at(1), K::Database | K::Schema) {
            self.advance();
            self.advance();
            database = Some(self.ident()?);
        }
        Ok(Explain { analyze, format, into, database, target: self.explain_target()? })
    }

    fn explain_target(&mut self) -> Result<ExplainTarget<'a>> {
        if self.accept_keyword(K::For) {
            self.expect_keyword(K::Connection)?;
            return Ok(ExplainTarget::Connection(self.limit_value()?));
        }
        let is_explainable = matches!(
            self.keyword(),
            K::Select | K::Insert | K::Replace | K::Update | K::Delete | K::With | K::Table | K::Values
        );
        if !is_explainable && !self.at(T::LeftParen) {
            return Err(self.syntax_error());
        }
        let statement = self.nested(Self::statement)?;
        Ok(ExplainTarget::Statement(self.alloc(statement)))
    }

    fn explain_format(&mut self) -> Result<ExplainFormat> {
        const FORMATS: [(&str, ExplainFormat); 3] = [
            ("traditional", ExplainFormat::Traditional),
            ("json", ExplainFormat::Json),
            ("tree", ExplainFormat::Tree),
        ];
        let token = self.peek();
        let name = self.ident_or_string()?.name;
        let found = FORMATS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
        found.map(|(_, format)| *format).ok_or_else(|| {
            self.rule_error(token.start, 1791, "HY000", format!("Unknown EXPLAIN format name: '{name}'"))
        })
    }
}
