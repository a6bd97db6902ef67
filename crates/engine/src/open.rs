//! Opening: a new database is formatted, an existing one recovered; and the orderly close.
//!
//! Invariant: a database exists once its first superblock is durable. Whatever a first start that was cut
//! off left behind is removed and made again.

use crate::budget::{Budgets, redo_memory_bytes, wal_options};
use crate::checkpoints::checkpoint::Checkpointer;
use crate::checkpoints::page_logs;
use crate::checkpoints::page_logs::Renewal;
use crate::checkpoints::superblock::Superblock;
use crate::checks::damage::Damage;
use crate::engine::Engine;
use crate::full_disk::FullDisk;
use crate::life::Life;
use crate::locks::Locks;
use crate::log::events::EventQueue;
use crate::log::log_record::{Operation, UndoRecord};
use crate::recovery::{self, Analysis, Remains, Rest};
use crate::row_table::RowTable;
use crate::runs::Runs;
use crate::spill::{FoundSpill, Spills, Standing};
use crate::stats::Counters;
use crate::storage::files::{
    DATA_DIRECTORY, FileCounters, HOT_LIST, LOG_DIRECTORY, counted, io_error, open_store, remove_files,
    store_error,
};
use crate::storage::live_trees::{META_TREE, Trees};
use crate::storage::trees::Leftovers;
use crate::transactions::commit::CommitClock;
use crate::transactions::held_commits::HeldCommits;
use crate::transactions::transaction::Work;
use crate::transactions::transaction_state::TransactionId;
use crate::transactions::writers::Writers;
use crate::versions::Versions;
use crate::{EngineError, EngineOptions, TreeId};
use btree::redo::{Collected, Collector, PageIds, Wish};
use btree::{Mtr, Space, Tree};
use buffer::{ApplyLate, BufferPool, PoolOptions, Stop};
use env::Env;
use pagestore::{InPlaceStore, PageSize, PageStore};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use wal::{Lsn, Wal};

/// Tree ids below are the engine's own; users' trees start here.
const FIRST_USER_TREE: u64 = 1000;
const _: () = assert!(
    FIRST_USER_TREE > META_TREE.0 && FIRST_USER_TREE > TreeId::CATALOG.0 && META_TREE.0 != TreeId::CATALOG.0,
    "each tree has a number of its own"
);

/// A smaller buffer pool could not hold the pages of a few operations at once.
const POOL_FRAMES_MIN: u64 = 33;
/// What the pool keeps for a page beside it, generously.
const FRAME_BYTES: u64 = 256;

/// How often `close` looks whether background work has ended.
const CLOSE_POLL_US: u64 = 2_000;
/// `close` waits for background work, and flushes pages, for at most this long each; the log holds whatever
/// is left. A shutdown has 5 seconds.
const CLOSE_TASKS_US_MAX: u64 = 1_500_000;
const CLOSE_FLUSH_US_MAX: u64 = 2_000_000;

/// Less of the log is in use while nothing is rolled back.
const USED_EIGHTHS_MAX: u64 = 6;

/// The capacity with which a log opens of which so much is needed: where it was larger before, what the opening has to log
/// may not fit into what is asked for now. It is shortened then once the database is open.
fn opening_capacity(asked_bytes: u64, needed_bytes: u64) -> u64 {
    if needed_bytes > asked_bytes / 8 * USED_EIGHTHS_MAX {
        asked_bytes.max(2 * needed_bytes)
    } else {
        asked_bytes
    }
}

/// The log does not reach as far back as somebody relied upon.
fn log_is_gone(from: u64) -> EngineError {
    EngineError::Corrupt { what: format!("the log from LSN {from} on, which the binary log needs, is gone") }
}

impl Engine {
    /// Opens the database on the environment's disk, creating it when there is none, and recovers it.
    pub async fn open(env: Env, options: EngineOptions) -> Result<Arc<Engine>, EngineError> {
        let (env, io) = counted(env);
        match open_store(&env).await? {
            Some((store, superblock)) => Engine::recover(env, io, options, store, superblock).await,
            None => Engine::format(env, io, options).await,
        }
    }

