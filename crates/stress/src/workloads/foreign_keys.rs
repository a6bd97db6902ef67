//! Parents and children come and go, with every referential action. No reader sees a child without its parent, not even
//! for a moment, and in the end rows and indexes agree.

use crate::Report;
use crate::load::Load;
use crate::random::Random;
use crate::session::{DUPLICATE, Session, Stop};

pub struct ForeignKeys;

/// `d` hangs on a unique key that is not the rows' own, `e` on `d`.
const SCHEMA: [&str; 5] = [
    "CREATE TABLE p (id INT PRIMARY KEY, u INT UNIQUE, v INT)",
    "CREATE TABLE c (id INT PRIMARY KEY AUTO_INCREMENT, a INT, FOREIGN KEY (a) REFERENCES p (id))",
    "CREATE TABLE d (id INT PRIMARY KEY AUTO_INCREMENT, a INT, FOREIGN KEY (a) REFERENCES p (u) \
     ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE e (id INT PRIMARY KEY AUTO_INCREMENT, a INT, FOREIGN KEY (a) REFERENCES d (id) \
     ON DELETE CASCADE)",
    "CREATE TABLE n (id INT PRIMARY KEY AUTO_INCREMENT, a INT, FOREIGN KEY (a) REFERENCES p (id) \
     ON DELETE SET NULL ON UPDATE SET NULL)",
];

const ORPHANS: &str = "SELECT (SELECT COUNT(*) FROM c LEFT JOIN p ON p.id = c.a WHERE c.a IS NOT NULL AND p.id IS NULL), \
    (SELECT COUNT(*) FROM d LEFT JOIN p ON p.u = d.a WHERE d.a IS NOT NULL AND p.u IS NULL), \
    (SELECT COUNT(*) FROM e LEFT JOIN d ON d.id = e.a WHERE e.a IS NOT NULL AND d.id IS NULL), \
    (SELECT COUNT(*) FROM n LEFT JOIN p ON p.id = n.a WHERE n.a IS NOT NULL AND p.id IS NULL)";

/// A row with children, a row without its parent.
const ROW_IS_REFERENCED: u16 = 1451;
const NO_REFERENCED_ROW: u16 = 1452;

/// Few enough that sessions meet, and enough that not all wait for one.
const KEYS: u32 = 30;

fn statement(random: &mut Random) -> String {
    let (key, other) = (random.below(KEYS), random.below(KEYS));
    match random.below(16) {
        0 | 1 => format!("INSERT INTO p VALUES ({key}, {other}, 0)"),
        2 => format!("REPLACE INTO p VALUES ({key}, {other}, 1)"),
        3 | 4 => format!("DELETE FROM p WHERE id = {key}"),
        5 => format!("UPDATE p SET u = {other} + {KEYS} * (u < {KEYS}) WHERE id = {key}"),
        6 => format!("UPDATE IGNORE p SET id = {other} WHERE u = {key}"),
        7 | 8 => format!("INSERT INTO c (a) VALUES ({key})"),
        9 | 10 => format!("INSERT INTO d (a) VALUES ({key}), ({other})"),
        11 => format!("INSERT INTO e (a) SELECT id FROM d WHERE a = {key} LIMIT 3"),
        12 => format!("INSERT INTO n (a) VALUES ({key})"),
        13 => format!("DELETE FROM c WHERE a = {key}"),
        14 => format!("UPDATE c SET a = {other} WHERE a = {key} LIMIT 2"),
        _ => format!("DELETE FROM d WHERE a = {key} LIMIT 5"),
    }
}

fn look_for_orphans(client: &mut Session) -> Result<(), Stop> {
    let counts: (u64, u64, u64, u64) = client.row(ORPHANS)?;
    if counts == (0, 0, 0, 0) {
        Ok(())
    } else {
        Err(Stop::Fault(format!("orphans of c, d, e, n: {counts:?}")))
    }
}

impl Load for ForeignKeys {
    fn set_up(&self, client: &mut Session) -> Result<(), Stop> {
        client.execute_all(&SCHEMA)
    }

    fn prepare(&self, session: &mut Session) -> Result<(), Stop> {
        let level = if session.number.is_multiple_of(2) { "READ COMMITTED" } else { "REPEATABLE READ" };
        session.execute(format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"))?;
        session.execute("SET SESSION innodb_lock_wait_timeout = 2").map(drop)
    }

    fn step(&self, session: &mut Session) -> Result<(), Stop> {
        session.execute("BEGIN")?;
        for _ in 0..1 + session.random.below(4) {
            let sql = statement(&mut session.random);
            match session.execute(sql) {
                // The statement alone failed: the transaction goes on.
                Ok(_) | Err(Stop::Refused(DUPLICATE | ROW_IS_REFERENCED | NO_REFERENCED_ROW, _)) => {}
                Err(other) => return Err(other),
            }
        }
        if session.random.one_in(4) { session.roll_back() } else { session.commit().map(drop) }
    }

    fn check(&self, client: &mut Session) -> Result<(), Stop> {
        look_for_orphans(client)
    }

    fn finish(&self, client: &mut Session, report: &mut Report) -> Result<(), Stop> {
        look_for_orphans(client)?;
        let checked: Vec<(String, String, String, String)> = client.rows("CHECK TABLE p, c, d, e, n")?;
        for (table, _, kind, text) in checked {
            report.expect(text == "OK", || format!("CHECK TABLE {table}: {kind} {text}"));
        }
        let rows: (u64, u64, u64, u64, u64) = client.row(
            "SELECT (SELECT COUNT(*) FROM p), (SELECT COUNT(*) FROM c), (SELECT COUNT(*) FROM d), \
             (SELECT COUNT(*) FROM e), (SELECT COUNT(*) FROM n)",
        )?;
        report.row("rows of p, c, d, e, n", format!("{rows:?}"));
        Ok(())
    }
}
