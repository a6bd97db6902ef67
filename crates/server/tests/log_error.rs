//! The disk fails under the log of the real program: the server must end without trying again, must not have
//! acknowledged the commit that the failure hit, and the next start must have everything that it did acknowledge.
//!
//! A system-call tracer injects the error. It does not see what goes through io_uring, so it refuses that too, and
//! the server does its disk work on threads, as on any machine that forbids io_uring. Skipped where there is no
//! strace or no right to trace.

mod support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{RawClient, TestDirectory, TestServer};

/// The server looks once a second whether its store has failed.
const END_MAX: Duration = Duration::from_secs(15);
const TRACE_MAX: Duration = Duration::from_secs(15);
const COMMITS_MAX: u64 = 20_000;
/// More than one chunk of the log: then each is written and the file synced, else there is one write that is durable at its end.
const MANY_CHUNKS: u64 = 400_000;

/// Says past the test harness, which swallows what a passing test prints, that nothing was tested.
fn can_trace() -> bool {
    let mut probe = Command::new("strace");
    let probe = probe.args(["-o", "/dev/null", "true"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let reason = match probe {
        Ok(status) if status.success() => return true,
        Ok(_) => "strace may not trace here",
        Err(_) => "strace not installed",
    };
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("skipped: {reason}\n").as_bytes());
    false
}

/// A tracer that lets the `count`-th `call` of a thread fail and writes down what it sees. `-D` makes the server,
/// not the tracer, the process that was started.
fn tracer(trace: &Path, call: &str, count: u32) -> Command {
    let mut command = Command::new("strace");
    command.args(["-D", "-f", "-y", "--seccomp-bpf", "-e", "signal=none"]);
    command.arg("-o").arg(trace);
    command.args(["-e", "trace=io_uring_setup,fdatasync,pwrite64,pwritev2"]);
    command.args(["-e", "inject=io_uring_setup:error=EPERM"]);
    command.arg("-e").arg(format!("inject={call}:error=EIO:when={count}"));
    command
}

/// Inserts numbers with so many bytes, each a transaction, until one is not acknowledged; returns how many were.
fn insert_until_refused(server: &TestServer, padding: u64) -> u64 {
    let mut client = server.log_in();
    for number in 0..COMMITS_MAX {
        if client.execute(&format!("INSERT INTO d.t VALUES ({number}, REPEAT('x', {padding}))")).is_err() {
            return number;
        }
    }
    panic!("the error was never injected");
}

/// What the tracer wrote, once it has written all of it.
fn read_trace(path: &Path) -> String {
    let deadline = Instant::now() + TRACE_MAX;
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let last = text.lines().last().unwrap_or_default();
        if last.contains("+++") || Instant::now() > deadline {
            return text;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The path between the angle brackets behind the descriptor.
fn path_of(line: &str) -> &str {
    line.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map_or("", |(path, _)| path)
}

/// The file that the injected error hit; panics if the server touched that file again.
fn file_hit(trace: &str) -> String {
    let lines: Vec<&str> = trace.lines().collect();
    let hit = lines.iter().position(|line| line.contains("EIO") && line.contains("(INJECTED)"));
    let hit = hit.expect("an injected error");
    // A call during which other threads called is on two lines, of which the first has the path.
    let thread = lines[hit].split(' ').next();
    let begun =
        lines[..=hit].iter().rfind(|line| line.split(' ').next() == thread && !line.contains("resumed"));
    let path = begun.map(|line| path_of(line)).expect("the call has begun");
    let again = lines[hit + 1..].iter().find(|line| path_of(line) == path);
    assert_eq!(again, None, "after {}", lines[hit]);
    path.to_owned()
}

/// One failure at the `count`-th `call` of a thread; returns whether it hit the log.
fn one_failure(call: &str, count: u32, padding: u64) -> bool {
    let server = TestServer::start(&[]);
    let mut client = server.log_in();
    client.execute("CREATE DATABASE d").expect("created");
    client.execute("CREATE TABLE d.t (number BIGINT PRIMARY KEY, padding LONGTEXT)").expect("created");
    drop(client);
    let (_, _, directory) = server.terminate();
    let trace = directory.path().join("trace");
    let mut server = TestServer::start_under(directory, Some(tracer(&trace, call, count)), &[]);
    assert!(server.log().contains("disk work goes to a thread pool"), "{}", server.log());
    let acknowledged = insert_until_refused(&server, padding);
    no_further_commit(&server);
    let status = server.wait_for_end(END_MAX).expect("a server whose log has failed ends by itself");
    assert!(!status.success(), "{status}");
    assert!(server.log().contains("failed"), "{}", server.log());
    let path = file_hit(&read_trace(&trace));
    println!("{call} {count}: EIO on {path} after {acknowledged} commits, ended with {status}");
    all_is_there(server.kill_nine(), acknowledged);
    path.contains("/wal/")
}

/// Whoever is still let in gets no commit acknowledged.
fn no_further_commit(server: &TestServer) {
    let Ok(stream) = std::net::TcpStream::connect(("127.0.0.1", server.port)) else { return };
    let mut client = RawClient::new(stream);
    if client.log_in("root").is_ok() {
        client.execute("INSERT INTO d.t VALUES (-1, '')").expect_err("the log has failed");
    }
}

fn all_is_there(directory: TestDirectory, acknowledged: u64) {
    let server = TestServer::start_in(directory, &[]);
    let mut client = server.log_in();
    let rows = client.query("SELECT number FROM d.t ORDER BY number").expect("readable");
    let found: Vec<String> = rows.into_iter().filter_map(|mut row| row[0].take()).collect();
    let expected: Vec<String> = (0..acknowledged).map(|number| number.to_string()).collect();
    let (kept, beyond) = found.split_at(expected.len().min(found.len()));
    assert!(kept == expected, "{} of {acknowledged} acknowledged commits are there", found.len());
    // The commit that was hit may have reached the disk all the same; its client was not told either way.
    assert!(beyond.is_empty() || beyond == [acknowledged.to_string()], "{beyond:?}");
    client.execute("INSERT INTO d.t VALUES (-2, '')").expect("the disk is sound again");
}

#[test]
fn an_error_on_the_log_ends_the_server_and_loses_nothing() {
    if !can_trace() {
        return;
    }
    for (call, counts, padding) in [
        ("pwritev2", [60, 110], 0),
        ("fdatasync", [20, 40], MANY_CHUNKS),
        ("pwrite64", [60, 110], MANY_CHUNKS),
    ] {
        let hits = counts.into_iter().filter(|&count| one_failure(call, count, padding)).count();
        assert!(hits > 0, "no {call} of the log was hit");
    }
}
