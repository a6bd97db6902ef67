//! One client's session: its state, and what its connection learns of it.
//!
//! Invariant: no transaction outlives its session, and between commands a transaction is open only if the
//! client's last statements left it open. Driven by the connection task, one command at a time; its futures are
//! run to their end (a statement is ended early through the kill switch, which leaves everything in order).
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, LazyLock, Weak};
use std::time::Instant;

use bumpalo::Bump;
use datum::SqlError;
use executor::{MemoryLimits, StrictSession};
use expression::StatementSettings;
use parser::DigestOutput;

use crate::families::Families;
use crate::privileges::Privileges;
use crate::program::ProgramStack;
use crate::statement::{
    ColdRanges, GlobalReadLock, NamedStatement, Observation, OpenHandlers, PreparedStatement, Statements,
    TableLocks, TemporaryTables, Traces,
};
use binder::Switches;
use instance::{Instance, KillKind, OpenTransaction, ProcessEntry};
use session_state::connection_info::ConnectionInfo;
use session_state::numbered::NumberedList;
use session_state::shared_state::SharedState;
use session_state::sink::{OkInfo, StateChange, StatusFlags};
use session_state::transaction_control::TransactionControl;
use session_state::xa::XaBranch;
use variables::{SessionVariables, Setting, Settings, VariableId};

/// Names a prepared statement within its session, as the protocol does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatementId(pub u32);

pub struct Session {
    pub(crate) families: &'static dyn Families,
    pub(crate) instance: Arc<Instance>,
    pub(crate) connection: ConnectionInfo,
    pub(crate) process: Arc<ProcessEntry>,
    pub(crate) shared: Arc<SharedState>,
    pub(crate) privileges: Privileges,
    pub(crate) variables: SessionVariables,
    pub(crate) settings: Arc<Settings>,
    pub(crate) traces: Traces,
    /// What expressions see of the session, made when it is first needed; only the clock differs between
    /// statements.
    pub(crate) statement_settings: Option<Arc<StatementSettings>>,
    pub(crate) cold_ranges: ColdRanges,
    /// `optimizer_switch`, as the variable stands.
    pub(crate) switches: Switches,
    pub(crate) strict: Arc<StrictSession>,
    pub(crate) viewer: Option<Arc<catalog::Viewer>>,
    pub(crate) database: Option<Arc<str>>,
    pub(crate) transaction: TransactionControl,
    /// Between XA START and the end of the branch: `transaction` is its.
    pub(crate) xa: Option<XaBranch>,
    pub(crate) temporary: TemporaryTables,
    pub(crate) handlers: OpenHandlers,
    /// LOCK TABLES.
    pub(crate) table_locks: TableLocks,
    pub(crate) global_read_lock: Option<GlobalReadLock>,
    /// The running statement is inside the gate of changes.
    pub(crate) statement_passage: Option<catalog::Passage>,
    /// LOCK INSTANCE FOR BACKUP.
    pub(crate) backup_lock: Option<catalog::ClosedGate>,
    /// The running statement changes definitions, and whoever wants to keep them waits for it.
    pub(crate) backup_passage: Option<catalog::Passage>,
    /// A commit has begun that may not happen: what is left of the transaction is rolled back.
    pub(crate) commit_is_due: bool,
    pub(crate) statements: Statements,
    /// The running statement may fill a table, and the table that it fills.
    pub(crate) may_fill: bool,
    pub(crate) filled: Option<Box<crate::statement::FilledTable>>,
    /// Of the running change of definitions, for the binary log.
    pub(crate) definition_text: Option<Box<crate::statement::DefinitionText>>,
    pub(crate) begin_event: crate::statement::BeginEvent,
    /// `gtid_next`
    pub(crate) identifier: crate::statement::NextIdentifier,
    /// Keeps a replica in the list while it is connected.
    pub(crate) registration: Option<source::Registration>,
    /// What an applier's session applies.
    pub(crate) applying: Option<Box<crate::applying::Applying>>,
    pub(crate) programs: ProgramStack,
    /// `None` is the one that runs.
    pub(crate) prepared: NumberedList<Option<PreparedStatement>>,
    pub(crate) named_statements: HashMap<String, NamedStatement>,
    pub(crate) next_statement_id: u32,
    /// Syntax trees of the running text; reset after it.
    pub(crate) arena: Bump,
    pub(crate) digest: DigestOutput,
    /// What the running statement does, and what the session keeps of earlier ones.
    pub(crate) observed: Observation,
    /// What the client will be told with the end of the statement.
    pub(crate) changes: Vec<StateChange>,
    /// The running statement shows the conditions of the one before it, and has none itself.
    pub(crate) reads_conditions: bool,
    /// Counts the session for its account.
    pub(crate) ticket: Option<instance::SessionTicket>,
    /// Nothing but the change of the password is allowed.
    pub(crate) has_expired_password: bool,
    /// COMMIT RELEASE or KILL of the own connection: the connection closes after the answer.
    pub(crate) ends: bool,
}

