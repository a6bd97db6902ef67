//! The files of a database: where they lie, how the page store is found among them, and what is counted of them.
//!
//! Invariant: a store without a log, or without a checkpoint record, is a first start that was cut off; a log without
//! a store, or with commits and no checkpoint record, is damage. Called by `open` and `inspect`.

use crate::EngineError;
use crate::checkpoints::superblock::Superblock;
use crate::recovery;
use env::{CountedDisk, Env, IoCounters};
use pagestore::{InPlaceStore, PageStore, StoreError};
use std::sync::Arc;

pub(crate) const DATA_DIRECTORY: &str = "data";
pub(crate) const LOG_DIRECTORY: &str = "wal";
/// The list of pages in memory.
pub(crate) const HOT_LIST: &str = "hot-pages";

/// What is counted of the files of pages, and of those of the log.
pub(crate) struct FileCounters {
    pub data: Arc<IoCounters>,
    pub log: Arc<IoCounters>,
}

/// The environment with a disk that counts.
pub(crate) fn counted(env: Env) -> (Env, FileCounters) {
    let io = FileCounters { data: Arc::default(), log: Arc::default() };
    let (data, log) = (io.data.clone(), io.log.clone());
    let disk = CountedDisk::new(env.disk, move |path| {
        let is_log = path.split('/').next() == Some(LOG_DIRECTORY);
        if is_log { log.clone() } else { data.clone() }
    });
    (Env { disk: Arc::new(disk), ..env }, io)
}

/// The store and its checkpoint record; `None` when there is no finished database.
pub(crate) async fn open_store(env: &Env) -> Result<Option<(Arc<dyn PageStore>, Superblock)>, EngineError> {
    let store = match InPlaceStore::open(env, DATA_DIRECTORY).await {
        Ok(store) => Arc::new(store),
        Err(StoreError::Io(error)) if error.is_not_found() => {
            // A first start that was cut off leaves no log without a store: the store's files were taken away.
            if log_exists(env).await {
                let what = format!("the log is there, but the page store is not: {error}");
                return Err(EngineError::Corrupt { what });
            }
            return Ok(None);
        }
        // The log is made after the store: without it, the store's creation was cut off.
        Err(StoreError::NoSuperblock { .. }) if !log_exists(env).await => return Ok(None),
        Err(error) => return Err(store_error(error)),
    };
    let Some(bytes) = store.read_superblock().await.map_err(store_error)? else {
        // The record is written last at a first start, and before anything is acknowledged.
        if recovery::log_has_commits(env, LOG_DIRECTORY).await {
            let what =
                "the newest superblock of the page store is lost, and an older one holds no checkpoint";
            return Err(EngineError::Corrupt { what: what.into() });
        }
        return Ok(None);
    };
    let superblock = Superblock::decode(&bytes).map_err(|what| EngineError::Corrupt { what })?;
    Ok(Some((store, superblock)))
}

async fn log_exists(env: &Env) -> bool {
    env.disk.list(LOG_DIRECTORY).await.is_ok_and(|names| !names.is_empty())
}

/// Leaves an empty directory, if there is one.
pub(crate) async fn remove_files(env: &Env, directory: &str) -> Result<(), EngineError> {
    let Ok(names) = env.disk.list(directory).await else { return Ok(()) };
    for name in names {
        env.disk.remove(&format!("{directory}/{name}")).await.map_err(io_error)?;
    }
    env.disk.sync_dir(directory).await.map_err(io_error)
}

pub(crate) fn io_error(error: env::IoError) -> EngineError {
    if error.is_no_space() { EngineError::DiskFull } else { EngineError::Io { what: error.to_string() } }
}

pub(crate) fn store_error(error: StoreError) -> EngineError {
    if error.is_no_space() {
        EngineError::DiskFull
    } else if error.is_corruption() {
        EngineError::Corrupt { what: error.to_string() }
    } else if matches!(error, StoreError::SegmentStore { .. }) {
        EngineError::SegmentStore { what: error.to_string() }
    } else {
        EngineError::Io { what: error.to_string() }
    }
}
