//! Torn pages, superblocks and growth on the simulated disk.

use super::*;
use crate::{PageKind, TreeId};
use env::sim::{Fault, FaultEffect, Outcome, SimOptions, World};
use std::collections::BTreeMap;
use std::sync::Mutex as StdMutex;

const SLOT_BYTES_BOTH: usize = 2 * superblock::SLOT_BYTES;

fn image(page: PageId, version: u64) -> Vec<u8> {
    let mut bytes = vec![version as u8; PageSize::K8.bytes()];
    header::format(&mut bytes, page, PageKind::Overflow, TreeId(3));
    header::set_lsn(&mut bytes, version);
    bytes
}

async fn read(store: &InPlaceStore, page: PageId) -> Result<Vec<u8>, StoreError> {
    let (buffer, result) = store.read(page, IoBuf::zeroed(PageSize::K8.bytes())).await;
    result.map(|()| buffer.as_slice().to_vec())
}

#[test]
fn a_bit_that_is_wrong_on_the_way_is_no_damage() {
    let world = World::new(31, SimOptions::default());
    let env = world.env();
    let flip = |sticky| {
        let (op, effect) = (Some(env::IoOp::Read), FaultEffect::FlippedRead);
        Fault { op, path: DATA_FILE.into(), after: 0, sticky, effect }
    };
    world
        .block_on(async {
            let store = InPlaceStore::create(&env, "", PageSize::K8).await.unwrap();
            let mut batch = PageBatch::new(PageSize::K8, 1);
            batch.push(PageId(5), &image(PageId(5), 7));
            store.write_batch(batch).await.unwrap();
            world.set_faults(&[flip(false)]);
            let page = read(&store, PageId(5)).await.unwrap();
            assert_eq!(header::lsn(&page), 7);
            world.set_faults(&[flip(true)]);
            let result = read(&store, PageId(5)).await;
            assert!(matches!(result, Err(StoreError::Corrupt(_))), "{result:?}");
        })
        .unwrap();
}

/// Writes versions of the same few pages until the machine stops; notes what is acknowledged.
async fn work(env: Env, acknowledged: Arc<StdMutex<u64>>) {
    let store = InPlaceStore::create(&env, "", PageSize::K8).await.unwrap();
    for version in 1..20u64 {
        let mut batch = PageBatch::new(PageSize::K8, 6);
        for page in [5, 6, 7, 20, 21, 40] {
            batch.push(PageId(page), &image(PageId(page), version));
        }
        store.write_batch(batch).await.unwrap();
        store.write_superblock(&version.to_le_bytes()).await.unwrap();
        *acknowledged.lock().unwrap() = version;
    }
}

#[test]
fn no_crash_leaves_a_torn_page() {
    let mut crash_at = 0;
    loop {
        let acknowledged = Arc::new(StdMutex::new(0));
        let world =
            World::new(crash_at + 1, SimOptions { crash_at: Some(crash_at), ..SimOptions::default() });
        let outcome = world.block_on(work(world.env(), acknowledged.clone()));
        // The repair is crashed as well, and killing the process is a crash of its own kind.
        let options = SimOptions { crash_at: Some(crash_at % 5), ..SimOptions::default() };
        let world = if crash_at % 4 == 0 { world.kill(options) } else { world.crash(options) };
        let env = world.env();
        let _ = world.block_on(async move { InPlaceStore::open(&env, "").await.is_ok() });
        let world = world.crash(SimOptions::default());
        let acknowledged = *acknowledged.lock().unwrap();
        let env = world.env();
        let check = async move {
            let store = match InPlaceStore::open(&env, "").await {
                Ok(store) => store,
                Err(error) => {
                    assert_eq!(acknowledged, 0, "an acknowledged store is lost: {error}");
                    return;
                }
            };
            let record = store.read_superblock().await.unwrap();
            let version = record.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
            assert!(version >= acknowledged && version <= acknowledged + 1);
            for page in [5, 6, 7, 20, 21, 40] {
                match read(&store, PageId(page)).await {
                    Ok(bytes) => {
                        let found = header::lsn(&bytes);
                        assert!(
                            found >= version && found <= acknowledged + 1,
                            "page {page}: version {found}"
                        );
                        assert_eq!(bytes[100..], image(PageId(page), found)[100..]);
                    }
                    Err(error) => assert_eq!(acknowledged, 0, "page {page}: {error}"),
                }
            }
        };
        world.block_on(check).unwrap();
        if outcome == Outcome::Done(()) {
            break;
        }
        crash_at += 1;
    }
    assert!(crash_at > 100, "{crash_at}");
}