/// The connection's entry in the process list, which takes the attributes that the client told.
fn registered(instance: &Instance, connection: &mut ConnectionInfo) -> Arc<ProcessEntry> {
    let host = match connection.peer {
        Some(peer) => format!("{}:{}", connection.host, peer.port()),
        None => connection.host.clone(),
    };
    let way = match (&connection.tls, connection.peer) {
        (Some(_), _) => "SSL/TLS",
        (None, Some(_)) => "TCP/IP",
        (None, None) => "Socket",
    };
    let mut process = ProcessEntry::new(connection.id, &connection.user, host, way);
    process.attributes = std::mem::take(&mut connection.attributes);
    let (is_watched, has_history) = instance.telemetry.actors.of(&connection.user, &connection.host);
    process.set_instrumented(is_watched);
    process.set_history(has_history);
    let process = Arc::new(process);
    instance.telemetry.accounts.connected(&connection.user, &connection.host);
    instance.processes().add(process.clone());
    instance.gauges.count_connection(instance.processes().client_count(), connection.tls.is_some());
    process
}

impl Session {
    /// A session without a current database; `init_db` follows if the handshake named one.
    pub fn new(
        instance: Arc<Instance>,
        families: &'static dyn Families,
        mut connection: ConnectionInfo,
    ) -> Session {
        let process = registered(&instance, &mut connection);
        let variables = SessionVariables::new(&instance.globals);
        let settings = Arc::new(Settings::of(&variables));
        let switches = switches_of(&variables);
        let id = process.id;
        let shared = Arc::new(SharedState::new(process.clone(), instance.clone()));
        let sight: Weak<SharedState> = Arc::downgrade(&shared);
        process.sight.set(sight);
        let mut session = Session {
            families,
            strict: Arc::new(StrictSession::new(shared.clone())),
            shared,
            privileges: Privileges::new(&instance, &connection),
            instance,
            connection,
            process,
            variables,
            settings,
            statement_settings: None,
            cold_ranges: ColdRanges::default(),
            switches,
            viewer: None,
            traces: Traces::default(),
            database: None,
            transaction: TransactionControl::of(id),
            xa: None,
            temporary: TemporaryTables::default(),
            handlers: OpenHandlers::default(),
            table_locks: TableLocks::default(),
            global_read_lock: None,
            statement_passage: None,
            backup_lock: None,
            backup_passage: None,
            commit_is_due: false,
            statements: Statements::default(),
            may_fill: false,
            filled: None,
            definition_text: None,
            begin_event: crate::statement::BeginEvent::default(),
            identifier: crate::statement::NextIdentifier::default(),
            registration: None,
            applying: None,
            programs: ProgramStack::default(),
            prepared: NumberedList::default(),
            named_statements: HashMap::new(),
            next_statement_id: 0,
            arena: Bump::new(),
            digest: DigestOutput::default(),
            observed: Observation::default(),
            changes: Vec::new(),
            reads_conditions: false,
            ticket: None,
            has_expired_password: false,
            ends: false,
        };
        session.apply_handshake();
        session.show_account();
        session
    }

    /// The character set of the handshake and what else a new session starts with.
    pub(crate) fn apply_handshake(&mut self) {
        let id = u64::from(self.connection.id.0);
        self.variables.set_by_name("pseudo_thread_id", Setting::Unsigned(id));
        if self.connection.capabilities.interactive {
            let timeout = self.variables.by_name("interactive_timeout").clone();
            self.variables.set_by_name("wait_timeout", timeout);
        }
        if let Some(collation) = collation::CollationId::by_number(self.connection.collation_id) {
            self.set_client_collation(collation);
        }
        self.refresh_settings();
    }

