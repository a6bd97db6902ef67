//! FORMAT_DESCRIPTION: the first event of a file and of a stream. It says who wrote it and how the others are framed.
//!
//! | bytes | field |
//! |---|---|
//! | 2 | 4, the version of the format |
//! | 50 | version of the server, padded with zeros |
//! | 4 | seconds since 1970 when the server started, or 0 |
//! | 1 | 19, the length of common headers |
//! | n | for each event by number from 1: the length of the fixed part of its body |
//! | 1 | whether events end in a CRC-32 |
use crate::BinlogError;
use crate::bytes::Reader;
use crate::header::{Checksum, HEADER_BYTES};

const BINLOG_VERSION: u16 = 4;
const SERVER_VERSION_BYTES: usize = 50;

/// The fixed parts of the events that MySQL 8.0 to 9.7 know, from event 1.
const FIXED_PARTS: [u8; 42] = [
    0, 13, 0, 8, 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 99, 0, 4, 26, 8, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 10, 10, 10, 42,
    42, 0, 18, 52, 0, 10, 40, 0, 0,
];

/// The event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatDescription {
    /// Such as `9.7.0`.
    pub server_version: String,
    /// When the server that wrote the file had started, if it is the first file of that run.
    pub created_at: u32,
    /// The length of the fixed part of each event's body, by number from 1.
    pub fixed_parts: Vec<u8>,
    /// Of all other events of the file.
    pub checksum: Checksum,
}

impl FormatDescription {
    /// One of ours.
    pub fn new(server_version: &str, created_at: u32, checksum: Checksum) -> FormatDescription {
        let (server_version, fixed_parts) = (server_version.to_owned(), FIXED_PARTS.to_vec());
        FormatDescription { server_version, created_at, fixed_parts, checksum }
    }

    /// The event's body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&BINLOG_VERSION.to_le_bytes());
        let mut version = self.server_version.as_bytes().to_vec();
        version.resize(SERVER_VERSION_BYTES, 0);
        out.extend_from_slice(&version);
        out.extend_from_slice(&self.created_at.to_le_bytes());
        out.push(HEADER_BYTES as u8);
        out.extend_from_slice(&self.fixed_parts);
        out.push(u8::from(self.checksum == Checksum::Crc32));
    }

    /// Reads an event's body.
    pub fn decode(body: &[u8]) -> Result<FormatDescription, BinlogError> {
        let mut reader = Reader(body);
        if reader.u16()? != BINLOG_VERSION {
            return Err(BinlogError::Unsupported("a format before version 4"));
        }
        let version: [u8; SERVER_VERSION_BYTES] = reader.array()?;
        let end = version.iter().position(|byte| *byte == 0).unwrap_or(version.len());
        let server_version = crate::bytes::text(&version[..end])?;
        let created_at = reader.u32()?;
        if usize::from(reader.u8()?) != HEADER_BYTES {
            return Err(BinlogError::Invalid("length of headers"));
        }
        let (checksum, fixed_parts) = reader.0.split_last().ok_or(BinlogError::Truncated)?;
        let checksum = match checksum {
            0 => Checksum::None,
            1 => Checksum::Crc32,
            _ => return Err(BinlogError::Unsupported("a checksum of another kind")),
        };
        Ok(FormatDescription { server_version, created_at, fixed_parts: fixed_parts.to_vec(), checksum })
    }
}
