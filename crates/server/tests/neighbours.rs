//! Who shares a thread with a long statement goes on, and what statements hold in memory is bounded.
//!
//! Times are loose, because a build without optimisation on a busy machine runs them; `stress neighbours` measures.

mod support;

use std::time::{Duration, Instant};

use support::{RawClient, TestServer};

const ONE_THREAD: &str = "--worker-threads=1";
/// Much less than any of the long statements takes.
const SOON: Duration = Duration::from_secs(5);

fn text(client: &mut RawClient, query: &str) -> String {
    let rows = client.query(query).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    rows[0].last().expect("a column").clone().unwrap_or_else(|| "NULL".to_owned())
}

fn status(client: &mut RawClient, name: &str) -> u64 {
    text(client, &format!("SHOW GLOBAL STATUS LIKE '{name}'")).parse().expect("a number")
}

/// Runs a statement that takes long, while another session of the thread reads; then kills it.
fn beside(server: &TestServer, long: &str) {
    let (mut busy, mut other) = (server.log_in(), server.log_in());
    let id = text(&mut busy, "SELECT CONNECTION_ID()");
    let statement = long.to_owned();
    let runner = std::thread::spawn(move || (busy.query(&statement).map_err(|error| error.number), busy));
    std::thread::sleep(Duration::from_millis(300));
    for number in 0..20 {
        let asked = Instant::now();
        assert_eq!(text(&mut other, &format!("SELECT {number}")), number.to_string());
        assert!(asked.elapsed() < SOON, "{long}: a read took {:?}", asked.elapsed());
    }
    assert!(!runner.is_finished(), "{long}: it was not long");
    let killed = Instant::now();
    other.execute(&format!("KILL QUERY {id}")).expect("it is there");
    let (result, mut busy) = runner.join().expect("no panic");
    assert!(killed.elapsed() < SOON, "{long}: KILL took {:?}", killed.elapsed());
    assert_eq!(result, Err(1317), "{long}");
    busy.ping().expect("only the query was killed");
}

#[test]
fn long_calls_let_others_go_on_and_end_at_kill() {
    let server = TestServer::start(&[ONE_THREAD]);
    let document = "CAST(CONCAT('[', REPEAT('1,\"ab\",', 200000), '0]') AS JSON)";
    for long in [
        "SELECT REPEAT('a', 60000000) LIKE CONCAT(REPEAT('%a_', 60), 'c')",
        "SELECT LOCATE(REPEAT('b', 30000), CONCAT(REPEAT('a', 60000000), 'é'))",
        "SELECT REGEXP_LIKE(REPEAT('a', 10000000), '(a|aa|aaa)*b')",
        &format!(
            "SELECT BENCHMARK(100000, JSON_OVERLAPS(d, JSON_REPLACE(d, '$[0]', 2))) FROM (SELECT {document} d LIMIT 1) v"
        ),
        "SELECT BENCHMARK(1000000000, SHA2('a', 512))",
    ] {
        beside(&server, long);
    }
}

#[test]
fn calls_wait_in_clauses_whose_operators_do_not() {
    let server = TestServer::start(&[ONE_THREAD]);
    let (mut client, mut other) = (server.log_in(), server.log_in());
    client.execute_all(&["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, n INT)"]);
    client.execute("INSERT INTO t VALUES (1, SLEEP(0.01)), (2, GET_LOCK('l', 1)), (3, 7)").expect("VALUES");
    assert_eq!(text(&mut client, "SELECT GROUP_CONCAT(n ORDER BY id) FROM t"), "0,1,7");
    assert_eq!(text(&mut client, "SELECT SUM(SLEEP(0.01)) FROM t"), "0");
    assert_eq!(text(&mut client, "SELECT MAX(id) FROM t GROUP BY SLEEP(0.01) + 1"), "3");
    let rows = client.query("SELECT id FROM t ORDER BY SLEEP(0.01), id DESC").expect("ORDER BY");
    assert_eq!(rows[0][0].as_deref(), Some("3"));
    assert_eq!(text(&mut other, "SELECT COUNT(*) FROM d.t ORDER BY GET_LOCK('l', 0)"), "3");
    beside(&server, "SELECT id FROM d.t ORDER BY SLEEP(20), GET_LOCK('l', 100)");
    beside(&server, "SELECT MAX(GET_LOCK('l', 100)) FROM d.t");
    let since = Instant::now();
    other.execute("SET max_execution_time = 300").expect("set");
    let late = other.query("SELECT MAX(GET_LOCK('l', 100)) FROM d.t").map_err(|error| error.number);
    assert_eq!(late, Err(3024));
    assert!(since.elapsed() < SOON);
}

