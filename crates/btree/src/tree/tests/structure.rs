//! What trees look like: fill of sequential loads, discarding, estimates, extras in the log, overflow, full disks.

use super::bed::{Bed, Put, Rng};
use crate::{Direction, Mtr, Position, Tree, overflow, redo};
use env::sim::{SimOptions, World};
use pagestore::{PageId, PageSize, TreeId};
use std::future::Future;
use wal::WalOptions;

fn run<F: Future<Output = ()>>(seed: u64, test: impl FnOnce(Machine) -> F) {
    let world = World::new(seed, SimOptions::default());
    let handle = Machine { env: world.env() };
    world.block_on(test(handle)).unwrap();
}

/// What a test gets of the machine.
struct Machine {
    env: env::Env,
}

fn key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

async fn fill_percent(bed: &Bed, tree: Tree) -> u64 {
    let report = tree.verify(&bed.pool, &bed.space).await.unwrap();
    report.leaf_bytes * 100 / (report.leaf_pages * (PageSize::K8.bytes() as u64 - 64))
}

#[test]
fn sequential_loads_fill_their_pages() {
    run(1, |world| async move {
        let (bed, up) = Bed::create(&world.env, PageSize::K8, 1000, WalOptions::default()).await;
        let down = bed.create_tree(TreeId(8)).await;
        let groups = bed.create_tree(TreeId(9)).await;
        let random = bed.create_tree(TreeId(10)).await;
        let mut rng = Rng(5);
        for number in 0..8000u64 {
            bed.put(up, &key(number), &[1; 100]).await.unwrap();
            bed.put(down, &key(1_000_000 - number), &[1; 100]).await.unwrap();
            // Ascending within ten groups, as in (tenant, sequence).
            let grouped = [key(number % 10), key(number / 10)].concat();
            bed.put(groups, &grouped, &[1; 100]).await.unwrap();
            bed.put(random, &key(rng.next()), &[1; 100]).await.unwrap();
        }
        // The keys of the last leaf share no prefix yet, so a leaf gets some bytes back when it is split.
        assert!(fill_percent(&bed, up).await >= 90, "ascending: {}", fill_percent(&bed, up).await);
        assert!(fill_percent(&bed, down).await >= 90, "descending: {}", fill_percent(&bed, down).await);
        assert!(fill_percent(&bed, groups).await >= 85, "groups: {}", fill_percent(&bed, groups).await);
        let percent = fill_percent(&bed, random).await;
        assert!((60..80).contains(&percent), "random: {percent}");
        bed.verify(&[up, down, groups, random]).await;
    });
}

#[test]
fn appended_entries_are_found_and_fill_their_pages() {
    run(6, |world| async move {
        let (bed, tree) = Bed::create(&world.env, PageSize::K8, 300, WalOptions::default()).await;
        let mut rng = Rng(9);
        let mut number = 0u64;
        let mut expect = Vec::new();
        while expect.len() < 20_000 {
            let count = 1 + rng.next() % 500;
            let entries: Vec<(Vec<u8>, Vec<u8>)> = (0..count)
                .map(|_| {
                    number += 1 + rng.next() % 3;
                    let length = if rng.next().is_multiple_of(100) { 3_000 } else { rng.next() % 60 };
                    (key(number), vec![number as u8; length as usize])
                })
                .collect();
            let mut done = 0;
            while done < entries.len() {
                let rest = entries[done..].iter().map(|(key, value)| (key.as_slice(), value.as_slice()));
                let appended = bed.pool.run(|| {
                    let mut mtr = Mtr::begin(&bed.pool);
                    let appended = tree.append(&bed.space, &mut mtr, rest.clone())?;
                    mtr.reserve(0)?;
                    mtr.commit().unwrap();
                    Ok(appended)
                });
                let appended = appended.await.unwrap();
                assert!(appended > 0);
                done += appended;
            }
            expect.extend(entries);
        }
        bed.verify(&[tree]).await;
        assert!(bed.scan(tree, Position::start(), Direction::Forward).await == expect);
        assert!(fill_percent(&bed, tree).await >= 80, "{}", fill_percent(&bed, tree).await);
    });
}

