//! What we encode must mean the same to an independent client implementation, and the other way round.

use mysql_common::collations::CollationId;
use mysql_common::constants::{
    CapabilityFlags, ColumnFlags as TheirFlags, ColumnType as TheirType, StatusFlags as TheirStatus,
};
use mysql_common::io::ParseBuf;
use mysql_common::packets::session_state_change::SessionStateChange;
use mysql_common::packets::{
    AuthPlugin, AuthSwitchRequest, Column, ComChangeUser, ComStmtExecuteRequestBuilder, CommonOkPacket,
    ErrPacket, HandshakePacket, HandshakeResponse, OkPacketDeserializer, ResultSetTerminator, StmtPacket,
};
use mysql_common::proto::{Binary, MyDeserialize, MySerialize, Text};
use mysql_common::row::RowDeserializer;
use mysql_common::value::{ServerSide, Value};

use super::{commanding, config, part, plain, salt};
use crate::{
    BinaryRow, Capabilities, ColumnDefinition, ColumnDefinitions, ColumnFlags, ColumnType, Command,
    Connection, DateTimeValue, ErrorReply, Event, OkReply, PacketWriter, ParameterBinding, ParameterValue,
    PrepareReply, SessionChanges, StatusFlags, TextRow, TimeValue,
};

fn their(capabilities: Capabilities) -> CapabilityFlags {
    CapabilityFlags::from_bits_truncate(capabilities.0)
}

fn payload(writer: &PacketWriter) -> &[u8] {
    &writer.pending()[4..]
}

fn parse<'de, T: MyDeserialize<'de>>(context: T::Ctx, bytes: &'de [u8]) -> T {
    let mut buffer = ParseBuf(bytes);
    let value = T::deserialize(context, &mut buffer).expect("their decoder accepts it");
    assert!(buffer.is_empty(), "bytes left over");
    value
}

#[test]
fn greeting() {
    let mut writer = PacketWriter::new();
    Connection::new(&config(), &salt(), &mut writer);
    let packet: HandshakePacket<'_> = parse((), payload(&writer));
    assert_eq!(packet.server_version_ref(), b"8.4.9-test");
    assert_eq!(packet.connection_id(), 77);
    assert_eq!(packet.auth_plugin(), Some(AuthPlugin::CachingSha2Password));
    let mut nonce = packet.scramble_1_ref().to_vec();
    nonce.extend_from_slice(packet.scramble_2_ref().expect("long salt"));
    assert_eq!(nonce.strip_suffix(&[0]).unwrap_or(&nonce), salt().bytes());
    assert_eq!(packet.capabilities(), their(Capabilities::SERVER | Capabilities::SSL));
}

#[test]
fn handshake_response() {
    let attributes = [("_client_name".to_owned(), "oracle".to_owned())].into_iter().collect();
    let response = HandshakeResponse::new(
        Some(&b"12345678901234567890123456789012"[..]),
        (8, 4, 0),
        Some(&b"anna"[..]),
        Some(&b"shop"[..]),
        Some(AuthPlugin::CachingSha2Password),
        their(Capabilities::SERVER),
        Some(attributes),
        1 << 24,
    );
    let mut bytes = Vec::new();
    response.serialize(&mut bytes);
    let mut writer = PacketWriter::new();
    let mut connection = Connection::new(&config(), &salt(), &mut writer);
    connection.feed(&part(1, &bytes));
    let Some(Event::Introduced(decoded)) = connection.next_event(&mut writer).expect("valid") else {
        panic!("not introduced")
    };
    assert_eq!(decoded.user, b"anna");
    assert_eq!(decoded.proof, b"12345678901234567890123456789012");
    assert_eq!(decoded.database, Some(&b"shop"[..]));
    assert_eq!(decoded.plugin, b"caching_sha2_password");
    assert_eq!(decoded.attributes.iter().next(), Some((&b"_client_name"[..], &b"oracle"[..])));
}

