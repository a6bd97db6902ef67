//! Measures the segment store on a real disk against its goals (docs/decisions/0006).
//!
//! `cargo run --release -p pagestore --example store_gate -- DIR [MEGABYTES]`: everything is made below DIR and removed.
//! - cost of a page in a batch, beside the same page written at random into a file of the same length;
//! - write amplification of uniform overwriting at several fills, beside the analytic model;
//! - time to open after a kill, per 100 GB: the parts that grow with the data (map, segment heads) are scaled by
//!   size, the log by the two cycles it may have.

use env::local::{ThreadSpawner, block_on};
use env::sync::Event;
use env::{Env, IoBuf, OpenOptions, real_env};
use pagestore::segments::write_amplification;
use pagestore::{
    PageBatch, PageId, PageKind, PageSize, PageStore, SegmentOptions, SegmentStore, TreeId, header,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const PAGE: PageSize = PageSize::K8;
const BATCH_PAGES: usize = 128;
const WRITES_IN_FLIGHT: usize = 32;

struct Rng(u64);

impl Rng {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(limit)) >> 64) as u64
    }
}

fn image(page: PageId, version: u64) -> Vec<u8> {
    let mut bytes = vec![version as u8; PAGE.bytes()];
    header::format(&mut bytes, page, PageKind::Overflow, TreeId(3));
    header::set_lsn(&mut bytes, version);
    bytes
}

async fn write_batch(store: &SegmentStore, pages: &[u64], version: u64) {
    let mut batch = PageBatch::new(PAGE, pages.len());
    for page in pages {
        batch.push(PageId(*page), &image(PageId(*page), version));
    }
    store.write_batch(batch).await.expect("the disk takes a batch");
}

fn random_batch(rng: &mut Rng, pages: u64) -> Vec<u64> {
    let mut batch: Vec<u64> = (0..BATCH_PAGES).map(|_| rng.below(pages)).collect();
    batch.sort_unstable();
    batch.dedup();
    batch
}

/// Microseconds per page of random single-page writes with many in flight, without any sync.
async fn random_writes(env: &Env, bytes: u64, count: usize) -> f64 {
    let file = env.disk.open("plain.db", OpenOptions::create().direct()).await.expect("a file");
    file.allocate(bytes).await.expect("space");
    let zeros = 1 << 20;
    for offset in (0..bytes).step_by(zeros) {
        file.write_at(offset, IoBuf::zeroed(zeros)).await.1.expect("a write");
    }
    file.sync().await.expect("a sync");
    let mut rng = Rng(77);
    let pages = bytes / PAGE.bytes() as u64;
    let start = Instant::now();
    let mut done = 0;
    while done < count {
        let batch: Vec<_> = random_batch(&mut rng, pages).into_iter().take(WRITES_IN_FLIGHT).collect();
        let write =
            |page: &u64| file.write_at(page * PAGE.bytes() as u64, IoBuf::copy_of(&image(PageId(*page), 1)));
        let writes: Vec<_> = batch.iter().map(write).collect();
        done += writes.len();
        for write in writes {
            write.await.1.expect("a write");
        }
    }
    let cost = start.elapsed().as_secs_f64() * 1e6 / done as f64;
    drop(file);
    env.disk.remove("plain.db").await.expect("the file is there");
    cost
}

/// Fills a store so that `fill` of its space lives, overwrites it uniformly, and prints what that cost.
async fn overwrite(env: &Env, megabytes: u64, fill: f64) {
    let directory = format!("fill{}", (fill * 100.0) as u32);
    env.disk.create_dir(&directory).await.expect("a directory");
    let segments = (megabytes << 20) / (8 << 20);
    let options = SegmentOptions {
        segments_min: segments as u32,
        fill_target_percent: 100,
        fill_max_percent: 98,
        ..SegmentOptions::default()
    };
    let store = SegmentStore::create(env, &directory, PAGE, options).await.expect("a store");
    let pages = (segments as f64 * 1021.0 * fill) as u64;
    let pages = pages.min(store.page_count());
    for first in (0..pages).step_by(BATCH_PAGES) {
        let batch: Vec<u64> = (first..(first + BATCH_PAGES as u64).min(pages)).collect();
        write_batch(&store, &batch, 1).await;
    }
    let mut rng = Rng(5);
    // Two rounds to forget how it was filled, then one that counts.
    let mut before = store.stats();
    let mut slowest = Duration::ZERO;
    let mut start = Instant::now();
    let mut written = 0;
    for round in 0..3 {
        if round == 2 {
            (before, start, written, slowest) = (store.stats(), Instant::now(), 0, Duration::ZERO);
        }
        let mut in_round = 0;
        while in_round < pages {
            let batch = random_batch(&mut rng, pages);
            let began = Instant::now();
            write_batch(&store, &batch, 2 + round).await;
            slowest = slowest.max(began.elapsed());
            in_round += batch.len() as u64;
        }
        written += in_round;
    }
    let (after, seconds) = (store.stats(), start.elapsed().as_secs_f64());
    let fresh = (after.fresh_bytes - before.fresh_bytes) as f64;
    let relocated = (after.relocated_bytes - before.relocated_bytes) as f64;
    let map = (after.map_bytes - before.map_bytes) as f64;
    let fill = pages as f64 / (segments as f64 * 1021.0);
    println!(
        "fill {fill:.2}: WA {:.2} (model {:.2}) + map {:.3}; {:.0} pages/s, {:.2} us/page, slowest batch {:.0} ms, {} cycles",
        1.0 + relocated / fresh,
        write_amplification(fill),
        map / fresh,
        written as f64 / seconds,
        seconds * 1e6 / written as f64,
        slowest.as_secs_f64() * 1e3,
        after.cycles - before.cycles,
    );
    store.settle().await.expect("the store is well");
    if fill < 0.65 {
        restart(env, &directory, store, options, pages).await;
    } else {
        drop(store);
    }
    for name in env.disk.list(&directory).await.expect("the directory is there") {
        env.disk.remove(&format!("{directory}/{name}")).await.expect("the file is there");
    }
}

