//! PURGE BINARY LOGS and RESET BINARY LOGS AND GTIDS.
//!
//! Invariant: the file that is written and files that replicas read are never purged; the client is told of them.
//! Called by the dispatch.
use datum::{ErrorCode, SqlError, Value, error_code};
use parser::ast::PurgeBinaryLogs;
use source::BinaryLog;

use crate::caller::Caller;
use session::Shield;
use session::{Done, Request, log_error};

const ER_UNKNOWN_TARGET_BINLOG: ErrorCode =
    ErrorCode::new(1373, "HY000", "Target log not found in binlog index");
const ER_WARN_PURGE_LOG_IN_USE: ErrorCode = ErrorCode::new(
    1867,
    "HY000",
    "file %s was not purged because it was being read by %s thread(s), purged only %s out of %s files.",
);
const ER_WARN_PURGE_LOG_IS_ACTIVE: ErrorCode =
    ErrorCode::new(1868, "HY000", "file %s was not purged because it is the active log file.");
const ER_BINLOG_FILE_INDEX_OUT_OF_RANGE: ErrorCode = ErrorCode::new(
    3567,
    "HY000",
    "The requested value '%s' for the next binary log index is out of range. Please use a value between '1' and '2000000000'.",
);
const FILE_NUMBER_MAX: u64 = 2_000_000_000;

impl Caller<'_> {
    pub(crate) async fn purge_binary_logs(
        &mut self,
        purge: &PurgeBinaryLogs<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let before = match purge {
            PurgeBinaryLogs::Before(moment) => {
                let (value, _) = self.evaluate_one(moment, request, shield).await?;
                Some(seconds(&value))
            }
            PurgeBinaryLogs::To(_) => None,
        };
        let Some(log) = self.instance().binary_log() else { return Ok(Done::ok()) };
        let number = match (purge, before) {
            (PurgeBinaryLogs::To(name), _) => {
                let found = std::str::from_utf8(name).ok().and_then(|name| log.file_named(name));
                found.ok_or_else(|| ER_UNKNOWN_TARGET_BINLOG.plain())?
            }
            (PurgeBinaryLogs::Before(_), moment) => self.first_kept(log, moment.unwrap_or(0)),
        };
        self.warn_of_readers(log, number);
        log.purge_before(number).await.map_err(|error| log_error(&error))?;
        Ok(Done::ok())
    }

    /// The first file whose last transaction is not older; a file ends when the next one begins.
    fn first_kept(&self, log: &BinaryLog, moment: u64) -> u64 {
        let files = log.files();
        let ends = files.iter().skip(1).map(|next| u64::from(next.begun_at));
        let older = ends.take_while(|end| *end < moment).count();
        let first = files.get(older).map_or(0, |file| file.number);
        if older + 1 == files.len() {
            let name = format!("./{}", log.file_name(first));
            self.shared().warning(ER_WARN_PURGE_LOG_IS_ACTIVE.with(&[&name]));
        }
        first
    }

    fn warn_of_readers(&self, log: &BinaryLog, number: u64) {
        let Some((read, readers)) = log.oldest_read().filter(|(read, _)| *read < number) else { return };
        let files = log.files();
        let before = |number: u64| files.iter().filter(|file| file.number < number).count();
        let name = format!("./{}", log.file_name(read));
        let warning = ER_WARN_PURGE_LOG_IN_USE.with(&[&name, &readers, &before(read), &before(number)]);
        self.shared().warning(warning);
    }

    pub(crate) async fn reset_binary_logs(
        &mut self,
        first: Option<u64>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        if self.holds_table_locks() {
            return Err(error_code::ER_LOCK_OR_ACTIVE_TRANSACTION.plain());
        }
        let first = first.unwrap_or(1);
        if !(1..=FILE_NUMBER_MAX).contains(&first) {
            return Err(ER_BINLOG_FILE_INDEX_OUT_OF_RANGE.with(&[&first]));
        }
        match self.instance().binary_log() {
            Some(log) => {
                self.forget_applied(shield).await?;
                log.reset(first).await.map_err(|error| log_error(&error))?;
            }
            None => {
                return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"RESET BINARY LOGS with log_bin=OFF"]));
            }
        }
        Ok(Done::ok())
    }
}

/// Of UNIX_TIMESTAMP's result.
fn seconds(value: &Value) -> u64 {
    match value {
        Value::Int(number) => u64::try_from(*number).unwrap_or(0),
        Value::UInt(number) => *number,
        Value::Decimal(number) => number.to_u64().unwrap_or(0),
        _ => 0,
    }
}
