//! What is done about an error of the applier: it is passed over, the transaction is asked for again, or the error is told with its
//! place.
use binlog::{Event, RawEvent, RowsKind};
use datum::{SqlError, error_code};
use instance::LogLevel;
use instance::replication::{Part, SkippedErrors};

use super::ApplierSession;
use super::applier::Applier;

/// One that another attempt may not have.
fn is_transient(error: &SqlError) -> bool {
    error.is(&error_code::ER_LOCK_DEADLOCK) || error.is(&error_code::ER_LOCK_WAIT_TIMEOUT)
}

impl ApplierSession {
    /// `replica_skip_errors`: what ends in such an error is left out.
    pub(super) fn pass_over(&self, error: SqlError, skipped: &SkippedErrors) -> Result<(), SqlError> {
        if is_transient(&error) || !skipped.has(error.errno) {
            return Err(error);
        }
        self.instance()
            .log_at(LogLevel::Warning, &format!("replica applier: passed over: {}", error.message));
        Ok(())
    }
}

impl Applier {
    /// A deadlock and the like: the transaction is asked for again. Everything else ends the applier.
    pub(super) fn retry(&mut self, error: SqlError, told: SqlError) -> Result<(), SqlError> {
        let globals = &self.session.instance().globals;
        let retries_max = globals.by_name("replica_transaction_retries").as_unsigned();
        if !is_transient(&error) || self.retries >= retries_max || !self.channel.is_running(Part::Receiver) {
            return Err(told);
        }
        self.retries += 1;
        self.channel.status.lock().retries += 1;
        self.channel.relay.abandon();
        Ok(())
    }

    /// The error with the place where it happened.
    pub(super) fn told(&mut self, error: &SqlError, raw: &RawEvent<'_>) -> SqlError {
        let applying = self.applying();
        let gtid = applying.head.gtid.map_or_else(|| "ANONYMOUS".to_owned(), |gtid| gtid.to_string());
        let (file, position) = (&applying.next.file, raw.header.next_position);
        let place = format!("source log {file}, end_log_pos {position}");
        let what = &error.message;
        let what = match Event::decode(raw) {
            Ok(Event::Query(query)) => {
                let (database, text) = (&query.database, String::from_utf8_lossy(&query.sql));
                format!("Error '{what}' on query. Default database: '{database}'. Query: '{text}'")
            }
            Ok(Event::Rows(rows)) => {
                let kind = match rows.header.kind {
                    RowsKind::Write => "Write_rows",
                    RowsKind::Update => "Update_rows",
                    RowsKind::Delete => "Delete_rows",
                };
                let table = self.tables.get(&rows.header.table_id).map(|mapped| &mapped.columns.table);
                let table = table.map(|table| format!("{}.{}", table.database, table.name));
                let (table, number) = (table.unwrap_or_default(), error.errno);
                format!(
                    "Could not execute {kind} event on table {table}; {what}, Error_code: {number}; the event's {place}"
                )
            }
            _ => what.clone(),
        };
        let message = format!("Worker 1 failed executing transaction '{gtid}' at {place}; {what}");
        SqlError { message, ..error.clone() }
    }
}
