//! The log on the real file system with real threads: concurrent commits, then recovery.

use env::local::{ThreadSpawner, block_on};
use env::sync::Event;
use env::{Spawner, real_env};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wal::{Lsn, Wal, WalGroup, WalOptions, WalReader};

const TASKS: usize = 8;
const COMMITS: usize = 50;

#[test]
fn concurrent_commits_share_flushes_and_come_back() {
    let base = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let root = base.join(format!("wal-real-{}", std::process::id()));
    let spawner = Arc::new(ThreadSpawner::new(2));
    let env = real_env(&root, spawner.clone()).unwrap();
    let wal = Arc::new(block_on(Wal::create(&env, WalOptions::tiny())).unwrap());
    let (done, running) = (Arc::new(Event::new()), Arc::new(AtomicUsize::new(TASKS)));
    for task in 0..TASKS {
        let (wal, done, running) = (wal.clone(), done.clone(), running.clone());
        let commits = async move {
            let mut group = WalGroup::new();
            for number in 0..COMMITS {
                group.clear();
                group.push(1, (task * COMMITS + number) as u64, &[task as u8; 100]);
                let room = wal.reserve(group.encoded_len(), wal::Priority::Normal).await.unwrap();
                let lsns = wal.append_reserved(room, &group).unwrap();
                wal.wait_durable(lsns.end).await.unwrap();
                assert!(wal.durable_lsn() >= lsns.end);
                if number % 10 == 9 {
                    wal.truncate_before(Lsn::ZERO);
                }
            }
            if running.fetch_sub(1, Ordering::SeqCst) == 1 {
                done.set();
            }
        };
        spawner.spawn("commits", Box::pin(commits));
    }
    block_on(done.wait());
    block_on(wal.close()).unwrap();
    let count = block_on(async {
        let mut reader = WalReader::open(&env, "wal", Lsn::ZERO, wal.durable_lsn()).await.unwrap();
        let mut count = 0;
        while let Some(group) = reader.next_group().await.unwrap() {
            count += group.records().count();
        }
        count
    });
    drop(wal);
    drop(env);
    drop(spawner);
    std::fs::remove_dir_all(&root).unwrap();
    assert_eq!(count, TASKS * COMMITS);
}
