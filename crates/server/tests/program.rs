//! The program from outside: its options, its start, its end.

mod support;

use std::fs;
use std::process::Output;
use std::time::Duration;

use support::{TestDirectory, TestServer, evenkeel};

fn run(directory: &TestDirectory, arguments: &[&str]) -> (Output, String, String) {
    let output = evenkeel(directory).args(arguments).output().expect("the program was built");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    (output, out, error)
}

#[test]
fn help_and_version_tell() {
    let directory = TestDirectory::new();
    let (output, text, _) = run(&directory, &["--help"]);
    assert!(output.status.success() && text.contains("--innodb-buffer-pool-size=SIZE"), "{text}");
    let (output, text, _) = run(&directory, &["--version"]);
    assert!(output.status.success() && text.starts_with("evenkeel  Ver "), "{text}");
    assert!(!directory.path().join("data").exists(), "asking creates nothing");
}

#[test]
fn wrong_options_are_clear_errors() {
    let directory = TestDirectory::new();
    let (output, _, error) = run(&directory, &["--inodb-buffer-pool-size=1G"]);
    assert!(!output.status.success());
    assert!(error.contains("did you mean '--innodb-buffer-pool-size'?"), "{error}");
    assert!(!directory.path().join("data").exists(), "nothing was begun");
}

#[test]
fn a_second_server_on_the_directory_is_refused() {
    let server = TestServer::start(&[]);
    let (output, _, error) = run(&server.directory, &["--port=0"]);
    assert!(!output.status.success());
    assert!(error.contains("another server"), "{error}");
    server.log_in().ping().expect("the first is undisturbed");
}

#[test]
fn a_taken_port_is_a_clear_error() {
    let server = TestServer::start(&[]);
    let other = TestDirectory::new();
    let (output, _, error) = run(&other, &[&format!("--port={}", server.port)]);
    assert!(!output.status.success());
    assert!(error.contains("another program does"), "{error}");
}

#[test]
fn signals_stop_it_cleanly_with_clients_connected() {
    let server = TestServer::start(&[]);
    let clients: Vec<_> = (0..20).map(|_| server.log_in()).collect();
    let half_open: Vec<_> = (0..5).map(|_| server.connect()).collect();
    let (status, took, directory) = server.terminate();
    assert!(status.success(), "{status}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert!(!directory.path().join("sock").exists(), "the socket file is gone");
    drop((clients, half_open));
    let again = TestServer::start_in(directory, &[]);
    again.log_in().ping().expect("it starts again");
}

#[test]
fn a_killed_server_starts_again() {
    let server = TestServer::start(&[]);
    let directory = server.kill_nine();
    assert!(directory.path().join("sock").exists(), "a killed process cannot clean up");
    TestServer::start_in(directory, &[]).log_in().ping().expect("the stale socket file is replaced");
}

#[test]
fn the_first_start_warns_about_a_missing_password_and_takes_one() {
    let server = TestServer::start(&[]);
    assert!(server.log().contains("[Warning] root@localhost has no password"));

    let directory = TestDirectory::new();
    let file = directory.path().join("password");
    fs::write(&file, "secret\n").expect("writable");
    let option = format!("--initial-root-password-file={}", file.display());
    let server = TestServer::start_in(directory, &[&option]);
    assert!(!server.log().contains("has no password"));
    assert_eq!(server.connect().log_in("root").map_err(|error| error.number), Err(1045));
}

#[test]
fn others_may_not_come_while_root_has_no_password() {
    let directory = TestDirectory::new();
    let (output, _, error) = run(&directory, &["--port=0", "--bind-address=0.0.0.0"]);
    assert!(!output.status.success());
    assert!(error.contains("has no password"), "{error}");
}

#[test]
fn option_files_are_read() {
    let directory = TestDirectory::new();
    let file = directory.path().join("my.cnf");
    fs::write(&file, "[mysqld]\nmax_connections = 1\nskip-log-bin\nloose-unheard-of = 1\n")
        .expect("writable");
    let option = format!("--defaults-file={}", file.display());
    let server = TestServer::start_in(directory, &[&option]);
    let held = (server.log_in(), server.log_in());
    assert_eq!(server.connect().log_in("root").map_err(|error| error.number), Err(1040));
    assert!(server.log().contains("unknown option 'loose-unheard-of' ignored"), "{}", server.log());
    drop(held);
}

#[test]
fn every_option_can_be_given_its_default() {
    let directory = TestDirectory::new();
    let (_, help, _) = run(&directory, &["--help"]);
    let mut options = Vec::new();
    for line in help.lines() {
        let Some((option, rest)) = line.trim().split_once('=').filter(|_| line.starts_with("  --")) else {
            continue;
        };
        let default = rest.split_once("(default ").map(|(_, default)| default.trim_end_matches(')'));
        // The harness chooses these three itself.
        if let Some(default) = default
            && !["--datadir", "--port", "--socket"].contains(&option)
        {
            options.push(format!("{option}={default}"));
        }
    }
    assert!(options.len() > 30, "{help}");
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    TestServer::start_in(directory, &options).log_in().ping().expect("served");
}

#[test]
fn single_waits_for_files_are_told() {
    let server = TestServer::start(&[]);
    let mut client = server.log_in();
    client.execute_all(&[
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY)",
        "INSERT INTO d.t VALUES (1)",
    ]);
    let count = |client: &mut support::RawClient, of: &str| {
        support::number(client, &format!("SELECT COUNT(*) FROM {of}"))
    };
    assert_eq!(count(&mut client, "sys.latest_file_io"), 0, "nothing is made by default");
    client.execute_all(&[
        "UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name LIKE 'events_waits%'",
        "INSERT INTO d.t VALUES (2)",
        "UPDATE performance_schema.setup_consumers SET enabled = 'NO' WHERE name LIKE 'events_waits%'",
        "INSERT INTO d.t VALUES (3)",
    ]);
    let rows = client.query(
        "SELECT event_name, SUBSTRING_INDEX(object_name, '/', -1), object_type, operation, timer_wait > 0, \
         end_event_id >= event_id, nesting_event_type FROM performance_schema.events_waits_history_long \
         WHERE event_name LIKE 'wait/io/file/%'",
    );
    let wanted = ["wait/io/file/innodb/innodb_log_file", "log", "FILE", "sync", "1", "1", "STATEMENT"];
    let wanted = wanted.map(|text| Some(text.to_owned())).to_vec();
    assert_eq!(rows.expect("rows"), [wanted]);
    let rows = client.query("SELECT file, operation FROM sys.latest_file_io").expect("rows");
    assert_eq!(rows, [[Some("@@datadir/log".to_owned()), Some("sync".to_owned())]]);
}
