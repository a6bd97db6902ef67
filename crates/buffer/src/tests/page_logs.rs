//! Dirty pages that leave memory without being written. A page counts its changes and has the byte of the last one; its log
//! has a byte for each.

use super::*;
use crate::free_frame::FreeFrame;
use crate::{PAGE_LOG_PARTS, PageLog};
use std::collections::BTreeMap;
use wal::Lsn;

const PAGES: std::ops::Range<u64> = 10..150;
const BYTE: usize = 100;
const COUNT: usize = 101;

fn count(page: &[u8]) -> usize {
    usize::from(u16::from_le_bytes([page[COUNT], page[COUNT + 1]]))
}

fn put(page: &mut [u8], byte: u8) {
    let count = count(page) as u16 + 1;
    page[BYTE] = byte;
    page[COUNT..COUNT + 2].copy_from_slice(&count.to_le_bytes());
}

fn apply(_: PageId, page: &mut [u8], read: Result<(), PageFault>, log: &PageLog) -> Result<bool, PageFault> {
    read?;
    log.bytes.iter().for_each(|byte| put(page, *byte));
    Ok(true)
}

pub(super) fn change(pool: &BufferPool, page: PageId, byte: u8) -> Result<Lsn, Stop> {
    let mut guard = pool.write(page)?;
    let start = pool.wal().end_lsn();
    guard.begin_changes(start);
    let mut group = WalGroup::new();
    group.push(1, 0, &[byte; 30]);
    let lsns = pool.wal().append(&group).unwrap();
    put(guard.bytes_mut(), byte);
    guard.note_change(|log| log.bytes.push(byte));
    header::set_lsn(guard.bytes_mut(), lsns.end.0);
    Ok(start)
}

/// A pool of 32 frames whose pages are clean.
async fn opened(env: &Env, page_log_bytes: usize) -> Arc<BufferPool> {
    let options = PoolOptions::new(32 * (PAGE_BYTES + 64), |_| Ok(()));
    opened_with(env, PoolOptions { page_log_bytes, ..options }).await
}

/// The same with other options.
pub(super) async fn opened_with(env: &Env, options: PoolOptions) -> Arc<BufferPool> {
    let store = Arc::new(InPlaceStore::create(env, "", PageSize::K4).await.unwrap());
    let wal = Arc::new(Wal::create(env, WalOptions::default()).await.unwrap());
    let pool = BufferPool::open(env, store, wal, PoolOptions { apply_page_log: apply, ..options });
    for page in PAGES {
        pool.run(|| stamp(&pool, PageId(page), true, 0)).await.unwrap();
    }
    pool.flush_all().await.unwrap();
    pool
}

pub(super) async fn look(pool: &BufferPool, page: u64) -> (usize, u8) {
    pool.run(|| pool.read(PageId(page)).map(|guard| (count(&guard), guard[BYTE]))).await.unwrap()
}

#[test]
fn pages_leave_unwritten_and_return_with_their_changes() {
    run(21, |env| async move {
        let pool = opened(&env, 1 << 20).await;
        let written = pool.pages_written();
        let start = pool.wal().end_lsn();
        for round in 1..=5 {
            for page in PAGES {
                pool.run(|| change(&pool, PageId(page), round)).await.unwrap();
            }
        }
        let stats = pool.page_logs().stats();
        assert!(stats.absent > 100 && stats.left > 500 && stats.returned > 400, "{stats:?}");
        assert_eq!((pool.pages_written(), pool.min_rec_lsn()), (written, start));
        for page in PAGES {
            assert_eq!(look(&pool, page).await, (5, 5), "page {page}");
        }
        // What is in memory is written, the rest is as old as it was.
        pool.flush_all().await.unwrap();
        assert_eq!(pool.stats().pages_dirty, 0);
        let absent = pool.page_logs().stats().absent;
        assert!(absent > 100 && pool.min_rec_lsn() < pool.wal().end_lsn());
        let mut places: Places = PAGES.map(|page| (page, vec![Lsn::ZERO; 5])).collect();
        let renewed_at = pool.wal().end_lsn();
        renew(&pool, &mut places, renewed_at);
        assert_eq!(pool.page_logs().stats().renewed, absent);
        assert_eq!(pool.min_rec_lsn(), renewed_at);
        for page in pool.page_logs().absent_pages() {
            pool.write_absent(page).await.unwrap();
        }
        pool.flush_all().await.unwrap();
        assert_eq!(pool.page_logs().stats().bytes, 0);
        assert_eq!(pool.min_rec_lsn(), pool.wal().end_lsn());
    });
}

