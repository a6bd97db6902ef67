//! What a busy session costs in memory: prepared statements, a transaction with changes, their plans and buffers.

mod support;

use std::fs;
use std::process::Command;

use support::{RawClient, TestDirectory, TestServer};

const TABLE_COUNT: usize = 8;
const BATCH_COUNT: usize = 3;
const BATCH_SESSIONS: usize = 100;
/// A session's task, its statements' ids and types, its transaction. Plans and texts are shared by all sessions:
/// copies of them would take five times this.
const SESSION_BYTES_MAX: u64 = 52 * 1024;

/// The shapes of statements that common benchmarks and applications prepare for each of their tables; `?` are
/// integers.
const STATEMENTS: [&str; 9] = [
    "SELECT c FROM t# WHERE id = ?",
    "SELECT c FROM t# WHERE id BETWEEN ? AND ?",
    "SELECT SUM(k) FROM t# WHERE id BETWEEN ? AND ?",
    "SELECT c FROM t# WHERE id BETWEEN ? AND ? ORDER BY c",
    "SELECT DISTINCT c FROM t# WHERE id BETWEEN ? AND ? ORDER BY c",
    "UPDATE t# SET k = k + 1 WHERE id = ?",
    "UPDATE t# SET c = ? WHERE id = ?",
    "DELETE FROM t# WHERE id = ?",
    "INSERT INTO t# (id, k, c, pad) VALUES (?, ?, ?, ?)",
];

fn resident_bytes(server: &TestServer) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.process_id())).expect("on Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
    line.split_whitespace().nth(1).and_then(|size| size.parse::<u64>().ok()).expect("a number") * 1024
}

/// COM_STMT_PREPARE: the statement's id.
fn prepare(client: &mut RawClient, text: &str) -> u32 {
    client.send(0, &[b"\x16", text.as_bytes()].concat());
    let (_, head) = client.read().expect("an answer");
    assert_eq!(head[0], 0, "{text}: {}", String::from_utf8_lossy(&head));
    let word = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
    // The definitions of columns and parameters follow, without packets that end them.
    for _ in 0..word(5) + word(7) {
        client.read().expect("a definition");
    }
    u32::from_le_bytes([head[1], head[2], head[3], head[4]])
}

/// COM_STMT_EXECUTE with integers.
fn execute(client: &mut RawClient, statement: u32, values: &[i64]) {
    const BIGINT: u8 = 8;
    let mut payload = vec![0x17];
    payload.extend_from_slice(&statement.to_le_bytes());
    payload.extend_from_slice(&[0, 1, 0, 0, 0]);
    payload.extend(std::iter::repeat_n(0, values.len().div_ceil(8)));
    payload.push(1);
    payload.extend(values.iter().flat_map(|_| [BIGINT, 0]));
    payload.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    client.send(0, &payload);
    let (_, head) = client.read().expect("an answer");
    assert_ne!(head[0], 0xff, "{}", String::from_utf8_lossy(&head));
    if head[0] == 0 {
        return;
    }
    for _ in 0..head[0] {
        client.read().expect("a definition");
    }
    // Rows begin with a zero, the end with 0xfe.
    while client.read().expect("a row or the end").1[0] != 0xfe {}
}

/// Prepares everything, then runs each statement once on a table of its own, on rows that no other session
/// changes, and stays in its transaction.
fn become_busy(client: &mut RawClient, number: usize) {
    client.execute("USE d").expect("entered");
    let mut ids = Vec::new();
    for table in 1..=TABLE_COUNT {
        for statement in STATEMENTS {
            ids.push(prepare(client, &statement.replace('#', &table.to_string())));
        }
    }
    client.execute("BEGIN").expect("begun");
    let chosen = &ids[number % TABLE_COUNT * STATEMENTS.len()..][..STATEMENTS.len()];
    let id = (number / TABLE_COUNT) as i64 * 2 + 1;
    execute(client, chosen[0], &[id]);
    for range in &chosen[1..5] {
        execute(client, *range, &[id, id + 50]);
    }
    execute(client, chosen[5], &[id]);
    execute(client, chosen[6], &[7, id]);
    execute(client, chosen[7], &[id + 1]);
    execute(client, chosen[8], &[id + 1, 1, 2, 3]);
}

#[test]
fn a_busy_session_costs_little() {
    let limits = ["--max-connections=2000", "--max-prepared-stmt-count=100000"];
    // With huge pages the process grows by two megabytes at a time, wherever those fall: by ten kilobytes for each session of a batch.
    let mut wrapper = Command::new("env");
    wrapper.arg("MIMALLOC_ALLOW_THP=0");
    let options = [&limits[..], &["--innodb-buffer-pool-size=32M"]].concat();
    let server = TestServer::start_under(TestDirectory::new(), Some(wrapper), &options);
    let mut owner = server.log_in();
    owner.execute("CREATE DATABASE d").expect("created");
    owner.execute("USE d").expect("entered");
    for table in 1..=TABLE_COUNT {
        let columns = "id INT PRIMARY KEY AUTO_INCREMENT, k INT, c CHAR(120), pad CHAR(60), KEY (k)";
        owner.execute(&format!("CREATE TABLE t{table} ({columns})")).expect("created");
        let rows: Vec<_> = (1..400).map(|id| format!("({id}, {id}, REPEAT('c', 119), 'p')")).collect();
        owner.execute(&format!("INSERT INTO t{table} VALUES {}", rows.join(", "))).expect("inserted");
    }
    // The first ones make the plans and bring the pages into memory.
    let mut clients = Vec::new();
    for number in 0..TABLE_COUNT {
        let mut client = server.log_in();
        become_busy(&mut client, number);
        client.execute("ROLLBACK").expect("rolled back");
        clients.push(client);
    }
    // What the process takes once for many sessions (threads' pages, buffers that are lent) comes with the first batch, which does not
    // count; the middle one of the others does.
    let mut number = TABLE_COUNT;
    let mut grown: Vec<u64> = (0..=BATCH_COUNT)
        .map(|_| {
            let before = resident_bytes(&server);
            for _ in 0..BATCH_SESSIONS {
                let mut client = server.log_in();
                become_busy(&mut client, number);
                clients.push(client);
                number += 1;
            }
            resident_bytes(&server).saturating_sub(before) / BATCH_SESSIONS as u64
        })
        .skip(1)
        .collect();
    println!("{grown:?} bytes for each busy session of a batch");
    grown.sort_unstable();
    let grown = grown[grown.len() / 2];
    assert!(grown < SESSION_BYTES_MAX, "{grown} bytes for each busy session");
}
