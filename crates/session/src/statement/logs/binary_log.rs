//! What statements and transactions leave for the binary log.
//!
//! Invariant: while the server has a binary log, every transaction that a statement begins has its rows noted, unless
//! `sql_log_bin` is off; a change of definitions takes its text along in its own commit. Called where statements begin,
//! where definitions are committed, and by the variables that show transaction identifiers.
use std::sync::Arc;

use binlog::{
    CommitPackage, GtidChoice, Query, QuerySettings, RowMetadata, XaPrepare, header_flag, query_option,
    rows_flag,
};
use catalog::SchemaChange;
use instance::Xid;
use parser::ast::StatementKind;
use schema::{TableDef, create_table_text, quote_identifier};
use source::BinaryLog;
use table::{EventSettings, RowEvents, RowImages, StatementEvents, TextEvent, row_events};
use variables::{Setting, VariableId};

use crate::session::Session;
use crate::statement::Request;
use session_state::replication_waits::settle_applied;

/// `binlog_row_event_max_size`.
const ROW_EVENT_BYTES: usize = 8192;
/// The least that a transaction's events may take in memory, whatever `binlog_cache_size` is: a file costs a flush.
const CACHE_BYTES: u64 = 1 << 20;
/// Our version as MySQL counts.
const SERVER_VERSION: u32 = 90_700;
const CREATE: &[u8] = b"CREATE";
const CREATE_TABLE: &str = "CREATE TABLE ";
/// Ends the text of a table whose rows follow.
const ROWS_FOLLOW: &str = " START TRANSACTION";
const GTID_EXECUTED: &str = "gtid_executed";
const GTID_PURGED: &str = "gtid_purged";
const GTID_SLAVE_POS: &str = "gtid_slave_pos";

/// BEGIN as the session's settings make it, kept from transaction to transaction.
#[derive(Default)]
pub(crate) struct BeginEvent {
    made_of: Option<(Arc<variables::Settings>, Option<Arc<str>>)>,
    event: Arc<Query>,
}

/// A statement that changes definitions, as the binary log will have it.
pub(crate) struct DefinitionText {
    pub sql: Vec<u8>,
    /// The database that it makes, changes or drops.
    pub database: Option<String>,
}

/// The database that a statement makes, changes or drops: MySQL logs it as if it were the session's.
fn defined_database<'s>(kind: &StatementKind<'s>, session: &'s str) -> Option<&'s str> {
    match kind {
        StatementKind::CreateDatabase(create) => Some(create.name.name),
        StatementKind::DropDatabase(drop) => Some(drop.name.name),
        StatementKind::AlterDatabase(alter) => Some(alter.name.map_or(session, |name| name.name)),
        _ => None,
    }
}

/// The word that a definer stands behind.
fn ends_in_create(text: &[u8]) -> bool {
    text[text.len() - CREATE.len()..].eq_ignore_ascii_case(CREATE)
}

fn now_us() -> u64 {
    instance::unix_now_us()
}

/// The format of an identifier has 32 bits in the binary log.
fn prepare_event(xid: &Xid, one_phase: bool) -> XaPrepare {
    let (global, branch) = (xid.global.to_vec(), xid.branch.to_vec());
    XaPrepare { one_phase, format: xid.format as u32, global, branch }
}

/// Whether a text names identifiers of transactions, or variables at all. It is read to the end, so plans that are kept are
/// none of such texts.
pub(in crate::statement) fn names_identifiers(text: &[u8]) -> bool {
    let names = |word: &[u8]| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    names(b"gtid_") || names(b"variables")
}

impl Session {
    /// The binary log, if this session writes to it.
    pub fn logged_to(&self) -> Option<&Arc<BinaryLog>> {
        let log = self.instance.binary_log()?;
        self.variables.by_name("sql_log_bin").as_boolean().then_some(log)
    }