#[test]
fn estimates_are_near_the_truth() {
    run(2, |world| async move {
        let (bed, tree) = Bed::create(&world.env, PageSize::K4, 1000, WalOptions::default()).await;
        for number in 0..20_000u64 {
            bed.put(tree, &key(number), &[1; 50]).await.unwrap();
        }
        for (low, high) in [(0, 20_000), (5_000, 15_000), (100, 1_100), (7_000, 7_020), (300, 300)] {
            let (lower, upper) = (key(low), key(high));
            let estimate =
                bed.pool.run(|| tree.estimate_range(&bed.pool, Some(&lower), Some(&upper))).await.unwrap();
            let truth = high - low;
            let now = tree.estimate_in_memory(&bed.pool, Some(&lower), Some(&upper), 20_000.0);
            assert!(now.is_exact, "all pages are in memory");
            assert_eq!(now.records.map(|rows| rows.round() as u64), Some(estimate));
            let error = estimate.abs_diff(truth);
            assert!(error <= truth / 5 + 60, "{low}..{high}: {estimate}");
        }
        let all = bed.pool.run(|| tree.estimate_range(&bed.pool, None, None)).await.unwrap();
        assert!(all.abs_diff(20_000) < 3_000, "{all}");
        let report = tree.verify(&bed.pool, &bed.space).await.unwrap();
        let pages = bed.pool.run(|| tree.estimate_pages(&bed.pool)).await.unwrap();
        assert!(pages.abs_diff(report.pages.len() as u64) * 3 < pages, "{pages} of {}", report.pages.len());
    });
}

#[test]
fn leaves_in_memory_are_told_by_some() {
    for (frames, absent) in [(1000, 0.0..0.01), (100, 0.7..1.0)] {
        run(2, |world| async move {
            let (bed, tree) = Bed::create(&world.env, PageSize::K4, frames, WalOptions::default()).await;
            assert_eq!(tree.leaves(&bed.pool).map(|leaves| leaves.count), Some(1.0));
            for number in 0..20_000u64 {
                bed.put(tree, &key(number), &[1; 50]).await.unwrap();
            }
            let report = tree.verify(&bed.pool, &bed.space).await.unwrap();
            // The nodes above the leaves come back with them.
            for number in (0..20_000u64).step_by(2_000) {
                assert!(bed.get(tree, &key(number)).await.is_some());
            }
            let leaves = tree.leaves(&bed.pool).unwrap();
            assert!(absent.contains(&leaves.absent), "{frames} frames: {leaves:?}");
            let pages = report.pages.len() as f64;
            assert!((leaves.count - pages).abs() < pages / 4.0, "{leaves:?} of {pages} pages");
        });
    }
}

#[test]
fn a_tree_is_discarded_in_steps() {
    run(3, |world| async move {
        let (bed, kept) = Bed::create(&world.env, PageSize::K4, 200, WalOptions::default()).await;
        let mut rng = Rng(9);
        for round in 0..3 {
            let tree = bed.create_tree(TreeId(20 + round)).await;
            for number in 0..3000 * round + 1 {
                let mut long = key(number);
                long.resize(8 + rng.below(900), b'k');
                bed.put(tree, &long, &[2; 60]).await.unwrap();
                bed.put(kept, &key(number), &[3; 30]).await.unwrap();
            }
            bed.verify(&[kept, tree]).await;
            let mut steps = 0;
            loop {
                let gone = bed.pool.run(|| {
                    let mut mtr = Mtr::begin(&bed.pool);
                    let gone = tree.discard_step(&bed.space, &mut mtr)?;
                    mtr.reserve(0)?;
                    mtr.commit().unwrap();
                    Ok(gone)
                });
                steps += 1;
                if gone.await.unwrap() {
                    break;
                }
            }
            assert!(steps > 5 * round, "steps are bounded: {steps}");
            bed.verify(&[kept]).await;
        }
    });
}

