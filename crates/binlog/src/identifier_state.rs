//! Which identifiers are taken at a place in our own log: the server's own (16 bytes), then the set.
//!
//! Invariant: of the commits behind it each takes its identifier by `add`, in their order; so it is known without the binary log which
//! commit is which. Written by the binary log's task from time to time, read by whoever restores up to a transaction.
use crate::BinlogError;
use crate::bytes::Reader;
use crate::gtid::{Gtid, GtidSet, ServerUuid};
use crate::package::GtidChoice;

/// See the head of this file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct IdentifierState {
    /// The server's own, for automatic identifiers.
    pub source: ServerUuid,
    /// All transactions so far.
    pub executed: GtidSet,
}

impl IdentifierState {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.source.0.to_vec();
        self.executed.encode(&mut out);
        out
    }

    /// Reads what `encode` made.
    pub fn decode(bytes: &[u8]) -> Result<IdentifierState, BinlogError> {
        let mut reader = Reader(bytes);
        let source = ServerUuid(reader.array()?);
        Ok(IdentifierState { source, executed: GtidSet::decode(reader.rest())? })
    }

    /// Takes the identifier of the next commit, which it answers.
    pub fn add(&mut self, choice: GtidChoice) -> Option<Gtid> {
        let gtid = choice.resolve(self.source, &self.executed)?;
        self.executed.add(gtid);
        Some(gtid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_take_the_next_free_numbers() {
        let source = ServerUuid([3; 16]);
        let mut state = IdentifierState { source, ..IdentifierState::default() };
        let given = Gtid { source, number: 2 };
        let choices = [
            GtidChoice::Automatic,
            GtidChoice::Given(given),
            GtidChoice::Anonymous,
            GtidChoice::Automatic,
            GtidChoice::Automatic,
        ];
        let numbers = choices.map(|choice| state.add(choice).map(|gtid| gtid.number));
        assert_eq!(numbers, [Some(1), Some(2), None, Some(3), Some(4)]);
        assert_eq!(IdentifierState::decode(&state.encode()), Ok(state.clone()));
        for length in 0..state.encode().len() {
            assert!(IdentifierState::decode(&state.encode()[..length]).is_err(), "{length} bytes");
        }
    }
}