    pub(in crate::statement) fn event_settings(&self) -> EventSettings {
        let globals = &self.instance.globals;
        let cache = globals.by_name("binlog_cache_size").as_unsigned();
        let applying = self.applying.as_deref();
        let gtid = match (applying, globals.by_name("gtid_mode").as_text()) {
            (Some(applying), "ON") => applying.head.gtid.map_or(GtidChoice::Anonymous, GtidChoice::Given),
            (None, "ON") => self.identifier.choice(),
            _ => GtidChoice::Anonymous,
        };
        let own_id = globals.by_name("server_id").as_unsigned() as u32;
        let original_version = applying.map_or(0, |one| one.head.original_version);
        EventSettings {
            images: match self.variables.by_name("binlog_row_image").as_text() {
                "MINIMAL" => RowImages::Minimal,
                "NOBLOB" => RowImages::WithoutLargeObjects,
                _ => RowImages::Full,
            },
            metadata: match globals.by_name("binlog_row_metadata").as_text() {
                "FULL" => RowMetadata::Full,
                _ => RowMetadata::Minimal,
            },
            event_bytes: ROW_EVENT_BYTES,
            databases: self.instance.binary_log().map_or_else(Arc::default, |log| log.databases().clone()),
            bytes_max: globals.by_name("max_binlog_cache_size").as_unsigned(),
            memory_bytes: cache.max(CACHE_BYTES).min(self.instance.engine().logged_events_bytes_max()),
            temporary: self.instance.temporary().clone(),
            package: CommitPackage {
                gtid,
                has_statements: false,
                ends_in_xid: true,
                timestamp: 0,
                server_id: applying.map_or(own_id, |one| one.server_id),
                immediate_commit_us: 0,
                original_commit_us: applying.map_or(0, |one| one.head.original_commit_us),
                immediate_version: SERVER_VERSION,
                original_version: if original_version == 0 { SERVER_VERSION } else { original_version },
                keys: None,
                events: Vec::new(),
                file: None,
            },
            now_us,
        }
    }

    fn timestamp(&self) -> u32 {
        (self.now_utc_micros() / 1_000_000) as u32
    }

    fn relaxes_unique_checks(&self) -> bool {
        !self.variables.by_name("unique_checks").as_boolean()
    }

    fn query_settings(&self) -> QuerySettings {
        let mut options = 0;
        if !self.settings.foreign_key_checks {
            options |= query_option::NO_FOREIGN_KEY_CHECKS;
        }
        if self.relaxes_unique_checks() {
            options |= query_option::RELAXED_UNIQUE_CHECKS;
        }
        let connection = self.settings.connection_collation.number();
        // The text is kept in UTF-8, whatever the client has sent.
        let client = self.settings.text_charset().default_collation().number();
        QuerySettings {
            options: Some(options),
            sql_mode: Some(self.settings.sql_mode.0),
            catalog: Some("std".into()),
            charset: Some([client, connection, self.settings.server_collation.number()]),
            // An empty list is an error for MySQL; "too many" is what it takes for all of them.
            databases: Some(self.database.as_ref().map(|name| vec![name.to_string()])),
            utf8mb4_collation: Some(collation::CollationId::UTF8MB4_0900_AI_CI.number()),
            ..QuerySettings::default()
        }
    }

    fn begin_event(&mut self) -> Arc<Query> {
        let is_made = self.begin_event.made_of.as_ref().is_some_and(|(settings, database)| {
            Arc::ptr_eq(settings, &self.settings) && *database == self.database
        });
        if !is_made {
            let event = Query {
                thread_id: self.connection.id.0,
                settings: self.query_settings(),
                database: self.database.as_deref().unwrap_or_default().to_owned(),
                sql: b"BEGIN".to_vec(),
                ..Query::default()
            };
            let made_of = Some((self.settings.clone(), self.database.clone()));
            self.begin_event = BeginEvent { made_of, event: Arc::new(event) };
        }
        self.begin_event.event.clone()
    }

