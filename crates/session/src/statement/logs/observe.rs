//! What a statement did, from its beginning to its end: for the summaries of `performance_schema`, the slow log and the
//! audit log.
//!
//! Invariant: each statement that a client sends is told once, when its outcome is known. A statement inside another is part
//! of the outer one. The figures of a statement are the differences of the session's own counters.
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use datum::SqlError;
use env::{TaskWaits, WaitCause};
use parser::normal_text;
use telemetry::{DigestEntry, TransactionEvent};

use crate::session::Session;
use crate::statement::Done;
use instance::{PreparedPlan, PreparedSight};
use session_state::ended::Ended;
use session_state::ended::Marks;
use session_state::event_name;

/// Where a kept plan keeps the digest of its statements.
pub(crate) type KeptDigest = Arc<OnceLock<Arc<DigestEntry>>>;

/// What is known of the statement that runs.
#[derive(Default)]
pub(crate) struct Observation {
    /// When the command arrived; `None` between statements.
    began: Option<Instant>,
    /// When the last statement ended.
    pub ended: Option<Instant>,
    before: Marks,
    pub waits: TaskWaits,
    /// Whether its stages and single waits are told.
    pub is_watched: bool,
    /// How long it had the thread, if that is measured.
    pub cpu_ns: u64,
    name: &'static str,
    /// Of the last statement whose plan knew it; of the one that runs, if `is_digest_known`.
    digest: Option<Arc<DigestEntry>>,
    is_digest_known: bool,
    /// Where the plan that runs wants to know it.
    plan_digest: Option<KeptDigest>,
    reads_without_index: bool,
    /// The prepared statement that it executes.
    pub prepared: Option<Arc<PreparedSight>>,
    /// The transaction that was open when the last statement ended, by its number.
    transaction: Option<(u64, u64)>,
    /// Statements so far.
    pub count: u64,
    pub profiles: crate::statement::logs::profile::Profiles,
}

impl Session {
    /// A command has arrived: the time of its first statement counts from here.
    pub(crate) fn begin_command(&mut self) -> Instant {
        *self.observed.began.insert(Instant::now())
    }

    /// A statement begins.
    pub(crate) fn begin_observation(&mut self) {
        let observed = &mut self.observed;
        observed.began.get_or_insert_with(Instant::now);
        observed.before = Marks::of(&self.process.counters);
        observed.waits = TaskWaits::default();
        observed.cpu_ns = 0;
        observed.name = event_name::ERROR;
        observed.is_digest_known = false;
        observed.plan_digest = None;
        observed.reads_without_index = false;
        self.begin_watching();
    }

    /// It is none that is summed up.
    pub(crate) fn forget_observation(&mut self) {
        self.observed.began = None;
        self.observed.prepared = None;
        self.forget_watching();
    }

    /// What kind of statement it is; the outermost one says it first.
    pub(crate) fn observe_name(&mut self, name: &'static str) {
        if self.observed.name == event_name::ERROR {
            self.observed.name = name;
        }
    }

    /// It runs this plan. What a program inside it runs is not told: CALL and what calls a function have digests of their own.
    pub(crate) fn observe_plan(&mut self, prepared: &PreparedPlan) {
        if self.programs.depth() > 0 {
            return;
        }
        self.observed.name = event_name::of_plan(&prepared.plan);
        let known = prepared.digest.get();
        self.observed.is_digest_known = known.is_some();
        match (known, &self.observed.digest) {
            // Counting references would be waited for by others that run the same statement.
            (Some(known), Some(last)) if Arc::ptr_eq(known, last) => {}
            (Some(known), _) => self.observed.digest = Some(known.clone()),
            (None, _) => self.observed.plan_digest = Some(prepared.digest.clone()),
        }
        self.observed.reads_without_index = prepared.counted.reads_without_index;
    }

    /// It has come to an end; what its client is told follows.
    pub(crate) fn end_observation(&mut self, text: &[u8], result: &Result<Done, SqlError>) {
        let prepared = self.observed.prepared.take();
        let Some(began) = self.observed.began.take() else { return };
        self.end_stages();
        self.process.forget_stages();
        let now = *self.observed.ended.insert(Instant::now());
        let marks = Marks::of(&self.process.counters).since(&self.observed.before);
        let waits = std::mem::take(&mut self.observed.waits);
        let mut figures = marks.figures();
        figures.lock_time_ns =
            1000 * (waits.time_us(WaitCause::RowLock) + waits.time_us(WaitCause::MetadataLock));
        figures.cpu_time_ns = self.observed.cpu_ns;
        figures.no_index_used = u64::from(self.observed.reads_without_index);
        match result {
            Ok(Done::Ok(effects)) => figures.rows_affected = effects.affected_rows,
            Ok(Done::Rows { found }) => figures.rows_sent = *found,
            Ok(Done::Made(rows)) => figures.rows_sent = rows.rows.len() as u64,
            Ok(Done::Cursor) => {}
            Err(_) => figures.errors = 1,
        }
        instance::add(&self.process.counters.rows_sent, figures.rows_sent);
        figures.warnings = self.shared.diagnostics.lock().count();
        let ended = Ended {
            name: self.observed.name,
            text,
            elapsed_ns: (now - began).as_nanos() as u64,
            ended_ns: self.instance.event_clock_ns(now),
            figures,
            marks,
            waits,
            error: result.as_ref().err(),
            reads_without_index: self.observed.reads_without_index,
        };
        self.observed.count += 1;
        if let Some(prepared) = prepared {
            prepared.add(ended.elapsed_ns, &ended.figures);
        }
        if self.instance.telemetry.consumers.is_on() && self.process.is_instrumented() {
            self.sum_up(&ended);
        }
        self.begin_idle();
        self.observe_transaction(&ended);
        self.log_ended(&ended);
        self.note_profile(&ended);
    }

