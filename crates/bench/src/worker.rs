//! A thread with its share of the connections, each a task that does one transaction after the other.
//!
//! Invariant: all connections stand before the first transaction begins. Started by `driver`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use client::{Connection, Error};
use tokio::sync::{Semaphore, watch};
use workload::{Random, Session, Tally, Workload};

use crate::arrivals::Arrivals;
use crate::bucket::Bucket;
use crate::driver::Plan;
use crate::stop::Stop;

/// Connections that one thread makes at the same time.
const CONNECTING_MAX: usize = 32;
/// The server holds as many prepared statements as it may.
const TOO_MANY_STATEMENTS: u16 = 1461;
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);
/// How long a transaction under way is waited for at the end.
const END_PAUSE: Duration = Duration::from_secs(3);

/// What all threads of a run share.
pub struct Shared {
    pub plan: Plan,
    pub stop: Stop,
    pub ready: AtomicUsize,
    /// The time at which the first transaction may begin.
    pub go: watch::Receiver<Option<Instant>>,
}

/// Since when each connection's transaction is under way, in microseconds since the run began and one; 0 is none.
///
/// Latencies are known of what has ended only: who waits for an answer that does not come is seen here.
#[derive(Debug, Default)]
pub struct Open(Vec<AtomicU64>);

impl Open {
    fn new(connections: usize) -> Self {
        Self((0..connections).map(|_| AtomicU64::new(0)).collect())
    }

    /// How many are under way, and for how long the oldest, in microseconds.
    pub fn look(&self, now: Duration) -> (u64, u64) {
        let begun = self.0.iter().map(|begin| begin.load(Ordering::Relaxed)).filter(|begin| *begin > 0);
        begun.fold((0, 0), |(count, oldest), begin| {
            (count + 1, oldest.max((now.as_micros() as u64 + 1).saturating_sub(begin)))
        })
    }
}

/// One thread's part.
pub struct Worker {
    pub open: Arc<Open>,
    pub number: usize,
    pub shared: Arc<Shared>,
    pub bucket: Arc<Bucket>,
    pub arrivals: Arc<Arrivals>,
    pub sessions: Vec<Session>,
}

impl Worker {
    /// Makes the sessions of thread `number`: every `threads`-th of all.
    pub fn new(number: usize, shared: &Arc<Shared>, workload: &dyn Workload) -> Self {
        let numbers = (number..shared.plan.connections).step_by(shared.plan.threads);
        Self {
            open: Arc::new(Open::new(numbers.len())),
            number,
            shared: Arc::clone(shared),
            bucket: Arc::new(Bucket::new(workload.kinds().len())),
            arrivals: Arc::default(),
            sessions: numbers.map(|number| workload.session(number as u64)).collect(),
        }
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
                open: Arc::clone(&self.open),
                place,
                go: go_here.clone(),
                shared: Arc::clone(&self.shared),
                bucket: Arc::clone(&self.bucket),
                arrivals: Arc::clone(&self.arrivals),
                session,
            };
            tasks.push(tokio::spawn(client.work(Arc::clone(&doors))));
        }
        let mut go = self.shared.go.clone();
        let start = loop {
            if let Some(start) = *go.borrow_and_update() {
                break start;
            }
            if go.changed().await.is_err() {
                return;
            }
        };
        // The tasks hold receivers as long as they live.
        let _ = here.send(Some(start));
        if let Some(rates) = &self.shared.plan.rates {
            let mut random = Random::new(self.shared.plan.seed, 1 << 60 | self.number as u64);
            let threads = self.shared.plan.threads;
            self.arrivals.come(rates, threads, start, &mut random, &self.shared.stop).await;
        }
        while !self.shared.stop.is_wanted() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.arrivals.wake_all();
        let end = Instant::now() + END_PAUSE;
        for task in tasks {
            let left = end.saturating_duration_since(Instant::now());
            if tokio::time::timeout(left, task).await.is_err() {
                return;
            }
        }
    }
}

/// A connection with its session.
struct Client {
    open: Arc<Open>,
    place: usize,
    go: watch::Receiver<Option<Instant>>,
    shared: Arc<Shared>,
    bucket: Arc<Bucket>,
    arrivals: Arc<Arrivals>,
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
            Err(error) if error.code() == Some(TOO_MANY_STATEMENTS) => Err(Error::Usage(format!(
                "{error}: SET GLOBAL max_prepared_stmt_count higher, or use --text"
            ))),
            other => other.map(|()| connection),
        }
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
        let start = loop {
            if let Some(start) = *self.go.borrow_and_update() {
                break start;
            }
            if self.go.changed().await.is_err() {
                return;
            }
        };
        while !shared.stop.is_wanted() {
            let begin = if shared.plan.rates.is_some() {
                match self.arrivals.next(&shared.stop).await {
                    Some(due) => due,
                    None => break,
                }
            } else {
                Instant::now()
            };
            let since = begin.saturating_duration_since(start).as_micros() as u64 + 1;
            self.open.0[self.place].store(since, Ordering::Relaxed);
            let result = self.once(&mut connection, begin).await;
            self.open.0[self.place].store(0, Ordering::Relaxed);
            if result.is_err() && !self.connect_again(&mut connection).await {
                return;
            }
        }
        connection.quit().await;
    }

    /// One transaction; fails if the connection is lost.
    async fn once(&mut self, connection: &mut Connection, begin: Instant) -> client::Result<()> {
        let plan = &self.shared.plan;
        let mut tally = Tally::default();
        let Err(error) = self.session.transaction(connection, &mut tally, plan.pipeline).await else {
            self.bucket.done(begin.elapsed(), &tally);
            return Ok(());
        };
        if self.shared.stop.is_wanted() {
            return Ok(());
        }
        self.bucket.failed(&tally, error.is_conflict());
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
                self.bucket.reconnected();
                return true;
            }
            tokio::time::sleep(RECONNECT_PAUSE).await;
        }
        false
    }
}
