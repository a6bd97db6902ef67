//! Pages that decay under a running server: with a backup and the archive they are repaired and the statements go on; without, they are
//! errors as ever, until a backup comes and somebody asks.

mod support;

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use support::{RawClient, TestDirectory, TestServer, number, run_program};

/// Flips a bit in each page that has the text, under a server.
fn damage(directory: &Path, text: &str) -> usize {
    const PAGE_BYTES: usize = 8192;
    let path: PathBuf = directory.join("data/data/pages.db");
    let content = std::fs::read(&path).expect("readable");
    let file = OpenOptions::new().write(true).open(&path).expect("writable");
    let mut pages: Vec<usize> = (0..content.len().saturating_sub(text.len()))
        .filter(|at| content[*at..].starts_with(text.as_bytes()))
        .map(|at| at / PAGE_BYTES)
        .collect();
    pages.dedup();
    for page in &pages {
        let at = page * PAGE_BYTES + 5000;
        file.write_all_at(&[content[at] ^ 4], at as u64).expect("writable");
    }
    file.sync_all().expect("written");
    pages.len()
}

fn fill(client: &mut RawClient) {
    client.execute_all(&[
        "create database d",
        "create table d.t (id int primary key, n int, filler varchar(400), key kk (n))",
    ]);
    let rows: Vec<String> =
        (0..2000).map(|id| format!("({id}, {id}, '{}row {id} of t')", "x".repeat(200))).collect();
    client.execute(&format!("insert into d.t values {}", rows.join(","))).expect("rows");
}

const COLD: &str = "--innodb-buffer-pool-load-at-startup=OFF";

fn back_up(place: &TestDirectory, server: &TestServer, words: &[&str]) {
    let dsn = format!("mysql://root@127.0.0.1:{}", server.port);
    let (is_good, said) = run_program(place, &[&["backup", "--dsn", &dsn], words].concat());
    assert!(is_good, "{said}");
}

fn sum(client: &mut RawClient) -> Option<String> {
    client.query("checksum table d.t").expect("a sum")[0][1].clone()
}

/// Stops the server in an orderly way, so that all pages lie on disk, and starts it with none in memory.
fn chill(server: TestServer, options: &[&str]) -> TestServer {
    let (status, _, directory) = server.terminate();
    assert!(status.success());
    TestServer::start_in(directory, &[options, &[COLD]].concat())
}

#[test]
fn damaged_pages_are_made_again_while_statements_wait() {
    let place = TestDirectory::new();
    let backups = place.path().join("backups");
    std::fs::create_dir(&backups).expect("writable");
    let archive = format!("--log-archive-dir={}", place.path().join("archive").display());
    let options =
        [&*archive, &format!("--backup-dir={}", backups.display()), "--innodb-redo-log-capacity=8M"];
    let server = TestServer::start_in(TestDirectory::new(), &options);
    let mut client = server.log_in();
    fill(&mut client);
    let full = backups.join("full.ekb").display().to_string();
    back_up(&place, &server, &["--to-file", &full, "--compress"]);
    client.execute("update d.t set n = n + 10000 where id % 7 = 0").expect("changes");
    drop(client);
    let server = chill(server, &options);
    let one = backups.join("one.ekb").display().to_string();
    back_up(&place, &server, &["--to-file", &one, "--incremental-from", &full]);
    let mut client = server.log_in();
    client
        .execute("update d.t set filler = concat(filler, ' again') where id % 50 = 3")
        .expect("more changes");
    let before = sum(&mut client);
    drop(client);
    let server = chill(server, &options);
    let damaged = damage(server.directory.path(), "row 203 of t again")
        + damage(server.directory.path(), "row 1700 of t");
    assert!(damaged >= 2);
    let mut client = server.log_in();
    assert_eq!(sum(&mut client), before);
    let rows = client.query("select n, right(filler, 18) from d.t where id = 203").expect("the row");
    assert_eq!(rows[0], [Some("10203".to_owned()), Some("row 203 of t again".to_owned())]);
    let log = server.log();
    assert!(log.matches("it was repaired and is as of LSN").count() >= damaged, "{log}");
    assert!(log.contains("one.ekb and the log"), "{log}");
    client.execute("update d.t set n = 0 where id = 203").expect("and can be changed");
    drop(client);
    let (status, _, directory) = server.terminate();
    assert!(status.success());
    let data = directory.path().join("data").display().to_string();
    let (is_sound, said) = run_program(&place, &["verify", &data]);
    assert!(is_sound, "{said}");
}

#[test]
fn without_a_backup_it_is_an_error_until_one_comes() {
    let place = TestDirectory::new();
    let backups = place.path().join("backups");
    std::fs::create_dir(&backups).expect("writable");
    let server = TestServer::start_in(TestDirectory::new(), &[]);
    let mut client = server.log_in();
    fill(&mut client);
    let elsewhere = place.path().join("copy").display().to_string();
    back_up(&place, &server, &["--to", &elsewhere]);
    client.execute("update d.t set filler = concat(filler, ' again') where id = 203").expect("a change");
    let before = sum(&mut client);
    drop(client);
    let mut server = chill(server, &[]);
    assert!(damage(server.directory.path(), "row 203 of t again") >= 1);
    let mut client = server.log_in();
    let text = "select filler from d.t where id = 203";
    assert_eq!(client.query(text).expect_err("it is damaged").number, 1712);
    drop(client);
    let with_backups = [&*format!("--backup-dir={}", backups.display())];
    // The start has taken the page from the doublewrite file, where its last write was. Once in a while it still has it in memory from there.
    let mut starts = 0;
    let (server, mut client) = loop {
        let next = chill(server, &with_backups);
        assert!(damage(next.directory.path(), "row 203 of t again") >= 1);
        let mut client = next.log_in();
        match client.query(text) {
            Err(error) => {
                assert_eq!(error.number, 1712, "it is damaged again");
                break (next, client);
            }
            Ok(_) => server = next,
        }
        starts += 1;
        assert!(starts < 5, "nobody notices the damage");
    };
    let log = server.log();
    assert!(
        log.contains("it cannot be repaired: there is no backup in")
            && log.contains("ALTER INSTANCE REPAIR PAGE"),
        "{log}"
    );
    let line = log.lines().find(|line| line.contains("it cannot be repaired")).expect("a line");
    let digits = line.split("page ").nth(1).expect("it is named").chars().take_while(char::is_ascii_digit);
    let page: u64 = digits.collect::<String>().parse().expect("a number");
    std::fs::rename(&elsewhere, backups.join("copy")).expect("a backup is found");
    assert_eq!(client.query(text).expect_err("nobody has asked").number, 1712);
    client.execute("create user u").expect("a user");
    let mut other = server.connect();
    other.log_in("u").expect("no password");
    let repair = format!("alter instance repair page {page}");
    assert_eq!(other.execute(&repair).expect_err("a privilege is needed").number, 1227);
    client.execute(&repair).expect("it is repaired");
    assert_eq!(client.query(text).expect("it is there").len(), 1);
    assert_eq!(sum(&mut client), before);
    assert_eq!(client.execute("alter instance repair page 99999999").expect_err("no such page").number, 1105);
    assert_eq!(number(&mut client, "select count(*) from d.t"), 2000);
    // What never was is none of the server's.
    assert!(!server.log().contains("page 99999999"));
}
