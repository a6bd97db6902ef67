//! Transactions update five random rows of a hundred, so most meet and many in a circle. The sum of all counts is exact.
//! Beside them two sessions close a circle of their own again and again: the time from the statement that closes it to the
//! victim's 1213 is what the server needs to see it. The victims of the storm can have waited rightfully before.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::load::Load;
use crate::numbers::{milliseconds, quantile};
use crate::session::{Commit, DEADLOCK, Server, Session, Stop};
use crate::{Plan, Report};

pub struct Deadlocks {
    server: Server,
    database: String,
    acknowledged: AtomicU64,
    unknown: AtomicU64,
    /// Milliseconds of the statements that ended with 1213.
    storm: Mutex<Vec<f64>>,
    /// The same from the moment that closed the circle.
    circles: Mutex<Vec<f64>>,
}

const ROWS: u32 = 100;
const ROWS_PER_TRANSACTION: u32 = 5;
/// The rows of the two sessions apart.
const LEFT: u32 = ROWS;
const RIGHT: u32 = ROWS + 1;
/// Until the first of the two surely waits.
const WAIT_BEGINS: Duration = Duration::from_millis(30);
const SEEN_MAX_MS: f64 = 100.0;

fn update(session: &mut Session, row: u32) -> Result<(), Stop> {
    session.execute(format!("UPDATE counters SET n = n + 1 WHERE id = {row}")).map(drop)
}

impl Deadlocks {
    pub fn new(server: &Server, plan: &Plan) -> Deadlocks {
        Deadlocks {
            server: server.clone(),
            database: plan.database.clone(),
            acknowledged: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
            storm: Mutex::default(),
            circles: Mutex::default(),
        }
    }

    /// Two sessions, one circle.
    fn close_circle(&self, left: &mut Session) -> Result<(), Stop> {
        let mut right = Session::new(&self.server, &self.database, 0, 0)?;
        for session in [&mut *left, &mut right] {
            session.execute("BEGIN")?;
        }
        update(left, LEFT)?;
        update(&mut right, RIGHT)?;
        let ended = |session: &mut Session, row| {
            let answer = update(session, row);
            let at = Instant::now();
            // The victim's rollback, or the survivor's, lets the other go on.
            session.roll_back().map(|()| (answer, at))
        };
        let (closed_at, first, second) = std::thread::scope(|scope| {
            let first = scope.spawn(|| ended(&mut right, LEFT));
            std::thread::sleep(WAIT_BEGINS);
            let closed_at = Instant::now();
            let second = ended(left, RIGHT);
            (closed_at, first.join().expect("a session does not panic"), second)
        });
        let mut victims = 0;
        for (answer, at) in [first?, second?] {
            match answer {
                Ok(()) => {}
                Err(Stop::Refused(DEADLOCK, _)) => {
                    victims += 1;
                    let time = milliseconds(at.saturating_duration_since(closed_at));
                    self.circles.lock().expect("no thread panics while it holds this").push(time);
                }
                Err(other) => return Err(other),
            }
        }
        if victims == 1 { Ok(()) } else { Err(Stop::Fault(format!("a circle of two has {victims} victims"))) }
    }
}

impl Load for Deadlocks {
    fn set_up(&self, client: &mut Session) -> Result<(), Stop> {
        client.execute("CREATE TABLE counters (id INT PRIMARY KEY, n BIGINT NOT NULL)")?;
        let rows: Vec<String> = (0..=RIGHT).map(|id| format!("({id}, 0)")).collect();
        client.execute(format!("INSERT INTO counters VALUES {}", rows.join(", "))).map(drop)
    }

    fn step(&self, session: &mut Session) -> Result<(), Stop> {
        session.execute("BEGIN")?;
        for _ in 0..ROWS_PER_TRANSACTION {
            let row = session.random.below(ROWS);
            let since = Instant::now();
            let answer = update(session, row);
            if let Err(Stop::Refused(DEADLOCK, _)) = &answer {
                let time = milliseconds(since.elapsed());
                self.storm.lock().expect("no thread panics while it holds this").push(time);
            }
            answer?;
        }
        match session.commit()? {
            Commit::Done => self.acknowledged.fetch_add(1, Relaxed),
            Commit::Unknown => self.unknown.fetch_add(1, Relaxed),
        };
        Ok(())
    }

    fn check(&self, client: &mut Session) -> Result<(), Stop> {
        self.close_circle(client)
    }

    fn finish(&self, client: &mut Session, report: &mut Report) -> Result<(), Stop> {
        for (name, times) in [("storm", &self.storm), ("closed circles", &self.circles)] {
            let mut times = times.lock().expect("no thread panics while it holds this");
            let [half, most, all] = [0.5, 0.99, 1.0].map(|part| quantile(&mut times, part));
            let over = times.iter().filter(|time| **time > SEEN_MAX_MS).count();
            report.row(
                format!("1213 after, {name}: 50 %, 99 %, all"),
                format!("{half:.1}, {most:.1}, {all:.1} ms; {over} of {} over {SEEN_MAX_MS} ms", times.len()),
            );
            report.expect(name == "storm" || !times.is_empty(), || "no circle was closed".to_owned());
            report.expect(name == "storm" || half <= SEEN_MAX_MS, || {
                format!("a circle is seen after {half:.0} ms, half of the time")
            });
        }
        let (acknowledged, unknown) = (self.acknowledged.load(Relaxed), self.unknown.load(Relaxed));
        let sum: u64 = client.row("SELECT CAST(SUM(n) AS UNSIGNED) FROM counters")?;
        report.row("sum, acknowledged, unknown", format!("{sum}, {acknowledged}, {unknown} transactions"));
        let per = u64::from(ROWS_PER_TRANSACTION);
        let possible = per * acknowledged..=per * (acknowledged + unknown);
        report.expect(possible.contains(&sum) && sum.is_multiple_of(per), || {
            format!("the sum is {sum}, it should be in {possible:?}")
        });
        Ok(())
    }
}
