//! The workers of an applier: whole transactions of rows side by side, committed in their order (decision 0057).
//!
//! Invariant: a transaction begins when all are committed that its source's log says it has to follow, and commits when all before
//! it have. So what is stored of the channel is exact at every moment. One that fails, e.g. because it waits for a lock of a later
//! one, undoes all behind it; the applier applies those alone then. Its own thread is that of the applier: what workers gain is that
//! they wait for pages and locks side by side.
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use binlog::{Checksum, GtidEvent, split_event};
use datum::{SqlError, error_code};
use engine::UnsettledCommit;
use env::sync::WaitQueue;
use instance::Instance;
use instance::replication::Channel;
use variables::Setting;

use session::Families;

use super::applier::{Applier, event_error};

/// Seconds that a worker waits for a lock. Whoever has it may be a later transaction, which waits for this one's commit.
const LOCK_WAIT_SECONDS: u64 = 1;

/// The events of a transaction from its identifier to its end.
pub(super) struct Whole {
    pub head: GtidEvent,
    pub events: Vec<Vec<u8>>,
    pub bytes: usize,
    /// Where it begins in its source's files.
    pub file: String,
    pub position: u64,
}

/// Whose turn it is to commit.
struct Order {
    next: Cell<u64>,
    /// The first that has failed.
    failed: Cell<u64>,
    news: WaitQueue,
}

impl Order {
    /// An error once one that is before this has failed.
    fn check(&self, place: u64) -> Result<(), SqlError> {
        if self.failed.get() < place { Err(error_code::ER_LOCK_DEADLOCK.plain()) } else { Ok(()) }
    }

    async fn turn(&self, place: u64) -> Result<(), SqlError> {
        loop {
            let news = self.news.register();
            self.check(place)?;
            if self.next.get() == place {
                return Ok(());
            }
            news.await;
        }
    }

    fn passed(&self, place: u64) {
        self.next.set(place + 1);
        self.news.wake_all();
    }

    fn fail(&self, place: u64) {
        self.failed.set(self.failed.get().min(place));
        self.news.wake_all();
    }
}

/// A transaction that a worker is done with.
pub(super) struct Done {
    place: u64,
    whole: Whole,
    result: Result<UnsettledCommit, SqlError>,
}

type Running = Pin<Box<dyn Future<Output = (Applier, Done)>>>;

/// See the head of this file.
pub(super) struct Workers {
    idle: Vec<Applier>,
    /// In the order of the commits, each with its number in the source's file.
    running: Vec<(u64, Running)>,
    order: Rc<Order>,
    /// Of the next transaction.
    place: u64,
    failed: Vec<(u64, Whole)>,
}

impl Workers {
    pub fn new(
        count: usize,
        instance: &Arc<Instance>,
        families: &'static dyn Families,
        channel: &Arc<Channel>,
    ) -> Workers {
        let worker = || {
            let mut worker = Applier::new(instance.clone(), families, channel.clone());
            for name in ["innodb_lock_wait_timeout", "lock_wait_timeout"] {
                worker.session.variables_mut().set_by_name(name, Setting::Unsigned(LOCK_WAIT_SECONDS));
            }
            worker.session.refresh_settings();
            worker
        };
        let order = Order { next: Cell::new(0), failed: Cell::new(u64::MAX), news: WaitQueue::new() };
        Workers {
            idle: (0..count).map(|_| worker()).collect(),
            running: Vec::new(),
            order: Rc::new(order),
            place: 0,
            failed: Vec::new(),
        }
    }

    /// All of them, idle or not.
    pub fn count(&self) -> usize {
        self.idle.len() + self.running.len()
    }

    pub fn are_idle(&self) -> bool {
        self.running.is_empty()
    }

    pub fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// Whether a worker can begin with a transaction that follows this one.
    pub fn has_room(&self, last_committed: u64) -> bool {
        !self.idle.is_empty() && self.running.iter().all(|(number, _)| *number > last_committed)
    }

    /// There is room for it.
    pub fn start(&mut self, whole: Whole) {
        let Some(worker) = self.idle.pop() else { return };
        let (number, order, place) = (whole.head.sequence_number, self.order.clone(), self.place);
        self.place += 1;
        self.running.push((number, Box::pin(work(worker, whole, place, order))));
    }

    /// Lets them go on; ready with the first that is done.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done> {
        for at in 0..self.running.len() {
            if let Poll::Ready((worker, done)) = self.running[at].1.as_mut().poll(context) {
                drop(self.running.remove(at));
                self.idle.push(worker);
                return Poll::Ready(done);
            }
        }
        Poll::Pending
    }

    /// The commit; what has failed is kept.
    pub fn settle(&mut self, done: Done) -> Option<UnsettledCommit> {
        match done.result {
            Ok(commit) => Some(commit),
            Err(_) => {
                self.failed.push((done.place, done.whole));
                None
            }
        }
    }

    /// What has failed, in its order; nobody works any more.
    pub fn take_failed(&mut self) -> Vec<Whole> {
        debug_assert!(self.are_idle());
        let mut failed = std::mem::take(&mut self.failed);
        failed.sort_by_key(|(place, _)| *place);
        self.order.failed.set(u64::MAX);
        self.order.next.set(self.place);
        failed.into_iter().map(|(_, whole)| whole).collect()
    }

    /// Nobody works any more.
    pub async fn close(self) {
        for worker in self.idle {
            worker.session.0.close().await;
        }
    }
}

async fn work(mut worker: Applier, whole: Whole, place: u64, order: Rc<Order>) -> (Applier, Done) {
    let result = worker.apply_whole(&whole, place, &order).await;
    if result.is_err() {
        order.fail(place);
        worker.undo().await;
    }
    (worker, Done { place, whole, result })
}

impl Applier {
    async fn apply_whole(
        &mut self,
        whole: &Whole,
        place: u64,
        order: &Order,
    ) -> Result<UnsettledCommit, SqlError> {
        self.stand_at(&whole.file, whole.position);
        let split = |bytes| split_event(bytes, Checksum::None).map_err(|error| event_error(&error));
        let (end, events) = whole.events.split_last().expect("a transaction has its end");
        for bytes in events {
            order.check(place)?;
            Box::pin(self.event(&split(bytes)?)).await?;
        }
        order.turn(place).await?;
        // Those before it have been stored.
        let mut executed = self.channel.applied().executed;
        if let Some(gtid) = whole.head.gtid {
            executed.add(gtid);
        }
        self.applying().next.executed = executed;
        self.open();
        self.session.log_applied_nothing();
        let commit = self.commit_unsettled(&split(end)?).await?;
        order.passed(place);
        Ok(commit)
    }
}
