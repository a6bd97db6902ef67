//! A snapshot is held open and read again and again while other sessions update: it never changes by key, by index or in
//! whole. How much it slows the updates down, and what memory it costs the server, is shown, not judged.
//!
//! A quarter of the time runs without the snapshot, then half of it with, then a quarter without.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::load::{STACK_BYTES, enter_database};
use crate::numbers::{median, resident_mib};
use crate::session::{DEADLOCK, Server, Session, Stop};
use crate::{Plan, Report};

const ROWS: u32 = 20_000;
const ROWS_PER_INSERT: usize = 1000;
/// Values of the indexed column.
const CLASSES: u32 = 500;
const READS_PER_LOOK: u32 = 20;
const LOOK_PAUSE: Duration = Duration::from_secs(1);
const LOOKS_PER_WHOLE_READ: u32 = 10;

#[derive(Default)]
struct Updates {
    begun: AtomicU64,
    acknowledged: AtomicU64,
    stopped: AtomicBool,
    faults: Mutex<Vec<String>>,
}

impl Updates {
    fn fault(&self, who: &str, stop: &Stop) {
        self.faults.lock().expect("no thread panics while it holds this").push(format!("{who}: {stop:?}"));
        self.stopped.store(true, Relaxed);
    }
}

type Row = (u32, u64, u32);

pub fn run(server: &Server, plan: &Plan, report: &mut Report) -> Result<(), Stop> {
    let mut control = enter_database(server, plan)?;
    control.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, n BIGINT NOT NULL, class INT NOT NULL, KEY class (class))",
    )?;
    let rows: Vec<String> = (0..ROWS).map(|id| format!("({id}, 0, {})", id % CLASSES)).collect();
    for rows in rows.chunks(ROWS_PER_INSERT) {
        control.execute(format!("INSERT INTO t VALUES {}", rows.join(", ")))?;
    }
    let updates = Updates::default();
    let mut phases: [Vec<f64>; 3] = Default::default();
    let mut memory: [Vec<u64>; 3] = Default::default();
    let mut looks = 0;
    std::thread::scope(|scope| {
        for number in 0..plan.sessions {
            let updates = &updates;
            let work = move || {
                if let Err(stop) = write(server, plan, number, updates) {
                    updates.fault("a writer", &stop);
                }
            };
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, work).expect("the machine has room for a thread per session");
        }
        for (phase, parts) in [(0, 1), (1, 2), (2, 1)] {
            let time = plan.duration / 4 * parts;
            let ended = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let reader = (phase == 1).then(|| scope.spawn(|| read(server, plan, &updates, &ended)));
                (phases[phase], memory[phase]) =
                    sample(plan, time, &updates, ["before", "with", "after"][phase]);
                ended.store(true, Relaxed);
                match reader.map(|reader| reader.join().expect("the reader does not panic")) {
                    Some(Ok(count)) => looks = count,
                    Some(Err(stop)) => updates.fault("the snapshot", &stop),
                    None => {}
                }
            });
        }
        updates.stopped.store(true, Relaxed);
    });
    let [before, with, after] = phases.map(|mut rates| median(&mut rates));
    let without = (before + after) / 2.0;
    report.row(
        "sessions, seconds, seed",
        format!("{}, {}, {}", plan.sessions, plan.duration.as_secs(), plan.seed),
    );
    report.row("updates per second before, with, after", format!("{before:.0}, {with:.0}, {after:.0}"));
    report.row("with the snapshot to without", format!("{:.3}", with / without.max(1.0)));
    report.row("looks at the snapshot", looks);
    if plan.process.is_some() {
        let [before, with, after] = memory.map(|sizes| sizes.iter().max().copied().unwrap_or(0));
        report.row("server's memory before, with, after", format!("{before}, {with}, {after} MiB"));
    }
    for fault in updates.faults.into_inner().expect("no thread panics while it holds this") {
        report.fault(fault);
    }
    let sum: u64 = control.row("SELECT CAST(SUM(n) AS UNSIGNED) FROM t")?;
    let acknowledged = updates.acknowledged.into_inner();
    report.expect(sum == acknowledged, || format!("the sum is {sum} after {acknowledged} updates"));
    control.execute(format!("DROP DATABASE {}", plan.database))?;
    Ok(())
}

