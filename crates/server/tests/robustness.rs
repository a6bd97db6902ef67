//! What broken, slow and hostile clients get, and that other clients do not notice.

mod support;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use support::{CAPABILITIES, RawClient, TestServer};

const SSL: u32 = 1 << 11;

#[test]
fn clients_that_say_nothing_are_dropped_and_disturb_nobody() {
    let server = TestServer::start(&["--connect-timeout=2"]);
    let mut silent: Vec<_> = (0..50).map(|_| server.connect()).collect();
    let since = Instant::now();
    for client in &mut silent {
        assert!(client.read().is_some(), "a greeting");
    }
    server.log_in().ping().expect("others are served");
    assert!(silent.iter_mut().all(RawClient::is_closed));
    let waited = since.elapsed();
    assert!((Duration::from_secs(1)..Duration::from_secs(8)).contains(&waited), "after {waited:?}");
}

#[test]
fn truncated_handshakes_and_garbage_are_survived() {
    let server = TestServer::start(&["--connect-timeout=2", "--max-connections=1000"]);
    let response = RawClient::handshake_response(CAPABILITIES, "root");
    for length in 0..response.len() {
        let mut client = server.connect();
        client.read().expect("a greeting");
        client.send(1, &response[..length]);
        // An error, an OK (the tail is optional) or the end; never a hang and never a crash.
        let _ = client.read();
    }
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for round in 0..200 {
        let mut client = server.connect();
        let garbage: Vec<u8> = (0..round * 3)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        let _ = client.stream.write_all(&garbage);
    }
    server.log_in().ping().expect("others are served");
    assert!(!server.log().contains("panic"), "{}", server.log());
}

#[test]
fn strangers_cannot_send_much() {
    let server = TestServer::start(&[]);
    let mut client = server.connect();
    client.read().expect("a greeting");
    let _ = client.stream.write_all(&[0xff, 0xff, 0xff, 1]);
    assert_eq!(client.expect_error().number, 1153);
    assert!(client.is_closed());
}

#[test]
fn bytes_before_tls_are_refused() {
    let server = TestServer::start(&[]);
    let mut client = server.connect();
    client.read().expect("a greeting");
    let request = &RawClient::handshake_response(CAPABILITIES | SSL, "root")[..32];
    let mut bytes = vec![32, 0, 0, 1];
    bytes.extend_from_slice(request);
    let injected = RawClient::handshake_response(CAPABILITIES, "root");
    bytes.extend_from_slice(&[injected.len() as u8, 0, 0, 2]);
    bytes.extend_from_slice(&injected);
    client.stream.write_all(&bytes).expect("sent");
    // They went into the TLS handshake, which they are no part of: perhaps an alert comes, never an answer.
    let mut answer = Vec::new();
    let _ = client.stream.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer[0] == 0x15, "{answer:?}");
}

#[test]
fn old_protocols_are_told_so() {
    let server = TestServer::start(&[]);
    let mut client = server.connect();
    client.read().expect("a greeting");
    client.send(1, &[0x85, 0x00, 0, 0, 0, b'r', b'o', b'o', b't', 0]);
    assert_eq!(client.expect_error().number, 1251);
}

#[test]
fn wrong_sequence_numbers_end_the_connection() {
    let server = TestServer::start(&[]);
    let mut client = server.log_in();
    client.send(5, &[14]);
    assert_eq!(client.expect_error().number, 1156);
    assert!(client.is_closed());

    let mut client = server.connect();
    client.read().expect("a greeting");
    client.send(0, &RawClient::handshake_response(CAPABILITIES, "root"));
    assert_eq!(client.expect_error().number, 1156);
}

#[test]
fn unknown_commands_are_refused_and_the_connection_lives() {
    let server = TestServer::start(&[]);
    let mut client = server.log_in();
    // Shutdown, process info, connect, time, delayed insert, daemon, group stream, clone.
    for command in [0, 5, 6, 7, 8, 10, 11, 15, 16, 19, 20, 29, 32, 33, 200, 255] {
        client.send(0, &[command]);
        let error = client.expect_error();
        assert_eq!((error.number, &error.text[..6]), (1047, "#08S01"), "command {command}");
    }
    client.ping().expect("still served");
}

#[test]
fn an_oversized_packet_is_refused_before_its_bytes_and_the_error_is_readable() {
    let server = TestServer::start(&["--max-allowed-packet=1M"]);
    let mut client = server.log_in();
    // Much more than the server reads: the client is still sending when the error comes.
    let mut bytes = vec![0xff, 0xff, 0xff, 0, 3];
    bytes.resize(16 << 20, b' ');
    let mut sender = client.stream.try_clone().expect("a second handle");
    let thread = std::thread::spawn(move || {
        let _ = sender.write_all(&bytes);
    });
    assert_eq!(client.expect_error().number, 1153);
    assert!(client.is_closed());
    thread.join().expect("the sender ends");
}

#[test]
fn malformed_executions_are_refused_and_the_connection_lives() {
    let server = TestServer::start(&[]);
    let mut client = server.log_in();
    client.send(0, &[23, 1]);
    assert_eq!(client.expect_error().number, 1835);
    client.send(0, &[23, 99, 0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(client.expect_error().number, 1243);
    client.send(0, &[28, 99, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(client.expect_error().number, 1243);
    // Neither close nor long data has an answer, right or wrong.
    client.send(0, &[25, 1]);
    client.send(0, &[25, 99, 0, 0, 0]);
    client.send(0, &[24, 99, 0, 0, 0, 0, 0, b'x']);
    client.ping().expect("still served");
}

#[test]
fn several_commands_in_one_write_are_answered_in_order() {
    let server = TestServer::start(&[]);
    let mut client = server.log_in();
    let ping = [1, 0, 0, 0, 14];
    let unknown = [1, 0, 0, 0, 200];
    client.stream.write_all(&[&ping[..], &unknown, &ping, &ping].concat()).expect("sent");
    client.expect_ok().expect("a ping");
    assert_eq!(client.expect_error().number, 1047);
    client.expect_ok().expect("a ping");
    client.expect_ok().expect("a ping");
}

#[test]
fn byte_by_byte_is_as_good() {
    let server = TestServer::start(&[]);
    let mut client = server.connect();
    client.read().expect("a greeting");
    let response = RawClient::handshake_response(CAPABILITIES, "root");
    let mut bytes = vec![response.len() as u8, 0, 0, 1];
    bytes.extend_from_slice(&response);
    for byte in bytes {
        client.stream.write_all(&[byte]).expect("sent");
    }
    let (sequence, switch) = client.read().expect("a switch to the plugin that the client knows");
    assert!(switch.starts_with(b"\xfemysql_native_password\0"));
    for byte in [0, 0, 0, sequence + 1] {
        client.stream.write_all(&[byte]).expect("sent");
    }
    client.expect_ok().expect("logged in");
}

#[test]
fn a_full_server_says_so_and_keeps_a_place_for_an_administrator() {
    let server = TestServer::start(&["--max-connections=2"]);
    let held: Vec<_> = (0..3).map(|_| server.log_in()).collect();
    let error = server.connect().log_in("root").expect_err("full");
    assert_eq!(error.number, 1040);
    drop(held);
    let deadline = Instant::now() + Duration::from_secs(5);
    while server.connect().log_in("root").is_err() {
        assert!(Instant::now() < deadline, "places are given back");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn unknown_users_are_refused_like_wrong_passwords() {
    let server = TestServer::start(&[]);
    let error = server.connect().log_in("nobody").map_err(|error| error.number);
    assert_eq!(error, Err(1045));
}
