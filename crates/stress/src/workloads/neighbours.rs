//! One session runs statements that are long in one way or another; meanwhile another one's point reads and new logins get their turn, and
//! KILL ends the long one soon.
//!
//! Each statement of `STATEMENTS` runs by itself: point reads for as long as it runs (at most `SECONDS_MAX`), then KILL QUERY. With a server
//! of one worker thread all sessions share it. In a build without optimisation every step takes some ten times as long, which
//! `Plan::sessions` says: it is by how much the limits are multiplied.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::load::enter_database;
use crate::numbers::{milliseconds, quantile, resident_mib};
use crate::session::{INTERRUPTED, KILLED, Server, Session, Stop};
use crate::{Plan, Report};

/// Of 100 point reads 99 are answered within this, and all within the next.
const MOST_MS: f64 = 50.0;
const ALL_MS: f64 = 500.0;
const KILL_MS: f64 = 200.0;
const ROWS: usize = 100_000;
const LIST: usize = 20_000;
const INSERTED: usize = 200_000;

/// A long statement: what it is called and how its text is made.
struct Long {
    name: &'static str,
    text: fn() -> String,
}

const STATEMENTS: &[Long] = &[
    Long { name: "REPEAT of 60 MB, 20 times", text: || repeated("REPEAT('x', 60000000)", 20) },
    Long { name: "GROUP BY of 60 columns WITH ROLLUP", text: rollup },
    Long { name: "GROUP BY of 60 columns", text: || rollup().replace(" WITH ROLLUP", "") },
    Long { name: "JSON of 10 MB, parsed", text: || on_json("JSON_LENGTH(d)") },
    Long { name: "JSON of 10 MB, changed", text: || on_json("LENGTH(JSON_SET(d, '$[1]', d))") },
    Long { name: "JSON of 10 MB, searched", text: || on_json("LENGTH(JSON_SEARCH(d, 'all', '%1%'))") },
    Long {
        name: "JSON of 10 MB, pairs of elements",
        text: || on_json("JSON_OVERLAPS(d, JSON_MERGE(d, '[]'))"),
    },
    Long { name: "INSERT of 200,000 rows", text: insert },
    Long { name: "IN of 20,000 keys", text: || format!("SELECT COUNT(*) FROM t WHERE id IN ({})", list("")) },
    Long {
        name: "IN of 20,000 numbers",
        text: || format!("SELECT COUNT(*) FROM t WHERE id + 0 IN ({})", list("")),
    },
    Long {
        name: "IN of 20,000 texts of an index",
        text: || format!("SELECT COUNT(*) FROM t WHERE s IN ({})", list("'")),
    },
    Long { name: "REGEXP on 10 MB", text: || on_text("REGEXP_LIKE(t, '(a|aa|aaa)*b')", 10) },
    Long { name: "LIKE of many parts", text: || on_text("t LIKE CONCAT(REPEAT('%a_', 60), 'c')", 20) },
    Long { name: "LOCATE in 60 MB", text: || on_text("LOCATE(REPEAT('a', 1000), CONCAT(t, 'é'))", 60) },
    Long { name: "REPLACE in 30 MB", text: || on_text("LENGTH(REPLACE(t, 'a', 'bc'))", 30) },
    Long {
        name: "HEX, SHA2 and UPPER of 60 MB",
        text: || on_text("LENGTH(HEX(t)), SHA2(t, 256), LENGTH(UPPER(t))", 60),
    },
    Long { name: "COMPRESS of 60 MB", text: || on_text("LENGTH(UNCOMPRESS(COMPRESS(t)))", 60) },
    Long { name: "REVERSE of 60 MB", text: || on_text("LENGTH(REVERSE(CONCAT(t, 'é')))", 60) },
    Long {
        name: "GROUP_CONCAT of 200 MB",
        text: || "SELECT LENGTH(GROUP_CONCAT(REPEAT(s, 200))) FROM t".to_owned(),
    },
    Long {
        name: "a sort of 100,000 rows",
        text: || "SELECT MAX(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY c1 DESC, s) n FROM t) d".to_owned(),
    },
    Long {
        name: "a join of all with all",
        text: || "SELECT COUNT(*) FROM t a, t b WHERE a.c1 + b.c1 = -1".to_owned(),
    },
];

fn repeated(what: &str, times: usize) -> String {
    format!("SELECT {}", vec![what; times].join(", "))
}

fn rollup() -> String {
    let columns: Vec<String> = (1..=60).map(|number| format!("(c1 + {number}) % 1000")).collect();
    format!("SELECT COUNT(*) FROM (SELECT COUNT(*) FROM t GROUP BY {} WITH ROLLUP) d", columns.join(", "))
}

fn on_json(what: &str) -> String {
    let value = "CAST(CONCAT('[', REPEAT('1,\"ab\",{\"k\":12},', 600000), '0]') AS JSON)";
    format!("SELECT {what} FROM (SELECT {value} d LIMIT 1) v")
}

fn on_text(what: &str, megabytes: usize) -> String {
    format!("SELECT {what} FROM (SELECT REPEAT('a', {megabytes}000000) t LIMIT 1) v")
}

fn insert() -> String {
    let rows: Vec<String> = (0..INSERTED).map(|number| format!("({number}, 'text {number}')")).collect();
    format!("INSERT INTO many VALUES {}", rows.join(","))
}

