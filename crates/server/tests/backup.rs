//! CLONE and `evenkeel backup` on a real server: the copy is whole, sound and a server's data directory; what goes wrong is said
//! with MySQL's numbers and leaves nothing behind.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use support::{TestDirectory, TestServer, evenkeel, number, run_program};

fn fill(server: &TestServer) {
    let mut client = server.log_in();
    client.execute("create database d").expect("a database");
    client
        .execute("create table d.t (id int primary key, filler varchar(600), key kf (filler))")
        .expect("a table");
    client.execute("create table d.counter (n bigint)").expect("a table");
    client.execute("insert into d.counter values (0)").expect("a row");
    for part in 0..20 {
        let rows: Vec<String> =
            (part * 300..(part + 1) * 300).map(|id| format!("({id}, '{}{id}')", "x".repeat(500))).collect();
        client.execute(&format!("insert into d.t values {}", rows.join(","))).expect("rows");
    }
}

#[test]
fn a_copy_made_under_load_is_a_server_of_its_own() {
    let server = TestServer::start(&["--innodb-redo-log-capacity=8M", "--innodb-buffer-pool-size=8M"]);
    fill(&server);
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (mut client, stop_writer, count) = (server.log_in(), stop.clone(), done.clone());
    let writer = std::thread::spawn(move || {
        while !stop_writer.load(Ordering::SeqCst) {
            client.execute("update d.counter set n = n + 1").expect("an update");
            count.fetch_add(1, Ordering::SeqCst);
            client.execute("update d.t set filler = reverse(filler) where id % 97 = 5").expect("an update");
        }
    });
    let copy = TestDirectory::new();
    let path = copy.path().join("data");
    let dsn = format!("mysql://root@127.0.0.1:{}", server.port);
    let before = done.load(Ordering::SeqCst);
    let (is_good, said) = run_program(&copy, &["backup", "--dsn", &dsn, "--to", &path.display().to_string()]);
    let after = done.load(Ordering::SeqCst) + 1;
    stop.store(true, Ordering::SeqCst);
    writer.join().expect("the writer ends");
    assert!(is_good, "{said}");
    let mut client = server.log_in();
    let status = client.query("select STATE, ERROR_NO from performance_schema.clone_status").expect("a row");
    assert_eq!(status[0][0].as_deref(), Some("Completed"));
    drop(client);
    let (is_sound, said) = run_program(&copy, &["verify", &path.display().to_string()]);
    assert!(is_sound, "{said}");
    let copied = TestServer::start_in(copy, &[]);
    let mut client = copied.log_in();
    let found = number(&mut client, "select n from d.counter");
    assert!((before..=after).contains(&found), "{found} is not between {before} and {after}");
    assert_eq!(number(&mut client, "select count(*) from d.t"), 6000);
    client.execute("insert into d.t values (-1, 'the copy takes changes')").expect("it is a server");
    drop(server);
    assert_eq!(number(&mut client, "select count(*) from d.t force index (kf)"), 6001);
}

#[test]
fn what_goes_wrong_is_said_and_leaves_nothing() {
    let server = TestServer::start(&[]);
    let directory = TestDirectory::new();
    let mut client = server.log_in();
    let existing = directory.path().display().to_string();
    for (path, errno) in [("relative", 1525), (existing.as_str(), 1007), ("/proc/none/of/this", 1006)] {
        let error = client.execute(&format!("clone local data directory '{path}'")).expect_err("refused");
        assert_eq!(error.number, errno, "{path}");
    }
    let error = client.execute("clone instance from u@h:1 identified by 'x'").expect_err("refused");
    assert_eq!(error.number, 1235);
    // What a kill in the middle leaves is no data directory.
    std::fs::create_dir(directory.path().join("data")).expect("writable");
    std::fs::write(directory.path().join("data/clone-unfinished"), "").expect("writable");
    let output = evenkeel(&directory).arg("--port=0").output().expect("the program was built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("make the copy again"), "{said}");
}
