//! The loop of the workloads that are a steady load: sessions, a checker beside them, a killer, one line per second.
//!
//! Invariant: a session that met an error rolls back before it goes on, and one that lost its connection makes a new
//! one; both are faults unless the load says that it expects the error, or connections are being killed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

use crate::killer::{Targets, kill};
use crate::numbers::median;
use crate::session::{DEADLOCK, INTERRUPTED, KILLED, LOCK_TIMEOUT, Server, Session, Stop};
use crate::{Plan, Report};

/// Sessions keep little on their stacks, and there may be a thousand of them.
pub const STACK_BYTES: usize = 256 << 10;
const CHECK_PAUSE: Duration = Duration::from_millis(500);

/// What the sessions of a load do, and what must hold.
pub trait Load: Sync {
    /// Run in the load's own, empty database.
    fn set_up(&self, client: &mut Session) -> Result<(), Stop>;

    /// Run by each session when it has connected.
    fn prepare(&self, _session: &mut Session) -> Result<(), Stop> {
        Ok(())
    }

    /// One transaction. The load keeps account itself of what was acknowledged.
    fn step(&self, session: &mut Session) -> Result<(), Stop>;

    /// Error numbers that a step may end with, besides lock timeouts, deadlocks and kills.
    fn expected(&self) -> &[u16] {
        &[]
    }

    /// Looks at what must hold at any moment, while the load runs.
    fn check(&self, _client: &mut Session) -> Result<(), Stop> {
        Ok(())
    }

    /// Looks at everything when all sessions have ended.
    fn finish(&self, client: &mut Session, report: &mut Report) -> Result<(), Stop>;
}

#[derive(Default)]
struct Tally {
    done: AtomicU64,
    lost: AtomicU64,
    checks: AtomicU64,
    refused: Mutex<BTreeMap<u16, u64>>,
    faults: Mutex<Vec<String>>,
    stopped: AtomicBool,
}

impl Tally {
    fn fault(&self, what: String) {
        self.faults.lock().expect("no thread panics while it holds this").push(what);
        self.stopped.store(true, Relaxed);
    }

    fn refused(&self, number: u16) {
        *self.refused.lock().expect("no thread panics while it holds this").entry(number).or_default() += 1;
    }

    fn refused_text(&self) -> String {
        let refused = self.refused.lock().expect("no thread panics while it holds this");
        let parts: Vec<String> = refused.iter().map(|(number, count)| format!("{number}: {count}")).collect();
        if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
    }
}

/// Makes the workload's database and leaves a session in it.
pub fn enter_database(server: &Server, plan: &Plan) -> Result<Session, Stop> {
    let mut client = server.connect(None)?;
    for sql in ["DROP DATABASE IF EXISTS", "CREATE DATABASE"] {
        mysql::prelude::Queryable::query_drop(&mut client, format!("{sql} {}", plan.database))?;
    }
    Ok(Session::new(server, &plan.database, u32::MAX, plan.seed)?)
}

/// Runs a load for the plan's time.
pub fn run(server: &Server, plan: &Plan, load: &dyn Load, report: &mut Report) -> Result<(), Stop> {
    let mut control = enter_database(server, plan)?;
    load.set_up(&mut control)?;
    let tally = Tally::default();
    let targets = Targets::new(plan.sessions);
    let start = Barrier::new(plan.sessions as usize + 1);
    let mut rates = Vec::new();
    let mut kills = (0, 0);
    std::thread::scope(|scope| {
        for number in 0..plan.sessions {
            let (tally, targets, start) = (&tally, &targets, &start);
            let work = move || {
                let session = open(server, plan, load, number);
                start.wait();
                match session {
                    Ok(session) => repeat(server, plan, load, session, tally, targets),
                    Err(stop) => tally.fault(format!("session {number} cannot begin: {stop:?}")),
                }
            };
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, work).expect("the machine has room for a thread per session");
        }
        start.wait();
        scope.spawn(|| check_on(server, plan, load, &tally));
        let killer = (plan.kills_per_second > 0).then(|| {
            scope.spawn(|| {
                let mut session = Session::new(server, &plan.database, u32::MAX - 1, plan.seed)?;
                kill(&mut session, &targets, plan.kills_per_second, &tally.stopped)
            })
        });
        rates = watch(plan, &report.title, &tally);
        tally.stopped.store(true, Relaxed);
        match killer.map(|killer| killer.join().expect("the killer does not panic")) {
            Some(Ok(counts)) => kills = counts,
            Some(Err(stop)) => tally.fault(format!("the killer: {stop:?}")),
            None => {}
        }
    });
    let seconds = rates.len() as f64;
    // The first second warms up.
    let mut steady = rates.get(1..).unwrap_or_default().to_vec();
    report.row("sessions, seconds, seed", format!("{}, {seconds}, {}", plan.sessions, plan.seed));
    let done = tally.done.load(Relaxed);
    report.row("transactions", done);
    // Else what holds holds of nothing.
    report.expect(done > 0, || "no transaction got to its end".to_owned());
    report.row("per second, median", format!("{:.0}", median(&mut steady)));
    report.row("per second, lowest", format!("{:.0}", steady.first().copied().unwrap_or(0.0)));
    report.row("refused", tally.refused_text());
    if plan.kills_per_second > 0 {
        report.row("killed queries, connections", format!("{}, {}", kills.0, kills.1));
        report.row("lost connections", tally.lost.load(Relaxed));
    }
    report.row("checks under load", tally.checks.load(Relaxed));
    for fault in tally.faults.into_inner().expect("no thread panics while it holds this") {
        report.fault(fault);
    }
    load.finish(&mut control, report)?;
    control.execute(format!("DROP DATABASE {}", plan.database))?;
    Ok(())
}

