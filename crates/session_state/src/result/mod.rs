//! From a plan's rows to what the client gets: column metadata, values in the client's character set.
mod client_rows;
mod made_rows;
mod metadata;

pub use client_rows::{ClientRows, conversions, convert};
pub use made_rows::{MadeColumn, MadeRows, optional_text};
pub use metadata::{column_meta, display_length, shape_of};

use std::sync::atomic::{AtomicU64, Ordering};

/// A number for a new `ResultShape`.
pub fn next_shape_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
