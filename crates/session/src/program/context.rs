//! What a program has for itself while it runs: account, sql_mode and database.
//!
//! Invariant: contexts end in the opposite order of their beginning, and each puts back what it found. A statement that is
//! dropped leaves them to whoever ran it (`leave_programs`).
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use auth::Privilege;
use datum::{ColumnType, SqlError, SqlMode, Value, error_code};
use expression::{EvalContext, StatementSettings};
use instance::SharedProgram;
use parser::ast::RoutineKind;
use schema::{ProgramKind, TableId};
use variables::Setting;

use crate::privileges::Privileges;
use crate::session::Session;
use session_state::diagnostics::Area;

/// Programs call each other this deep at most: a procedure itself as often as `max_sp_recursion_depth` can allow, and as much again.
const PROGRAM_DEPTH_MAX: usize = 512;

/// The programs that run in a session, and what they leave for each other.
#[derive(Default)]
pub(crate) struct ProgramStack {
    contexts: Vec<Context>,
    /// What a statement inside has given to variables of the innermost program.
    pub assigned: Vec<(usize, Value, ColumnType)>,
    /// What does not fit is made to fit without a word: GET DIAGNOSTICS.
    pub assigns_silently: bool,
    /// The conditions that running handlers have been called for, the innermost last.
    pub handled: Vec<Area>,
    /// What NOW() is for the statement that runs, and for what runs inside it.
    pub statement_time_us: i64,
    /// The statements that wait for a function or trigger.
    pub busy: Vec<BusyStatement>,
    /// The statement that begins is a DO: its values are nobody's.
    pub drops_values: bool,
    /// For expressions that are evaluated without an execution, one after the other.
    pub spare_eval: Option<Box<EvalContext>>,
    /// What it has in between.
    pub no_settings: Arc<StatementSettings>,
}

/// A statement that calls programs.
pub(crate) struct BusyStatement {
    pub tables: Vec<TableId>,
    pub strictness: Strictness,
    /// IGNORE, and DO: what functions and triggers take without a statement of their own, which are arguments and rows of
    /// cursors, is made to fit.
    pub makes_fit: bool,
}

/// What a statement makes of warnings in the programs that it calls, where their own mode is strict too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strictness {
    /// They stay warnings.
    None,
    /// Those of changes of rows and of expressions are errors.
    Change,
    /// Those of queries and of SET of user variables are errors as well.
    Assignment,
}

struct Context {
    id: u64,
    /// A function or trigger, or called by one.
    is_inside_statement: bool,
    /// It is one itself: a function, a trigger.
    inside_what: Option<&'static str>,
    /// It runs with the rights of its definer, whom errors name.
    is_definers: bool,
    sql_mode: SqlMode,
    account: Option<SavedAccount>,
    /// The database that was current before, if it was another one.
    database: Option<Option<Arc<str>>>,
    handled: usize,
    last_insert_id: Option<u64>,
    /// As of the statement that calls it; a procedure is called by CALL.
    makes_fit: bool,
}

struct SavedAccount {
    privileges: Privileges,
    user: String,
    host: String,
}

impl ProgramStack {
    pub fn depth(&self) -> usize {
        self.contexts.len()
    }

    /// Whether what runs is part of a statement: it neither ends the transaction nor answers the client.
    pub fn is_inside_statement(&self) -> bool {
        self.contexts.last().is_some_and(|context| context.is_inside_statement)
    }

    /// What the function or trigger that runs is called in errors: a trigger, where one is anywhere around.
    pub fn inside_what(&self) -> &'static str {
        let has_trigger = self.contexts.iter().any(|context| context.inside_what == Some("trigger"));
        if has_trigger { "trigger" } else { "function" }
    }

    /// The rights are those of a definer who is not the client.
    pub fn are_definers(&self) -> bool {
        self.contexts.iter().any(|context| context.is_definers)
    }

    /// What the statements around what runs make of its warnings.
    pub fn strictness(&self) -> Strictness {
        self.busy.iter().map(|statement| statement.strictness).max().unwrap_or(Strictness::None)
    }

    /// Whether arguments of functions that the statement calls are made to fit.
    pub fn makes_arguments_fit(&self) -> bool {
        self.busy.last().is_some_and(|statement| statement.makes_fit)
    }

    /// Whether rows of cursors are made to fit in the program that runs.
    pub fn makes_rows_fit(&self) -> bool {
        self.contexts.last().is_some_and(|context| context.makes_fit)
    }

    /// How many calls of the program have not ended.
    fn count(&self, id: u64) -> usize {
        self.contexts.iter().filter(|context| context.id == id).count()
    }
}