    /// Adds the statement to the summaries.
    fn sum_up(&self, ended: &Ended<'_>) {
        let telemetry = &self.instance.telemetry;
        let now_us = self.instance.unix_us_of(ended.ended_ns);
        let is_wanted = telemetry.consumers.statements_digest.load(Relaxed);
        let found =
            if is_wanted && !self.observed.is_digest_known { self.find_digest(ended.text) } else { None };
        let known = self.observed.digest.as_ref().filter(|_| is_wanted && self.observed.is_digest_known);
        let digest = known.or(found.as_ref()).map(|entry| telemetry.digests.listed(entry));
        if let Some(digest) = digest {
            digest.add(ended.text, now_us, ended.elapsed_ns, &ended.figures);
        }
        let error = ended.error.map(|error| (error.errno, now_us));
        let has_history = self.process.has_history();
        let keeps_history = has_history && telemetry.consumers.statements_history.load(Relaxed);
        let keeps_more = has_history && telemetry.consumers.statements_history_long.load(Relaxed);
        let measured = (!telemetry.instruments.all_causes_are_on())
            .then(|| ended.waits.only(|cause| telemetry.instruments.is_on(cause)));
        let (thread, database) = (u64::from(self.process.id.0), &self.database);
        self.process.figures.end_statement(
            measured.as_ref().unwrap_or(&ended.waits),
            error,
            keeps_history,
            |event| {
                event.name = ended.name;
                event.ended_ns = ended.ended_ns;
                event.began_ns = ended.ended_ns.saturating_sub(ended.elapsed_ns);
                event.set_text(ended.text);
                event.set_digest(digest);
                event.set_schema(database.as_ref());
                event.figures = ended.figures;
                event.message.clear();
                (event.errno, event.sqlstate) = (0, *b"00000");
                if let Some(error) = ended.error {
                    (event.errno, event.sqlstate) = (error.errno, error.sqlstate);
                    event.message.push_str(&error.message);
                }
            },
            |event| {
                if keeps_more {
                    telemetry.history_long.push(thread, event);
                }
            },
        );
    }

    /// The entry of a statement's digest, which its plan then knows for the next one.
    fn find_digest(&self, text: &[u8]) -> Option<Arc<DigestEntry>> {
        let mode = self.settings.parser_mode(self.connection.capabilities.ignore_space);
        let normal = normal_text(text, mode, DIGEST_LENGTH_MAX)?;
        let entry = self.instance.telemetry.digests.entry(self.database.as_ref(), &normal);
        // What found no room may find some later.
        if let Some(plan) = self.observed.plan_digest.as_ref().filter(|_| entry.digest.is_some()) {
            let _ = plan.set(entry.clone());
        }
        Some(entry)
    }

    /// Tells of a transaction that has begun or ended with the statement.
    fn observe_transaction(&mut self, ended: &Ended<'_>) {
        let (number, is_open) = (self.transaction.begun, self.transaction.is_open());
        let figures = &self.process.figures;
        let known = self.observed.transaction;
        if let Some((open, _)) = known
            && (open != number || !is_open)
        {
            let is_undone = ended.error.is_some() || ended.name == "statement/sql/rollback";
            figures.end_transaction(if is_undone { "ROLLED BACK" } else { "COMMITTED" }, ended.ended_ns);
            self.observed.transaction = None;
        }
        if is_open && self.observed.transaction.is_none() {
            let began_ns = ended.ended_ns.saturating_sub(ended.elapsed_ns);
            let isolation = self.transaction.current.as_ref().map(|transaction| transaction.isolation());
            figures.begin_transaction(TransactionEvent {
                state: "ACTIVE",
                began_ns,
                is_read_only: self.transaction.access == engine::AccessMode::ReadOnly,
                isolation: isolation.map_or("", isolation_words),
                ..TransactionEvent::default()
            });
            self.observed.transaction = Some((number, began_ns));
        }
    }
}

/// As `events_transactions_current` writes it.
fn isolation_words(isolation: engine::Isolation) -> &'static str {
    match isolation {
        engine::Isolation::ReadUncommitted => "READ UNCOMMITTED",
        engine::Isolation::ReadCommitted => "READ COMMITTED",
        engine::Isolation::RepeatableRead => "REPEATABLE READ",
        engine::Isolation::Serializable => "SERIALIZABLE",
    }
}

/// `max_digest_length`.
pub(crate) const DIGEST_LENGTH_MAX: usize = 1024;
