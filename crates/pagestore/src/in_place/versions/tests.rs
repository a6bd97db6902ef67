//! Lost writes on the simulated disk: a page at home is put back to what it was before its last write.
//!
//! What is tested from both sides: an old image is refused, and no sound page ever is, whatever becomes of the file of
//! versions.

use super::super::{DATA_FILE, InPlaceStore};
use super::*;
use crate::{PageBatch, PageKind, PageSize, PageStore, TreeId};
use env::sim::{Fault, FaultEffect, SimOptions, World};
use env::{IoErrorKind, IoOp};

const SIZE: PageSize = PageSize::K4;
/// The first two in one block of tags, the others in one each.
const PAGES: [u64; 4] = [5, 6, 2040, 4100];
/// Written last, because the doublewrite file brings back what the last batch has lost.
const LAST: u64 = 7;

fn image(page: u64, version: u64) -> Vec<u8> {
    let mut bytes = vec![version as u8; SIZE.bytes()];
    header::format(&mut bytes, PageId(page), PageKind::Overflow, TreeId(3));
    header::set_lsn(&mut bytes, version);
    bytes
}

async fn write(store: &InPlaceStore, pages: &[u64], version: u64) {
    let mut batch = PageBatch::new(SIZE, pages.len());
    pages.iter().for_each(|page| batch.push(PageId(*page), &image(*page, version)));
    store.write_batch(batch).await.unwrap();
}

/// The versions of all pages, or what is wrong with them.
async fn versions(store: &InPlaceStore) -> [Result<u64, PageFault>; 4] {
    let mut found = [Ok(0); 4];
    for (found, page) in found.iter_mut().zip(PAGES) {
        let (bytes, read) = store.read(PageId(page), IoBuf::zeroed(SIZE.bytes())).await;
        *found = match read {
            Ok(()) => Ok(header::lsn(bytes.as_slice())),
            Err(StoreError::Corrupt(corrupt)) => Err(corrupt.fault),
            Err(error) => panic!("{error}"),
        };
    }
    found
}

fn home(page: u64) -> Range<usize> {
    page as usize * SIZE.bytes()..(page as usize + 1) * SIZE.bytes()
}

/// All pages in version 1, and the file as it was then.
fn begin(world: &World) -> (InPlaceStore, Vec<u8>) {
    let env = world.env();
    let store = world.block_on(async move {
        let store = InPlaceStore::create(&env, "", SIZE).await.unwrap();
        store.extend(4200).await.unwrap();
        write(&store, &PAGES, 1).await;
        store
    });
    (store.unwrap(), world.content(DATA_FILE).expect("it was made"))
}

/// The disk has not done its last writes of the page.
fn lose(world: &World, page: u64, before: &[u8]) {
    world.damage(DATA_FILE, |content| content[home(page)].copy_from_slice(&before[home(page)]));
}

fn reopened(world: &World) -> [Result<u64, PageFault>; 4] {
    let env = world.env();
    world.block_on(async move { versions(&InPlaceStore::open(&env, "").await.unwrap()).await }).unwrap()
}

/// A store with pages of version 2, saved as the caller says; then page 6 in version 3.
fn live(closes: bool) -> (World, Vec<u8>) {
    let world = World::new(1, SimOptions::default());
    let (store, before) = begin(&world);
    let life = async move {
        write(&store, &PAGES, 2).await;
        // Each superblock saves a part, and that of all blocks is one write here.
        store.write_superblock(b"record").await.unwrap();
        write(&store, &PAGES[1..2], 3).await;
        write(&store, &[LAST], 1).await;
        if closes {
            store.close().await.unwrap();
        }
    };
    world.block_on(life).unwrap();
    (world, before)
}

const STALE: Result<u64, PageFault> = Err(PageFault::Stale);

#[test]
fn a_lost_write_is_noticed_in_the_same_life() {
    let world = World::new(1, SimOptions::default());
    let (store, before) = begin(&world);
    let (store, found) = world
        .block_on(async move {
            write(&store, &PAGES, 2).await;
            let found = versions(&store).await;
            (store, found)
        })
        .unwrap();
    assert_eq!(found, [Ok(2); 4]);
    lose(&world, 2040, &before);
    let (found, together) = world
        .block_on(async move {
            let found = versions(&store).await;
            let together = store.read_many(&[PageId(2040)]).await.remove(0).unwrap();
            (found, store.verify(PageId(2040), together.as_slice()))
        })
        .unwrap();
    assert_eq!(found, [Ok(2), Ok(2), STALE, Ok(2)]);
    assert_eq!(together, Err(CorruptPage { page: PageId(2040), fault: PageFault::Stale }));
}

