//! Many sessions wait for one row, then its holder commits: what handing the row from one to the next costs must not
//! depend on how many wait, and joining the queue must not either. Measured with statements that only lock and with
//! updates; the count of the updates is exact.

use std::collections::{BTreeMap, HashSet};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::load::{STACK_BYTES, enter_database};
use crate::numbers::median;
use crate::session::{Server, Session, Stop};
use crate::{Plan, Report};

const SMALLEST: u32 = 16;
const FACTOR: u32 = 4;
const LOCK: &str = "SELECT n FROM convoy WHERE id = 1 FOR UPDATE";
const UPDATE: &str = "UPDATE convoy SET n = n + 1 WHERE id = 1";
const POLL: Duration = Duration::from_millis(10);
const QUEUE_MAX: Duration = Duration::from_secs(60);
/// The largest convoy may cost so much more per waiter than the smallest, whose fixed cost few share.
const GROWTH_MAX: f64 = 2.0;

/// The numbers in a queue of one size, in microseconds per waiter.
#[derive(Default)]
struct Costs {
    joining: Vec<f64>,
    locks: Vec<f64>,
    updates: Vec<f64>,
}

/// Sessions that run a statement when told.
struct Waiters {
    commands: Vec<Sender<&'static str>>,
    connections: HashSet<u32>,
    answers: Receiver<(Instant, Result<(), Stop>)>,
}

impl Waiters {
    fn start(server: &Server, plan: &Plan) -> Result<Waiters, Stop> {
        let (answer, answers) = channel();
        let mut waiters = Waiters { commands: Vec::new(), connections: HashSet::new(), answers };
        for number in 0..plan.sessions {
            let mut session = Session::new(server, &plan.database, number, plan.seed)?;
            session.execute("SET SESSION innodb_lock_wait_timeout = 80")?;
            waiters.connections.insert(session.connection_id());
            let (command, commands) = channel::<&'static str>();
            let answer = answer.clone();
            let work = move || {
                for sql in commands {
                    let ended = if sql == LOCK {
                        session.rows::<u64>(sql).map(drop)
                    } else {
                        session.execute(sql).map(drop)
                    };
                    if answer.send((Instant::now(), ended)).is_err() {
                        return;
                    }
                }
            };
            let thread = thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn(work).expect("the machine has room for a thread per session");
            waiters.commands.push(command);
        }
        Ok(waiters)
    }

    /// Until so many of them wait.
    fn await_queue(&self, control: &mut Session, size: u32) -> Result<(), Stop> {
        let deadline = Instant::now() + QUEUE_MAX;
        loop {
            let waiting: Vec<u32> = control.rows(
                "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
            )?;
            let count = waiting.iter().filter(|id| self.connections.contains(id)).count();
            if count == size as usize {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(Stop::Fault(format!("{count} of {size} wait after {} s", QUEUE_MAX.as_secs())));
            }
            thread::sleep(POLL);
        }
    }
}

pub fn run(server: &Server, plan: &Plan, report: &mut Report) -> Result<(), Stop> {
    let mut control = enter_database(server, plan)?;
    control.execute("CREATE TABLE convoy (id INT PRIMARY KEY, n BIGINT NOT NULL)")?;
    control.execute("INSERT INTO convoy VALUES (1, 0)")?;
    let mut holder = Session::new(server, &plan.database, u32::MAX, plan.seed)?;
    let waiters = Waiters::start(server, plan)?;
    let smaller = std::iter::successors(Some(SMALLEST), |size| size.checked_mul(FACTOR));
    let mut sizes: Vec<u32> = smaller.take_while(|size| *size < plan.sessions).collect();
    sizes.push(plan.sessions);
    let mut costs: BTreeMap<u32, Costs> = BTreeMap::new();
    let (mut rounds, mut updates, began) = (0, 0, Instant::now());
    while rounds == 0 || began.elapsed() < plan.duration {
        for size in &sizes {
            let known = costs.entry(*size).or_default();
            for sql in [LOCK, UPDATE] {
                let (joining, hand_over) = convoy(&mut control, &mut holder, &waiters, *size, sql)?;
                known.joining.push(joining);
                if sql == LOCK { &mut known.locks } else { &mut known.updates }.push(hand_over);
            }
            updates += u64::from(*size);
        }
        rounds += 1;
        if plan.shows_progress {
            eprintln!("{} {:4.0} s, {rounds} rounds", report.title, began.elapsed().as_secs_f64());
        }
    }
    show(report, costs, rounds);
    let count: u64 = control.row("SELECT n FROM convoy WHERE id = 1")?;
    report.expect(count == updates, || format!("the count is {count} after {updates} updates"));
    drop((holder, waiters));
    control.execute(format!("DROP DATABASE {}", plan.database))?;
    Ok(())
}

/// One queue: microseconds per waiter until all had joined it, and from the holder's COMMIT to the last one's answer.
fn convoy(
    control: &mut Session,
    holder: &mut Session,
    waiters: &Waiters,
    size: u32,
    sql: &'static str,
) -> Result<(f64, f64), Stop> {
    holder.execute("BEGIN")?;
    holder.rows::<u64>(LOCK)?;
    let per_waiter = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(size);
    let sent_at = Instant::now();
    for command in &waiters.commands[..size as usize] {
        command.send(sql).map_err(|_| Stop::Fault("a waiter's thread has ended".to_owned()))?;
    }
    waiters.await_queue(control, size)?;
    let joining = per_waiter(sent_at.elapsed());
    let released_at = Instant::now();
    holder.execute("COMMIT")?;
    let mut last = released_at;
    for _ in 0..size {
        let (at, ended) = waiters.answers.recv().expect("each command has an answer");
        ended?;
        last = last.max(at);
    }
    Ok((joining, per_waiter(last - released_at)))
}

fn show(report: &mut Report, costs: BTreeMap<u32, Costs>, rounds: u32) {
    report.row("rounds", rounds);
    let mut smallest: Option<[f64; 2]> = None;
    let mut largest = [0.0; 2];
    for (size, mut costs) in costs {
        let [joining, locks, updates] =
            [&mut costs.joining, &mut costs.locks, &mut costs.updates].map(|values| median(values));
        report.row(
            format!("{size} waiters, us for each"),
            format!("{joining:.0} to join, {locks:.1} to hand over a lock, {updates:.1} an update"),
        );
        largest = [locks, updates];
        smallest.get_or_insert(largest);
    }
    let smallest = smallest.unwrap_or(largest);
    report.expect((0..2).all(|kind| largest[kind] <= GROWTH_MAX * smallest[kind]), || {
        format!("handing over costs {largest:.1?} us with the most waiters, {smallest:.1?} with the fewest")
    });
}
