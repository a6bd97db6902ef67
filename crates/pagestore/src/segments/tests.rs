//! The store on the simulated disk: pages come and go, move, and survive reopening.

use super::*;
use crate::{PageKind, StoreError, TreeId, header};
use env::sim::{Fault, FaultEffect, Outcome, SeededRandom, SimOptions, World};
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

/// Growth ends at the end of the disk: more pages are refused, those that are there can still be rewritten and freed.
#[test]
fn a_full_disk_refuses_new_pages_and_takes_old_ones() {
    let options = SimOptions { capacity_bytes: Some(2 << 20), steps_max: 5_000_000, ..SimOptions::default() };
    let world = World::new(8, options);
    let env = world.env();
    let run = async {
        let options = SegmentOptions::tiny();
        let store = SegmentStore::create(&env, "", PageSize::K4, options).await.unwrap();
        let mut pages = 64;
        while store.extend(pages).await.is_ok() {
            pages += 16;
        }
        let pages = store.page_count();
        assert!((250..400).contains(&pages), "{pages} pages in 2 MB");
        let error = store.extend(10 * pages).await.unwrap_err();
        assert!(error.is_no_space() && store.page_count() == pages);
        let mut model = BTreeMap::new();
        let random = SeededRandom::new(3);
        for version in 1..6 {
            for first in 0..pages / 4 {
                let first = if version == 1 { first } else { random.below(pages as usize / 4) as u64 };
                let batch: Vec<_> = (0..4).map(|index| (first * 4 + index, version)).collect();
                write(&store, &batch).await.unwrap();
                model.extend(batch);
            }
        }
        expect(&store, &model, pages).await;
        let all: Vec<PageId> = (0..pages).map(PageId).collect();
        store.free(&all).await.unwrap();
        assert_eq!(store.stats().mapped_pages, 0);
        write(&store, &[(0, 9)]).await.unwrap();
        expect(&store, &BTreeMap::from([(0, 9)]), pages).await;
    };
    assert_eq!(world.block_on(run), Outcome::Done(()));
}

#[test]
fn after_a_failed_sync_nothing_more_is_acknowledged() {
    for after in 0..4 {
        let world = World::new(4, SimOptions::default());
        let env = world.env();
        let run = async {
            let store = SegmentStore::create(&env, "", PageSize::K4, SegmentOptions::tiny()).await.unwrap();
            store.extend(64).await.unwrap();
            world.set_faults(&[env::sim::Fault::input_output_error(env::IoOp::Sync, "", after)]);
            let mut failures = 0;
            for round in 0..8 {
                let result = match round % 2 {
                    0 => write(&store, &[(5, round)]).await,
                    _ => store.write_superblock(b"checkpoint").await,
                };
                assert!(failures == 0 || result.is_err(), "an operation succeeded after a failure");
                failures += u64::from(result.is_err());
            }
            // Background work may have met the failing sync earlier.
            assert!(failures >= 8 - after);
        };
        assert_eq!(world.block_on(run), Outcome::Done(()));
    }
}

/// Who looked at the store just before the failure came to be known finds no sync to begin either.
#[test]
fn a_failed_epoch_never_ends() {
    let world = World::new(4, SimOptions::default());
    let env = world.env();
    let run = async {
        let store = SegmentStore::create(&env, "", PageSize::K4, SegmentOptions::tiny()).await.unwrap();
        store.extend(64).await.unwrap();
        store.settle().await.unwrap();
        world.set_faults(&[env::sim::Fault::input_output_error(env::IoOp::Sync, "segments", 0)]);
        assert!(write(&store, &[(5, 1)]).await.is_err());
        let mut state = store.core.state.lock();
        assert!(!state.is_settled() && state.begin_epoch().is_none());
    };
    assert_eq!(world.block_on(run), Outcome::Done(()));
}

