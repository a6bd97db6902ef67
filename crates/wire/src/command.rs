//! The commands of an authenticated client, decoded from one packet.
//!
//! Invariant: every command byte that is not listed here is `UnknownCommand` (1047), never accepted in silence.
//! Called by `connection`.

use crate::capability::Capabilities;
use crate::error::ProtocolError;
use crate::field::FieldReader;
use crate::handshake::ChangeUser;
use crate::parameter::{ParameterValue, read_type, read_value};

/// A named value that a client attaches to a statement for the server's use, not part of its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryAttribute<'a> {
    pub name: &'a [u8],
    pub value: ParameterValue<'a>,
}

/// What COM_STMT_EXECUTE asks about a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorKind {
    None,
    /// Rows stay at the server until COM_STMT_FETCH.
    ReadOnly,
    /// Update or scroll cursors: in the protocol, served by nobody.
    Unsupported,
}

/// One decoded command; text is in the client's character set.
#[derive(Clone, Debug, PartialEq)]
pub enum Command<'a> {
    Quit,
    InitDatabase(&'a [u8]),
    Query {
        text: &'a [u8],
        attributes: Vec<QueryAttribute<'a>>,
    },
    FieldList {
        table: &'a [u8],
        pattern: &'a [u8],
    },
    Statistics,
    /// COM_DEBUG: the server writes what it knows of itself to its log.
    Debug,
    ProcessKill(u32),
    Ping,
    ChangeUser(ChangeUser<'a>),
    ResetConnection,
    /// COM_SET_OPTION: whether one COM_QUERY may hold several statements.
    SetMultiStatements(bool),
    StatementPrepare(&'a [u8]),
    StatementExecute {
        statement: u32,
        flags: u8,
        /// For `ParameterBinding::decode`.
        parameters: &'a [u8],
    },
    /// Has no reply.
    StatementSendLongData {
        statement: u32,
        parameter: u16,
        data: &'a [u8],
    },
    /// COM_REGISTER_REPLICA; where the replica says it can be reached.
    RegisterReplica {
        server_id: u32,
        host: &'a [u8],
        port: u16,
    },
    /// COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID.
    BinlogDump(BinlogDump<'a>),
    StatementReset(u32),
    /// Has no reply.
    StatementClose(u32),
    StatementFetch {
        statement: u32,
        row_count: u32,
    },
}

/// Where a replica wants to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinlogDump<'a> {
    /// End at the end of what is there.
    pub without_waiting: bool,
    pub server_id: u32,
    pub file: &'a [u8],
    pub position: u64,
    /// The transactions that it has, as the binary log encodes sets; then file and position do not count.
    pub executed: Option<&'a [u8]>,
}

const DUMP_WITHOUT_WAITING: u16 = 1;
const DUMP_BY_IDENTIFIERS: u16 = 4;

const CURSOR_MASK: u8 = 0x07;

impl CursorKind {
    pub fn from_flags(flags: u8) -> Self {
        match flags & CURSOR_MASK {
            0 => Self::None,
            1 => Self::ReadOnly,
            _ => Self::Unsupported,
        }
    }
}

impl<'a> Command<'a> {
    pub(crate) fn decode(packet: &'a [u8], capabilities: Capabilities) -> Result<Self, ProtocolError> {
        let mut reader = FieldReader::new(packet);
        let command = match reader.u8()? {
            1 => Self::Quit,
            2 => Self::InitDatabase(reader.take_rest()),
            3 => decode_query(reader, capabilities)?,
            4 => Self::FieldList { table: reader.nul_terminated(), pattern: reader.take_rest() },
            9 => Self::Statistics,
            12 => Self::ProcessKill(reader.u32()?),
            13 => Self::Debug,
            14 => Self::Ping,
            17 => Self::ChangeUser(ChangeUser::decode(reader.take_rest(), capabilities)?),
            18 => {
                let (position, flags, server_id) = (reader.u32()?, reader.u16()?, reader.u32()?);
                Self::BinlogDump(BinlogDump {
                    without_waiting: flags & DUMP_WITHOUT_WAITING != 0,
                    server_id,
                    file: reader.take_rest(),
                    position: u64::from(position),
                    executed: None,
                })
            }
            21 => decode_replica(reader)?,
            30 => decode_dump(reader)?,
            22 => Self::StatementPrepare(reader.take_rest()),
            23 => decode_execute(reader)?,
            24 => Self::StatementSendLongData {
                statement: reader.u32()?,
                parameter: reader.u16()?,
                data: reader.take_rest(),
            },
            25 => Self::StatementClose(reader.u32()?),
            26 => Self::StatementReset(reader.u32()?),
            27 => match reader.u16()? {
                0 => Self::SetMultiStatements(true),
                1 => Self::SetMultiStatements(false),
                _ => return Err(ProtocolError::UnknownCommand),
            },
            28 => Self::StatementFetch { statement: reader.u32()?, row_count: reader.u32()? },
            31 => Self::ResetConnection,
            _ => return Err(ProtocolError::UnknownCommand),
        };
        Ok(command)
    }
}

/// Long data and close have no reply, so even a malformed one must stay unanswered.
pub(crate) fn is_silent(packet: &[u8]) -> bool {
    matches!(packet.first(), Some(24 | 25))
}

/// The account that it names and what follows the port mean nothing.
fn decode_replica(mut reader: FieldReader<'_>) -> Result<Command<'_>, ProtocolError> {
    let server_id = reader.u32()?;
    let mut short = || {
        let length = reader.u8()?;
        reader.bytes(usize::from(length))
    };
    let (host, _user, _password) = (short()?, short()?, short()?);
    Ok(Command::RegisterReplica { server_id, host, port: reader.u16()? })
}

fn decode_dump(mut reader: FieldReader<'_>) -> Result<Command<'_>, ProtocolError> {
    let (flags, server_id) = (reader.u16()?, reader.u32()?);
    let name_length = reader.u32()? as usize;
    let file = reader.bytes(name_length)?;
    let position = reader.u64()?;
    let executed = match flags & DUMP_BY_IDENTIFIERS {
        0 => None,
        _ => {
            let length = reader.u32()? as usize;
            Some(reader.bytes(length)?)
        }
    };
    let without_waiting = flags & DUMP_WITHOUT_WAITING != 0;
    Ok(Command::BinlogDump(BinlogDump { without_waiting, server_id, file, position, executed }))
}

fn decode_execute(mut reader: FieldReader<'_>) -> Result<Command<'_>, ProtocolError> {
    let statement = reader.u32()?;
    let flags = reader.u8()?;
    // The iteration count has been 1 in every protocol version; other values mean nothing.
    reader.u32()?;
    Ok(Command::StatementExecute { statement, flags, parameters: reader.take_rest() })
}

fn decode_query<'a>(
    mut reader: FieldReader<'a>,
    capabilities: Capabilities,
) -> Result<Command<'a>, ProtocolError> {
    let mut attributes = Vec::new();
    if capabilities.has(Capabilities::QUERY_ATTRIBUTES) {
        let count = reader.length_encoded_integer()?;
        let set_count = reader.length_encoded_integer()?;
        if set_count != 1 {
            return Err(ProtocolError::Malformed);
        }
        if count > 0 {
            let count = usize::try_from(count).map_err(|_| ProtocolError::Malformed)?;
            attributes = decode_attributes(&mut reader, count)?;
        }
    }
    Ok(Command::Query { text: reader.take_rest(), attributes })
}

fn decode_attributes<'a>(
    reader: &mut FieldReader<'a>,
    count: usize,
) -> Result<Vec<QueryAttribute<'a>>, ProtocolError> {
    // The bitmap bounds `count` by the bytes that really came, so the reservations below are safe.
    let nulls = reader.bytes(count.div_ceil(8))?;
    if reader.u8()? != 1 {
        return Err(ProtocolError::Malformed);
    }
    let mut declared = Vec::new();
    for _ in 0..count {
        let parameter_type = read_type(reader)?;
        declared.push((parameter_type, reader.length_encoded_bytes()?));
    }
    let mut attributes = Vec::with_capacity(declared.len());
    for (index, (parameter_type, name)) in declared.into_iter().enumerate() {
        let is_null = nulls[index / 8] & (1 << (index % 8)) != 0;
        let value = if is_null { ParameterValue::Null } else { read_value(reader, parameter_type)? };
        attributes.push(QueryAttribute { name, value });
    }
    Ok(attributes)
}