    async fn format(env: Env, io: FileCounters, options: EngineOptions) -> Result<Arc<Engine>, EngineError> {
        let page_size = PageSize::from_bytes(options.page_size_bytes as u64)
            .ok_or_else(|| EngineError::Io { what: format!("page size {}", options.page_size_bytes) })?;
        // The log first: a store without a log is known to be unfinished.
        remove_files(&env, LOG_DIRECTORY).await?;
        remove_files(&env, DATA_DIRECTORY).await?;
        env.disk.create_dir(DATA_DIRECTORY).await.map_err(io_error)?;
        env.disk.sync_dir("").await.map_err(io_error)?;
        let store = InPlaceStore::create(&env, DATA_DIRECTORY, page_size).await.map_err(store_error)?;
        let store = Arc::new(store);
        let wal =
            Wal::create(&env, wal_options(&options)).await.map_err(|error| recovery::log_error(&error))?;
        let parts = Parts::new(env, io, &options, store, Arc::new(wal));
        let meta = parts.format_trees().await?;
        let end = parts.wal.end_lsn().0;
        let engine = parts.assemble(Trees::new(meta, FIRST_USER_TREE), Checkpoint { lsn: 0, next_txn: 1 });
        engine.register_catalog().await?;
        engine.pool.flush_all().await.map_err(|error| engine.pool_error(error))?;
        engine.commits.last_lsn.store(end, Ordering::Release);
        engine.life.recovering.store(false, Ordering::Relaxed);
        engine.checkpoint(true).await?;
        engine.pool.warm_up(false);
        Ok(engine)
    }

    async fn recover(
        env: Env,
        io: FileCounters,
        options: EngineOptions,
        store: Arc<dyn PageStore>,
        superblock: Superblock,
    ) -> Result<Arc<Engine>, EngineError> {
        let from = Lsn(superblock.checkpoint_lsn);
        // A page is written only when the log is durable up to its LSN.
        let known_durable = Lsn(superblock.known_durable_lsn.max(store.newest_lsn()));
        let loads_hot_pages = options.loads_hot_pages;
        let memory_bytes = redo_memory_bytes(&options);
        let mut collector = Collector::new(store.clone(), btree::check_page, memory_bytes, Wish::default());
        let (mut analysis, tail) =
            recovery::analyse(&env, LOG_DIRECTORY, from, known_durable, &mut collector).await?;
        let end = tail.end_lsn();
        let kept_from = options.keep_log_from.map_or(from.0, |keep| keep.min(from.0));
        let redo_capacity_asked = options.redo_capacity_bytes;
        let options = EngineOptions {
            redo_capacity_bytes: opening_capacity(redo_capacity_asked, end.0 - kept_from),
            ..options
        };
        let wal = Wal::resume(&env, wal_options(&options), tail).await;
        let wal = wal.map_err(|error| recovery::log_error(&error))?;
        let parts = Parts::new(env, io, &options, store, Arc::new(wal));
        // Before a page is read: leaves catch up without what is late at the log's end.
        std::mem::take(&mut analysis.late).restore(&parts.pool);
        let Collected { now, later, through, given_up } = collector.finish();
        let now = page_logs::restore(&parts.pool, now, from);
        parts.pool.behind().restore(now, later);
        given_up.into_iter().for_each(|corrupt| parts.pool.behind().give_up(corrupt));
        let meta = Tree { id: pagestore::TreeId(META_TREE.0), root: superblock.meta_root };
        let next_tree = superblock.next_tree.max(analysis.tree_max + 1);
        let next_txn = superblock.next_transaction.max(analysis.transaction_max + 1);
        let checkpoint = Checkpoint { lsn: from.0, next_txn };
        let engine = parts.assemble(Trees::new(meta, next_tree), checkpoint);
        engine.commits.last_lsn.store(end.0, Ordering::Release);
        engine.events.opened_at.store(end.0, Ordering::Release);
        let hold = match options.keep_log_from {
            Some(keep) => Some(engine.hold_log(keep.min(end.0)).ok_or_else(|| log_is_gone(keep))?),
            None => None,
        };
        *engine.life.opening_hold.lock() = hold;
        let pin = engine.pin_checkpoint(from.0);
        // What follows may need pages that catch up in a later round.
        engine.redo_in_background(Rest { from, end, through, taken: PageIds::default(), memory_bytes });
        let losers = match engine.finish_recovery(analysis, from).await {
            Ok(losers) => losers,
            Err(error) => {
                // Whoever tries again must not meet this life's background work.
                let error = engine.fail(error);
                engine.pool.stop();
                return Err(error);
            }
        };
        drop(pin);
        engine.checkpoint(false).await?;
        if options.redo_capacity_bytes != redo_capacity_asked {
            engine.set_redo_capacity(redo_capacity_asked);
        }
        losers.into_iter().for_each(|work| engine.undo_in_background(work));
        engine.pool.warm_up(loads_hot_pages);
        Ok(engine)
    }

