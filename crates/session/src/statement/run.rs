//! COM_QUERY: takes a text apart into statements and brings each to its end in the sink.
//!
//! 1. The whole text is looked up in the plan cache by its digest; a hit needs no parse.
//! 2. Otherwise statements are parsed and run one after the other; the first error ends the rest.
//! 3. Whatever happens, the sink gets one end for each statement that was begun.
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use bumpalo::Bump;
use collation::Charset;
use datum::{SqlError, error_code};
use parser::ast::{Show, StatementKind};
use parser::{DigestOutput, ParseError, ParseOptions, parse_one};

use super::work::{ParsedStatement, SavedPlan, StatementWork};
use super::{Done, Request};
use crate::session::Session;
use crate::statement::logs::binary_log::names_identifiers;
use crate::statement::settings::hinted_settings::setting_hints;
use instance::{KillKind, PieceRows, count};
use session_state::guard::{Ended, Limits, Shield, run_guarded};
use session_state::sink::{OkInfo, ResultSink, StatusFlags, StatusInfo};
use session_state::watch::Watch;
use variables::Completion;

/// The trees of common statements fit.
const ARENA_BYTES_KEPT_MAX: usize = 16 * 1024;
const LITERALS_KEPT_MAX: usize = 256;

impl Session {
    /// COM_QUERY: one statement, or several when the client may send several.
    pub async fn query(&mut self, sql: &[u8], sink: &mut dyn ResultSink) {
        let began = self.begin_command();
        // Not where the statement starts: a KILL while its text is parsed counts.
        self.process.kill.clear_query();
        self.show_activity("Query", Some(sql), began);
        self.log_command("Query", sql);
        let arena = std::mem::take(&mut self.arena);
        let text = self.to_utf8(sql);
        self.run_text(&text, &arena, sink).await;
        self.recycle(arena);
        self.show_rest();
    }

    /// Keeps the arena and the literals' list for the next text, unless a long text has made them large: a session
    /// may wait for hours.
    fn recycle(&mut self, mut arena: Bump) {
        if arena.allocated_bytes() <= ARENA_BYTES_KEPT_MAX {
            arena.reset();
            self.arena = arena;
        }
        if self.digest.literals.capacity() > LITERALS_KEPT_MAX {
            self.digest = DigestOutput::default();
        }
    }

