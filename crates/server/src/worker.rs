//! The threads that run everything: one tokio current-thread runtime for sockets and timers, one set of `tasks` and one io_uring
//! each. Beside them some tasks have threads of their own, because among the tasks of a worker they would wait for their turn
//! after each write and each sync: the log's writer, for which every commit waits, the writer of dirty pages, for which
//! those wait who need a frame, and long work in the background.
//!
//! Invariant: a connection is on one worker at a time, so sessions need no locks of their own; between two commands it may move
//! to another (`balance`). Work arrives as closures that run on the worker's thread and spawn tasks there. Where io_uring is forbidden the disk
//! falls back to its thread pool by itself; a worker without a ring is complete. When there is a worker for each processor, each
//! stays on its own (decision 0019).

mod balance;
mod tasks;

pub(crate) use balance::Presence;
pub(crate) use tasks::{has_had_slice, next_slice, set_begun, spawn};

use std::cell::RefCell;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use env::real::uring::Reactor;
use env::{BoxFuture, Overlap, Spawner};
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::options::SessionMoves;
use balance::Balance;

/// Disk operations of one worker in the kernel at one time.
const DISK_QUEUE_DEPTH: usize = 128;
/// The same of a task in the background: it leaves users room in the device's queue, which holds 128 as a rule.
const BACKGROUND_QUEUE_DEPTH: usize = 32;

type Job = Box<dyn FnOnce() + Send>;

enum Message {
    Run(Job),
    Stop,
}

thread_local! {
    /// The pool that this worker belongs to, and its place there.
    static SEAT: RefCell<Option<(WorkerPool, usize)>> = const { RefCell::new(None) };
}

/// For a session of this worker that is about to begin a command: the worker where it is to do that, if not here.
pub(crate) fn next_worker(presence: &mut Presence) -> Option<Worker> {
    SEAT.with_borrow(|seat| {
        let (pool, index) = seat.as_ref()?;
        let next = pool.balance.next_worker(*index, presence)?;
        Some(pool.workers[next].clone())
    })
}

/// One worker, seen from other threads.
#[derive(Clone)]
pub(crate) struct Worker {
    sender: UnboundedSender<Message>,
    connection_count: Arc<AtomicUsize>,
}

/// Held by a connection for as long as it burdens a worker.
pub(crate) struct Burden(Arc<AtomicUsize>);

impl Drop for Burden {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Worker {
    /// Runs `job` on the worker's thread, beside its tasks. Dropped unrun once the worker stopped.
    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) {
        let _ = self.sender.send(Message::Run(Box::new(job)));
    }

    pub(crate) fn burden(&self) -> Burden {
        self.connection_count.fetch_add(1, Ordering::Relaxed);
        Burden(self.connection_count.clone())
    }
}

/// All workers.
#[derive(Clone)]
pub(crate) struct WorkerPool {
    workers: Arc<[Worker]>,
    balance: Arc<Balance>,
}

/// Room for the deepest statement that the parser lets through, also in builds without optimisation.
const STACK_BYTES: usize = 16 << 20;

/// Waits for the workers to end.
pub(crate) struct WorkerThreads(Vec<JoinHandle<()>>);

impl WorkerPool {
    pub(crate) fn start(count: usize, moves: SessionMoves) -> Result<(Self, WorkerThreads), String> {
        assert!(count > 0, "a server needs a worker");
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| unbounded_channel()).unzip();
        let workers = senders.into_iter().map(|sender| Worker { sender, connection_count: Arc::default() });
        let pool = Self { workers: workers.collect(), balance: Arc::new(Balance::new(count, moves)) };
        let mut threads = Vec::new();
        // Fewer workers would crowd the first processors beside those of other servers.
        let homes = Some(env::real::allowed_processors()).filter(|processors| processors.len() == count);
        for (index, receiver) in receivers.into_iter().enumerate() {
            let home = homes.as_ref().map(|processors| processors[index]);
            let pool = pool.clone();
            // A deeply nested expression is evaluated by recursion; only touched pages of a stack cost memory.
            let builder = std::thread::Builder::new().name(format!("worker-{index}")).stack_size(STACK_BYTES);
            let thread = builder.spawn(move || {
                if let Some(processor) = home
                    && !env::real::stay_on(processor)
                {
                    crate::log::note("the system does not let workers choose their processors");
                }
                pool.balance.join(index);
                SEAT.set(Some((pool.clone(), index)));
                work(receiver, &pool.balance);
                SEAT.set(None);
            });
            threads.push(thread.map_err(|error| format!("cannot start a thread: {error}"))?);
        }
        Ok((pool, WorkerThreads(threads)))
    }

    pub(crate) fn count(&self) -> usize {
        self.workers.len()
    }

    pub(crate) fn all(&self) -> &[Worker] {
        &self.workers
    }

    pub(crate) fn first(&self) -> &Worker {
        &self.workers[0]
    }

    /// The one with the fewest connections.
    pub(crate) fn least_loaded(&self) -> &Worker {
        let load = |worker: &&Worker| worker.connection_count.load(Ordering::Relaxed);
        self.workers.iter().min_by_key(load).expect("a pool has a worker")
    }

    /// Ends all workers; tasks that still run are dropped.
    pub(crate) fn stop(&self, threads: WorkerThreads) {
        for worker in self.workers.iter() {
            let _ = worker.sender.send(Message::Stop);
        }
        for thread in threads.0 {
            if thread.join().is_err() {
                crate::log::error("a worker thread ended by a panic");
            }
        }
    }
}

