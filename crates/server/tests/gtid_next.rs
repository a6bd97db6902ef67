//! `gtid_next`: transactions get the identifiers that sessions give them, empty ones too, each once; answers as MySQL 9.7 has them.

mod support;

use support::{RawClient, TestServer};

const OPTIONS: &[&str] = &["--log-bin", "--gtid-mode=ON", "--server-id=1"];
const OTHER: &str = "11111111-1111-1111-1111-111111111111";

fn one(client: &mut RawClient, sql: &str) -> String {
    let rows = client.query(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows[0][0].clone().unwrap_or_default()
}

fn set(client: &mut RawClient, number: u64) {
    client.execute(&format!("set gtid_next = '{OTHER}:{number}'")).expect("an identifier");
}

fn automatic(client: &mut RawClient) {
    client.execute("set gtid_next = automatic").expect("the next one");
}

fn refused(client: &mut RawClient, number: u16, sql: &str) {
    let error = client.execute(sql).expect_err(sql);
    assert_eq!(error.number, number, "{sql}: {error:?}");
}

/// Of the other server, without its name.
fn executed(client: &mut RawClient) -> String {
    let set = one(client, "select @@global.gtid_executed");
    let of = set.split(',').map(str::trim).find_map(|part| part.strip_prefix(OTHER));
    of.unwrap_or_default().to_owned()
}

#[test]
fn a_transaction_has_the_identifier_that_it_was_given() {
    let server = TestServer::start(OPTIONS);
    let mut client = server.log_in();
    client.execute_all(&["create database d", "create table d.t (a int primary key)", "use d"]);
    set(&mut client, 1);
    client.execute_all(&["begin", "commit"]);
    assert_eq!(one(&mut client, "select @@gtid_next"), format!("{OTHER}:1"));
    client.execute("begin").expect("nothing is changed");
    refused(&mut client, 1837, "insert into t values (1)");
    client.execute("commit").expect("nothing");
    refused(&mut client, 1837, "create table z (a int)");
    automatic(&mut client);
    client.execute("insert into t values (1)").expect("a row");
    // It is executed: what it does is passed over.
    set(&mut client, 1);
    client.execute_all(&["insert into t values (5)", "begin", "insert into t values (6)", "commit"]);
    assert_eq!(one(&mut client, "select count(*) from t"), "1");
    refused(&mut client, 1837, "create table y (a int)");
    automatic(&mut client);

    set(&mut client, 5);
    client.execute("insert into t values (7)").expect("a row");
    refused(&mut client, 1837, "insert into t values (8)");
    automatic(&mut client);
    set(&mut client, 6);
    refused(&mut client, 1790, &format!("set gtid_next = '{OTHER}:7'"));
    refused(&mut client, 1790, "set gtid_next = automatic");
    client.execute("rollback").expect("it is given up");
    automatic(&mut client);
    client.execute("begin").expect("a transaction");
    client.execute("insert into t values (9)").expect("a row");
    refused(&mut client, 1766, &format!("set gtid_next = '{OTHER}:9'"));
    client.execute("commit").expect("a commit");
    set(&mut client, 20);
    client.execute("create table w (a int)").expect("a table");
    refused(&mut client, 1837, "insert into t values (30)");
    automatic(&mut client);
    set(&mut client, 21);
    client.execute("begin").expect("a transaction");
    refused(&mut client, 1062, "insert into t values (1)");
    client.execute("commit").expect("it is empty");
    automatic(&mut client);
    set(&mut client, 23);
    refused(&mut client, 1062, "insert into t values (1)");
    automatic(&mut client);
    set(&mut client, 24);
    client.execute_all(&["begin", "insert into t values (24)"]);
    refused(&mut client, 1778, "create table v (a int)");
    client.execute("commit").expect("a commit");
    automatic(&mut client);
    assert_eq!(executed(&mut client), ":1:5:20-21:24");
    let texts = client.query("show binlog events").expect("events");
    let texts: Vec<String> = texts.into_iter().filter_map(|row| row[5].clone()).collect();
    let place = texts.iter().position(|text| text.contains(&format!("'{OTHER}:1'"))).expect("it is logged");
    assert_eq!(texts[place + 1..place + 3], ["BEGIN", "COMMIT"]);
    let server = TestServer::start_in(server.kill_nine(), OPTIONS);
    assert_eq!(executed(&mut server.log_in()), ":1:5:20-21:24");
}

#[test]
fn what_is_no_identifier_is_refused_and_one_has_one_owner() {
    let server = TestServer::start(OPTIONS);
    let mut client = server.log_in();
    refused(&mut client, 1782, "set gtid_next = 'anonymous'");
    refused(&mut client, 1231, "set gtid_next = null");
    refused(&mut client, 1228, "set global gtid_next = 'automatic'");
    for wrong in
        ["foo", "", "11111111-1111-1111-1111-111111111111:0", "11111111-1111-1111-1111-111111111111:1-3"]
    {
        refused(&mut client, 1774, &format!("set gtid_next = '{wrong}'"));
    }
    refused(&mut client, 1235, &format!("set gtid_next = '{OTHER}:tag:9'"));
    let plain = TestServer::start(&["--server-id=2"]);
    refused(&mut plain.log_in(), 1781, &format!("set gtid_next = '{OTHER}:1'"));

    client
        .execute("create table test.t (a int primary key)")
        .or_else(|_| {
            client.execute_all(&["create database test", "create table test.t (a int primary key)"]);
            Ok::<(), ()>(())
        })
        .expect("a table");
    set(&mut client, 1);
    client.execute_all(&["begin", "insert into test.t values (1)"]);
    let mut second = server.log_in();
    let waiting = std::thread::spawn(move || {
        set(&mut second, 1);
        second.execute("insert into test.t values (2)").expect("it is passed over");
        second.execute("commit").expect("the end");
        automatic(&mut second);
        executed(&mut second)
    });
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(!waiting.is_finished(), "another session has it");
    client.execute("commit").expect("a commit");
    assert_eq!(waiting.join().expect("the second one"), ":1");
    assert_eq!(one(&mut client, "select count(*) from test.t"), "1");
    // Whoever is gone owns nothing.
    automatic(&mut client);
    set(&mut client, 2);
    drop(client);
    let mut third = server.log_in();
    set(&mut third, 2);
    third.execute("commit").expect("an empty one");
    assert_eq!(executed(&mut third), ":1-2");
}
