//! Hot backups: a copy that was made while clients worked opens as what was committed at one moment.

use super::stress::{ACCOUNTS, START, account, sum, transfer};
use super::*;
use crate::BackupProgress;
use env::sim::{SeededRandom, inside};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What the clients have done so far.
#[derive(Default)]
struct Counts {
    stop: AtomicBool,
    running: AtomicU64,
    /// Commits of the one that counts them in a row.
    acknowledged: AtomicU64,
}

const COUNTER: &[u8] = b"\xff counter";

async fn count_up(engine: &Arc<Engine>, number: u64) -> Result<(), EngineError> {
    let mut transaction = repeatable(engine);
    transaction.begin_statement();
    // Long values, so that the log is used up and pages are written meanwhile.
    let mut value = number.to_be_bytes().to_vec();
    value.resize(700, 3);
    let done = transaction.update(CATALOG, COUNTER, &value, WAIT).await;
    if done == Err(EngineError::NotFound) {
        transaction.insert(CATALOG, COUNTER, &value, Uniqueness::Key, WAIT).await?;
    }
    transaction.commit().await
}

fn start_clients(engine: &Arc<Engine>, env: &env::Env, counts: &Arc<Counts>, seed: u64) {
    for client in 0..3 {
        let (engine, counts) = (engine.clone(), counts.clone());
        counts.running.fetch_add(1, Ordering::SeqCst);
        let work = async move {
            let random = SeededRandom::new(seed * 10 + client);
            while !counts.stop.load(Ordering::SeqCst) {
                if client > 0 {
                    // Conflicts are as good as rollbacks here.
                    let _ = transfer(&engine, &random).await;
                } else {
                    let next = counts.acknowledged.load(Ordering::SeqCst) + 1;
                    count_up(&engine, next).await.expect("nobody else changes it");
                    counts.acknowledged.store(next, Ordering::SeqCst);
                }
                env::yield_now().await;
            }
            counts.running.fetch_sub(1, Ordering::SeqCst);
        };
        env.spawner.spawn("client", Box::pin(work));
    }
}

async fn fill(engine: &Arc<Engine>) {
    let mut transaction = repeatable(engine);
    for number in 0..ACCOUNTS {
        let value = START.to_be_bytes();
        transaction.insert(CATALOG, &account(number), &value, Uniqueness::Key, WAIT).await.unwrap();
    }
    transaction.commit().await.unwrap();
    let mut transaction = repeatable(engine);
    let tree = transaction.create_tree().await.unwrap();
    for number in 0..1500_u32 {
        let value = [number as u8; 900];
        transaction.insert(tree, &number.to_be_bytes(), &value, Uniqueness::Key, WAIT).await.unwrap();
    }
    transaction.commit().await.unwrap();
}

async fn counter_in(engine: &Arc<Engine>) -> u64 {
    let mut reader = repeatable(engine);
    let value = reader.get(CATALOG, COUNTER, ReadMode::Snapshot).await.unwrap();
    value.map_or(0, |value| u64::from_be_bytes(value[..8].try_into().unwrap()))
}

/// Answers how many checkpoints there were meanwhile.
fn back_up_beside_clients(seed: u64) -> u64 {
    let world = World::new(seed, SimOptions::default());
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env.clone(), options()).await.unwrap();
        fill(&engine).await;
        let counts = Arc::new(Counts::default());
        start_clients(&engine, &env, &counts, seed);
        while counts.acknowledged.load(Ordering::SeqCst) < 50 {
            env.clock.sleep(1000).await;
        }
        let before = counts.acknowledged.load(Ordering::SeqCst);
        let checkpoints = engine.stats().checkpoints;
        env.disk.create_dir("copy").await.unwrap();
        let target = inside(env.disk.clone(), "copy");
        let progress = BackupProgress::default();
        let backup = engine.back_up(target.clone(), &progress).await.unwrap();
        let after = counts.acknowledged.load(Ordering::SeqCst) + 1;
        counts.stop.store(true, Ordering::SeqCst);
        while counts.running.load(Ordering::SeqCst) > 0 {
            env.clock.sleep(1000).await;
        }
        assert!(backup.damaged.is_empty() && backup.to_lsn > backup.from_lsn);
        assert_eq!(progress.pages.load(Ordering::Relaxed), backup.pages);
        let made = engine.stats().checkpoints - checkpoints;
        engine.close().await.unwrap();
        let copy = Engine::open(env::Env { disk: target, ..env.clone() }, options()).await.unwrap();
        copy.verify().await.unwrap();
        let found = counter_in(&copy).await;
        assert!((before..=after).contains(&found), "{found} is not between {before} and {after}");
        let mut transaction = repeatable(&copy);
        transaction.delete(CATALOG, COUNTER, WAIT).await.unwrap();
        transaction.commit().await.unwrap();
        let all = sum(&copy, ReadMode::Snapshot, Direction::Forward).await.unwrap();
        assert_eq!(all, (u64::from(ACCOUNTS) * START, ACCOUNTS as usize));
        copy.close().await.unwrap();
        made
    };
    world.block_on(run).unwrap()
}

#[test]
fn a_copy_made_beside_clients_opens_as_of_one_moment() {
    let checkpoints: u64 = (1..=12).map(back_up_beside_clients).sum();
    assert!(checkpoints > 12, "the log was reused meanwhile: {checkpoints} checkpoints");
}

#[test]
fn a_copy_that_was_cut_off_is_no_database_and_holds_no_log() {
    with_engine(|engine| async move {
        fill(&engine).await;
        let target = inside(engine.env.disk.clone(), "copy");
        engine.env.disk.create_dir("copy").await.unwrap();
        let progress = BackupProgress::default();
        let cut = {
            let mut backup = Box::pin(engine.back_up(target.clone(), &progress));
            let mut polls = 0;
            std::future::poll_fn(move |context| {
                polls += 1;
                let done = backup.as_mut().poll(context).is_ready();
                if done || polls > 4 { Poll::Ready(done) } else { Poll::Pending }
            })
            .await
        };
        assert!(!cut, "it was dropped before its end");
        assert_eq!(engine.wal.pin_count(), 0);
        let env = env::Env { disk: target, ..engine.env.clone() };
        let opened = pagestore::InPlaceStore::open(&env, "data").await;
        assert!(matches!(opened.err(), Some(pagestore::StoreError::NoSuperblock { .. })));
    });
}
