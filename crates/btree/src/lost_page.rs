//! How a page says that its content is lost. Read and written by redo and by whoever meets such a page.
use pagestore::{PageFault, PageId, PageKind, TreeId, header};
use wal::Lsn;

/// Redo: the page is lost since `lsn`.
pub(crate) fn mark(bytes: &mut [u8], page: PageId, lsn: Lsn) {
    bytes.fill(0);
    header::format(bytes, page, PageKind::Lost, TreeId(0));
    header::set_lsn(bytes, lsn.0);
}

pub(crate) fn is_lost(page: &[u8]) -> bool {
    header::kind(page) == Some(PageKind::Lost)
}

/// What to say of a page that is not what it should be.
pub(crate) fn fault_of(page: &[u8], rule: &'static str) -> PageFault {
    if is_lost(page) { PageFault::Lost } else { PageFault::Structure(rule) }
}