fn write(server: &Server, plan: &Plan, number: u32, updates: &Updates) -> Result<(), Stop> {
    let mut session = Session::new(server, &plan.database, number, plan.seed)?;
    while !updates.stopped.load(Relaxed) {
        let row = session.random.below(ROWS);
        // One in four moves an entry of the index.
        let class = session.random.below(4 * CLASSES);
        let class = if class < CLASSES { format!(", class = {class}") } else { String::new() };
        updates.begun.fetch_add(1, Relaxed);
        match session.execute(format!("UPDATE t SET n = n + 1{class} WHERE id = {row}")) {
            Ok(_) => drop(updates.acknowledged.fetch_add(1, Relaxed)),
            Err(Stop::Refused(DEADLOCK, _)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

/// Updates per second, and the server's memory, each second.
fn sample(plan: &Plan, time: Duration, updates: &Updates, phase: &str) -> (Vec<f64>, Vec<u64>) {
    let began = Instant::now();
    let (mut rates, mut memory) = (Vec::new(), Vec::new());
    let (mut count, mut then) = (updates.acknowledged.load(Relaxed), began);
    while began.elapsed() < time && !updates.stopped.load(Relaxed) {
        std::thread::sleep(Duration::from_secs(1).min(time.saturating_sub(began.elapsed())));
        let now = updates.acknowledged.load(Relaxed);
        rates.push((now - count) as f64 / then.elapsed().as_secs_f64());
        (count, then) = (now, Instant::now());
        memory.extend(plan.process.and_then(resident_mib));
        if plan.shows_progress {
            eprintln!(
                "long_snapshot {phase} {:4.0} s {:8.0}/s, {:?} MiB",
                began.elapsed().as_secs_f64(),
                rates.last().copied().unwrap_or(0.0),
                memory.last()
            );
        }
    }
    (rates, memory)
}

/// Holds one snapshot until the end; answers how often it was looked at.
fn read(server: &Server, plan: &Plan, updates: &Updates, ended: &AtomicBool) -> Result<u32, Stop> {
    let mut session = Session::new(server, &plan.database, u32::MAX, plan.seed)?;
    let acknowledged = updates.acknowledged.load(Relaxed);
    session.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
    let begun = updates.begun.load(Relaxed);
    let first = whole(&mut session)?;
    let sum: u64 = first.iter().map(|(_, n, _)| n).sum();
    if !(acknowledged..=begun).contains(&sum) {
        return Err(Stop::Fault(format!(
            "the sum is {sum}; {acknowledged} updates were acknowledged, {begun} begun"
        )));
    }
    let mut looks = 0;
    loop {
        let is_last = ended.load(Relaxed);
        look(&mut session, &first)?;
        looks += 1;
        if (is_last || looks % LOOKS_PER_WHOLE_READ == 0) && whole(&mut session)? != first {
            return Err(Stop::Fault(format!("the snapshot has changed at look {looks}")));
        }
        if is_last {
            session.commit()?;
            return Ok(looks);
        }
        std::thread::sleep(LOOK_PAUSE);
    }
}

fn whole(session: &mut Session) -> Result<Vec<Row>, Stop> {
    session.rows("SELECT id, n, class FROM t ORDER BY id")
}

/// Some rows by key, and those of a class by the index.
fn look(session: &mut Session, first: &[Row]) -> Result<(), Stop> {
    for _ in 0..READS_PER_LOOK {
        let id = session.random.below(ROWS);
        let row: Row = session.row(format!("SELECT id, n, class FROM t WHERE id = {id}"))?;
        if row != first[id as usize] {
            return Err(Stop::Fault(format!("row {row:?} was {:?}", first[id as usize])));
        }
    }
    let class = session.random.below(CLASSES);
    let found: Vec<u32> =
        session.rows(format!("SELECT id FROM t FORCE INDEX (class) WHERE class = {class} ORDER BY id"))?;
    let expected: Vec<u32> = first.iter().filter(|row| row.2 == class).map(|row| row.0).collect();
    if found == expected {
        Ok(())
    } else {
        Err(Stop::Fault(format!("class {class} has {found:?}, had {expected:?}")))
    }
}