    /// The parser reads UTF-8; texts of other character sets are converted as a whole.
    pub fn to_utf8<'t>(&self, sql: &'t [u8]) -> Cow<'t, [u8]> {
        // Some clients send the end of a C string as well.
        let sql = sql.strip_suffix(b"\0").unwrap_or(sql);
        match self.settings.client_charset {
            Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Binary => Cow::Borrowed(sql),
            other if sql.is_ascii() || other == Charset::Ascii => Cow::Borrowed(sql),
            other => Cow::Owned(other.convert_to(Charset::Utf8mb4, sql).bytes),
        }
    }

    async fn run_text(&mut self, text: &[u8], arena: &Bump, sink: &mut dyn ResultSink) {
        if let Some(digest) = self.digest_of(text) {
            let mut kept = self.cached_plan(text, digest);
            if kept.is_some() && self.read_cold_ranges().await {
                kept = self.cached_plan(text, digest);
            }
            if let Some((prepared, mut parameters)) = kept {
                self.start_statement(false);
                let limited = !prepared.plan.is_change();
                let work = SavedPlan {
                    prepared,
                    rows: &PieceRows::Given,
                    traced: None,
                    parameters: &mut parameters,
                };
                let result = self.run_guarded_statement(limited, work, sink).await;
                if result.is_ok() || !self.statements.plan_is_stale() {
                    self.end_observation(text, &result);
                    self.finish(result, false, sink).await;
                    return;
                }
            }
            // Boxed: parsing and planning take kilobytes that the session's other statements need not carry.
            Box::pin(self.run_statements(text, arena, Some(digest), sink)).await;
        } else {
            Box::pin(self.run_statements(text, arena, None, sink)).await;
        }
    }

    async fn run_statements(
        &mut self,
        text: &[u8],
        arena: &Bump,
        digest: Option<parser::Digest>,
        sink: &mut dyn ResultSink,
    ) {
        if names_identifiers(text) {
            self.refresh_identifiers().await;
        }
        let mut rest = text;
        let mut is_first = true;
        loop {
            // SET sql_mode changes how the next statement of the text reads.
            let options = self.parse_options(false);
            let process = self.process.clone();
            let parsed = env::coroutine::unless(&|| process.kill.state().is_some(), || {
                parse_one(rest, options, arena).map_err(|error| parse_error(&error))
            });
            let parsed = match parsed.unwrap_or_else(|| Err(error_code::ER_QUERY_INTERRUPTED.plain())) {
                Ok(parsed) => parsed,
                Err(error) => {
                    self.start_statement(false);
                    let result = Err(error);
                    self.end_observation(rest, &result);
                    return self.finish(result, false, sink).await;
                }
            };
            let following = &rest[parsed.consumed.min(rest.len())..];
            let has_more = !is_blank(following, options);
            if has_more && !self.connection.capabilities.multi_statements {
                self.start_statement(false);
                let result = Err(syntax_error_at(text, text.len() - following.len()));
                self.end_observation(text, &result);
                return self.finish(result, false, sink).await;
            }
            if matches!(parsed.statement.kind, StatementKind::Empty) && !is_first {
                return;
            }
            self.start_statement(keeps_conditions(&parsed.statement.kind));
            let request = Request {
                statement: &parsed.statement,
                text: rest,
                parameters: &[],
                parameter_types: &[],
                locals: &[],
            };
            let digest = digest.filter(|_| !has_more && is_first && parsed.literal_use.is_shareable());
            let work = ParsedStatement { request, digest };
            let limited = matches!(parsed.statement.kind, StatementKind::Query(_));
            let before = self.enter_hints(&setting_hints(&parsed.statement, options.mode.ansi_quotes));
            let result = self.run_guarded_statement(limited, work, sink).await;
            self.leave_hints(before);
            let failed = result.is_err();
            self.end_observation(&rest[..parsed.consumed.min(rest.len())], &result);
            self.finish(result, has_more, sink).await;
            if failed || !has_more {
                return;
            }
            rest = following;
            is_first = false;
        }
    }

    /// How a text is parsed under the session's settings.
    pub fn parse_options(&self, parameters: bool) -> ParseOptions {
        let mode = self.settings.parser_mode(self.connection.capabilities.ignore_space);
        ParseOptions { mode, parameters }
    }

    /// What every statement starts with.
    pub(crate) fn start_statement(&mut self, keeps_conditions: bool) {
        self.look_at_privileges();
        count(&self.process.counters.queries);
        count(&self.process.counters.questions);
        self.statements.begin();
        self.begin_observation();
        self.programs.busy.clear();
        self.reads_conditions = keeps_conditions;
        if !keeps_conditions {
            let (kept_max, keeps_notes) = (self.settings.max_error_count, self.settings.keeps_notes);
            self.shared.diagnostics.lock().start(kept_max, keeps_notes);
        }
    }

    /// Runs one statement, with KILL and the time limit able to end it, and undoes what an error leaves behind.
    pub(crate) async fn run_guarded_statement(
        &mut self,
        limited: bool,
        work: impl StatementWork,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let process = self.process.clone();
        let (depth, programs) = (self.statements.depth(), self.programs.depth());
        let shield = Shield::default();
        let waits = RefCell::new(None);
        let limit_ms = if limited { self.settings.max_execution_time_ms } else { 0 };
        if limit_ms > 0 {
            count(&self.process.counters.max_execution_time_set);
        }
        let time = (limit_ms > 0).then(|| Duration::from_millis(limit_ms));
        let time_limit = time.map(|time| self.instance.timer().sleep(time));
        let shared = self.shared.clone();
        let outer_deadline = shared.deadline.lock().take();
        let deadline = time.map(|time| Instant::now() + time);
        *shared.deadline.lock() = deadline.or(outer_deadline);
        let cpu_ns = Cell::new(0);
        // What a program runs is a part of the statement that calls it.
        let consumers = &self.instance.telemetry.consumers;
        let measures_cpu = programs == 0 && consumers.statements_cpu.load(Relaxed);
        let identifier_use = work.identifier_use();
        let instance = self.instance.clone();
        let watch = (self.observed.is_watched && programs == 0).then(|| Watch::new(&instance, &process));
        let ended = {
            // Pinned where it is made: passing it by value would copy kilobytes of state.
            let run = pin!(work.run(self, &shield, sink));
            let watch = watch.as_ref();
            let limits =
                Limits { kill: &process.kill, shield: &shield, memory: &shared.memory, watch, deadline };
            run_guarded(limits, (&waits, measures_cpu.then_some(&cpu_ns)), time_limit, run).await
        };
        if let Some(waits) = waits.into_inner() {
            self.observed.waits.add(&waits);
        }
        self.observed.cpu_ns += cpu_ns.get();
        *shared.deadline.lock() = outer_deadline;
        self.statements.leave_to(depth);
        self.leave_programs(programs);
        let result = match ended {
            Ended::ByItself(result) => result,
            Ended::Killed => Err(error_code::ER_QUERY_INTERRUPTED.plain()),
            Ended::OutOfTime => {
                count(&self.process.counters.max_execution_time_exceeded);
                Err(error_code::ER_QUERY_TIMEOUT.plain())
            }
            Ended::OutOfMemory(error) => Err(error),
        };
        let result = match result {
            Ok(done) => Ok(done),
            Err(error) => Err(self.undo_statement(error).await),
        };
        let result = match self.identifier.is_automatic() {
            true => result,
            false => Box::pin(self.settle_identifier(identifier_use, result)).await,
        };
        self.statement_passage = None;
        self.backup_passage = None;
        result
    }

    /// Ends the statement in the sink.
    pub(crate) async fn finish(
        &mut self,
        result: Result<Done, SqlError>,
        has_more: bool,
        sink: &mut dyn ResultSink,
    ) {
        let result = match result {
            Ok(Done::Made(rows)) => {
                rows.write(sink, &self.settings);
                Ok(Done::Rows { found: rows.rows.len() as u64 })
            }
            other => other,
        };
        self.process.kill.clear_query();
        if self.shared.memory.take_is_over() {
            self.close_after_answer();
        }
        match &result {
            Ok(Done::Ok(effects)) => self.shared.row_count.store(effects.affected_rows as i64, Relaxed),
            Ok(Done::Rows { found }) => {
                self.shared.row_count.store(-1, Relaxed);
                self.shared.found_rows.store(*found, Relaxed);
            }
            _ => self.shared.row_count.store(-1, Relaxed),
        }
        self.remove_doomed().await;
        let changes = std::mem::take(&mut self.changes);
        let status = self
            .status_flags()
            .with_if(has_more, StatusFlags::MORE_RESULTS)
            .with_if(!changes.is_empty(), StatusFlags::STATE_CHANGED);
        let warnings = if self.reads_conditions { 0 } else { self.shared.diagnostics.lock().warning_count() };
        match result {
            Ok(Done::Ok(effects)) => sink.ok(&OkInfo {
                affected_rows: effects.affected_rows,
                last_insert_id: effects.last_insert_id,
                status,
                warnings,
                info: effects.info,
                changes,
            }),
            Ok(Done::Cursor) => {
                let status = status.with(StatusFlags::CURSOR_EXISTS);
                sink.cursor_opened(&StatusInfo { status, warnings, changes });
            }
            Ok(Done::Rows { .. } | Done::Made(_)) => sink.end_rows(&StatusInfo { status, warnings, changes }),
            Err(error) => {
                self.shared.diagnostics.lock().add_error(&error);
                sink.error(&error);
            }
        }
        if sink.needs_flush() {
            // A client that is gone is noticed by the connection.
            let _ = sink.flush().await;
        }
    }

    /// Undoes a failed statement: alone inside a transaction or another statement, else with its whole transaction.
    pub(crate) async fn undo_statement(&mut self, error: SqlError) -> SqlError {
        self.filled = None;
        let savepoint = self.statements.savepoint();
        let is_inner = self.statements.depth() > 0;
        let commit_failed = std::mem::take(&mut self.commit_is_due);
        let ends_transaction = commit_failed
            || (!self.transaction.explicit && !is_inner)
            || error.is(&error_code::ER_LOCK_DEADLOCK)
            || error.is(&error_code::ER_CHECKREAD);
        if ends_transaction && self.transaction.explicit {
            self.branch_failed(&error);
        }
        if !ends_transaction && self.programs.is_inside_statement() {
            // As in MySQL: what it has done before it failed is undone with the statement around, or stays with it.
            return error;
        }
        let undone = match (&mut self.transaction.current, savepoint) {
            (Some(transaction), Some(savepoint)) if !ends_transaction => {
                transaction.rollback_to(savepoint).await
            }
            (Some(_), None) if !ends_transaction => Ok(()),
            _ => {
                self.statements.forget_savepoints();
                self.transaction.rollback().await
            }
        };
        match undone {
            Ok(()) => error,
            // What could not be undone must not be committed later.
            Err(cause) => {
                self.statements.forget_savepoints();
                let _ = self.transaction.rollback().await;
                session_state::transaction_control::transaction_error(cause)
            }
        }
    }

    /// COMMIT RELEASE and `completion_type`.
    pub(crate) fn release_if(&mut self, completion: Completion) {
        if completion == Completion::Release {
            self.close_after_answer();
        }
    }

    fn close_after_answer(&mut self) {
        self.ends = true;
        self.process.kill.kill(KillKind::Connection);
    }
}

