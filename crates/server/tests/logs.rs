//! The logs of the real program read back: slow log as a digester of logs reads it, general log, audit log, new files
//! after a rename, and the error log's forms.
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use support::{TestDirectory, TestServer};

/// One record of a slow log.
#[derive(Debug, Default)]
struct Record {
    time: String,
    user: String,
    database: String,
    numbers: BTreeMap<String, f64>,
    text: String,
}

/// Reads a slow log as pt-query-digest does: `#` lines of attributes, then `use`, `SET timestamp` and the statement.
fn read_slow_log(text: &str) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    for line in text.lines() {
        if let Some(time) = line.strip_prefix("# Time: ") {
            records.push(Record { time: time.to_owned(), ..Record::default() });
            continue;
        }
        let Some(record) = records.last_mut() else { continue };
        if let Some(user) = line.strip_prefix("# User@Host: ") {
            record.user = user.split('[').next().unwrap_or_default().to_owned();
        } else if let Some(attributes) = line.strip_prefix('#') {
            let words: Vec<&str> = attributes.split_whitespace().collect();
            for pair in words.windows(2).filter(|pair| pair[0].ends_with(':')) {
                if let Ok(number) = pair[1].parse() {
                    record.numbers.insert(pair[0].trim_end_matches(':').to_owned(), number);
                }
            }
        } else if let Some(database) = line.strip_prefix("use ") {
            record.database = database.trim_end_matches(';').to_owned();
        } else if !line.starts_with("SET timestamp=") {
            record.text.push_str(line);
        }
    }
    records
}

/// The file's text once it holds `wanted`: records are written behind the statements.
fn wait_for(path: &Path, wanted: &str) -> String {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.contains(wanted) || Instant::now() > deadline {
            assert!(text.contains(wanted), "{} lacks {wanted}: {text}", path.display());
            return text;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn data(server: &TestServer) -> PathBuf {
    server.directory.path().join("data")
}

#[test]
fn a_digester_reads_the_slow_log() {
    let options = ["--slow-query-log=ON", "--long-query-time=0", "--slow-query-log-file=slow.log"];
    let server =
        TestServer::start(&[&options[..], &["--log-slow-extra=ON", "--log-slow-verbosity=full"]].concat());
    let mut client = server.log_in();
    client.execute_all(&[
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY, b INT)",
        "INSERT INTO t VALUES (1, 2), (2, 3), (3, 4)",
    ]);
    client.query("SELECT * FROM t WHERE b > 2").expect("rows");
    client.execute("SELECT nosuch FROM t").expect_err("no such column");
    client.query("SELECT SLEEP(0.02), 'end'").expect("rows");
    let text = wait_for(&data(&server).join("slow.log"), "SELECT SLEEP(0.02), 'end'");
    assert!(text.starts_with("evenkeel, Version: "), "{text}");
    let records = read_slow_log(&text);
    let find = |text: &str| records.iter().find(|record| record.text.starts_with(text)).expect("a record");
    let select = find("SELECT * FROM t");
    assert_eq!((select.user.as_str(), select.database.as_str()), ("root", "d"));
    assert!(select.time.ends_with('Z'));
    let number = |record: &Record, name: &str| record.numbers.get(name).copied().expect("an attribute");
    assert_eq!(number(select, "Rows_sent"), 2.0);
    assert_eq!(number(select, "Rows_examined"), 3.0);
    assert_eq!(number(select, "Errno"), 0.0);
    assert!(number(find("SELECT SLEEP"), "Query_time") >= 0.02);
    assert_eq!(number(find("SELECT nosuch"), "Errno"), 1054.0);
    assert_eq!(number(find("INSERT INTO t"), "Rows_affected"), 3.0);
    // Definitions are in it with log_slow_admin_statements only, but CREATE TABLE is none of those.
    find("CREATE TABLE t");
}

#[test]
fn what_is_quick_or_looks_at_few_rows_is_not_in_the_slow_log() {
    let server = TestServer::start(&["--slow-query-log-file=slow.log"]);
    let mut client = server.log_in();
    client.execute_all(&[
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)",
        "INSERT INTO d.t VALUES (1, 2), (2, 3), (3, 4)",
        "SET GLOBAL slow_query_log = ON",
        "SET GLOBAL log_queries_not_using_indexes = ON",
        "SET min_examined_row_limit = 3",
    ]);
    for text in ["SELECT 1", "SELECT * FROM d.t WHERE a = 1", "SELECT * FROM d.t WHERE b = 2"] {
        client.query(text).expect("rows");
    }
    let text = wait_for(&data(&server).join("slow.log"), "WHERE b = 2");
    assert_eq!(read_slow_log(&text).len(), 1, "{text}");
}

#[test]
fn the_general_log_goes_on_in_a_new_file_after_a_rename() {
    let server = TestServer::start(&["--general-log=ON", "--general-log-file=all.log"]);
    let mut client = server.log_in();
    client.execute("SET @first = 1").expect("set");
    let path = data(&server).join("all.log");
    let text = wait_for(&path, "SET @first = 1");
    let line = text.lines().find(|line| line.contains("SET @first")).expect("a line");
    let fields: Vec<&str> = line.split('\t').collect();
    assert_eq!(fields.len(), 3, "{line}");
    assert!(fields[1].ends_with(" Query"), "{line}");
    assert!(text.contains(" Connect\troot@"), "{text}");
    std::fs::rename(&path, data(&server).join("all.old")).expect("renamed");
    client.execute("FLUSH GENERAL LOGS").expect("flushed");
    client.execute("SET @second = 2").expect("set");
    wait_for(&path, "SET @second = 2");
    wait_for(&data(&server).join("all.old"), "FLUSH GENERAL LOGS");
    client.execute("SET GLOBAL general_log_file = '/no/such/folder/x'").expect_err("error 1231");
}