/// Room for the files of an empty store, but not for the new doublewrite file of an opening.
fn without_room(crash_at: Option<u64>) -> SimOptions {
    SimOptions { capacity_bytes: Some(4 << 20), crash_at, ..SimOptions::default() }
}

/// Killed between the write of the copies and their sync; then an opening on a full disk is cut off while it brings the pages
/// home, where nothing was before.
#[test]
fn an_opening_without_room_makes_the_copies_durable_before_it_uses_them() {
    const PAGES: [u64; 3] = [5, 6, 20];
    let write = |env: Env| async move {
        let store = InPlaceStore::create(&env, "", PageSize::K8).await.unwrap();
        let mut batch = PageBatch::new(PageSize::K8, PAGES.len());
        PAGES.iter().for_each(|page| batch.push(PageId(*page), &image(PageId(*page), 1)));
        store.write_batch(batch).await.unwrap();
    };
    let mut brought_home = 0;
    for seed in 0..400u64 {
        let (killed_at, opening_cut_at) = (seed / 8, seed % 8);
        let world = World::new(seed, without_room(Some(killed_at)));
        if world.block_on(write(world.env())) == Outcome::Done(()) {
            break;
        }
        let world = world.kill(without_room(Some(opening_cut_at)));
        let env = world.env();
        let _ = world.block_on(async move { InPlaceStore::open(&env, "").await.is_ok() });
        let world = world.crash(without_room(None));
        let env = world.env();
        let check = async move {
            let Ok(store) = InPlaceStore::open(&env, "").await else { return 0 };
            let mut there = 0;
            for page in PAGES.map(PageId).into_iter().filter(|page| page.0 < store.page_count()) {
                let (bytes, result) = store.read(page, IoBuf::zeroed(PageSize::K8.bytes())).await;
                let is_empty = bytes.as_slice().iter().all(|byte| *byte == 0);
                assert!(result.is_ok() || is_empty, "seed {seed}: {result:?}");
                there += u64::from(result.is_ok());
            }
            there
        };
        let Outcome::Done(there) = world.block_on(check) else { panic!("seed {seed}: the check ends") };
        brought_home += there;
    }
    assert!(brought_home > 0, "no kill met a batch on its way");
}

/// A creation that is killed before it has synced the directory leaves names in the kernel's memory only; who opens its store then
/// has to make them durable.
#[test]
fn an_opening_without_room_makes_the_names_of_its_files_durable() {
    let mut opened = 0;
    for killed_at in 0.. {
        let world = World::new(killed_at, without_room(Some(killed_at)));
        let env = world.env();
        let create = async move { InPlaceStore::create(&env, "", PageSize::K8).await.map(drop) };
        let is_complete = matches!(world.block_on(create), Outcome::Done(Ok(())));
        let world = world.kill(without_room(None));
        let env = world.env();
        if world.block_on(async move { InPlaceStore::open(&env, "").await.is_ok() }).unwrap() {
            opened += 1;
            let world = world.crash(without_room(None));
            let env = world.env();
            let again = world.block_on(async move { InPlaceStore::open(&env, "").await.map(drop) });
            assert!(matches!(again, Outcome::Done(Ok(()))), "killed at {killed_at}: {again:?}");
        }
        if is_complete {
            break;
        }
    }
    assert!(opened > 1, "no kill met a creation before its last step");
}

