//! Copies of the database that sessions have asked for: where they may be made, and how far the newest has come.
//!
//! Invariant: one at a time, since each reads the whole store. The newest is remembered until the next begins, also when it
//! has failed. Asked by CLONE, shown by `performance_schema.clone_status` and `clone_progress`.
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use engine::BackupProgress;
use env::Disk;
use env::sync::Mutex;

use crate::admission::unix_now_us;
use crate::connection_id::ConnectionId;
use crate::table_restore::TableRestorer;

/// Directories outside of the data directory. The program supplies them, so that this crate touches no files.
pub trait Directories: Send + Sync {
    /// Makes a directory, which must not exist, for a copy. It counts as unfinished until `finish`.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn Disk>>;
    /// The copy in it is whole.
    fn finish(&self, path: &Path) -> io::Result<()>;
    /// Removes it with all that is in it, some time soon.
    fn remove(&self, path: &Path);
}

/// One copy, under way or over.
#[derive(Debug, Clone)]
pub struct BackupRun {
    pub number: u64,
    pub connection: ConnectionId,
    pub directory: String,
    pub begun_us: u64,
    pub ended_us: Option<u64>,
    /// Error number and message.
    pub failure: Option<(u16, String)>,
    pub progress: Arc<BackupProgress>,
}

#[derive(Default)]
pub struct Backups {
    directories: OnceLock<Arc<dyn Directories>>,
    restorer: OnceLock<Arc<dyn TableRestorer>>,
    newest: Mutex<Option<BackupRun>>,
}

impl Backups {
    /// Says where copies are made; once, by the program.
    pub fn set_directories(&self, directories: Arc<dyn Directories>) {
        let _ = self.directories.set(directories);
    }

    /// `None` in a program that makes no copies.
    pub fn directories(&self) -> Option<Arc<dyn Directories>> {
        self.directories.get().cloned()
    }

    /// Says how tables come back from them; once, by the program.
    pub fn set_restorer(&self, restorer: Arc<dyn TableRestorer>) {
        let _ = self.restorer.set(restorer);
    }

    /// `None` in a program that has no backups.
    pub fn restorer(&self) -> Option<Arc<dyn TableRestorer>> {
        self.restorer.get().cloned()
    }

    pub fn newest(&self) -> Option<BackupRun> {
        self.newest.lock().clone()
    }

    /// Begins a copy; `None` while another is made.
    pub fn begin(&self, connection: ConnectionId, directory: &str) -> Option<Arc<BackupProgress>> {
        let mut newest = self.newest.lock();
        if newest.as_ref().is_some_and(|run| run.ended_us.is_none()) {
            return None;
        }
        let progress = Arc::new(BackupProgress::default());
        *newest = Some(BackupRun {
            number: newest.as_ref().map_or(1, |run| run.number + 1),
            connection,
            directory: directory.to_owned(),
            begun_us: unix_now_us(),
            ended_us: None,
            failure: None,
            progress: progress.clone(),
        });
        Some(progress)
    }

    /// The copy that was begun is over.
    pub fn end(&self, failure: Option<(u16, String)>) {
        if let Some(run) = &mut *self.newest.lock() {
            run.ended_us = Some(unix_now_us());
            run.failure = failure;
        }
    }
}

impl std::fmt::Debug for Backups {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Backups").field("newest", &self.newest()).finish_non_exhaustive()
    }
}
