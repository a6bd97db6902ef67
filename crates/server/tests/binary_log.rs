//! The binary log of a real server: after kills at random moments under load its events make the tables again, row by row.

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use binlog::{Event, Events, GtidEvent, RowImage, TableMap};
use datum::Value;
use support::{Random, RawClient, TestDirectory, TestServer};

const OPTIONS: &[&str] = &["--log-bin", "--gtid-mode=ON", "--max-binlog-size=200000"];
const WRITERS: u64 = 4;

/// A table's rows by their key, as text.
type Rows = BTreeMap<i64, (String, String)>;

fn key_of(image: &RowImage) -> i64 {
    match image[0] {
        Some(Value::Int(key)) => key,
        ref other => panic!("no key: {other:?}"),
    }
}

fn row_of(image: &RowImage) -> (String, String) {
    let number = match &image[1] {
        Some(Value::Int(number)) => number.to_string(),
        other => panic!("no number: {other:?}"),
    };
    let text = match &image[2] {
        Some(Value::Bytes(text)) => String::from_utf8(text.clone()).expect("UTF-8"),
        other => panic!("no text: {other:?}"),
    };
    (number, text)
}

/// The rows that the files make, and how many transactions are in them.
fn replay(directory: &Path) -> (Rows, u64) {
    let index = std::fs::read_to_string(directory.join("binlog.index")).expect("an index");
    let (mut rows, mut transactions, mut map) = (Rows::new(), 0, None::<TableMap>);
    for name in index.lines() {
        let (mut order, mut head) = (BTreeMap::new(), None::<GtidEvent>);
        let bytes = std::fs::read(directory.join(name)).expect("a file");
        for raw in Events::of_file(&bytes).expect("a file of events") {
            match Event::decode(&raw.expect("a sound event")).expect("an event") {
                Event::Gtid(event) => {
                    transactions += 1;
                    head = Some(event);
                    assert_eq!(event.gtid.expect("an identifier").number, transactions, "no gap, none twice");
                }
                Event::TableMap(table) => map = Some(table),
                Event::Rows(event) => {
                    for change in event.changes(map.as_ref().expect("a table")) {
                        let change = change.expect("a row");
                        let head = head.as_ref().expect("a transaction");
                        for image in change.before.iter().chain(&change.after) {
                            let last = order.insert(key_of(image), head.sequence_number).unwrap_or(0);
                            let is_known = last <= head.last_committed || last == head.sequence_number;
                            assert!(is_known, "{head:?} does not wait for {last}");
                        }
                        if let Some(before) = &change.before {
                            let removed = rows.remove(&key_of(before));
                            assert_eq!(removed, Some(row_of(before)), "what is changed was there");
                        }
                        if let Some(after) = &change.after {
                            assert_eq!(
                                rows.insert(key_of(after), row_of(after)),
                                None,
                                "what is new was not"
                            );
                        }
                    }
                }
                _ => {}
            }
        }
    }
    (rows, transactions)
}

fn table(client: &mut RawClient) -> Rows {
    let rows = client.query("select id, n, s from d.t order by id").expect("rows");
    let text = |cell: &Option<String>| cell.clone().expect("not NULL");
    rows.iter()
        .map(|row| (text(&row[0]).parse().expect("a number"), (text(&row[1]), text(&row[2]))))
        .collect()
}

/// Until the server is gone.
fn write(mut client: RawClient, writer: u64, seed: u64) {
    let mut numbers = Random::new(seed);
    let mut random = |end| numbers.below(end);
    loop {
        let id = writer * 1000 + random(40);
        let number = random(1000);
        let done = match random(6) {
            0 => client.execute(&format!("delete from d.t where id = {id}")),
            1 => client
                .execute("begin")
                .and_then(|()| client.execute(&format!("replace into d.t values ({id}, {number}, 'two')")))
                .and_then(|()| client.execute("savepoint s"))
                .and_then(|()| client.execute(&format!("update d.t set n = n + 1 where id = {id}")))
                .and_then(|()| {
                    client.execute(if number % 2 == 0 { "rollback to s" } else { "release savepoint s" })
                })
                .and_then(|()| client.execute("commit")),
            2 => client.execute(&format!("update d.t set s = concat('u', n), n = {number} where id = {id}")),
            _ => client.execute(&format!(
                "insert into d.t values ({id}, {number}, 'x') on duplicate key update n = n + {number}"
            )),
        };
        if done.is_err() {
            return;
        }
    }
}

