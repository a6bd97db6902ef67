//! Events of MariaDB's own: the head of a transaction, and what says nothing about rows.
//!
//! | bytes | field of GTID (162) |
//! |---|---|
//! | 8 | number in its domain |
//! | 4 | domain; the server is that of the common header |
//! | 1 | flags |
//! | rest | by flags: group of commits, name of an XA transaction, more flags; not read |
//!
//! Invariant: a head without the flag of a single statement stands for BEGIN, too. Called by `event`. The layouts are those of MariaDB's
//! documentation of its replication protocol.
use crate::BinlogError;
use crate::bytes::Reader;
use crate::event::Event;
use crate::header::event_type;

/// One statement that commits by itself follows, without BEGIN.
const STANDALONE: u8 = 1;
/// What follows is prepared, not committed.
const PREPARED_XA: u8 = 64;

/// The head of a transaction of MariaDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MariaDbGtid {
    /// `gtid_domain_id`.
    pub domain: u32,
    /// Counts in its domain.
    pub number: u64,
    /// A statement follows; else the transaction has begun.
    pub is_standalone: bool,
}

/// Reads an event that MariaDB alone has; `None` for one that it does not have either.
pub(crate) fn decode(number: u8, body: &[u8]) -> Result<Option<Event>, BinlogError> {
    Ok(Some(match number {
        event_type::MARIADB_GTID => {
            let mut reader = Reader(body);
            let (number, domain, flags) = (reader.u64()?, reader.u32()?, reader.u8()?);
            if flags & PREPARED_XA != 0 {
                return Err(BinlogError::Unsupported("XA transactions of MariaDB"));
            }
            Event::MariaDbGtid(MariaDbGtid { domain, number, is_standalone: flags & STANDALONE != 0 })
        }
        event_type::MARIADB_ANNOTATE_ROWS => Event::RowsQuery(body.to_vec()),
        event_type::MARIADB_BINLOG_CHECKPOINT
        | event_type::MARIADB_GTID_LIST
        | event_type::MARIADB_START_ENCRYPTION => Event::Ignored(number),
        event_type::MARIADB_FIRST_COMPRESSED..=event_type::MARIADB_LAST_COMPRESSED => {
            return Err(BinlogError::Unsupported("compressed events of MariaDB (log_bin_compress)"));
        }
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_says_whether_a_transaction_begins() {
        let body = [&7u64.to_le_bytes()[..], &3u32.to_le_bytes(), &[0x0c, 0, 0, 0, 0, 0, 0]].concat();
        let head = MariaDbGtid { domain: 3, number: 7, is_standalone: false };
        assert_eq!(decode(162, &body), Ok(Some(Event::MariaDbGtid(head))));
        let mut alone = body.clone();
        alone[12] = 0x29;
        assert_eq!(
            decode(162, &alone),
            Ok(Some(Event::MariaDbGtid(MariaDbGtid { is_standalone: true, ..head })))
        );
        alone[12] = 0x40;
        assert!(matches!(decode(162, &alone), Err(BinlogError::Unsupported(_))));
        assert!((0..13).all(|end| decode(162, &body[..end]).is_err()));
    }

    #[test]
    fn what_says_nothing_about_rows_is_passed_over() {
        assert_eq!(decode(160, b"INSERT"), Ok(Some(Event::RowsQuery(b"INSERT".to_vec()))));
        for number in [161, 163, 164] {
            assert_eq!(decode(number, &[]), Ok(Some(Event::Ignored(number))));
        }
        assert!(decode(166, &[]).is_err());
        assert_eq!(decode(172, &[]), Ok(None));
    }
}
