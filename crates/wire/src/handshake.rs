//! The packets of the connection phase: the greeting out, the client's answers in.
//!
//! Called by `connection` only. Layout of the response (protocol 4.1): capabilities u32, max packet u32,
//! collation u8, 23 reserved bytes, then user, proof, database, plugin and attributes as the capabilities say.

use crate::capability::{Capabilities, StatusFlags};
use crate::error::ProtocolError;
use crate::field::{FieldReader, Truncated};
use crate::salt::Salt;

/// Length of the fixed part of a handshake response; a packet of exactly this length asks for TLS.
pub(crate) const FIXED_PART_LENGTH: usize = 32;
const PROTOCOL_VERSION: u8 = 10;
const RESERVED_LENGTH: usize = 23;

/// What a client says about itself when it connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeResponse<'a> {
    pub collation: u8,
    pub user: &'a [u8],
    /// The proof for `plugin` and the greeting's salt; empty without a password.
    pub proof: &'a [u8],
    pub database: Option<&'a [u8]>,
    /// Empty when the client does not know plugins (then the proof is that of `mysql_native_password`).
    pub plugin: &'a [u8],
    pub attributes: ConnectAttributes<'a>,
}

/// COM_CHANGE_USER carries the same facts in another order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    pub collation: Option<u16>,
    pub user: &'a [u8],
    pub proof: &'a [u8],
    pub database: Option<&'a [u8]>,
    pub plugin: &'a [u8],
    pub attributes: ConnectAttributes<'a>,
}

/// Key/value pairs such as `_client_name`; decoded when somebody looks at them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectAttributes<'a> {
    encoded: &'a [u8],
}

impl<'a> ConnectAttributes<'a> {
    /// The pairs up to the first malformed one.
    pub fn iter(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let mut reader = FieldReader::new(self.encoded);
        std::iter::from_fn(move || {
            let key = reader.length_encoded_bytes().ok()?;
            let value = reader.length_encoded_bytes().ok()?;
            Some((key, value))
        })
    }
}

/// Facts of the greeting that do not come from the connection's own state.
pub(crate) struct Greeting<'a> {
    pub version: &'a str,
    pub connection_id: u32,
    pub salt: &'a Salt,
    pub capabilities: Capabilities,
    pub collation: u8,
    pub plugin: &'a str,
}

impl Greeting<'_> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let capabilities = self.capabilities.0.to_le_bytes();
        out.push(PROTOCOL_VERSION);
        out.extend_from_slice(self.version.as_bytes());
        out.push(0);
        out.extend_from_slice(&self.connection_id.to_le_bytes());
        out.extend_from_slice(&self.salt.bytes()[..8]);
        out.push(0);
        out.extend_from_slice(&capabilities[..2]);
        out.push(self.collation);
        out.extend_from_slice(&StatusFlags::AUTOCOMMIT.0.to_le_bytes());
        out.extend_from_slice(&capabilities[2..]);
        out.push(Salt::LENGTH as u8 + 1);
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(&self.salt.bytes()[8..]);
        out.push(0);
        out.extend_from_slice(self.plugin.as_bytes());
        out.push(0);
    }
}

/// The capabilities that a client's first packet asks for, before anything else of it is believed.
pub(crate) fn requested_capabilities(packet: &[u8]) -> Result<Capabilities, ProtocolError> {
    let mut reader = FieldReader::new(packet);
    let low = reader.u16().map_err(|_| ProtocolError::BadHandshake)?;
    if !Capabilities(u32::from(low)).has(Capabilities::PROTOCOL_41) {
        return Err(ProtocolError::OldProtocol);
    }
    let high = reader.u16().map_err(|_| ProtocolError::BadHandshake)?;
    Ok(Capabilities(u32::from(low) | u32::from(high) << 16))
}

impl<'a> HandshakeResponse<'a> {
    /// `capabilities` are those both sides have; the fields that are present depend on what the client asked for,
    /// but a client only asks for what the greeting offered, so an unknown bit is ignored.
    pub(crate) fn decode(packet: &'a [u8], capabilities: Capabilities) -> Result<Self, ProtocolError> {
        Self::decode_fields(packet, capabilities).map_err(|Truncated| ProtocolError::BadHandshake)
    }

    fn decode_fields(packet: &'a [u8], capabilities: Capabilities) -> Result<Self, Truncated> {
        let mut reader = FieldReader::new(packet);
        reader.u32()?;
        reader.u32()?;
        let collation = reader.u8()?;
        reader.bytes(RESERVED_LENGTH)?;
        let user = reader.nul_terminated();
        let proof = if capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
            reader.length_encoded_bytes()?
        } else if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let length = reader.u8()?;
            reader.bytes(usize::from(length))?
        } else {
            reader.nul_terminated()
        };
        let database = if capabilities.has(Capabilities::CONNECT_WITH_DB) {
            Some(reader.nul_terminated()).filter(|name| !name.is_empty())
        } else {
            None
        };
        let plugin =
            if capabilities.has(Capabilities::PLUGIN_AUTH) { reader.nul_terminated() } else { &[][..] };
        let attributes = decode_attributes(&mut reader, capabilities)?;
        Ok(Self { collation, user, proof, database, plugin, attributes })
    }
}

impl<'a> ChangeUser<'a> {
    /// `packet` is what follows the command byte.
    pub(crate) fn decode(packet: &'a [u8], capabilities: Capabilities) -> Result<Self, Truncated> {
        let mut reader = FieldReader::new(packet);
        let user = reader.nul_terminated();
        let proof = if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let length = reader.u8()?;
            reader.bytes(usize::from(length))?
        } else {
            reader.nul_terminated()
        };
        let database = Some(reader.nul_terminated()).filter(|name| !name.is_empty());
        // Everything after the database is optional in the protocol.
        let collation = if reader.is_empty() { None } else { Some(reader.u16()?) };
        let plugin =
            if capabilities.has(Capabilities::PLUGIN_AUTH) { reader.nul_terminated() } else { &[][..] };
        let attributes = decode_attributes(&mut reader, capabilities)?;
        Ok(Self { collation, user, proof, database, plugin, attributes })
    }
}

fn decode_attributes<'a>(
    reader: &mut FieldReader<'a>,
    capabilities: Capabilities,
) -> Result<ConnectAttributes<'a>, Truncated> {
    if !capabilities.has(Capabilities::CONNECT_ATTRS) || reader.is_empty() {
        return Ok(ConnectAttributes::default());
    }
    Ok(ConnectAttributes { encoded: reader.length_encoded_bytes()? })
}