#[test]
fn versions_and_locks_are_not_the_statements() {
    let server =
        TestServer::start(&[ONE_THREAD, "--session-memory-size=4M", "--innodb-buffer-pool-size=32M"]);
    let mut client = server.log_in();
    client.execute_all(&[
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT, KEY (n))",
        "INSERT INTO t (n) VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)",
    ]);
    for _ in 0..11 {
        client.execute("INSERT INTO t (n) SELECT n + 1 FROM t").expect("rows are added");
    }
    assert_eq!(text(&mut client, "SELECT COUNT(*) FROM (SELECT id FROM t FOR UPDATE) x"), "20480");
    client.execute_all(&["UPDATE t SET n = n + 1", "DELETE FROM t"]);
}

#[test]
fn statements_together_are_bounded() {
    let server =
        TestServer::start(&[ONE_THREAD, "--session-memory-size=100M", "--innodb-buffer-pool-size=32M"]);
    let mut client = server.log_in();
    let columns = ["REPEAT('x', 30000000)"; 8].join(", ");
    let refused = client.query(&format!("SELECT {columns}")).map_err(|error| error.number);
    assert_eq!(refused, Err(1037));
    for number in 0..3 {
        client.execute(&format!("SET @a{number} = REPEAT('x', 30000000)")).expect("room");
    }
    let refused = client.execute("SET @b = REPEAT('x', 30000000)").map_err(|error| error.number);
    assert_eq!(refused, Err(1037));
    assert!(status(&mut client, "Evenkeel_session_memory") > 90_000_000);
    assert!(status(&mut client, "Evenkeel_session_memory_most") <= 100 << 20);
    drop(client);
    let mut client = server.log_in();
    let deadline = Instant::now() + SOON;
    while status(&mut client, "Evenkeel_session_memory") > 1 << 20 {
        assert!(Instant::now() < deadline, "a session that is gone holds nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_session_beyond_connection_memory_limit_is_closed() {
    let server = TestServer::start(&[ONE_THREAD]);
    let mut root = server.log_in();
    root.execute_all(&["CREATE USER u", "SET GLOBAL connection_memory_limit = 2097152"]);
    let mut user = server.connect();
    user.log_in("u").expect("an account");
    let error = user.execute("SET @a = REPEAT('x', 10000000)").expect_err("too much");
    assert_eq!(error.number, 4082);
    assert!(error.text.contains("Connection memory limit 2097152 bytes exceeded. Consumed "), "{error:?}");
    assert!(user.is_closed());
    // What a statement could write to disk instead is no exception.
    let many = "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 40000) \
                SELECT COUNT(*) FROM (SELECT n, REPEAT('x', 200) AS x FROM r ORDER BY n DESC LIMIT 39999) AS t";
    let settings = ["SET cte_max_recursion_depth = 100000", "SET sort_buffer_size = 67108864"];
    let mut user = server.connect();
    user.log_in("u").expect("an account");
    user.execute_all(&settings);
    assert_eq!(user.query(many).expect_err("too much").number, 4082);
    assert!(user.is_closed());
    root.execute_all(&settings);
    let counted = root.query(many).expect("CONNECTION_ADMIN is exempt");
    assert_eq!(counted, [[Some("39999".to_owned())]]);
    root.execute("SET @a = REPEAT('x', 10000000)").expect("CONNECTION_ADMIN is exempt");
    root.execute_all(&[
        "SET GLOBAL connection_memory_limit = DEFAULT",
        "SET GLOBAL global_connection_memory_limit = 16777216",
        "SET GLOBAL global_connection_memory_tracking = ON",
    ]);
    let mut user = server.connect();
    user.log_in("u").expect("an account");
    user.execute("SET @a = REPEAT('x', 10000000)").expect("room");
    assert!(status(&mut root, "Global_connection_memory") >= 10_000_000);
    assert_eq!(user.execute("SET @b = REPEAT('x', 10000000)").expect_err("too much").number, 4081);
    assert!(user.is_closed());
}
