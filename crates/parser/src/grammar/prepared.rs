//! Prepared statements by SQL, KILL, SIGNAL and GET DIAGNOSTICS.
use super::core::{Parser, Result};
use crate::ast::{
    ColumnReference, ConditionValue, Diagnostics, DiagnosticsItem, Ident, Kill, LoadColumn, PreparedSource,
    SignalItem, SignalStatement, StatementKind,
};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// PREPARE, EXECUTE, DEALLOCATE.
    pub fn prepared_statement(&mut self) -> Result<StatementKind<'a>> {
        match self.advance().keyword {
            K::Prepare => {
                let name = self.ident()?;
                self.expect_keyword(K::From)?;
                let source = if self.at(T::AtName) {
                    PreparedSource::UserVariable(self.user_variable()?)
                } else {
                    PreparedSource::Text(self.string_option()?)
                };
                Ok(StatementKind::Prepare { name, source })
            }
            K::Execute => {
                let name = self.ident()?;
                let using: &[Ident<'a>] =
                    if self.accept_keyword(K::Using) { self.comma_list(Self::user_variable)? } else { &[] };
                Ok(StatementKind::Execute { name, using })
            }
            _ => {
                self.expect_keyword(K::Prepare)?;
                Ok(StatementKind::Deallocate(self.ident()?))
            }
        }
    }

    pub fn kill(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let query_only = self.accept_one_of(&[K::Connection, K::Query]) == Some(K::Query);
        let id = self.expr()?;
        Ok(StatementKind::Kill(self.alloc(Kill { query_only, id })))
    }

    pub fn signal(&mut self) -> Result<StatementKind<'a>> {
        let resignal = self.advance().keyword == K::Resignal;
        let mut signal = SignalStatement { resignal, condition: None, items: &[] };
        if self.accept_keyword(K::Sqlstate) {
            self.accept_keyword(K::Value);
            let text = self.string_text()?;
            signal.condition = Some(ConditionValue::SqlState(self.sqlstate(text)?));
        } else if self.at_ident() {
            let name = self.ident()?;
            signal.condition = Some(self.signalled_condition(name.name)?);
        } else if !resignal {
            return Err(self.syntax_error());
        }
        if self.accept_keyword(K::Set) {
            let mut seen = Vec::new();
            signal.items = self.comma_list(|parser| {
                let name = parser.signal_item(&mut seen)?;
                parser.expect(T::Equal)?;
                Ok(SignalItem { name, value: parser.expr()? })
            })?;
        }
        Ok(StatementKind::Signal(self.alloc(signal)))
    }

    /// The name of what SIGNAL sets, which it may set once.
    fn signal_item(&mut self, seen: &mut Vec<&'static str>) -> Result<Ident<'a>> {
        let start = self.start();
        let written = self.text_of_ident()?;
        let Some(known) = SIGNAL_ITEMS.iter().find(|known| known.eq_ignore_ascii_case(written)) else {
            return Err(self.syntax_error());
        };
        if seen.contains(known) {
            let message = format!("Duplicate condition information item '{known}'");
            return Err(self.rule_error(start, 1641, "42000", message));
        }
        seen.push(known);
        self.ident()
    }

    pub fn get_diagnostics(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let stacked = self.accept_one_of(&[K::Current, K::Stacked]) == Some(K::Stacked);
        self.expect_keyword(K::Diagnostics)?;
        let condition = if self.accept_keyword(K::Condition) { Some(self.primary()?) } else { None };
        let items = self.comma_list(|parser| {
            let target = if parser.at(T::AtName) {
                LoadColumn::UserVariable(parser.user_variable()?)
            } else if let Some(local) = parser.receiving_slot()? {
                local
            } else {
                LoadColumn::Column(ColumnReference { qualifier: None, name: parser.ident()?.name })
            };
            parser.expect(T::Equal)?;
            Ok(DiagnosticsItem { target, name: parser.ident()? })
        })?;
        Ok(StatementKind::GetDiagnostics(self.alloc(Diagnostics { stacked, condition, items })))
    }
}

/// What SIGNAL and RESIGNAL set.
const SIGNAL_ITEMS: [&str; 12] = [
    "CLASS_ORIGIN",
    "SUBCLASS_ORIGIN",
    "CONSTRAINT_CATALOG",
    "CONSTRAINT_SCHEMA",
    "CONSTRAINT_NAME",
    "CATALOG_NAME",
    "SCHEMA_NAME",
    "TABLE_NAME",
    "COLUMN_NAME",
    "CURSOR_NAME",
    "MESSAGE_TEXT",
    "MYSQL_ERRNO",
];
