//! `evenkeel replicate`: a copy that is made while the source is written to has every row once, and goes on as its replica, also
//! when making it was killed on the way.

mod support;

use std::time::{Duration, Instant};

use support::{RawClient, TestDirectory, TestServer};

const SOURCE: &[&str] = &["--log-bin", "--gtid-mode=ON", "--server-id=1"];
const PLAIN_SOURCE: &[&str] = &["--log-bin", "--server-id=1"];
const PATIENCE: Duration = Duration::from_secs(60);

fn one(client: &mut RawClient, sql: &str) -> String {
    let rows = client.query(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows[0][0].clone().unwrap_or_default()
}

fn fill(source: &TestServer) {
    let mut client = source.log_in();
    client.execute_all(&[
        "create database d",
        "create table d.t (id int primary key auto_increment, f float, d double, b bit(9), v varbinary(9), \
         s varchar(50) character set latin1, e enum('x','y'), j json, ts timestamp(3) null, \
         g int as (length(s)) stored)",
        "insert into d.t (f, d, b, v, s, e, j, ts) values \
         (0.1, 0.1, b'100000001', x'0027005c', 'é''\\\\x', 'y', '{\"a\": [1, 2.5]}', '2021-03-28 01:30:00.123'), \
         (16777216, 1e300, b'0', '', '', null, null, null)",
        "create table d.parent (id int primary key)",
        "create table d.child (id int primary key, p int, foreign key (p) references d.parent (id))",
        "insert into d.parent values (1), (2)",
        "insert into d.child values (1, 2)",
        "create table d.busy (id int primary key auto_increment, n int, s varchar(200))",
        "insert into d.busy (n, s) values (1, repeat('a', 200)), (2, repeat('b', 200)), (3, repeat('c', 200))",
        "create view d.v2 as select id from d.parent",
        "create view d.v1 as select id from d.v2",
        "create function d.f(a int) returns int deterministic return a + 1",
        "create trigger d.tr before insert on d.parent for each row set new.id = new.id",
        "create event d.ev on schedule every 1 day do delete from d.busy",
        "create user app identified by 'secret'",
        "grant select, insert on d.* to app",
        "create user copier identified by 'cc'",
        "grant all on *.* to copier with grant option",
    ]);
    for _ in 0..10 {
        client.execute("insert into d.busy (n, s) select n + 1, s from d.busy").expect("rows");
    }
}

fn from(source: &TestServer) -> String {
    format!("mysql://copier:cc@127.0.0.1:{}", source.port)
}

const TABLES: [&str; 5] = ["d.t", "d.parent", "d.child", "d.busy", "d.v1"];

fn contents(server: &TestServer) -> Vec<Vec<Vec<Option<String>>>> {
    let mut client = server.log_in();
    let read = |table: &&str| {
        let mut rows = client.query(&format!("select * from {table}")).expect("rows");
        rows.sort();
        rows
    };
    TABLES.iter().map(read).collect()
}

/// Until the copy has what the source had when this was called.
fn wait_until_equal(source: &TestServer, copy: &TestServer) {
    let wanted = source.log_in().query("show binary log status").expect("a row").remove(0);
    let mut client = copy.log_in();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = client.query("show replica status").expect("a row").remove(0);
        if now[9] == wanted[0] && now[21] == wanted[1] {
            break;
        }
        assert_eq!(now[36].as_deref(), Some("0"), "the applier has stopped: {:?}", now[37]);
        assert!(Instant::now() < deadline, "it does not follow to {wanted:?}: {now:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(contents(source), contents(copy));
}

/// Writes to the source until `during` is over.
fn under_writes<T>(source: &TestServer, during: impl FnOnce() -> T) -> T {
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let mut client = source.log_in();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                number += 1;
                client.execute_all(&[
                    "begin",
                    &format!("update d.busy set n = n + 1 where id = {}", number % 1000 + 1),
                    &format!("insert into d.busy (n, s) values ({number}, 'new')"),
                    &format!("delete from d.busy where id = {}", number * 3),
                    "commit",
                ]);
            }
        });
        let done = during();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        done
    })
}

fn check_copy_of(options: &[&str]) {
    let source = TestServer::start(options);
    fill(&source);
    let copy = under_writes(&source, || {
        // Killed on the way: the next one begins anew.
        let half = TestServer::begin_replicate(TestDirectory::new(), &from(&source), &[]);
        let deadline = Instant::now() + PATIENCE;
        while !half.log().contains("copy:") {
            assert!(Instant::now() < deadline, "it does not begin: {}", half.log());
            std::thread::sleep(Duration::from_millis(5));
        }
        TestServer::replicate(half.kill_nine(), &from(&source), &[])
    });
    wait_until_equal(&source, &copy);
    let mut client = copy.log_in();
    assert_eq!(one(&mut client, "select d.f(1)"), "2");
    assert_eq!(one(&mut client, "select status from information_schema.events"), "REPLICA_SIDE_DISABLED");
    assert_eq!(one(&mut client, "select count(*) from information_schema.triggers"), "1");
    let grants = client.query("show grants for app").expect("an account");
    assert_eq!(grants, source.log_in().query("show grants for app").expect("an account"));
    let refused = client.execute("delete from d.parent").expect_err("it only reads");
    assert_eq!(refused.number, 1290);
    drop(client);
    // Any later start goes on from there.
    let (_, _, directory) = copy.terminate();
    under_writes(&source, || std::thread::sleep(Duration::from_millis(200)));
    let copy = TestServer::start_in(directory, &[]);
    wait_until_equal(&source, &copy);
    let (_, _, directory) = copy.terminate();
    let copy = TestServer::replicate(directory, &from(&source), &[]);
    wait_until_equal(&source, &copy);
}

#[test]
fn a_copy_made_under_writes_is_whole_and_follows() {
    check_copy_of(SOURCE);
}

#[test]
fn a_source_without_identifiers_is_followed_by_its_files() {
    check_copy_of(PLAIN_SOURCE);
}

#[test]
fn what_cannot_be_copied_is_refused_before_anything_is_done() {
    let refused = |directory: TestDirectory, from: &str, options: &[&str], why: &str| {
        let mut server = TestServer::begin_replicate(directory, from, options);
        let status = server.wait_for_end(PATIENCE).expect("it ends");
        assert!(!status.success(), "{why}");
        let (output, directory) = server.take_output();
        assert!(output.contains(why), "{output}");
        directory
    };
    let silent = TestServer::start(&["--server-id=1"]);
    let address = format!("mysql://root@127.0.0.1:{}", silent.port);
    refused(TestDirectory::new(), &address, &[], "writes no binary log");
    let source = TestServer::start(SOURCE);
    let address = format!("mysql://root@127.0.0.1:{}", source.port);
    refused(TestDirectory::new(), &address, &["--server-id=1"], "has the server id 1 as well");
    let nobody = "the source cannot be reached: Can't connect to MySQL server on '127.0.0.1:1'";
    let directory = refused(TestDirectory::new(), "mysql://root@127.0.0.1:1", &[], nobody);
    // Nothing was begun.
    let (_, _, directory) = TestServer::start_in(directory, &[]).terminate();
    refused(directory, &address, &[], "has data of its own");
}