/// The engine's background tasks run on the workers, in turn.
pub(crate) struct WorkerSpawner {
    pool: WorkerPool,
    next: AtomicUsize,
}

impl WorkerSpawner {
    pub(crate) fn new(pool: WorkerPool) -> Self {
        Self { pool, next: AtomicUsize::new(0) }
    }
}

impl Spawner for WorkerSpawner {
    fn spawn(&self, _name: &'static str, future: BoxFuture<'static, ()>) {
        let index = self.next.fetch_add(1, Ordering::Relaxed) % self.pool.workers.len();
        self.pool.workers[index].run(move || {
            spawn(future);
        });
    }

    fn spawn_dedicated(&self, name: &'static str, overlap: Overlap, future: BoxFuture<'static, ()>) {
        let work = move || {
            env::real::roam();
            match overlap {
                Overlap::None => {
                    env::real::dedicate_thread();
                    env::local::block_on(future);
                }
                Overlap::Many => match new_ring(BACKGROUND_QUEUE_DEPTH) {
                    Some(ring) => env::local::block_on_ring(&ring, future),
                    None => env::local::block_on(future),
                },
            }
        };
        let started = std::thread::Builder::new().name(name.into()).spawn(work);
        started.expect("a system that has started the workers has room for one more thread");
    }
}

/// A ring for this thread, if the system has them.
fn new_ring(depth: usize) -> Option<Reactor> {
    match Reactor::new(depth) {
        Ok(reactor) => Some(reactor),
        Err(error) => {
            let message = format!("io_uring cannot be used here ({error}); disk work goes to a thread pool");
            crate::log::note(&message);
            None
        }
    }
}

/// The life of a worker: runs what it is sent, with tasks and a ring beside it, and drops what has not ended with it.
fn work(mut receiver: UnboundedReceiver<Message>, balance: &Balance) {
    let reactor = new_ring(DISK_QUEUE_DEPTH).map(Rc::new);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the system has a descriptor for the worker's epoll");
    let disk = reactor.clone();
    let main = async {
        if let Some(reactor) = disk {
            spawn(drive_disk(reactor));
        }
        while let Some(Message::Run(job)) = receiver.recv().await {
            job();
        }
    };
    let end_turn = || {
        if let Some(reactor) = &reactor {
            reactor.end_turn();
        }
        balance.end_turn();
    };
    // Unconstrained: to the runtime all tasks are one, which would share the operations that it allows to one.
    runtime.block_on(tokio::task::unconstrained(tasks::run_beside(main, end_turn)));
    // The tasks have gone first, now the last handle of the reactor, whose end waits for what the kernel still holds.
    drop(runtime);
    drop(reactor);
}

/// The ring's descriptor; the reactor owns it, so this must not close it.
struct RingDescriptor(RawFd);

impl AsRawFd for RingDescriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

/// Completes what the ring has finished, for as long as the worker lives.
async fn drive_disk(reactor: Rc<Reactor>) {
    let descriptor = watch(&reactor);
    loop {
        let Ok(mut ready) = descriptor.readable().await else { return };
        // Cleared before reaping: a completion that arrives in between must announce itself again.
        ready.clear_ready();
        drop(ready);
        reactor.reap();
    }
}

/// The replacement of this constructor is unsafe only because a descriptor could be closed under it; this one
/// stays open, because every task that holds the watch also holds the reactor.
#[expect(deprecated, reason = "its replacement is unsafe and this crate forbids that")]
fn watch(reactor: &Reactor) -> AsyncFd<RingDescriptor> {
    AsyncFd::with_interest(RingDescriptor(reactor.fd()), tokio::io::Interest::READABLE)
        .expect("a ring can be watched by epoll")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// A task that has work all the time and yields now and then must not pass by what other threads wake meanwhile.
    #[test]
    fn who_yields_lets_those_go_first_whom_another_thread_has_woken() {
        const TURNS: usize = 200;
        let (pool, threads) = WorkerPool::start(1, SessionMoves::Never).expect("a thread starts");
        let (to_helper, calls) = mpsc::channel::<()>();
        let (helped, to_busy) = mpsc::channel::<()>();
        let (wake, mut woken) = unbounded_channel::<()>();
        let helper = std::thread::spawn(move || {
            while calls.recv().is_ok() {
                wake.send(()).expect("the quiet task listens");
                helped.send(()).expect("the busy task listens");
            }
        });
        let (report, reported) = mpsc::channel();
        pool.first().run(move || {
            let served = Rc::new(std::cell::Cell::new(0));
            let count = served.clone();
            spawn(async move {
                while woken.recv().await.is_some() {
                    count.set(count.get() + 1);
                }
            });
            spawn(async move {
                let mut missed = 0;
                for turn in 0..TURNS {
                    to_helper.send(()).expect("the helper runs");
                    to_busy.recv().expect("the helper runs");
                    env::yield_now().await;
                    missed += usize::from(served.get() <= turn);
                }
                report.send(missed).expect("the test waits");
            });
        });
        assert_eq!(reported.recv(), Ok(0), "turns in which the busy task came first");
        helper.join().expect("it does not panic");
        pool.stop(threads);
    }
}
