//! How often pages are found in memory, for the access patterns that docs/decisions/0008 compares.
//!
//! `cargo run -p buffer --example hit_rates`: the pool itself on the simulated disk, every access counted. Each line is
//! the same for the same code, whatever the machine.

use buffer::{Access, BufferPool, PoolOptions};
use env::Env;
use env::sim::{SimOptions, World};
use pagestore::{InPlaceStore, PageId, PageKind, PageSize, PageStore, TreeId, header};
use std::sync::Arc;
use wal::{Wal, WalGroup, WalOptions};

const FRAMES: u64 = 1000;
const PAGES: u64 = 8 * FRAMES;
const FIRST: u64 = 10;
const ACCESSES: u64 = 400_000;

async fn open(env: &Env) -> Arc<BufferPool> {
    let store = InPlaceStore::create(env, "", PageSize::K4).await.expect("the disk is simulated");
    let store: Arc<dyn PageStore> = Arc::new(store);
    let wal = Arc::new(Wal::create(env, WalOptions::default()).await.expect("the disk is simulated"));
    let options = PoolOptions::new(FRAMES as usize * (PageSize::K4.bytes() + 64), |_| Ok(()));
    let pool = BufferPool::open(env, store, wal, options);
    for page in (FIRST..FIRST + PAGES).map(PageId) {
        let create = || {
            let mut guard = pool.create(page)?;
            change(&pool, &mut guard, |bytes| header::format(bytes, page, PageKind::Overflow, TreeId(1)));
            Ok(())
        };
        pool.run(create).await.expect("pages can be created");
    }
    pool.flush_all().await.expect("pages can be written");
    pool
}

fn change(pool: &BufferPool, guard: &mut buffer::ExclusiveGuard<'_>, edit: impl FnOnce(&mut [u8])) {
    guard.mark_dirty(pool.wal().end_lsn());
    let mut group = WalGroup::new();
    group.push(1, 0, &[1; 50]);
    let lsns = pool.wal().append(&group).expect("the log is large");
    edit(guard.bytes_mut());
    header::set_lsn(guard.bytes_mut(), lsns.end.0);
    guard.confirm();
    pool.note_log_bytes(lsns.end.0 - lsns.start.0);
}

/// How a page is used: how often, and whether it is changed.
#[derive(Clone, Copy)]
struct Use {
    access: Access,
    times: usize,
    writes: bool,
}

const READ: Use = Use { access: Access::Point, times: 1, writes: false };
const SCAN: Use = Use { access: Access::Scan, times: 1, writes: false };
/// A statement that finds a row, locks it and changes it.
const UPDATE: Use = Use { access: Access::Point, times: 2, writes: true };

/// True when the page was in memory.
async fn access(pool: &BufferPool, page: u64, how: Use) -> bool {
    let page = PageId(FIRST + page);
    let mut hit = false;
    for time in 0..how.times {
        let mut attempts = 0;
        let read = || {
            attempts += 1;
            pool.read_as(page, how.access).map(drop)
        };
        pool.run(read).await.expect("pages can be read");
        hit |= time == 0 && attempts == 1;
    }
    if how.writes {
        let write = || {
            let mut guard = pool.write(page)?;
            change(pool, &mut guard, |bytes| bytes[100] = bytes[100].wrapping_add(1));
            Ok(())
        };
        pool.run(write).await.expect("pages can be changed");
    }
    hit
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Cumulated weights of a Zipf distribution over the pages.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(exponent: f64) -> Self {
        let mut sum = 0.0;
        let weights = (1..=PAGES).map(|rank| {
            sum += (rank as f64).powf(-exponent);
            sum
        });
        Self(weights.collect())
    }

    /// Ranks are scattered over the pages.
    fn draw(&self, random: &mut Random) -> u64 {
        let total = self.0[self.0.len() - 1];
        let point = random.below(1 << 53) as f64 / (1u64 << 53) as f64 * total;
        let rank = self.0.partition_point(|weight| *weight < point) as u64;
        rank * 4099 % PAGES
    }
}

/// Runs one pattern; `scan_every`: so many accesses for each page of an endless scan, 0 for none.
fn run(name: &str, how: Use, scan_every: u64, draw: impl Fn(&mut Random) -> u64) {
    let world = World::new(1, SimOptions::default());
    let env = world.env();
    let test = async {
        let pool = open(&env).await;
        let mut random = Random(88_172_645_463_325_252);
        let (mut hits, mut counted, mut scanned) = (0u64, 0u64, 0u64);
        for number in 0..ACCESSES {
            let hit = access(&pool, draw(&mut random), how).await;
            // The first half warms the pool.
            if number >= ACCESSES / 2 {
                counted += 1;
                hits += u64::from(hit);
                if scan_every > 0 && number % scan_every == 0 {
                    access(&pool, scanned % PAGES, SCAN).await;
                    scanned += 1;
                }
            }
            // Commits: the log becomes durable, else nothing dirty can be written.
            if how.writes && number % 16 == 0 {
                pool.wal().wait_durable(pool.wal().end_lsn()).await.expect("the disk is simulated");
            }
        }
        println!("{name:<58} {:6.2} % of {counted} found", 100.0 * hits as f64 / counted as f64);
        pool.stop();
    };
    world.block_on(test).unwrap();
}

fn main() {
    let zipf = Zipf::new(0.99);
    let hot_half = |random: &mut Random| random.below(FRAMES / 2);
    run("uniform over 8 pools", READ, 0, |random| random.below(PAGES));
    run("uniform over 8 pools, updates", UPDATE, 0, |random| random.below(PAGES));
    run("zipf 0.99 over 8 pools", READ, 0, |random| zipf.draw(random));
    run("zipf 0.99 over 8 pools, updates", UPDATE, 0, |random| zipf.draw(random));
    run("hot half of the pool", READ, 0, hot_half);
    run("hot half of the pool, 1 scanned page for each access", READ, 1, hot_half);
    run("hot half of the pool, 1 scanned page for 8 accesses", READ, 8, hot_half);
    run("zipf 0.99, 1 scanned page for each access", READ, 1, |random| zipf.draw(random));
    run("zipf 0.99, 1 scanned page for 8 accesses", READ, 8, |random| zipf.draw(random));
    run("zipf 0.99 updates, 1 scanned page for 8 accesses", UPDATE, 8, |random| zipf.draw(random));
    run("nine tenths of the pool, evenly", READ, 0, |random| random.below(FRAMES * 9 / 10));
    let shifting = std::cell::Cell::new(0u64);
    run("a window of half the pool that moves on", READ, 0, |random| {
        shifting.set(shifting.get() + 1);
        (shifting.get() / 50 + random.below(FRAMES / 2)) % PAGES
    });
}
