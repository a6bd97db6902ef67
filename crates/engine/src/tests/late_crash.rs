//! A table and its index, whose leaves are seldom in memory, on a machine that stops at some operation on the disk,
//! again and again, also during recovery: whatever happens, the index has the entries of the rows.

use super::late::{entries, tiny};
use super::*;
use env::Env;
use env::sim::{Outcome, SeededRandom};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

const KEYS: usize = 300;
const CLIENTS: u64 = 3;
/// So long that the index has more leaves than the pool has pages.
const ENTRY_BYTES: usize = 400;

/// Over all seeds, to see that the case is met.
static RESTORED: AtomicU64 = AtomicU64::new(0);
static MERGED: AtomicU64 = AtomicU64::new(0);

fn entry_of(key: u64, number: u64) -> Vec<u8> {
    let place = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    [place.to_be_bytes(), key.to_be_bytes(), number.to_be_bytes()].concat()
}

fn entry_value(number: u64) -> Vec<u8> {
    vec![number as u8; ENTRY_BYTES]
}

/// Gives a row a number, another one or none. `Err`: the transaction is gone.
async fn change(
    transaction: &mut Transaction,
    (rows, index): (TreeId, TreeId),
    key: u64,
    number: Option<u64>,
) -> Result<(), EngineError> {
    let name = key.to_be_bytes();
    let old = transaction.get(rows, &name, EXCLUSIVE).await?;
    let old = old.map(|old| u64::from_be_bytes(old.try_into().expect("eight bytes")));
    match (old, number) {
        (None, Some(new)) => {
            transaction.insert(rows, &name, &new.to_be_bytes(), Uniqueness::Key, WAIT).await?;
        }
        (Some(_), Some(new)) => transaction.update(rows, &name, &new.to_be_bytes(), WAIT).await?,
        (Some(_), None) => transaction.delete(rows, &name, WAIT).await?,
        (None, None) => return Ok(()),
    }
    if let Some(old) = old {
        transaction.delete_unseen(index, &entry_of(key, old), &entry_value(old), WAIT).await?;
    }
    match number {
        Some(new) => transaction.insert_unseen(index, &entry_of(key, new), &entry_value(new), WAIT).await,
        None => Ok(()),
    }
}

async fn one_transaction(engine: &Arc<Engine>, trees: (TreeId, TreeId), random: &SeededRandom) {
    let mut transaction = repeatable(engine);
    for _ in 0..1 + random.below(10) {
        let savepoint = transaction.savepoint();
        let key = random.below(KEYS) as u64;
        // A small number of numbers, so that entries come back.
        let number = (random.below(5) > 0).then(|| random.below(6) as u64);
        let polls = if random.below(5) == 0 { random.below(5) } else { usize::MAX };
        match cut_off(change(&mut transaction, trees, key, number), polls).await {
            Some(Err(error)) if error.rolled_back() => return,
            Some(Ok(())) if random.below(8) > 0 => {}
            Some(Err(error)) if error != EngineError::LockWaitTimeout => panic!("{error}"),
            _ => match transaction.rollback_to(savepoint).await {
                Ok(()) => {}
                // The victim of a deadlock, cut off in its rollback.
                Err(error) if error.rolled_back() => return,
                Err(error) => panic!("rollback to savepoint: {error}"),
            },
        }
    }
    match random.below(8) {
        0 => transaction.rollback().await.expect("rollback"),
        1 => drop(transaction),
        _ => transaction.commit().await.expect("commit"),
    }
}

async fn trees(engine: &Arc<Engine>) -> (TreeId, TreeId) {
    let mut transaction = repeatable(engine);
    if let Some(name) = transaction.get(CATALOG, b"table", EXCLUSIVE).await.expect("the catalog") {
        let id = u64::from_be_bytes(name.try_into().expect("eight bytes"));
        return (TreeId(id), TreeId(id + 1));
    }
    let rows = transaction.create_tree().await.expect("create");
    let index = transaction.create_tree().await.expect("create");
    assert_eq!(index.0, rows.0 + 1);
    let name = rows.0.to_be_bytes();
    transaction.insert(CATALOG, b"table", &name, Uniqueness::Key, WAIT).await.expect("insert");
    transaction.commit().await.expect("commit");
    (rows, index)
}

async fn check(engine: &Arc<Engine>, (rows, index): (TreeId, TreeId)) {
    let mut reader = repeatable(engine);
    let found = entries(&mut reader, rows, Direction::Forward).await;
    let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().expect("eight bytes"));
    let rows = found.iter().map(|(key, value)| (number(key), number(value)));
    let expected: BTreeMap<_, _> =
        rows.map(|(key, number)| (entry_of(key, number), entry_value(number))).collect();
    assert!(entries(&mut reader, index, Direction::Backward).await == expected, "the index differs");
}

async fn life(env: Env, seed: u64, budget: u64) {
    let options = EngineOptions { late_change_bytes: Some(budget), ..tiny() };
    let engine = Engine::open(env.clone(), options).await.expect("open");
    RESTORED.fetch_add(engine.stats().late_changes_pending, Ordering::Relaxed);
    let trees = trees(&engine).await;
    let random = SeededRandom::new(seed);
    // Some lives leave what waits to the next one.
    if random.below(3) == 0 {
        check(&engine, trees).await;
        engine.verify().await.expect("verify");
    }
    let left = Arc::new(AtomicU64::new(CLIENTS));
    for number in 0..CLIENTS {
        let (engine, left) = (engine.clone(), left.clone());
        let random = SeededRandom::new(seed * 10 + number);
        let work = async move {
            for _ in 0..40 {
                one_transaction(&engine, trees, &random).await;
            }
            left.fetch_sub(1, Ordering::SeqCst);
        };
        env.spawner.spawn("client", Box::pin(work));
    }
    while left.load(Ordering::SeqCst) > 0 {
        if random.below(4) == 0 {
            check(&engine, trees).await;
        }
        env.clock.sleep(5_000).await;
    }
    if random.below(2) == 0 {
        check(&engine, trees).await;
    }
    MERGED.fetch_add(engine.stats().late_changes_merged, Ordering::Relaxed);
    engine.close().await.expect("close");
}

fn run(seed: u64) {
    let random = SeededRandom::new(seed);
    let budget = [3_000, 30_000, u64::MAX][random.below(3)];
    let crash = || SimOptions { crash_at: Some(random.below(2500) as u64), ..SimOptions::default() };
    let mut world = World::new(seed, SimOptions::default());
    for number in 0..6 {
        if let Outcome::Stalled = world.block_on(life(world.env(), seed * 31 + number, budget)) {
            panic!("seed {seed}: stalled");
        }
        world = world.crash(if number >= 4 { SimOptions::default() } else { crash() });
    }
    let env = world.env();
    let last = async move {
        let engine = Engine::open(env, tiny()).await.expect("open");
        let trees = trees(&engine).await;
        check(&engine, trees).await;
        engine.verify().await.expect("verify");
    };
    world.block_on(last).unwrap();
}

#[test]
fn an_index_has_the_entries_of_the_rows_wherever_the_machine_stops() {
    let seeds = run_seeds(12, run);
    let (restored, merged) = (RESTORED.load(Ordering::Relaxed), MERGED.load(Ordering::Relaxed));
    eprintln!("{seeds} seeds, {restored} changes restored by starts, {merged} applied");
    assert!(seeds == 1 || (restored > 0 && merged > 0), "no seed meets the case");
}