    /// `SET NAMES` by collation, as the handshake does it.
    pub fn set_client_collation(&mut self, collation: collation::CollationId) {
        let charset = Setting::text(collation.charset().name());
        for name in ["character_set_client", "character_set_results", "character_set_connection"] {
            self.variables.set_by_name(name, charset.clone());
        }
        self.variables.set_by_name("collation_connection", Setting::text(collation.name()));
    }

    /// After any change of a variable.
    pub fn refresh_settings(&mut self) {
        let fixed_timestamp_us = self.settings.fixed_timestamp_us;
        self.settings = Arc::new(Settings { fixed_timestamp_us, ..Settings::of(&self.variables) });
        self.switches = switches_of(&self.variables);
        let checks = |name| self.variables.by_name(name).as_boolean();
        self.process.update(|activity| {
            activity.unique_checks = checks("unique_checks");
            activity.foreign_key_checks = checks("foreign_key_checks");
        });
        self.set_memory_limits();
        self.forget_views();
    }

    /// After any change of a variable or of the account's rights.
    pub(crate) fn set_memory_limits(&self) {
        self.shared.memory.set_limits(MemoryLimits {
            session_bytes: self.variables.by_name("connection_memory_limit").as_unsigned(),
            chunk_bytes: self.variables.by_name("connection_memory_chunk_size").as_unsigned(),
            is_tracked: self.variables.by_name("global_connection_memory_tracking").as_boolean(),
            is_exempt: self.privileges.has_super_or(&[auth::DynamicPrivilege::ConnectionAdmin]),
        });
    }

    /// This session's entry in the process list; its `kill` switch tells when the connection must end.
    pub fn process(&self) -> &Arc<ProcessEntry> {
        &self.process
    }

    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// True when the connection has to close after the answer it has just been given.
    pub fn is_ending(&self) -> bool {
        self.ends || self.process.kill.state() == Some(KillKind::Connection)
    }

    /// Another session may have changed the account.
    pub fn look_at_privileges(&mut self) {
        if self.privileges.refresh(&self.instance) {
            self.show_account();
        }
    }

    /// The rights of the session have changed.
    pub fn show_account(&mut self) {
        self.forget_views();
        self.set_memory_limits();
        let is_system_user = self.privileges.has_dynamic(auth::DynamicPrivilege::SystemUser);
        self.process.update(|activity| activity.is_system_user = is_system_user);
    }

    /// The status of the session for answers that the connection makes itself (COM_PING).
    pub fn ok_info(&self) -> OkInfo {
        OkInfo { status: self.status_flags(), ..OkInfo::default() }
    }

    /// Whether the client is in the middle of a transaction.
    pub fn has_open_transaction(&self) -> bool {
        self.transaction.is_open()
    }

    pub(crate) fn status_flags(&self) -> StatusFlags {
        let open = self.transaction.is_open();
        let read_only = open && self.transaction.access == engine::AccessMode::ReadOnly;
        let no_escapes = self.settings.sql_mode.contains(datum::SqlMode::NO_BACKSLASH_ESCAPES);
        StatusFlags::default()
            .with_if(open, StatusFlags::IN_TRANSACTION)
            .with_if(read_only, StatusFlags::IN_TRANSACTION_READ_ONLY)
            .with_if(self.settings.autocommit, StatusFlags::AUTOCOMMIT)
            .with_if(no_escapes, StatusFlags::NO_BACKSLASH_ESCAPES)
    }

    /// The values of variables the connection itself obeys, as they are now.
    pub fn limits(&self) -> ConnectionLimits {
        static NAMED: LazyLock<[VariableId; 4]> = LazyLock::new(|| {
            ["max_allowed_packet", "wait_timeout", "net_read_timeout", "net_write_timeout"]
                .map(VariableId::known)
        });
        let numbers = NAMED.map(|id| u32::try_from(self.variables.get(id).as_unsigned()).unwrap_or(u32::MAX));
        let [max_allowed_packet, idle_timeout_s, net_read_timeout_s, net_write_timeout_s] = numbers;
        ConnectionLimits { max_allowed_packet, idle_timeout_s, net_read_timeout_s, net_write_timeout_s }
    }

