//! Redo: how pages change. The same records and the same code make a change at run time and after a crash.
//!
//! Invariants: a record touches one page and is deterministic in the page's bytes; the records of one group are
//! applied to a page all or, when the page's LSN says that it has seen the group, not at all. So after a crash each
//! page catches up by itself, when it is needed: `collect` takes what the log says of it out of the log,
//! `buffer::redo` keeps that until the page is loaded, `page_log` applies it. Bytes from the log never panic: whatever
//! does not fit is a `PageFault`.

mod apply;
mod change;
mod collect;
pub(crate) mod page_log;
mod rebuild;

#[cfg(test)]
mod tests;

pub use apply::apply;
pub use change::{BitList, Change, Malformed};
pub use collect::{CollectError, Collected, Collector, PageIds, Wish};
pub use page_log::{PlacedChange, catch_up, renew_page_logs, renewed_changes};
pub use rebuild::PageRebuild;

/// The whole log of a page that is not in memory, said again: page id, and what `page_log` makes of it.
pub const RENEWED_LOG: u8 = 8;

/// The image of a page (`Change::Image`).
const IMAGE_KIND: u8 = 1;

/// Log records of kinds below are changes of pages; from here on to the engine's are those of late changes (`late`),
/// which touch no page.
pub const PAGE_KINDS_END: u8 = 32;

/// Log records of this kind and above are the engine's.
pub const ENGINE_KINDS_FROM: u8 = 64;
