//! What RESTORE TABLE asks of the program, which alone knows where backups and the archive of the log lie.
//!
//! Invariant: whoever asks has checked the rights and the names; what is made has its name only when it is whole. Asked by
//! the statement.
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use binlog::Gtid;
use datum::SqlError;

use crate::instance::Instance;
use crate::process_list::ProcessEntry;

/// Brings tables back. The program supplies it, so that this crate touches no files.
pub trait TableRestorer: Send + Sync {
    /// Makes the new table. A kill of the process ends it; then it is over when nothing of it is left.
    fn restore(&self, order: RestoreOrder) -> RestoreFuture;
}

pub type RestoreFuture = Pin<Box<dyn Future<Output = Result<RestoredTable, SqlError>> + Send>>;

/// What is to be done.
pub struct RestoreOrder {
    pub instance: Arc<Instance>,
    /// Whose statement it is: it shows the progress, and may be killed.
    pub process: Arc<ProcessEntry>,
    /// Database and name of the table as it was then.
    pub table: (String, String),
    /// The same of the new one.
    pub new: (String, String),
    pub moment: RestoreMoment,
    /// A backup, or a directory of backups; `None`: where the program's options say.
    pub from: Option<String>,
    /// The binary log gets it.
    pub is_logged: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreMoment {
    /// All that there is.
    End,
    /// The commits up to this time, in microseconds since 1970.
    Time(u64),
    /// The commits whose log ends here or before.
    Lsn(u64),
    /// The commits up to this transaction, and itself if it is wanted.
    Transaction { gtid: Gtid, is_wanted: bool },
}

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoredTable {
    pub rows: u64,
    /// The end of the last commit that is in it.
    pub lsn: u64,
    /// Its foreign keys, which the new table has not.
    pub foreign_keys: u64,
    /// The same of triggers.
    pub triggers: u64,
}
