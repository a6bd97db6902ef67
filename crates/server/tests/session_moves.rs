//! Sessions move between workers (decision 0028): with all that they hold, and when that evens out what workers do.

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use support::{RawClient, TestServer};

const ALWAYS: &[&str] = &["--session-moves=always", "--worker-threads=3"];

fn value(client: &mut RawClient, query: &str) -> String {
    let rows = client.query(query).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    rows[0].last().expect("a column").clone().expect("not null")
}

fn moves(client: &mut RawClient) -> u64 {
    value(client, "SHOW GLOBAL STATUS LIKE 'Evenkeel_session_moves'").parse().expect("a number")
}

#[test]
fn a_session_keeps_all_it_has_when_it_moves_before_each_command() {
    let server = TestServer::start(ALWAYS);
    let (mut one, mut other) = (server.log_in(), server.log_in());
    one.execute_all(&[
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT)",
        "SET @seen = 7",
        "PREPARE added FROM 'INSERT INTO t (a) VALUES (?)'",
        "BEGIN",
        "EXECUTE added USING @seen",
        "SAVEPOINT s",
        "EXECUTE added USING @seen",
        "ROLLBACK TO s",
    ]);
    other.execute_all(&["USE d", "SET innodb_lock_wait_timeout = 1"]);
    assert_eq!(value(&mut one, "SELECT COUNT(*) FROM t"), "1");
    assert_eq!(value(&mut other, "SELECT COUNT(*) FROM t"), "0");
    let blocked = other.execute("INSERT INTO t VALUES (1, 1)").map_err(|error| error.number);
    assert_eq!(blocked, Err(1205), "the row is locked by a transaction that has moved since");
    one.execute("COMMIT").expect("committed");
    assert_eq!(value(&mut other, "SELECT SUM(a) FROM t"), "7");
    assert_eq!(value(&mut one, "SELECT LAST_INSERT_ID()"), "2");
    // All but those that arrive before the worker has learnt that the answer before has left.
    let moves = moves(&mut other);
    assert!(moves >= 10, "{moves} moves of nineteen commands");
}

#[test]
fn a_session_that_has_moved_can_be_killed_and_becomes_too_old() {
    let server = TestServer::start(&[ALWAYS, &["--wait-timeout=2"]].concat());
    let (mut killed, mut old, mut killer) = (server.log_in(), server.log_in(), server.log_in());
    let id = value(&mut killed, "SELECT CONNECTION_ID()");
    for _ in 0..4 {
        killed.ping().expect("alive");
        old.ping().expect("alive");
    }
    killer.execute(&format!("KILL {id}")).expect("killed");
    assert!(killed.is_closed());
    let since = Instant::now();
    assert_eq!(old.expect_error().number, 4031, "disconnected by the server for its idleness");
    assert!(since.elapsed() < Duration::from_secs(10));
}

/// Connections are dealt out by turns, so of two workers one gets those that work.
#[test]
fn sessions_go_where_there_is_time() {
    let server = TestServer::start(&["--worker-threads=2"]);
    let mut clients: Vec<RawClient> = (0..8).map(|_| server.log_in()).collect();
    let mut observer = clients.pop().expect("the last of them");
    assert_eq!(moves(&mut observer), 0);
    let has_moved = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Those of the other worker are quiet, but stay.
        for client in clients.iter_mut().step_by(2).take(3) {
            scope.spawn(|| {
                while !has_moved.load(Ordering::Relaxed) {
                    client.query("SELECT BENCHMARK(20000, MD5('some work'))").expect("worked");
                }
            });
        }
        let deadline = Instant::now() + Duration::from_secs(30);
        while moves(&mut observer) == 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(100));
        }
        has_moved.store(true, Ordering::Relaxed);
    });
    assert!(moves(&mut observer) > 0, "three sessions kept one worker busy beside an idle one");
}

#[test]
fn sessions_stay_when_they_are_told_to() {
    let server = TestServer::start(&["--worker-threads=2", "--session-moves=off"]);
    let mut clients: Vec<RawClient> = (0..4).map(|_| server.log_in()).collect();
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(2) {
        for client in clients.iter_mut().step_by(2) {
            client.query("SELECT BENCHMARK(20000, MD5('some work'))").expect("worked");
        }
    }
    assert_eq!(moves(&mut clients[0]), 0);
}
