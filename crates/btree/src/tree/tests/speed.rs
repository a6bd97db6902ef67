//! How long point operations take with everything in memory. Small in ordinary test runs; for figures:
//! `EVENKEEL_SPEED_ROWS=500000 CARGO_PROFILE_TEST_OPT_LEVEL=3 cargo test -p btree speed -- --nocapture`.

use super::bed::{Bed, Put, Rng};
use crate::{Direction, Mtr, Position};
use env::local::{ThreadSpawner, block_on};
use env::sync::Event;
use pagestore::PageSize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wal::WalOptions;

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

/// What this thread has used of the processor, in nanoseconds: other load on the machine does not count.
fn cpu_ns() -> u64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    statistics.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn report(what: &str, count: u64, started_ns: u64, hash: u64) {
    let each_ns = (cpu_ns() - started_ns) / count;
    println!("{what}: {each_ns} ns of CPU each, {count} times, hash {hash:x}");
}

#[test]
fn point_operations_are_fast() {
    let rows: u64 = std::env::var("EVENKEEL_SPEED_ROWS").map_or(3_000, |rows| rows.parse().unwrap());
    let scratch = super::stress::Scratch::new("speed");
    let env = env::real_env(&scratch.0, Arc::new(ThreadSpawner::new(1))).unwrap();
    let frames = 1000 + (rows / 20) as usize;
    let options = WalOptions { capacity_bytes: 4 << 30, ..WalOptions::default() };
    let (bed, tree) = block_on(Bed::create(&env, PageSize::K8, frames, options));
    let started = cpu_ns();
    for number in 0..rows {
        block_on(bed.put(tree, &key(number), &[number as u8; 200])).unwrap();
    }
    report("insert", rows, started, 0);

    let mut rng = Rng(3);
    let (started, mut hash) = (cpu_ns(), 0u64);
    for _ in 0..rows {
        let key = key(rng.next() % rows);
        let found = tree.lookup(&bed.pool, &key, |value, _| value.map(|value| u64::from(value[0])));
        hash = hash.wrapping_mul(31) + found.unwrap().unwrap();
    }
    report("lookup", rows, started, hash);

    let started = cpu_ns();
    for round in 0..rows {
        let key = key(rng.next() % rows);
        let mut value = [7; 200];
        value[round as usize % 200] = round as u8;
        let update = bed.pool.run(|| {
            let mut mtr = Mtr::begin(&bed.pool);
            tree.modify(&bed.space, &mut mtr, &key, &mut Put { value: &value })?;
            mtr.commit().map(drop).map_err(|_| buffer::Stop::Restart)
        });
        block_on(update).unwrap();
    }
    report("update", rows, started, 0);

    let (started, mut hash, mut count) = (cpu_ns(), 0u64, 0);
    let (mut from, mut next) = (Position::start(), Position::start());
    while !from.is_end() {
        let visited = tree.scan(&bed.pool, &from, Direction::Forward, &mut next, |leaf| {
            let _: ControlFlow<()> = leaf.for_each(|key, value| {
                hash = hash.wrapping_mul(31) + u64::from(key[7]) + u64::from(value[0]);
                count += 1;
                ControlFlow::Continue(())
            });
        });
        visited.unwrap();
        std::mem::swap(&mut from, &mut next);
    }
    report("scan", count, started, hash);
    assert_eq!(count, rows);
    bed.pool.stop();
}

#[test]
fn data_beyond_memory_is_worked_on_side_by_side() {
    let rows: u64 = std::env::var("EVENKEEL_SPEED_ROWS").map_or(3_000, |rows| rows.parse().unwrap());
    let scratch = super::stress::Scratch::new("beyond");
    let env = env::real_env(&scratch.0, Arc::new(ThreadSpawner::new(2))).unwrap();
    // About 27 rows a page: the pool holds a quarter of the data.
    let frames = 64 + (rows / 27 / 4) as usize;
    let options = WalOptions { capacity_bytes: 4 << 30, ..WalOptions::default() };
    let run = async {
        let (bed, tree) = Bed::create(&env, PageSize::K8, frames, options).await;
        let bed = Arc::new(bed);
        for number in 0..rows {
            bed.put(tree, &key(number), &[number as u8; 200]).await.unwrap();
        }
        let clock = env.clock.clone();
        for (what, writes) in [("read", false), ("update", true)] {
            let (before, started_us) = (bed.pool.stats(), clock.now_us());
            let left = Arc::new(AtomicU64::new(32));
            let done = Arc::new(Event::new());
            for task in 0..32 {
                let (bed, left, done) = (bed.clone(), left.clone(), done.clone());
                let client = async move {
                    let mut rng = Rng(task + 1);
                    for _ in 0..rows / 32 {
                        let key = key(rng.next() % rows);
                        if writes {
                            let lsn = bed.put(tree, &key, &[rng.next() as u8; 200]).await.unwrap();
                            bed.wal.wait_durable(lsn).await.unwrap();
                        } else {
                            assert!(bed.get(tree, &key).await.is_some());
                        }
                    }
                    if left.fetch_sub(1, Ordering::SeqCst) == 1 {
                        done.set();
                    }
                };
                env.spawner.spawn("client", Box::pin(client));
            }
            done.wait().await;
            let (stats, elapsed_us) = (bed.pool.stats(), clock.now_us() - started_us);
            println!(
                "{what}: {} a second; for each: {:.2} reads, {:.2} writes, {:.3} waits for frames; {} dirty of {}",
                rows * 1_000_000 / elapsed_us.max(1),
                (stats.pages_read - before.pages_read) as f64 / rows as f64,
                (stats.pages_written - before.pages_written) as f64 / rows as f64,
                (stats.frame_waits - before.frame_waits) as f64 / rows as f64,
                stats.pages_dirty,
                stats.frames,
            );
        }
        bed.verify(&[tree]).await;
        bed.pool.stop();
    };
    block_on(run);
}
