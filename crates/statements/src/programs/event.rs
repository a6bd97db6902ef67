//! CREATE EVENT and ALTER EVENT: what an event is, apart from its body.
//!
//! Invariant: what is stored is what the queue is told of, after it is stored.
use std::sync::Arc;

use auth::Privilege;
use catalog::{LiveProgram, LockMode, LockName};
use datum::{SqlError, error_code};
use parser::ast::{AlterEvent, EventHead, EventStatus};
use schema::{EventDef, EventState, ProgramDef, ProgramKind};

use super::event_schedule::Timing;
use crate::caller::Caller;
use session::{Done, Request, Shield};

/// Database and name.
type EventName = (String, String);

impl Caller<'_> {
    /// What CREATE EVENT asks for; `None` when its time is over and it would have gone at once.
    pub(super) async fn new_event(
        &mut self,
        head: &EventHead<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Option<EventDef>, SqlError> {
        let Some(schedule) = &head.schedule else { return Ok(None) };
        self.warn_of_old_words(head);
        let timing = self.timing(schedule, request, shield).await?;
        let state = head.status.map_or(EventState::Enabled, state_of);
        let preserves = head.preserves.unwrap_or(false);
        let mut event = EventDef {
            at_us: None,
            every: None,
            starts_us: None,
            ends_us: None,
            state,
            preserves,
            time_zone: self.settings().time_zone.name().to_owned(),
            last_executed_us: None,
        };
        if self.is_over(&timing) {
            if !preserves {
                self.shared().note(error_code::ER_EVENT_CANNOT_CREATE_IN_THE_PAST.plain());
                return Ok(None);
            }
            self.disable_past(&mut event);
        }
        set_timing(&mut event, timing);
        Ok(Some(event))
    }

    fn warn_of_old_words(&self, head: &EventHead<'_>) {
        if head.says_slave {
            let words = "<CREATE|ALTER> EVENT ... DISABLE ON";
            let (old, new) = (format!("{words} SLAVE"), format!("{words} REPLICA"));
            let old = format!("'{old}'");
            self.shared().warning(ER_WARN_DEPRECATED_WORDS.with(&[&old, &new]));
        }
    }

    /// Whether the only or the last moment has gone.
    fn is_over(&self, timing: &Timing) -> bool {
        let now = self.now_utc_micros().div_euclid(1_000_000) * 1_000_000;
        timing.at_us.or(timing.ends_us).is_some_and(|moment| moment < now)
    }

    fn disable_past(&self, event: &mut EventDef) {
        if event.state == EventState::Enabled {
            event.state = EventState::Disabled;
            self.shared().note(error_code::ER_EVENT_EXEC_TIME_IN_THE_PAST.plain());
        }
    }

    /// ALTER EVENT.
    pub async fn alter_event(
        &mut self,
        statement: &AlterEvent<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let old = self.program_name(statement.name)?;
        self.require_database(Privilege::Event, &old.0)?;
        let new = self.new_name(statement, &old)?;
        self.warn_of_old_words(&statement.head);
        let timing = match &statement.head.schedule {
            Some(schedule) => Some(self.timing(schedule, request, shield).await?),
            None => None,
        };
        let mut locks = Vec::new();
        for (database, name) in [Some(&old), new.as_ref()].into_iter().flatten() {
            locks.push((LockName::Database(database.as_str().into()), LockMode::Shared));
            locks.push((
                session::Session::program_lock(ProgramKind::Event, database, name),
                LockMode::Exclusive,
            ));
        }
        let _locks = self.lock_for_change(locks).await?;
        let catalog = self.instance().catalog().clone();
        let live = catalog.program(ProgramKind::Event, &old.0, &old.1);
        let live = live.ok_or_else(|| error_code::ER_EVENT_DOES_NOT_EXIST.with(&[&old.1]))?;
        let mut changed = self.altered(statement, &live, timing, request)?;
        let mut change = catalog.begin_change();
        if let Some((database, name)) = new {
            catalog.require_database(&database)?;
            if catalog.program(ProgramKind::Event, &database, &name).is_some() {
                return Err(error_code::ER_EVENT_ALREADY_EXISTS.with(&[&name]));
            }
            change.remove_program(&live).await?;
            (changed.database, changed.name) = (database, name);
        }
        let stored = change.put_program(changed).await?;
        self.commit_change(change, shield).await?;
        self.instance().programs.forget(live.id);
        self.instance().events.forget(live.id);
        self.plan_event(&stored);
        Ok(Done::ok())
    }

    /// RENAME TO: the privilege for the place, and another name.
    fn new_name(&self, statement: &AlterEvent<'_>, old: &EventName) -> Result<Option<EventName>, SqlError> {
        let Some(rename) = statement.rename else { return Ok(None) };
        let new = self.program_name(rename)?;
        if new.0 == old.0 && new.1.to_lowercase() == old.1.to_lowercase() {
            return Err(ER_EVENT_SAME_NAME.plain());
        }
        self.require_database(Privilege::Event, &new.0)?;
        self.require_changeable(&new.0)?;
        self.instance().catalog().require_database(&new.0)?;
        Ok(Some(new))
    }

    /// The event as the statement wants it.
    fn altered(
        &self,
        statement: &AlterEvent<'_>,
        live: &Arc<LiveProgram>,
        timing: Option<Timing>,
        request: Request<'_>,
    ) -> Result<ProgramDef, SqlError> {
        let mut changed = live.definition.clone();
        let head = &statement.head;
        let text = |name: &'static str| self.variables().by_name(name).as_text().to_owned();
        (changed.definer_user, changed.definer_host) = self.definer_of(statement.definer)?;
        changed.charset_client = text("character_set_client");
        changed.collation_connection = text("collation_connection");
        let database = self.instance().catalog().require_database(&changed.database)?;
        changed.collation_database = database.collation.name().to_owned();
        changed.altered_us = self.now_utc_micros();
        if let Some(comment) = head.comment {
            comment.clone_into(&mut changed.comment);
        }
        if let Some(event) = &mut changed.event {
            event.preserves = head.preserves.unwrap_or(event.preserves);
            let was = event.state;
            if let Some(timing) = timing {
                if self.is_over(&timing) {
                    if !event.preserves {
                        return Err(ER_EVENT_CANNOT_ALTER_IN_THE_PAST.plain());
                    }
                    event.state = head.status.map_or(EventState::Enabled, state_of);
                    self.disable_past(event);
                } else {
                    event.state = head.status.map_or(was, state_of);
                }
                self.settings().time_zone.name().clone_into(&mut event.time_zone);
                set_timing(event, timing);
            } else {
                event.state = head.status.map_or(was, state_of);
            }
        }
        if let Some(body) = &statement.body {
            changed.sql_mode = self.settings().sql_mode;
            changed.body = String::from_utf8_lossy(body.span.of(request.text)).into_owned();
            self.read_program(&changed)?;
        }
        Ok(changed)
    }

    /// The scheduler learns of the event.
    pub(super) fn plan_event(&self, stored: &Arc<LiveProgram>) {
        if self.instance().events.is_on() {
            self.instance().events.add(stored, self.now_utc_micros());
        }
    }
}

fn set_timing(event: &mut EventDef, timing: Timing) {
    event.at_us = timing.at_us;
    event.every = timing.every;
    event.starts_us = timing.starts_us;
    event.ends_us = timing.ends_us;
}

fn state_of(status: EventStatus) -> EventState {
    match status {
        EventStatus::Enabled => EventState::Enabled,
        EventStatus::Disabled => EventState::Disabled,
        EventStatus::DisabledOnReplica => EventState::DisabledOnReplica,
    }
}

const ER_WARN_DEPRECATED_WORDS: datum::ErrorCode = datum::ErrorCode::new(
    1287,
    "HY000",
    "%s is deprecated and will be removed in a future release. Please use %s instead",
);
const ER_EVENT_SAME_NAME: datum::ErrorCode =
    datum::ErrorCode::new(1551, "HY000", "Same old and new event name");
const ER_EVENT_CANNOT_ALTER_IN_THE_PAST: datum::ErrorCode = datum::ErrorCode::new(
    1589,
    "HY000",
    "Event execution time is in the past and ON COMPLETION NOT PRESERVE is set. The event was not changed. Specify a time in the future.",
);
