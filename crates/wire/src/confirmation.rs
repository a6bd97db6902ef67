//! What a replica of semi-synchronous replication sends back: how far it has the binary log.
//!
//! Invariant: it comes as a packet of number 0 beside the stream of events, behind an event that asks for it. Called by
//! `server::connection`.

use crate::error::ProtocolError;
use crate::field::FieldReader;

/// Begins every confirmation, and follows the first byte of every event that may ask for one.
pub(crate) const CONFIRMATION_MARK: u8 = 0xef;

/// See the head of this file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation<'a> {
    /// The name of a file of the source.
    pub file: &'a [u8],
    /// A position in it: everything before it is there.
    pub position: u64,
}

impl<'a> Confirmation<'a> {
    /// More is never sent: a mark, a position and a name.
    pub const BYTES_MAX: usize = 1 + 8 + 512;

    /// Reads the payload of a packet.
    pub fn decode(packet: &'a [u8]) -> Result<Confirmation<'a>, ProtocolError> {
        let mut reader = FieldReader::new(packet);
        if reader.u8()? != CONFIRMATION_MARK {
            return Err(ProtocolError::Malformed);
        }
        let position = reader.u64()?;
        Ok(Confirmation { position, file: reader.take_rest() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confirmation_names_file_and_position() {
        let packet = [&[0xef][..], &4711u64.to_le_bytes(), b"binlog.000002"].concat();
        let wanted = Confirmation { file: b"binlog.000002", position: 4711 };
        assert_eq!(Confirmation::decode(&packet), Ok(wanted));
        assert!((0..9).all(|end| Confirmation::decode(&packet[..end]).is_err()));
        assert!(Confirmation::decode(b"\x0012345678").is_err());
    }
}