#[test]
fn change_user() {
    let their_packet = ComChangeUser::new()
        .with_user(Some(&b"anna"[..]))
        .with_database(Some(&b"shop"[..]))
        .with_auth_plugin_data(Some(&b"proof"[..]))
        .with_more_data(Some(
            mysql_common::packets::ComChangeUserMoreData::new(45)
                .with_auth_plugin(Some(AuthPlugin::MysqlNativePassword)),
        ));
    let mut bytes = Vec::new();
    their_packet.serialize(&mut bytes);
    let (mut connection, mut writer) = commanding(plain().without(Capabilities::CONNECT_ATTRS));
    connection.feed(&part(0, &bytes));
    let Some(Event::Command(Command::ChangeUser(decoded))) =
        connection.next_event(&mut writer).expect("valid")
    else {
        panic!("not a change of user")
    };
    assert_eq!(decoded.user, b"anna");
    assert_eq!(decoded.proof, b"proof");
    assert_eq!(decoded.database, Some(&b"shop"[..]));
    assert_eq!(decoded.collation, Some(45));
    assert_eq!(decoded.plugin, b"mysql_native_password");
}

#[test]
fn ok_with_session_changes() {
    let mut changes = SessionChanges::default();
    changes.schema(b"shop");
    changes.system_variable("autocommit", b"OFF");
    let mut writer = PacketWriter::new();
    writer.ok(
        Capabilities::SERVER,
        &OkReply {
            affected_rows: 300,
            last_insert_id: 70_000,
            status: StatusFlags::AUTOCOMMIT | StatusFlags::IN_TRANSACTION,
            warning_count: 2,
            info: b"Rows matched: 1  Changed: 1  Warnings: 2",
            session_changes: changes.encoded(),
        },
    );
    let ok: OkPacketDeserializer<'_, CommonOkPacket> = parse(their(Capabilities::SERVER), payload(&writer));
    let ok = ok.into_inner();
    assert_eq!(ok.affected_rows(), 300);
    assert_eq!(ok.last_insert_id(), Some(70_000));
    assert_eq!(ok.warnings(), 2);
    assert!(ok.status_flags().contains(TheirStatus::SERVER_SESSION_STATE_CHANGED));
    assert_eq!(ok.info_ref(), Some(&b"Rows matched: 1  Changed: 1  Warnings: 2"[..]));
    let info = ok.session_state_info().expect("readable");
    assert_eq!(info.len(), 2);
    assert!(matches!(info[0].decode().expect("readable"), SessionStateChange::Schema(_)));
    assert!(matches!(info[1].decode().expect("readable"), SessionStateChange::SystemVariables(_)));
}

#[test]
fn both_ends_of_a_result() {
    let reply = OkReply { status: StatusFlags::MORE_RESULTS, warning_count: 9, ..OkReply::default() };
    let mut writer = PacketWriter::new();
    writer.result_end(Capabilities::SERVER, &reply);
    let end: OkPacketDeserializer<'_, ResultSetTerminator> =
        parse(their(Capabilities::SERVER), payload(&writer));
    let end = end.into_inner();
    assert_eq!((end.warnings(), end.status_flags()), (9, TheirStatus::SERVER_MORE_RESULTS_EXISTS));

    let mut writer = PacketWriter::new();
    writer.result_end(Capabilities::SERVER.without(Capabilities::DEPRECATE_EOF), &reply);
    assert_eq!(payload(&writer), [0xfe, 9, 0, 8, 0]);
}

#[test]
fn error_with_sqlstate() {
    let mut writer = PacketWriter::new();
    let reply = ErrorReply { number: 1062, sqlstate: *b"23000", message: b"Duplicate entry" };
    writer.error(Capabilities::SERVER, &reply);
    let ErrPacket::Error(error) = parse(their(Capabilities::SERVER), payload(&writer)) else {
        panic!("not an error")
    };
    assert_eq!(error.error_code(), 1062);
    assert_eq!(error.sql_state_ref().expect("state").as_str(), "23000");
    assert_eq!(error.message_ref(), b"Duplicate entry");

    let mut writer = PacketWriter::new();
    let long = "é".repeat(300);
    writer.error(Capabilities::SERVER, &ErrorReply { message: long.as_bytes(), ..reply });
    assert_eq!(writer.pending().len(), 4 + 9 + 512);
    assert!(std::str::from_utf8(&writer.pending()[13..]).is_ok());
}

#[test]
fn authentication_switch() {
    let mut writer = PacketWriter::new();
    writer.authentication_switch("mysql_native_password", &salt());
    let switch: AuthSwitchRequest<'_> = parse((), payload(&writer));
    assert_eq!(switch.auth_plugin(), AuthPlugin::MysqlNativePassword);
    assert_eq!(switch.plugin_data(), salt().bytes());
}