    /// The rows that the transaction changes from now on are of a new statement.
    pub(in crate::statement) fn note_statement(&mut self) {
        if self.logged_to().is_none() || self.programs.is_inside_statement() {
            return;
        }
        let statement = self.statement_events();
        let is_noted = self.transaction.current.as_mut().is_some_and(|one| row_events(one).is_some());
        let settings = (!is_noted).then(|| self.event_settings());
        let Some(transaction) = &mut self.transaction.current else { return };
        if let Some(settings) = settings {
            transaction.set_events(Box::new(RowEvents::new(settings)));
        }
        if let Some(events) = row_events(transaction) {
            events.begin_statement(statement);
        }
    }

    pub(in crate::statement) fn statement_events(&mut self) -> StatementEvents {
        let flag = |set: bool, flag: u16| if set { flag } else { 0 };
        let applied = self.applying.as_ref().map_or(0, |one| one.rows_flags & !rows_flag::STATEMENT_END);
        let flags = rows_flag::USE_SQL_FOREIGN_KEY
            | applied
            | flag(!self.settings.foreign_key_checks, rows_flag::NO_FOREIGN_KEY_CHECKS)
            | flag(self.relaxes_unique_checks(), rows_flag::RELAXED_UNIQUE_CHECKS);
        let shows_text = self.variables.by_name("binlog_rows_query_log_events").as_boolean();
        let rows_query = shows_text.then(|| self.process.activity().info().map(str::to_owned)).flatten();
        let rows_query = rows_query.map(|text| Arc::from(text.into_bytes()));
        let begin = self.begin_event();
        StatementEvents { timestamp: self.timestamp(), flags, rows_query, begin }
    }

    fn text_event(&self, flags: u16, sql: Vec<u8>, settings: QuerySettings) -> TextEvent {
        let database = self.database.as_deref().unwrap_or_default().to_owned();
        let query = Query { thread_id: self.connection.id.0, settings, database, sql, ..Query::default() };
        TextEvent { timestamp: self.timestamp(), flags, query }
    }

    /// CREATE TABLE .. SELECT: the text of the table, whose rows follow in the same transaction.
    pub fn log_created(&mut self, change: &mut SchemaChange, table: &TableDef) {
        if self.definition_text.take().is_none() || self.logged_to().is_none() {
            return;
        }
        let mut text = create_table_text(table, Some(table.auto_increment_start));
        if self.database.as_deref() != Some(table.database.as_str()) {
            let database = quote_identifier(&table.database);
            text.insert_str(CREATE_TABLE.len(), &format!("{database}."));
        }
        text.push_str(ROWS_FOLLOW);
        let settings = QuerySettings { table_encryption: Some(false), ..self.query_settings() };
        let text = self.text_event(0, text.into_bytes(), settings);
        let mut events = RowEvents::new(self.event_settings());
        events.begin_statement(self.statement_events());
        events.create(text);
        change.transaction().set_events(Box::new(events));
    }

    /// The same for a table of a source, which is there already: its transaction is open.
    pub fn log_applied_table(&mut self, query: &Query) {
        self.note_statement();
        let text = self.text_event(0, query.sql.clone(), query.settings.clone());
        if let Some(events) = self.transaction.current.as_mut().and_then(row_events) {
            events.create(text);
        }
    }

    /// The open transaction of a source has changed nothing here: it is logged for its identifier.
    pub fn log_applied_nothing(&mut self) {
        if self.logged_to().is_none() {
            return;
        }
        let settings = self.event_settings();
        let is_empty = |one| row_events(one).is_none_or(|events| events.is_empty());
        let is_nothing = self.transaction.current.as_mut().is_some_and(is_empty);
        if is_nothing && matches!(settings.package.gtid, GtidChoice::Given(_)) {
            let events = RowEvents::of_nothing(settings, self.statement_events());
            if let Some(transaction) = &mut self.transaction.current {
                transaction.set_events(Box::new(events));
            }
        }
    }

    /// The open transaction ends as a branch; answers whether that is in the binary log.
    pub(in crate::statement) fn log_branch(&mut self, xid: &Xid, one_phase: bool) -> bool {
        let Some(events) = self.transaction.current.as_mut().and_then(row_events) else { return false };
        events.end_as(prepare_event(xid, one_phase));
        !events.is_empty()
    }

