//! BACKUP INSTANCE: the whole database, or what has changed of it, as rows of bytes that the client puts into a file.
//!
//! Invariant: the client takes the parts at his pace and the server holds one of them; a client that goes away, KILL or an error ends the
//! backup, and what was sent has no last part then. `evenkeel backup` asks for it (decision 0056).
use std::sync::Arc;

use collation::CollationId;
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};
use engine::{BackupBase, BackupEnd, BackupHead, BackupOptions, BackupRecord};
use instance::Instance;
use plan::OutputColumn;

use crate::caller::Caller;
use session::Done;
use session::ResultSink;
use session::shape_of;
use session::transaction_error;

/// Where the copy goes, for `performance_schema.clone_status`.
const DESTINATION: &str = "CLIENT";

impl Caller<'_> {
    pub(crate) async fn backup_instance(
        &mut self,
        base: Option<&str>,
        bytes_per_second: u64,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let parse = |token: &str| {
            BackupBase::parse(token).ok_or_else(|| error_code::ER_WRONG_VALUE.with(&[&"backup", &token]))
        };
        let base = base.map(parse).transpose()?;
        let instance = self.instance().clone();
        if base.is_some_and(|base| base.log_id != instance.engine().log_id()) {
            let what = "the backup to continue is of another server";
            return Err(error_code::ER_CLONE_DONOR.with(&[&what]));
        }
        let Some(progress) = instance.backups.begin(self.connection().id, DESTINATION) else {
            return Err(error_code::ER_CLONE_TOO_MANY_CONCURRENT_CLONES.with(&[&1]));
        };
        let interrupted = error_code::ER_QUERY_INTERRUPTED.plain();
        let mut under_way =
            UnderWay { instance: instance.clone(), failure: Some((interrupted.errno, interrupted.message)) };
        let options = BackupOptions { base, bytes_per_second };
        let sent = async {
            let mut stream =
                instance.engine().stream_backup(options, progress).await.map_err(transaction_error)?;
            let column_type =
                ColumnType { collation: CollationId::BINARY, ..ColumnType::new(TypeKind::LongBlob) };
            let column = OutputColumn::computed("Part", column_type);
            sink.columns(&shape_of(&[column], self.settings()));
            let (mut found, mut end) = (0, None);
            while let Some(part) = stream.next().await.map_err(transaction_error)? {
                sink.row(&[Value::Bytes(part.encode())]);
                // At once: the next part may take its time.
                sink.flush().await.map_err(|_| error_code::ER_QUERY_INTERRUPTED.plain())?;
                found += 1;
                if let BackupRecord::End(record) = part {
                    end = Some(record);
                }
            }
            Ok((found, *stream.head(), end))
        }
        .await;
        match sent {
            Ok((found, head, end)) => {
                under_way.failure = None;
                instance.log(&describe(&head, end.as_ref()));
                Ok(Done::Rows { found })
            }
            Err(error) => {
                let error: SqlError = error;
                under_way.failure = Some((error.errno, error.message.clone()));
                Err(error)
            }
        }
    }
}

fn describe(head: &BackupHead, end: Option<&BackupEnd>) -> String {
    let kind = if head.base == 0 { "a backup" } else { "an increment of a backup" };
    let (id, to_lsn) = (head.id, end.map_or(0, |end| end.to_lsn));
    format!("{kind} was sent to a client: {id:016x}, log up to LSN {to_lsn}")
}

/// A backup under way: whatever ends the statement, its end is noted.
struct UnderWay {
    instance: Arc<Instance>,
    failure: Option<(u16, String)>,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.instance.backups.end(self.failure.take());
    }
}
