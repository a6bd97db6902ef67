//! Real threads, many tasks, few frames.

use super::bed::{Bed, Rng};
use crate::{Direction, Position, Tree};
use env::local::{ThreadSpawner, block_on};
use env::sim::{SimOptions, World};
use env::sync::Event;
use pagestore::{PageSize, TreeId};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wal::WalOptions;

/// A directory that goes with the test.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("btree-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What one task does: it owns the keys that end in its number, so it knows what must be there.
async fn client(bed: Arc<Bed>, trees: Vec<Tree>, number: usize, rounds: usize) {
    let mut rng = Rng(number as u64 * 7919 + 1);
    let mut own = std::collections::BTreeMap::new();
    for round in 0..rounds {
        let tree = trees[rng.below(trees.len())];
        let key = format!("{:05}-{number:05}", rng.below(50)).into_bytes();
        match rng.below(10) {
            0..5 => {
                let value = vec![round as u8; rng.below(200)];
                bed.put(tree, &key, &value).await.unwrap();
                own.insert((tree.id, key), value);
            }
            5..7 => {
                let removed = bed.remove(tree, &key).await.unwrap().is_some();
                assert_eq!(removed, own.remove(&(tree.id, key)).is_some());
            }
            _ => assert_eq!(bed.get(tree, &key).await, own.get(&(tree.id, key)).cloned()),
        }
    }
    for ((tree, key), value) in own {
        let tree = trees.iter().find(|candidate| candidate.id == tree).unwrap();
        assert_eq!(bed.get(*tree, &key).await, Some(value));
    }
}

async fn run_clients(env: env::Env, frames: usize, tasks: usize, rounds: usize) -> (Arc<Bed>, Vec<Tree>) {
    let options = WalOptions { capacity_bytes: 256 << 20, ..WalOptions::default() };
    let (bed, first) = Bed::create(&env, PageSize::K4, frames, options).await;
    let bed = Arc::new(bed);
    let trees = vec![first, bed.create_tree(TreeId(8)).await, bed.create_tree(TreeId(9)).await];
    let left = Arc::new(AtomicUsize::new(tasks));
    let done = Arc::new(Event::new());
    for number in 0..tasks {
        let (bed, trees, left, done) = (bed.clone(), trees.clone(), left.clone(), done.clone());
        let task = async move {
            client(bed, trees, number, rounds).await;
            if left.fetch_sub(1, Ordering::SeqCst) == 1 {
                done.set();
            }
        };
        env.spawner.spawn("client", Box::pin(task));
    }
    done.wait().await;
    (bed, trees)
}

#[test]
fn a_thousand_tasks_get_on_with_sixty_four_frames() {
    let world = World::new(11, SimOptions { steps_max: 200_000_000, ..SimOptions::default() });
    let env = world.env();
    let run = async move {
        let (bed, trees) = run_clients(env, 64, 1000, 12).await;
        bed.verify(&trees).await;
        let stats = bed.pool.stats();
        assert!(stats.pages_evicted > 1000 && stats.pages_written > 100, "the pool was too large: {stats:?}");
    };
    world.block_on(run).unwrap();
}

#[test]
fn threads_agree_on_shared_trees() {
    for (round, frames) in [64, 4000].into_iter().enumerate() {
        let scratch = Scratch::new(&format!("threads-{round}"));
        let spawner = Arc::new(ThreadSpawner::new(4));
        let env = env::real_env(&scratch.0, spawner).unwrap();
        let (bed, trees) = block_on(run_clients(env, frames, 64, 400));
        block_on(bed.verify(&trees));
        let mut entries = 0;
        for tree in &trees {
            entries += block_on(bed.scan(*tree, Position::start(), Direction::Forward)).len();
        }
        assert!(entries > 1000);
        block_on(bed.pool.flush_all()).unwrap();
        assert_eq!(bed.pool.stats().pages_dirty, 0);
        bed.pool.stop();
        block_on(bed.wal.close()).unwrap();
    }
}
