//! CREATE EVENT and ALTER EVENT but for the body.
use crate::ast::{AlterEvent, Definer, EventHead, EventStatus, RoutineKind, Schedule, StatementKind};
use crate::grammar::core::{Parser, Result};
use crate::grammar::program::ProgramNames;
use crate::lexer::Keyword as K;

impl<'a> Parser<'a> {
    /// What comes between the event's name and DO; a schedule must be there when the event is `new`.
    pub fn event_head(&mut self, new: bool) -> Result<EventHead<'a>> {
        let mut head =
            EventHead { schedule: None, preserves: None, status: None, says_slave: false, comment: None };
        if new {
            self.expect_keywords(&[K::On, K::Schedule])?;
            head.schedule = Some(self.schedule()?);
        } else if self.accept_keywords(&[K::On, K::Schedule]) {
            head.schedule = Some(self.schedule()?);
        }
        if self.accept_keywords(&[K::On, K::Completion]) {
            head.preserves = Some(!self.accept_keyword(K::Not));
            self.expect_keyword(K::Preserve)?;
        }
        if new {
            self.event_status_and_comment(&mut head)?;
        }
        Ok(head)
    }

    fn event_status_and_comment(&mut self, head: &mut EventHead<'a>) -> Result<()> {
        head.status = match self.accept_one_of(&[K::Enable, K::Disable]) {
            None => None,
            Some(K::Enable) => Some(EventStatus::Enabled),
            Some(_) if self.accept_keyword(K::On) => {
                head.says_slave = self.expect_one_of(&[K::Replica, K::Slave])? == K::Slave;
                Some(EventStatus::DisabledOnReplica)
            }
            Some(_) => Some(EventStatus::Disabled),
        };
        if self.accept_keyword(K::Comment) {
            head.comment = Some(self.string_text()?);
        }
        Ok(())
    }

    fn schedule(&mut self) -> Result<Schedule<'a>> {
        if self.accept_keyword(K::At) {
            return Ok(Schedule::At(self.expr()?));
        }
        self.expect_keyword(K::Every)?;
        let amount = self.expr()?;
        let unit = self.interval_unit()?;
        let starts = if self.accept_keyword(K::Starts) { Some(self.expr()?) } else { None };
        let ends = if self.accept_keyword(K::Ends) { Some(self.expr()?) } else { None };
        Ok(Schedule::Every { amount, unit, starts, ends })
    }

    /// After ALTER and the definer, at EVENT.
    pub fn alter_event(&mut self, definer: Option<Definer<'a>>) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Event)?;
        self.refuse_definition_inside(RoutineKind::Event, false)?;
        self.literal_use.structural = true;
        let name = self.object_name()?;
        let mut head = self.event_head(false)?;
        let mut rename = None;
        if self.accept_keyword(K::Rename) {
            self.expect_keyword(K::To)?;
            rename = Some(self.object_name()?);
        }
        self.event_status_and_comment(&mut head)?;
        let mut body = None;
        if self.accept_keyword(K::Do) {
            self.refuse_definition_inside(RoutineKind::Event, true)?;
            self.program = Some(Box::new(ProgramNames::new(RoutineKind::Event)));
            body = Some(self.program_body()?);
        }
        let changes_something = head.schedule.is_some()
            || head.preserves.is_some()
            || head.status.is_some()
            || head.comment.is_some()
            || rename.is_some()
            || body.is_some();
        if !changes_something {
            return Err(self.syntax_error());
        }
        Ok(StatementKind::AlterEvent(self.alloc(AlterEvent { definer, name, head, rename, body })))
    }
}
