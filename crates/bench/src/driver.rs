//! A run: starts the threads, lets all begin at once, gathers each second, and ends all.
//!
//! Invariant: seconds are cut by the clock of this thread and carry their true length. Called by `companion`, `sweep`
//! and `compare`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch;
use workload::Workload;

use crate::Result;
use crate::board::Board;
use crate::bucket::Counts;
use crate::outcome::{Run, Second, Summary};
use crate::plan::Plan;
use crate::stop::Stop;
use crate::worker::{END_PAUSE, Shared, Worker};

/// Open files that are no connections, at most.
const FILES_BESIDE: u64 = 100;

/// What is told while a run goes on.
pub enum Event<'a> {
    /// So many connections stand.
    Connecting(usize),
    Second(&'a Second),
}

/// Runs the workload; `tell` hears of every second.
pub fn run(
    plan: &Plan,
    workload: &dyn Workload,
    stop: &Stop,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Run> {
    allow_files(plan.connections)?;
    let (go, gone) = watch::channel(None);
    let mut plan = plan.clone();
    plan.threads = plan.threads.clamp(1, plan.connections.max(1));
    let shared = Arc::new(Shared::new(plan, stop.clone(), gone));
    let workers: Vec<Worker> =
        (0..shared.plan.threads).map(|number| Worker::new(number, &shared, workload)).collect();
    let boards: Vec<Arc<Board>> = workers.iter().map(Worker::board).collect();
    let threads: Vec<_> =
        workers.into_iter().map(|worker| std::thread::spawn(move || worker.run())).collect();

    while shared.ready.load(Ordering::Relaxed) < shared.plan.connections && !stop.is_wanted() {
        tell(Event::Connecting(shared.ready.load(Ordering::Relaxed)));
        std::thread::sleep(Duration::from_millis(20));
    }
    tell(Event::Connecting(shared.ready.load(Ordering::Relaxed)));
    let start = Instant::now();
    let mut gathered = Gathered::new(workload.kinds().len());
    if !stop.is_wanted() {
        // The workers hold receivers as long as they live.
        let _ = go.send(Some(start));
        gathered.until_the_end(&shared.plan, start, stop, &boards, tell);
    }
    stop.now();
    drop(go);
    end(threads, &boards)?;
    let measured: Vec<Second> = gathered.seconds.iter().filter(|second| second.t >= 0).cloned().collect();
    let mut summary = Summary::new(&measured, &gathered.sum, &workload.kinds(), gathered.cpu);
    if let Some((name, kind)) = workload.headline() {
        let events = gathered.sum.latencies.get(kind).map_or(0, hdrhistogram::Histogram::len);
        summary.headline = Some((name.to_owned(), events as f64 / summary.seconds.max(1e-9) * 60.0));
    }
    let run = Run { seconds: gathered.seconds, summary, failure: stop.failure() };
    match (&run.failure, run.seconds.is_empty()) {
        (Some(failure), true) => Err(failure.clone()),
        _ => Ok(run),
    }
}

/// Waits for the threads; those that still wait for an answer after a while are cut off.
fn end(threads: Vec<JoinHandle<()>>, boards: &[Arc<Board>]) -> Result<()> {
    let late = Instant::now() + END_PAUSE;
    while Instant::now() < late && !threads.iter().all(JoinHandle::is_finished) {
        std::thread::sleep(Duration::from_millis(1));
    }
    boards.iter().for_each(|board| board.cut());
    for thread in threads {
        thread.join().map_err(|_| "a worker thread panicked".to_owned())?;
    }
    Ok(())
}

struct Gathered {
    seconds: Vec<Second>,
    sum: Counts,
    cpu: f64,
    kinds: usize,
}

impl Gathered {
    fn new(kinds: usize) -> Self {
        Self { seconds: Vec::new(), sum: Counts::new(kinds), cpu: 0.0, kinds }
    }

    fn until_the_end(
        &mut self,
        plan: &Plan,
        start: Instant,
        stop: &Stop,
        boards: &[Arc<Board>],
        tell: &mut dyn FnMut(Event<'_>),
    ) {
        let warmup = plan.warmup.as_secs() as i64;
        let length = plan.duration.as_secs_f64();
        let mut last = start;
        let mut t = -warmup;
        let mut cpu = own_cpu();
        while !stop.is_wanted() && (t as f64) < length {
            let step = (length - t as f64).min(1.0);
            let end = start + Duration::from_secs_f64((t + warmup) as f64 + step);
            let mut has_all = false;
            while Instant::now() < end && !stop.is_wanted() && !has_all {
                std::thread::sleep(
                    end.saturating_duration_since(Instant::now()).min(Duration::from_millis(50)),
                );
                has_all = t >= 0
                    && plan.events_max.is_some_and(|events| {
                        let new: u64 = boards.iter().map(|board| board.bucket.events()).sum();
                        self.sum.events() + new >= events
                    });
            }
            let now = Instant::now();
            let mut counts = Counts::new(self.kinds);
            boards.iter().for_each(|board| board.bucket.take_into(&mut counts));
            let backlog = boards.iter().map(|board| board.arrivals.backlog()).sum();
            let mut second = Second::new(t, now_ms(), (now - last).as_secs_f64(), backlog, &counts);
            for board in boards {
                let (count, oldest) = board.open.look(now - start);
                second.open += count;
                second.oldest = second.oldest.max(oldest);
            }
            last = now;
            if t == -1 {
                cpu = own_cpu();
            }
            // What Ctrl-C has cut short is no second like the others, unless there is no other.
            if second.length > 0.5 * step || has_all || self.sum.events() == 0 {
                if t >= 0 {
                    self.sum.add(&counts);
                }
                tell(Event::Second(&second));
                self.seconds.push(second);
            }
            t += 1;
            if has_all {
                break;
            }
        }
        self.cpu = own_cpu() - cpu;
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

/// Processor seconds that this program has used.
pub(crate) fn own_cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    // Linux counts processor time for programs in hundredths of a second, whatever its own tick.
    (ticks(11) + ticks(12)) / 100.0
}

/// Has the kernel allow as many sockets as are needed.
fn allow_files(connections: usize) -> Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let needed = connections as u64 + FILES_BESIDE;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let maximum = limit.maximum.map(|maximum| maximum.max(needed));
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum }).map_err(|_| {
        let allowed = limit.maximum.unwrap_or(0);
        format!(
            "{connections} connections need {needed} open files, and {allowed} are allowed here: take at most {} \
             connections, or let root raise the limit (nofile in limits.conf, LimitNOFILE= of a service)",
            allowed.saturating_sub(FILES_BESIDE)
        )
    })
}
