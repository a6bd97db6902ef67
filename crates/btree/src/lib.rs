//! B+trees over buffered pages. Tree code never blocks: a missing page is a return value.
//!
//! Every function is synchronous and returns `Result<_, Stop>`; the layer above wraps it in `BufferPool::run`.
//! Invariants: latches are taken top-down and left to right, the space map last; a change is one mini-transaction
//! and so one log group; bytes from disk are checked before they are used and never panic.
#![forbid(unsafe_code)]

mod describe;
mod fuzz;
mod late;
pub mod lost;
pub(crate) mod lost_page;
mod mtr;
pub mod node;
pub mod overflow;
pub mod redo;
mod space;
mod space_bits;
mod tree;

pub use describe::describe_page;
pub use fuzz::fuzz_one;
pub use late::{LateLog, LateRecord, Refused, discard_late, renew_late};
pub use mtr::{Committed, Extra, Mtr};
pub use node::{entry_bytes_max, entry_fits, inline_value_max, key_bytes_max};
pub use space::Space;
pub use space_bits::Placement;
pub use tree::{
    Ahead, Decision, Direction, Edit, InMemory, LeafContext, LeafView, Leaves, Position, Tree, TreeReport,
    VerifyError, apply_late, check_page,
};