#[test]
fn after_a_close_every_lost_write_is_noticed() {
    for (index, page) in PAGES.into_iter().enumerate() {
        let (world, before) = live(true);
        let world = world.kill(SimOptions::default());
        assert_eq!(reopened(&world), [Ok(2), Ok(3), Ok(2), Ok(2)]);
        lose(&world, page, &before);
        let mut expected = [Ok(2), Ok(3), Ok(2), Ok(2)];
        expected[index] = STALE;
        assert_eq!(reopened(&world), expected);
    }
}

#[test]
fn after_a_kill_it_is_noticed_by_what_was_saved() {
    for page in PAGES {
        let (world, before) = live(false);
        let world = world.kill(SimOptions::default());
        assert_eq!(reopened(&world), [Ok(2), Ok(3), Ok(2), Ok(2)], "what was written later is newer");
        lose(&world, page, &before);
        let stale = reopened(&world).into_iter().filter(|found| *found == STALE).count();
        assert_eq!(stale, 1, "page {page}");
    }
}

#[test]
fn what_is_written_after_a_close_is_not_refused() {
    for saves in [false, true] {
        let (world, before) = live(true);
        let world = world.kill(SimOptions::default());
        let env = world.env();
        let life = async move {
            let store = InPlaceStore::open(&env, "").await.unwrap();
            write(&store, &PAGES[2..], 4).await;
            write(&store, &[LAST], 2).await;
            if saves {
                store.write_superblock(b"another").await.unwrap();
            }
        };
        world.block_on(life).unwrap();
        // A power cut may tear a block that was saved since the close, and with it what was known; no sound page is refused for it.
        let cut = world.crash_image(1, SimOptions::default());
        assert_eq!(reopened(&cut), [Ok(2), Ok(3), Ok(4), Ok(4)]);
        let world = if saves { world.kill(SimOptions::default()) } else { cut };
        assert_eq!(reopened(&world), [Ok(2), Ok(3), Ok(4), Ok(4)]);
        lose(&world, 4100, &before);
        assert_eq!(reopened(&world), [Ok(2), Ok(3), Ok(4), STALE], "saves: {saves}");
    }
}

#[test]
fn a_damaged_file_of_versions_refuses_no_sound_page() {
    for closes in [false, true] {
        let sound = |world: &World, what: &str| {
            assert_eq!(reopened(world), [Ok(2), Ok(3), Ok(2), Ok(2)], "{what}, closed: {closes}");
        };
        let (world, _) = live(closes);
        let world = world.kill(SimOptions::default());
        let content = world.content(VERSIONS_FILE).unwrap();
        assert_eq!(content.len(), 4 * BLOCK_BYTES);
        let damaged = |what: &str, damage: &dyn Fn(&mut Vec<u8>)| {
            world.damage(VERSIONS_FILE, damage);
            sound(&world, what);
            world.damage(VERSIONS_FILE, |bytes| *bytes = content.clone());
        };
        for at in (0..content.len()).step_by(37) {
            damaged("a flipped bit", &|bytes| bytes[at] ^= 1 << (at % 8));
        }
        for block in 0..4 {
            let range = block * BLOCK_BYTES..(block + 1) * BLOCK_BYTES;
            damaged("a lost block", &|bytes| bytes[range.clone()].fill(0));
            damaged("a misdirected block", &|bytes| bytes.copy_within(range.clone(), 3 * BLOCK_BYTES));
            damaged("a cut file", &|bytes| bytes.truncate(range.start + 100));
        }
    }
}

