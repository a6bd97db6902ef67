//! The events of a channel in turn: where a transaction begins, what it does, and its commit.
use std::collections::HashMap;
use std::sync::Arc;

use binlog::{BinlogError, Checksum, Event, Events, GtidEvent, Query, RawEvent, Rows, split_event};
use datum::{ErrorCode, SqlError};
use instance::replication::{
    AppliedTransaction, Channel, Failure, Filters, Part, Relayed, SkippedErrors, Until,
};
use instance::{Instance, LogLevel, unix_now_us};

use super::ApplierSession;
use super::ahead::read_ahead;
use super::created::created_with_rows;
use super::engine_failed;
use super::gathering::Gathering;
use super::prepared::{decides, is_inside_branch};
use super::rows::{Conflicts, MappedTable, is_current};
use super::settling::Settling;
use super::workers::Workers;
use session::Applying;
use session::ConnectionInfo;
use session::Families;
use session::Session;

const ER_REPLICA_CORRUPT_EVENT: ErrorCode =
    ErrorCode::new(1610, "HY000", "Corrupted replication event was detected: %s");
const SYSTEM_USER: &str = "system user";

/// An event that cannot be read.
pub(super) fn event_error(error: &BinlogError) -> SqlError {
    ER_REPLICA_CORRUPT_EVENT.with(&[&error.to_string()])
}

/// Where the applier stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Between transactions.
    Outside,
    /// Behind a transaction's identifier.
    Headed,
    /// Behind BEGIN.
    Inside,
    /// In a transaction that is here already.
    Passing,
    /// The same, behind its BEGIN.
    PassingInside,
}

pub(super) struct Applier {
    pub(super) session: ApplierSession,
    pub(super) channel: Arc<Channel>,
    pub(super) stage: Stage,
    pub(super) tables: HashMap<u64, MappedTable>,
    pub(super) settling: Settling,
    /// Of the transaction that is asked for again.
    pub(super) retries: u64,
    pub(super) filters: Filters,
    pub(super) skipped: SkippedErrors,
    /// The transaction that is applied, as it is told.
    pub(super) current: Option<AppliedTransaction>,
    pub(super) workers: Option<Workers>,
    pub(super) gathering: Gathering,
    /// Tables of earlier statements, as they were mapped then.
    known: Vec<MappedTable>,
    until: Until,
    /// The transaction that comes is not wanted any more.
    is_done: bool,
}

/// Applies what the relay has until it is asked to stop.
pub async fn apply_channel(instance: Arc<Instance>, families: &'static dyn Families, channel: Arc<Channel>) {
    let mut applier = Applier::new(instance.clone(), families, channel.clone());
    channel.status.lock().applier_thread = Some(applier.session.connection().id.0);
    let result = tokio::select! {
        biased;
        result = applier.run() => result,
        never = read_ahead(instance.clone(), channel.clone()) => match never {},
    };
    applier.close_workers().await;
    let settled = applier.settling.all().await.map_err(engine_failed);
    {
        let mut status = channel.status.lock();
        status.applier_doing = "";
        status.applier_thread = None;
        status.applying = None;
        if let Err(error) = result.and(settled) {
            let at_us = unix_now_us();
            let message = error.message.clone();
            status.applier_failure = Failure { number: error.errno, message, at_us };
            instance.log_at(
                LogLevel::Error,
                &format!("replica applier for channel '{}': {}", channel.name, error.message),
            );
        }
    }
    applier.session.0.close().await;
    channel.ended(Part::Applier);
}

impl Applier {
    pub(super) fn new(
        instance: Arc<Instance>,
        families: &'static dyn Families,
        channel: Arc<Channel>,
    ) -> Applier {
        let id = instance.next_connection_id();
        let connection = ConnectionInfo::internal(id, (SYSTEM_USER, ""), ("", ""));
        let session = Session::of_applier(instance, families, connection, channel.clone());
        let session = ApplierSession(session);
        let until = channel.until.lock().clone();
        let filters = channel.filters.lock().clone();
        let skipped =
            SkippedErrors::parse(session.instance().globals.by_name("replica_skip_errors").as_text());
        let skipped = skipped.unwrap_or_else(|| SkippedErrors::Listed(Default::default()));
        Applier {
            session,
            until,
            is_done: false,
            channel,
            stage: Stage::Outside,
            tables: HashMap::new(),
            settling: Settling::default(),
            retries: 0,
            filters,
            skipped,
            current: None,
            workers: None,
            gathering: Gathering::default(),
            known: Vec::new(),
        }
    }

