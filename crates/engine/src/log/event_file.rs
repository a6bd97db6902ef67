//! Events that are too many for the log: a file of their own beside it, which the record of their commit names.
//!
//! Invariant: a file is whole and durable before the record that names it is appended. One that no record names is removed with its
//! `EventFile`, after a crash by `remove_event_files`. Transactions write them; whoever takes events reads and removes them.

use crate::EngineError;
use crate::engine::Engine;
use crate::storage::files::{io_error, remove_files};
use env::{Env, File, IoBuf, OpenOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const DIRECTORY: &str = "events";
/// One write.
const WRITE_BYTES: usize = 1 << 20;
/// So much is written before it is synced: the log's own syncs do not wait behind all of a file then.
const SYNC_BYTES: u64 = 8 << 20;

fn path(number: u64) -> String {
    format!("{DIRECTORY}/{number:016x}")
}

/// A file that is durable; it is removed when it is dropped before a record names it.
pub struct EventFile {
    env: Env,
    number: u64,
    bytes: u64,
    is_named: AtomicBool,
}

impl EventFile {
    /// What names it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its length.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A record in the log names it now.
    pub(crate) fn named(&self) {
        let before = self.is_named.swap(true, Ordering::Relaxed);
        debug_assert!(!before, "one record names a file");
    }
}

impl Drop for EventFile {
    fn drop(&mut self) {
        if !*self.is_named.get_mut() {
            let (disk, path) = (self.env.disk.clone(), path(self.number));
            let remove = async move {
                // What stays is removed by the next start.
                let _ = disk.remove(&path).await;
            };
            self.env.spawner.spawn("remove events", Box::pin(remove));
        }
    }
}

/// A file on its way; dropped before `finish`, it is removed.
pub struct EventFileWriter {
    file: Arc<dyn File>,
    made: EventFile,
    pending: Vec<u8>,
    synced_bytes: u64,
}

impl EventFileWriter {
    /// Adds events.
    pub async fn append(&mut self, events: &[u8]) -> Result<(), EngineError> {
        self.pending.extend_from_slice(events);
        if self.pending.len() < WRITE_BYTES {
            return Ok(());
        }
        self.write().await
    }

    async fn write(&mut self) -> Result<(), EngineError> {
        debug_assert!(!self.pending.is_empty(), "a write has bytes");
        let (_, result) = self.file.write_at(self.made.bytes, IoBuf::copy_of(&self.pending)).await;
        result.map_err(io_error)?;
        self.made.bytes += self.pending.len() as u64;
        self.pending.clear();
        debug_assert!(self.synced_bytes < self.made.bytes, "what is synced was written before");
        if self.made.bytes - self.synced_bytes >= SYNC_BYTES {
            self.file.sync().await.map_err(io_error)?;
            self.synced_bytes = self.made.bytes;
        }
        Ok(())
    }

    /// Makes the file and its name durable.
    pub async fn finish(mut self) -> Result<EventFile, EngineError> {
        if !self.pending.is_empty() {
            self.write().await?;
        }
        debug_assert!(self.pending.is_empty(), "a file is whole before it is named");
        self.file.sync_all().await.map_err(io_error)?;
        self.made.env.disk.sync_dir(DIRECTORY).await.map_err(io_error)?;
        Ok(self.made)
    }
}

impl Engine {
    /// A new file for the events of one transaction.
    pub async fn create_event_file(&self) -> Result<EventFileWriter, EngineError> {
        let env = &self.env;
        env.disk.create_dir(DIRECTORY).await.map_err(io_error)?;
        env.disk.sync_dir("").await.map_err(io_error)?;
        let number = env.random.u64();
        let file = env.disk.open(&path(number), OpenOptions::create_new()).await.map_err(io_error)?;
        let made = EventFile { env: env.clone(), number, bytes: 0, is_named: AtomicBool::new(false) };
        Ok(EventFileWriter { file, made, pending: Vec::new(), synced_bytes: 0 })
    }

    /// The file that a record has named.
    pub async fn open_event_file(&self, number: u64) -> Result<Arc<dyn File>, EngineError> {
        self.env.disk.open(&path(number), OpenOptions::existing()).await.map_err(io_error)
    }

    /// What is in it is elsewhere for certain.
    pub async fn remove_event_file(&self, number: u64) -> Result<(), EngineError> {
        self.env.disk.remove(&path(number)).await.map_err(io_error)
    }

    /// Removes all of them; for a start, when what the log names has been taken.
    pub async fn remove_event_files(&self) -> Result<(), EngineError> {
        remove_files(&self.env, DIRECTORY).await
    }
}
