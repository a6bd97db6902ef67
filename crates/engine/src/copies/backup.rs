//! Hot backup: a copy of the database in another directory while the database works.
//!
//! The copy is what a crash at one moment would have left: pages as they lay on disk at different moments, and the log from the
//! checkpoint at the beginning up to that moment. Opening it is recovery. So a backup holds no lock, waits for nobody's
//! transaction, and includes definitions that change meanwhile.
//!
//! Invariant: log that is not copied yet stays (`LogPin`); what is copied may be reused here, so a long backup does not make
//! the log longer. Everything that was durable when the last page had been copied is in the copy. Called by `instance`.

use crate::EngineError;
use crate::checkpoints::superblock::Superblock;
use crate::engine::Engine;
use crate::storage::files::{DATA_DIRECTORY, LOG_DIRECTORY, io_error};
use env::Disk;
use pagestore::StoreCopy;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wal::{LogPin, Lsn};

/// One read has so many bytes: long enough that a disk is near its sequential speed, short enough that a batch of dirty pages,
/// which waits for it, hardly notices.
const RUN_BYTES: u64 = 512 << 10;

/// While users use the disk, a backup rests so many times as long as its last run took.
const REST: u64 = 6;

/// How far a backup has come, for whoever looks at it meanwhile.
#[derive(Debug, Default)]
pub struct BackupProgress {
    /// Pages that have been copied.
    pub pages: AtomicU64,
    /// Pages that there are to copy; it may grow.
    pub pages_total: AtomicU64,
    /// Size of a page in bytes; 0 before the first.
    pub page_size_bytes: AtomicU64,
    /// Bytes of log that have been copied.
    pub log_bytes: AtomicU64,
}

/// What a finished backup is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// The log in it begins here: its opening reads from here on.
    pub from_lsn: u64,
    /// Everything that was durable before this LSN is in it.
    pub to_lsn: u64,
    /// Pages in it.
    pub pages: u64,
    /// Size of a page in bytes.
    pub page_size_bytes: u64,
    /// Pages that were damaged before they were copied; they are damaged in the copy too.
    pub damaged: Vec<u64>,
}

impl Engine {
    /// Copies the database to another disk, which holds no database. Can be dropped at any await; what it has written then is
    /// no database.
    pub async fn back_up(
        self: &Arc<Self>,
        target: Arc<dyn Disk>,
        progress: &BackupProgress,
    ) -> Result<Backup, EngineError> {
        let (superblock, mut pin) = self.begin_backup().await?;
        let store = self.pool.store();
        let page_size = store.page_size();
        progress.page_size_bytes.store(page_size.bytes() as u64, Ordering::Relaxed);
        let mut pages =
            StoreCopy::create(target.clone(), DATA_DIRECTORY, page_size).await.map_err(copy_error)?;
        let from = Lsn(superblock.checkpoint_lsn);
        let mut log = self.wal.copy_to(target.clone(), LOG_DIRECTORY, from).await.map_err(copy_error)?;
        let run = (RUN_BYTES / page_size.bytes() as u64).max(1);
        let mut pace = Pace::new(self, 0);
        loop {
            let started = pace.begin();
            let copied = store.copy_pages(&mut pages, run).await.map_err(copy_error)?;
            let durable = self.wal.continue_copy(&mut log).await.map_err(copy_error)?;
            pin.move_to(durable);
            progress.pages.store(pages.next_page().0, Ordering::Relaxed);
            progress.pages_total.store(store.page_count(), Ordering::Relaxed);
            progress.log_bytes.store(log.position().0.saturating_sub(from.0), Ordering::Relaxed);
            if copied == 0 {
                break;
            }
            pace.rest(started, 1, copied * page_size.bytes() as u64).await;
        }
        // From here on the copy is complete as soon as it has the log of this moment.
        let end = self.wal.end_lsn();
        self.wal.wait_durable(end).await.map_err(|error| self.log_failed(&error))?;
        debug_assert!(self.wal.durable_lsn() >= end, "what was waited for is durable");
        let to = self.wal.continue_copy(&mut log).await.map_err(copy_error)?;
        assert!(to >= end, "a copy has the log up to the moment at which its last page was copied");
        assert!(to >= from, "a copy has the log that its opening reads");
        let backup = Backup {
            from_lsn: from.0,
            to_lsn: to.0,
            pages: pages.next_page().0,
            page_size_bytes: page_size.bytes() as u64,
            damaged: pages.damaged().iter().map(|page| page.0).collect(),
        };
        self.wal.finish_copy(log).await.map_err(copy_error)?;
        drop(pin);
        let superblock = Superblock { known_durable_lsn: to.0, clean: false, ..superblock };
        store.finish_copy(pages, &superblock.encode()).await.map_err(copy_error)?;
        target.sync_dir("").await.map_err(io_error)?;
        Ok(backup)
    }

