//! A thread with its share of the connections, each a task that does one transaction after the other.
//!
//! Invariant: all connections stand before the first transaction begins. A thread with one connection waits within it
//! for each answer; one with several polls them. Started by `driver`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use client::{Connection, Error};
use tokio::sync::{Semaphore, watch};
use workload::{Random, Session, Tally, Workload};

use crate::board::Board;
use crate::plan::Plan;
use crate::stop::Stop;

/// Connections that one thread makes at the same time.
const CONNECTING_MAX: usize = 32;
/// The server holds as many prepared statements as it may.
const TOO_MANY_STATEMENTS: u16 = 1461;
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);
/// How long a transaction under way is waited for at the end.
pub const END_PAUSE: Duration = Duration::from_secs(3);

/// What all threads of a run share.
pub struct Shared {
    pub plan: Plan,
    pub stop: Stop,
    pub ready: AtomicUsize,
    /// Transactions that may still begin, if their number is limited.
    pub left: AtomicU64,
    /// The time at which the first transaction may begin; closed when all is to end.
    pub go: watch::Receiver<Option<Instant>>,
}

impl Shared {
    pub fn new(plan: Plan, stop: Stop, go: watch::Receiver<Option<Instant>>) -> Self {
        let left = AtomicU64::new(plan.events_max.unwrap_or(u64::MAX));
        Self { plan, stop, ready: AtomicUsize::new(0), left, go }
    }

    /// Whether each connection has a thread to itself and nothing else to wait for.
    fn is_blocking(&self) -> bool {
        self.plan.threads >= self.plan.connections && self.plan.rates.is_none()
    }

    /// Whether a transaction may begin now; those of the warm-up always may.
    fn may_begin(&self, begin: Instant, start: Instant) -> bool {
        let is_counted = self.plan.events_max.is_some() && begin >= start + self.plan.warmup;
        !is_counted || self.take(1) == 1
    }

    /// Takes as many of the transactions that are left as there are, `count` at most.
    fn take(&self, count: u64) -> u64 {
        let less = |left: u64| Some(left.saturating_sub(count));
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        before.unwrap_or(0).min(count)
    }
}

/// One thread's part.
pub struct Worker {
    number: usize,
    shared: Arc<Shared>,
    board: Arc<Board>,
    sessions: Vec<Session>,
}

impl Worker {
    /// Makes the sessions of thread `number`: every `threads`-th of all.
    pub fn new(number: usize, shared: &Arc<Shared>, workload: &dyn Workload) -> Self {
        let connections = shared.plan.connections;
        let numbers = (number..connections).step_by(shared.plan.threads);
        Self {
            number,
            shared: Arc::clone(shared),
            board: Arc::new(Board::new(workload.kinds().len(), numbers.len())),
            sessions: numbers.map(|number| workload.session(number as u64, connections as u64)).collect(),
        }
    }

    pub fn board(&self) -> Arc<Board> {
        Arc::clone(&self.board)
    }

    /// Runs until the end.
    pub fn run(self) {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return self.shared.stop.because(format!("no runtime: {error}")),
        };
        runtime.block_on(self.serve());
        runtime.shutdown_background();
    }

    async fn serve(self) {
        let doors = Arc::new(Semaphore::new(CONNECTING_MAX));
        // Its own tasks are woken by this thread: those woken by another one wait behind all that are busy.
        let (here, go_here) = watch::channel(None);
        let mut tasks = Vec::new();
        for (place, session) in self.sessions.into_iter().enumerate() {
            let client = Client {
                place,
                go: go_here.clone(),
                shared: Arc::clone(&self.shared),
                board: Arc::clone(&self.board),
                session,
            };
            tasks.push(tokio::spawn(client.work(Arc::clone(&doors))));
        }
        let mut go = self.shared.go.clone();
        let Some(start) = started(&mut go).await else { return };
        // The tasks hold receivers as long as they live.
        let _ = here.send(Some(start));
        if let Some(rates) = &self.shared.plan.rates {
            let mut random = Random::new(self.shared.plan.seed, 1 << 60 | self.number as u64);
            let threads = self.shared.plan.threads;
            self.board.arrivals.come(rates, threads, start, &mut random, &self.shared.stop).await;
        }
        // No timer is set: the kernel would have to set and clear its own around every answer.
        while go.changed().await.is_ok() {}
        self.board.arrivals.wake_all();
        let end = Instant::now() + END_PAUSE;
        for task in tasks {
            let left = end.saturating_duration_since(Instant::now());
            if tokio::time::timeout(left, task).await.is_err() {
                return;
            }
        }
    }
}

