//! Random operations against a `BTreeMap`.

use super::bed::{Bed, Rng};
use crate::{Direction, Position, Tree, entry_bytes_max, key_bytes_max};
use env::sim::{SimOptions, World};
use pagestore::PageSize;
use std::collections::BTreeMap;
use wal::WalOptions;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// How keys look.
#[derive(Clone, Copy)]
enum Keys {
    Short,
    /// A few long shared beginnings: prefix truncation at work.
    SharedPrefix,
    /// Up to the limit, with shared beginnings of any length.
    Long,
}

fn draw_key(rng: &mut Rng, keys: Keys, page_size: PageSize) -> Vec<u8> {
    match keys {
        Keys::Short => {
            let len = rng.below(6);
            (0..len).map(|_| b"abcd\0\xff"[rng.below(6)]).collect()
        }
        Keys::SharedPrefix => {
            format!("database/table-{:03}/row-{:06}", rng.below(4), rng.below(3000)).into_bytes()
        }
        Keys::Long => {
            let max = key_bytes_max(page_size);
            let len = if rng.below(3) == 0 { rng.below(max + 1) } else { rng.below(max / 4) };
            let mut key = vec![b'x'; len];
            for _ in 0..rng.below(3) {
                if len > 0 {
                    key[rng.below(len)] = b"wyz"[rng.below(3)];
                }
            }
            key
        }
    }
}

fn draw_value(rng: &mut Rng, key: &[u8], page_size: PageSize) -> Vec<u8> {
    let max = entry_bytes_max(page_size) - 10 - key.len();
    let max = if rng.below(10) == 0 { max.min(page_size.bytes() / 4) } else { max.min(100) };
    let len = rng.below(max + 1);
    let fill = rng.next() as u8;
    (0..len).map(|index| if index % 7 == 0 { fill } else { index as u8 }).collect()
}

async fn compare(bed: &Bed, tree: Tree, model: &Model, rng: &mut Rng, keys: Keys, page_size: PageSize) {
    let expected: Vec<_> = model.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    assert_eq!(bed.scan(tree, Position::start(), Direction::Forward).await, expected);
    let mut backward = bed.scan(tree, Position::start(), Direction::Backward).await;
    backward.reverse();
    assert_eq!(backward, expected);
    let from = draw_key(rng, keys, page_size);
    let tail: Vec<_> = expected.iter().filter(|(key, _)| *key >= from).cloned().collect();
    assert_eq!(bed.scan(tree, Position::at(&from), Direction::Forward).await, tail);
    let tail: Vec<_> = expected.iter().filter(|(key, _)| *key > from).cloned().collect();
    assert_eq!(bed.scan(tree, Position::after(&from), Direction::Forward).await, tail);
    let head: Vec<_> = expected.iter().rev().filter(|(key, _)| *key <= from).cloned().collect();
    assert_eq!(bed.scan(tree, Position::at(&from), Direction::Backward).await, head);
    let head: Vec<_> = expected.iter().rev().filter(|(key, _)| *key < from).cloned().collect();
    assert_eq!(bed.scan(tree, Position::after(&from), Direction::Backward).await, head);
    bed.verify(&[tree]).await;
}

fn check(seed: u64, page_size: PageSize, keys: Keys, operations: usize) {
    let world = World::new(seed, SimOptions::default());
    let env = world.env();
    let run = async move {
        let (bed, tree) = Bed::create(&env, page_size, 64, WalOptions::default()).await;
        let mut rng = Rng(seed | 1);
        let mut model = Model::new();
        for operation in 0..operations {
            let key = draw_key(&mut rng, keys, page_size);
            // Grow first, shrink later.
            let removes = if operation * 2 < operations { 3 } else { 7 };
            if rng.below(10) < removes {
                let removed = bed.remove(tree, &key).await.unwrap().is_some();
                assert_eq!(removed, model.remove(&key).is_some());
            } else {
                let value = draw_value(&mut rng, &key, page_size);
                bed.put(tree, &key, &value).await.unwrap();
                model.insert(key, value);
            }
            let probe = draw_key(&mut rng, keys, page_size);
            assert_eq!(bed.get(tree, &probe).await, model.get(&probe).cloned());
            if operation % (operations / 4) == 0 {
                compare(&bed, tree, &model, &mut rng, keys, page_size).await;
            }
        }
        compare(&bed, tree, &model, &mut rng, keys, page_size).await;
        for key in std::mem::take(&mut model).into_keys() {
            assert!(bed.remove(tree, &key).await.unwrap().is_some());
        }
        compare(&bed, tree, &model, &mut rng, keys, page_size).await;
        let report = tree.verify(&bed.pool, &bed.space).await.unwrap();
        assert!(report.leaf_pages <= 2, "an empty tree has shrunk: {report:?}");
    };
    world.block_on(run).unwrap();
}

#[test]
fn short_keys_agree_with_the_model() {
    check(1, PageSize::K4, Keys::Short, 4000);
}

#[test]
fn shared_prefixes_agree_with_the_model() {
    check(2, PageSize::K4, Keys::SharedPrefix, 6000);
    check(3, PageSize::K8, Keys::SharedPrefix, 6000);
}

#[test]
fn long_keys_agree_with_the_model() {
    check(4, PageSize::K4, Keys::Long, 1500);
    check(5, PageSize::K8, Keys::Long, 1500);
    check(6, PageSize::K16, Keys::Long, 1000);
}
