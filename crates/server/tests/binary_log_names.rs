//! A binary log that is called otherwise, or not wanted, by a later start; and what a server that ends tells those who read it.

mod support;

use std::fs;
use std::time::Duration;

use support::replicas::{REPLICA, SOURCE, follow, one, wait_until_equal};
use support::{TestDirectory, TestServer};

const ONE: &[&str] = &["--log-bin=one", "--gtid-mode=ON"];
const TWO: &[&str] = &["--log-bin=two", "--gtid-mode=ON"];
const NONE: &[&str] = &["--skip-log-bin"];

fn files(server: &TestServer) -> Vec<String> {
    let rows = server.log_in().query("show binary logs").expect("files");
    rows.into_iter().filter_map(|mut row| row.swap_remove(0)).collect()
}

/// What is executed and what is purged, without the server's own name.
fn identifiers(server: &TestServer) -> (String, String) {
    let set = |name: &str| {
        let set = one(&mut server.log_in(), &format!("select @@global.{name}"));
        set.split_once(':').map_or(String::new(), |(_, numbers)| numbers.to_owned())
    };
    (set("gtid_executed"), set("gtid_purged"))
}

fn insert(server: &TestServer) {
    server.log_in().execute("insert into d.t values ()").expect("a row");
}

fn size(directory: &TestDirectory, name: &str) -> u64 {
    fs::metadata(directory.path().join("data").join(name)).map_or(0, |file| file.len())
}

#[test]
fn another_name_begins_new_files_and_an_old_one_goes_on() {
    let server = TestServer::start(ONE);
    server
        .log_in()
        .execute_all(&["create database d", "create table d.t (id int primary key auto_increment)"]);
    insert(&server);
    assert_eq!(files(&server), ["one.000001"]);
    // The file lacks what a kill has taken, and the next server, which has no binary log, writes it.
    let directory = server.kill_nine();
    let server = TestServer::start_in(directory, NONE);
    insert(&server);
    let directory = server.kill_nine();
    assert!(size(&directory, "one.000001") > 600, "three transactions");
    let server = TestServer::start_in(directory, TWO);
    assert_eq!(
        (files(&server), identifiers(&server)),
        (vec!["two.000001".into()], ("1-3".into(), "1-3".into()))
    );
    insert(&server);
    // As in MySQL 9.7 the files of a name go on with the next number.
    let server = TestServer::start_in(server.kill_nine(), ONE);
    assert_eq!(files(&server), ["one.000001", "one.000002"]);
    assert_eq!(identifiers(&server), ("1-4".into(), "1-4".into()));
    insert(&server);
    let (_, _, directory) = server.terminate();
    let server = TestServer::start_in(directory, ONE);
    assert_eq!(files(&server).len(), 3);
    assert_eq!(identifiers(&server), ("1-5".into(), "1-4".into()));
    assert_eq!(one(&mut server.log_in(), "select count(*) from d.t"), "4");
}

#[test]
fn a_binary_log_that_nobody_wants_may_be_gone() {
    let server = TestServer::start(ONE);
    server
        .log_in()
        .execute_all(&["create database d", "create table d.t (id int primary key auto_increment)"]);
    let directory = server.kill_nine();
    for name in ["one.000001", "one.index"] {
        fs::remove_file(directory.path().join("data").join(name)).expect("it is there");
    }
    let server = TestServer::start_in(directory, NONE);
    insert(&server);
    assert!(server.log().contains("are gone"), "{}", server.log());
    let server = TestServer::start_in(server.kill_nine(), ONE);
    // What had been committed keeps its identifiers, whether it was in the file or not.
    assert_eq!((files(&server).last(), identifiers(&server).0), (Some(&"one.000003".into()), "1-2".into()));
    insert(&server);
    assert_eq!(identifiers(&server).0, "1-3");
    // How much of it the lost file had depends on the moment of its end: what is in no file is purged, and nothing else.
    let purged = identifiers(&server).1;
    let purged: u64 = purged.rsplit('-').next().map_or(0, |last| last.parse().unwrap_or(0));
    let mut client = server.log_in();
    let mut logged = Vec::new();
    for file in files(&server) {
        for row in client.query(&format!("show binlog events in '{file}'")).expect("events") {
            if let (Some("Gtid"), Some(Some(told))) = (row[2].as_deref(), row.last()) {
                let number = told.trim_end_matches('\'').rsplit(':').next().expect("a number");
                logged.push(number.parse::<u64>().expect("a number"));
            }
        }
    }
    assert_eq!(logged, (purged + 1..=3).collect::<Vec<_>>());
}

