//! Where pages live on disk: the PageStore trait, and the store that keeps each page in its place.
//!
//! Invariant: a page that `PageStore::read` returns has a right checksum and the identity that was asked for.
#![forbid(unsafe_code)]

mod batch;
mod error;
mod fill;
pub mod header;
pub mod in_place;
mod page;
mod pieces;
mod sealed;
mod store;
mod turn;

pub use batch::{BATCH_HEADER_BYTES, BATCH_PAGES_MAX, PageBatch};
pub use error::{CorruptPage, PageFault, StoreError};
pub use header::{PAGE_HEADER_BYTES, PageKind};
pub use in_place::{ChangePoint, InPlaceStore, StoreCopy};
pub use page::{FIRST_FREE_PAGE, PAGE_ID_MAX, PageId, PageSize, TreeId};
pub use store::{CopiedImages, PageStore, SUPERBLOCK_BYTES_MAX, StoreStats};