#[test]
fn the_files_make_the_tables_again_after_kills() {
    let mut server = TestServer::start(OPTIONS);
    let mut client = server.log_in();
    client.execute("create database d").expect("a database");
    client
        .execute("create table d.t (id int primary key, n int not null, s varchar(50) not null)")
        .expect("a table");
    drop(client);
    for cycle in 0..6u64 {
        let clients: Vec<RawClient> = (0..WRITERS).map(|_| server.log_in()).collect();
        let directory: TestDirectory = std::thread::scope(|scope| {
            for (writer, client) in (0..).zip(clients) {
                scope.spawn(move || {
                    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        write(client, writer, cycle * 7919 + writer * 104_729 + 1);
                    }));
                });
            }
            std::thread::sleep(Duration::from_millis(150 + cycle * 170));
            server.kill_nine()
        });
        server = TestServer::start_in(directory, OPTIONS);
        let mut client = server.log_in();
        let status = client.query("show binary log status").expect("a row");
        let (rows, transactions) = replay(&server.directory.path().join("data"));
        assert_eq!(rows, table(&mut client), "cycle {cycle}");
        let set = status[0][4].clone().expect("a set");
        assert!(set.ends_with(&format!(":1-{transactions}")), "{set} with {transactions} transactions");
        println!("cycle {cycle}: {transactions} transactions, {} rows", rows.len());
    }
}

/// The numbers of the files that SHOW BINARY LOGS has.
fn files(client: &mut RawClient) -> Vec<String> {
    let rows = client.query("show binary logs").expect("rows");
    rows.into_iter().filter_map(|row| row[0].clone()).collect()
}

#[test]
fn files_are_purged_and_reset_by_statement() {
    let server = TestServer::start(OPTIONS);
    let mut client = server.log_in();
    client.execute("create database d").expect("a database");
    client.execute("create table d.t (id int primary key)").expect("a table");
    client.execute("flush binary logs").expect("a new file");
    client.execute("insert into d.t values (1)").expect("a row");
    client.execute("flush binary logs").expect("a new file");
    let shown = |client: &mut RawClient, limit: &str| {
        let rows = client.query(&format!("show binlog events {limit}")).expect("rows");
        rows.into_iter().filter_map(|row| row[2].clone()).collect::<Vec<_>>()
    };
    let all = shown(&mut client, "in 'binlog.000002'");
    assert_eq!(all[..4], ["Format_desc", "Previous_gtids", "Gtid", "Query"]);
    assert_eq!(shown(&mut client, "in 'binlog.000002' limit 2, 2"), all[2..4]);
    assert_eq!(shown(&mut client, "in 'binlog.000002' from 5 limit 1"), all[1..2]);
    assert_eq!(shown(&mut client, "in 'binlog.000002' limit 0"), all, "0 is no limit");
    assert!(shown(&mut client, "from 9999999").is_empty());

    client.execute("purge binary logs before '2000-01-01'").expect("nothing is as old");
    assert_eq!(files(&mut client).len(), 3);
    client.execute("purge binary logs to './binlog.000002'").expect("a purge");
    assert_eq!(files(&mut client), ["binlog.000002", "binlog.000003"]);
    let refused = client.execute("purge binary logs to 'binlog.000001'").expect_err("it is gone");
    assert!(format!("{refused:?}").contains("Target log not found in binlog index"), "{refused:?}");
    client.execute("purge binary logs before now() + interval 1 day").expect("all but the last");
    let warnings = client.query("show warnings").expect("rows");
    assert_eq!(warnings[0][1].as_deref(), Some("1868"));
    assert_eq!(files(&mut client), ["binlog.000003"]);
    client.execute("prepare p from \"purge binary logs to 'x'\"").expect_err("not as prepared statement");

    for (statement, first) in [
        ("reset binary logs and gtids to 7", "binlog.000007"),
        ("reset binary logs and gtids to 7", "binlog.000007"),
        ("reset binary logs and gtids", "binlog.000001"),
        ("reset binary logs and gtids to 3", "binlog.000003"),
    ] {
        client.execute("insert into d.t select max(id) + 1 from d.t").expect("a row");
        client.execute(statement).expect("a reset");
        assert_eq!(files(&mut client), [first]);
        let set = client.query("select @@global.gtid_executed").expect("a row");
        assert_eq!(set[0][0].as_deref(), Some(""));
    }
    client.execute("reset binary logs and gtids to 0").expect_err("out of range");
    client.execute("lock tables d.t read").expect("a lock");
    client.execute("reset binary logs and gtids").expect_err("not under a lock");
    client.execute("unlock tables").expect("no lock");
    client.execute("insert into d.t values (100)").expect("a row");
    drop(client);

    let server = TestServer::start_in(server.kill_nine(), OPTIONS);
    let mut client = server.log_in();
    assert_eq!(files(&mut client), ["binlog.000003", "binlog.000004"]);
    let set = client.query("select @@global.gtid_executed").expect("a row");
    assert!(set[0][0].as_deref().is_some_and(|set| set.ends_with(":1")), "{set:?}");
}

