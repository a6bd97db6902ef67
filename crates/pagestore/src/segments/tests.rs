//! The store on the simulated disk: pages come and go, move, and survive reopening.

use super::*;
use crate::{PageKind, StoreError, TreeId, header};
use env::sim::{Outcome, SeededRandom, SimOptions, World};
use std::collections::BTreeMap;

fn image(page: PageId, version: u64) -> Vec<u8> {
    let mut bytes = vec![version as u8; PageSize::K4.bytes()];
    header::format(&mut bytes, page, PageKind::Overflow, TreeId(3));
    header::set_lsn(&mut bytes, version);
    bytes
}

async fn write(store: &SegmentStore, pages: &[(u64, u64)]) -> Result<(), StoreError> {
    let mut batch = PageBatch::new(PageSize::K4, pages.len());
    for (page, version) in pages {
        batch.push(PageId(*page), &image(PageId(*page), *version));
    }
    store.write_batch(batch).await
}

async fn read(store: &SegmentStore, page: u64) -> Result<u64, StoreError> {
    let (buffer, result) = store.read(PageId(page), IoBuf::zeroed(4096)).await;
    result.map(|()| {
        assert_eq!(buffer.as_slice()[100..], image(PageId(page), header::lsn(buffer.as_slice()))[100..]);
        header::lsn(buffer.as_slice())
    })
}

async fn expect(store: &SegmentStore, model: &BTreeMap<u64, u64>, pages: u64) {
    for page in 0..pages {
        let found = read(store, page).await;
        match model.get(&page) {
            Some(version) => assert_eq!(found, Ok(*version), "page {page}"),
            None => assert!(found.is_err_and(|error| error.is_corruption()), "page {page}"),
        }
    }
    store.check().await.unwrap();
}

/// Random batches, frees and reopenings against a model.
#[test]
fn pages_survive_overwriting_cleaning_and_reopening() {
    for seed in 0..6 {
        let world = World::new(seed, SimOptions { steps_max: 3_000_000, ..SimOptions::default() });
        let env = world.env();
        let run = async {
            let random = SeededRandom::new(seed);
            let options = SegmentOptions { cycle_share: 1 + seed as u32 % 4, ..SegmentOptions::tiny() };
            let mut store = SegmentStore::create(&env, "", PageSize::K4, options).await.unwrap();
            let pages = 120;
            store.extend(pages).await.unwrap();
            let mut model = BTreeMap::new();
            for version in 1..600 {
                let count = 1 + random.below(7);
                let mut batch: Vec<(u64, u64)> = Vec::new();
                while batch.len() < count {
                    let page = random.below(pages as usize) as u64;
                    if batch.iter().all(|(other, _)| *other != page) {
                        batch.push((page, version));
                    }
                }
                if random.below(5) == 0 {
                    let freed: Vec<PageId> = batch.iter().map(|(page, _)| PageId(*page)).collect();
                    store.free(&freed).await.unwrap();
                    model.retain(|page, _| !freed.contains(&PageId(*page)));
                } else {
                    write(&store, &batch).await.unwrap();
                    model.extend(batch);
                }
                if random.below(100) == 0 {
                    expect(&store, &model, pages).await;
                    store.settle().await.unwrap();
                    drop(store);
                    store = SegmentStore::open(&env, "", options).await.unwrap();
                    assert_eq!(store.page_count(), pages);
                    expect(&store, &model, pages).await;
                }
            }
            store.stats()
        };
        let Outcome::Done(stats) = world.block_on(run) else { panic!("seed {seed} hangs") };
        assert!(stats.segments_cleaned + stats.cycles > 0, "{stats:?}");
    }
}
