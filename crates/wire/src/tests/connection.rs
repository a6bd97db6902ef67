//! The states of a connection and what each refuses.

use proptest::prelude::*;

use super::{CONFIG_PACKET_MAX, commanding, config, part, plain, response_payload, salt};
use crate::{Capabilities, Command, Connection, Event, PacketWriter, ProtocolError, Salt};

fn open() -> (Connection, PacketWriter) {
    let mut writer = PacketWriter::new();
    let connection = Connection::new(&config(), &salt(), &mut writer);
    writer.clear();
    (connection, writer)
}

fn error_number(writer: &PacketWriter) -> u16 {
    let bytes = writer.pending();
    assert_eq!(bytes[4], 0xff, "an error packet in {bytes:?}");
    u16::from_le_bytes([bytes[5], bytes[6]])
}

fn check_command(packet: &[u8], capabilities: Capabilities, expected: Command<'_>) {
    let (mut connection, mut writer) = commanding(capabilities);
    connection.feed(&part(0, packet));
    let event = connection.next_event(&mut writer).expect("valid");
    assert_eq!(event, Some(Event::Command(expected)));
    assert_eq!(writer.sequence(), 1);
}

#[test]
fn salts_have_neither_nul_nor_dollar() {
    for byte in 0..=255 {
        let salt = Salt::from_random([byte; 20]);
        assert!(salt.bytes().iter().all(|byte| !matches!(byte, 0 | b'$' | 0x80..)));
    }
}

#[test]
fn the_handshake_response_is_decoded() {
    let (mut connection, mut writer) = open();
    writer.set_sequence(1);
    connection.feed(&part(1, &response_payload(Capabilities::SERVER, "root")));
    let Some(Event::Introduced(response)) = connection.next_event(&mut writer).expect("valid") else {
        panic!("not introduced")
    };
    assert_eq!(response.user, b"root");
    assert_eq!(response.proof, b"abcd");
    assert_eq!(response.database, Some(&b"shop"[..]));
    assert_eq!(response.plugin, b"mysql_native_password");
    let attributes: Vec<_> = response.attributes.iter().collect();
    assert_eq!(attributes, [(&b"key"[..], &b"value"[..])]);
    assert_eq!(writer.sequence(), 2);
}

#[test]
fn capabilities_are_the_common_ones() {
    let compression = Capabilities(1 << 5);
    let (connection, _) = commanding(Capabilities::SERVER | compression);
    assert_eq!(connection.capabilities(), Capabilities::SERVER);
}

#[test]
fn every_truncation_of_a_response_is_a_bad_handshake_or_a_response() {
    let whole = response_payload(Capabilities::SERVER, "root");
    for length in 0..whole.len() {
        let (mut connection, mut writer) = open();
        writer.set_sequence(1);
        connection.feed(&part(1, &whole[..length]));
        match connection.next_event(&mut writer) {
            Ok(event) => assert!(matches!(event, Some(Event::Introduced(_)))),
            Err(error) => {
                assert!(matches!(error, ProtocolError::BadHandshake | ProtocolError::OldProtocol));
                assert_eq!(error_number(&writer), error.number());
            }
        }
    }
}

#[test]
fn old_clients_are_told_so() {
    let (mut connection, mut writer) = open();
    writer.set_sequence(1);
    connection.feed(&part(1, &[0x85, 0x04, 0, 0, 0, b'r', 0]));
    assert_eq!(connection.next_event(&mut writer), Err(ProtocolError::OldProtocol));
    assert_eq!(error_number(&writer), 1251);
}

fn tls_request(sequence: u8) -> Vec<u8> {
    part(sequence, &response_payload(Capabilities::SERVER | Capabilities::SSL, "root")[..32])
}

#[test]
fn tls_starts_and_capabilities_are_read_again_inside() {
    let (mut connection, mut writer) = open();
    writer.set_sequence(1);
    connection.feed(&tls_request(1));
    assert_eq!(connection.next_event(&mut writer), Ok(Some(Event::TlsRequested)));
    connection.tls_established();
    connection.feed(&part(2, &response_payload(plain() | Capabilities::SSL, "root")));
    assert!(matches!(connection.next_event(&mut writer), Ok(Some(Event::Introduced(_)))));
    assert_eq!(connection.capabilities(), plain() | Capabilities::SSL);
}