/// With the head of an earlier close, or a block of one.
#[test]
fn an_older_file_of_versions_refuses_no_sound_page() {
    let (world, _) = live(true);
    let world = world.kill(SimOptions::default());
    let older = world.content(VERSIONS_FILE).unwrap();
    let env = world.env();
    let life = async move {
        let store = InPlaceStore::open(&env, "").await.unwrap();
        write(&store, &PAGES, 4).await;
        store.write_superblock(b"another").await.unwrap();
        store.close().await.unwrap();
    };
    world.block_on(life).unwrap();
    let newer = world.content(VERSIONS_FILE).unwrap();
    assert_eq!((older.len(), newer.len()), (4 * BLOCK_BYTES, 4 * BLOCK_BYTES));
    for blocks in 1..1 << 4 {
        world.damage(VERSIONS_FILE, |bytes| {
            for block in (0..4).filter(|block| blocks >> block & 1 == 1) {
                let range = block * BLOCK_BYTES..(block + 1) * BLOCK_BYTES;
                bytes[range.clone()].copy_from_slice(&older[range]);
            }
        });
        assert_eq!(reopened(&world), [Ok(4); 4], "older: {blocks:b}");
        world.damage(VERSIONS_FILE, |bytes| *bytes = newer.clone());
    }
}

/// Where the file cannot have its first block, pages are written all the same, and never pass for old ones.
#[test]
fn without_room_for_the_file_nothing_is_refused() {
    let world = World::new(1, SimOptions::default());
    let env = world.env();
    let make = async move {
        let store = InPlaceStore::create(&env, "", SIZE).await.unwrap();
        store.extend(4200).await.unwrap();
        store
    };
    let store = world.block_on(make).unwrap();
    world.set_capacity(Some(1));
    let life = async move {
        write(&store, &PAGES, 1).await;
        store.write_superblock(b"record").await.unwrap();
        write(&store, &PAGES, 2).await;
        store.close().await.unwrap();
        store
    };
    let store = world.block_on(life).unwrap();
    assert_eq!(world.content(VERSIONS_FILE), Some(Vec::new()), "there was no room");
    world.set_capacity(None);
    let life = async move {
        store.write_superblock(b"record").await.unwrap();
        store.close().await.unwrap();
        versions(&store).await
    };
    assert_eq!(world.block_on(life).unwrap(), [Ok(2); 4]);
    assert_eq!(world.content(VERSIONS_FILE), Some(Vec::new()), "epochs of this life are not saved");
    let env = world.env();
    let life = async move {
        let store = InPlaceStore::open(&env, "").await.unwrap();
        write(&store, &PAGES[1..], 3).await;
        store.write_superblock(b"record").await.unwrap();
        store.close().await.unwrap();
    };
    world.block_on(life).unwrap();
    assert_eq!(reopened(&world.kill(SimOptions::default())), [Ok(2), Ok(3), Ok(3), Ok(3)]);
}

/// What a close has said could not be taken back: no later head would be durable.
#[test]
fn after_a_failed_sync_of_the_file_no_page_is_written() {
    // Of all saved blocks, and of the head that says so; before them the creation and the first batch.
    for after in [2, 3] {
        let effect = FaultEffect::Error(IoErrorKind::Os(5));
        let fault = Fault { op: Some(IoOp::Sync), path: VERSIONS_FILE.into(), after, sticky: false, effect };
        let world = World::new(1, SimOptions { faults: vec![fault], ..SimOptions::default() });
        let (store, _) = begin(&world);
        let life = async move {
            write(&store, &PAGES, 2).await;
            assert!(store.close().await.is_err(), "sync {after} fails");
            let mut batch = PageBatch::new(SIZE, 1);
            batch.push(PageId(PAGES[0]), &image(PAGES[0], 3));
            assert!(store.write_batch(batch).await.is_err(), "after sync {after}");
        };
        world.block_on(life).unwrap();
        assert_eq!(reopened(&world.crash_image(1, SimOptions::default())), [Ok(2); 4]);
    }
}

/// A close says what is certain, which is not what nobody has read since a crash.
#[test]
fn pages_that_nobody_reads_between_a_crash_and_a_close_are_not_refused() {
    let (world, before) = live(true);
    for version in 4..7 {
        let env = world.env();
        let crashes = async move {
            let store = InPlaceStore::open(&env, "").await.unwrap();
            write(&store, &PAGES[1..3], version).await;
            write(&store, &[LAST], version).await;
        };
        world.block_on(crashes).unwrap();
        let env = world.env();
        let closes = async move {
            let store = InPlaceStore::open(&env, "").await.unwrap();
            write(&store, &[8], version).await;
            store.close().await.unwrap();
        };
        world.block_on(closes).unwrap();
        let image = world.kill_image(version, SimOptions::default());
        assert_eq!(reopened(&image), [Ok(2), Ok(version), Ok(version), Ok(2)]);
        lose(&image, 4100, &before);
        assert_eq!(reopened(&image)[3], STALE);
    }
}