    async fn run(&mut self) -> Result<(), SqlError> {
        self.channel.relay.abandon();
        self.make_workers();
        while self.channel.is_wanted(Part::Applier) && !self.is_at_end() {
            if self.workers.as_ref().is_some_and(Workers::has_failed) {
                self.finish_workers().await?;
                continue;
            }
            match self.channel.relay.take() {
                Some(Relayed::Event(bytes)) => self.take(bytes).await?,
                Some(Relayed::Restart) => {
                    self.finish_workers().await?;
                    self.gathering = Gathering::default();
                    self.undo().await;
                    self.applying().next = self.channel.applied();
                }
                None => self.wait().await?,
            }
        }
        self.finish_workers().await?;
        self.undo().await;
        Ok(())
    }

    /// An event of a transaction that is applied alone. False if the transaction is asked for again.
    pub(super) async fn apply_event(&mut self, bytes: &[u8]) -> Result<bool, SqlError> {
        let raw = split_event(bytes, Checksum::None).map_err(|error| event_error(&error))?;
        let Err(error) = Box::pin(self.event(&raw)).await else { return Ok(true) };
        let told = self.told(&error, &raw);
        self.undo().await;
        self.retry(error, told)?;
        Ok(false)
    }

    /// Where START REPLICA UNTIL has it end.
    fn is_at_end(&self) -> bool {
        let executed = || {
            let mut executed = self.session.instance().replication.executed();
            if let Some(log) = self.session.instance().binary_log() {
                executed.add_all(&log.executed());
            }
            executed
        };
        let is_between = self.stage == Stage::Outside && self.until != Until::Never;
        self.is_done || is_between && self.until.is_reached(&self.channel.applied(), executed)
    }

    pub(super) fn applying(&mut self) -> &mut Applying {
        self.session.applying_mut().expect("the session of an applier")
    }

    /// Nothing is left of a transaction that has begun.
    pub(super) async fn undo(&mut self) {
        // Nobody waits for it, and recovery would undo it as well.
        self.session.give_up_applied().await;
        self.tables.clear();
        self.stage = Stage::Outside;
        self.current = None;
        self.channel.status.lock().applying = None;
    }

    pub(super) async fn event(&mut self, raw: &RawEvent<'_>) -> Result<(), SqlError> {
        let event = Event::decode(raw).map_err(|error| event_error(&error))?;
        let is_passing = matches!(self.stage, Stage::Passing | Stage::PassingInside);
        match event {
            Event::Gtid(head) => return self.begin(head, raw).await,
            Event::MariaDbGtid(head) => {
                self.begin(GtidEvent::default(), raw).await?;
                let server = raw.header.server_id;
                self.applying().next.domains.advance(head.domain, server, head.number);
                if !head.is_standalone && self.stage == Stage::Headed {
                    self.open();
                }
                return Ok(());
            }
            Event::Rotate { position, file } => {
                if self.stage == Stage::Outside {
                    let next = &mut self.applying().next;
                    (next.file, next.position) = (file, position);
                }
                return Ok(());
            }
            Event::TransactionPayload(inner) => {
                for raw in Events::unpacked(&inner) {
                    let raw = raw.map_err(|error| event_error(&error))?;
                    Box::pin(self.event(&raw)).await?;
                }
            }
            Event::TableMap(map) if !is_passing => self.map_table(map).await?,
            Event::Rows(rows) if !is_passing => self.rows(&rows).await?,
            Event::Xid(_) => self.end(raw).await?,
            Event::XaPrepare(event) => self.prepare(&event, raw).await?,
            Event::Query(query) => self.statement(query, raw).await?,
            _ => {}
        }
        Ok(())
    }

    fn second(&self, raw: &RawEvent<'_>) {
        self.channel.status.lock().event_second = raw.header.timestamp;
    }

    async fn begin(&mut self, head: GtidEvent, raw: &RawEvent<'_>) -> Result<(), SqlError> {
        if self.stage != Stage::Outside {
            self.undo().await;
        }
        if self.until.ends_before(head.gtid) {
            self.is_done = true;
            return Ok(());
        }
        self.second(raw);
        self.delay(&head, raw).await?;
        let is_known = head.gtid.is_some_and(|gtid| self.knows(gtid));
        let server_id = raw.header.server_id;
        let next = self.channel_next();
        let mut applying = Applying::new(self.channel.clone(), next);
        if let Some(gtid) = head.gtid {
            applying.next.executed.add(gtid);
        }
        (applying.head, applying.server_id) = (head, server_id);
        *self.applying() = applying;
        self.stage = if is_known { Stage::Passing } else { Stage::Headed };
        self.current = Some(AppliedTransaction {
            gtid: head.gtid,
            original_commit_us: head.original_commit_us,
            immediate_commit_us: head.immediate_commit_us,
            begun_us: unix_now_us(),
            ended_us: 0,
        });
        let mut status = self.channel.status.lock();
        status.applier_doing = "Applying batch of row changes";
        status.applying = self.current;
        Ok(())
    }