/// Opens the store as a kill would leave it, and scales the time to 100 GB.
async fn restart(env: &Env, directory: &str, store: SegmentStore, options: SegmentOptions, pages: u64) {
    let stats = store.stats();
    drop(store);
    let start = Instant::now();
    let store = SegmentStore::open(env, directory, options).await.expect("the store opens");
    let first = start.elapsed().as_secs_f64();
    drop(store);
    // Nothing was written since: only what grows with the data.
    let start = Instant::now();
    let store = SegmentStore::open(env, directory, options).await.expect("the store opens");
    let again = start.elapsed().as_secs_f64();
    drop(store);
    let gigabytes = pages as f64 * PAGE.bytes() as f64 / 1e9;
    println!(
        "restart: {:.1} GB in {} segments: {first:.3} s with log, {again:.3} s without; per 100 GB {:.1} s and {:.1} s",
        gigabytes,
        stats.segments,
        first / gigabytes * 100.0,
        again / gigabytes * 100.0
    );
}

async fn batch_cost(env: &Env, megabytes: u64, count: usize, in_flight: usize) -> (f64, f64) {
    env.disk.create_dir("cost").await.expect("a directory");
    let options = SegmentOptions { segments_min: (megabytes >> 3) as u32, ..SegmentOptions::default() };
    let store = Arc::new(SegmentStore::create(env, "cost", PAGE, options).await.expect("a store"));
    let pages = store.page_count() / 4 / in_flight as u64;
    let done = Arc::new(AtomicU64::new(0));
    let written = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    for lane in 0..in_flight as u64 {
        let (store, done, written) = (store.clone(), done.clone(), written.clone());
        let work = async move {
            let mut rng = Rng(9 + lane);
            while written.load(Ordering::Relaxed) < count as u64 {
                let mut batch = random_batch(&mut rng, pages);
                batch.iter_mut().for_each(|page| *page += lane * pages);
                write_batch(&store, &batch, 1).await;
                written.fetch_add(batch.len() as u64, Ordering::Relaxed);
            }
            done.fetch_add(1, Ordering::Release);
        };
        env.spawner.spawn("lane", Box::pin(work));
    }
    while done.load(Ordering::Acquire) < in_flight as u64 {
        env.clock.sleep(1000).await;
    }
    let cost = start.elapsed().as_secs_f64() * 1e6 / written.load(Ordering::Relaxed) as f64;
    let stats = store.stats();
    let batches = written.load(Ordering::Relaxed) as f64 / BATCH_PAGES as f64;
    drop(store);
    for name in env.disk.list("cost").await.expect("the directory is there") {
        env.disk.remove(&format!("cost/{name}")).await.expect("the file is there");
    }
    (cost, stats.epochs as f64 / batches)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let root = PathBuf::from(arguments.next().expect("usage: store_gate DIR [MEGABYTES]"));
    let megabytes: u64 = arguments.next().map_or(2048, |text| text.parse().expect("a number of megabytes"));
    let spawner = Arc::new(ThreadSpawner::with_rings(2, WRITES_IN_FLIGHT * 4));
    let env = real_env(&root.join("store_gate"), spawner).expect("the directory");
    let (measuring, done) = (env.clone(), Arc::new(Event::new()));
    let is_done = done.clone();
    // On a thread with a ring, as everything else.
    let measure = async move {
        let env = &measuring;
        let count = 40_000;
        let plain = random_writes(env, megabytes << 20, count).await;
        println!("random write, {WRITES_IN_FLIGHT} in flight, never synced: {plain:.2} us/page");
        for in_flight in [1, 2, 4] {
            let (cost, epochs) = batch_cost(env, megabytes, count * 4, in_flight).await;
            println!(
                "batches of {BATCH_PAGES}, durable, {in_flight} in flight: {cost:.2} us/page, {:.3} of a random write, {epochs:.2} syncs per batch",
                cost / plain
            );
        }
        for fill in [0.6, 0.7, 0.8, 0.9] {
            overwrite(env, megabytes, fill).await;
        }
        is_done.set();
    };
    env.spawner.spawn("measure", Box::pin(measure));
    block_on(done.wait());
    println!("page map: 8 bytes per page = {:.2} MB per GB", 8.0 * 1e9 / PAGE.bytes() as f64 / 1e6);
    std::fs::remove_dir_all(root.join("store_gate")).expect("it was made here");
}
