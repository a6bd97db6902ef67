//! Giving a damaged page up: when a change has to be made to a page that cannot be read, the page is replaced by one
//! that says that its content is lost.
//!
//! Invariant: a change that was left out can never be seen as missing. The damage may have been one of reading only;
//! without the mark a later read could find the page intact, in the state before the change, and take that for the
//! truth. A lost page is an error for whoever needs it, until it is written as a whole or its tree is dropped.

use crate::mtr::Mtr;
use crate::node::{NodeBuilder, NodeIdentity};
use crate::redo::Change;
use crate::tree::Tree;
use buffer::{ExclusiveGuard, Stop};
use pagestore::{CorruptPage, FIRST_FREE_PAGE, PageFault, PageId, PageKind, TreeId, header};

/// Whether the fault alone says that it is the page's own. A page that is sound in itself and not what its neighbours
/// say may belong to somebody else: it must not be touched. One beyond the end was cut off, or its number is wrong.
pub fn is_own_fault(corrupt: &CorruptPage) -> bool {
    corrupt.page >= FIRST_FREE_PAGE
        && match corrupt.fault {
            PageFault::Checksum
            | PageFault::WrongPage
            | PageFault::UnknownFormat
            | PageFault::Stale
            | PageFault::Absent
            | PageFault::Lost => true,
            PageFault::BeyondEnd | PageFault::Structure(_) => false,
        }
}

/// Plans in `mtr`, which must be fresh, that the page is lost. Call `Mtr::reserve` before committing.
pub fn give_up(mtr: &mut Mtr<'_>, page: PageId) -> Result<(), Stop> {
    debug_assert!(mtr.is_empty(), "one mini-transaction gives one page up");
    debug_assert!(page >= FIRST_FREE_PAGE, "the store's own pages are not given up");
    let guard = mtr.pool().create(page)?;
    plan_lost(mtr, guard);
    Ok(())
}

/// The same for the leaf of a key, which can be read: some record there is known to be wrong.
pub fn give_up_leaf(mtr: &mut Mtr<'_>, tree: &Tree, key: &[u8]) -> Result<(), Stop> {
    debug_assert!(mtr.is_empty(), "one mini-transaction gives one page up");
    let leaf = tree.leaf_exclusive(mtr.pool(), key)?;
    plan_lost(mtr, leaf);
    Ok(())
}

fn plan_lost<'p>(mtr: &mut Mtr<'p>, guard: ExclusiveGuard<'p>) {
    let page = guard.page_id();
    let mut image = vec![0; mtr.pool().page_bytes()];
    header::format(&mut image, page, PageKind::Lost, TreeId(0));
    mtr.hold(guard);
    mtr.change(page, &Change::image_of(&image));
}

/// The same for an inner page of a tree that is being discarded: it becomes an empty leaf, so that its parent can cut
/// it off. The pages below it stay in use for ever.
pub fn empty(mtr: &mut Mtr<'_>, page: PageId, tree: TreeId) -> Result<(), Stop> {
    debug_assert!(mtr.is_empty(), "one mini-transaction empties one node");
    let identity = NodeIdentity { page, tree, level: 0 };
    let image = NodeBuilder::new(mtr.pool().page_bytes(), identity, &[]).finish();
    mtr.hold(mtr.pool().create(page)?);
    mtr.change(page, &Change::image_of(&image));
    Ok(())
}