    /// Rolls back what is open. Dropping the session does the same in the background.
    pub async fn close(mut self) {
        // Nobody is left to be told of an error; recovery would undo the transaction as well.
        let _ = self.transaction.rollback().await;
        self.drop_temporary_tables().await;
    }

    /// The session has ended: what it did becomes its account's.
    fn tell_account(&self) {
        let process = &self.process;
        let figures = process.figures.figures();
        self.instance.telemetry.ended_tables.lock().merge(&process.figures.tables());
        let (user, host) = (&self.connection.user, &self.connection.host);
        self.instance.telemetry.accounts.ended(user, host, &figures, |account| {
            account.connected_us += process.connected.elapsed().as_micros() as u64;
            account.bytes_received += process.counters.bytes_received.load(Relaxed);
            account.bytes_sent += process.counters.bytes_sent.load(Relaxed);
        });
    }

    /// USE.
    pub fn use_database(&mut self, name: &str) -> Result<(), SqlError> {
        let name = catalog::canonical_database(name);
        if !self.privileges.opens_database(name) {
            return Err(self.database_denied(name));
        }
        let definition = self.instance.catalog().require_database(name)?;
        self.set_database(Some(Arc::from(definition.name.as_str())));
        let charset = definition.collation.charset().name();
        self.variables.set_by_name("character_set_database", Setting::text(charset));
        self.variables.set_by_name("collation_database", Setting::text(definition.collation.name()));
        self.track_schema();
        Ok(())
    }

    /// What was derived from variables, database and account is made again when it is needed.
    pub(crate) fn forget_views(&mut self) {
        self.statement_settings = None;
        self.viewer = None;
    }

    /// The current database becomes this one, unasked.
    pub fn set_database(&mut self, name: Option<Arc<str>>) {
        self.forget_views();
        self.database = name.clone();
        self.process.update(|activity| activity.database = name);
    }

    fn track_schema(&mut self) {
        if !self.connection.capabilities.session_track {
            return;
        }
        if self.variables.by_name("session_track_schema").as_boolean()
            && let Some(database) = &self.database
        {
            self.changes.push(StateChange::Schema(database.to_string()));
        }
        self.track_state_change();
    }

    /// The client is told, if it asked for it, that something of the session's state has changed.
    pub fn track_state_change(&mut self) {
        if self.settings.tracks_state_change && !self.changes.contains(&StateChange::StateChanged) {
            self.changes.push(StateChange::StateChanged);
        }
    }

    /// Shows in the process list what the session does.
    pub(crate) fn show_activity(&self, command: &'static str, text: Option<&[u8]>, now: Instant) {
        let open = self.transaction.current.as_ref().filter(|_| self.transaction.explicit);
        let open = open.map(|transaction| transaction.isolation());
        let number = self.transaction.begun;
        let is_read_only = self.transaction.access == engine::AccessMode::ReadOnly;
        self.process.update(|activity| {
            let began = std::mem::replace(&mut activity.since, now);
            let known = activity.transaction.filter(|known| known.number == number);
            let since = known.map_or(began, |known| known.since);
            activity.transaction =
                open.map(|isolation| OpenTransaction { number, since, isolation, is_read_only });
            activity.command = command;
            activity.state = if text.is_some() { "executing" } else { "" };
            activity.set_info(text);
        });
    }

    /// The command is over, since its last statement's end.
    pub(crate) fn show_rest(&self) {
        self.show_activity("Sleep", None, self.observed.ended.unwrap_or_else(Instant::now));
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.instance.user_locks.release_all(self.process.id);
        self.give_up_identifier();
        self.log_quit();
        self.instance.processes().remove(self.process.id, &self.instance.ended_counters);
        self.tell_account();
    }
}

/// The session variables that the connection obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    pub max_allowed_packet: u32,
    /// `wait_timeout`, which starts as `interactive_timeout` for an interactive client.
    pub idle_timeout_s: u32,
    pub net_read_timeout_s: u32,
    pub net_write_timeout_s: u32,
}

pub(crate) fn switches_of(variables: &SessionVariables) -> Switches {
    let pairs_max = variables.by_name("optimizer_max_subgraph_pairs").as_unsigned();
    let pairs_max = u32::try_from(pairs_max).unwrap_or(u32::MAX);
    Switches::of(variables.by_name("optimizer_switch").as_text()).with_pairs_max(pairs_max)
}
