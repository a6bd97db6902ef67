//! What a session writes to the general, the slow and the audit log.
//!
//! Invariant: while a log is off a statement pays one look at an atomic for it.
use std::borrow::Cow;
use std::sync::atomic::Ordering::Relaxed;

use datum::Value;
use instance::logs::{AuditRecord, GeneralRecord, SlowExtra, SlowRecord, unix_micros};

use crate::session::Session;
use session_state::ended::Ended;
use session_state::event_name;

impl Session {
    /// `root[root] @ localhost []`, as the logs name a client.
    fn user_host(&self) -> String {
        let connection = &self.connection;
        let account = &connection.account_user;
        match connection.peer {
            Some(peer) => format!("{}[{account}] @  [{}]", connection.user, peer.ip()),
            None => format!("{}[{account}] @ {} []", connection.user, connection.host),
        }
    }

    /// A command that arrived, to the general log.
    pub fn log_command(&self, command: &'static str, argument: &[u8]) {
        let logs = &self.instance.logs;
        if !logs.settings.general.load(Relaxed) || self.variables.by_name("sql_log_off").as_boolean() {
            return;
        }
        logs.write_general(&GeneralRecord {
            unix_us: unix_micros(),
            thread: u64::from(self.process.id.0),
            user_host: &self.user_host(),
            command,
            argument,
        });
    }

    /// The client has logged in.
    pub fn log_connect(&self) {
        let connection = &self.connection;
        let database = self.database.as_deref().unwrap_or_default();
        let way = self.process.connection_type;
        let text = format!("{}@{} on {database} using {way}", connection.user, connection.host);
        self.log_command("Connect", text.as_bytes());
        self.audit_session("Connect");
    }

    /// The client has left.
    pub(crate) fn log_quit(&self) {
        self.log_command("Quit", b"");
        self.audit_session("Quit");
    }

    fn audit_session(&self, name: &str) {
        let logs = &self.instance.logs;
        if !logs.settings.audit_logins.load(Relaxed) {
            return;
        }
        let connection = &self.connection;
        let account = format!("{}@{}", connection.account_user, connection.account_host);
        if logs.settings.is_audited(&account, None) {
            logs.write_audit(&AuditRecord {
                unix_us: unix_micros(),
                name,
                connection: u64::from(self.process.id.0),
                status: 0,
                user: &connection.user,
                host: &connection.host,
                database: self.database.as_deref().unwrap_or_default(),
                command_class: None,
                text: None,
            });
        }
    }

    /// Whether the values of a prepared statement are wanted for a log.
    pub(crate) fn logs_values(&self) -> bool {
        let settings = &self.instance.logs.settings;
        settings.general.load(Relaxed) || settings.slow.load(Relaxed) || settings.audit_queries.load(Relaxed)
    }

