//! Records survive their encoding, and neither records nor pages of any content can make redo panic.

use super::*;
use crate::check_page;
use crate::node::{NodeBuilder, NodeIdentity};
use pagestore::{PageId, TreeId, header};
use proptest::prelude::*;

const PAGE: PageId = PageId(0x12_3456_789a);

fn leaf() -> Vec<u8> {
    let identity = NodeIdentity { page: PAGE, tree: TreeId(1), level: 0 };
    let mut builder = NodeBuilder::new(4096, identity, b"pre");
    for number in 10..40u8 {
        builder.push(b"prefix", &[number], &vec![number; usize::from(number)]);
    }
    builder.finish()
}

fn changes() -> Vec<Change<'static>> {
    let bits = &[7, 0, 0, 0, 9, 1, 0, 0];
    vec![
        Change::Image { front: b"front", tail: b"tail" },
        Change::Insert { slot: 3, suffix: b"fix\x0c\x01", value: b"value" },
        Change::Splice { slot: 2, keep_start: 1, keep_end: 2, middle: b"long enough to move the entry" },
        Change::Splice { slot: 2, keep_start: 0, keep_end: 0, middle: b"" },
        Change::Delete { slot: 0 },
        Change::Reshape { keep: 5, prefix_len: 6 },
        Change::SpaceBits { used: true, bits: BitList::from_bytes(bits).unwrap() },
        Change::SpaceRegions { count: 3 },
    ]
}

#[test]
fn records_come_back_from_their_encoding() {
    for change in changes() {
        let mut bytes = Vec::new();
        change.encode(PAGE, &mut bytes);
        assert_eq!(Change::decode(change.kind(), &bytes), Ok((PAGE, change)));
    }
    assert_eq!(Change::decode(1, &[0; 4]), Err(Malformed));
    assert_eq!(Change::decode(60, &[0; 40]), Err(Malformed));
}

#[test]
fn an_image_rebuilds_the_page() {
    let page = leaf();
    let mut other = vec![0xee; 4096];
    apply(&mut other, PAGE, &Change::image_of(&page)).unwrap();
    assert_eq!(page, other);
    assert!(apply(&mut other, PageId(1), &Change::image_of(&page)).is_err());
}

#[test]
fn node_changes_apply_to_a_fitting_node_alone() {
    for change in &changes()[1..6] {
        let mut page = leaf();
        apply(&mut page, PAGE, change).unwrap();
        check_page(&page).unwrap();
        let mut map = vec![0; 4096];
        header::format(&mut map, PAGE, pagestore::PageKind::SpaceMap, TreeId(0));
        assert!(apply(&mut map, PAGE, change).is_err());
    }
    let mut page = leaf();
    let misplaced = Change::Insert { slot: 0, suffix: b"fix\x20", value: b"" };
    assert!(apply(&mut page, PAGE, &misplaced).is_err());
    let unshared = Change::Reshape { keep: 5, prefix_len: 7 };
    assert!(apply(&mut page, PAGE, &unshared).is_err());
}

proptest! {
    #[test]
    fn any_record_on_a_sound_page_leaves_it_sound_or_fails(
        kind in 0u8..10,
        payload in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        if let Ok((page, change)) = Change::decode(kind, &payload) {
            let mut bytes = leaf();
            if apply(&mut bytes, page, &change).is_ok() {
                prop_assert_eq!(check_page(&bytes), Ok(()));
            }
        }
    }

    #[test]
    fn small_numbers_reach_deeper(
        kind in 2u8..6,
        numbers in prop::collection::vec(0u16..45, 1..4),
        rest in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut payload = PAGE.0.to_le_bytes()[..5].to_vec();
        numbers.iter().for_each(|number| payload.extend_from_slice(&number.to_le_bytes()));
        payload.extend_from_slice(&rest);
        if let Ok((page, change)) = Change::decode(kind, &payload) {
            let mut bytes = leaf();
            if apply(&mut bytes, page, &change).is_ok() {
                prop_assert_eq!(check_page(&bytes), Ok(()));
            }
        }
    }

    #[test]
    fn damaged_pages_that_pass_the_check_are_safe_to_use(
        damage in prop::collection::vec((40usize..4096, any::<u8>()), 1..20),
        key in prop::collection::vec(any::<u8>(), 0..12),
        slot in 0u16..40,
    ) {
        let mut page = leaf();
        for (at, byte) in damage {
            // Most of the damage goes where the structure is.
            let at = if at % 4 == 0 { at } else { 40 + at % 200 };
            page[at] = byte;
        }
        if check_page(&page).is_err() {
            return Ok(());
        }
        let node = crate::node::Node::new(&page);
        let _ = node.search(&key);
        for index in 0..node.count() {
            let _ = (node.key(index), node.value(index));
        }
        for change in changes() {
            let mut copy = page.clone();
            let _ = apply(&mut copy, PAGE, &change);
        }
        let mut copy = page.clone();
        let _ = apply(&mut copy, PAGE, &Change::Insert { slot, suffix: &key, value: &[1; 300] });
        let _ = apply(&mut copy, PAGE, &Change::Reshape { keep: slot, prefix_len: 4 });
    }
}