/// Writes a long value; its stub, and its pages from the first on.
async fn write_chain(bed: &Bed, tree: &Tree, value: &[u8]) -> (overflow::Stub, Vec<PageId>) {
    let mut writer = overflow::Writer::new(tree.id, value.len());
    let mut pages = Vec::new();
    loop {
        if let Some(stub) = writer.stub() {
            return (stub, pages);
        }
        let step = bed.pool.run(|| {
            let mut mtr = Mtr::begin(&bed.pool);
            let step = writer.step(&bed.space, &mut mtr, value)?;
            mtr.reserve(0)?;
            mtr.commit().unwrap();
            Ok(step)
        });
        let step = step.await.unwrap();
        pages.splice(0..0, step.pages.iter().copied());
        writer.advance(step);
    }
}

#[test]
fn long_values_go_through_chains() {
    run(4, |world| async move {
        let (bed, tree) = Bed::create(&world.env, PageSize::K8, 64, WalOptions::default()).await;
        for length in [1usize, 8136, 8137, 100_000, 1_500_000] {
            let value: Vec<u8> = (0..length).map(|index| (index * 31 % 251) as u8).collect();
            let (stub, _) = write_chain(&bed, &tree, &value).await;
            let stub = overflow::Stub::decode(&stub.encode());
            let mut reader = overflow::Reader::new(stub);
            bed.pool.run(|| reader.read(&bed.pool)).await.unwrap();
            assert!(reader.into_value() == value, "length {length}");
            let mut first = Some(stub.first);
            while let Some(from) = first {
                let mut free = overflow::FreeStep::new(from);
                let rest = bed.pool.run(|| {
                    let mut mtr = Mtr::begin(&bed.pool);
                    let rest = free.plan(&bed.space, &mut mtr)?;
                    mtr.reserve(0)?;
                    mtr.commit().unwrap();
                    Ok(rest)
                });
                first = rest.await.unwrap();
            }
            bed.verify(&[tree]).await;
        }
    });
}

#[test]
fn a_chain_is_freed_without_having_its_pages_in_memory_at_once() {
    run(6, |world| async move {
        let (bed, tree) = Bed::create(&world.env, PageSize::K4, 40, WalOptions::default()).await;
        let mut chains = Vec::new();
        for _ in 0..2 {
            let value = vec![7; 120_000];
            let (_, pages) = write_chain(&bed, &tree, &value).await;
            bed.pool.flush_all().await.unwrap();
            chains.push(pages);
        }
        // Others need nearly the whole pool.
        let mut held = Vec::new();
        for page in &chains[1][..26] {
            held.push(bed.pool.run(|| bed.pool.read(*page)).await.unwrap());
        }
        let (mut first, mut attempts) = (Some(chains[0][0]), 0);
        while let Some(from) = first {
            let mut free = overflow::FreeStep::new(from);
            let rest = bed.pool.run(|| {
                attempts += 1;
                assert!(attempts < 1_000, "no end is near");
                let mut mtr = Mtr::begin(&bed.pool);
                let rest = free.plan(&bed.space, &mut mtr)?;
                mtr.reserve(0)?;
                mtr.commit().unwrap();
                Ok(rest)
            });
            first = rest.await.unwrap();
        }
    });
}

#[test]
fn extras_share_the_group_of_their_change() {
    struct Logged;
    impl crate::Edit for Logged {
        type Output = usize;
        fn inspect(&mut self, _: Option<&[u8]>, _: crate::LeafContext) -> crate::Decision {
            crate::Decision::Insert
        }
        fn value(&self) -> &[u8] {
            b"value"
        }
        fn extra_bytes(&self) -> usize {
            40
        }
        fn apply(
            &mut self,
            current: Option<&[u8]>,
            _: crate::LeafContext,
            extra: &mut crate::Extra<'_>,
        ) -> usize {
            assert_eq!(current, None);
            extra.log(redo::ENGINE_KINDS_FROM + 3, 99, b"undo of the insert")
        }
    }
    run(5, |world| async move {
        let (bed, tree) = Bed::create(&world.env, PageSize::K8, 64, WalOptions::default()).await;
        let done = bed.pool.run(|| {
            let mut mtr = Mtr::begin(&bed.pool);
            let number = tree.modify(&bed.space, &mut mtr, b"key", &mut Logged)?;
            Ok((number, mtr.commit().unwrap()))
        });
        let (number, committed) = done.await.unwrap();
        assert_eq!(Some(committed.record_lsn(number)), committed.end_lsn());
        // A mini-transaction that is dropped leaves the page as it was.
        let before = bed.pool.stats();
        bed.pool
            .run(|| {
                let mut mtr = Mtr::begin(&bed.pool);
                tree.modify(&bed.space, &mut mtr, b"key", &mut Put { value: b"other" })
            })
            .await
            .unwrap();
        assert_eq!(bed.get(tree, b"key").await.unwrap(), b"value");
        assert_eq!(bed.pool.stats().pages_dirty, before.pages_dirty);
    });
}