/// When transactions may begin; waits until that is said. `None` when all is to end before.
async fn started(go: &mut watch::Receiver<Option<Instant>>) -> Option<Instant> {
    loop {
        let start = *go.borrow_and_update();
        if start.is_some() {
            return start;
        }
        go.changed().await.ok()?;
    }
}

/// A connection with its session.
struct Client {
    place: usize,
    go: watch::Receiver<Option<Instant>>,
    shared: Arc<Shared>,
    board: Arc<Board>,
    session: Session,
}

impl Client {
    async fn connect(&mut self) -> client::Result<Connection> {
        let plan = &self.shared.plan;
        let mut connection = Connection::connect(&plan.dsn).await?;
        for statement in &plan.on_connect {
            connection.ask(statement).await?;
        }
        match self.session.prepare(&mut connection, plan.is_prepared).await {
            Err(error) if error.code() == Some(TOO_MANY_STATEMENTS) => {
                return Err(Error::Usage(format!(
                    "{error}: SET GLOBAL max_prepared_stmt_count higher, or use --text"
                )));
            }
            other => other?,
        }
        if self.shared.is_blocking() {
            self.board.is_held_by(connection.block()?);
        }
        Ok(connection)
    }

    async fn work(mut self, doors: Arc<Semaphore>) {
        let shared = Arc::clone(&self.shared);
        let connection = {
            let _door = doors.acquire().await;
            if shared.stop.is_wanted() {
                return;
            }
            self.connect().await
        };
        let mut connection = match connection {
            Ok(connection) => connection,
            Err(error) => return shared.stop.because(format!("{}: {error}", shared.plan.dsn)),
        };
        shared.ready.fetch_add(1, Ordering::Relaxed);
        let Some(start) = started(&mut self.go).await else { return };
        while !shared.stop.is_wanted() {
            let Some(begin) = self.next().await.filter(|begin| shared.may_begin(*begin, start)) else {
                break;
            };
            self.board.open.begin(self.place, begin.saturating_duration_since(start));
            let result = self.once(&mut connection, begin).await;
            self.board.open.end(self.place);
            if result.is_err() && !self.connect_again(&mut connection).await {
                return;
            }
        }
        connection.quit().await;
    }

    /// The intended start of the next transaction: now, or when it arrived. `None` when all is to end.
    async fn next(&self) -> Option<Instant> {
        let free = Instant::now();
        if self.shared.plan.rates.is_none() {
            return Some(free);
        }
        let due = self.board.arrivals.next(&self.shared.stop).await?;
        // Later than this it begins only because of the generator itself.
        self.board.bucket.late(due.max(free).elapsed());
        Some(due)
    }

    /// One transaction; fails if the connection is lost.
    async fn once(&mut self, connection: &mut Connection, begin: Instant) -> client::Result<()> {
        let plan = &self.shared.plan;
        let mut tally = Tally::default();
        let Err(error) = self.session.transaction(connection, &mut tally, plan.pipeline).await else {
            self.board.bucket.done(begin.elapsed(), &tally);
            if plan.events_max.is_some() && tally.events > 1 {
                self.shared.take(tally.events - 1);
            }
            return Ok(());
        };
        if self.shared.stop.is_wanted() {
            return Ok(());
        }
        self.board.bucket.failed(&tally, error.is_conflict());
        if plan.events_max.is_some() {
            self.shared.left.fetch_add(1, Ordering::Relaxed);
        }
        if !error.is_conflict() && !plan.goes_on {
            self.shared
                .stop
                .because(format!("a transaction failed: {error} (--keep-going counts failures instead)"));
        }
        if error.is_fatal() {
            return Err(error);
        }
        match connection.ask("ROLLBACK").await {
            Ok(_) => Ok(()),
            Err(error) if error.is_fatal() => Err(error),
            Err(_) => Ok(()),
        }
    }

    /// Answers whether there is a connection again.
    async fn connect_again(&mut self, connection: &mut Connection) -> bool {
        let shared = Arc::clone(&self.shared);
        while shared.plan.goes_on && !shared.stop.is_wanted() {
            let attempt: Result<_, Error> = self.connect().await;
            if let Ok(new) = attempt {
                *connection = new;
                self.board.bucket.reconnected();
                return true;
            }
            tokio::time::sleep(RECONNECT_PAUSE).await;
        }
        false
    }
}
