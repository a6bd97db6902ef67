//! Search, heads, and the arithmetic of prefixes and separators.

use super::*;
use pagestore::{PageId, PageSize, TreeId};
use proptest::prelude::*;

fn build(prefix: &[u8], keys: &[Vec<u8>]) -> Vec<u8> {
    let identity = NodeIdentity { page: PageId(5), tree: TreeId(1), level: 0 };
    let mut builder = NodeBuilder::new(16384, identity, prefix);
    for key in keys {
        builder.push(key, &[], &[key.len() as u8]);
    }
    builder.finish()
}

#[test]
fn limits_are_what_the_documentation_says() {
    assert_eq!(key_bytes_max(PageSize::K4), 1958);
    assert_eq!(key_bytes_max(PageSize::K8), 4006);
    assert_eq!(key_bytes_max(PageSize::K16), 8102);
    for size in [PageSize::K4, PageSize::K8, PageSize::K16] {
        assert!(inline_value_max(size, key_bytes_max(size)) >= crate::overflow::STUB_BYTES);
        assert!(2 * entry_bytes_max(size) <= size.bytes() - NODE_HEADER_BYTES);
    }
}

#[test]
fn separators_are_short_and_separate() {
    assert_eq!(shortest_separator(b"abc", b"abd"), 3);
    assert_eq!(shortest_separator(b"ab", b"abc"), 3);
    assert_eq!(shortest_separator(b"", b"zzz"), 1);
    assert_eq!(shared_prefix(b"abc", Some(b"abx")), 2);
    assert_eq!(shared_prefix(b"abc", None), 0);
}

proptest! {
    #[test]
    fn search_agrees_with_a_sorted_list(
        mut keys in prop::collection::btree_set(prop::collection::vec(0u8..4, 0..7), 0..200),
        probe in prop::collection::vec(0u8..4, 0..8),
        prefix in prop::collection::vec(1u8..3, 0..5),
    ) {
        let prefixed: Vec<Vec<u8>> =
            std::mem::take(&mut keys).into_iter().map(|key| [prefix.clone(), key].concat()).collect();
        let page = build(&prefix, &prefixed);
        prop_assert_eq!(check(&page), Ok(()));
        let node = Node::new(&page);
        prop_assert_eq!(node.search(&probe), prefixed.binary_search(&probe));
        let probe = [prefix, probe].concat();
        prop_assert_eq!(node.search(&probe), prefixed.binary_search(&probe));
    }

    #[test]
    fn edits_agree_with_a_list(operations in prop::collection::vec((0usize..4, any::<u16>(), 0usize..80), 1..150)) {
        let mut page = build(b"", &[]);
        let mut model: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for (operation, number, length) in operations {
            let key = (number % 64).to_be_bytes().to_vec();
            let value = vec![number as u8; length];
            let found = Node::new(&page).search(&key);
            prop_assert_eq!(found, model.binary_search_by(|(other, _)| other.cmp(&key)));
            let mut node = NodeMut::new(&mut page);
            match (operation, found) {
                (0..=2, Err(slot)) => {
                    node.insert(slot, &key, &value);
                    model.insert(slot, (key, value));
                }
                (0..=1, Ok(slot)) => {
                    node.splice_value(slot, 0, 0, &value);
                    model[slot].1 = value;
                }
                (_, Ok(slot)) => {
                    node.delete(slot);
                    model.remove(slot);
                }
                (_, Err(_)) => {}
            }
            prop_assert_eq!(check(&page), Ok(()));
        }
        let node = Node::new(&page);
        let entries: Vec<_> = (0..node.count()).map(|slot| (node.key(slot), node.value(slot).to_vec())).collect();
        prop_assert_eq!(entries, model);
    }
}