    /// The newest checkpoint, and the log from there on.
    pub(crate) async fn begin_backup(&self) -> Result<(Superblock, LogPin), EngineError> {
        let _turn = self.checkpoint_turn().await;
        let record =
            self.pool.store().read_superblock().await.map_err(|error| self.pool_error(error.into()))?;
        let record = record.ok_or_else(|| EngineError::Io { what: "there is no checkpoint yet".into() })?;
        let superblock = Superblock::decode(&record).map_err(|what| EngineError::Corrupt { what })?;
        debug_assert!(
            superblock.checkpoint_lsn >= self.checkpointer.checkpoint_lsn(),
            "the checkpoint that counts is on disk"
        );
        let pin = self.wal.pin(Lsn(superblock.checkpoint_lsn));
        // Whoever takes events says how far they are: a restore can tell commits apart from there on.
        self.events.call();
        Ok((superblock, pin.expect("the log from the checkpoint on is kept")))
    }

    /// Operations on data files and log so far, everybody's.
    fn operations(&self) -> u64 {
        let of = |io: env::IoStats| io.reads + io.writes;
        of(self.io.data.stats()) + of(self.io.log.stats())
    }
}

/// A copy that fails is nothing that this database has to stop for.
pub(crate) fn copy_error(error: impl Display) -> EngineError {
    EngineError::Io { what: error.to_string() }
}

/// What a run of a backup does beside its reads when nobody else does anything: perhaps a read of log.
const OWN_OPERATIONS: u64 = 1;

/// Keeps a backup out of the way of users, and within the rate that it may have.
pub(crate) struct Pace {
    engine: Arc<Engine>,
    /// 0: no bound.
    bytes_per_second: u64,
    begun_us: u64,
    bytes: u64,
}

/// When a run began, and what everybody had done before.
pub(crate) struct Run {
    begun_us: u64,
    operations: u64,
}

impl Pace {
    pub fn new(engine: &Arc<Engine>, bytes_per_second: u64) -> Pace {
        let begun_us = engine.env.clock.now_us();
        Pace { engine: engine.clone(), bytes_per_second, begun_us, bytes: 0 }
    }

    pub fn begin(&self) -> Run {
        Run { begun_us: self.engine.env.clock.now_us(), operations: self.engine.operations() }
    }

    /// Rests behind a run that has brought so many bytes by so many reads.
    pub async fn rest(&mut self, run: Run, reads: u64, bytes: u64) {
        self.bytes += bytes;
        let clock = &self.engine.env.clock;
        let now_us = clock.now_us();
        let is_shared = self.engine.operations() - run.operations > reads + OWN_OPERATIONS;
        let for_users_us = if is_shared { now_us.saturating_sub(run.begun_us) * REST } else { 0 };
        let allowed_us = match self.bytes_per_second {
            0 => 0,
            rate => (u128::from(self.bytes) * 1_000_000 / u128::from(rate)) as u64,
        };
        let for_rate_us = (self.begun_us + allowed_us).saturating_sub(now_us);
        match for_users_us.max(for_rate_us) {
            0 => {}
            rest_us => clock.sleep(rest_us).await,
        }
    }
}
