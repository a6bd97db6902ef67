//! The pages that were written since a point are known, across starts and crashes; what is damaged is forgotten, never wrong.

use super::super::InPlaceStore;
use super::*;
use crate::{PageBatch, PageKind, PageSize, PageStore, TreeId, header};
use env::sim::{Fault, FaultEffect, SeededRandom, SimOptions, World};
use env::{Env, IoErrorKind, IoOp};
use std::collections::BTreeSet;

const SIZE: PageSize = PageSize::K4;

async fn write(store: &InPlaceStore, pages: &[u64], version: u64) {
    let mut batch = PageBatch::new(SIZE, pages.len());
    for page in pages {
        let mut bytes = vec![version as u8; SIZE.bytes()];
        header::format(&mut bytes, PageId(*page), PageKind::Overflow, TreeId(3));
        header::set_lsn(&mut bytes, version);
        batch.push(PageId(*page), &bytes);
    }
    store.write_batch(batch).await.unwrap();
}

fn ids(pages: Option<Vec<PageId>>) -> Option<Vec<u64>> {
    pages.map(|pages| pages.iter().map(|page| page.0).collect())
}

async fn new_store(env: &Env) -> InPlaceStore {
    let store = InPlaceStore::create(env, "", SIZE).await.unwrap();
    store.write_superblock(b"first").await.unwrap();
    store.extend(9000).await.unwrap();
    store
}

#[test]
fn what_was_written_since_each_point_is_known_in_the_next_life() {
    let world = World::new(1, SimOptions::default());
    let env = world.env();
    let run = async move {
        let store = new_store(&env).await;
        write(&store, &[5, 6], 1).await;
        let first = store.begin_change_point().await.unwrap();
        write(&store, &[6, 8192], 2).await;
        let second = store.begin_change_point().await.unwrap();
        write(&store, &[70], 3).await;
        assert_eq!(ids(store.changed_since(first)), Some(vec![6, 70, 8192]));
        assert_eq!(ids(store.changed_since(second)), Some(vec![70]));
        store.write_superblock(b"second").await.unwrap();
        let later = ChangePoint { number: 3, ..second };
        let other = ChangePoint { map: second.map ^ 1, ..second };
        assert_eq!((store.changed_since(later), store.changed_since(other)), (None, None));
        drop(store);
        let store = InPlaceStore::open(&env, "").await.unwrap();
        assert_eq!(ids(store.changed_since(first)), Some(vec![6, 70, 8192]));
        let third = store.begin_change_point().await.unwrap();
        assert_eq!(ids(store.changed_since(third)), Some(vec![]));
        write(&store, &[9], 4).await;
        assert_eq!(ids(store.changed_since(second)), Some(vec![9, 70]));
    };
    world.block_on(run).unwrap();
}

#[test]
fn many_points_become_few_and_forget_no_page() {
    let world = World::new(2, SimOptions::default());
    let env = world.env();
    let run = async move {
        let store = new_store(&env).await;
        let (mut points, mut written) = (Vec::new(), Vec::new());
        let random = SeededRandom::new(7);
        for version in 0..100 {
            points.push(store.begin_change_point().await.unwrap());
            let pages: BTreeSet<u64> = (0..20).map(|_| 2 + random.below(8000) as u64).collect();
            let pages: Vec<u64> = pages.into_iter().collect();
            write(&store, &pages, version + 1).await;
            store.write_superblock(&version.to_le_bytes()).await.unwrap();
            written.push(pages);
        }
        drop(store);
        let store = store_of(&env).await;
        for (index, point) in points.iter().enumerate() {
            let found = ids(store.changed_since(*point)).expect("it is known");
            let needed: BTreeSet<u64> = written[index..].iter().flatten().copied().collect();
            assert!(needed.iter().all(|page| found.contains(page)), "point {index}");
            let is_exact = index + POINTS_MAX > points.len() + 1;
            assert!(!is_exact || needed.len() == found.len(), "point {index}");
        }
    };
    world.block_on(run).unwrap();
}

async fn store_of(env: &Env) -> InPlaceStore {
    InPlaceStore::open(env, "").await.unwrap()
}

#[test]
fn a_journal_that_is_behind_or_damaged_is_forgotten() {
    let world = World::new(3, SimOptions::default());
    let env = world.env();
    let broken = Fault {
        op: Some(IoOp::Write),
        path: CHANGES_FILE.into(),
        after: 0,
        sticky: false,
        effect: FaultEffect::Error(IoErrorKind::NoSpace),
    };
    let run = async {
        let store = new_store(&env).await;
        let point = store.begin_change_point().await.unwrap();
        write(&store, &[5], 1).await;
        world.set_faults(&[broken]);
        store.write_superblock(b"second").await.unwrap();
        world.set_faults(&[]);
        assert_eq!(store.changed_since(point), None);
        drop(store);
        let store = store_of(&env).await;
        assert_eq!(store.changed_since(point), None, "nor in the next life");
        let point = store.begin_change_point().await.unwrap();
        write(&store, &[6], 2).await;
        store.write_superblock(b"third").await.unwrap();
        drop(store);
        let file = env.disk.open(CHANGES_FILE, OpenOptions::existing()).await.unwrap();
        let length = file.len().await.unwrap() as usize;
        let (whole, _) = file.read_at(0, IoBuf::zeroed(length)).await;
        for at in 0..length {
            let mut bytes = whole.as_slice().to_vec();
            bytes[at] ^= 1 << (at % 8);
            file.write_at(0, IoBuf::copy_of(&bytes)).await.1.unwrap();
            assert_eq!(store_of(&env).await.changed_since(point), None, "byte {at}");
        }
        file.write_at(0, whole).await.1.unwrap();
        assert_eq!(ids(store_of(&env).await.changed_since(point)), Some(vec![6]));
    };
    world.block_on(run).unwrap();
}