/// A sync fails, the process is killed, and the next one sees what the kernel wrongly takes for durable: what it has
/// shown may not vanish in a power cut.
#[test]
fn what_an_opening_shows_after_a_failed_sync_stays() {
    let (mut failures, mut shown) = (0, 0);
    for seed in 0..120 {
        let world = World::new(seed, SimOptions { steps_max: 3_000_000, ..SimOptions::default() });
        let (pages, random) = (60, SeededRandom::new(seed));
        let env = world.env();
        let live = async {
            let store = SegmentStore::create(&env, "", PageSize::K4, SegmentOptions::tiny()).await.unwrap();
            store.extend(pages).await.unwrap();
            let after = random.below(60) as u64;
            world.set_faults(&[env::sim::Fault::input_output_error(env::IoOp::Sync, "", after)]);
            for version in 1..60 {
                let first = random.below(pages as usize - 3) as u64;
                let batch: Vec<_> = (first..first + 3).map(|page| (page, version)).collect();
                let done = match random.below(12) {
                    0 => store.extend(store.page_count() + 8).await,
                    1 => store.write_superblock(b"checkpoint").await,
                    _ => write(&store, &batch).await,
                };
                failures += u64::from(done.is_err());
            }
        };
        assert_eq!(world.block_on(live), Outcome::Done(()), "seed {seed}");
        let look = async |env: env::Env| {
            let store = SegmentStore::open(&env, "", SegmentOptions::tiny()).await.unwrap();
            let mut found = Vec::new();
            for page in 0..pages {
                found.push(read(&store, page).await.ok());
            }
            store.check().await.unwrap();
            found
        };
        let options = SimOptions { steps_max: 3_000_000, ..SimOptions::default() };
        let world = world.kill(options.clone());
        let Outcome::Done(before) = world.block_on(look(world.env())) else { panic!("seed {seed}") };
        shown += before.iter().flatten().count();
        let world = world.crash(options);
        assert_eq!(world.block_on(look(world.env())), Outcome::Done(before), "seed {seed}");
    }
    assert!(failures > 100 && shown > 100, "{failures} {shown}");
}

/// A sync fails, the process is killed, the next opening works with what the kernel wrongly shows, and fails before it
/// has made a checkpoint of it; then the power is cut. What was acknowledged before is still there.
#[test]
fn an_opening_that_is_cut_off_keeps_what_doubtful_chunks_replace() {
    let (mut failures, mut cut_off) = (0, 0);
    for seed in 0..400 {
        let world = World::new(seed, SimOptions { steps_max: 3_000_000, ..SimOptions::default() });
        let (pages, random) = (60, SeededRandom::new(seed));
        let env = world.env();
        // Versions that the page may have; none at first.
        let mut asked: Vec<Vec<Option<u64>>> = vec![vec![None]; pages as usize];
        let live = async {
            let store = SegmentStore::create(&env, "", PageSize::K4, SegmentOptions::tiny()).await.unwrap();
            store.extend(pages).await.unwrap();
            let after = 20 + random.below(40) as u64;
            world.set_faults(&[env::sim::Fault::input_output_error(env::IoOp::Sync, "segments", after)]);
            for version in 1..60 {
                let first = random.below(pages as usize - 3) as u64;
                let batch: Vec<_> = (first..first + 3).map(|page| (page, version)).collect();
                let done = write(&store, &batch).await;
                failures += u64::from(done.is_err());
                for page in first..first + 3 {
                    let versions = &mut asked[page as usize];
                    if done.is_ok() {
                        versions.clear();
                    }
                    versions.push(Some(version));
                }
            }
        };
        assert_eq!(world.block_on(live), Outcome::Done(()), "seed {seed}");
        let options = SimOptions { steps_max: 3_000_000, ..SimOptions::default() };
        let fault = env::sim::Fault::input_output_error(env::IoOp::Write, "", random.below(12) as u64);
        let world = world.kill(SimOptions { faults: vec![fault.sticky()], ..options.clone() });
        let env = world.env();
        let opened = async { SegmentStore::open(&env, "", SegmentOptions::tiny()).await.is_ok() };
        cut_off += u64::from(world.block_on(opened) == Outcome::Done(false));
        let world = world.crash(options);
        let env = world.env();
        let look = async {
            let store = SegmentStore::open(&env, "", SegmentOptions::tiny()).await.unwrap();
            for (page, versions) in asked.iter().enumerate() {
                let absent =
                    crate::CorruptPage { page: PageId(page as u64), fault: crate::PageFault::Absent };
                let found = match read(&store, page as u64).await {
                    Err(StoreError::Corrupt(corrupt)) if corrupt == absent => None,
                    found => Some(found.unwrap()),
                };
                assert!(versions.contains(&found), "page {page}: {found:?}, not one of {versions:?}");
            }
            store.check().await.unwrap();
        };
        assert_eq!(world.block_on(look), Outcome::Done(()), "seed {seed}");
    }
    assert!(failures > 100 && cut_off > 100, "{failures} {cut_off}");
}