#[test]
fn bytes_before_tls_go_into_its_handshake_only() {
    let (mut connection, mut writer) = open();
    writer.set_sequence(1);
    let injected = part(2, &response_payload(Capabilities::SERVER, "mallory"));
    connection.feed(&[tls_request(1), injected.clone()].concat());
    assert_eq!(connection.next_event(&mut writer), Ok(Some(Event::TlsRequested)));
    assert_eq!(connection.next_event(&mut writer), Ok(None), "nothing is read until TLS is up");
    assert_eq!(connection.take_tls_bytes(), injected);
    connection.tls_established();
    assert_eq!(connection.next_event(&mut writer), Ok(None), "and nothing is left of it then");
}

#[test]
fn tls_twice_or_unoffered_is_refused() {
    let (mut connection, mut writer) = open();
    writer.set_sequence(1);
    connection.feed(&tls_request(1));
    assert!(connection.next_event(&mut writer).is_ok());
    connection.tls_established();
    connection.feed(&tls_request(2));
    assert_eq!(connection.next_event(&mut writer), Err(ProtocolError::BadHandshake));

    let mut writer = PacketWriter::new();
    let without_tls = crate::ConnectionConfig { offers_tls: false, ..config() };
    let mut connection = Connection::new(&without_tls, &salt(), &mut writer);
    connection.feed(&tls_request(1));
    assert_eq!(connection.next_event(&mut writer), Err(ProtocolError::BadHandshake));
}

#[test]
fn strangers_may_only_send_little() {
    let (mut connection, mut writer) = open();
    writer.set_sequence(1);
    connection.feed(&[0x01, 0x00, 0x01, 1]);
    assert_eq!(connection.next_event(&mut writer), Err(ProtocolError::PacketTooLarge));
    assert_eq!(error_number(&writer), 1153);
}

#[test]
fn commands_are_decoded() {
    let all = Capabilities::SERVER;
    check_command(&[1], all, Command::Quit);
    check_command(b"\x02shop", all, Command::InitDatabase(b"shop"));
    check_command(b"\x03select 1", plain(), Command::Query { text: b"select 1", attributes: Vec::new() });
    check_command(b"\x03\0\x01select 1", all, Command::Query { text: b"select 1", attributes: Vec::new() });
    check_command(b"\x04t\0%", all, Command::FieldList { table: b"t", pattern: b"%" });
    check_command(&[9], all, Command::Statistics);
    check_command(&[12, 5, 0, 0, 0], all, Command::ProcessKill(5));
    check_command(&[14], all, Command::Ping);
    check_command(&[27, 1, 0], all, Command::SetMultiStatements(false));
    check_command(b"\x16select ?", all, Command::StatementPrepare(b"select ?"));
    check_command(&[25, 1, 0, 0, 0], all, Command::StatementClose(1));
    check_command(&[26, 1, 0, 0, 0], all, Command::StatementReset(1));
    check_command(
        &[28, 1, 0, 0, 0, 100, 0, 0, 0],
        all,
        Command::StatementFetch { statement: 1, row_count: 100 },
    );
    check_command(&[31], all, Command::ResetConnection);
}

#[test]
fn query_attributes_are_read() {
    let (mut connection, mut writer) = commanding(Capabilities::SERVER);
    let mut packet = vec![3, 2, 1, 0b10, 1];
    packet.extend_from_slice(&[8, 0, 1, b'n', 6, 0, 1, b'm']);
    packet.extend_from_slice(&7i64.to_le_bytes());
    packet.extend_from_slice(b"do 1");
    connection.feed(&part(0, &packet));
    let Some(Event::Command(Command::Query { text, attributes })) =
        connection.next_event(&mut writer).expect("valid")
    else {
        panic!("no query")
    };
    assert_eq!(text, b"do 1");
    assert_eq!(attributes[0].name, b"n");
    assert_eq!(attributes[0].value, crate::ParameterValue::Signed(7));
    assert_eq!(attributes[1].value, crate::ParameterValue::Null);
}

