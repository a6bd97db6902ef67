//! Sessions that wait for what a replica applies, and what it says that it has executed.

mod support;

use std::time::{Duration, Instant};

use support::TestServer;
use support::replicas::{PATIENCE, REPLICA, SOURCE, follow, one, status, wait_until_equal};

#[test]
fn a_session_waits_for_identifiers_and_for_a_place() {
    let source = TestServer::start(SOURCE);
    let replica = TestServer::start(REPLICA);
    follow(&replica, &source);
    let mut writer = source.log_in();
    writer.execute_all(&["create database d", "create table d.t (i int primary key)"]);
    let uuid = one(&mut writer, "select @@server_uuid");
    let mut client = replica.log_in();
    assert_eq!(one(&mut client, &format!("select wait_for_executed_gtid_set('{uuid}:1-2', 60)")), "0");
    assert_eq!(one(&mut client, &format!("select wait_for_executed_gtid_set('{uuid}:1-3', 0.1)")), "1");
    for number in 3..20 {
        let waiter = std::thread::scope(|scope| {
            let wait = scope.spawn(|| {
                let mut client = replica.log_in();
                assert_eq!(
                    one(&mut client, &format!("select wait_for_executed_gtid_set('{uuid}:{number}')")),
                    "0"
                );
                one(&mut client, "select max(i) from d.t")
            });
            writer.execute(&format!("insert into d.t values ({number})")).expect("a row");
            wait.join().expect("the wait ends")
        });
        assert_eq!(waiter, number.to_string(), "what was waited for is read");
    }
    let place = writer.query("show binary log status").expect("a row").remove(0);
    let [file, end] = [0, 1].map(|field| place[field].clone().unwrap_or_default());
    let wait_for =
        |position: &str, seconds: &str| format!("select source_pos_wait('{file}', {position}, {seconds})");
    assert!(one(&mut client, &wait_for(&end, "60")).parse::<i64>().expect("a number") >= 0);
    assert_eq!(one(&mut client, &wait_for(&format!("{end} + 10"), "0.1")), "-1");
    let ended = std::thread::scope(|scope| {
        let wait = scope.spawn(|| {
            let answer = replica.log_in().query(&wait_for(&format!("{end} + 10"), "0")).expect("an answer");
            answer[0][0].clone()
        });
        std::thread::sleep(Duration::from_millis(200));
        client.execute("stop replica").expect("a stop");
        wait.join().expect("the wait ends")
    });
    assert_eq!(ended, None, "no applier, nothing to wait for");
}

#[test]
fn what_is_executed_is_shown_everywhere_and_forgotten_by_a_reset() {
    let source = TestServer::start(SOURCE);
    let replica = TestServer::start(REPLICA);
    let mut client = replica.log_in();
    client.execute_all(&["create database own", "create table own.t (i int)"]);
    follow(&replica, &source);
    let mut writer = source.log_in();
    writer.execute_all(&[
        "create database d",
        "create table d.t (i int primary key)",
        "insert into d.t values (1)",
    ]);
    wait_until_equal(&source, &replica);
    let [here, there] = [&mut client, &mut writer].map(|client| one(client, "select @@server_uuid"));
    let mut wanted = [format!("{here} 1 2"), format!("{there} 1 3")];
    wanted.sort();
    let shown = "select concat_ws(' ', source_uuid, interval_start, interval_end) from mysql.gtid_executed";
    let mut rows: Vec<String> =
        client.query(shown).expect("intervals").into_iter().filter_map(|row| row[0].clone()).collect();
    rows.sort();
    assert_eq!(rows, wanted);
    writer.execute("insert into d.t values (2)").expect("a row");
    let deadline = Instant::now() + PATIENCE;
    let variables = "select variable_value from performance_schema.global_variables where variable_name like 'gtid%executed'";
    while !one(&mut client, variables).contains(&format!("{there}:1-4")) {
        assert!(Instant::now() < deadline, "{}", one(&mut client, variables));
        std::thread::sleep(Duration::from_millis(20));
    }
    let refused = client.execute("reset binary logs and gtids").expect_err("the applier runs");
    assert_eq!(refused.number, 3081);
    client.execute("stop replica").expect("a stop");
    let place = status(&mut client);
    client.execute("reset binary logs and gtids").expect("a reset");
    assert_eq!(one(&mut client, "select @@global.gtid_executed"), "");
    assert!(client.query(shown).expect("no intervals").is_empty());
    let after = status(&mut client);
    assert_eq!([&place[9], &place[21]], [&after[9], &after[21]], "the place in the source's files stays");
    // It is so after a kill as well.
    drop(client);
    let replica = TestServer::start_in(replica.kill_nine(), REPLICA);
    assert_eq!(one(&mut replica.log_in(), "select @@global.gtid_executed"), "");
}