/// The statements that read the conditions of the one before them.
pub(crate) fn keeps_conditions(kind: &StatementKind<'_>) -> bool {
    match kind {
        StatementKind::Show(show) => {
            matches!(show, Show::Warnings(_) | Show::Errors(_) | Show::CountWarnings | Show::CountErrors)
        }
        StatementKind::GetDiagnostics(_) => true,
        _ => false,
    }
}

pub fn parse_error(error: &ParseError) -> SqlError {
    let sqlstate = error.sqlstate().as_bytes().try_into().unwrap_or(*b"HY000");
    SqlError { errno: error.errno(), sqlstate, message: error.message() }
}

/// Whether only white space, comments and semicolons follow.
fn is_blank(text: &[u8], options: ParseOptions) -> bool {
    if text.iter().all(|byte| byte.is_ascii_whitespace() || *byte == b';') {
        return true;
    }
    let arena = Bump::new();
    matches!(
        parse_one(text, options, &arena),
        Ok(parser::Parsed { statement, consumed, .. })
            if matches!(statement.kind, StatementKind::Empty) && consumed == text.len()
    )
}

/// A second statement where only one may be sent is a syntax error at its start.
pub fn syntax_error_at(text: &[u8], position: usize) -> SqlError {
    let position = position.min(text.len());
    let rest = &text[position..];
    let start = rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    let near = String::from_utf8_lossy(&rest[start..rest.len().min(start + 80)]).into_owned();
    let line = 1 + text[..position + start].iter().filter(|byte| **byte == b'\n').count();
    let what = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server \
                version for the right syntax to use";
    error_code::ER_PARSE_ERROR.with(&[&what, &near, &line])
}
