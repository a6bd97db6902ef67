//! The binary log as sessions know it: its files, what they contain, and what can be asked of the task that writes them.
//!
//! Invariant: `files` and `executed` say what readers may see: all of it is in the files. Only the task changes them.
use crate::SourceError;
use crate::position::Position;
use crate::replicas::Replicas;
use crate::semi_sync::{SemiSync, SemiSyncSettings};
use crate::writer::Writer;
use binlog::{Checksum, DatabaseFilter, GtidSet, ServerUuid};
use engine::Engine;
use env::sync::{Event, WaitQueue, Waiter};
use env::{Env, File, OpenOptions};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the program says of its binary log.
pub struct BinaryLogConfig {
    /// Files are called so, with a number.
    pub base: String,
    /// The server's own.
    pub server_uuid: ServerUuid,
    /// For the format description.
    pub server_version: String,
    /// What files that begin from now on have.
    pub checksum: Checksum,
    /// What it has; sessions ask before they note a change.
    pub databases: Arc<DatabaseFilter>,
    /// Seconds since 1970.
    pub now_s: fn() -> u32,
    /// What can be set while it runs.
    pub live: Box<dyn Fn() -> LiveSettings + Send + Sync>,
}

/// What can be set while it runs.
#[derive(Clone, Copy, Debug)]
pub struct LiveSettings {
    /// `server_id`.
    pub server_id: u32,
    /// `max_binlog_size`.
    pub file_bytes_max: u64,
    /// `binlog_transaction_dependency_history_size`; obeyed from the next note of the position on.
    pub dependency_keys_max: u64,
    /// `binlog_expire_logs_seconds`; 0 keeps all.
    pub expire_seconds: u64,
    /// `rpl_semi_sync_source_*`; `BinaryLog::semi_sync_changed` has to be told of a change.
    pub semi_sync: SemiSyncSettings,
}

/// One file, as far as readers may see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// Its number.
    pub number: u64,
    /// Its length.
    pub length: u64,
    /// When it was begun, in seconds since 1970.
    pub begun_at: u32,
}

/// What sessions ask of the task.
pub(crate) enum Request {
    /// FLUSH BINARY LOGS.
    Rotate,
    /// PURGE: the files before this number.
    Purge(u64),
    /// RESET BINARY LOGS AND GTIDS; the first file has this number.
    Reset(u64),
}

#[derive(Default)]
pub(crate) struct Published {
    pub files: Vec<LogFile>,
    pub executed: GtidSet,
    pub purged: GtidSet,
    /// Why the task has ended.
    pub failure: Option<SourceError>,
}

/// See the head of this file.
pub struct BinaryLog {
    pub(crate) env: Env,
    pub(crate) engine: Arc<Engine>,
    pub(crate) config: BinaryLogConfig,
    pub(crate) published: Mutex<Published>,
    /// Commits at or before it are in the files.
    pub(crate) written_lsn: AtomicU64,
    pub(crate) progress: WaitQueue,
    pub(crate) requests: Mutex<Vec<(Request, Arc<Event>)>>,
    ended: Mutex<bool>,
    /// How many streams are in a file.
    readers: Mutex<BTreeMap<u64, usize>>,
    pub(crate) replicas: Mutex<Replicas>,
    pub(crate) semi_sync: SemiSync,
}

impl BinaryLog {
    /// Completes the files with what the engine's log has behind them, begins a new one, and starts to write.
    pub async fn open(
        env: Env,
        engine: Arc<Engine>,
        config: BinaryLogConfig,
    ) -> Result<Arc<BinaryLog>, SourceError> {
        let log = Arc::new(BinaryLog::new(env, engine, config));
        let writer = Writer::open(log.clone()).await?;
        let task = log.clone();
        let run = async move {
            if let Err(error) = writer.run().await {
                task.engine.events_failed(&error.to_string());
                task.published.lock().failure = Some(error);
            }
            *task.ended.lock() = true;
            task.requests.lock().drain(..).for_each(|(_, done)| done.set());
            task.progress.wake_all();
            task.semi_sync.wake();
        };
        log.env.spawner.spawn("binary-log", Box::pin(run));
        Ok(log)
    }

    /// Completes the files of an earlier start, which are called as `config` says, and lets the engine's log go. For a server that has
    /// no binary log now, or one of another name; `at` is the directory's note. False where the files were gone.
    pub async fn complete(
        env: Env,
        engine: Arc<Engine>,
        config: BinaryLogConfig,
        at: Position,
    ) -> Result<bool, SourceError> {
        Writer::close_unopened(Arc::new(BinaryLog::new(env, engine, config)), at).await
    }

    fn new(env: Env, engine: Arc<Engine>, config: BinaryLogConfig) -> BinaryLog {
        BinaryLog {
            env,
            engine,
            config,
            published: Mutex::default(),
            written_lsn: AtomicU64::new(0),
            progress: WaitQueue::new(),
            requests: Mutex::default(),
            ended: Mutex::new(false),
            readers: Mutex::default(),
            replicas: Mutex::default(),
            semi_sync: SemiSync::default(),
        }
    }

