//! The log's archive and `evenkeel restore` on a real server: backups and archived log give the state of an LSN and of a time; kills in
//! between and a damaged archive are dealt with.

mod support;

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use support::{RawClient, TestDirectory, TestServer, evenkeel, number, run_program};

fn start(directory: TestDirectory, archive: &Path) -> TestServer {
    start_with(directory, archive, &[])
}

fn start_with(directory: TestDirectory, archive: &Path, more: &[&str]) -> TestServer {
    let archive = format!("--log-archive-dir={}", archive.display());
    let options = ["--innodb-redo-log-capacity=8M", "--innodb-buffer-pool-size=8M", &archive];
    TestServer::start_in(directory, &[&options, more].concat())
}

/// One more update, and where the log ends behind it.
fn count(client: &mut RawClient) -> u64 {
    client.execute("update d.counter set n = n + 1").expect("an update");
    client.execute("insert into d.t (filler) values (repeat(uuid(), 100))").expect("a row");
    number(client, "show global status like 'Innodb_redo_log_current_lsn'")
}

/// Restores and answers what the counter says and how many rows there are.
fn restored(place: &TestDirectory, backup: &str, archive: &Path, until: &str) -> (u64, u64) {
    let to = TestDirectory::new();
    let data = to.path().join("data").display().to_string();
    let archive = archive.display().to_string();
    let words = ["restore", "--from", backup, "--to", &data, "--archive", &archive, "--until", until];
    let (is_good, said) = run_program(place, &words);
    assert!(is_good, "{said}");
    let (is_sound, said) = run_program(place, &["verify", &data]);
    assert!(is_sound, "{said}");
    let server = TestServer::start_in(to, &[]);
    let mut client = server.log_in();
    let counted = number(&mut client, "select n from d.counter");
    (counted, number(&mut client, "select count(*) from d.t"))
}

fn unix_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_micros() as u64
}

#[test]
fn a_backup_and_the_archive_give_the_state_of_a_moment() {
    let place = TestDirectory::new();
    let archive = place.path().join("archive");
    let server = start(TestDirectory::new(), &archive);
    let mut client = server.log_in();
    client.execute("create database d").expect("a database");
    client.execute("create table d.counter (n bigint)").expect("a table");
    client.execute("create table d.t (id int auto_increment primary key, filler text)").expect("a table");
    client.execute("insert into d.counter values (0)").expect("a row");
    let backup = place.path().join("backup").display().to_string();
    let dsn = format!("mysql://root@127.0.0.1:{}", server.port);
    let (is_good, said) = run_program(&place, &["backup", "--dsn", &dsn, "--to", &backup]);
    assert!(is_good, "{said}");
    let mut lsns: Vec<u64> = (0..400).map(|_| count(&mut client)).collect();
    let zone = "select date_format(now(6), '%Y-%m-%d %H:%i:%s.%f')";
    let moment = client.query(zone).expect("a time")[0][0].clone().expect("a text");
    let moment_us = unix_us();
    std::thread::sleep(Duration::from_millis(5));
    drop(client);
    // A kill leaves the archive where it was; the next start completes it.
    let server = start(server.kill_nine(), &archive);
    let mut client = server.log_in();
    lsns.extend((0..400).map(|_| count(&mut client)));
    assert!(unix_us() > moment_us);
    drop(client);
    let (status, _, _directory) = server.terminate();
    assert!(status.success());
    for state in [3, 399, 400, 401, 800] {
        let found = restored(&place, &backup, &archive, &lsns[state - 1].to_string());
        let rows = found.1;
        assert_eq!(found, (state as u64, state as u64), "{rows} rows at LSN {}", lsns[state - 1]);
    }
    assert_eq!(restored(&place, &backup, &archive, &moment), (400, 400), "as of {moment}");
    let archive = archive.display().to_string();
    let (is_sound, said) = run_program(&place, &["verify", &archive]);
    assert!(is_sound && said.contains("commits of"), "{said}");
    let to = place.path().join("no").display().to_string();
    let (is_good, said) = run_program(
        &place,
        &["restore", "--from", &backup, "--to", &to, "--archive", &archive, "--until", "1"],
    );
    assert!(!is_good && said.contains("an older backup is needed"), "{said}");
    assert!(!Path::new(&to).exists(), "nothing is left");
}

