//! Applying one change to one page.

use crate::check_page;
use crate::node::{CHILD_BYTES, Node, NodeMut, SLOT_BYTES};
use crate::redo::Change;
use crate::space_bits;
use pagestore::{PageFault, PageId, PageKind, header};

/// Makes the change to the bytes of page `id`. The page must be intact by `check_page`, except before an image.
/// After an error the bytes are unspecified: the page must not be used or written.
pub fn apply(page: &mut [u8], id: PageId, change: &Change<'_>) -> Result<(), PageFault> {
    if let Change::Image { front, tail } = change {
        return apply_image(page, id, front, tail);
    }
    match (header::kind(page), change) {
        (Some(PageKind::Node), _) => apply_to_node(page, change),
        (Some(PageKind::SpaceMap), Change::SpaceBits { used, bits }) => {
            space_bits::apply_bits(page, *used, *bits)
        }
        (Some(PageKind::SpaceMap), Change::SpaceRegions { count }) => space_bits::apply_regions(page, *count),
        _ => fault("a log record is for another kind of page"),
    }
}

fn apply_image(page: &mut [u8], id: PageId, front: &[u8], tail: &[u8]) -> Result<(), PageFault> {
    let Some(gap_end) = page.len().checked_sub(tail.len()).filter(|end| *end >= front.len()) else {
        return fault("a logged page image is longer than a page");
    };
    page[..front.len()].copy_from_slice(front);
    page[front.len()..gap_end].fill(0);
    page[gap_end..].copy_from_slice(tail);
    if header::id(page) != id {
        return fault("a logged page image is for another page");
    }
    match check_page(page) {
        // Giving a page up is a change like others, and the log repeats it.
        Err(PageFault::Lost) => Ok(()),
        checked => checked,
    }
}

fn apply_to_node(page: &mut [u8], change: &Change<'_>) -> Result<(), PageFault> {
    let mut node = NodeMut::new(page);
    let view = node.node();
    match *change {
        Change::Insert { slot, suffix, value } => {
            let slot = usize::from(slot);
            if slot > view.count() || view.free_bytes() < SLOT_BYTES + suffix.len() + value.len() {
                return fault("a logged insert does not fit into its node");
            }
            let after_left = slot == 0 || view.suffix(slot - 1) < suffix;
            let before_right = slot == view.count() || suffix < view.suffix(slot);
            if !after_left || !before_right || (view.level() > 0 && value.len() != CHILD_BYTES) {
                return fault("a logged insert contradicts its node");
            }
            node.insert(slot, suffix, value);
        }
        Change::Splice { slot, keep_start, keep_end, middle } => {
            let (slot, keep_start, keep_end) =
                (usize::from(slot), usize::from(keep_start), usize::from(keep_end));
            if slot >= view.count() || keep_start + keep_end > view.value(slot).len() {
                return fault("a logged update is for a value that is not there");
            }
            let old_len = view.value(slot).len();
            let new_len = keep_start + keep_end + middle.len();
            let wrong_child = view.level() > 0 && new_len != CHILD_BYTES;
            if new_len > old_len + view.free_bytes() || wrong_child {
                return fault("a logged update does not fit into its node");
            }
            node.splice_value(slot, keep_start, keep_end, middle);
        }
        Change::Delete { slot } => {
            if usize::from(slot) >= view.count() {
                return fault("a logged delete is for an entry that is not there");
            }
            node.delete(usize::from(slot));
        }
        Change::Reshape { keep, prefix_len } => {
            check_reshape(view, usize::from(keep), usize::from(prefix_len))?;
            node.reshape(usize::from(keep), usize::from(prefix_len));
        }
        Change::Image { .. } | Change::SpaceBits { .. } | Change::SpaceRegions { .. } => {
            return fault("a log record is for another kind of page");
        }
    }
    Ok(())
}

fn check_reshape(node: Node<'_>, keep: usize, prefix_len: usize) -> Result<(), PageFault> {
    let Some(more) = prefix_len.checked_sub(node.prefix().len()) else {
        return fault("a logged reshape shortens the prefix");
    };
    if keep > node.count() || (more > 0 && keep == 0) {
        return fault("a logged reshape keeps entries that are not there");
    }
    // Keys are in order, so what the first and the last share, all share.
    if more > 0 {
        let (first, last) = (node.suffix(0), node.suffix(keep - 1));
        if first.len() < more || last.len() < more || first[..more] != last[..more] {
            return fault("a logged reshape wants a prefix that the keys do not share");
        }
    }
    Ok(())
}

fn fault(rule: &'static str) -> Result<(), PageFault> {
    Err(PageFault::Structure(rule))
}