/// A superblock write that was cut off leaves one valid slot: no opening may risk that one.
#[test]
fn a_torn_slot_and_a_crash_of_the_opening_leave_a_superblock() {
    for (seed, crash_at) in (0..12).flat_map(|seed| (0..24).map(move |crash_at| (seed, crash_at))) {
        let world = World::new(seed, SimOptions::default());
        let env = world.env();
        let fill = async move {
            let store = InPlaceStore::create(&env, "", PageSize::K8).await.unwrap();
            store.write_superblock(b"older").await.unwrap();
            store.write_superblock(b"newest").await.unwrap();
        };
        world.block_on(fill).unwrap();
        let world = world.crash(SimOptions { crash_at: Some(crash_at), ..SimOptions::default() });
        world.damage(DATA_FILE, |bytes| {
            let older = (0..SLOT_BYTES_BOTH).find(|at| bytes[*at..].starts_with(b"older")).expect("its slot");
            bytes[older] ^= 1;
        });
        let env = world.env();
        let _ = world.block_on(async move { InPlaceStore::open(&env, "").await.is_ok() });
        let world = world.crash(SimOptions::default());
        let env = world.env();
        let check = async move {
            let store = InPlaceStore::open(&env, "").await;
            let store = store.unwrap_or_else(|error| panic!("seed {seed}, crash at {crash_at}: {error}"));
            assert_eq!(store.read_superblock().await.unwrap().as_deref(), Some(&b"newest"[..]));
            store.write_superblock(b"newer").await.unwrap();
            assert_eq!(store.read_superblock().await.unwrap().as_deref(), Some(&b"newer"[..]));
        };
        world.block_on(check).unwrap();
    }
}

#[test]
fn growth_is_bounded_by_the_disk_and_harmless() {
    let world = World::new(3, SimOptions { capacity_bytes: Some(5 << 20), ..SimOptions::default() });
    let env = world.env();
    let run = async {
        let store = InPlaceStore::create(&env, "", PageSize::K8).await.unwrap();
        let first = store.page_count();
        assert_eq!(first, growth::BYTES_MIN / 8192);
        store.extend(first + 1).await.unwrap();
        let count = store.page_count();
        assert_eq!(count, 2 * first);
        let error = store.extend(100_000).await.unwrap_err();
        assert!(error.is_no_space() && store.page_count() == count);
        let mut batch = PageBatch::new(PageSize::K8, 1);
        batch.push(PageId(count - 1), &image(PageId(count - 1), 4));
        store.write_batch(batch).await.unwrap();
        assert_eq!(header::lsn(&read(&store, PageId(count - 1)).await.unwrap()), 4);
        let beyond = read(&store, PageId(count)).await.unwrap_err();
        assert!(beyond.is_corruption());
        drop(store);
        let store = InPlaceStore::open(&env, "").await.unwrap();
        assert!(store.page_count() >= count);
        assert_eq!(store.read_superblock().await.unwrap(), None);
        store.write_superblock(&[1; SUPERBLOCK_MAX]).await.unwrap();
        let refused = InPlaceStore::create(&env, "", PageSize::K8).await.err();
        assert!(matches!(refused, Some(StoreError::AlreadyExists { .. })));
    };
    world.block_on(run).unwrap();
}

/// Where nothing can be reserved the disk is found full only when zeros are written: the same error, and nothing has changed.
#[test]
fn a_disk_that_is_full_while_space_is_filled_is_no_failure() {
    let world = World::new(3, SimOptions::default());
    let env = world.env();
    let run = async {
        let store = InPlaceStore::create(&env, "", PageSize::K8).await.unwrap();
        let count = store.page_count();
        let full = Fault {
            op: Some(env::IoOp::Write),
            path: "pages.db".into(),
            after: 0,
            sticky: true,
            effect: FaultEffect::Partial(env::IoErrorKind::NoSpace),
        };
        world.set_faults(std::slice::from_ref(&full));
        let error = store.extend(count + 1).await.unwrap_err();
        assert!(error.is_no_space() && store.page_count() == count);
        world.set_faults(&[Fault { sticky: false, ..full }]);
        store.extend(count + 1).await.unwrap();
        assert_eq!(store.page_count(), count + 1, "only what is needed");
        let mut batch = PageBatch::new(PageSize::K8, 1);
        batch.push(PageId(count), &image(PageId(count), 4));
        store.write_batch(batch).await.unwrap();
        store.extend(count + 2).await.unwrap();
        assert!(store.page_count() > count + 2);
    };
    world.block_on(run).unwrap();
}