fn list(quote: &str) -> String {
    let values: Vec<String> = (0..LIST).map(|number| format!("{quote}{}{quote}", number * 3)).collect();
    values.join(",")
}

pub fn run(server: &Server, plan: &Plan, report: &mut Report) -> Result<(), Stop> {
    let mut control = enter_database(server, plan)?;
    control
        .execute("CREATE TABLE t (id INT PRIMARY KEY, c1 INT NOT NULL, s VARCHAR(20) NOT NULL, KEY s (s))")?;
    control.execute("CREATE TABLE many (id INT PRIMARY KEY, s VARCHAR(20))")?;
    let rows: Vec<String> = (0..ROWS).map(|id| format!("({id},{},'{id}')", id * 7919 % 1000)).collect();
    for rows in rows.chunks(1000) {
        control.execute(format!("INSERT INTO t VALUES {}", rows.join(",")))?;
    }
    let slowness = f64::from(plan.sessions.max(1));
    let time_max = plan.duration / STATEMENTS.len() as u32;
    for long in STATEMENTS {
        let look = look_beside(server, plan, &(long.text)(), time_max)?;
        if plan.shows_progress {
            eprintln!("neighbours: {}: {}", long.name, look.shown());
        }
        report.row(long.name, look.shown());
        for (what, is, most) in [
            ("99 of 100 point reads", look.most_ms, MOST_MS),
            ("a point read", look.all_ms, ALL_MS),
            ("a login", look.login_ms, ALL_MS),
            ("KILL", look.kill_ms.unwrap_or(0.0), KILL_MS),
        ] {
            report.expect(is <= most * slowness, || format!("{}: {what} took {is:.0} ms", long.name));
        }
        control.execute("DELETE FROM many")?;
    }
    control.execute(format!("DROP DATABASE {}", plan.database))?;
    Ok(())
}

/// What others saw of the server while a statement ran.
struct Look {
    reads: usize,
    most_ms: f64,
    all_ms: f64,
    login_ms: f64,
    /// From KILL to the end of the statement; `None` when it ended before.
    kill_ms: Option<f64>,
    seconds: f64,
    ended: String,
    resident_mib: Option<u64>,
}

impl Look {
    fn shown(&self) -> String {
        let kill = self.kill_ms.map_or("-".to_owned(), |time| format!("{time:.0}"));
        let memory = self.resident_mib.map_or(String::new(), |mib| format!(", {mib} MiB"));
        format!(
            "{:5} reads, 99 % {:6.1} ms, all {:6.1} ms, login {:6.1} ms, KILL {kill:>4} ms, {:5.1} s, {}{memory}",
            self.reads, self.most_ms, self.all_ms, self.login_ms, self.seconds, self.ended
        )
    }
}

fn look_beside(server: &Server, plan: &Plan, text: &str, time_max: Duration) -> Result<Look, Stop> {
    let mut long = Session::new(server, &plan.database, 1, plan.seed)?;
    let _ = long.execute("SET SESSION group_concat_max_len = 4294967295");
    let id = long.connection_id();
    let mut reader = Session::new(server, &plan.database, 2, plan.seed)?;
    let mut killer = Session::new(server, &plan.database, 3, plan.seed)?;
    let has_ended = AtomicBool::new(false);
    let ended = Mutex::new(None);
    std::thread::scope(|scope| {
        let began = Instant::now();
        scope.spawn(|| {
            // Read row by row: an error after the columns would not be seen otherwise.
            let end = long.rows::<mysql::Row>(text).map(drop);
            *ended.lock().expect("nobody panics with it") = Some((end, Instant::now()));
            has_ended.store(true, Relaxed);
        });
        let (mut times, mut logins, mut memory) = (Vec::new(), Vec::new(), 0);
        while !has_ended.load(Relaxed) && began.elapsed() < time_max {
            let asked = Instant::now();
            let _: u32 = reader.row("SELECT id FROM t WHERE id = 77")?;
            times.push(milliseconds(asked.elapsed()));
            memory = memory.max(plan.process.and_then(resident_mib).unwrap_or(0));
            if times.len() % 50 == 1 {
                let asked = Instant::now();
                server.connect(None)?;
                logins.push(milliseconds(asked.elapsed()));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let killed = (!has_ended.load(Relaxed)).then(Instant::now);
        if killed.is_some() {
            killer.execute(format!("KILL QUERY {id}"))?;
        }
        while !has_ended.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let (end, at) = ended.lock().expect("nobody panics with it").take().expect("it has ended");
        Ok(Look {
            reads: times.len(),
            all_ms: times.iter().copied().fold(0.0, f64::max),
            most_ms: quantile(&mut times, 0.99),
            login_ms: logins.iter().copied().fold(0.0, f64::max),
            kill_ms: killed.map(|killed| milliseconds(at.saturating_duration_since(killed))),
            seconds: at.saturating_duration_since(began).as_secs_f64(),
            ended: match end {
                Ok(_) => "done".to_owned(),
                Err(Stop::Refused(INTERRUPTED | KILLED, _)) => "killed".to_owned(),
                Err(Stop::Refused(number, _)) => format!("error {number}"),
                Err(other) => format!("{other:?}"),
            },
            resident_mib: (memory > 0).then_some(memory),
        })
    })
}