/// Flipped bits anywhere: what is returned is right, or it is an error that says so.
#[test]
fn damage_is_noticed_or_does_not_matter() {
    let (mut refused, mut noticed, mut harmless) = (0, 0, 0);
    for seed in 0..400 {
        let world = World::new(seed % 4, SimOptions { steps_max: 5_000_000, ..SimOptions::default() });
        let env = world.env();
        let pages = 40;
        let fill = async {
            let store = SegmentStore::create(&env, "", PageSize::K4, SegmentOptions::tiny()).await.unwrap();
            store.extend(pages).await.unwrap();
            let random = SeededRandom::new(seed % 4);
            let mut model = BTreeMap::new();
            for version in 1..60 {
                let first = random.below(pages as usize - 3) as u64;
                let batch: Vec<_> = (first..first + 3).map(|page| (page, version)).collect();
                write(&store, &batch).await.unwrap();
                model.extend(batch);
            }
            // Says that all of it is durable: without that, the end of the log may be torn by rights.
            store.write_superblock(b"checkpoint").await.unwrap();
            store.close().await.unwrap();
            model
        };
        let Outcome::Done(model) = world.block_on(fill) else { panic!("seed {seed}") };
        let random = SeededRandom::new(seed ^ 0xdecaf);
        let paths = world.paths();
        let path = &paths[random.below(paths.len())];
        world.damage(path, |content| {
            let at = random.below(content.len());
            match random.below(3) {
                0 => content[at] ^= 1 << random.below(8),
                1 => content[at / 512 * 512..at / 512 * 512 + 512].fill(0),
                _ => {
                    // A stale or misdirected block: the content of another.
                    let other = random.below(content.len() / 4096) * 4096;
                    let block = content[other..other + 4096].to_vec();
                    content[at / 4096 * 4096..at / 4096 * 4096 + 4096].copy_from_slice(&block);
                }
            }
        });
        let check = async {
            let store = match SegmentStore::open(&env, "", SegmentOptions::tiny()).await {
                Ok(store) => store,
                Err(error) => {
                    assert!(error.is_corruption(), "{error}");
                    refused += 1;
                    return;
                }
            };
            let mut errors = 0;
            for page in 0..pages {
                match read(&store, page).await {
                    Ok(version) => assert_eq!(Some(&version), model.get(&page), "page {page}"),
                    Err(error) => {
                        assert!(error.is_corruption(), "{error}");
                        errors += u64::from(model.contains_key(&page));
                    }
                }
            }
            if errors > 0 { noticed += 1 } else { harmless += 1 }
        };
        assert_eq!(world.block_on(check), Outcome::Done(()), "seed {seed}");
    }
    assert!(refused > 2 && noticed > 10 && harmless > 10, "{refused} {noticed} {harmless}");
}

/// Where nothing can be reserved the disk is found full only when zeros are written: the same error, and the store goes on.
#[test]
fn a_disk_that_is_full_while_segments_are_filled_is_no_failure() {
    let world = World::new(3, SimOptions::default());
    let env = world.env();
    let run = async {
        let store = SegmentStore::create(&env, "", PageSize::K4, SegmentOptions::tiny()).await.unwrap();
        store.extend(8).await.unwrap();
        let count = store.page_count();
        world.set_faults(&[Fault {
            op: Some(env::IoOp::Write),
            path: "segments".into(),
            after: 0,
            sticky: false,
            effect: FaultEffect::Partial(env::IoErrorKind::NoSpace),
        }]);
        let error = store.extend(10 * count).await.unwrap_err();
        assert!(error.is_no_space() && store.page_count() == count, "{error}");
        store.extend(10 * count).await.unwrap();
        write(&store, &[(9 * count, 1)]).await.unwrap();
        assert_eq!(read(&store, 9 * count).await, Ok(1));
    };
    assert_eq!(world.block_on(run), Outcome::Done(()));
}

/// The first write to each slot of a new store is as durable as every later one.
#[test]
fn a_new_superblock_survives_a_power_cut() {
    for seed in 0..60 {
        let world = World::new(seed, SimOptions::default());
        let env = world.env();
        let written = 1 + seed % 3;
        let live = async {
            let store = SegmentStore::create(&env, "", PageSize::K4, SegmentOptions::tiny()).await.unwrap();
            for version in 1..=written {
                store.write_superblock(&version.to_le_bytes()).await.unwrap();
            }
        };
        assert_eq!(world.block_on(live), Outcome::Done(()));
        let world = world.crash(SimOptions::default());
        let env = world.env();
        let look = async {
            let store = SegmentStore::open(&env, "", SegmentOptions::tiny()).await.unwrap();
            assert_eq!(
                store.read_superblock().await,
                Ok(Some(written.to_le_bytes().to_vec())),
                "seed {seed}"
            );
        };
        assert_eq!(world.block_on(look), Outcome::Done(()));
    }
}