/// The set's one interval of the server's own transactions: its source and its end.
fn executed(client: &mut RawClient) -> (String, u64) {
    let set = client.query("select @@global.gtid_executed").expect("a set")[0][0].clone().expect("a text");
    let own = set.split(",\n").find(|part| !part.starts_with(OTHER)).expect("a source").to_owned();
    let (source, numbers) = own.split_once(':').expect("a source");
    (source.to_owned(), numbers.rsplit('-').next().expect("a number").parse().expect("a number"))
}

const OTHER: &str = "0f0f0f0f-0000-0000-0000-00000000000f";

#[test]
fn a_transaction_is_a_moment() {
    const BINARY_LOG: &[&str] = &["--log-bin", "--gtid-mode=ON", "--max-binlog-size=100000"];
    let place = TestDirectory::new();
    let archive = place.path().join("archive");
    let server = start_with(TestDirectory::new(), &archive, BINARY_LOG);
    let mut client = server.log_in();
    client.execute("create database d").expect("a database");
    client.execute("create table d.counter (n bigint)").expect("a table");
    client.execute("create table d.t (id int auto_increment primary key, filler longtext)").expect("a table");
    client.execute("insert into d.counter values (0)").expect("a row");
    for _ in 0..20 {
        count(&mut client);
    }
    let backup = place.path().join("backup").display().to_string();
    let dsn = format!("mysql://root@127.0.0.1:{}", server.port);
    let (is_good, said) = run_program(&place, &["backup", "--dsn", &dsn, "--to", &backup]);
    assert!(is_good, "{said}");
    let mut numbers = Vec::new();
    let mut work = |client: &mut RawClient, states: std::ops::Range<u64>| {
        for state in states {
            count(client);
            // One whose events are pieces in the log, one whose events are a file.
            match state {
                25 => client.execute("update d.t set filler = repeat('p', 300000) where id = 1"),
                26 => client.execute("update d.t set filler = repeat('f', 2000000) where id = 2"),
                _ => Ok(()),
            }
            .expect("an update");
            numbers.push((state, executed(client)));
        }
    };
    work(&mut client, 21..60);
    client.execute(&format!("set gtid_next = '{OTHER}:5'")).expect("an identifier");
    client.execute("insert into d.t (filler) values ('given')").expect("a row");
    client.execute("set gtid_next = 'automatic'").expect("no identifier");
    client.execute("delete from d.t where filler = 'given'").expect("a row");
    let server = start_with(server.kill_nine(), &archive, BINARY_LOG);
    let mut client = server.log_in();
    work(&mut client, 60..100);
    drop(client);
    let (status, _, _directory) = server.terminate();
    assert!(status.success());
    for (state, (source, number)) in numbers.iter().filter(|(state, _)| [21, 24, 59, 60, 99].contains(state))
    {
        let until = format!("gtid:{source}:{number}");
        assert_eq!(restored(&place, &backup, &archive, &until), (*state, *state), "{until}");
        let before = format!("before-gtid:{source}:{number}");
        assert_eq!(restored(&place, &backup, &archive, &before), (*state, state - 1), "{before}");
    }
    let given = format!("gtid:{OTHER}:5");
    assert_eq!(restored(&place, &backup, &archive, &given), (59, 60), "{given}");
    let to = place.path().join("no").display().to_string();
    let archive = archive.display().to_string();
    let source = &numbers[0].1.0;
    for (until, reason) in [
        (format!("gtid:{source}:3"), "an older backup is needed"),
        (format!("gtid:{source}:1000000"), "there is no transaction"),
        (format!("gtid:{OTHER}:4"), "there is no transaction"),
    ] {
        let words = ["restore", "--from", &backup, "--to", &to, "--archive", &archive, "--until", &until];
        let (is_good, said) = run_program(&place, &words);
        assert!(!is_good && said.contains(reason), "{until}: {said}");
    }
}