    /// Makes what has not ended running transactions again and hands to the background what the others have left to do.
    /// Answers those that are to be undone.
    async fn finish_recovery(
        self: &Arc<Self>,
        analysis: Analysis,
        from: Lsn,
    ) -> Result<Vec<Work>, EngineError> {
        let Analysis { mut losers, mut prepared, dropped, chains, marks, .. } = analysis;
        let Leftovers { mut drops, mut spills } = self.load_trees().await?;
        for (tree, mark) in marks.into_iter().filter(|(tree, _)| self.trees.get(*tree).is_some()) {
            self.trees.marks.raise(tree, mark, from.0);
        }
        self.mark_committed_spills(&mut spills, &dropped).await?;
        // One whose creation is to be undone has no entries.
        let is_made = |record: &UndoRecord| record.operation == Operation::CreateTree;
        let unmade: BTreeSet<TreeId> = losers
            .values()
            .flat_map(|undo| undo.values())
            .filter(|record| is_made(record))
            .map(|record| record.tree)
            .collect();
        spills.retain(|spill| !unmade.contains(&TreeId(spill.live.tree.id.0)));
        // Runs are marked as dropped before their creation has committed.
        drops.retain(|live| !unmade.contains(&TreeId(live.tree.id.0)));
        let (active, committed): (Vec<_>, Vec<_>) =
            spills.into_iter().partition(|spill| spill.standing == Standing::Active);
        let mut active: BTreeMap<u64, FoundSpill> =
            active.into_iter().map(|spill| (spill.owner.0, spill)).collect();
        let ids: BTreeSet<u64> = losers.keys().chain(prepared.keys()).chain(active.keys()).copied().collect();
        let mut undone = Vec::new();
        for id in ids {
            let undo = losers.remove(&id).unwrap_or_default();
            let (spill, xid) = (active.remove(&id), prepared.remove(&id));
            let is_prepared = xid.is_some();
            let mut work = self.adopt(Remains { id: TransactionId(id), undo, spill, xid }, from.0).await?;
            match is_prepared {
                true => self.life.recovered.lock().push(work.state()),
                false => undone.push(work),
            }
        }
        debug_assert!(
            losers.is_empty() && prepared.is_empty() && active.is_empty(),
            "each has its end to come"
        );
        self.versions.history.lock().add_pending_chains(chains.iter().copied());
        self.life.recovering.store(false, Ordering::Relaxed);
        self.resume_drops(dropped, drops).await?;
        self.drop_committed_spills(committed);
        if !chains.is_empty() {
            let chains = chains.into_iter().collect();
            self.spawn("free long values", |engine| async move { engine.free_chains(chains).await });
        }
        Ok(undone)
    }

    /// Waits until nothing is done in the background: until what the last life left unfinished is undone, and the pages
    /// of what was dropped are free.
    pub async fn finish_background(&self) {
        while self.life.tasks.load(Ordering::Acquire) > 0 {
            self.env.clock.sleep(CLOSE_POLL_US).await;
        }
    }

    /// Stops background work, makes everything durable and the next open fast. Transactions that are still
    /// open find the engine closed; what they changed is rolled back, here or at the next open.
    pub async fn close(&self) -> Result<(), EngineError> {
        self.life.closed.store(true, Ordering::Release);
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let start_us = self.env.clock.now_us();
        let in_time = || self.env.clock.now_us().saturating_sub(start_us) < CLOSE_TASKS_US_MAX;
        while self.life.tasks.load(Ordering::Acquire) > 0 && in_time() {
            self.env.clock.sleep(CLOSE_POLL_US).await;
        }
        self.pool.set_write_cap(None);
        // The next open shall not have to read the log for them.
        self.store_all_marks().await?;
        let flushed = self.flush_for(CLOSE_FLUSH_US_MAX).await?;
        // The changes stay in the log: the next open shall not have to read all of it for them.
        self.renew_late(self.wal.end_lsn()).await?;
        let end = self.wal.end_lsn();
        self.renew_page_logs(|_| end).await?;
        self.checkpoint(flushed && self.writers.active().is_empty()).await?;
        if self.life.saves_hot_pages.load(Ordering::Relaxed) {
            self.pool.save_hot_list().await;
        }
        self.pool.stop();
        self.pool.store().close().await.map_err(|error| self.pool_error(error.into()))?;
        self.wal.close().await.map_err(|error| self.log_failed(&error))
    }

