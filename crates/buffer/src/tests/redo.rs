//! Pages that are behind the log, with changes that are one byte each.

use super::*;
use crate::PageLog;

/// The page's byte becomes what the log says; the page is new when it could not be read.
fn apply(
    page: PageId,
    bytes: &mut [u8],
    read: Result<(), PageFault>,
    log: &PageLog,
) -> Result<bool, PageFault> {
    if let Err(fault) = read {
        header::format(bytes, page, PageKind::Overflow, TreeId(1));
        if !log.begins_with_image {
            bytes[100] = 0xee;
            return Err(fault);
        }
    }
    bytes[100] = log.bytes[0];
    Ok(true)
}

fn log(byte: u8, begins_with_image: bool) -> PageLog {
    PageLog { bytes: vec![byte], begins_with_image, ..PageLog::default() }
}

/// A store with pages 10 to 99, and a pool over it that has read none of them.
async fn reopened(env: &Env) -> Arc<BufferPool> {
    let first = open(env, 32).await;
    fill(&first, 10..100).await;
    first.flush_all().await.unwrap();
    first.stop();
    let mut options = PoolOptions::new(32 * (PAGE_BYTES + 64), |_| Ok(()));
    options.apply_page_log = apply;
    BufferPool::open(env, first.store().clone(), first.wal().clone(), options)
}

async fn byte(pool: &BufferPool, page: u64) -> u8 {
    pool.run(|| Ok(pool.read(PageId(page))?[100])).await.unwrap()
}

#[test]
fn pages_catch_up_however_they_are_loaded() {
    run(11, |env| async move {
        let pool = reopened(&env).await;
        let now = (10..90).map(|page| (PageId(page), log(200, page % 7 == 0)));
        pool.behind().restore(now, []);
        assert_eq!(byte(&pool, 20).await, 200);
        assert_eq!(byte(&pool, 21).await, 200, "not read at all");
        assert_eq!(byte(&pool, 95).await, 95, "not behind");
        pool.prefetch((30..40).map(PageId));
        // What is made of a page comes after what it lacks.
        pool.run(|| stamp(&pool, PageId(50), true, 51)).await.unwrap();
        assert_eq!((byte(&pool, 50).await, byte(&pool, 35).await), (51, 200));
        assert!(pool.behind().count() >= 65);
        pool.catch_up(|| true).await.unwrap();
        assert_eq!(pool.behind().count(), 0);
        for page in (10..90).filter(|page| *page != 50) {
            assert_eq!(byte(&pool, page).await, 200, "written and read again: {page}");
        }
        assert_eq!(byte(&pool, 50).await, 51);
    });
}

#[test]
fn a_page_whose_changes_are_not_known_yet_is_waited_for() {
    run(12, |env| async move {
        let pool = reopened(&env).await;
        pool.behind().restore([(PageId(10), log(200, false))], [PageId(20), PageId(21)]);
        let mut reader = Box::pin(byte(&pool, 20));
        for _ in 0..20 {
            assert!(futures_poll(&mut reader).await.is_pending());
            env.clock.sleep(1_000).await;
        }
        assert_eq!(pool.behind().take_wanted(), [PageId(20)]);
        pool.prefetch([PageId(20), PageId(21), PageId(22)]);
        // The read ahead has its turn.
        env.clock.sleep(1_000).await;
        pool.catch_up(|| true).await.unwrap();
        assert_eq!((pool.behind().count(), byte(&pool, 10).await), (2, 200));
        assert_eq!(pool.behind().take_wanted(), [PageId(21)]);
        let now = [20, 21].map(|page| (PageId(page), log(201, page == 21)));
        pool.behind().hand_over(now);
        assert_eq!((reader.await, byte(&pool, 21).await, pool.behind().count()), (201, 201, 0));
    });
}

#[test]
fn who_waits_for_changes_hears_that_none_will_come() {
    for end in [|pool: &BufferPool| pool.stop(), |pool: &BufferPool| pool.behind().end()] {
        run(13, |env| async move {
            let pool = reopened(&env).await;
            pool.behind().restore([], [PageId(20)]);
            let mut reader = Box::pin(pool.run(|| Ok(pool.read(PageId(20))?[100])));
            assert!(futures_poll(&mut reader).await.is_pending());
            end(&pool);
            assert_eq!(reader.await, Err(BufferError::Stopped));
        });
    }
}

#[test]
fn a_page_that_cannot_be_read_is_given_up_unless_an_image_replaces_it() {
    let world = World::new(14, SimOptions::default());
    let env = world.env();
    let pool = world.block_on(async move { reopened(&env).await }).unwrap();
    for page in [30u64, 31] {
        world.flip_bit("pages.db", (page as usize * PAGE_BYTES + 2_000) * 8);
    }
    let run = async {
        let now = [(PageId(30), log(200, true)), (PageId(31), log(200, false))];
        pool.behind().restore(now, []);
        pool.catch_up(|| true).await.unwrap();
        let given_up: Vec<_> =
            pool.behind().take_given_up().iter().map(|lost| (lost.page, lost.fault)).collect();
        assert_eq!(given_up, [(PageId(31), PageFault::Checksum)]);
        assert_eq!((byte(&pool, 30).await, byte(&pool, 31).await), (200, 0xee));
        assert_eq!(pool.stats().pages_dirty, 2);
    };
    world.block_on(run).unwrap();
}

/// Polls once.
async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(std::pin::Pin::new(&mut *future).poll(context))).await
}
