//! Who gets in as whom, what an account without rights may not see, and that clients of no account see what others would.

mod support;

use std::collections::BTreeSet;

use support::{CAPABILITIES, RawClient, TestServer};

fn logged_in(server: &TestServer, user: &str) -> RawClient {
    let mut client = server.connect();
    client.log_in(user).unwrap_or_else(|error| panic!("{user}: {error:?}"));
    client
}

fn current_user(server: &TestServer, user: &str) -> String {
    let rows = logged_in(server, user).query("SELECT CURRENT_USER()").expect("read");
    rows[0][0].clone().expect("somebody")
}

#[test]
fn the_account_of_the_closest_host_is_meant() {
    let server = TestServer::start(&[]);
    // Logged in before: later root is the anonymous account, too.
    let mut root = server.log_in();
    root.execute_all(&[
        "CREATE USER 'u'@'%', 'v'@'127.0.0.0/8', 'w'@'10.0.0.0/8', ''@'127.0.0.1'",
        "CREATE USER 'x'@'%', 'x'@'127.0.0.1'",
    ]);
    // The anonymous account's host is closer than that of any other one.
    assert_eq!(current_user(&server, "u"), "@127.0.0.1");
    assert_eq!(current_user(&server, "x"), "x@127.0.0.1");
    root.execute_all(&["DROP USER ''@'127.0.0.1'"]);
    assert_eq!(current_user(&server, "u"), "u@%");
    assert_eq!(current_user(&server, "v"), "v@127.0.0.0/8");
    assert_eq!(server.connect().log_in("w").map_err(|error| error.number), Err(1045));
}

#[test]
fn what_needs_a_privilege_is_refused_without() {
    let server = TestServer::start(&[]);
    server.log_in().execute_all(&["CREATE USER 'u'@'%'"]);
    let mut client = logged_in(&server, "u");
    for (text, number) in [
        ("SELECT * FROM performance_schema.data_locks", 1142),
        ("SELECT * FROM mysql.user", 1142),
        ("SET sql_log_bin = 0", 1227),
        ("SET GLOBAL max_connections = 10", 1227),
    ] {
        client.send(0, &[b"\x03", text.as_bytes()].concat());
        assert_eq!(client.expect_error().number, number, "{text}");
    }
}

/// What the server asks of a client with a wrong password, packet by packet, and what it says in the end.
fn dialogue(server: &TestServer, user: &str) -> (Vec<Vec<u8>>, u16) {
    let mut client = server.connect();
    client.read().expect("a greeting");
    client.send(1, &RawClient::handshake_response(CAPABILITIES, user));
    let mut asked = Vec::new();
    loop {
        let (sequence, payload) = client.read().expect("an answer");
        match payload[0] {
            0xff => return (asked, u16::from_le_bytes([payload[1], payload[2]])),
            0xfe => {
                // Behind the plugin's name stands what is different each time.
                let name = payload.split(|byte| *byte == 0).next().expect("a name");
                asked.push(name.to_vec());
                client.send(sequence + 1, &[7; 20]);
            }
            _ => {
                asked.push(payload);
                client.send(sequence + 1, b"guess");
            }
        }
    }
}

#[test]
fn the_dialogue_does_not_tell_accounts_from_unknown_names() {
    let server = TestServer::start(&[]);
    server.log_in().execute_all(&[
        "CREATE USER 'old'@'%' IDENTIFIED WITH mysql_native_password BY 'secret'",
        "CREATE USER 'new'@'%' IDENTIFIED BY 'secret'",
    ]);
    let (old, new) = (dialogue(&server, "old"), dialogue(&server, "new"));
    assert_ne!(old, new);
    let unknown: Vec<_> = (0..32).map(|number| format!("nobody{number}")).collect();
    let met: BTreeSet<_> = unknown.iter().map(|user| dialogue(&server, user)).collect();
    // Unknown names meet the one or the other, and each name always the same.
    assert_eq!(met, BTreeSet::from([old, new]));
    for user in &unknown[..4] {
        assert_eq!(dialogue(&server, user), dialogue(&server, user));
    }
}