#[test]
fn another_history_is_refused() {
    let place = TestDirectory::new();
    let archive = place.path().join("archive");
    let server = start(TestDirectory::new(), &archive);
    server.log_in().execute("create database d").expect("a database");
    assert!(server.terminate().0.success());
    // Another server with the same archive.
    let other = TestDirectory::new();
    let option = format!("--log-archive-dir={}", archive.display());
    let output = evenkeel(&other).arg("--port=0").arg(option).output().expect("the program was built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("use another folder"), "{said}");
}

#[test]
fn a_table_comes_back_beside_itself() {
    let place = TestDirectory::new();
    let archive = place.path().join("archive");
    let server = start(TestDirectory::new(), &archive);
    let mut client = server.log_in();
    for statement in [
        "create database d",
        "create table d.counter (n bigint)",
        "create table d.t (id int auto_increment primary key, filler text)",
        "create table d.kinds (id int auto_increment primary key, f float, d double, b varbinary(20), \
         t varchar(50) character set latin1, j json, e enum('one', 'two'), bits bit(9), moment timestamp(3) null, \
         parent int, doubled int generated always as (parent * 2) stored, key (t, f), check (parent < 1000000), \
         foreign key (parent) references d.t (id))",
        "insert into d.counter values (0)",
        "insert into d.t (id) values (1)",
        "insert into d.kinds (f, d, b, t, j, e, bits, moment, parent) values \
         (0.1, 1e-300, x'00ff27', 'caf\u{e9} ''\\\\', '{\"a\": [1, null]}', 'two', b'101010101', '2026-03-02 14:03:00.125', 1), \
         (3.4e38, null, null, null, null, null, null, null, null)",
    ] {
        client.execute(statement).unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }
    let backup = place.path().join("full.ekb").display().to_string();
    let dsn = format!("mysql://root@127.0.0.1:{}", server.port);
    let (is_good, said) = run_program(&place, &["backup", "--dsn", &dsn, "--to-file", &backup]);
    assert!(is_good, "{said}");
    for _ in 0..12 {
        client
            .execute("insert into d.kinds (f, d, b, t, j, e, bits, moment, parent) select f, d + id, b, t, j, e, bits, moment, parent from d.kinds")
            .expect("rows");
    }
    let sum = |client: &mut RawClient, table: &str| {
        client.query(&format!("checksum table d.{table}")).expect("a sum")[0][1].clone()
    };
    let before = sum(&mut client, "kinds");
    let lsn = number(&mut client, "show global status like 'Innodb_redo_log_current_lsn'").to_string();
    client.execute("delete from d.kinds where id % 3 = 0").expect("a mistake");
    count(&mut client);
    std::thread::sleep(Duration::from_millis(1500));
    let (archive, work) = (archive.display().to_string(), place.path().join("work"));
    std::fs::create_dir(&work).expect("a directory");
    let work_name = work.display().to_string();
    let restore = |new: &str| {
        let words = ["restore-table", "--dsn", &dsn, "--table=d.kinds", "--as", new, "--from", &backup];
        let moment = ["--archive", &archive, "--until", &lsn, "--work", &work_name];
        run_program(&place, &[&words[..], &moment].concat())
    };
    let (is_good, said) = restore("d.before");
    assert!(is_good && said.contains("8192 rows"), "{said}");
    assert_eq!(sum(&mut client, "before"), before);
    assert_ne!(sum(&mut client, "kinds"), before);
    let made = client.query("show create table d.before").expect("a table")[0][1].clone().expect("a text");
    assert!(made.contains("CHECK") && !made.contains("FOREIGN KEY"), "{made}");
    let (is_good, said) = restore("d.before");
    assert!(!is_good && said.contains("is there already"), "{said}");
    let (is_good, said) = restore("absent.before");
    assert!(!is_good, "{said}");
    client.execute("create table d.other_restoring (id int)").expect("a table");
    let (is_good, said) = restore("d.other");
    assert!(!is_good && said.contains("other_restoring"), "{said}");
    assert_eq!(number(&mut client, "select count(*) from d.other_restoring"), 0);
    assert_eq!(std::fs::read_dir(&work).expect("a directory").count(), 0, "nothing is left");
}
