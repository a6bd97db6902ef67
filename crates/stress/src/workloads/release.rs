//! A session that holds something ends in some way; somebody who waits for that gets it at once. Measured is the time from
//! the end (the KILL, the closed socket, the idle timeout) to the waiter's answer, for each way and each thing held.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::load::enter_database;
use crate::numbers::{median, milliseconds};
use crate::relay::Relay;
use crate::session::{Server, Session, Stop};
use crate::{Plan, Report};

/// What a session holds, and the statement of somebody who wants it. `@` is the kind's own table.
struct Held {
    name: &'static str,
    taken_by: &'static [&'static str],
    wanted_by: &'static str,
    /// The holder can run a statement that waits for a row of another table.
    can_wait: bool,
}

const HELD: [Held; 7] = [
    held(
        "row",
        &["BEGIN", "UPDATE @ SET n = n + 1 WHERE id = 1"],
        "UPDATE @ SET n = n + 1 WHERE id = 1",
        true,
    ),
    held("key", &["BEGIN", "INSERT INTO @ VALUES (50, 0)"], "INSERT INTO @ VALUES (50, 1)", true),
    held(
        "range",
        &["BEGIN", "UPDATE @ SET n = n + 1 WHERE id BETWEEN 100 AND 200"],
        "INSERT INTO @ VALUES (150, 1)",
        true,
    ),
    held(
        "thousand",
        &["BEGIN", "UPDATE @ SET n = n + 1 WHERE id > 1000"],
        "UPDATE @ SET n = 0 WHERE id = 2000",
        true,
    ),
    held("table", &["LOCK TABLES @ WRITE"], "UPDATE @ SET n = n + 1 WHERE id = 1", false),
    held(
        "definition",
        &["BEGIN", "UPDATE @ SET n = n WHERE id = 1"],
        "ALTER TABLE @ COMMENT 'changed'",
        true,
    ),
    held("name", &["DO GET_LOCK('@', 0)"], "DO GET_LOCK('@', 30)", true),
];

const fn held(
    name: &'static str,
    taken_by: &'static [&'static str],
    wanted_by: &'static str,
    can_wait: bool,
) -> Held {
    Held { name, taken_by, wanted_by, can_wait }
}

/// What the holder does when its end comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    Nothing,
    Sleeping,
    /// For a row that a third session holds.
    Waiting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Quit,
    Killed(Doing),
    Dropped(Doing),
    IdleTimeout,
    /// KILL QUERY, for a statement of its own transaction that waits for its second row.
    QueryKilled,
}

const ENDS: [End; 9] = [
    End::Quit,
    End::Killed(Doing::Nothing),
    End::Killed(Doing::Sleeping),
    End::Killed(Doing::Waiting),
    End::Dropped(Doing::Nothing),
    End::Dropped(Doing::Sleeping),
    End::Dropped(Doing::Waiting),
    End::IdleTimeout,
    End::QueryKilled,
];

const IDLE_TIMEOUT: Duration = Duration::from_secs(1);
/// Until a statement that has been sent surely waits.
const WAIT_BEGINS: Duration = Duration::from_millis(60);
/// At once. What takes longer is done again: the work of the waiter's statement and a busy machine take long now and then, a wait in
/// steps each time.
const RELEASE_MAX: Duration = Duration::from_secs(1);
const ATTEMPTS: usize = 4;
/// No load explains this: somebody was not told, and something else ended the wait.
const TOLD_MAX: Duration = Duration::from_secs(20);