#[test]
fn without_room_pages_are_written() {
    run(22, |env| async move {
        let pool = opened(&env, 4_000).await;
        let written = pool.pages_written();
        for page in PAGES {
            pool.run(|| change(&pool, PageId(page), 7)).await.unwrap();
            assert!(pool.page_logs().stats().bytes < 5_000);
        }
        assert!(pool.pages_written() - written > 60);
        for page in PAGES {
            assert_eq!(look(&pool, page).await, (1, 7), "page {page}");
        }
    });
}

#[test]
fn a_page_that_cannot_be_read_again_is_lost() {
    let world = World::new(23, SimOptions::default());
    let env = world.env();
    let pool = world.block_on(async move { opened(&env, 1 << 20).await }).unwrap();
    let run = async {
        pool.run(|| change(&pool, PageId(10), 1)).await.unwrap();
        for page in 11..80 {
            look(&pool, page).await;
        }
        assert_eq!(pool.page_logs().absent_pages(), [PageId(10)]);
        world.flip_bit("pages.db", (10 * PAGE_BYTES + 2_000) * 8);
        pool.run(|| pool.read(PageId(10)).map(drop)).await.unwrap();
        let given_up = pool.behind().take_given_up();
        assert_eq!(given_up.iter().map(|lost| lost.page).collect::<Vec<_>>(), [PageId(10)]);
        assert_eq!((pool.page_logs().stats().bytes, pool.stats().pages_dirty), (0, 1));
    };
    world.block_on(run).unwrap();
}

#[test]
fn a_limit_for_dirty_pages_counts_those_with_logs() {
    run(24, |env| async move {
        let pool = opened(&env, 1 << 20).await;
        for page in PAGES.start..PAGES.start + 30 {
            pool.run(|| change(&pool, PageId(page), 1)).await.unwrap();
        }
        assert!(pool.stats().pages_dirty > 20, "{:?}", pool.stats());
        pool.set_dirty_share_max(0.1);
        pool.wait_for_dirty_room().await.unwrap();
        assert!(pool.stats().pages_dirty < 12, "{:?}", pool.stats());
    });
}

/// Changes must not be made to another image than the one that they were made to.
#[test]
fn a_page_whose_last_write_was_lost_is_lost() {
    let world = World::new(25, SimOptions::default());
    let env = world.env();
    let pool = world.block_on(async move { opened(&env, 1 << 20).await }).unwrap();
    let page = PageId(10);
    let place = page.0 as usize * PAGE_BYTES..(page.0 as usize + 1) * PAGE_BYTES;
    let run = async {
        let older = world.content("pages.db").unwrap()[place.clone()].to_vec();
        pool.run(|| change(&pool, page, 1)).await.unwrap();
        pool.flush_all().await.unwrap();
        pool.run(|| change(&pool, page, 2)).await.unwrap();
        for other in 11..80 {
            look(&pool, other).await;
        }
        assert_eq!(pool.page_logs().absent_pages(), [page]);
        world.damage("pages.db", |content| content[place].copy_from_slice(&older));
        pool.run(|| pool.read(page).map(drop)).await.unwrap();
        let given_up = pool.behind().take_given_up();
        let faults: Vec<_> = given_up.iter().map(|lost| (lost.page, lost.fault)).collect();
        assert_eq!(faults, [(page, PageFault::Stale)]);
    };
    world.block_on(run).unwrap();
}

/// Where the log has each change of each page that may not be on disk: at its own place, or where it was logged again.
type Places = BTreeMap<u64, Vec<Lsn>>;

/// A replay from where it may begin would miss nothing that the disk lacks.
fn check_replay(world: &World, pool: &BufferPool, places: &Places) {
    let from = pool.min_rec_lsn();
    let disk = world.content("pages.db").unwrap();
    for (page, places) in places {
        let on_disk = count(&disk[*page as usize * PAGE_BYTES..]);
        assert!(places[on_disk..].iter().all(|place| *place >= from), "page {page} from {from}");
    }
}

fn renew(pool: &BufferPool, places: &mut Places, limit: Lsn) {
    let end = pool.wal().end_lsn();
    let mut again = |logs: &mut dyn Iterator<Item = (PageId, &[u8])>| {
        let mut group = WalGroup::new();
        for (page, log) in logs {
            group.push(2, 0, log);
            let places = places.get_mut(&page.0).expect("it was changed");
            let kept = places.len() - log.len();
            places[kept..].fill(end);
        }
        pool.wal().append(&group).map(drop)
    };
    // All from where the log ended before: that is where a replay of them may begin.
    for part in 0..PAGE_LOG_PARTS {
        pool.page_logs().renew_before(part, limit, || end, &mut again, 8).unwrap();
    }
}