fn open(server: &Server, plan: &Plan, load: &dyn Load, number: u32) -> Result<Session, Stop> {
    let mut session = Session::new(server, &plan.database, number, plan.seed)?;
    load.prepare(&mut session)?;
    Ok(session)
}

fn repeat(
    server: &Server,
    plan: &Plan,
    load: &dyn Load,
    mut session: Session,
    tally: &Tally,
    targets: &Targets,
) {
    targets.enter(&session);
    while !tally.stopped.load(Relaxed) {
        let stop = match load.step(&mut session) {
            Ok(()) => {
                tally.done.fetch_add(1, Relaxed);
                continue;
            }
            Err(stop) => stop,
        };
        if let Err(stop) = recover(server, plan, load, &mut session, stop, tally) {
            return tally.fault(format!("session {}: {stop:?}", session.number));
        }
        targets.enter(&session);
    }
}

/// After a step that did not get to its end: ready for the next, or a fault.
fn recover(
    server: &Server,
    plan: &Plan,
    load: &dyn Load,
    session: &mut Session,
    stop: Stop,
    tally: &Tally,
) -> Result<(), Stop> {
    let killed = plan.kills_per_second > 0;
    match stop {
        Stop::Refused(number, _)
            if [LOCK_TIMEOUT, DEADLOCK].contains(&number)
                || load.expected().contains(&number)
                || killed && [INTERRUPTED, KILLED].contains(&number) =>
        {
            tally.refused(number);
        }
        Stop::Lost(_) if killed => {}
        other => return Err(other),
    }
    // ROLLBACK can be killed too: it is said again, to a new connection if need be.
    let mut answer = session.roll_back();
    while let Err(stop) = answer {
        match stop {
            Stop::Refused(INTERRUPTED, _) if killed => answer = session.roll_back(),
            Stop::Refused(KILLED, _) | Stop::Lost(_) if killed => {
                tally.lost.fetch_add(1, Relaxed);
                session.reconnect(server, &plan.database)?;
                answer = load.prepare(session);
            }
            other => return Err(other),
        }
    }
    Ok(())
}

fn check_on(server: &Server, plan: &Plan, load: &dyn Load, tally: &Tally) {
    let checked = Session::new(server, &plan.database, u32::MAX - 2, plan.seed).map_err(Stop::from);
    let mut checked = checked.map_err(|stop| tally.fault(format!("the checker: {stop:?}")));
    while let (Ok(session), false) = (checked.as_mut(), tally.stopped.load(Relaxed)) {
        match load.check(session) {
            Ok(()) => drop(tally.checks.fetch_add(1, Relaxed)),
            // A check that locks rows can be a deadlock's victim.
            Err(Stop::Refused(DEADLOCK | LOCK_TIMEOUT, _)) => drop(session.roll_back()),
            Err(stop) => return tally.fault(format!("the check under load: {stop:?}")),
        }
        std::thread::sleep(CHECK_PAUSE);
    }
}

/// Waits for the end of the plan's time or the first fault; transactions per second, for each second.
fn watch(plan: &Plan, title: &str, tally: &Tally) -> Vec<f64> {
    let began = Instant::now();
    let mut rates = Vec::new();
    let (mut before, mut then) = (0, began);
    while began.elapsed() < plan.duration && !tally.stopped.load(Relaxed) {
        std::thread::sleep(Duration::from_secs(1).min(plan.duration.saturating_sub(began.elapsed())));
        let done = tally.done.load(Relaxed);
        let rate = (done - before) as f64 / then.elapsed().as_secs_f64();
        (before, then) = (done, Instant::now());
        rates.push(rate);
        if plan.shows_progress {
            eprintln!(
                "{title} {:4.0} s {rate:8.0}/s, refused {}, {} connections lost, {} checks",
                began.elapsed().as_secs_f64(),
                tally.refused_text(),
                tally.lost.load(Relaxed),
                tally.checks.load(Relaxed)
            );
        }
    }
    rates
}
