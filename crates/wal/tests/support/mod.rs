//! A log on a simulated machine, and groups that are recognised when they are read again.
#![allow(dead_code, reason = "each test binary has its own copy of this module")]

use env::Env;
use env::sim::World;
use wal::{Lsn, Wal, WalError, WalGroup, WalOptions, WalReader};

/// Runs a test on a new log.
pub fn on_log(world: &World, options: WalOptions, test: impl AsyncFnOnce(&Env, Wal)) {
    let env = world.env();
    let run = async {
        let wal = Wal::create(&env, options).await.unwrap();
        test(&env, wal).await;
    };
    world.block_on(run).unwrap();
}

/// The payload of group `number`: recognisable, and of very different sizes.
fn payloads(number: u64) -> Vec<Vec<u8>> {
    let count = 1 + number % 3;
    let size = |index: u64| match number % 7 {
        0 => 6000 + index,
        1 => 30_000,
        _ => 10 + number * 13 % 300,
    };
    (0..count).map(|index| vec![(number + index) as u8 | 1; size(index) as usize / count as usize]).collect()
}

pub fn group(number: u64) -> WalGroup {
    let mut group = WalGroup::new();
    for (index, payload) in payloads(number).iter().enumerate() {
        group.push(index as u8, number, payload);
    }
    group
}

/// Everything in the log, by group number, each with its end.
pub async fn read_all(env: &Env, from: Lsn, known_durable: Lsn) -> Result<Vec<(u64, Lsn)>, WalError> {
    let mut reader = WalReader::open(env, "wal", from, known_durable).await?;
    let mut found = Vec::new();
    while let Some(read) = reader.next_group().await? {
        let records: Vec<_> = read.records().collect();
        let number = records[0].1.txn;
        let expected = payloads(number);
        assert_eq!(records.len(), expected.len(), "a group is whole");
        for (index, (lsn, record)) in records.iter().enumerate() {
            assert_eq!((record.kind, record.txn), (index as u8, number));
            assert!(record.payload == expected[index]);
            assert!(*lsn > read.start && *lsn <= read.end);
        }
        assert_eq!(records.last().unwrap().0, read.end);
        found.push((number, read.end));
    }
    Ok(found)
}