impl Session {
    /// A program begins. Every `enter_program` is followed by `leave_programs`, also after an error.
    pub(super) fn enter_program(&mut self, shared: &SharedProgram) -> Result<(), SqlError> {
        self.check_recursion(shared)?;
        let definition = &shared.live.definition;
        let is_inside_statement = self.programs.is_inside_statement()
            || matches!(shared.program.kind, RoutineKind::Function | RoutineKind::Trigger);
        let keeps_id = matches!(shared.program.kind, RoutineKind::Function | RoutineKind::Trigger);
        let mut context = Context {
            id: shared.live.id,
            is_inside_statement,
            inside_what: match shared.program.kind {
                RoutineKind::Function => Some("function"),
                RoutineKind::Trigger => Some("trigger"),
                _ => None,
            },
            is_definers: shared.program.kind == RoutineKind::Event,
            sql_mode: self.settings.sql_mode,
            account: None,
            database: None,
            handled: self.programs.handled.len(),
            last_insert_id: keeps_id.then(|| self.shared.last_insert_id.load(Relaxed)),
            makes_fit: keeps_id && self.programs.makes_arguments_fit(),
        };
        if !definition.as_invoker {
            context.account = self.become_definer(&definition.definer_user, &definition.definer_host)?;
            context.is_definers |= context.account.is_some();
        }
        self.take_sql_mode(definition.sql_mode);
        if self.database.as_deref() != Some(definition.database.as_str()) {
            context.database = Some(self.database.clone());
            self.set_database(Some(definition.database.as_str().into()));
        }
        let is_another = context.account.is_some();
        self.programs.contexts.push(context);
        let needed = match shared.live.definition.kind {
            kind @ (ProgramKind::Procedure | ProgramKind::Function) if is_another => kind,
            ProgramKind::Trigger => return self.require_trigger(shared),
            _ => return Ok(()),
        };
        self.require_routine(Privilege::Execute, needed, &definition.database, &definition.name)
    }

    /// Programs beyond the outermost `depth` have ended, or were dropped.
    pub(crate) fn leave_programs(&mut self, depth: usize) {
        while self.programs.contexts.len() > depth
            && let Some(context) = self.programs.contexts.pop()
        {
            if let Some(database) = context.database {
                self.set_database(database);
            }
            self.take_sql_mode(context.sql_mode);
            if let Some(account) = context.account {
                self.privileges = account.privileges;
                self.connection.account_user = account.user;
                self.connection.account_host = account.host;
                self.forget_views();
            }
            if let Some(id) = context.last_insert_id {
                self.shared.last_insert_id.store(id, Relaxed);
            }
            self.programs.handled.truncate(context.handled);
            self.programs.assigned.clear();
        }
    }

    fn take_sql_mode(&mut self, mode: SqlMode) {
        if mode != self.settings.sql_mode {
            self.variables.set_by_name("sql_mode", Setting::text(&mode.to_text()));
            self.refresh_settings();
        }
    }

    pub(super) fn check_recursion(&self, shared: &SharedProgram) -> Result<(), SqlError> {
        let count = self.programs.count(shared.live.id);
        let is_procedure = shared.program.kind == RoutineKind::Procedure;
        let allowed = self.settings.program_recursion_max;
        if count > 0 && !is_procedure && shared.program.kind == RoutineKind::Function {
            return Err(error_code::ER_SP_NO_RECURSION.plain());
        }
        if is_procedure && count as u64 > allowed {
            let name = &shared.live.definition.name;
            // A procedure that may not begin is none for CALL, as in MySQL.
            let full = format!("{}.{name}", shared.live.definition.database);
            let unknown = error_code::ER_SP_DOES_NOT_EXIST.with(&[&"PROCEDURE", &full]);
            self.shared.diagnostics.lock().expect_follower(unknown);
            return Err(error_code::ER_SP_RECURSION_LIMIT.with(&[&allowed, &name]));
        }
        if self.programs.depth() >= PROGRAM_DEPTH_MAX {
            return Err(ER_STACK_OVERRUN.plain());
        }
        Ok(())
    }

    /// What a program may do is what its definer may.
    fn become_definer(&mut self, user: &str, host: &str) -> Result<Option<SavedAccount>, SqlError> {
        let name = self.privileges.account_name();
        if name.user == user && name.host.as_str() == host {
            return Ok(None);
        }
        let privileges = Privileges::of_account(&self.instance, user, host);
        if privileges.account().is_none() {
            return Err(error_code::ER_NO_SUCH_USER.with(&[&user, &host]));
        }
        let saved = SavedAccount {
            privileges: std::mem::replace(&mut self.privileges, privileges),
            user: std::mem::replace(&mut self.connection.account_user, user.to_owned()),
            host: std::mem::replace(&mut self.connection.account_host, host.to_owned()),
        };
        self.forget_views();
        Ok(Some(saved))
    }
}

pub(super) const ER_STACK_OVERRUN: datum::ErrorCode =
    datum::ErrorCode::new(1436, "HY000", "Thread stack overrun: stored programs call each other too deep");
