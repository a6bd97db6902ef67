//! SHOW, but for what concerns logs and replication.
use super::core::{Parser, Result};
use crate::ast::{Ident, ObjectName, RoutineKind, Show, ShowFilter, StatementKind, User, VariableScope};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    pub fn show(&mut self) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Show)?;
        let show = self.show_what()?;
        Ok(StatementKind::Show(self.alloc(show)))
    }

    fn show_what(&mut self) -> Result<Show<'a>> {
        let word = self.keyword();
        match word {
            K::Extended | K::Full => return self.show_with_modifiers(),
            K::Global | K::Session | K::Local => return self.show_scoped(),
            K::Binary | K::Binlog | K::Relaylog | K::Replica | K::Replicas => {
                return self.show_log();
            }
            _ => {}
        }
        let token = self.advance();
        match word {
            K::Databases | K::Schemas => Ok(Show::Databases(self.show_filter()?)),
            K::Tables => self.show_tables(false, false),
            K::Open => {
                self.expect_keyword(K::Tables)?;
                Ok(Show::OpenTables { database: self.show_database()?, filter: self.show_filter()? })
            }
            K::Table => {
                self.expect_keyword(K::Status)?;
                Ok(Show::TableStatus { database: self.show_database()?, filter: self.show_filter()? })
            }
            K::Columns | K::Fields => self.show_columns(false, false),
            K::Index | K::Indexes | K::Keys => self.show_index(false),
            K::Create => self.show_create(),
            K::Procedure | K::Function => self.show_routine(word),
            K::Triggers => self.show_triggers(false),
            K::Events => Ok(Show::Events { database: self.show_database()?, filter: self.show_filter()? }),
            K::Variables => {
                Ok(Show::Variables { scope: VariableScope::Unspecified, filter: self.show_filter()? })
            }
            K::Status => Ok(Show::Status { scope: VariableScope::Unspecified, filter: self.show_filter()? }),
            K::Charset => Ok(Show::CharacterSet(self.show_filter()?)),
            K::Character | K::Char => {
                self.expect_keyword(K::Set)?;
                Ok(Show::CharacterSet(self.show_filter()?))
            }
            K::Collation => Ok(Show::Collation(self.show_filter()?)),
            K::Processlist => Ok(Show::ProcessList { full: false }),
            K::Storage => {
                self.expect_keyword(K::Engines)?;
                Ok(Show::Engines)
            }
            K::Engines => Ok(Show::Engines),
            K::Engine => self.show_engine(),
            K::Warnings => Ok(Show::Warnings(self.limit()?)),
            K::Errors => Ok(Show::Errors(self.limit()?)),
            K::Count => self.show_count(),
            K::Grants => self.show_grants(),
            K::Privileges => Ok(Show::Privileges),
            K::Plugins => Ok(Show::Plugins),
            K::Profiles => Ok(Show::Profiles),
            K::Profile => self.show_profile(),
            K::ParseTree => {
                let statement = self.nested(Self::statement)?;
                Ok(Show::ParseTree(self.alloc(statement)))
            }
            _ => Err(self.syntax_error_at(token)),
        }
    }

    /// EXTENDED and FULL, and what may follow them.
    fn show_with_modifiers(&mut self) -> Result<Show<'a>> {
        let extended = self.accept_keyword(K::Extended);
        let full = self.accept_keyword(K::Full);
        match self.keyword() {
            K::Tables => {
                self.advance();
                self.show_tables(extended, full)
            }
            K::Columns | K::Fields => {
                self.advance();
                self.show_columns(extended, full)
            }
            K::Index | K::Indexes | K::Keys if !full => {
                self.advance();
                self.show_index(extended)
            }
            K::Processlist if !extended => {
                self.advance();
                Ok(Show::ProcessList { full })
            }
            K::Triggers if !extended => {
                self.advance();
                self.show_triggers(full)
            }
            _ => Err(self.syntax_error()),
        }
    }

    fn show_scoped(&mut self) -> Result<Show<'a>> {
        let scope =
            if self.advance().keyword == K::Global { VariableScope::Global } else { VariableScope::Session };
        match self.expect_one_of(&[K::Variables, K::Status])? {
            K::Variables => Ok(Show::Variables { scope, filter: self.show_filter()? }),
            _ => Ok(Show::Status { scope, filter: self.show_filter()? }),
        }
    }

    pub fn show_filter(&mut self) -> Result<ShowFilter<'a>> {
        if self.accept_keyword(K::Like) {
            return Ok(ShowFilter::Like(self.string_option()?));
        }
        match self.where_clause()? {
            Some(filter) => Ok(ShowFilter::Where(filter)),
            None => Ok(ShowFilter::None),
        }
    }

    /// `FROM database` or `IN database`.
    fn show_database(&mut self) -> Result<Option<Ident<'a>>> {
        if self.accept_one_of(&[K::From, K::In]).is_none() {
            return Ok(None);
        }
        self.ident().map(Some)
    }

    fn show_tables(&mut self, extended: bool, full: bool) -> Result<Show<'a>> {
        Ok(Show::Tables { extended, full, database: self.show_database()?, filter: self.show_filter()? })
    }

    fn show_triggers(&mut self, full: bool) -> Result<Show<'a>> {
        Ok(Show::Triggers { full, database: self.show_database()?, filter: self.show_filter()? })
    }

    /// `FROM table [FROM database]`
    fn show_table_name(&mut self) -> Result<ObjectName<'a>> {
        self.expect_one_of(&[K::From, K::In])?;
        let mut table = self.object_name()?;
        if let Some(database) = self.show_database()? {
            table.database = Some(database);
        }
        Ok(table)
    }

    fn show_columns(&mut self, extended: bool, full: bool) -> Result<Show<'a>> {
        Ok(Show::Columns { extended, full, table: self.show_table_name()?, filter: self.show_filter()? })
    }

    fn show_index(&mut self, extended: bool) -> Result<Show<'a>> {
        let table = self.show_table_name()?;
        let filter = match self.where_clause()? {
            Some(filter) => ShowFilter::Where(filter),
            None => ShowFilter::None,
        };
        Ok(Show::Index { extended, table, filter })
    }

    fn show_create(&mut self) -> Result<Show<'a>> {
        let (word, token) = self.advance_keyword();
        match word {
            K::Table => Ok(Show::CreateTable(self.object_name()?)),
            K::View => Ok(Show::CreateView(self.object_name()?)),
            K::Database | K::Schema => {
                let if_not_exists = self.accept_if_not_exists()?;
                Ok(Show::CreateDatabase { if_not_exists, name: self.ident()? })
            }
            K::User => Ok(Show::CreateUser(self.user()?)),
            K::Procedure | K::Function | K::Trigger | K::Event => {
                Ok(Show::CreateStored { kind: routine_kind(word), name: self.object_name()? })
            }
            _ => Err(self.syntax_error_at(token)),
        }
    }

    fn show_routine(&mut self, word: K) -> Result<Show<'a>> {
        let kind = routine_kind(word);
        match self.expect_one_of(&[K::Status, K::Code])? {
            K::Code => Ok(Show::RoutineCode { kind, name: self.object_name()? }),
            _ => Ok(Show::RoutineStatus { kind, filter: self.show_filter()? }),
        }
    }

    fn show_engine(&mut self) -> Result<Show<'a>> {
        let engine = if self.accept_keyword(K::All) { None } else { Some(self.ident_or_string()?) };
        let what = self.expect_one_of(&[K::Status, K::Mutex, K::Logs])?.name();
        Ok(Show::Engine { engine, what })
    }

    /// `COUNT(*) WARNINGS` and `COUNT(*) ERRORS`.
    fn show_count(&mut self) -> Result<Show<'a>> {
        self.expect(T::LeftParen)?;
        self.expect(T::Star)?;
        self.expect(T::RightParen)?;
        match self.expect_one_of(&[K::Warnings, K::Errors])? {
            K::Warnings => Ok(Show::CountWarnings),
            _ => Ok(Show::CountErrors),
        }
    }

    fn show_grants(&mut self) -> Result<Show<'a>> {
        if !self.accept_keyword(K::For) {
            return Ok(Show::Grants { user: None, using: &[] });
        }
        let user = Some(self.user()?);
        let using: &[User<'a>] =
            if self.accept_keyword(K::Using) { self.comma_list(Self::user)? } else { &[] };
        Ok(Show::Grants { user, using })
    }

    fn show_profile(&mut self) -> Result<Show<'a>> {
        let mut types: &[&'static str] = &[];
        if !matches!(self.keyword(), K::For | K::Limit) && !self.at(T::End) {
            types = self.comma_list(Self::profile_type)?;
        }
        let mut query = None;
        if self.accept_keyword(K::For) {
            self.expect_keyword(K::Query)?;
            query = Some(self.integer_option()?);
        }
        Ok(Show::Profile { types, query, limit: self.limit()? })
    }

    fn profile_type(&mut self) -> Result<&'static str> {
        let word = self.expect_one_of(&[
            K::All,
            K::Block,
            K::Context,
            K::Cpu,
            K::Ipc,
            K::Memory,
            K::Page,
            K::Source,
            K::Swaps,
        ])?;
        match word {
            K::Block => self.expect_keyword(K::Io).map(|()| "BLOCK IO"),
            K::Context => self.expect_keyword(K::Switches).map(|()| "CONTEXT SWITCHES"),
            K::Page => self.expect_keyword(K::Faults).map(|()| "PAGE FAULTS"),
            word => Ok(word.name()),
        }
    }
}

pub fn routine_kind(word: K) -> RoutineKind {
    match word {
        K::Procedure => RoutineKind::Procedure,
        K::Function => RoutineKind::Function,
        K::Trigger => RoutineKind::Trigger,
        _ => RoutineKind::Event,
    }
}
