//! Rows beyond memory: compact records, streams of them in temporary files, hash partitions, external sorting, sets of keys.
//!
//! Everything is written and read in blocks of one temporary file, which ends with its last stream. A future of this
//! crate may be dropped at any await: its space is given back. The operators of the executor decide when memory is
//! used up; this crate keeps what they hand over.
#![forbid(unsafe_code)]

mod buffer;
mod encoding;
mod failure;
mod file;
mod key_order;
mod keys;
mod merge;
mod partitions;
mod reader;
mod sorter;
mod writer;

pub use encoding::{read_row, read_row_into, write_row};
pub use failure::{damaged, spill_error};
pub use file::{BLOCK_BYTES, SpillFile};
pub use key_order::{CompareKeys, KeyOrder};
pub use keys::KeyRuns;
pub use partitions::{PARTITION_COUNT, Partitions, partition_of};
pub use reader::StreamReader;
pub use sorter::{Pause, Sorter};
pub use writer::{Stream, StreamWriter};
