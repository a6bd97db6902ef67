//! The write-ahead log: records, mini-transaction groups, group commit, and the reader that recovery uses.
