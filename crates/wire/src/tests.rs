//! Tests of the protocol as a client sees it, with the client half of `mysql_common` as an independent oracle.

mod connection;
mod framing;
mod oracle;
mod parameters;

use crate::{Capabilities, Connection, ConnectionConfig, Event, PacketWriter, Salt};

const CONFIG_PACKET_MAX: usize = 1 << 20;

fn config() -> ConnectionConfig {
    ConnectionConfig {
        version: "8.4.9-test".to_owned(),
        connection_id: 77,
        offers_tls: true,
        collation: 255,
        plugin: "caching_sha2_password",
        max_allowed_packet: CONFIG_PACKET_MAX,
    }
}

fn salt() -> Salt {
    Salt::from_random(*b"\0$abcdefghijklmnopqr")
}

/// One part, framed by hand.
fn part(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    let mut bytes = vec![length[0], length[1], length[2], sequence];
    bytes.extend_from_slice(payload);
    bytes
}

fn response_payload(capabilities: Capabilities, user: &str) -> Vec<u8> {
    let mut payload = capabilities.0.to_le_bytes().to_vec();
    payload.extend_from_slice(&(1u32 << 24).to_le_bytes());
    payload.push(255);
    payload.extend_from_slice(&[0; 23]);
    payload.extend_from_slice(user.as_bytes());
    payload.extend_from_slice(b"\0\x04abcd");
    payload.extend_from_slice(b"shop\0mysql_native_password\0");
    payload.extend_from_slice(&[10, 3, b'k', b'e', b'y', 5, b'v', b'a', b'l', b'u', b'e']);
    payload
}

fn plain() -> Capabilities {
    Capabilities::SERVER.without(Capabilities::QUERY_ATTRIBUTES)
}

/// A connection that is past authentication.
fn commanding(capabilities: Capabilities) -> (Connection, PacketWriter) {
    let mut writer = PacketWriter::new();
    let mut connection = Connection::new(&config(), &salt(), &mut writer);
    connection.feed(&part(1, &response_payload(capabilities, "root")));
    let event = connection.next_event(&mut writer).expect("valid").expect("complete");
    assert!(matches!(event, Event::Introduced(_)));
    connection.authenticated();
    writer.clear();
    (connection, writer)
}