#[test]
fn no_change_is_lost_or_made_twice_whatever_comes_together() {
    for seed in 0..30 {
        let world = World::new(1_000 + seed, SimOptions::default());
        let env = world.env();
        let run = async {
            let budget = [6_000, 16_000, 1 << 20][seed as usize % 3];
            let pool = opened(&env, budget).await;
            let mut places = Places::new();
            let draw = |count: u64| env.random.u64() % count;
            for _ in 0..2_000 {
                let page = PAGES.start + draw(PAGES.end - PAGES.start);
                match draw(100) {
                    0..80 => {
                        let byte = draw(256) as u8;
                        let start = pool.run(|| change(&pool, PageId(page), byte)).await.unwrap();
                        places.entry(page).or_default().push(start);
                        assert_eq!(look(&pool, page).await, (places[&page].len(), byte));
                    }
                    80..92 => {
                        let expected = places.get(&page).map_or(0, Vec::len);
                        assert_eq!(look(&pool, page).await.0, expected, "page {page}");
                    }
                    92..94 => pool.prefetch((page..page + 5).filter(|page| PAGES.contains(page)).map(PageId)),
                    94..96 => {
                        let lsn = Lsn(draw(pool.wal().end_lsn().0));
                        pool.flush_through(lsn).await.unwrap();
                    }
                    96 => renew(&pool, &mut places, Lsn(pool.wal().end_lsn().0 / 8 * 7)),
                    97 => pool.write_absent(PageId(page)).await.unwrap(),
                    _ => check_replay(&world, &pool, &places),
                }
            }
            pool.flush_all().await.unwrap();
            for page in PAGES {
                let expected = places.get(&page).map_or(0, Vec::len);
                assert_eq!(look(&pool, page).await.0, expected, "page {page}");
            }
        };
        world.block_on(run).unwrap();
    }
}

/// As when a checkpoint comes between a page's arrival and its being known.
#[test]
fn a_page_that_returns_is_always_seen_by_a_checkpoint() {
    run(29, |env| async move {
        let pool = opened(&env, 1 << 20).await;
        for page in PAGES {
            pool.run(|| change(&pool, PageId(page), 1)).await.unwrap();
        }
        let page = pool.page_logs().absent_pages()[0];
        let frame = FreeFrame::new(&pool, pool.take_frame().await.unwrap()).into_index();
        // As its loader does, who makes it known under the latch.
        pool.frame(frame).latch.lock_exclusive();
        let mut since = Lsn::ZERO;
        let mark = |rec_lsn| {
            since = rec_lsn;
            pool.mark_returned(frame, rec_lsn);
        };
        assert!(pool.page_logs.arrive(page, mark, |_, _| ()).is_some());
        pool.write_logged_before(|_| Lsn::MAX);
        assert!(!pool.page_logs.has(page));
        assert!(pool.min_rec_lsn() <= since, "{:?} {since:?}", pool.min_rec_lsn());
        // Known, it finds that it has no entry any more.
        let before = pool.dirty_entries();
        pool.check_entry(frame, page);
        assert_eq!(pool.dirty_entries(), before + 1, "it will be written");
        pool.mark_clean(frame);
    });
}

/// A page whose log has become too long may be as old as logs are: that is no reason to write young ones with it.
#[test]
fn old_pages_take_no_young_ones_along() {
    const BUDGET: u64 = 1 << 20;
    run(30, |env| async move {
        let options = PoolOptions::new(400 * (PAGE_BYTES + 64), |_| Ok(()));
        let options = PoolOptions { page_log_bytes: 1 << 20, log_budget_bytes: BUDGET, ..options };
        let pool = opened_with(&env, options).await;
        let (old, young) = (PAGES.start..PAGES.start + 40, PAGES.start + 40..PAGES.end);
        let begin = pool.wal().end_lsn();
        for page in old.clone() {
            pool.run(|| change(&pool, PageId(page), 1)).await.unwrap();
        }
        while pool.wal().end_lsn().0 < begin.0 + BUDGET / 4 * 5 {
            let mut group = WalGroup::new();
            group.push(1, 0, &[1; 10_000]);
            pool.wal().append(&group).unwrap();
        }
        for page in young {
            pool.run(|| stamp(&pool, PageId(page), false, 1)).await.unwrap();
        }
        pool.wal().wait_durable(pool.wal().end_lsn()).await.unwrap();
        let written = pool.pages_written();
        for page in old {
            let lengthen = || {
                let guard = &mut pool.write(PageId(page))?;
                guard.begin_changes(pool.wal().end_lsn());
                guard.note_change(|log| log.bytes.extend([1; PAGE_BYTES / 8 + 1]));
                Ok(())
            };
            pool.run(lengthen).await.unwrap();
            pool.flusher.wake.notify();
            env.clock.sleep(100_000).await;
        }
        assert!(pool.min_rec_lsn().0 > begin.0 + BUDGET, "those that are too old are written");
        let written = pool.pages_written() - written;
        assert!((40..50).contains(&written), "{written} pages for 40 old ones");
    });
}
