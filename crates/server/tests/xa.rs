//! XA with the real program: kill -9 in every state of a branch, clean restarts, sessions that go away, and a race of
//! preparing sessions against kills, after which every acknowledged XA PREPARE is there and decides either way.

mod support;

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::time::Duration;

use support::{RawClient, ServerError, TestServer};

const XAER_NOTA: u16 = 1397;
const LOCK_NOWAIT: u16 = 3572;
const LOCK_WAIT_TIMEOUT: u16 = 1205;

fn run(client: &mut RawClient, text: &str) {
    client.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
}

fn refused(client: &mut RawClient, text: &str) -> u16 {
    match client.execute(text) {
        Ok(()) => 0,
        Err(error) => error.number,
    }
}

fn rows(client: &mut RawClient, text: &str) -> Vec<String> {
    let rows = client.query(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let text = |row: Vec<Option<String>>| {
        row.into_iter().map(|cell| cell.unwrap_or("NULL".to_owned())).collect::<Vec<_>>().join(" ")
    };
    rows.into_iter().map(text).collect()
}

/// The global parts of what is prepared.
fn prepared(client: &mut RawClient) -> Vec<String> {
    let listed = rows(client, "XA RECOVER");
    listed.iter().map(|row| row.rsplit(' ').next().expect("four columns").to_owned()).collect()
}

fn in_database(server: &TestServer) -> RawClient {
    let mut client = server.log_in();
    run(&mut client, "USE branches");
    client
}

fn with_table() -> TestServer {
    let server = TestServer::start(&[]);
    let mut client = server.log_in();
    run(&mut client, "CREATE DATABASE branches");
    run(&mut client, "USE branches");
    run(&mut client, "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, KEY (v))");
    run(&mut client, "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)");
    server
}

fn branch(client: &mut RawClient, xid: &str, id: u64) {
    run(client, &format!("XA START '{xid}'"));
    run(client, &format!("UPDATE t SET v = v + 100 WHERE id = {id}"));
}

#[test]
fn a_kill_in_each_state_leaves_what_is_prepared_and_nothing_else() {
    for clean in [false, true] {
        let mut server = with_table();
        let mut clients: Vec<RawClient> = (0..5).map(|_| in_database(&server)).collect();
        let [active, idle, waiting, committed, rolled_back] = &mut clients[..] else { unreachable!() };
        branch(active, "active", 1);
        branch(idle, "idle", 2);
        run(idle, "XA END 'idle'");
        for (client, xid, id) in
            [(waiting, "waiting", 3), (&mut *committed, "done", 4), (rolled_back, "undone", 5)]
        {
            branch(client, xid, id);
            run(client, &format!("XA END '{xid}'"));
            run(client, &format!("XA PREPARE '{xid}'"));
        }
        run(committed, "XA COMMIT 'done'");
        run(committed, "XA ROLLBACK 'undone'");
        for _ in 0..2 {
            let directory = if clean { server.terminate().2 } else { server.kill_nine() };
            drop(std::mem::take(&mut clients));
            server = TestServer::start_in(directory, &[]);
            let mut client = in_database(&server);
            assert_eq!(prepared(&mut client), ["waiting"]);
            assert_eq!(
                rows(&mut client, "SELECT * FROM t ORDER BY id"),
                ["1 1", "2 2", "3 3", "4 104", "5 5"]
            );
            assert_eq!(rows(&mut client, "SELECT id FROM t WHERE v > 50 ORDER BY id"), ["4"]);
            let locked = "SELECT * FROM t WHERE id = 3 FOR UPDATE NOWAIT";
            assert_eq!(client.query(locked).map_err(|error| error.number), Err(LOCK_NOWAIT));
            run(&mut client, "UPDATE t SET v = v WHERE id IN (1, 2, 4, 5)");
            // Its table cannot be changed either.
            run(&mut client, "SET lock_wait_timeout = 1");
            assert_eq!(refused(&mut client, "ALTER TABLE t ADD COLUMN w INT"), LOCK_WAIT_TIMEOUT);
            assert_eq!(refused(&mut client, "DROP DATABASE branches"), LOCK_WAIT_TIMEOUT);
            for gone in ["active", "idle", "done", "undone"] {
                assert_eq!(refused(&mut client, &format!("XA COMMIT '{gone}'")), XAER_NOTA);
            }
        }
        let mut client = in_database(&server);
        run(&mut client, "XA COMMIT 'waiting'");
        assert_eq!(rows(&mut client, "SELECT v FROM t WHERE id = 3"), ["103"]);
        assert_eq!(rows(&mut client, "SELECT id FROM t WHERE v > 50 ORDER BY id"), ["3", "4"]);
        let directory = server.kill_nine();
        server = TestServer::start_in(directory, &[]);
        let mut client = in_database(&server);
        assert_eq!(prepared(&mut client), [""; 0]);
        assert_eq!(rows(&mut client, "SELECT v FROM t WHERE id = 3"), ["103"]);
        run(&mut client, "DROP DATABASE branches");
    }
}

#[test]
fn what_a_session_has_prepared_outlives_it() {
    let server = with_table();
    for detaches in [1, 0] {
        let mut client = in_database(&server);
        run(&mut client, &format!("SET xa_detach_on_prepare = {detaches}"));
        branch(&mut client, "kept", 1);
        run(&mut client, "XA END 'kept'");
        run(&mut client, "XA PREPARE 'kept'");
        drop(client);
        let mut other = in_database(&server);
        assert_eq!(prepared(&mut other), ["kept"]);
        // The server notices that the session is gone a moment later.
        let mut attempts = 0;
        while refused(&mut other, "XA ROLLBACK 'kept'") == XAER_NOTA {
            attempts += 1;
            assert!(attempts < 100, "nobody may decide it");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(prepared(&mut other), [""; 0]);
        assert_eq!(rows(&mut other, "SELECT v FROM t WHERE id = 1"), ["1"]);
        run(&mut other, "UPDATE t SET v = 1 WHERE id = 1");
    }
}

const PREPARERS: u64 = 4;

/// What a preparing session knows of its last branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Asked,
    Prepared,
    Committing,
    RollingBack,
}

/// Prepares and decides branches that add to the session's own row, until the server is gone. Answers the value that is
/// acknowledged and the stage of the branch that was under way.
fn prepare_until_killed(port: u16, session: u64, mut value: u64) -> (u64, Option<Stage>) {
    let mut stage = None;
    let mut work = || -> Result<(), ServerError> {
        let stream = TcpStream::connect(("127.0.0.1", port))
            .map_err(|error| ServerError { number: 0, text: error.to_string() })?;
        let mut client = RawClient::new(stream);
        client.log_in("root")?;
        client.execute("USE branches")?;
        for number in 0.. {
            client.execute(&format!("XA START 'p{session}'"))?;
            client.execute(&format!("UPDATE t SET v = v + 10 WHERE id = {session}"))?;
            client.execute(&format!("INSERT INTO journal VALUES ({session}, {})", value + 10))?;
            client.execute(&format!("XA END 'p{session}'"))?;
            stage = Some(Stage::Asked);
            client.execute(&format!("XA PREPARE 'p{session}'"))?;
            stage = Some(Stage::Prepared);
            if number % 3 == 2 {
                stage = Some(Stage::RollingBack);
                client.execute(&format!("XA ROLLBACK 'p{session}'"))?;
            } else {
                stage = Some(Stage::Committing);
                client.execute(&format!("XA COMMIT 'p{session}'"))?;
                value += 10;
            }
            stage = None;
        }
        Ok(())
    };
    match work() {
        Err(error) if error.number == 0 => (value, stage),
        other => panic!("session {session}: {other:?}"),
    }
}

#[test]
fn no_acknowledged_prepare_is_lost() {
    let cycles: u64 =
        std::env::var("EVENKEEL_KILL9_CYCLES").map_or(6, |text| text.parse().expect("a number"));
    let mut server = with_table();
    run(
        &mut in_database(&server),
        "CREATE TABLE journal (id INT NOT NULL, v INT NOT NULL, PRIMARY KEY (id, v))",
    );
    let mut values: BTreeMap<u64, u64> = (1..=PREPARERS).map(|id| (id, id)).collect();
    let mut found_prepared = 0;
    for cycle in 0..cycles {
        let port = server.port;
        let (directory, known) = std::thread::scope(|scope| {
            let sessions: Vec<_> = values
                .iter()
                .map(|(id, value)| (*id, scope.spawn(move || prepare_until_killed(port, *id, *value))))
                .collect();
            std::thread::sleep(Duration::from_millis(60 + 97 * cycle % 300));
            let directory = server.kill_nine();
            let join = |(id, thread): (u64, std::thread::ScopedJoinHandle<'_, _>)| {
                (id, thread.join().expect("the session's thread"))
            };
            (directory, sessions.into_iter().map(join).collect::<Vec<_>>())
        });
        server = TestServer::start_in(directory, &[]);
        let mut client = in_database(&server);
        let listed = prepared(&mut client);
        found_prepared += listed.len();
        for (id, (value, stage)) in known {
            let is_listed = listed.contains(&format!("p{id}"));
            let row = |client: &mut RawClient| {
                let v = rows(client, &format!("SELECT v FROM t WHERE id = {id}"))[0].parse::<u64>();
                let last = format!("SELECT IFNULL(MAX(v), {id}) FROM journal WHERE id = {id}");
                (v.expect("a number"), rows(client, &last)[0].parse::<u64>().expect("a number"))
            };
            let expected = match (stage, is_listed) {
                (Some(Stage::Prepared), false) => panic!("session {id}: an acknowledged prepare is lost"),
                (None, true) => panic!("session {id}: a branch is prepared that was decided"),
                (Some(Stage::Committing), false) => value + 10,
                _ => value,
            };
            assert_eq!(row(&mut client), (expected, expected), "session {id}: {stage:?}");
            let mut now = expected;
            if is_listed {
                let commits = (cycle + id).is_multiple_of(2);
                run(&mut client, &format!("XA {} 'p{id}'", if commits { "COMMIT" } else { "ROLLBACK" }));
                now += if commits { 10 } else { 0 };
                assert_eq!(row(&mut client), (now, now), "session {id} after the decision");
            }
            values.insert(id, now);
        }
        assert_eq!(prepared(&mut client), [""; 0]);
    }
    println!("{cycles} kills, {found_prepared} branches found prepared, {values:?}");
    assert!(values.values().any(|value| *value > 10), "there was no load to speak of");
}
