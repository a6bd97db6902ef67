//! XA_PREPARE: a transaction that is prepared, or an XA transaction committed in one phase.
use crate::BinlogError;
use crate::bytes::Reader;

/// The longest global part and the longest branch part of an identifier.
const PART_BYTES_MAX: u32 = 64;

/// The event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XaPrepare {
    /// `XA COMMIT .. ONE PHASE`: it is committed, not prepared.
    pub one_phase: bool,
    /// The identifier's format.
    pub format: u32,
    /// Its global part.
    pub global: Vec<u8>,
    /// Its branch part.
    pub branch: Vec<u8>,
}

impl XaPrepare {
    /// The identifier as statements have it.
    pub fn xid(&self) -> String {
        let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        format!("X'{}',X'{}',{}", digits(&self.global), digits(&self.branch), self.format)
    }

    /// The event's body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.one_phase));
        for number in [self.format, self.global.len() as u32, self.branch.len() as u32] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.global);
        out.extend_from_slice(&self.branch);
    }

    /// Reads an event's body.
    pub fn decode(body: &[u8]) -> Result<XaPrepare, BinlogError> {
        let mut reader = Reader(body);
        let one_phase = reader.u8()? != 0;
        let (format, global, branch) = (reader.u32()?, reader.u32()?, reader.u32()?);
        if global > PART_BYTES_MAX || branch > PART_BYTES_MAX {
            return Err(BinlogError::Invalid("identifier of an XA transaction"));
        }
        let (global, branch) =
            (reader.take(global as usize)?.to_vec(), reader.take(branch as usize)?.to_vec());
        Ok(XaPrepare { one_phase, format, global, branch })
    }
}
