//! Where pages live on disk: the PageStore trait and the in-place store that is safe against torn writes.
//!
//! Invariant: a page that `PageStore::read` returns has a right checksum and the identity that was asked for.
#![forbid(unsafe_code)]

mod batch;
mod error;
pub mod header;
pub mod in_place;
mod page;
mod store;

pub use batch::{BATCH_HEADER_BYTES, BATCH_PAGES_MAX, PageBatch};
pub use error::{CorruptPage, PageFault, StoreError};
pub use header::{PAGE_HEADER_BYTES, PageKind};
pub use in_place::InPlaceStore;
pub use page::{FIRST_FREE_PAGE, PAGE_ID_MAX, PageId, PageSize, TreeId};
pub use store::{PageStore, SUPERBLOCK_BYTES_MAX};