    /// What is applied, with the place in the file where the applier stands.
    fn channel_next(&mut self) -> instance::replication::Applied {
        let (file, position) = {
            let next = &self.applying().next;
            (next.file.clone(), next.position)
        };
        let instance::replication::Applied { executed, domains, .. } = self.channel.applied();
        instance::replication::Applied { file, position, executed, domains, begun: String::new() }
    }

    pub(super) fn knows(&self, gtid: binlog::Gtid) -> bool {
        self.channel.applied().executed.contains(gtid)
            || self.session.instance().binary_log().is_some_and(|log| log.has_executed(gtid))
    }

    pub(super) fn open(&mut self) {
        self.session.begin_applied();
        self.stage = Stage::Inside;
    }

    async fn map_table(&mut self, mut map: binlog::TableMap) -> Result<(), SqlError> {
        self.open();
        if !self.filter_table(&mut map) {
            return Ok(());
        }
        let id = map.table_id;
        if let Some(place) = self.known.iter().position(|known| known.columns.source == map) {
            let known = self.known.swap_remove(place);
            self.session.relock_table(&known).await?;
            if is_current(&known, &self.session) {
                self.tables.insert(id, known);
                return Ok(());
            }
        }
        let mapped = self.session.map_table(map).await?;
        self.tables.insert(id, mapped);
        Ok(())
    }

    async fn rows(&mut self, rows: &Rows) -> Result<(), SqlError> {
        let conflicts = match self.session.instance().globals.by_name("replica_exec_mode").as_text() {
            "IDEMPOTENT" => Conflicts::Overwrite,
            _ => Conflicts::Stop,
        };
        let ends = rows.header.flags & binlog::rows_flag::STATEMENT_END != 0;
        // A row event of a table that is not mapped, or is filtered, says nothing but the end of its statement.
        match self.tables.get(&rows.header.table_id) {
            Some(mapped) => self.session.apply_rows(mapped, rows, conflicts, &self.skipped).await?,
            None if ends => self.session.end_applied_statement(),
            None => {}
        }
        if ends {
            self.known.extend(self.tables.drain().map(|(_, mapped)| mapped));
            if self.known.len() > 256 {
                self.known.clear();
            }
        }
        Ok(())
    }

    async fn statement(&mut self, mut query: Query, raw: &RawEvent<'_>) -> Result<(), SqlError> {
        let is = |word: &str| query.sql.eq_ignore_ascii_case(word.as_bytes());
        match self.stage {
            Stage::Passing if is("BEGIN") || is_inside_branch(&query.sql) => {
                self.stage = Stage::PassingInside;
                return Ok(());
            }
            Stage::PassingInside if !is("COMMIT") && !is("ROLLBACK") => return Ok(()),
            Stage::Passing | Stage::PassingInside => {
                self.passed(raw);
                return Ok(());
            }
            _ => {}
        }
        if is("ROLLBACK") {
            // What it has done is not wanted, but it is dealt with.
            self.session.roll_back_applied().await?;
            return self.end(raw).await;
        }
        if is("BEGIN") {
            self.session.obey_event(&query, raw.header.timestamp);
            self.open();
            return Ok(());
        }
        if is("COMMIT") {
            return self.end(raw).await;
        }
        if is_inside_branch(&query.sql) {
            return self.branch_statement(&query, raw).await;
        }
        if !self.filter_statement(&mut query, raw.header.timestamp) {
            return self.pass_statement(&query, raw).await;
        }
        let query = &query;
        if let Some(created) = created_with_rows(&query.sql) {
            return Box::pin(self.create_with_rows(query, created, raw)).await;
        }
        if self.stage == Stage::Inside {
            let done = self.session.run_applied(query, raw.header.timestamp).await;
            return done.or_else(|error| self.session.pass_over(error, &self.skipped));
        }
        self.advance(raw);
        match self.session.run_applied(query, raw.header.timestamp).await {
            Err(error) if Self::was_decided(query, &error) => {}
            done => done.or_else(|error| self.session.pass_over(error, &self.skipped))?,
        }
        if !self.applying().is_stored() {
            // It had nothing to change, or its own commit has no place for the channel's.
            self.open();
            return match decides(&query.sql) {
                true => self.commit(raw).await,
                false => self.end(raw).await,
            };
        }
        self.committed();
        Ok(())
    }
}
