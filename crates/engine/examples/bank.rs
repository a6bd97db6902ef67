//! The engine without SQL: tellers move money between accounts at the same time, an auditor reads snapshots, and
//! after a restart every coin is still there.
//!
//!     cargo run -p engine --example bank [directory]

use engine::{
    AccessMode, Direction, Engine, EngineError, EngineOptions, EntryBatch, Isolation, KeyRange, LockMode,
    ReadMode, TreeId, Uniqueness, WaitPolicy,
};
use env::local::{ThreadSpawner, block_on};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const ACCOUNTS: u64 = 50;
const TELLERS: u64 = 4;
const TRANSFERS: u64 = 200;
const START_BALANCE: u64 = 1_000;
const WAIT: WaitPolicy = WaitPolicy::Wait { timeout_us: 5_000_000 };
/// The catalog tree is there from the start; here it remembers which tree has the accounts.
const ACCOUNTS_NAME: &[u8] = b"accounts";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join(format!("engine-bank-{}", std::process::id())),
        PathBuf::from,
    );
    let spawner = Arc::new(ThreadSpawner::new(4));
    let machine = env::real_env(&directory, spawner.clone())?;
    block_on(async {
        let engine = Engine::open(machine.clone(), EngineOptions::default()).await?;
        let accounts = open_accounts(&engine).await?;
        let finished = Arc::new(AtomicU64::new(0));
        for teller in 0..TELLERS {
            let (engine, finished) = (engine.clone(), finished.clone());
            machine.spawner.spawn(
                "teller",
                Box::pin(async move {
                    if let Err(error) = work(&engine, accounts, teller).await {
                        eprintln!("teller {teller}: {error}");
                    }
                    finished.fetch_add(1, Ordering::SeqCst);
                }),
            );
        }
        while finished.load(Ordering::SeqCst) < TELLERS {
            // A snapshot needs no locks and is right at any moment.
            assert_eq!(total(&engine, accounts).await?, ACCOUNTS * START_BALANCE);
            machine.clock.sleep(20_000).await;
        }
        let stats = engine.stats();
        println!("{} commits, {} deadlocks, {} waits", stats.commits, stats.deadlocks, stats.lock_waits);
        engine.close().await?;

        let engine = Engine::open(machine.clone(), EngineOptions::default()).await?;
        let accounts = open_accounts(&engine).await?;
        println!("after a restart: {} in {ACCOUNTS} accounts", total(&engine, accounts).await?);
        engine.close().await
    })?;
    Ok(std::fs::remove_dir_all(&directory)?)
}

/// The tree of the accounts, made and filled by the first start in one transaction.
async fn open_accounts(engine: &Arc<Engine>) -> Result<TreeId, EngineError> {
    let mut transaction = engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
    if let Some(known) = transaction.get(TreeId::CATALOG, ACCOUNTS_NAME, ReadMode::Snapshot).await? {
        return Ok(TreeId(amount(&known)));
    }
    let tree = transaction.create_tree().await?;
    for account in 0..ACCOUNTS {
        let (key, value) = (account.to_be_bytes(), START_BALANCE.to_be_bytes());
        transaction.insert(tree, &key, &value, Uniqueness::Key, WAIT).await?;
    }
    let named = tree.0.to_be_bytes();
    transaction.insert(TreeId::CATALOG, ACCOUNTS_NAME, &named, Uniqueness::Key, WAIT).await?;
    transaction.commit().await?;
    Ok(tree)
}

async fn work(engine: &Arc<Engine>, accounts: TreeId, teller: u64) -> Result<(), EngineError> {
    for number in 0..TRANSFERS {
        let (from, to) = ((number * 7 + teller) % ACCOUNTS, (number * 11 + teller * 13 + 1) % ACCOUNTS);
        if from == to {
            continue;
        }
        // Tellers lock in any order, so they may deadlock; the victim is rolled back and tries again.
        let mut done = Err(EngineError::Deadlock);
        while done == Err(EngineError::Deadlock) {
            done = transfer(engine, accounts, from, to).await;
        }
        done?;
    }
    Ok(())
}

async fn transfer(engine: &Arc<Engine>, accounts: TreeId, from: u64, to: u64) -> Result<(), EngineError> {
    let mut transaction = engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
    let locked = ReadMode::Locking(LockMode::Exclusive, WAIT);
    let (from, to) = (from.to_be_bytes(), to.to_be_bytes());
    let poorer = transaction.get(accounts, &from, locked).await?.ok_or(EngineError::NotFound)?;
    let richer = transaction.get(accounts, &to, locked).await?.ok_or(EngineError::NotFound)?;
    let moved = amount(&poorer).min(10);
    transaction.update(accounts, &from, &(amount(&poorer) - moved).to_be_bytes(), WAIT).await?;
    transaction.update(accounts, &to, &(amount(&richer) + moved).to_be_bytes(), WAIT).await?;
    transaction.commit().await
}

async fn total(engine: &Arc<Engine>, accounts: TreeId) -> Result<u64, EngineError> {
    let mut auditor = engine.begin(Isolation::RepeatableRead, AccessMode::ReadOnly);
    let mut cursor = auditor.scan(accounts, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
    let mut entries = EntryBatch::default();
    while cursor.next_batch(&mut auditor, 100, &mut entries).await? {}
    Ok(entries.iter().map(|(_, balance)| amount(balance)).sum())
}

fn amount(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().expect("the program wrote eight bytes"))
}