/// Grows the store three times and writes the first and the last page of each growth; what is acknowledged is noted.
async fn grow_and_write(store: &InPlaceStore, first: u64, acknowledged: &StdMutex<BTreeMap<u64, u64>>) {
    for version in first..first + 3 {
        let before = store.page_count();
        store.extend(before + 1).await.unwrap();
        for page in [before, store.page_count() - 1] {
            let mut batch = PageBatch::new(PageSize::K8, 1);
            batch.push(PageId(page), &image(PageId(page), version));
            store.write_batch(batch).await.unwrap();
            acknowledged.lock().unwrap().insert(page, version);
        }
    }
}

/// Reserved space is held for unwritten by the file system, and a sync of its content does not change that for good. So
/// pages of a growth must not lie there, whether or not an earlier growth was cut off.
#[test]
fn pages_of_a_growth_survive_a_power_cut() {
    let mut crash_at = 0;
    loop {
        let acknowledged = Arc::new(StdMutex::new(BTreeMap::new()));
        let options = SimOptions { crash_at: Some(crash_at), ..SimOptions::default() };
        let world = World::new(crash_at + 1, options);
        let (env, noted) = (world.env(), acknowledged.clone());
        let outcome = world.block_on(async move {
            let store = InPlaceStore::create(&env, "", PageSize::K8).await.unwrap();
            grow_and_write(&store, 1, &noted).await;
        });
        let kill = crash_at % 3 == 0;
        let mut world =
            if kill { world.kill(SimOptions::default()) } else { world.crash(SimOptions::default()) };
        for life in 1..3 {
            let (env, noted) = (world.env(), acknowledged.clone());
            let check = async move {
                let store = match InPlaceStore::open(&env, "").await {
                    Ok(store) => store,
                    Err(error) => {
                        assert!(noted.lock().unwrap().is_empty(), "an acknowledged page is lost: {error}");
                        InPlaceStore::create(&env, "", PageSize::K8).await.unwrap()
                    }
                };
                let pages = noted.lock().unwrap().clone();
                for (page, version) in pages {
                    let found = read(&store, PageId(page)).await.map(|bytes| header::lsn(&bytes));
                    assert_eq!(found, Ok(version), "page {page}");
                }
                grow_and_write(&store, 10 * life, &noted).await;
            };
            world.block_on(check).unwrap();
            world = world.crash(SimOptions::default());
        }
        if outcome == Outcome::Done(()) {
            break;
        }
        crash_at += 1;
    }
    assert!(crash_at > 30, "{crash_at}");
}

/// A store of an earlier build does not say how far its file was filled: all of the file counts, as it did then.
#[test]
fn an_older_store_has_the_pages_of_its_file() {
    let world = World::new(6, SimOptions::default());
    let env = world.env();
    let run = async {
        let store = InPlaceStore::create(&env, "", PageSize::K8).await.unwrap();
        let count = store.page_count();
        let mut older = store.superblock.lock().next(b"checkpoint");
        older.page_count = 0;
        superblock::write(&store.data, PageSize::K8, &older).await.unwrap();
        drop(store);
        let store = InPlaceStore::open(&env, "").await.unwrap();
        assert_eq!(store.page_count(), count);
        store.extend(count + 1).await.unwrap();
        let grown = store.page_count();
        drop(store);
        let store = InPlaceStore::open(&env, "").await.unwrap();
        assert_eq!((store.page_count(), store.superblock.lock().page_count), (grown, grown));
    };
    world.block_on(run).unwrap();
}

#[test]
fn after_a_failed_sync_nothing_more_is_written() {
    for after in 0..4 {
        let world = World::new(4, SimOptions::default());
        let env = world.env();
        let run = async {
            let store = InPlaceStore::create(&env, "", PageSize::K8).await.unwrap();
            let fault = env::sim::Fault::input_output_error(env::IoOp::Sync, "", after);
            world.set_faults(&[fault]);
            let mut failures = 0;
            for round in 0..4 {
                let mut batch = PageBatch::new(PageSize::K8, 1);
                batch.push(PageId(5), &image(PageId(5), round));
                failures += u32::from(store.write_batch(batch).await.is_err());
                failures += u32::from(store.extend(store.page_count() + 1).await.is_err());
                failures += u32::from(store.write_superblock(b"checkpoint").await.is_err());
            }
            failures
        };
        // The first batch syncs the head of the versions, then copies and pages; growth and the superblock sync once each. All
        // operations from the failed one on fail.
        let intact = [0, 0, 0, 1][after as usize];
        assert_eq!(world.block_on(run).unwrap(), 12 - intact, "sync {after}");
    }
}

