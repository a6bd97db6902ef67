//! What appending to the log costs, without a disk: groups of about 300 bytes from 1, 2 and 4 threads, into room that
//! was reserved before (as mini-transactions do) and without (as commits do). The least of five runs each: time that
//! passes for each append of all threads together, what of a processor's time an append takes, and how often a million of
//! them put their thread to sleep (the last two as Linux counts them).
//!
//! `cargo run --release -p wal --example append_speed [appends per thread]`

use env::local::{ThreadSpawner, block_on};
use env::real::system_env;
use env::{BoxFuture, Completion, Disk, Env, File, IoBuf, IoError, OpenOptions, SyncCompletion, completion};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use wal::{AppendError, Priority, Wal, WalGroup, WalOptions};

const PAYLOAD_BYTES: usize = 280;
/// So often the log is cut off, as by a checkpoint.
const APPENDS_PER_CUT: usize = 20_000;

fn main() {
    let appends =
        std::env::args().nth(1).map_or(2_000_000, |text| text.parse().expect("a number of appends"));
    for (name, reserved) in [("append", false), ("reserve, append_reserved", true)] {
        for threads in [1, 2, 4] {
            let runs: Vec<_> = (0..5).map(|_| run(threads, appends / threads, reserved)).collect();
            let [ns, processor_ns, sleeps] =
                [0, 1, 2].map(|figure| runs.iter().map(|run| run[figure]).fold(f64::MAX, f64::min));
            let sleeps = sleeps * 1e6;
            println!("{name}: {threads} threads: {ns:.0} ns, {processor_ns:.0} ns, {sleeps:.1} sleeps");
        }
    }
}

/// For each append, the time that passed, the processors' time, and the sleeps.
fn run(threads: usize, appends: usize, reserved: bool) -> [f64; 3] {
    let env: Env = system_env(Arc::new(NoDisk), Arc::new(ThreadSpawner::new(1)));
    let wal = block_on(Wal::create(&env, WalOptions::default())).expect("nothing fails without a disk");
    let (since, processor_ns, sleeps) = (Instant::now(), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                append_many(&wal, appends, reserved);
                processor_ns.fetch_add(of_thread("schedstat", ""), Ordering::Relaxed);
                sleeps.fetch_add(of_thread("status", "\nvoluntary_ctxt_switches:"), Ordering::Relaxed);
            });
        }
    });
    let took = since.elapsed();
    assert_eq!(wal.stats().groups, (threads * appends) as u64);
    block_on(wal.close()).expect("nothing fails without a disk");
    [took.as_nanos() as f64, processor_ns.into_inner() as f64, sleeps.into_inner() as f64]
        .map(|figure| figure / (threads * appends) as f64)
}

/// The number behind a name in one of the system's files about this thread.
fn of_thread(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/thread-self/{file}")).unwrap_or_default();
    let behind = text.split_once(name).map_or("", |(_, behind)| behind);
    behind.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn append_many(wal: &Wal, appends: usize, reserved: bool) {
    let mut group = WalGroup::new();
    for number in 0..appends {
        group.clear();
        group.push(1, number as u64, &[number as u8; PAYLOAD_BYTES]);
        while let Err(error) = append(wal, &group, reserved) {
            assert_eq!(error, AppendError::Full);
            block_on(wal.wait_for_space(group.encoded_len(), Priority::Normal)).expect("the log goes on");
        }
        if number % APPENDS_PER_CUT == 0 {
            wal.truncate_before(wal.durable_lsn());
        }
    }
}

fn append(wal: &Wal, group: &WalGroup, reserved: bool) -> Result<(), AppendError> {
    if !reserved {
        return wal.append(group).map(drop);
    }
    let room = wal.try_reserve(group.encoded_len(), Priority::Normal)?;
    wal.append_reserved(room, group).expect("the log has not failed");
    Ok(())
}

/// Takes everything at once and keeps nothing.
struct NoDisk;

struct NoFile;

impl Disk for NoDisk {
    fn open<'a>(&'a self, _: &'a str, _: OpenOptions) -> BoxFuture<'a, Result<Arc<dyn File>, IoError>> {
        Box::pin(async { Ok(Arc::new(NoFile) as Arc<dyn File>) })
    }

    fn remove<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async { Ok(()) })
    }

    fn rename<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async { Ok(()) })
    }

    fn list<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<String>, IoError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn create_dir<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async { Ok(()) })
    }

    fn sync_dir<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async { Ok(()) })
    }
}

impl File for NoFile {
    fn path(&self) -> &str {
        "nowhere"
    }

    fn read_at(&self, _: u64, buffer: IoBuf) -> Completion {
        self.write_at(0, buffer)
    }

    fn write_at(&self, _: u64, buffer: IoBuf) -> Completion {
        let (completer, completion) = completion();
        completer.complete(buffer, Ok(()));
        completion
    }

    fn write_through_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        self.write_at(offset, buffer)
    }

    fn sync(&self) -> SyncCompletion {
        SyncCompletion::done()
    }

    fn sync_all(&self) -> SyncCompletion {
        SyncCompletion::done()
    }

    fn len(&self) -> BoxFuture<'_, Result<u64, IoError>> {
        Box::pin(async { Ok(0) })
    }

    fn set_len(&self, _: u64) -> BoxFuture<'_, Result<(), IoError>> {
        Box::pin(async { Ok(()) })
    }

    fn allocate(&self, _: u64) -> BoxFuture<'_, Result<(), IoError>> {
        Box::pin(async { Ok(()) })
    }
}