    /// The name of a file.
    pub fn file_name(&self, number: u64) -> String {
        format!("{}.{number:06}", self.config.base)
    }

    /// Woken when more is in the files; registered before the look.
    pub fn progress(&self) -> Waiter<'_> {
        self.progress.register()
    }

    /// The databases whose changes it has.
    pub fn databases(&self) -> &Arc<DatabaseFilter> {
        &self.config.databases
    }

    pub(crate) fn index_name(&self) -> String {
        format!("{}.index", self.config.base)
    }

    /// The number of the file of this name, if it is there. A path before the name does not matter.
    pub fn file_named(&self, name: &str) -> Option<u64> {
        let name = name.rsplit('/').next()?;
        let number = name.strip_prefix(&*self.config.base)?.strip_prefix('.')?.parse().ok()?;
        self.published.lock().files.iter().any(|file| file.number == number).then_some(number)
    }

    /// The files, oldest first.
    pub fn files(&self) -> Vec<LogFile> {
        self.published.lock().files.clone()
    }

    /// What is in the files, and what was.
    pub fn executed(&self) -> GtidSet {
        self.published.lock().executed.clone()
    }

    /// Whether a transaction is in the files, or was.
    pub fn has_executed(&self, gtid: binlog::Gtid) -> bool {
        self.published.lock().executed.contains(gtid)
    }

    /// What was in files that are gone.
    pub fn purged(&self) -> GtidSet {
        self.published.lock().purged.clone()
    }

    /// The server's UUID.
    pub fn server_uuid(&self) -> ServerUuid {
        self.config.server_uuid
    }

    /// Waits until everything that was committed before is in the files.
    pub async fn catch_up(&self) -> Result<(), SourceError> {
        let wanted = self.engine.newest_events();
        loop {
            let progress = self.progress.register();
            if self.written_lsn.load(Ordering::Acquire) >= wanted {
                return Ok(());
            }
            self.check_running()?;
            progress.await;
        }
    }

    /// The task's failure, if it has ended.
    pub(crate) fn check_running(&self) -> Result<(), SourceError> {
        let failure = self.published.lock().failure.clone();
        match (failure, *self.ended.lock()) {
            (Some(failure), _) => Err(failure),
            (None, true) => Err(SourceError::Engine(engine::EngineError::Closed)),
            (None, false) => Ok(()),
        }
    }

    async fn ask(&self, request: Request) -> Result<(), SourceError> {
        self.check_running()?;
        let done = Arc::new(Event::new());
        self.requests.lock().push((request, done.clone()));
        self.engine.call_events();
        done.wait().await;
        self.check_running()
    }

    /// Goes on in a new file; what was committed before is in the old one.
    pub async fn rotate(&self) -> Result<(), SourceError> {
        self.catch_up().await?;
        self.ask(Request::Rotate).await
    }

    /// The oldest file that is being read, and by how many: it and what follows it is not purged.
    pub fn oldest_read(&self) -> Option<(u64, usize)> {
        self.readers.lock().first_key_value().map(|(number, count)| (*number, *count))
    }

    /// Removes the files before this one, but none that is being read.
    pub async fn purge_before(&self, number: u64) -> Result<(), SourceError> {
        self.ask(Request::Purge(number)).await
    }

    /// Removes all files and forgets all identifiers, those of what was committed before as well; goes on in the file of this number.
    pub async fn reset(&self, first: u64) -> Result<(), SourceError> {
        self.catch_up().await?;
        self.ask(Request::Reset(first)).await
    }

    /// Writes what is left, syncs it, and ends. Call it when no session is left, before the engine is closed.
    pub async fn close(&self) -> Result<(), SourceError> {
        self.engine.stop_events();
        loop {
            let progress = self.progress.register();
            if *self.ended.lock() {
                return self.published.lock().failure.clone().map_or(Ok(()), Err);
            }
            progress.await;
        }
    }

    pub(crate) async fn open_file(&self, number: u64) -> Result<Arc<dyn File>, SourceError> {
        let name = self.file_name(number);
        match self.env.disk.open(&name, OpenOptions::existing()).await {
            Ok(file) => Ok(file),
            Err(error) if error.is_not_found() => Err(SourceError::UnknownFile(name)),
            Err(error) => Err(error.into()),
        }
    }
}

/// A stream is in this file, until it is dropped.
pub(crate) struct Reading {
    log: Arc<BinaryLog>,
    number: u64,
}

impl Reading {
    pub fn new(log: Arc<BinaryLog>, number: u64) -> Reading {
        *log.readers.lock().entry(number).or_default() += 1;
        Reading { log, number }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let mut readers = self.log.readers.lock();
        if let Some(count) = readers.get_mut(&self.number) {
            *count -= 1;
            if *count == 0 {
                readers.remove(&self.number);
            }
        }
    }
}
