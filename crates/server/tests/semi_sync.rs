//! Semi-synchronous replication: what is answered is on the replica, durable and applied, also when the source dies; and a source
//! without replicas goes on alone.

mod support;

use std::time::{Duration, Instant};

use support::replicas::{PATIENCE, follow, one, wait_until_equal};
use support::{RawClient, TestServer};

const SOURCE: &[&str] = &[
    "--log-bin",
    "--gtid-mode=ON",
    "--server-id=1",
    "--rpl-semi-sync-source-enabled=ON",
    "--rpl-semi-sync-source-timeout=60000",
];
const REPLICA: &[&str] =
    &["--log-bin", "--gtid-mode=ON", "--server-id=2", "--rpl-semi-sync-replica-enabled=ON"];
const WRITERS: u64 = 4;

/// The value of a status variable.
fn value(client: &mut RawClient, name: &str) -> String {
    one(
        client,
        &format!(
            "select variable_value from performance_schema.global_status where variable_name = '{name}'"
        ),
    )
}

fn wait_for(server: &TestServer, name: &str, wanted: &str) {
    let deadline = Instant::now() + PATIENCE;
    let mut client = server.log_in();
    while value(&mut client, name) != wanted {
        assert!(Instant::now() < deadline, "{name} is {}", value(&mut client, name));
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn pair() -> (TestServer, TestServer) {
    let (source, replica) = (TestServer::start(SOURCE), TestServer::start(REPLICA));
    follow(&replica, &source);
    wait_for(&source, "Rpl_semi_sync_source_clients", "1");
    wait_for(&replica, "Rpl_semi_sync_replica_status", "ON");
    (source, replica)
}

#[test]
fn what_is_answered_is_on_the_replica() {
    let (source, replica) = pair();
    let (mut writer, mut reader) = (source.log_in(), replica.log_in());
    writer.execute_all(&["create database d", "create table d.t (id int primary key)"]);
    for id in 1..=50 {
        writer.execute(&format!("insert into d.t values ({id})")).expect("a row");
        assert_eq!(one(&mut reader, "select max(id) from d.t"), id.to_string());
    }
    writer.execute("set global rpl_semi_sync_source_wait_point = AFTER_COMMIT").expect("a setting");
    writer.execute("delete from d.t where id > 10").expect("a change");
    assert_eq!(one(&mut reader, "select max(id) from d.t"), "10");
    let confirmed: u64 = value(&mut writer, "Rpl_semi_sync_source_yes_tx").parse().expect("a number");
    assert!(confirmed >= 53, "{confirmed} transactions were confirmed");
    assert_eq!(value(&mut writer, "Rpl_semi_sync_source_no_tx"), "0");
}

#[test]
fn a_source_goes_on_alone_and_waits_again_for_a_replica_that_is_back() {
    let (source, replica) = pair();
    let mut writer = source.log_in();
    writer.execute_all(&["create database d", "create table d.t (id int primary key)"]);
    let directory = replica.kill_nine();
    writer.execute("set global rpl_semi_sync_source_timeout = 700").expect("a setting");
    let begun = Instant::now();
    writer.execute("insert into d.t values (1)").expect("a row");
    assert!(begun.elapsed() >= Duration::from_millis(600), "it has waited {:?}", begun.elapsed());
    assert_eq!(value(&mut writer, "Rpl_semi_sync_source_status"), "OFF");
    assert_eq!(value(&mut writer, "Rpl_semi_sync_source_no_times"), "1");
    let begun = Instant::now();
    writer.execute("insert into d.t values (2)").expect("a row");
    assert!(begun.elapsed() < Duration::from_millis(600), "nobody is waited for");
    writer.execute("set global rpl_semi_sync_source_timeout = 60000").expect("a setting");
    let replica = TestServer::start_in(directory, REPLICA);
    wait_for(&source, "Rpl_semi_sync_source_status", "ON");
    wait_until_equal(&source, &replica);
    writer.execute("insert into d.t values (3)").expect("a row");
    assert_eq!(one(&mut replica.log_in(), "select count(*) from d.t"), "3");
}

#[test]
fn a_source_that_dies_has_answered_nothing_that_the_replica_lacks() {
    let (mut source, replica) = pair();
    source.log_in().execute_all(&["create database d", "create table d.t (writer int primary key, n int)"]);
    for writer in 0..WRITERS {
        source.log_in().execute(&format!("insert into d.t values ({writer}, 0)")).expect("a row");
    }
    for _ in 0..3 {
        let port = source.port;
        let counts: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let mut client = source.log_in();
                std::thread::spawn(move || {
                    let mut answered = 0u64;
                    let from = one(&mut client, &format!("select n from d.t where writer = {writer}"));
                    let from: u64 = from.parse().expect("a number");
                    loop {
                        let next = from + answered + 1;
                        let sql = format!("update d.t set n = {next} where writer = {writer}");
                        let done =
                            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| client.execute(&sql)));
                        match done {
                            Ok(Ok(())) => answered += 1,
                            _ => return (from + answered, answered),
                        }
                    }
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(800));
        assert_eq!(value(&mut source.log_in(), "Rpl_semi_sync_source_status"), "ON");
        let directory = source.kill_nine();
        let mut reader = replica.log_in();
        for (writer, count) in counts.into_iter().enumerate() {
            let (answered, of_this_life) = count.join().expect("a writer");
            assert!(of_this_life > 0, "writer {writer} has done something");
            let there: u64 = one(&mut reader, &format!("select n from d.t where writer = {writer}"))
                .parse()
                .expect("a number");
            assert!(there >= answered, "writer {writer}: {answered} answered, {there} on the replica");
        }
        let port = format!("--port={port}");
        source = TestServer::start_in(directory, &[SOURCE, &[&port]].concat());
        wait_for(&source, "Rpl_semi_sync_source_clients", "1");
        wait_until_equal(&source, &replica);
    }
}
