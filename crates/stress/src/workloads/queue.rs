//! A job queue: producers insert jobs, consumers take the oldest that nobody else has (FOR UPDATE SKIP LOCKED). No job is
//! done twice, each job is either open or done, none of an acknowledged producer is lost, and a consumer never waits.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Report;
use crate::load::Load;
use crate::session::{Commit, DUPLICATE, KILLED, LOCK_TIMEOUT, Session, Stop};

#[derive(Default)]
pub struct Queue {
    ledger: Mutex<Ledger>,
    /// Acknowledged as produced, less those taken: keeps the queue short.
    open: AtomicU64,
}

#[derive(Default)]
struct Ledger {
    produced: Vec<u64>,
    done: HashSet<u64>,
    /// Jobs, or their ends, of lost connections.
    unknown: u64,
}

/// Of so many sessions one produces.
const SESSIONS_PER_PRODUCER: u32 = 4;
const JOBS_PER_INSERT: u64 = 10;
const OPEN_MAX: u64 = 500;
const NEWEST_JOBS: u64 = 5000;

impl Queue {
    fn ledger(&self) -> std::sync::MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("no thread panics while it holds this")
    }

    fn produce(&self, session: &mut Session) -> Result<(), Stop> {
        let rows = vec!["(0)"; JOBS_PER_INSERT as usize].join(", ");
        match session.execute(format!("INSERT INTO jobs (state) VALUES {rows}")) {
            Ok(_) => {
                let first = session.last_insert_id();
                self.ledger().produced.extend(first..first + JOBS_PER_INSERT);
                self.open.fetch_add(JOBS_PER_INSERT, Relaxed);
                Ok(())
            }
            Err(stop) => {
                if let Stop::Lost(_) | Stop::Refused(KILLED, _) = stop {
                    self.ledger().unknown += 1;
                }
                Err(stop)
            }
        }
    }

    fn consume(&self, session: &mut Session) -> Result<(), Stop> {
        session.execute("BEGIN")?;
        let taken: Vec<u64> = session
            .rows("SELECT id FROM jobs WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
            .map_err(never_waits)?;
        let Some(job) = taken.first().copied() else {
            session.commit()?;
            return self.produce(session);
        };
        let deletes = session.random.one_in(2);
        let change = if deletes {
            format!("DELETE FROM jobs WHERE id = {job}")
        } else {
            format!("UPDATE jobs SET state = 1 WHERE id = {job}")
        };
        if session.execute(change).map_err(never_waits)? != 1 {
            return Err(Stop::Fault(format!("job {job} is locked, and yet gone")));
        }
        match session.execute(format!("INSERT INTO done VALUES ({job}, {deletes}, {})", session.number)) {
            Err(Stop::Refused(DUPLICATE, _)) => return Err(Stop::Fault(format!("job {job} is done twice"))),
            other => other.map_err(never_waits)?,
        };
        // A consumer that gives up leaves the job to the others.
        if session.random.one_in(8) {
            return session.roll_back();
        }
        match session.commit()? {
            Commit::Done => {
                let first_time = self.ledger().done.insert(job);
                let _ = self.open.fetch_update(Relaxed, Relaxed, |open| open.checked_sub(1));
                if first_time { Ok(()) } else { Err(Stop::Fault(format!("job {job} is acknowledged twice"))) }
            }
            Commit::Unknown => {
                self.ledger().unknown += 1;
                Ok(())
            }
        }
    }
}

/// A lock timeout is no accident here.
fn never_waits(stop: Stop) -> Stop {
    match stop {
        Stop::Refused(LOCK_TIMEOUT, text) => Stop::Fault(format!("a consumer waited: {text}")),
        other => other,
    }
}

impl Load for Queue {
    fn set_up(&self, client: &mut Session) -> Result<(), Stop> {
        client.execute_all(&[
            "CREATE TABLE jobs (id BIGINT AUTO_INCREMENT PRIMARY KEY, state INT NOT NULL, KEY state (state, id))",
            "CREATE TABLE done (job BIGINT PRIMARY KEY, deleted INT NOT NULL, consumer INT NOT NULL)",
        ])
    }

    fn prepare(&self, session: &mut Session) -> Result<(), Stop> {
        // The gaps that REPEATABLE READ locks are not the jobs'.
        session.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").map(drop)
    }

    fn step(&self, session: &mut Session) -> Result<(), Stop> {
        let produces = session.number.is_multiple_of(SESSIONS_PER_PRODUCER);
        if produces && self.open.load(Relaxed) < OPEN_MAX {
            self.produce(session)
        } else {
            self.consume(session)
        }
    }

    fn check(&self, client: &mut Session) -> Result<(), Stop> {
        let newest = self.ledger().produced.iter().rev().take(1).copied().next().unwrap_or(0);
        let both: u64 = client.row(format!(
            "SELECT COUNT(*) FROM done JOIN jobs ON jobs.id = done.job WHERE done.job > {} AND jobs.state = 0",
            newest.saturating_sub(NEWEST_JOBS)
        ))?;
        if both == 0 { Ok(()) } else { Err(Stop::Fault(format!("{both} jobs are open and done"))) }
    }

    fn finish(&self, client: &mut Session, report: &mut Report) -> Result<(), Stop> {
        let jobs: Vec<(u64, u32)> = client.rows("SELECT id, state FROM jobs")?;
        let done: Vec<(u64, u32)> = client.rows("SELECT job, deleted FROM done")?;
        let open: HashSet<u64> = jobs.iter().filter(|(_, state)| *state == 0).map(|(id, _)| *id).collect();
        let kept: HashSet<u64> = jobs.iter().filter(|(_, state)| *state == 1).map(|(id, _)| *id).collect();
        let ended: HashSet<u64> = done.iter().map(|(id, _)| *id).collect();
        let by_index: u64 = client.row("SELECT COUNT(*) FROM jobs FORCE INDEX (state) WHERE state = 0")?;
        let ledger = self.ledger();
        report.row(
            "jobs produced, done, open",
            format!("{}, {}, {}", ledger.produced.len(), ended.len(), open.len()),
        );
        report.row("unknown", ledger.unknown);
        report.expect(by_index == open.len() as u64, || {
            format!("{} open jobs, {by_index} by the index", open.len())
        });
        for (job, deleted) in &done {
            report.expect(kept.contains(job) == (*deleted == 0) && !open.contains(job), || {
                format!("job {job} is done (deleted: {deleted}) and has the wrong row")
            });
        }
        report.expect(kept.is_subset(&ended), || "a job has state 1 and is not done".to_owned());
        for job in &ledger.produced {
            report.expect(open.contains(job) != ended.contains(job), || format!("job {job} is lost"));
        }
        report.expect(ledger.done.is_subset(&ended), || "an acknowledged end of a job is lost".to_owned());
        let unexplained = (ended.len() - ledger.done.len()) as u64;
        report.expect(unexplained <= ledger.unknown, || {
            format!("{unexplained} jobs are done that nobody did, {} are unknown", ledger.unknown)
        });
        Ok(())
    }
}