#[test]
fn an_end_does_not_wait_for_replicas_and_they_have_everything() {
    let (source, replica) = (TestServer::start(SOURCE), TestServer::start(REPLICA));
    source
        .log_in()
        .execute_all(&["create database d", "create table d.t (id int primary key auto_increment)"]);
    follow(&replica, &source);
    wait_until_equal(&source, &replica);
    let sql = "select command, state from information_schema.processlist where command like 'Binlog%'";
    let shown = source.log_in().query(sql).expect("rows");
    let state = "Source has sent all binlog to replica; waiting for more updates";
    assert_eq!(shown, [[Some("Binlog Dump GTID".to_owned()), Some(state.to_owned())]]);
    insert(&source);
    let mut client = source.log_in();
    client.execute("shutdown").expect("an answer");
    let mut source = source;
    source.wait_for_end(Duration::from_secs(30)).expect("an end");
    let said = source.log();
    assert!(!said.contains("did not end in time"), "{said}");
    let mut client = replica.log_in();
    for _ in 0..200 {
        if one(&mut client, "select count(*) from d.t") == "1" {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(one(&mut client, "select count(*) from d.t"), "1", "sent before the end");
}

#[test]
fn a_source_that_is_not_there_and_relay_logs_that_are_not_are_told() {
    let server = TestServer::start(REPLICA);
    let mut client = server.log_in();
    // The answers of MySQL 9.7, but for the last one, where it shows its files.
    assert_eq!(client.query("show relaylog events").expect("no rows").len(), 0);
    assert_eq!(client.query("show relaylog events for channel 'x'").expect_err("no channel").number, 3074);
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("one").port();
    client.execute_all(&[
        &format!(
            "change replication source to source_host = '127.0.0.1', source_port = {port}, source_user = 'root', \
             source_connect_retry = 1"
        ),
        "start replica",
    ]);
    let error = client.query("show relaylog events in 'x'").expect_err("no file");
    assert_eq!(error.number, 1220);
    assert!(error.text.ends_with("SHOW RELAYLOG EVENTS: Could not find target log"), "{}", error.text);
    assert_eq!(client.query("show relaylog events").expect_err("no files").number, 1235);
    let mut told = String::new();
    for _ in 0..200 {
        told = one(
            &mut client,
            "select last_error_message from performance_schema.replication_connection_status",
        );
        if !told.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let wanted =
        format!("Message: Can't connect to MySQL server on '127.0.0.1:{port}' (111: Connection refused)");
    assert!(told.contains(&wanted), "{told}");
}

#[test]
fn a_source_that_is_lost_is_told_and_connected_to_again_at_once() {
    let (source, replica) = (TestServer::start(SOURCE), TestServer::start(REPLICA));
    source.log_in().execute_all(&["create database d"]);
    follow(&replica, &source);
    wait_until_equal(&source, &replica);
    // Long enough for a source that is followed.
    std::thread::sleep(Duration::from_millis(1200));
    let (user_at, directory) = (format!("'root@127.0.0.1:{}'", source.port), source.kill_nine());
    let mut client = replica.log_in();
    let error = "select concat(last_error_number, ' ', last_error_message) from performance_schema.replication_connection_status";
    let mut told = String::new();
    for _ in 0..200 {
        told = one(&mut client, error);
        if told.starts_with("2003") {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // The answer of MySQL 9.7.
    assert!(
        told.starts_with(&format!("2003 Error reconnecting to source {user_at}. This was attempt 1/")),
        "{told}"
    );
    let said = replica.log();
    let lost = format!("Error reading from source {user_at}. It is connected to again at once");
    assert!(said.contains(&lost) && said.contains("(error 2013)"), "{said}");
    drop(directory);
}

/// What follows a definition elsewhere reads its text by itself.
#[test]
fn definitions_are_logged_with_the_comments_that_they_begin_and_end_in() {
    let server = TestServer::start(ONE);
    let mut client = server.log_in();
    client.execute_all(&["create database d", "use d"]);
    let texts = [
        "create table t (a int) /*! engine = innodb */",
        "/*!50001 create algorithm=undefined */ /*!50013 sql security invoker */ /*!50001 view v as select 1 */",
    ];
    client.execute_all(&texts);
    client.execute("/*!50003 create */ procedure p() /*!50003 select 1 */").expect("a procedure");
    let rows = client.query("show binlog events").expect("events");
    let logged: Vec<_> = rows.into_iter().filter_map(|mut row| row.pop()?).collect();
    let is_there = |text: &str| logged.iter().any(|info| info.ends_with(&format!("use `d`; {text}")));
    assert!(texts.iter().all(|text| is_there(text)), "{logged:?}");
    let procedure = "/*!50003 create DEFINER=`root`@`localhost` */ procedure p() /*!50003 select 1 */";
    assert!(is_there(procedure), "{logged:?}");
}