#[test]
fn prepare_ok() {
    let mut writer = PacketWriter::new();
    writer.prepare_ok(&PrepareReply { statement: 7, column_count: 3, parameter_count: 2, warning_count: 1 });
    let packet: StmtPacket = parse((), payload(&writer));
    assert_eq!((packet.statement_id(), packet.num_columns(), packet.num_params()), (7, 3, 2));
    assert_eq!(packet.warning_count(), 1);
}

fn definition(name: &'static str, column_type: ColumnType, flags: ColumnFlags) -> ColumnDefinition<'static> {
    ColumnDefinition {
        schema: b"shop",
        table: b"o",
        original_table: b"orders",
        name: name.as_bytes(),
        original_name: b"total",
        collation: 255,
        length: 1020,
        column_type,
        flags,
        decimals: 2,
    }
}

#[test]
fn prebuilt_definitions_get_the_right_numbers() {
    let columns = ColumnDefinitions::build([
        definition("a", ColumnType::Long, ColumnFlags::UNSIGNED | ColumnFlags::NOT_NULL),
        definition("b", ColumnType::VarString, ColumnFlags::default()),
    ]);
    assert_eq!(columns.count(), 2);
    for first in [1, 200, 254] {
        let mut writer = PacketWriter::new();
        writer.set_sequence(first);
        writer.result_start(&columns);
        writer.definitions_end(Capabilities::SERVER.without(Capabilities::DEPRECATE_EOF), StatusFlags(2));
        let mut rest = writer.pending();
        let mut payloads = Vec::new();
        let mut expected = first;
        while !rest.is_empty() {
            let length = usize::from(rest[0]);
            assert_eq!(rest[3], expected);
            expected = expected.wrapping_add(1);
            payloads.push(&rest[4..4 + length]);
            rest = &rest[4 + length..];
        }
        assert_eq!(writer.sequence(), expected);
        assert_eq!(payloads.len(), 4);
        assert_eq!(payloads[0], [2]);
        let column: Column = parse((), payloads[1]);
        assert_eq!(column.name_ref(), b"a");
        assert_eq!(column.org_table_ref(), b"orders");
        assert_eq!(column.column_type(), TheirType::MYSQL_TYPE_LONG);
        assert_eq!(column.flags(), TheirFlags::UNSIGNED_FLAG | TheirFlags::NOT_NULL_FLAG);
        assert_eq!(column.character_set(), CollationId::UTF8MB4_0900_AI_CI as u16);
        assert_eq!((column.column_length(), column.decimals()), (1020, 2));
    }
}

#[test]
fn text_rows() {
    let mut writer = PacketWriter::new();
    let long = "x".repeat(400);
    writer.packet(|out| {
        let mut row = TextRow::new(out);
        row.null();
        row.signed(i64::MIN);
        row.unsigned(u64::MAX);
        row.bytes(b"");
        row.display("short");
        row.display(&long);
        row.signed(0);
    });
    let columns = vec![Column::new(TheirType::MYSQL_TYPE_VAR_STRING); 7];
    let row: RowDeserializer<ServerSide, Text> = parse(columns.into(), payload(&writer));
    let values = row.into_inner().unwrap();
    let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    assert_eq!(
        values,
        [
            Value::NULL,
            text("-9223372036854775808"),
            text("18446744073709551615"),
            text(""),
            text("short"),
            text(&long),
            text("0"),
        ]
    );
}

#[test]
fn binary_rows() {
    let date = DateTimeValue { year: 2024, month: 2, day: 29, ..DateTimeValue::default() };
    let clock = DateTimeValue { hour: 23, minute: 1, second: 2, ..date };
    let micros = DateTimeValue { microsecond: 5, ..clock };
    let time = TimeValue { negative: true, days: 34, hours: 22, minutes: 59, seconds: 59, microsecond: 0 };
    let time_micros = TimeValue { microsecond: 999_999, ..time };
    let types = [
        TheirType::MYSQL_TYPE_TINY,
        TheirType::MYSQL_TYPE_SHORT,
        TheirType::MYSQL_TYPE_LONG,
        TheirType::MYSQL_TYPE_LONGLONG,
        TheirType::MYSQL_TYPE_FLOAT,
        TheirType::MYSQL_TYPE_DOUBLE,
        TheirType::MYSQL_TYPE_NEWDECIMAL,
        TheirType::MYSQL_TYPE_DATE,
        TheirType::MYSQL_TYPE_DATETIME,
        TheirType::MYSQL_TYPE_DATETIME,
        TheirType::MYSQL_TYPE_DATETIME,
        TheirType::MYSQL_TYPE_TIME,
        TheirType::MYSQL_TYPE_TIME,
        TheirType::MYSQL_TYPE_TIME,
        TheirType::MYSQL_TYPE_BLOB,
        TheirType::MYSQL_TYPE_DATE,
    ];
    let mut writer = PacketWriter::new();
    writer.packet(|out| {
        let mut row = BinaryRow::new(out, types.len());
        row.integer8((-5i8).cast_unsigned());
        row.integer16(65_000u16);
        row.null();
        row.integer64((-1i64).cast_unsigned());
        row.float(1.5);
        row.double(-2.25);
        row.bytes(b"12.50");
        row.date(&date);
        row.date_time(&date);
        row.date_time(&clock);
        row.date_time(&micros);
        row.time(&TimeValue::default());
        row.time(&time);
        row.time(&time_micros);
        row.null();
        row.date(&DateTimeValue::default());
    });
    let columns: Vec<_> = types.into_iter().map(Column::new).collect();
    let row: RowDeserializer<ServerSide, Binary> = parse(columns.into(), payload(&writer));
    assert_eq!(
        row.into_inner().unwrap(),
        [
            Value::Int(-5),
            Value::Int(i64::from(65_000u16.cast_signed())),
            Value::NULL,
            Value::Int(-1),
            Value::Float(1.5),
            Value::Double(-2.25),
            Value::Bytes(b"12.50".to_vec()),
            Value::Date(2024, 2, 29, 0, 0, 0, 0),
            Value::Date(2024, 2, 29, 0, 0, 0, 0),
            Value::Date(2024, 2, 29, 23, 1, 2, 0),
            Value::Date(2024, 2, 29, 23, 1, 2, 5),
            Value::Time(false, 0, 0, 0, 0, 0),
            Value::Time(true, 34, 22, 59, 59, 0),
            Value::Time(true, 34, 22, 59, 59, 999_999),
            Value::NULL,
            Value::Date(0, 0, 0, 0, 0, 0, 0),
        ]
    );
}

#[test]
fn executions() {
    let sent = [
        Value::NULL,
        Value::Int(-7),
        Value::UInt(u64::MAX),
        Value::Bytes(b"text".to_vec()),
        Value::Float(0.5),
        Value::Double(1e300),
        Value::Date(2024, 2, 29, 1, 2, 3, 4),
        Value::Time(true, 1, 2, 3, 4, 5),
    ];
    let (request, _) = ComStmtExecuteRequestBuilder::new(9).build(&sent);
    let mut bytes = Vec::new();
    request.serialize(&mut bytes);
    let (mut connection, mut writer) = commanding(plain());
    connection.feed(&part(0, &bytes));
    let Some(Event::Command(Command::StatementExecute { statement, flags, parameters })) =
        connection.next_event(&mut writer).expect("valid")
    else {
        panic!("not an execution")
    };
    assert_eq!(statement, 9);
    let mut binding = ParameterBinding::new(8);
    let values = binding.decode(parameters, flags, plain()).expect("valid");
    let moment =
        DateTimeValue { year: 2024, month: 2, day: 29, hour: 1, minute: 2, second: 3, microsecond: 4 };
    let time = TimeValue { negative: true, days: 1, hours: 2, minutes: 3, seconds: 4, microsecond: 5 };
    assert_eq!(values[0], ParameterValue::Null);
    assert_eq!(values[1], ParameterValue::Signed(-7));
    assert_eq!(values[2], ParameterValue::Unsigned(u64::MAX));
    assert!(matches!(values[3], ParameterValue::Bytes { bytes: b"text", .. }));
    assert_eq!(values[4], ParameterValue::Float(0.5));
    assert_eq!(values[5], ParameterValue::Double(1e300));
    assert_eq!(values[6], ParameterValue::DateTime(moment));
    assert_eq!(values[7], ParameterValue::Time(time));
}
