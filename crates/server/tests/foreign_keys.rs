//! Foreign keys against many sessions at once and across a restart.
//!
//! EVENKEEL_STRESS_STATEMENTS and EVENKEEL_STRESS_SESSIONS make the races longer and wider.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use support::{RawClient, TestServer};

/// `d` hangs on a unique key that is not the rows' own, `e` on `d`.
const SCHEMA: &[&str] = &[
    "CREATE DATABASE fk",
    "USE fk",
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

/// What statements may meet: a key is there or not, a deadlock, a row without its parent or with children.
const EXPECTED: &[u16] = &[1062, 1205, 1213, 1451, 1452];

/// Few enough that sessions meet, and enough that not all wait for one.
const KEYS: u64 = 30;

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Numbers that follow from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn statement(&mut self) -> String {
        let (key, other) = (self.below(KEYS), self.below(KEYS));
        match self.below(16) {
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
}

fn execute(client: &mut RawClient, text: &str) -> bool {
    match client.execute(text) {
        Ok(_) => true,
        Err(error) => {
            assert!(EXPECTED.contains(&error.number), "{text}: {error:?}");
            false
        }
    }
}

fn assert_no_orphan(client: &mut RawClient) {
    let rows = client.query(ORPHANS).expect("the counts");
    assert!(rows[0].iter().all(|count| count.as_deref() == Some("0")), "orphans of c, d, e, n: {rows:?}");
}

fn race(server: &TestServer, seed: u64, statements: usize, done: &AtomicUsize) {
    let mut client = server.log_in();
    let mut numbers = Numbers(seed);
    let level = if seed.is_multiple_of(2) { "READ COMMITTED" } else { "REPEATABLE READ" };
    execute(&mut client, "USE fk");
    execute(&mut client, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
    execute(&mut client, "SET innodb_lock_wait_timeout = 2");
    let mut left = statements;
    while left > 0 {
        let size = 1 + numbers.below(4) as usize;
        execute(&mut client, "BEGIN");
        for _ in 0..size.min(left) {
            done.fetch_add(usize::from(execute(&mut client, &numbers.statement())), Relaxed);
        }
        left = left.saturating_sub(size);
        execute(&mut client, if numbers.below(4) == 0 { "ROLLBACK" } else { "COMMIT" });
        // What is committed has no orphan at any moment.
        if numbers.below(32) == 0 {
            assert_no_orphan(&mut client);
        }
    }
}

#[test]
fn races_of_parents_and_children_leave_no_orphan() {
    let server = TestServer::start(&[]);
    let mut client = server.log_in();
    for text in SCHEMA {
        client.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    }
    let sessions = setting("EVENKEEL_STRESS_SESSIONS", 16);
    let statements = setting("EVENKEEL_STRESS_STATEMENTS", 100);
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for seed in 0..sessions {
            let (server, done) = (&server, &done);
            scope.spawn(move || race(server, seed as u64 + 1, statements, done));
        }
    });
    assert_no_orphan(&mut client);
    let rows = client.query("CHECK TABLE p, c, d, e, n").expect("checked");
    assert!(rows.iter().all(|row| row[3].as_deref() == Some("OK")), "{rows:?}");
    let done = done.into_inner();
    eprintln!("{done} of {} statements of {sessions} sessions succeeded", sessions * statements);
    assert!(done > sessions * statements / 10, "only {done} statements succeeded");
}

#[test]
fn foreign_keys_outlive_a_crash() {
    let server = TestServer::start(&[]);
    let mut client = server.log_in();
    for text in SCHEMA {
        client.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    }
    client.execute("INSERT INTO p VALUES (1, 10, 0)").expect("inserted");
    client.execute("INSERT INTO d (a) VALUES (10)").expect("inserted");
    let server = TestServer::start_in(server.kill_nine(), &[]);
    let mut client = server.log_in();
    client.execute("USE fk").expect("the database is there");
    assert_eq!(client.execute("INSERT INTO c (a) VALUES (2)").map_err(|error| error.number), Err(1452));
    assert_eq!(client.execute("DROP TABLE p").map_err(|error| error.number), Err(3730));
    client.execute("DELETE FROM p").expect("nobody restricts it");
    assert!(client.query("SELECT * FROM d").expect("read").is_empty(), "the children went with it");
}