    /// Writes dirty pages back until all are clean or the time is over; true when all are clean.
    async fn flush_for(&self, limit_us: u64) -> Result<bool, EngineError> {
        let mut timeout = self.env.clock.sleep(limit_us);
        let mut flush = Box::pin(self.pool.flush_all());
        let flushed = std::future::poll_fn(|context| {
            use std::task::Poll;
            if let Poll::Ready(result) = flush.as_mut().poll(context) {
                return Poll::Ready(Some(result));
            }
            timeout.as_mut().poll(context).map(|()| None)
        })
        .await;
        match flushed {
            Some(result) => result.map(|()| true).map_err(|error| self.pool_error(error)),
            None => Ok(false),
        }
    }
}

/// What recovery needs before there is an engine.
struct Parts {
    env: Env,
    io: FileCounters,
    wal: Arc<Wal>,
    pool: Arc<BufferPool>,
    space: Arc<Space>,
    budgets: Budgets,
}

struct Checkpoint {
    lsn: u64,
    next_txn: u64,
}

impl Parts {
    fn new(
        env: Env,
        io: FileCounters,
        options: &EngineOptions,
        store: Arc<dyn PageStore>,
        wal: Arc<Wal>,
    ) -> Parts {
        let page_bytes = store.page_size().bytes() as u64;
        let pool_bytes = options.buffer_pool_bytes.max(POOL_FRAMES_MIN * (page_bytes + FRAME_BYTES));
        let mut pool_options = PoolOptions::new(pool_bytes as usize, btree::check_page);
        pool_options.memory_bytes_max = options.buffer_pool_bytes_max.max(pool_bytes) as usize;
        pool_options.hot_list = Some(HOT_LIST.into());
        let budgets = Budgets::new(options);
        pool_options.log_budget_bytes = budgets.dirty_log_bytes();
        let for_late: Arc<OnceLock<Arc<Space>>> = Arc::default();
        pool_options.late_bytes = budgets.late_bytes() as usize;
        pool_options.page_log_bytes = budgets.page_log_bytes() as usize;
        pool_options.packing = options.packing;
        pool_options.apply_late = apply_late_with(for_late.clone());
        pool_options.apply_page_log = btree::redo::catch_up;
        let pool = BufferPool::open(&env, store, wal.clone(), pool_options);
        let space = Arc::new(Space::new(&pool));
        let known = for_late.set(space.clone());
        assert!(known.is_ok(), "it was made here");
        Parts { env, io, wal, pool, space, budgets }
    }

    /// On the first start: the space map and the tree of trees.
    async fn format_trees(&self) -> Result<Tree, EngineError> {
        self.group(|mtr| self.space.format(mtr)).await?;
        let id = pagestore::TreeId(META_TREE.0);
        self.group(|mtr| Tree::create(mtr, &self.space, id)).await
    }

    async fn group<T>(
        &self,
        mut plan: impl FnMut(&mut Mtr<'_>) -> Result<T, Stop>,
    ) -> Result<T, EngineError> {
        let done = self.pool.run(|| {
            let mut mtr = Mtr::begin(&self.pool);
            let planned = plan(&mut mtr)?;
            mtr.reserve(0)?;
            Ok((planned, mtr.commit()))
        });
        let (planned, committed) = done.await.map_err(|error| EngineError::Io { what: error.to_string() })?;
        committed.map_err(|error| recovery::log_error(&error))?;
        Ok(planned)
    }

    fn assemble(self, trees: Trees, checkpoint: Checkpoint) -> Arc<Engine> {
        let Parts { env, io, wal, pool, space, budgets } = self;
        let log_end = wal.end_lsn().0;
        debug_assert!(
            checkpoint.lsn <= log_end,
            "the log begins with the checkpoint and goes on behind its end"
        );
        Arc::new(Engine {
            rows: RowTable::new(env.random.u64()),
            locks: Locks::default(),
            versions: Versions::new(),
            writers: Writers::new(checkpoint.next_txn, log_end),
            commits: CommitClock::new(log_end),
            spills: Spills::default(),
            runs: Runs::default(),
            checkpointer: Checkpointer::new(budgets.redo_bytes(), checkpoint.lsn),
            renewal: Renewal::default(),
            budgets,
            stats: Counters::default(),
            io,
            life: Life::new(),
            damage: Damage::default(),
            full_disk: FullDisk::default(),
            events: EventQueue::default(),
            held_commits: HeldCommits::new(),
            env,
            wal,
            pool,
            space,
            trees,
        })
    }
}

/// Applies late changes with the space map, once there is one: before that nothing is late.
fn apply_late_with(space: Arc<OnceLock<Arc<Space>>>) -> ApplyLate {
    Arc::new(move |pool, page| match space.get() {
        Some(space) => btree::apply_late(pool, space, page),
        None => unreachable!("page {page} is used before there is a space map"),
    })
}
