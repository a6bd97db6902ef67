//! Real threads on one engine: the sum of all accounts never changes, whatever runs at the same time.

use super::*;
use env::local::block_on;
use env::sim::SeededRandom;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(super) const ACCOUNTS: u32 = 60;
pub(super) const START: u64 = 1000;

pub(super) fn account(number: u32) -> [u8; 4] {
    (number * 7).to_be_bytes()
}

fn amount(value: &[u8]) -> u64 {
    u64::from_be_bytes(value[..8].try_into().expect("eight bytes"))
}

/// Values of changing length, so that leaves split and merge.
fn record(amount: u64, random: &SeededRandom) -> Vec<u8> {
    let mut record = amount.to_be_bytes().to_vec();
    record.resize(8 + random.below(400), 1);
    record
}

pub(super) async fn transfer(engine: &Arc<Engine>, random: &SeededRandom) -> Result<(), EngineError> {
    let isolation =
        [Isolation::RepeatableRead, Isolation::ReadCommitted, Isolation::Serializable][random.below(3)];
    let mut transaction = begin(engine, isolation);
    transaction.begin_statement();
    let from = random.below(ACCOUNTS as usize) as u32;
    let to = (from + 1 + random.below(ACCOUNTS as usize - 1) as u32) % ACCOUNTS;
    let mut amounts = Vec::new();
    for number in [from, to] {
        let value = transaction.get(CATALOG, &account(number), EXCLUSIVE).await?;
        amounts.push(amount(&value.expect("accounts stay")));
    }
    let moved = amounts[0].min(random.below(50) as u64);
    if random.below(4) == 0 {
        transaction.delete(CATALOG, &account(from), WAIT).await?;
        let value = record(amounts[0] - moved, random);
        transaction.insert(CATALOG, &account(from), &value, Uniqueness::Key, WAIT).await?;
    } else {
        transaction.update(CATALOG, &account(from), &record(amounts[0] - moved, random), WAIT).await?;
    }
    let savepoint = transaction.savepoint();
    transaction.update(CATALOG, &account(to), b"nonsense", WAIT).await?;
    transaction.rollback_to(savepoint).await?;
    transaction.update(CATALOG, &account(to), &record(amounts[1] + moved, random), WAIT).await?;
    match random.below(8) {
        0 => transaction.rollback().await,
        1 => {
            drop(transaction);
            Ok(())
        }
        _ => transaction.commit().await,
    }
}

pub(super) async fn sum(
    engine: &Arc<Engine>,
    mode: ReadMode,
    direction: Direction,
) -> Result<(u64, usize), EngineError> {
    let mut reader = repeatable(engine);
    let mut cursor = reader.scan(CATALOG, KeyRange::all(), direction, mode);
    let mut batch = EntryBatch::default();
    while cursor.next_batch(&mut reader, 9, &mut batch).await? {}
    reader.commit().await?;
    Ok((batch.iter().map(|(_, value)| amount(value)).sum(), batch.len()))
}

#[test]
fn the_sum_of_all_accounts_is_constant() {
    let engine = Engine::in_memory();
    block_on(async {
        let mut transaction = repeatable(&engine);
        for number in 0..ACCOUNTS {
            let value = START.to_be_bytes();
            transaction.insert(CATALOG, &account(number), &value, Uniqueness::Key, WAIT).await.unwrap();
        }
        transaction.commit().await.unwrap();
    });
    let stop = AtomicBool::new(false);
    let (transfers, victims, sums) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (engine, stop, transfers, victims) = (&engine, &stop, &transfers, &victims);
            scope.spawn(move || {
                let random = SeededRandom::new(thread);
                while !stop.load(Ordering::Relaxed) {
                    let polls = if random.below(5) == 0 { random.below(20) } else { usize::MAX };
                    match block_on(cut_off(transfer(engine, &random), polls)) {
                        Some(Ok(())) => transfers.fetch_add(1, Ordering::Relaxed),
                        Some(Err(EngineError::Deadlock)) => victims.fetch_add(1, Ordering::Relaxed),
                        Some(Err(error)) => panic!("{error}"),
                        None => 0,
                    };
                }
            });
        }
        for (mode, direction) in [(ReadMode::Snapshot, Direction::Forward), (SHARED, Direction::Backward)] {
            let (engine, stop, sums) = (&engine, &stop, &sums);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    match block_on(sum(engine, mode, direction)) {
                        Ok(found) => {
                            let expected = (u64::from(ACCOUNTS) * START, ACCOUNTS as usize);
                            if found != expected {
                                stop.store(true, Ordering::Relaxed);
                                panic!("{mode:?}: {found:?} instead of {expected:?}");
                            }
                            sums.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(EngineError::Deadlock) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        std::thread::sleep(std::time::Duration::from_secs(3));
        stop.store(true, Ordering::Relaxed);
    });
    let stats = engine.stats();
    eprintln!("transfers {transfers:?} victims {victims:?} sums {sums:?} {stats:?}");
    assert!(transfers.load(Ordering::Relaxed) > 100);
    assert!(sums.load(Ordering::Relaxed) > 100);
    block_on(async {
        fill(&engine, &[("end", "12345678")]).await;
        engine.verify().await.unwrap();
        engine.close().await.unwrap();
    });
}