#[test]
fn both_logs_are_tables_when_the_output_says_so() {
    let server = TestServer::start(&["--log-output=TABLE", "--general-log=ON", "--slow-query-log=ON"]);
    let mut client = server.log_in();
    client.execute_all(&["SET long_query_time = 0", "DO 7"]);
    let rows = client.query("SELECT argument, command_type FROM mysql.general_log WHERE argument LIKE 'DO%'");
    assert_eq!(rows.expect("rows"), [[Some("DO 7".to_owned()), Some("Query".to_owned())]]);
    let rows = client.query("SELECT sql_text, rows_sent FROM mysql.slow_log WHERE sql_text = 'DO 7'");
    assert_eq!(rows.expect("rows"), [[Some("DO 7".to_owned()), Some("0".to_owned())]]);
    client.execute("TRUNCATE mysql.slow_log").expect("emptied");
    let rows = client.query("SELECT COUNT(*) FROM mysql.slow_log WHERE sql_text = 'DO 7'");
    assert_eq!(rows.expect("rows"), [[Some("0".to_owned())]]);
}

#[test]
fn the_audit_log_has_logins_and_statements_without_passwords() {
    let server = TestServer::start(&["--audit-log-policy=ALL", "--audit-log-exclude-commands=set_option"]);
    let mut client = server.log_in();
    client.execute_all(&["SET @a = 1", "CREATE USER u IDENTIFIED BY 'se\"cret'"]);
    client.query("SELECT 'x'").expect("rows");
    let text = wait_for(&data(&server).join("audit.log"), "SELECT 'x'");
    assert!(text.contains("\"name\":\"Connect\""), "{text}");
    assert!(!text.contains("cret") && !text.contains("@a"), "{text}");
    assert!(
        text.lines().all(|line| line.starts_with("{\"audit_record\":{") && line.ends_with("}}")),
        "{text}"
    );
}

#[test]
fn the_error_log_is_json_when_asked_and_renews_its_file_at_a_signal() {
    let server = TestServer::start(&[
        "--log-error-services=log_filter_internal; log_sink_json",
        "--log-error-verbosity=3",
    ]);
    let path = server.directory.path().join("log");
    let old = server.directory.path().join("log.old");
    std::fs::rename(&path, &old).expect("renamed");
    let hang_up =
        std::process::Command::new("kill").args(["-HUP", &server.process_id().to_string()]).status();
    assert!(hang_up.expect("kill runs").success());
    let deadline = Instant::now() + Duration::from_secs(20);
    while !path.exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut client = server.connect();
    client.log_in("nobody").expect_err("no such account");
    let text = wait_for(&path, "Access denied");
    assert!(text.starts_with("{ \"prio\" : 3, \"subsystem\" : \"Server\""), "{text}");
}

#[test]
fn the_error_log_is_a_table_too() {
    let server = TestServer::start(&["--log-error-verbosity=3"]);
    server.connect().log_in("nobody").expect_err("no such account");
    wait_for(&server.directory.path().join("log"), "Access denied");
    let mut client = server.log_in();
    let rows = client.query(
        "SELECT prio, subsystem FROM performance_schema.error_log WHERE data LIKE 'ready for connections%' \
         UNION ALL SELECT prio, logged > NOW() - INTERVAL 1 HOUR FROM performance_schema.error_log \
         WHERE data LIKE '%Access denied%'",
    );
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(rows.expect("rows"), [[text("System"), text("Server")], [text("Note"), text("1")]]);
    let rows = client.query("SHOW GLOBAL STATUS LIKE 'Error_log_buffered_events'").expect("rows");
    assert!(rows[0][1].as_ref().expect("a number").parse::<u64>().expect("a number") >= 2, "{rows:?}");
}

#[test]
fn shutdown_ends_the_program_and_restart_needs_a_supervisor() {
    let mut server = TestServer::start(&[]);
    let mut client = server.log_in();
    let refused = client.execute("RESTART").expect_err("nobody would start it again");
    assert_eq!(refused.number, 3707);
    client.execute("ALTER INSTANCE RELOAD TLS").expect("the certificate is still there");
    client.execute("SHUTDOWN").expect("answered first");
    let status = server.wait_for_end(Duration::from_secs(20)).expect("it ends");
    assert!(status.success(), "{status}");
    assert!(server.log().contains("SHUTDOWN of a client"), "{}", server.log());
}

#[test]
fn metrics_are_served_over_http() {
    use std::io::{Read, Write};
    let directory = TestDirectory::new();
    let probe = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = probe.local_addr().expect("bound").port();
    drop(probe);
    let server = TestServer::start_in(directory, &[&format!("--metrics-port={port}")]);
    let mut client = server.log_in();
    client.query("SELECT 1").expect("rows");
    let get = |path: &str| {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("connected");
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("read");
        answer
    };
    let answer = get("/metrics");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("# EOF\n"));
    assert!(answer.contains("\nmysql_global_status_threads_connected 1\n"), "{answer}");
    assert!(answer.contains("\nmysql_global_status_commands_total{command=\"select\"} "));
    assert!(answer.contains("\nevenkeel_statement_duration_seconds_count "));
    assert!(get("/").starts_with("HTTP/1.1 404"));
}
