//! CREATE of procedures, functions and triggers, and ALTER of routines.
use crate::ast::{
    AlterRoutine, Body, Characteristics, CreateProgram, DataAccess, DataType, Definer, Parameter,
    ParameterMode, Returns, RoutineKind, Span, StatementKind, TriggerEvent, TriggerHead, TriggerOrder,
    Variable,
};
use crate::grammar::core::{Parser, Result};
use crate::grammar::program::ProgramNames;
use crate::grammar::program::names::is_same;
use crate::grammar::show::routine_kind;
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// At PROCEDURE, FUNCTION, TRIGGER or EVENT after CREATE and its modifiers.
    pub fn create_program(&mut self, definer: Option<Definer<'a>>) -> Result<StatementKind<'a>> {
        let (word, token) = self.advance_keyword();
        if !matches!(word, K::Procedure | K::Function | K::Trigger | K::Event) {
            return Err(self.syntax_error_at(token));
        }
        let kind = routine_kind(word);
        self.refuse_definition_inside(kind, true)?;
        self.literal_use.structural = true;
        let if_not_exists = self.accept_if_not_exists()?;
        let name = self.object_name()?;
        self.program = Some(Box::new(ProgramNames::new(kind)));
        let mut create = CreateProgram {
            kind,
            if_not_exists,
            definer,
            name,
            parameters: &[],
            parameter_span: Span::default(),
            returns: None,
            characteristics: Characteristics::default(),
            trigger: None,
            event: None,
            body: Body {
                statement: &crate::ast::ProgramStatement::Leave(crate::ast::LabelId(0)),
                span: Span::default(),
                variables: &[],
                cursors: &[],
                label_count: 0,
                row_columns: &[],
                barred_inside: None,
            },
        };
        match kind {
            RoutineKind::Procedure | RoutineKind::Function => self.routine_head(&mut create)?,
            RoutineKind::Trigger => create.trigger = Some(self.trigger_head()?),
            RoutineKind::Event => {
                let head = self.event_head(true)?;
                create.event = Some(self.alloc(head));
                self.expect_keyword(K::Do)?;
            }
        }
        create.body = self.program_body()?;
        if kind == RoutineKind::Function && !self.names().has_return {
            let name = self.shown_name(&create.name);
            return Err(self.program_error(1320, format!("No RETURN found in FUNCTION {name}")));
        }
        Ok(StatementKind::CreateProgram(self.alloc(create)))
    }

    pub fn shown_name(&self, name: &crate::ast::ObjectName<'a>) -> String {
        match name.database {
            Some(database) => format!("{}.{}", database.name, name.name.name),
            None => name.name.name.to_owned(),
        }
    }

    fn routine_head(&mut self, create: &mut CreateProgram<'a>) -> Result<()> {
        let open = self.expect(T::LeftParen)?;
        if !self.at(T::RightParen) {
            create.parameters = self.comma_list(Self::parameter)?;
        }
        let close = self.expect(T::RightParen)?;
        create.parameter_span = Span::new(open.end, close.start);
        if create.kind == RoutineKind::Function {
            self.expect_keyword(K::Returns)?;
            let start = self.start();
            let data_type = self.collated_type()?;
            create.returns = Some(Returns { data_type, span: self.span_from(start) });
        }
        create.characteristics = self.characteristics(create.kind)?;
        Ok(())
    }

    fn parameter(&mut self) -> Result<Parameter<'a>> {
        let mut mode = ParameterMode::In;
        if self.names().kind == RoutineKind::Procedure {
            mode = match self.accept_one_of(&[K::In, K::Out, K::Inout]) {
                Some(K::Out) => ParameterMode::Out,
                Some(K::Inout) => ParameterMode::InOut,
                _ => ParameterMode::In,
            };
        }
        let name = self.ident()?;
        let data_type = self.collated_type()?;
        if self.names().visible.iter().any(|known| is_same(known.name, name.name)) {
            return Err(self.program_error(1330, format!("Duplicate parameter: {}", name.name)));
        }
        self.names().declare(Variable { name: name.name, data_type: Some(data_type) });
        Ok(Parameter { mode, name, data_type })
    }

    /// A type with a COLLATE behind it.
    pub fn collated_type(&mut self) -> Result<DataType<'a>> {
        let mut data_type = self.data_type()?;
        if self.accept_keyword(K::Collate) {
            data_type.collation = Some(self.collation_name()?);
        }
        Ok(data_type)
    }

    /// Any number of characteristics in any order; the last of a sort counts.
    fn characteristics(&mut self, kind: RoutineKind) -> Result<Characteristics<'a>> {
        let mut found = Characteristics::default();
        loop {
            match self.keyword() {
                K::Comment => {
                    self.advance();
                    found.comment = Some(self.string_text()?);
                }
                K::Language => {
                    self.advance();
                    if !self.accept_keyword(K::Sql) {
                        let language = self.ident_or_string()?;
                        return Err(self.not_supported(&format!("LANGUAGE {}", language.name)));
                    }
                }
                K::Deterministic => {
                    self.advance();
                    found.deterministic = Some(true);
                }
                K::Not => {
                    self.advance();
                    self.expect_keyword(K::Deterministic)?;
                    found.deterministic = Some(false);
                }
                K::Contains => {
                    self.advance();
                    self.expect_keyword(K::Sql)?;
                    found.access = Some(DataAccess::ContainsSql);
                }
                K::No => {
                    self.advance();
                    self.expect_keyword(K::Sql)?;
                    found.access = Some(DataAccess::NoSql);
                }
                K::Reads => {
                    self.advance();
                    self.expect_keywords(&[K::Sql, K::Data])?;
                    found.access = Some(DataAccess::ReadsSqlData);
                }
                K::Modifies => {
                    self.advance();
                    self.expect_keywords(&[K::Sql, K::Data])?;
                    found.access = Some(DataAccess::ModifiesSqlData);
                }
                K::Sql => found.security = self.sql_security()?,
                K::Using if matches!(kind, RoutineKind::Function | RoutineKind::Procedure) => {
                    return Err(self.not_supported("libraries of stored programs"));
                }
                _ => return Ok(found),
            }
        }
    }

    /// After ALTER, at PROCEDURE or FUNCTION.
    pub fn alter_routine(&mut self) -> Result<StatementKind<'a>> {
        let kind = routine_kind(self.advance().keyword);
        self.refuse_definition_inside(kind, false)?;
        self.literal_use.structural = true;
        let name = self.object_name()?;
        let characteristics = self.characteristics(kind)?;
        Ok(StatementKind::AlterRoutine(self.alloc(AlterRoutine { kind, name, characteristics })))
    }

    fn trigger_head(&mut self) -> Result<TriggerHead<'a>> {
        let is_before = self.expect_one_of(&[K::Before, K::After])? == K::Before;
        let event = match self.expect_one_of(&[K::Insert, K::Update, K::Delete])? {
            K::Insert => TriggerEvent::Insert,
            K::Update => TriggerEvent::Update,
            _ => TriggerEvent::Delete,
        };
        self.expect_keyword(K::On)?;
        let table = self.object_name()?;
        self.expect_keywords(&[K::For, K::Each, K::Row])?;
        let order = match self.accept_one_of(&[K::Follows, K::Precedes]) {
            Some(word) => Some(TriggerOrder { follows: word == K::Follows, other: self.ident()? }),
            None => None,
        };
        self.names().trigger = Some((is_before, event));
        Ok(TriggerHead { is_before, event, table, order })
    }
}
