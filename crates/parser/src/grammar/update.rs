//! UPDATE.
use super::core::{Parser, Result};
use crate::ast::{StatementKind, TableReference, Update, With};
use crate::lexer::Keyword as K;

impl<'a> Parser<'a> {
    pub fn update(&mut self, with: Option<&'a With<'a>>) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Update)?;
        let number = self.next_block();
        let hints = self.hints(number)?;
        let low_priority = self.accept_keyword(K::LowPriority);
        let ignore = self.accept_keyword(K::Ignore);
        let tables: &[TableReference<'a>] = self.comma_list(Self::table_reference)?;
        self.expect_keyword(K::Set)?;
        let assignments = self.comma_list(Self::assignment)?;
        let filter = self.where_clause()?;
        let mut update = Update {
            number,
            with,
            hints,
            low_priority,
            ignore,
            tables,
            assignments,
            filter,
            order_by: &[],
            limit: None,
        };
        // The multiple-table form has neither ORDER BY nor LIMIT.
        if update.single_table().is_some() || matches!(tables, [TableReference::Derived(_)]) {
            update.order_by = self.order_by()?;
            update.limit = self.simple_limit()?;
        } else if matches!(self.keyword(), K::Order | K::Limit) {
            let clause = if self.at_keyword(K::Order) { "ORDER BY" } else { "LIMIT" };
            let message = format!("Incorrect usage of UPDATE and {clause}");
            return Err(self.rule_error(self.start(), 1221, "HY000", message));
        }
        Ok(StatementKind::Update(self.alloc(update)))
    }
}