#[test]
fn functions_that_are_logged_say_that_they_are_safe() {
    let server = TestServer::start(OPTIONS);
    let mut client = server.log_in();
    client.execute_all(&["create database d", "create user v@'%'", "grant all on d.* to v@'%'"]);
    let mut other = server.connect();
    other.log_in("v").expect("an account without a password");
    other.execute("create table d.t (a int)").expect("a table");
    let error =
        |client: &mut RawClient, statement: &str| client.execute(statement).err().map(|error| error.number);
    for (statement, expected) in [
        ("create function d.f() returns int return 1", Some(1418)),
        ("create function d.f() returns int modifies sql data return 1", Some(1418)),
        ("create function d.f() returns int reads sql data return 1", None),
        ("create function d.g() returns int deterministic modifies sql data return 1", None),
        ("alter function d.f comment 'still reads'", None),
        ("alter function d.f contains sql", Some(1418)),
        ("alter function d.g contains sql", None),
        ("create procedure d.p() select 1", None),
    ] {
        assert_eq!(error(&mut client, statement), expected, "{statement}");
    }
    let function = "create function d.h() returns int deterministic return 1";
    let trigger = "create trigger d.tr before insert on d.t for each row set new.a = 1";
    assert_eq!(error(&mut other, function), Some(1419));
    assert_eq!(error(&mut other, trigger), Some(1419));
    client.execute("set global log_bin_trust_function_creators = on").expect("a setting");
    assert_eq!(error(&mut other, function), None);
    assert_eq!(error(&mut other, trigger), None);
    assert_eq!(error(&mut other, "create function d.i() returns int return 1"), None);
}

/// Each transaction of the last file: the number of the last one that has to be applied before.
fn orders(directory: &Path) -> Vec<(u64, u64)> {
    let index = std::fs::read_to_string(directory.join("binlog.index")).expect("an index");
    let name = index.lines().last().expect("a file");
    let bytes = std::fs::read(directory.join(name)).expect("the file");
    let events = Events::of_file(&bytes).expect("a file of events");
    let events = events.map(|raw| Event::decode(&raw.expect("a sound event")).expect("an event"));
    events
        .filter_map(|event| match event {
            Event::Gtid(head) => Some((head.sequence_number, head.last_committed)),
            _ => None,
        })
        .collect()
}

#[test]
fn transactions_wait_for_those_that_changed_the_same_keys() {
    let server = TestServer::start(OPTIONS);
    let mut client = server.log_in();
    client.execute_all(&[
        "create database d",
        "create table d.t (i int primary key, u varchar(9), n int, unique (u))",
        "create table d.child (i int primary key, t int, foreign key (t) references d.t (i))",
        "create table d.nokey (i int)",
        "flush binary logs",
        "insert into d.t values (1, 'a', 0), (2, null, 0)",
        "insert into d.t values (3, null, 0)",
        "update d.t set n = 1 where i = 3",
        "update d.t set u = 'b' where i = 1",
        // The key that the one before gave back, as the collation has it.
        "update d.t set u = 'A' where i = 3",
        "update d.t set i = 9 where i = 2",
        "insert into d.t values (2, 'c', 0)",
        "begin",
        "savepoint s",
        "delete from d.t where i = 9",
        "rollback to s",
        "insert into d.t values (20, null, 0)",
        "commit",
        "insert into d.nokey values (1)",
        "insert into d.t values (30, null, 0)",
        "insert into d.child values (1, 30)",
        "insert into d.t values (31, null, 0)",
        "update d.t set n = 4 where i = 30",
    ]);
    client.query("show binary log status").expect("it is written");
    let directory = server.kill_nine();
    let after = orders(&directory.path().join("data"));
    assert_eq!(
        after,
        [
            (1, 0),
            (2, 0),
            (3, 2),
            (4, 1),
            (5, 4),
            (6, 1),
            (7, 6),
            (8, 0),
            (9, 8),
            (10, 9),
            (11, 10),
            (12, 11),
            (13, 11)
        ]
    );
}