    /// The text of a prepared statement with the values that it runs with.
    pub(crate) fn text_with_values<'t>(&self, text: &'t [u8], values: &[Value]) -> Cow<'t, [u8]> {
        let mode = self.settings.parser_mode(self.connection.capabilities.ignore_space);
        let places = parser::parameter_places(text, mode);
        if places.is_empty() || places.len() != values.len() {
            return Cow::Borrowed(text);
        }
        let mut shown = Vec::with_capacity(text.len() + 16 * values.len());
        let mut from = 0;
        for (place, value) in places.into_iter().zip(values) {
            shown.extend_from_slice(&text[from..place]);
            push_literal(value, &mut shown);
            from = place + 1;
        }
        shown.extend_from_slice(&text[from..]);
        Cow::Owned(shown)
    }

    /// A statement has ended: to the slow log if it was slow, to the audit log if its account and kind are audited.
    pub(crate) fn log_ended(&mut self, ended: &Ended<'_>) {
        let is_slow = u128::from(ended.elapsed_ns) > self.settings.long_query_time.as_nanos();
        if is_slow {
            instance::count(&self.process.counters.slow_queries);
        }
        let settings = &self.instance.logs.settings;
        if settings.slow.load(Relaxed) {
            let without_index = ended.reads_without_index && settings.not_using_indexes.load(Relaxed);
            if (is_slow || without_index) && self.is_worth_the_slow_log(ended) {
                self.log_slow(ended);
            }
        }
        if self.instance.logs.settings.audit_queries.load(Relaxed) {
            self.audit_statement(ended);
        }
    }

    fn is_worth_the_slow_log(&self, ended: &Ended<'_>) -> bool {
        let settings = &self.instance.logs.settings;
        if event_name::is_administrative(ended.name) && !settings.admin_statements.load(Relaxed) {
            return false;
        }
        let rate = settings.slow_rate.load(Relaxed).max(1);
        let number = match settings.slow_rate_by_session.load(Relaxed) {
            true => u64::from(self.process.id.0),
            false => self.observed.count,
        };
        ended.figures.rows_examined >= self.settings.min_examined_rows && number.is_multiple_of(rate)
    }

    fn log_slow(&self, ended: &Ended<'_>) {
        let logs = &self.instance.logs;
        let settings = &logs.settings;
        let query_us = ended.elapsed_ns / 1000;
        let unix_us = unix_micros();
        let counters = ended.marks.named();
        let extra = settings.slow_extra.load(Relaxed).then(|| SlowExtra {
            errno: ended.error.map_or(0, |error| error.errno),
            killed: ended
                .error
                .filter(|error| matches!(error.errno, 1317 | 3024))
                .map_or(0, |error| error.errno),
            bytes_received: ended.text.len() as u64 + 1,
            bytes_sent: 0,
            counters: &counters,
        });
        let clock_us = match self.settings.fixed_timestamp_us {
            0 => unix_us - query_us as i64,
            fixed => fixed,
        };
        let rate = settings.slow_rate.load(Relaxed);
        logs.write_slow(&SlowRecord {
            unix_us,
            thread: u64::from(self.process.id.0),
            user_host: &self.user_host(),
            query_us,
            figures: &ended.figures,
            database: self.database.as_deref(),
            names_database: true,
            clock_s: clock_us.div_euclid(1_000_000),
            last_insert_id: self.shared.last_insert_id.load(Relaxed),
            text: trimmed(ended.text),
            extra,
            waits: settings.slow_full.load(Relaxed).then_some(&ended.waits),
            rate: (rate > 1).then(|| (rate, settings.slow_rate_by_session.load(Relaxed))),
        });
    }

    fn audit_statement(&self, ended: &Ended<'_>) {
        let logs = &self.instance.logs;
        let connection = &self.connection;
        let account = format!("{}@{}", connection.account_user, connection.account_host);
        let command = ended.name.strip_prefix(event_name::PREFIX).unwrap_or(ended.name);
        if logs.settings.is_audited(&account, Some(command)) {
            let text = without_passwords(ended.name, trimmed(ended.text));
            logs.write_audit(&AuditRecord {
                unix_us: unix_micros(),
                name: "Query",
                connection: u64::from(self.process.id.0),
                status: ended.error.map_or(0, |error| error.errno),
                user: &connection.user,
                host: &connection.host,
                database: self.database.as_deref().unwrap_or_default(),
                command_class: Some(command),
                text: Some(&text),
            });
        }
    }
}

/// Statements that may hold a password are shown by their digest.
fn without_passwords<'t>(name: &str, text: &'t [u8]) -> Cow<'t, [u8]> {
    const KINDS: [&str; 4] = ["create_user", "alter_user", "set_password", "grant"];
    let kind = name.strip_prefix(event_name::PREFIX).unwrap_or(name);
    if !KINDS.contains(&kind) {
        return Cow::Borrowed(text);
    }
    let normal = parser::normal_text(
        text,
        parser::SqlMode::default(),
        crate::statement::logs::observe::DIGEST_LENGTH_MAX,
    );
    Cow::Owned(normal.unwrap_or_default().into_bytes())
}

/// The record ends in a `;` of its own.
fn trimmed(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii();
    text.strip_suffix(b";").unwrap_or(text)
}

/// The value as SQL.
fn push_literal(value: &Value, text: &mut Vec<u8>) {
    let column_type = match value {
        Value::Null => return text.extend_from_slice(b"NULL"),
        Value::Int(number) => return text.extend_from_slice(number.to_string().as_bytes()),
        Value::UInt(number) => return text.extend_from_slice(number.to_string().as_bytes()),
        Value::Double(number) => return text.extend_from_slice(number.to_string().as_bytes()),
        Value::Float(number) => return text.extend_from_slice(number.to_string().as_bytes()),
        Value::Decimal(number) => return text.extend_from_slice(number.to_string().as_bytes()),
        Value::DateTime(_) | Value::Timestamp(_) => {
            datum::ColumnType::new(datum::TypeKind::DateTime { fsp: 6 })
        }
        Value::Date(_) => datum::ColumnType::new(datum::TypeKind::Date),
        Value::Time(_) => datum::ColumnType::new(datum::TypeKind::Time { fsp: 6 }),
        _ => datum::ColumnType::new(datum::TypeKind::LongText),
    };
    text.push(b'\'');
    for &byte in value.to_text(&column_type).iter() {
        match byte {
            b'\'' => text.extend_from_slice(b"\\'"),
            b'\\' => text.extend_from_slice(b"\\\\"),
            b'\n' => text.extend_from_slice(b"\\n"),
            0 => text.extend_from_slice(b"\\0"),
            other => text.push(other),
        }
    }
    text.push(b'\'');
}