#[test]
fn unknown_commands_are_refused_and_the_connection_lives() {
    for code in (0..=255u8).filter(|code| !matches!(code, 1..=4 | 9 | 12..=14 | 17 | 18 | 21..=28 | 30 | 31))
    {
        let (mut connection, mut writer) = commanding(plain());
        connection.feed(&part(0, &[code]));
        assert_eq!(connection.next_event(&mut writer), Ok(Some(Event::Refused)));
        assert_eq!(error_number(&writer), 1047, "command {code}");
        assert_eq!(&writer.pending()[7..13], b"#08S01");
        connection.feed(&part(0, &[14]));
        assert_eq!(connection.next_event(&mut writer), Ok(Some(Event::Command(Command::Ping))));
    }
}

#[test]
fn malformed_commands_without_a_reply_stay_unanswered() {
    let (mut connection, mut writer) = commanding(plain());
    connection.feed(&part(0, &[25, 1]));
    assert_eq!(connection.next_event(&mut writer), Ok(Some(Event::Refused)));
    assert!(writer.is_empty());
    connection.feed(&part(0, &[28, 1]));
    assert_eq!(connection.next_event(&mut writer), Ok(Some(Event::Refused)));
    assert_eq!(error_number(&writer), 1835);
}

#[test]
fn a_wrong_number_ends_the_connection() {
    let (mut connection, mut writer) = commanding(plain());
    connection.feed(&part(3, &[14]));
    assert_eq!(connection.next_event(&mut writer), Err(ProtocolError::OutOfOrder));
    assert_eq!(error_number(&writer), 1156);
    connection.feed(&part(0, &[14]));
    assert_eq!(connection.next_event(&mut writer), Ok(None));
}

#[test]
fn several_commands_in_one_read_come_one_by_one() {
    let (mut connection, mut writer) = commanding(plain());
    let mut bytes = part(0, &[14]);
    bytes.extend_from_slice(&part(0, b"\x03do 1"));
    bytes.extend_from_slice(&part(0, &[1])[..3]);
    connection.feed(&bytes);
    assert_eq!(connection.next_event(&mut writer), Ok(Some(Event::Command(Command::Ping))));
    assert!(matches!(connection.next_event(&mut writer), Ok(Some(Event::Command(Command::Query { .. })))));
    assert_eq!(connection.next_event(&mut writer), Ok(None));
    assert!(connection.has_pending_bytes());
}

#[test]
fn max_allowed_packet_bounds_commands() {
    let (mut connection, mut writer) = commanding(plain());
    let mut header = ((CONFIG_PACKET_MAX + 1) as u32).to_le_bytes();
    header[3] = 0;
    connection.feed(&header);
    assert_eq!(connection.next_event(&mut writer), Err(ProtocolError::PacketTooLarge));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        authenticated in any::<bool>(),
        headers in any::<bool>(),
    ) {
        let (mut connection, mut writer) =
            if authenticated { commanding(Capabilities::SERVER) } else { open() };
        // With valid headers the payload decoders are reached, without them the framing is.
        let stream = if headers { part(writer.sequence() * u8::from(!authenticated), &bytes) } else { bytes };
        connection.feed(&stream);
        while let Ok(Some(event)) = connection.next_event(&mut writer) {
            if event == Event::TlsRequested {
                break;
            }
        }
    }

    #[test]
    fn arbitrary_payloads_of_each_command_never_panic(
        code in 0u8..40,
        bytes in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let (mut connection, mut writer) = commanding(Capabilities::SERVER);
        let mut payload = vec![code];
        payload.extend_from_slice(&bytes);
        connection.feed(&part(0, &payload));
        let event = connection.next_event(&mut writer);
        prop_assert!(matches!(event, Ok(Some(_))));
    }
}