    /// What is decided of a branch that is in the binary log.
    pub(in crate::statement) fn decision_event(&self, xid: &Xid, commits: bool) -> Option<Box<RowEvents>> {
        self.logged_to()?;
        let word = if commits { "COMMIT" } else { "ROLLBACK" };
        let sql = format!("XA {word} {}", prepare_event(xid, false).xid());
        let text = self.text_event(header_flag::SUPPRESS_USE, sql.into_bytes(), self.query_settings());
        Some(Box::new(RowEvents::of_statement(self.event_settings(), text)))
    }

    /// Keeps the text of a statement that changes definitions, for its commit.
    pub fn keep_definition_text(&mut self, request: Request<'_>) {
        let session = self.database.as_deref().unwrap_or_default();
        let defined = defined_database(&request.statement.kind, session);
        let database = defined.unwrap_or(session);
        let is_logged = self.logged_to().is_some_and(|log| log.databases().takes(database));
        self.definition_text = is_logged.then(|| {
            let sql = self.with_definer(request);
            Box::new(DefinitionText { sql, database: defined.map(str::to_owned) })
        });
    }

    /// The text; a stored program without a definer gets the session's account, because elsewhere it would be another's.
    fn with_definer(&self, request: Request<'_>) -> Vec<u8> {
        let span = request.statement.span;
        let mode = self.settings.parser_mode(self.connection.capabilities.ignore_space);
        let whole = parser::span_with_comments(request.text, span, mode);
        let text = whole.of(request.text);
        let is_undefined = match request.statement.kind {
            StatementKind::CreateProgram(create) => create.definer.is_none(),
            _ => false,
        };
        let create_end = (span.start - whole.start) as usize + CREATE.len();
        match text.split_at_checked(create_end) {
            Some((create, rest)) if is_undefined && ends_in_create(create) => {
                let [user, host] = [&self.connection.account_user, &self.connection.account_host]
                    .map(|name| schema::quote_identifier(name));
                [create, format!(" DEFINER={user}@{host}").as_bytes(), rest].concat()
            }
            _ => text.to_vec(),
        }
    }

    /// The change takes the text of its statement along.
    pub fn log_definition(&self, change: &mut SchemaChange) {
        let (Some(_), Some(text)) = (self.logged_to(), &self.definition_text) else { return };
        let invoker = (self.connection.account_user.to_string(), self.connection.account_host.to_string());
        let settings = QuerySettings {
            invoker: Some(invoker),
            definition_xid: Some(0),
            table_encryption: Some(false),
            ..self.query_settings()
        };
        let mut event = self.text_event(0, text.sql.clone(), settings);
        if let Some(database) = &text.database {
            event.flags |= header_flag::SUPPRESS_USE;
            event.query.database.clone_from(database);
        }
        let events = RowEvents::of_statement(self.event_settings(), event);
        change.transaction().set_events(Box::new(events));
    }

    /// The rows that are applied from now on are of a statement with these flags.
    pub fn begin_applied_statement(&mut self, flags: u16) {
        if let Some(applying) = &mut self.applying {
            let begins = applying.rows_flags & rows_flag::STATEMENT_END != 0 || applying.rows_flags == 0;
            applying.rows_flags = flags;
            if begins {
                self.note_statement();
            }
        }
    }

    /// Before a statement that names them: they show what is committed.
    pub(in crate::statement) async fn refresh_identifiers(&self) {
        let globals = &self.instance.globals;
        if let Some(log) = self.instance.binary_log()
            && log.catch_up().await.is_err()
        {
            return;
        }
        let (executed, purged) = self.instance.identifiers();
        let domains = self.instance.replication.domains().to_string();
        settle_applied(&self.instance).await;
        let identifiers = [(GTID_EXECUTED, executed.to_string()), (GTID_PURGED, purged.to_string())];
        for (name, shown) in identifiers.into_iter().chain([(GTID_SLAVE_POS, domains)]) {
            let shown = Setting::text(&shown);
            if globals.by_name(name) != shown {
                globals.set(VariableId::known(name), shown);
            }
        }
    }
}
