//! RESTORE TABLE on a real server: rows and definition of two moments from a backup, its increment and the archive; what is refused; kills of the
//! statement and of the server, which leave nothing.

mod support;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use support::{RawClient, TestDirectory, TestServer, number, run_program};

struct Place {
    directory: TestDirectory,
}

impl Place {
    fn new() -> Place {
        let directory = TestDirectory::new();
        std::fs::create_dir(directory.path().join("backups")).expect("writable");
        std::fs::write(directory.path().join("key"), "0123456789abcdef0123456789abcdef\n").expect("writable");
        Place { directory }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn start(&self, directory: TestDirectory) -> TestServer {
        let archive = format!("--log-archive-dir={}", self.path("archive"));
        let backups = format!("--backup-dir={}", self.path("backups"));
        let key = format!("--backup-key-file={}", self.path("key"));
        let options =
            ["--innodb-redo-log-capacity=8M", "--innodb-buffer-pool-size=8M", &archive, &backups, &key];
        TestServer::start_in(directory, &options)
    }

    fn back_up(&self, server: &TestServer, words: &[&str]) {
        let dsn = format!("mysql://root@127.0.0.1:{}", server.port);
        let (is_good, said) = run_program(&self.directory, &[&["backup", "--dsn", &dsn], words].concat());
        assert!(is_good, "{said}");
    }
}

fn sum(client: &mut RawClient, table: &str) -> Option<String> {
    client.query(&format!("checksum table {table}")).expect("a sum")[0][1].clone()
}

fn lsn(client: &mut RawClient) -> u64 {
    number(client, "show global status like 'Innodb_redo_log_current_lsn'")
}

fn now(client: &mut RawClient) -> String {
    let time =
        client.query("select date_format(now(6), '%Y-%m-%d %H:%i:%s.%f')").expect("a time")[0][0].clone();
    // Commits of the same millisecond are before or behind a moment together.
    std::thread::sleep(Duration::from_millis(5));
    time.expect("a text")
}

fn refused(client: &mut RawClient, text: &str) -> (u16, String) {
    let error = client.execute(text).expect_err(text);
    (error.number, error.text)
}

/// The server's own threads; the kernel makes and ends those that carry out requests of io_uring.
fn threads(server: &TestServer) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.process_id())).expect("a process");
    let name = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
    };
    tasks.filter_map(name).filter(|name| !name.starts_with("iou-wrk")).count()
}

fn work(server: &TestServer) -> PathBuf {
    server.directory.path().join("data").join("restore-table")
}