pub fn run(server: &Server, plan: &Plan, report: &mut Report) -> Result<(), Stop> {
    let mut control = enter_database(server, plan)?;
    for held in &HELD {
        for table in [table(held), blocked_table(held)] {
            control.execute(format!("CREATE TABLE {table} (id INT PRIMARY KEY, n INT NOT NULL)"))?;
            let rows: Vec<String> = (1..=3).chain(1001..=2000).map(|id| format!("({id}, 0)")).collect();
            control.execute(format!("INSERT INTO {table} VALUES {}", rows.join(", ")))?;
        }
    }
    let times: Mutex<BTreeMap<End, Vec<(f64, &'static str)>>> = Mutex::default();
    let faults: Mutex<Vec<String>> = Mutex::default();
    let began = Instant::now();
    thread::scope(|scope| {
        for held in &HELD {
            let (times, faults) = (&times, &faults);
            scope.spawn(move || {
                loop {
                    for end in ENDS.into_iter().filter(|end| is_possible(*end, held)) {
                        match release_soon(server, plan, held, end) {
                            Ok(all) => {
                                let mut times = times.lock().expect("no thread panics while it holds this");
                                let all = all.into_iter().map(|time| (milliseconds(time), held.name));
                                times.entry(end).or_default().extend(all);
                            }
                            Err(stop) => faults
                                .lock()
                                .expect("no thread panics while it holds this")
                                .push(format!("{end:?}, {}: {stop:?}", held.name)),
                        }
                    }
                    if began.elapsed() >= plan.duration {
                        return;
                    }
                }
            });
        }
    });
    for (end, mut times) in times.into_inner().expect("no thread panics while it holds this") {
        times.sort_by(|left, right| left.0.total_cmp(&right.0));
        let (slowest, kind) = times.last().copied().unwrap_or((0.0, ""));
        let mut values: Vec<f64> = times.iter().map(|(time, _)| *time).collect();
        report.row(
            format!("{end:?}: median, slowest"),
            format!("{:.1}, {slowest:.1} ms ({kind}), {} times", median(&mut values), times.len()),
        );
    }
    for fault in faults.into_inner().expect("no thread panics while it holds this") {
        report.fault(fault);
    }
    control.execute(format!("DROP DATABASE {}", plan.database))?;
    Ok(())
}

fn is_possible(end: End, held: &Held) -> bool {
    match end {
        End::Killed(Doing::Waiting) | End::Dropped(Doing::Waiting) => held.can_wait,
        // Elsewhere the transaction goes on and keeps what it has.
        End::QueryKilled => held.name == "row",
        _ => true,
    }
}

fn table(held: &Held) -> String {
    format!("t_{}", held.name)
}

/// Where a third session holds row 1.
fn blocked_table(held: &Held) -> String {
    format!("u_{}", held.name)
}

/// How long the waiters went on waiting, the last one not for long.
fn release_soon(server: &Server, plan: &Plan, held: &Held, end: End) -> Result<Vec<Duration>, Stop> {
    let mut times = Vec::new();
    while times.last().is_none_or(|last| *last > RELEASE_MAX) {
        let time = release(server, plan, held, end)?;
        times.push(time);
        if times.len() == ATTEMPTS && time > RELEASE_MAX || time > TOLD_MAX {
            return Err(Stop::Fault(format!("answered after {times:.0?}")));
        }
    }
    Ok(times)
}

/// How long the waiter goes on waiting after the holder's end.
fn release(server: &Server, plan: &Plan, held: &Held, end: End) -> Result<Duration, Stop> {
    let relay = Relay::start(server).map_err(|error| Stop::Fault(error.to_string()))?;
    let hop = Server { host: "127.0.0.1".to_owned(), port: relay.port };
    let connect = |server: &Server| Session::new(server, &plan.database, 0, plan.seed);
    let (mut holder, mut waiter, mut third) = (connect(&hop)?, connect(server)?, connect(server)?);
    let mut killer = connect(server)?;
    let holder_id = holder.connection_id();
    let (table, blocked) = (table(held), blocked_table(held));
    third.execute("BEGIN")?;
    third.execute(format!("UPDATE {blocked} SET n = n + 1 WHERE id = 1"))?;
    if end == End::QueryKilled {
        third.execute(format!("UPDATE {table} SET n = n + 1 WHERE id = 2"))?;
    } else {
        for sql in held.taken_by {
            holder.execute(sql.replace('@', &table))?;
        }
    }
    if end == End::IdleTimeout {
        holder.execute(format!("SET SESSION wait_timeout = {}", IDLE_TIMEOUT.as_secs()))?;
    }
    let idle_since = Instant::now();
    let does = match end {
        End::Killed(Doing::Sleeping) | End::Dropped(Doing::Sleeping) => Some("SELECT SLEEP(20)".to_owned()),
        End::Killed(Doing::Waiting) | End::Dropped(Doing::Waiting) => {
            Some(format!("UPDATE {blocked} SET n = n + 1 WHERE id = 1"))
        }
        End::QueryKilled => Some(format!("UPDATE {table} SET n = n + 1 WHERE id <= 2")),
        _ => None,
    };
    let wanted = held.wanted_by.replace('@', &table);
    thread::scope(|scope| {
        let mut idle = Some(holder);
        let busy = does.and_then(|sql| {
            let mut holder = idle.take()?;
            Some(scope.spawn(move || {
                // Ends with an error or with the connection; the holder stays open until all is measured.
                let _ = holder.rows::<Option<u64>>(sql);
                holder
            }))
        });
        if busy.is_some() {
            thread::sleep(WAIT_BEGINS);
        }
        let waiter = scope.spawn(move || {
            let begun = waiter.execute("BEGIN");
            let answer = begun.and_then(|_| waiter.execute(wanted));
            let at = Instant::now();
            answer.and_then(|_| waiter.roll_back()).map(|()| at)
        });
        thread::sleep(WAIT_BEGINS);
        let mut released_at = Instant::now();
        match end {
            End::Quit => drop(idle.take()),
            End::Killed(_) => drop(killer.execute(format!("KILL CONNECTION {holder_id}"))?),
            End::QueryKilled => drop(killer.execute(format!("KILL QUERY {holder_id}"))?),
            End::Dropped(_) => relay.cut().map_err(|error| Stop::Fault(error.to_string()))?,
            End::IdleTimeout => released_at = idle_since + IDLE_TIMEOUT,
        }
        let got_at = waiter.join().expect("a waiter does not panic")?;
        third.roll_back()?;
        drop(busy.map(|busy| busy.join()));
        if got_at < released_at && end != End::IdleTimeout {
            return Err(Stop::Fault("the waiter got what was held".to_owned()));
        }
        Ok(got_at.saturating_duration_since(released_at))
    })
}
