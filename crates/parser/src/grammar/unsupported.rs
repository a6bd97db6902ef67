//! Statements that are recognised by their leading words only.
use super::core::{Parser, Result};
use crate::ast::{StatementKind, Unsupported};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// Takes all tokens up to the statement's end.
    pub fn unsupported(&mut self, family: &'static str) -> Result<StatementKind<'a>> {
        while !self.at(T::End) {
            if self.at(T::Unknown) {
                return Err(self.syntax_error());
            }
            self.advance();
        }
        self.literal_use.structural = true;
        let text = self.span_from(self.statement_start).of(self.text);
        Ok(StatementKind::Unsupported(Unsupported { family, text }))
    }

    /// Statements of administration that no part of the server knows yet.
    pub fn other_statement(&mut self) -> Result<StatementKind<'a>> {
        let family = match (self.keyword(), self.keyword_at(1)) {
            (K::Install, K::Plugin) => "INSTALL PLUGIN",
            (K::Install, K::Component) => "INSTALL COMPONENT",
            (K::Uninstall, K::Plugin) => "UNINSTALL PLUGIN",
            (K::Uninstall, K::Component) => "UNINSTALL COMPONENT",
            (K::Clone, K::Local) => return self.clone_local(),
            (K::Backup, K::Instance) => return self.backup_instance(),
            (K::Clone, K::Instance) => "CLONE INSTANCE",
            (K::Cache, K::Index) => "CACHE INDEX",
            (K::Import, K::Table) => "IMPORT TABLE",
            (K::Binlog, _) if self.peek_at(1).kind == T::String => "BINLOG",
            (K::Purge, _) => return self.purge(),
            (_, K::Table) if self.at_word("RESTORE") => return self.restore_table(),
            _ => return Err(self.syntax_error()),
        };
        self.unsupported(family)
    }

    /// `CLONE LOCAL DATA DIRECTORY [=] 'directory'`
    fn clone_local(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        self.expect_keywords(&[K::Local, K::Data, K::Directory])?;
        self.accept(T::Equal);
        Ok(StatementKind::CloneLocal(self.string_text()?))
    }

    /// `BACKUP INSTANCE [FROM 'backup'] [LIMIT bytes_per_second]`, which is ours: the backup comes as rows.
    fn backup_instance(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        self.expect_keyword(K::Instance)?;
        let base = if self.accept_keyword(K::From) { Some(self.string_text()?) } else { None };
        let bytes_per_second = if self.accept_keyword(K::Limit) { self.integer_option()? } else { 0 };
        Ok(StatementKind::BackupInstance { base, bytes_per_second })
    }

    /// CREATE, ALTER and DROP of objects that no part of the server knows yet; at the object's word.
    pub fn unsupported_object(&mut self, verb: K) -> Result<StatementKind<'a>> {
        let [create, alter, drop] = match (self.keyword(), self.keyword_at(1)) {
            (K::Logfile, K::Group) => ["CREATE LOGFILE GROUP", "ALTER LOGFILE GROUP", "DROP LOGFILE GROUP"],
            (K::Tablespace, _) | (K::Undo, K::Tablespace) => {
                ["CREATE TABLESPACE", "ALTER TABLESPACE", "DROP TABLESPACE"]
            }
            (K::Server, _) => ["CREATE SERVER", "ALTER SERVER", "DROP SERVER"],
            (K::Resource, K::Group) => {
                ["CREATE RESOURCE GROUP", "ALTER RESOURCE GROUP", "DROP RESOURCE GROUP"]
            }
            (K::Spatial, K::Reference) if verb != K::Alter => {
                ["CREATE SPATIAL REFERENCE SYSTEM", "", "DROP SPATIAL REFERENCE SYSTEM"]
            }
            (K::Library, _) => ["CREATE LIBRARY", "ALTER LIBRARY", "DROP LIBRARY"],
            (K::Instance, _) if verb == K::Alter => return self.alter_instance(),
            _ => return Err(self.syntax_error()),
        };
        self.unsupported(match verb {
            K::Create => create,
            K::Alter => alter,
            _ => drop,
        })
    }
}