#[test]
fn a_full_disk_is_an_error_and_no_harm() {
    let world = World::new(6, SimOptions { capacity_bytes: Some(6 << 20), ..SimOptions::default() });
    let env = world.env();
    let run = async {
        let options = WalOptions { capacity_bytes: 1 << 20, ..WalOptions::tiny() };
        let (bed, tree) = Bed::create(&env, PageSize::K4, 64, options).await;
        let mut written = 0;
        let error = loop {
            match bed.put(tree, &key(written), &[7; 900]).await {
                Ok(_) => written += 1,
                Err(error) => break error,
            }
            if written % 50 == 0 {
                bed.pool.flush_all().await.unwrap();
                let checkpoint = bed.pool.min_rec_lsn();
                bed.wal.wait_durable(checkpoint).await.unwrap();
                bed.wal.truncate_before(checkpoint);
            }
        };
        assert!(error.is_no_space(), "{error}");
        assert!(written > 100);
        let entries = bed.scan(tree, Position::start(), Direction::Forward).await;
        assert_eq!(entries.len() as u64, written);
        bed.verify(&[tree]).await;
        // Space returns, work goes on.
        world.set_capacity(None);
        bed.put(tree, &key(written), &[7; 900]).await.unwrap();
    };
    world.block_on(run).unwrap();
}

#[test]
fn a_range_with_a_known_end_is_read_at_once() {
    run(7, |world| async move {
        let (bed, tree) = Bed::create(&world.env, PageSize::K8, 400, WalOptions::default()).await;
        for number in 0..40_000u64 {
            bed.put(tree, &key(number), &[1; 200]).await.unwrap();
        }
        let other = bed.create_tree(TreeId(8)).await;
        // Each direction has a range of its own, of which nothing is in memory.
        for (direction, start) in [(Direction::Forward, 20_000), (Direction::Backward, 30_000)] {
            // Another tree, which does not fit into memory either, pushes the leaves out.
            for number in 0..40_000u64 {
                bed.put(other, &key(number), &[1; 200]).await.unwrap();
            }
            bed.pool.flush_all().await.unwrap();
            let (low, high) = (key(start), key(start + 100));
            let (from, to) = if direction == Direction::Forward { (&low, &high) } else { (&high, &low) };
            let mut position = Position::at(from);
            position.expect_end(to);
            let before = bed.pool.stats();
            let (mut next, mut count) = (Position::start(), 0);
            loop {
                let visit = bed.pool.run(|| {
                    tree.scan(&bed.pool, &position, direction, &mut next, |leaf| {
                        let _: std::ops::ControlFlow<()> = leaf.for_each(|key, _| {
                            count += u64::from(key >= &low[..] && key <= &high[..]);
                            std::ops::ControlFlow::Continue(())
                        });
                        leaf.fence().is_none_or(|fence| fence < &low[..] || fence > &high[..])
                    })
                });
                if visit.await.unwrap() {
                    break;
                }
                std::mem::swap(&mut position, &mut next);
            }
            assert_eq!(count, 101);
            let after = bed.pool.stats();
            // Three or four leaves and perhaps an inner node: the leaves come in one read or two.
            assert!(after.pages_read - before.pages_read <= 6, "{direction:?}: {before:?} {after:?}");
            assert!(after.misses - before.misses <= 3, "{direction:?}: {before:?} {after:?}");
            assert!(after.pages_prefetched - before.pages_prefetched >= 3, "{direction:?}: {after:?}");
        }
        bed.verify(&[tree, other]).await;
    });
}
