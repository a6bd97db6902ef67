//! One execution of an event, in a session of its own.
//!
//! Invariant: that it is executed is stored before it begins, so no restart executes it again; one that is over and not to be
//! preserved goes after its last execution, however that ended. What its statements have told goes to the error log.
use std::sync::Arc;

use auth::Privilege;
use catalog::{LiveProgram, LockMode, LockName};
use datum::{Severity, SqlError, error_code};
use instance::{DueEvent, Instance, LogLevel, SharedProgram};
use schema::{ProgramDef, ProgramKind};
use session::{ConnectionInfo, Families, Session, Shield};
use variables::Setting;

use crate::caller::Caller;

/// An event that is to be executed now; it may begin on any thread.
pub struct EventRun {
    instance: Arc<Instance>,
    families: &'static dyn Families,
    due: DueEvent,
}

impl EventRun {
    pub(super) fn new(instance: Arc<Instance>, families: &'static dyn Families, due: DueEvent) -> EventRun {
        EventRun { instance, families, due }
    }

    pub async fn run(self) {
        let EventRun { instance, families, due } = self;
        let definition = &due.event.definition;
        let account = (definition.definer_user.as_str(), definition.definer_host.as_str());
        let id = instance.next_connection_id();
        let connection = ConnectionInfo::internal(id, (SCHEDULER_USER, "localhost"), account);
        let mut own = Session::new(instance, families, connection);
        let mut session = Caller(&mut own);
        session.process().update(|activity| {
            activity.user.clone_from(&definition.definer_user);
            activity.host.clone_from(&definition.definer_host);
            activity.command = "Connect";
        });
        match session.note_execution(&due).await {
            Ok(Some(live)) => {
                if !due.is_stale {
                    session.execute_event(&live).await;
                }
                if due.ends
                    && let Err(error) = session.drop_ended(&live).await
                {
                    session.tell_of_event(definition, LogLevel::Error, &error.message);
                }
            }
            // It was dropped or changed meanwhile.
            Ok(None) => {}
            Err(error) => session.tell_of_event(definition, LogLevel::Error, &error.message),
        }
        own.close().await;
    }
}

impl Caller<'_> {
    /// The event as it is now, if it is still the one that was due.
    async fn note_execution(&mut self, due: &DueEvent) -> Result<Option<Arc<LiveProgram>>, SqlError> {
        let _locks = self.lock_event(&due.event.definition).await?;
        let catalog = self.instance().catalog().clone();
        let Some(live) = catalog.program_by_id(due.event.id) else { return Ok(None) };
        if due.is_stale {
            return Ok(Some(live));
        }
        let mut change = catalog.begin_change();
        change.put_event_state(&live, due.state, due.now_us).await?;
        self.commit_unlogged(change, &Shield::default()).await?;
        Ok(catalog.program_by_id(due.event.id))
    }

    async fn lock_event(&self, definition: &ProgramDef) -> Result<Vec<catalog::LockGuard>, SqlError> {
        let (database, name) = (&definition.database, &definition.name);
        let locks = vec![
            (LockName::Database(database.as_str().into()), LockMode::Shared),
            (Session::program_lock(ProgramKind::Event, database, name), LockMode::Exclusive),
        ];
        self.lock_for_change(locks).await
    }

    async fn execute_event(&mut self, live: &Arc<LiveProgram>) {
        let definition = &live.definition;
        let prepared = self.prepare_event(live);
        for condition in self.run_event(prepared, definition.body.as_bytes()).await {
            let level = match condition.severity {
                Severity::Error => LogLevel::Error,
                Severity::Warning => LogLevel::Warning,
                Severity::Note => LogLevel::Note,
            };
            self.tell_of_event(definition, level, &condition.error.message);
        }
    }

    /// Everything that the body is to find, or why it may not run.
    fn prepare_event(&mut self, live: &Arc<LiveProgram>) -> Result<Arc<SharedProgram>, SqlError> {
        let definition = &live.definition;
        let (user, host) = (&definition.definer_user, &definition.definer_host);
        let refuse = |why: &str| {
            let (database, name) = (&definition.database, &definition.name);
            let told =
                format!("Event Scheduler: [{user}@{host}].[{database}.{name}] execution failed, {why}");
            self.instance().log_at(LogLevel::Error, &told);
        };
        if self.privileges().account().is_none() {
            refuse("failed to authenticate the user.");
            return Err(error_code::ER_NO_SUCH_USER.with(&[user, host]));
        }
        if self.require_database(Privilege::Event, &definition.database).is_err() {
            refuse("user no longer has EVENT privilege.");
            return Err(error_code::ER_DBACCESS_DENIED_ERROR.with(&[user, host, &definition.database]));
        }
        let shared = self.shared_program(live)?;
        if let Some(collation) = collation::CollationId::by_name(&definition.collation_connection) {
            self.set_client_collation(collation);
        }
        self.variables_mut().set_by_name("character_set_client", Setting::text(&definition.charset_client));
        if let Some(event) = &definition.event {
            self.variables_mut().set_by_name("time_zone", Setting::text(&event.time_zone));
        }
        self.refresh_settings();
        self.set_database(Some(definition.database.as_str().into()));
        Ok(shared)
    }

    /// The event has been executed for the last time.
    async fn drop_ended(&mut self, live: &Arc<LiveProgram>) -> Result<(), SqlError> {
        let _locks = self.lock_event(&live.definition).await?;
        let catalog = self.instance().catalog().clone();
        let Some(live) = catalog.program_by_id(live.id) else { return Ok(()) };
        let mut change = catalog.begin_change();
        change.remove_program(&live).await?;
        self.commit_unlogged(change, &Shield::default()).await?;
        self.instance().programs.forget(live.id);
        Ok(())
    }

    fn tell_of_event(&self, definition: &ProgramDef, level: LogLevel, message: &str) {
        let (user, host) = (&definition.definer_user, &definition.definer_host);
        let (database, name) = (&definition.database, &definition.name);
        let told = format!("Event Scheduler: [{user}@{host}][{database}.{name}] {message}");
        self.instance().log_at(level, &told);
    }
}

pub const SCHEDULER_USER: &str = "event_scheduler";
