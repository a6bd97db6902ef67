//! Many threads append at once while others reserve, flush and cut the log off: each group is in the log once, whole, at
//! the place that its appender was told.

use env::local::{ThreadSpawner, block_on};
use env::real_env;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use wal::{AppendError, GroupLsns, Lsn, Priority, Wal, WalGroup, WalOptions, WalReader};

const THREADS: u64 = 4;
const GROUPS: u64 = 4_000;
/// So many of its groups a thread leaves in the log when it cuts it off.
const KEPT: usize = 150;

fn payload(id: u64) -> Vec<u8> {
    let bytes = if id.is_multiple_of(97) { 20_000 } else { 20 + id % 500 };
    vec![id as u8 | 1; bytes as usize]
}

/// One of the ways to append.
fn append(wal: &Wal, group: &WalGroup, number: u64) -> Result<GroupLsns, AppendError> {
    match number % 5 {
        0 => wal.append(group),
        1 => wal.append_reserve(group),
        way => {
            let room = wal.try_reserve(group.encoded_len(), Priority::Normal)?;
            let unused = if way == 2 { wal.try_reserve(4000, Priority::Reserve).ok() } else { None };
            let lsns = wal.append_reserved(room, group).unwrap();
            drop(unused);
            Ok(lsns)
        }
    }
}

#[test]
fn what_threads_append_at_once_is_all_there() {
    run("whole", WalOptions { capacity_bytes: 64 << 20, ..WalOptions::tiny() }, false);
}

#[test]
fn what_threads_append_to_a_short_log_is_there_until_it_is_cut_off() {
    run("short", WalOptions::tiny(), true);
}

fn run(name: &str, options: WalOptions, is_cut: bool) {
    let base = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let root = base.join(format!("wal-threads-{name}-{}", std::process::id()));
    let spawner = Arc::new(ThreadSpawner::new(1));
    let env = real_env(&root, spawner.clone()).unwrap();
    let wal = block_on(Wal::create(&env, options)).unwrap();
    let cut = AtomicU64::new(0);
    let all = Mutex::new(BTreeMap::new());
    let work = |thread: u64| {
        let mut group = WalGroup::new();
        let mut mine = Vec::new();
        for number in 0..GROUPS {
            let id = number * THREADS + thread;
            group.clear();
            group.push(1, id, &payload(id));
            let lsns = loop {
                match append(&wal, &group, number) {
                    Ok(lsns) => break lsns,
                    Err(error) => assert_eq!(error, AppendError::Full),
                }
                // Nobody waits for space here: it comes with what is written, cut off and prepared.
                block_on(wal.wait_durable(wal.end_lsn())).unwrap();
                wal.truncate_before(Lsn(cut.load(Ordering::SeqCst)));
                std::thread::yield_now();
            };
            assert!(mine.last().is_none_or(|(last, _): &(GroupLsns, u64)| last.end <= lsns.start));
            assert!(wal.end_lsn() >= lsns.end);
            mine.push((lsns, id));
            if number % 50 == 7 {
                block_on(wal.wait_durable(lsns.end)).unwrap();
                assert!(wal.durable_lsn() >= lsns.end && wal.durable_lsn() <= wal.end_lsn());
            }
            if is_cut && number % 20 == 3 && mine.len() > KEPT {
                let old = mine[mine.len() - KEPT].0.end;
                cut.fetch_max(old.min(wal.durable_lsn()).0, Ordering::SeqCst);
                wal.truncate_before(Lsn(cut.load(Ordering::SeqCst)));
            }
        }
        all.lock().unwrap().extend(mine.into_iter().map(|(lsns, id)| (lsns.start, (lsns.end, id))));
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || work(thread));
        }
    });
    block_on(wal.close()).unwrap();
    assert_eq!(wal.stats().groups, THREADS * GROUPS);
    let cut = Lsn(cut.into_inner());
    let all = all.into_inner().unwrap();
    assert_eq!(all.len() as u64, THREADS * GROUPS);
    let found = block_on(async {
        let mut reader = WalReader::open(&env, "wal", cut, wal.durable_lsn()).await.unwrap();
        let mut found = Vec::new();
        while let Some(read) = reader.next_group().await.unwrap() {
            let record = read.records().next().unwrap().1;
            let id = record.txn;
            assert!(record.payload == payload(id));
            found.push((read.start, (read.end, id)));
        }
        found
    });
    let expected: Vec<_> = all.into_iter().filter(|(_, (end, _))| *end > cut).collect();
    assert!(expected.len() >= KEPT && is_cut == (cut > Lsn::ZERO), "{}", expected.len());
    assert!(found.ends_with(&expected), "{} found, {} expected", found.len(), expected.len());
    drop(wal);
    drop(env);
    drop(spawner);
    std::fs::remove_dir_all(&root).unwrap();
}
