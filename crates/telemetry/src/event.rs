//! One statement and one transaction as `events_statements_..` and `events_transactions_..` show them.
use std::sync::Arc;

use crate::digests::DigestEntry;
use crate::figures::StatementFigures;

/// How much of a statement's text an event keeps: `performance_schema_max_sql_text_length`.
pub const TEXT_BYTES_MAX: usize = 1024;

/// A statement that runs or has ended.
#[derive(Clone, Debug, Default)]
pub struct StatementEvent {
    /// Counts the events of the session.
    pub event_id: u64,
    /// 0 while it runs.
    pub end_event_id: u64,
    /// `statement/sql/select`.
    pub name: &'static str,
    /// Nanoseconds since the server's start.
    pub began_ns: u64,
    pub ended_ns: u64,
    pub text: Vec<u8>,
    pub digest: Option<Arc<DigestEntry>>,
    pub schema: Option<Arc<str>>,
    pub errno: u16,
    pub sqlstate: [u8; 5],
    pub message: String,
    pub figures: StatementFigures,
}

impl StatementEvent {
    pub fn set_text(&mut self, text: &[u8]) {
        self.text.clear();
        self.text.extend_from_slice(&text[..text.len().min(TEXT_BYTES_MAX)]);
    }

    /// Sets a reference; one that is there already costs no counting, which sessions on other threads would wait for.
    pub fn set_digest(&mut self, digest: Option<&Arc<DigestEntry>>) {
        if self.digest.as_ref().map(Arc::as_ptr) != digest.map(Arc::as_ptr) {
            self.digest = digest.cloned();
        }
    }

    /// As `set_digest`.
    pub fn set_schema(&mut self, schema: Option<&Arc<str>>) {
        let is_same = match (&self.schema, schema) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            self.schema = schema.cloned();
        }
    }

    /// Takes the place of an older event, whose buffers serve again.
    pub fn copy_from(&mut self, other: &StatementEvent) {
        let (mut text, mut message) = (std::mem::take(&mut self.text), std::mem::take(&mut self.message));
        text.clear();
        text.extend_from_slice(&other.text);
        message.clear();
        message.push_str(&other.message);
        *self = StatementEvent {
            text,
            message,
            digest: other.digest.clone(),
            schema: other.schema.clone(),
            ..*other
        };
    }
}

/// A transaction that is open or has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionEvent {
    pub event_id: u64,
    pub end_event_id: u64,
    /// `ACTIVE`, `COMMITTED` or `ROLLED BACK`.
    pub state: &'static str,
    pub began_ns: u64,
    pub ended_ns: u64,
    pub is_read_only: bool,
    pub isolation: &'static str,
    pub is_autocommit: bool,
}