/// Transactions that are larger than memory and log have room for, until the server is gone.
fn write_large(mut client: RawClient, writer: u64, seed: u64, done: &AtomicU64) {
    let mut numbers = Random::new(seed);
    let (first, last) = (writer * 10_000, writer * 10_000 + LARGE_ROWS);
    loop {
        let number = numbers.below(1000);
        let middle = first + numbers.below(LARGE_ROWS);
        let statements = [
            "begin".to_owned(),
            format!("delete from d.t where id between {first} and {last}"),
            format!("insert into d.t select {first} + n, {number}, repeat('x', 900) from d.numbers"),
            "savepoint s".to_owned(),
            format!("update d.t set n = n + 1, s = repeat('y', 900) where id between {first} and {middle}"),
            if number.is_multiple_of(2) { "rollback to s" } else { "release savepoint s" }.to_owned(),
            format!("update d.t set n = n + 5 where id between {middle} and {last}"),
            if number.is_multiple_of(5) { "rollback" } else { "commit" }.to_owned(),
            format!("update d.t set n = 0 where id = {first}"),
        ];
        for statement in statements {
            if client.execute(&statement).is_err() {
                return;
            }
        }
        done.fetch_add(1, Ordering::SeqCst);
    }
}

const LARGE_ROWS: u64 = 1200;

#[test]
fn large_transactions_are_whole_after_kills() {
    const OPTIONS: &[&str] =
        &["--log-bin", "--gtid-mode=ON", "--max-binlog-size=20000000", "--innodb-redo-log-capacity=8388608"];
    let mut server = TestServer::start(OPTIONS);
    let mut client = server.log_in();
    for statement in [
        "create database d".to_owned(),
        "create table d.t (id int primary key, n int not null, s varchar(1000) not null)".to_owned(),
        "create table d.numbers (n int primary key)".to_owned(),
        "set sql_log_bin = 0".to_owned(),
        format!(
            "insert into d.numbers values {}",
            (0..LARGE_ROWS).map(|n| format!("({n})")).collect::<Vec<_>>().join(",")
        ),
    ] {
        client.execute(&statement).expect("a statement");
    }
    drop(client);
    let mut seen = 0;
    for cycle in 0..5u64 {
        let clients: Vec<RawClient> = (0..2).map(|_| server.log_in()).collect();
        let done = AtomicU64::new(0);
        let directory: TestDirectory = std::thread::scope(|scope| {
            for (writer, client) in (0..).zip(clients) {
                let done = &done;
                scope.spawn(move || {
                    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        write_large(client, writer, cycle * 7919 + writer * 104_729 + 1, done);
                    }));
                });
            }
            while done.load(Ordering::SeqCst) < 3 {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(cycle * 97));
            server.kill_nine()
        });
        server = TestServer::start_in(directory, OPTIONS);
        let mut client = server.log_in();
        client.query("show binary log status").expect("a row");
        let (rows, transactions) = replay(&server.directory.path().join("data"));
        assert_eq!(rows, table(&mut client), "cycle {cycle}");
        let left = std::fs::read_dir(server.directory.path().join("data/events"));
        assert_eq!(left.map_or(0, Iterator::count), 0, "a start leaves no files of events");
        println!("cycle {cycle}: {transactions} transactions, {} rows", rows.len());
        seen = transactions;
    }
    assert!(seen > 3, "there was something to lose");
    let mut client = server.log_in();
    let count = |client: &mut RawClient| {
        let status = client.query("show global status like 'Binlog_cache_disk_use'").expect("a row");
        status[0][1].clone().expect("a number").parse::<u64>().expect("a number")
    };
    let before = count(&mut client);
    client.execute("update d.numbers set n = n + 1000000").expect("a small transaction");
    assert_eq!(count(&mut client), before);
    client
        .execute("insert into d.t select n, 1, repeat('z', 900) from d.numbers")
        .expect("a large transaction");
    assert_eq!(count(&mut client), before + 1);
    client.execute("set global max_binlog_cache_size = 500000").expect("a limit");
    let mut client = server.log_in();
    let refused = client.execute("update d.t set n = n + 1 where id >= 1000000").expect_err("too large");
    assert_eq!(refused.number, 1197);
    client.execute("update d.t set n = n + 1 where id between 1000000 and 1000010").expect("less");
}