#[test]
fn a_directory_with_a_segment_store_is_refused_and_left_alone() {
    for name in ["superblock.db", "segments-0000.db"] {
        let world = World::new(4, SimOptions::default());
        let env = world.env();
        let run = async move {
            env.disk.create_dir("data").await.unwrap();
            env.disk.open(&format!("data/{name}"), OpenOptions::create()).await.unwrap();
            let refused = InPlaceStore::open(&env, "data").await.map(drop).unwrap_err();
            assert_eq!(refused, StoreError::SegmentStore { path: format!("data/{name}") });
            assert!(!refused.is_corruption() && !refused.is_no_space());
            assert_eq!(env.disk.list("data").await.unwrap(), [name]);
        };
        world.block_on(run).unwrap();
    }
}

const SUPERBLOCK_MAX: usize = crate::SUPERBLOCK_BYTES_MAX;

#[test]
fn several_pages_come_with_one_call() {
    let world = World::new(5, SimOptions::default());
    let env = world.env();
    let run = async {
        let store = InPlaceStore::create(&env, "", PageSize::K8).await.unwrap();
        let mut batch = PageBatch::new(PageSize::K8, 2);
        batch.push(PageId(6), &image(PageId(6), 3));
        batch.push(PageId(7), &image(PageId(7), 4));
        store.write_batch(batch).await.unwrap();
        let beyond = PageId(store.page_count());
        let wanted = [PageId(5), PageId(6), beyond, PageId(7)];
        let found = store.read_many(&wanted).await;
        let pages: Vec<_> = found.iter().map(|image| image.as_ref().map(IoBuf::as_slice)).collect();
        assert!(header::verify(pages[0].unwrap(), PageId(5)).is_err(), "page 5 was never written");
        assert_eq!((header::lsn(pages[1].unwrap()), header::lsn(pages[3].unwrap())), (3, 4));
        assert!(pages[2].is_none(), "there is nothing beyond the end");
    };
    world.block_on(run).unwrap();
}

/// A sync fails and the process is killed. What the next opening finds, the kernel may lose in a power cut; but from then
/// on it counts, pages and superblock alike.
#[test]
fn what_a_failed_sync_left_in_doubt_is_written_again() {
    for seed in 0..120 {
        let world = World::new(seed, SimOptions::default());
        let env = world.env();
        let versions = async {
            let store = InPlaceStore::create(&env, "", PageSize::K8).await.unwrap();
            for version in 1..4 {
                if version == 3 {
                    let fault = env::sim::Fault::input_output_error(env::IoOp::Sync, "", seed % 3);
                    world.set_faults(&[fault]);
                }
                let mut batch = PageBatch::new(PageSize::K8, 2);
                for page in [5, 6] {
                    batch.push(PageId(page), &image(PageId(page), version));
                }
                let written = store.write_batch(batch).await;
                if written.is_ok() {
                    let _ = store.write_superblock(&version.to_le_bytes()).await;
                }
            }
        };
        world.block_on(versions).unwrap();
        let mut world = world.kill(SimOptions::default());
        if seed.is_multiple_of(2) {
            // The opening meets an error of its own.
            let fault = env::sim::Fault::input_output_error(env::IoOp::Sync, "", seed / 2 % 4);
            world.set_faults(&[fault]);
            let env = world.env();
            let _ = world.block_on(async { InPlaceStore::open(&env, "").await.is_ok() }).unwrap();
            world = world.kill(SimOptions::default());
        }
        let state = |env: Env| async move {
            let store = InPlaceStore::open(&env, "").await.unwrap();
            let mut lsns = Vec::new();
            for page in [5, 6] {
                lsns.push(header::lsn(&read(&store, PageId(page)).await.unwrap()));
            }
            (lsns, store.read_superblock().await.unwrap(), store.newest_lsn())
        };
        let counted = world.block_on(state(world.env())).unwrap();
        assert!(counted.2 >= counted.0[0]);
        let world = world.crash(SimOptions::default());
        let left = world.block_on(state(world.env())).unwrap();
        assert_eq!(left, counted, "seed {seed}");
    }
}
