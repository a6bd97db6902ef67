//! Nodes: the slotted pages of a tree. All numbers are little-endian.
//!
//! | offset | bytes | field                                                                         |
//! |--------|-------|-------------------------------------------------------------------------------|
//! | 0      | 40    | page header (`pagestore::header`)                                             |
//! | 40     | 2     | number of slots                                                               |
//! | 42     | 2     | heap start: the lowest byte used by entries, which grow down                  |
//! | 44     | 2     | dead bytes inside the heap                                                    |
//! | 46     | 2     | length of the prefix that all keys share; it ends the page                    |
//! | 48     | 1     | level, 0 is a leaf                                                            |
//! | 49     | 1     | 0                                                                             |
//! | 50     | 2     | slot of the last insert + 1, 0 when unknown                                   |
//! | 52     | 2     | inserts in a row: positive to the right of the last, negative to the left     |
//! | 54     | 2     | 0                                                                             |
//! | 56     | 8     | inner: the child left of all separators; leaf: 0                              |
//! | 64     | 10 n  | slots in key order: head 4, entry offset 2, suffix length 2, value length 2   |
//! |        |       | free space                                                                    |
//! |        |       | heap of entries: key suffix, value                                            |
//! |        |       | prefix                                                                        |
//!
//! The head is the first four bytes of the suffix as a big-endian number (zero-padded), so most comparisons of a
//! search stay within the slots. An inner node's value is a child id of 5 bytes; the child holds the keys from its
//! separator (inclusive) to the next one (exclusive).
//!
//! Fence keys are not stored: a descent meets them as separators on its way, and with two fences of full length
//! in each page a key could have an eighth of a page at most. Without them it may have almost half of one.

mod build;
mod check;
mod edit;
mod layout;
mod read;

#[cfg(test)]
mod tests;

pub(crate) use build::{NodeBuilder, NodeIdentity, shared_prefix, shortest_separator};
pub use check::check;
pub(crate) use edit::NodeMut;
pub(crate) use layout::{CHILD_BYTES, LEVEL_MAX, NODE_HEADER_BYTES, SLOT_BYTES, encode_child};
pub use layout::{entry_bytes_max, entry_fits, inline_value_max, key_bytes_max};
pub(crate) use read::Node;