/// The log was durable up to the LSN of every page that was ever written, whatever has become of the page and of its chunk.
#[test]
fn the_newest_lsn_is_known_after_an_opening() {
    for seed in 0..40 {
        let world = World::new(seed, SimOptions { steps_max: 3_000_000, ..SimOptions::default() });
        let env = world.env();
        let live = async {
            let store = SegmentStore::create(&env, "", PageSize::K4, SegmentOptions::tiny()).await.unwrap();
            assert_eq!(store.newest_lsn(), 0);
            store.extend(40).await.unwrap();
            write(&store, &[(1, 5), (2, 900 + seed), (3, 7)]).await.unwrap();
            for version in 1..1 + seed {
                write(&store, &[(2, version), (3, version), (4 + version % 30, version)]).await.unwrap();
            }
            store.free(&[PageId(2)]).await.unwrap();
            if seed % 4 == 1 {
                store.write_superblock(b"checkpoint").await.unwrap();
            }
            assert_eq!(store.newest_lsn(), 900 + seed);
        };
        assert_eq!(world.block_on(live), Outcome::Done(()));
        let options = SimOptions { steps_max: 3_000_000, ..SimOptions::default() };
        let mut world =
            if seed % 2 == 0 { world.kill(options.clone()) } else { world.crash(options.clone()) };
        for opening in 0..3 {
            let env = world.env();
            let look = async {
                let store = SegmentStore::open(&env, "", SegmentOptions::tiny()).await.unwrap();
                assert_eq!(store.newest_lsn(), 900 + seed, "opening {opening} of seed {seed}");
            };
            assert_eq!(world.block_on(look), Outcome::Done(()));
            world = world.crash(options.clone());
        }
    }
}

/// Segments of a growth that was cut off are not used as they are: the next growth fills them.
#[test]
fn a_growth_that_was_cut_off_is_done_again() {
    let world = World::new(3, SimOptions::default());
    let env = world.env();
    let run = async {
        let options = SegmentOptions::tiny();
        let store = SegmentStore::create(&env, "", PageSize::K4, options).await.unwrap();
        store.extend(8).await.unwrap();
        store.close().await.unwrap();
        let segments = store.stats().segments;
        drop(store);
        let file = env.disk.open("segments-0000.db", env::OpenOptions::existing().direct()).await.unwrap();
        file.allocate(options.segment_bytes * (segments + 3)).await.unwrap();
        let store = SegmentStore::open(&env, "", options).await.unwrap();
        assert_eq!(store.stats().segments, segments);
        world.set_faults(&[env::sim::Fault::input_output_error(env::IoOp::Write, "segments", 0)]);
        assert!(store.extend(200).await.is_err(), "the space is written before it counts");
    };
    assert_eq!(world.block_on(run), Outcome::Done(()));
}

/// Neighbours that were written one by one lie apart; written in one batch they come with one read.
#[test]
fn a_batch_brings_scattered_pages_together() {
    let world = World::new(4, SimOptions::default());
    let env = world.env();
    let run = async {
        let options = SegmentOptions { segment_bytes: 1 << 20, ..SegmentOptions::default() };
        let store = SegmentStore::create(&env, "", PageSize::K4, options).await.unwrap();
        store.extend(40).await.unwrap();
        let wanted = [PageId(6), PageId(5), PageId(38), PageId(8), PageId(7)];
        for page in [5, 6, 7, 8] {
            write(&store, &[(page, 1), (page + 10, 1), (page + 20, 1), (page + 30, 1)]).await.unwrap();
        }
        assert!(store.is_scattered(&wanted[..2]) && store.is_scattered(&wanted));
        write(&store, &[(5, 2), (6, 3), (7, 4), (8, 5)]).await.unwrap();
        assert!(!store.is_scattered(&wanted));
        let found = store.read_many(&wanted).await;
        let lsns = found.iter().zip(wanted).map(|(image, page)| {
            let bytes = image.as_ref().unwrap().as_slice();
            header::verify(bytes, page).unwrap();
            header::lsn(bytes)
        });
        assert_eq!(lsns.collect::<Vec<_>>(), [3, 2, 1, 5, 4]);
    };
    world.block_on(run).unwrap();
}
