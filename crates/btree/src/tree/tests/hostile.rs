//! Trees whose pages are intact one by one but do not belong together: what lost and misdirected writes leave.
//! Operations may fail or answer wrongly, but they end, without a panic.

use super::bed::{Bed, Rng};
use crate::node::{NodeBuilder, NodeIdentity, encode_child};
use crate::{Direction, Mtr, Position, Tree, check_page};
use buffer::BufferError;
use env::sim::{SimOptions, World};
use pagestore::{PageId, PageSize, TreeId, header};
use std::ops::ControlFlow;
use wal::WalOptions;

fn key(rng: &mut Rng) -> Vec<u8> {
    let mut key = format!("group-{}/item-{:05}", rng.below(5), rng.below(3000)).into_bytes();
    key.resize(key.len() + rng.below(40), b'.');
    key
}

/// Overwrites a page of the tree with the content of another, or with its own older version.
async fn confuse(bed: &Bed, pages: &[PageId], older: &[Vec<u8>], rng: &mut Rng) {
    let victim = pages[rng.below(pages.len())];
    let source = rng.below(pages.len());
    let mut bytes = match rng.below(3) {
        0 => older[source].clone(),
        _ => {
            let from = pages[source];
            bed.pool.run(|| Ok(bed.pool.read(from)?.to_vec())).await.unwrap()
        }
    };
    // The page id, as a read from disk would demand it.
    bytes[8..16].copy_from_slice(&victim.0.to_le_bytes());
    if check_page(&bytes).is_ok() {
        overwrite(bed, victim, &bytes).await;
    }
}

async fn overwrite(bed: &Bed, page: PageId, bytes: &[u8]) {
    let overwritten = bed.pool.run(|| {
        let mut guard = bed.pool.write(page)?;
        guard.mark_dirty(bed.wal.end_lsn());
        let lsn = header::lsn(&guard);
        guard.bytes_mut().copy_from_slice(bytes);
        header::set_lsn(guard.bytes_mut(), lsn);
        Ok(())
    });
    overwritten.await.unwrap();
}

/// Each result may be an error.
async fn use_everything(bed: &Bed, tree: Tree, rng: &mut Rng) {
    for _ in 0..300 {
        let key = key(rng);
        match rng.below(6) {
            0..3 => drop(bed.put(tree, &key, &vec![1; rng.below(300)]).await),
            3 => drop(bed.remove(tree, &key).await),
            4 => drop(bed.pool.run(|| tree.lookup(&bed.pool, &key, |value, _| value.map(<[u8]>::len))).await),
            _ => drop(bed.pool.run(|| tree.merge_at(&bed.pool, &bed.space, &key)).await),
        }
    }
    let (lower, upper) = (key(rng), key(rng));
    drop(bed.pool.run(|| tree.estimate_range(&bed.pool, Some(&lower), Some(&upper))).await);
    drop(bed.pool.run(|| tree.estimate_pages(&bed.pool)).await);
    drop(tree.verify(&bed.pool, &bed.space).await);
    for direction in [Direction::Forward, Direction::Backward] {
        let (mut from, mut next) = (Position::start(), Position::start());
        // Confused fences can lead a scan in a circle; whoever scans notices that keys do not advance.
        for _ in 0..200 {
            let visit = bed.pool.run(|| {
                tree.scan(&bed.pool, &from, direction, &mut next, |leaf| {
                    let _: ControlFlow<()> = leaf.for_each(|_, _| ControlFlow::Continue(()));
                })
            });
            if visit.await.is_err() || next.is_end() {
                break;
            }
            std::mem::swap(&mut from, &mut next);
        }
    }
}

#[test]
fn confused_pages_cause_errors_and_no_panic() {
    for seed in 1..60 {
        let world = World::new(seed, SimOptions { steps_max: 3_000_000, ..SimOptions::default() });
        let env = world.env();
        let run = async move {
            let mut rng = Rng(seed * 77 + 1);
            let (bed, tree) = Bed::create(&env, PageSize::K4, 300, WalOptions::default()).await;
            for _ in 0..400 {
                bed.put(tree, &key(&mut rng), &vec![2; rng.below(200)]).await.unwrap();
            }
            let pages = tree.verify(&bed.pool, &bed.space).await.unwrap().pages;
            let mut older = Vec::new();
            for page in &pages {
                older.push(bed.pool.run(|| Ok(bed.pool.read(*page)?.to_vec())).await.unwrap());
            }
            for _ in 0..600 {
                bed.put(tree, &key(&mut rng), &vec![3; rng.below(200)]).await.unwrap();
            }
            for _ in 0..3 {
                confuse(&bed, &pages, &older, &mut rng).await;
                use_everything(&bed, tree, &mut rng).await;
            }
        };
        let outcome = world.block_on(run);
        assert!(matches!(outcome, env::sim::Outcome::Done(())), "seed {seed}: {outcome:?}");
    }
}

/// A node that is sound by itself: what it says of others is not believed where pages are given free.
#[test]
fn pages_that_a_node_names_wrongly_are_not_freed() {
    let world = World::new(7, SimOptions::default());
    let env = world.env();
    let run = async move {
        let (bed, tree) = Bed::create(&env, PageSize::K4, 300, WalOptions::default()).await;
        let leaf = bed.create_tree(TreeId(8)).await.root;
        // The same page twice, the space map, a superblock, a page that nobody has.
        for wrong in [leaf, PageId(2), PageId(1), PageId(900)] {
            let identity = NodeIdentity { page: tree.root, tree: tree.id, level: 1 };
            let mut builder = NodeBuilder::new(bed.pool.page_bytes(), identity, &[]);
            builder.set_first_child(leaf);
            builder.push(b"key", &[], &encode_child(wrong));
            overwrite(&bed, tree.root, &builder.finish()).await;
            let discarded = bed.pool.run(|| {
                let mut mtr = Mtr::begin(&bed.pool);
                tree.discard_step(&bed.space, &mut mtr)?;
                mtr.reserve(0)?;
                mtr.commit().expect("the log works");
                Ok(())
            });
            let discarded = discarded.await;
            assert!(matches!(discarded, Err(BufferError::Corrupt(_))), "{wrong}: {discarded:?}");
        }
    };
    world.block_on(run).unwrap();
}