/// What restores have left, as soon as it is nothing or time is over.
fn left(path: &Path) -> usize {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let count = std::fs::read_dir(path).map_or(0, Iterator::count);
        if count == 0 || Instant::now() > deadline {
            return count;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_table_comes_back_as_of_two_moments() {
    let place = Place::new();
    let server = place.start(TestDirectory::new());
    let mut client = server.log_in();
    client.execute_all(&[
        "create database d",
        "create table d.parent (id int primary key)",
        "create table d.kinds (id int auto_increment primary key, f float, d double, b varbinary(20), \
         t varchar(50) character set latin1, j json, e enum('one', 'two'), bits bit(9), moment timestamp(3) null, \
         parent int, doubled int generated always as (parent * 2) stored, key (t, f), check (parent < 1000000), \
         foreign key (parent) references d.parent (id))",
        "create trigger d.kinds_t before insert on d.kinds for each row set new.f = new.f",
        "insert into d.parent values (1)",
        "insert into d.kinds (f, d, b, t, j, e, bits, moment, parent) values \
         (0.1, 1e-300, x'00ff27', 'caf\u{e9} ''\\\\', '{\"a\": [1, null]}', 'two', b'101010101', '2026-03-02 14:03:00.125', 1), \
         (3.4e38, null, null, null, null, null, null, null, null)",
    ]);
    let early = now(&mut client);
    place.back_up(&server, &["--to-file", &place.path("backups/full.ekb"), "--key-file", &place.path("key")]);
    for _ in 0..11 {
        client
            .execute("insert into d.kinds (f, d, b, t, j, e, bits, moment, parent) select f, d + id, b, t, j, e, bits, moment, parent from d.kinds")
            .expect("rows");
    }
    let (time, of_time) = (now(&mut client), sum(&mut client, "d.kinds"));
    client.execute("delete from d.kinds where id % 3 = 0").expect("a mistake");
    let full = place.path("backups/full.ekb");
    let increment = [
        "--to-file",
        &place.path("backups/one.ekb"),
        "--incremental-from",
        &full,
        "--key-file",
        &place.path("key"),
    ];
    place.back_up(&server, &increment);
    client.execute("update d.kinds set d = 7 where id % 5 = 0").expect("another");
    let (place_in_log, of_lsn) = (lsn(&mut client), sum(&mut client, "d.kinds"));
    client.execute("drop table d.kinds").expect("and the worst");
    let before = threads(&server);
    client.execute(&format!("restore table d.kinds as of '{time}' into d.at_time")).expect("restored");
    let notes = client.query("show warnings").expect("notes");
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes[0][2].as_deref().is_some_and(|text| text.ends_with("the 1 foreign keys of the old one")),
        "{notes:?}"
    );
    assert!(
        notes[1][2].as_deref().is_some_and(|text| text.ends_with("the 1 triggers of the old one")),
        "{notes:?}"
    );
    client.execute(&format!("restore table d.kinds as of lsn {place_in_log}")).expect("under its own name");
    assert_eq!(sum(&mut client, "d.at_time"), of_time);
    assert_eq!(sum(&mut client, "d.kinds"), of_lsn);
    assert_ne!(of_time, of_lsn);
    let made = client.query("show create table d.kinds").expect("a table")[0][1].clone().expect("a text");
    assert!(
        made.contains("CHECK") && made.contains("KEY `t` (`t`,`f`)") && !made.contains("FOREIGN KEY"),
        "{made}"
    );
    // The newest that there is, and a backup that is named.
    client
        .execute(&format!("restore table d.parent into d.parents from '{full}'"))
        .expect("all that there is");
    assert_eq!(number(&mut client, "select count(*) from d.parents"), 1);
    let deadline = Instant::now() + Duration::from_secs(20);
    while threads(&server) > before + 1 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(threads(&server) <= before + 1, "{} threads were {before}", threads(&server));

    client.execute("create user u").expect("a user");
    client.execute("grant create, insert on d.* to u").expect("a grant");
    let mut other = server.connect();
    other.log_in("u").expect("no password");
    let text = format!("restore table d.kinds as of lsn {place_in_log} into d.x");
    assert_eq!(refused(&mut other, &text).0, 1227);
    client.execute("revoke insert on d.* from u").expect("less");
    client.execute("grant backup_admin on *.* to u").expect("more");
    assert_eq!(refused(&mut other, &text).0, 1142);
    for (text, number, told) in [
        ("restore table d.kinds into d.parent".to_owned(), 1050, "parent"),
        ("restore table d.kinds into absent.x".into(), 1049, "absent"),
        ("restore table kinds".into(), 1046, ""),
        ("restore table d.kinds as of '2099-01-01' into d.x".into(), 1105, "has not come yet"),
        ("restore table d.kinds as of 'x' into d.x".into(), 1525, "x"),
        (
            format!("restore table d.nothing as of '{time}' into d.x"),
            1105,
            "there was no table `d`.`nothing` at that moment",
        ),
        (
            format!("restore table d.kinds as of '{early}' into d.x"),
            1105,
            "there is no backup of before that moment",
        ),
        (
            "restore table d.kinds as of lsn 1 into d.x".into(),
            1105,
            "there is no backup of before that moment",
        ),
        ("restore table d.kinds into d.x from '/nothing/there'".into(), 1105, "cannot read /nothing/there"),
        ("restore table d.kinds into d.x from 'there'".into(), 1525, "path"),
        ("restore table d.kinds as of gtid 'x' into d.x".into(), 1525, "GTID"),
    ] {
        let (found, said) = refused(&mut client, &text);
        assert!(found == number && said.contains(told), "{text}: {found} {said}");
    }
    client.execute("set global super_read_only = on").expect("set");
    assert_eq!(refused(&mut client, &text).0, 1290);
    client.execute("set global super_read_only = off, global read_only = off").expect("set");
    assert_eq!(left(&work(&server)), 0, "nothing is left");
    assert_eq!(
        number(&mut client, "select count(*) from information_schema.tables where table_schema = 'd'"),
        4
    );

    // Without an archive moments behind the backup are unknown.
    drop((client, other));
    let (_, _, directory) = server.terminate();
    let backups = format!("--backup-dir={}", place.path("backups"));
    let key = format!("--backup-key-file={}", place.path("key"));
    let server = TestServer::start_in(directory, &[&backups, &key]);
    let mut client = server.log_in();
    let (found, said) = refused(&mut client, &text);
    assert!(found == 1105 && said.contains("LSN"), "{said}");
    let late = now(&mut client);
    let (_, said) = refused(&mut client, &format!("restore table d.kinds as of '{late}' into d.x"));
    assert!(said.contains("has no archive of the log"), "{said}");
}

/// Starts a restore of a large table in a session of its own, and waits for the state.
fn begin(server: &TestServer, client: &mut RawClient, state: &str) -> (RawClient, u64) {
    let mut other = server.log_in();
    let id = number(&mut other, "select connection_id()");
    let text = "restore table d.t into d.again";
    other.send(0, &[&[3], text.as_bytes()].concat());
    let deadline = Instant::now() + Duration::from_secs(60);
    let question =
        format!("select state from information_schema.processlist where id = {id} and info like 'restore%'");
    loop {
        let rows = client.query(&question).expect("an answer");
        let shown = rows.first().and_then(|row| row[0].clone()).unwrap_or_default();
        if shown.starts_with(state) && (state != "restoring" || !shown.contains("(0 %")) {
            return (other, id);
        }
        assert!(Instant::now() < deadline, "the state is '{shown}'");
    }
}

fn fill(client: &mut RawClient) {
    client.execute_all(&[
        "create database d",
        "create table d.t (id int auto_increment primary key, filler text)",
    ]);
    client
        .execute("insert into d.t (filler) values (repeat(uuid(), 20)), (repeat(uuid(), 20))")
        .expect("rows");
    for _ in 0..14 {
        client.execute("insert into d.t (filler) select repeat(uuid(), 20) from d.t").expect("rows");
    }
}

#[test]
fn a_kill_of_the_statement_or_of_the_server_leaves_nothing() {
    let place = Place::new();
    let server = place.start(TestDirectory::new());
    let mut client = server.log_in();
    fill(&mut client);
    place.back_up(&server, &["--to", &place.path("backups/one")]);
    for state in ["reading backup", "restoring"] {
        let (mut other, id) = begin(&server, &mut client, state);
        if state == "restoring" {
            let (found, said) = refused(&mut client, "restore table d.t into d.second");
            assert!(found == 1105 && said.contains("another one is under way"), "{said}");
        }
        client.execute(&format!("kill query {id}")).expect("killed");
        assert_eq!(other.expect_error().number, 1317, "{state}");
        assert_eq!(left(&work(&server)), 0);
        assert_eq!(
            number(&mut client, "select count(*) from information_schema.tables where table_schema = 'd'"),
            1
        );
    }
    let begun = begin(&server, &mut client, "restoring");
    assert!(std::fs::read_dir(work(&server)).expect("there").count() > 0);
    drop(begun);
    drop(client);
    let server = place.start(server.kill_nine());
    let mut client = server.log_in();
    assert_eq!(left(&work(&server)), 0, "the next start cleans up");
    assert!(server.log().contains("of a RESTORE TABLE is gone"), "{}", server.log());
    assert_eq!(
        number(&mut client, "select count(*) from information_schema.tables where table_schema = 'd'"),
        1
    );
    client.execute("restore table d.t into d.again").expect("it works again");
    let (one, other) = (sum(&mut client, "d.t"), sum(&mut client, "d.again"));
    assert_eq!(one, other);
}

#[test]
fn a_gap_in_the_archive_is_an_error_that_says_so() {
    let place = Place::new();
    let server = place.start(TestDirectory::new());
    let mut client = server.log_in();
    client.execute_all(&["create database d", "create table d.t (id int)", "insert into d.t values (1)"]);
    place.back_up(&server, &["--to-file", &place.path("backups/full.ekb"), "--key-file", &place.path("key")]);
    client.execute("insert into d.t values (2)").expect("a row");
    drop(client);
    let (_, _, directory) = server.terminate();
    // A life whose log is not archived, and the log is reused.
    let server = TestServer::start_in(directory, &["--innodb-redo-log-capacity=8M"]);
    let mut client = server.log_in();
    client.execute("create table d.filler (t longtext)").expect("a table");
    for _ in 0..40 {
        client.execute("insert into d.filler values (repeat(uuid(), 20000))").expect("a row");
    }
    drop(client);
    let (_, _, directory) = server.terminate();
    let server = place.start(directory);
    let mut client = server.log_in();
    client.execute("insert into d.t values (3)").expect("a row");
    let (_, said) = refused(&mut client, "restore table d.t into d.x");
    assert!(said.contains("the archive of the log lacks what comes behind LSN"), "{said}");
    assert!(server.log().contains("lacks the log from LSN"), "{}", server.log());
    assert_eq!(left(&work(&server)), 0);
}
