//! Unmodified sysbench against the server: every OLTP script, few and many clients, both kinds of statements.
//!
//! EVENKEEL_SYSBENCH_SECONDS (1) is the time of each run, EVENKEEL_SYSBENCH_ROWS (2000) the rows of a table.
//! Deadlock victims are sysbench's own ignored errors; anything else fails the test.

mod support;

use std::process::Command;

use support::TestServer;

const TABLES: &str = "--tables=1";
const SCRIPTS: [&str; 10] = [
    "oltp_read_write",
    "oltp_read_only",
    "oltp_write_only",
    "oltp_point_select",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
    "select_random_points",
    "select_random_ranges",
];

fn setting(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

fn sysbench(server: &TestServer, script: &str, threads: u32, mode: &str, action: &str) -> String {
    let output = Command::new("sysbench")
        .arg(script)
        .args([
            "--db-driver=mysql",
            "--mysql-host=127.0.0.1",
            "--mysql-user=root",
            "--mysql-db=sbtest",
            TABLES,
        ])
        .arg(format!("--mysql-port={}", server.port))
        .arg(format!("--table-size={}", setting("EVENKEEL_SYSBENCH_ROWS", "2000")))
        .arg(format!("--time={}", setting("EVENKEEL_SYSBENCH_SECONDS", "1")))
        .arg(format!("--threads={threads}"))
        .arg(format!("--db-ps-mode={mode}"))
        .arg(action)
        .output()
        .expect("sysbench can be started");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script} {action} with {threads} threads, ps {mode}: {text}");
    assert!(!text.contains("FATAL"), "{script} {action}: {text}");
    text
}

fn is_present() -> bool {
    let present =
        Command::new("sysbench").arg("--version").output().is_ok_and(|output| output.status.success());
    if !present {
        println!("skipped: sysbench absent");
    }
    present
}

fn server() -> TestServer {
    let server = TestServer::start(&["--max-connections=2000"]);
    server.log_in().execute("CREATE DATABASE sbtest").expect("created");
    server
}

fn transaction_count(text: &str) -> u64 {
    let line = text.lines().find(|line| line.trim_start().starts_with("transactions:"));
    line.and_then(|line| line.split_whitespace().nth(1)).and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[test]
fn every_oltp_script_runs_without_errors() {
    if !is_present() {
        return;
    }
    let server = server();
    for script in SCRIPTS {
        sysbench(&server, script, 2, "auto", "prepare");
        for (threads, mode) in [(1, "auto"), (1, "disable"), (16, "auto"), (16, "disable")] {
            let text = sysbench(&server, script, threads, mode, "run");
            let count = transaction_count(&text);
            assert!(count > 0, "{script}: {text}");
            println!("{script}, {threads} threads, ps {mode}: {count} transactions");
        }
        sysbench(&server, script, 2, "auto", "cleanup");
    }
}

#[test]
fn bulk_insert_runs_without_errors() {
    if !is_present() {
        return;
    }
    let server = server();
    sysbench(&server, "bulk_insert", 4, "auto", "prepare");
    let text = sysbench(&server, "bulk_insert", 4, "auto", "run");
    let count = transaction_count(&text);
    assert!(count > 0, "{text}");
    println!("bulk_insert: {count}");
    sysbench(&server, "bulk_insert", 4, "auto", "cleanup");
}

#[test]
fn a_thousand_clients_are_served() {
    if !is_present() {
        return;
    }
    let server = server();
    sysbench(&server, "oltp_point_select", 2, "auto", "prepare");
    let text = sysbench(&server, "oltp_point_select", 1024, "auto", "run");
    println!("1024 clients: {} transactions", transaction_count(&text));
}
