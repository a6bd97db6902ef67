//! A disk that counts what passes through it: operations, bytes, what is in flight, open files.
//!
//! Invariant: an operation is in flight from its call until the implementation completes it, whether or not
//! anybody still waits for it. The counters are read without a lock; each is right for some recent moment.
//! The engine wraps its disk once at open; everything below it is counted from then on.

use crate::completion::InFlight;
use crate::{BoxFuture, Completion, Disk, File, IoBuf, IoError, OpenOptions, SyncCompletion};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What has been asked of some files.
#[derive(Default)]
pub struct IoCounters {
    reads: AtomicU64,
    writes: AtomicU64,
    syncs: AtomicU64,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
    reads_pending: Arc<AtomicU64>,
    writes_pending: Arc<AtomicU64>,
    syncs_pending: Arc<AtomicU64>,
    files_open: AtomicU64,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IoStats {
    /// Reads that were started; likewise `writes` and `syncs`.
    pub reads: u64,
    pub writes: u64,
    pub syncs: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Reads that have not ended; likewise the other two.
    pub reads_pending: u64,
    pub writes_pending: u64,
    pub syncs_pending: u64,
    pub files_open: u64,
}

impl IoCounters {
    pub fn stats(&self) -> IoStats {
        IoStats {
            reads: self.reads.load(Relaxed),
            writes: self.writes.load(Relaxed),
            syncs: self.syncs.load(Relaxed),
            bytes_read: self.bytes_read.load(Relaxed),
            bytes_written: self.bytes_written.load(Relaxed),
            reads_pending: self.reads_pending.load(Relaxed),
            writes_pending: self.writes_pending.load(Relaxed),
            syncs_pending: self.syncs_pending.load(Relaxed),
            files_open: self.files_open.load(Relaxed),
        }
    }
}

/// A file name's counters.
type Choose = Box<dyn Fn(&str) -> Arc<IoCounters> + Send + Sync>;

/// See the head of the file.
pub struct CountedDisk {
    disk: Arc<dyn Disk>,
    counters_of: Choose,
}

impl CountedDisk {
    /// `counters_of` says for each path which counters its file belongs to.
    pub fn new(
        disk: Arc<dyn Disk>,
        counters_of: impl Fn(&str) -> Arc<IoCounters> + Send + Sync + 'static,
    ) -> CountedDisk {
        CountedDisk { disk, counters_of: Box::new(counters_of) }
    }
}

impl Disk for CountedDisk {
    fn open<'a>(
        &'a self,
        path: &'a str,
        options: OpenOptions,
    ) -> BoxFuture<'a, Result<Arc<dyn File>, IoError>> {
        Box::pin(async move {
            let file = self.disk.open(path, options).await?;
            let counters = (self.counters_of)(path);
            let file: Arc<dyn File> = Arc::new(CountedFile::new(file, counters));
            Ok(file)
        })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        self.disk.remove(path)
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        self.disk.rename(from, to)
    }

    fn list<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<String>, IoError>> {
        self.disk.list(path)
    }

    fn create_dir<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        self.disk.create_dir(path)
    }

    fn sync_dir<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        self.disk.sync_dir(path)
    }

    fn canonical<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<String, IoError>> {
        self.disk.canonical(path)
    }
}

struct CountedFile {
    file: Arc<dyn File>,
    counters: Arc<IoCounters>,
}

impl CountedFile {
    fn new(file: Arc<dyn File>, counters: Arc<IoCounters>) -> CountedFile {
        counters.files_open.fetch_add(1, Relaxed);
        CountedFile { file, counters }
    }
}

impl Drop for CountedFile {
    fn drop(&mut self) {
        debug_assert!(self.counters.files_open.load(Relaxed) > 0, "each open file is counted");
        self.counters.files_open.fetch_sub(1, Relaxed);
    }
}

impl File for CountedFile {
    fn path(&self) -> &str {
        self.file.path()
    }

    fn read_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        let counters = &*self.counters;
        counters.reads.fetch_add(1, Relaxed);
        counters.bytes_read.fetch_add(buffer.len() as u64, Relaxed);
        let in_flight = InFlight::begin(&counters.reads_pending);
        self.file.read_at(offset, buffer).watched(in_flight)
    }

    fn write_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        let counters = &*self.counters;
        counters.writes.fetch_add(1, Relaxed);
        counters.bytes_written.fetch_add(buffer.len() as u64, Relaxed);
        let in_flight = InFlight::begin(&counters.writes_pending);
        self.file.write_at(offset, buffer).watched(in_flight)
    }

    /// Counts as a write and as a sync.
    fn write_through_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        let counters = &*self.counters;
        counters.writes.fetch_add(1, Relaxed);
        counters.syncs.fetch_add(1, Relaxed);
        counters.bytes_written.fetch_add(buffer.len() as u64, Relaxed);
        let in_flight = InFlight::begin(&counters.writes_pending);
        self.file.write_through_at(offset, buffer).watched(in_flight)
    }

    fn sync(&self) -> SyncCompletion {
        let counters = &*self.counters;
        counters.syncs.fetch_add(1, Relaxed);
        let in_flight = InFlight::begin(&counters.syncs_pending);
        self.file.sync().watched(in_flight)
    }

    fn sync_all(&self) -> SyncCompletion {
        let counters = &*self.counters;
        counters.syncs.fetch_add(1, Relaxed);
        let in_flight = InFlight::begin(&counters.syncs_pending);
        self.file.sync_all().watched(in_flight)
    }

    fn len(&self) -> BoxFuture<'_, Result<u64, IoError>> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> BoxFuture<'_, Result<(), IoError>> {
        self.file.set_len(len)
    }

    fn allocate(&self, len: u64) -> BoxFuture<'_, Result<(), IoError>> {
        self.file.allocate(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completion;
    use crate::sim::{SimOptions, World};
    use parking_lot::Mutex;

    #[test]
    fn operations_bytes_and_files_are_counted() {
        let world = World::new(1, SimOptions::default());
        let (log, data) = (Arc::new(IoCounters::default()), Arc::new(IoCounters::default()));
        let (log_files, data_files) = (log.clone(), data.clone());
        let disk = CountedDisk::new(world.env().disk, move |path| {
            if path.starts_with("log") { log_files.clone() } else { data_files.clone() }
        });
        let seen = data.clone();
        let run = async move {
            let file = disk.open("pages", OpenOptions::create()).await.expect("opens");
            let (buffer, written) = file.write_at(0, IoBuf::zeroed(4096)).await;
            written.expect("written");
            file.sync().await.expect("synced");
            let (_, read) = file.read_at(0, buffer).await;
            read.expect("read");
            let stats = seen.stats();
            assert_eq!((stats.reads, stats.writes, stats.syncs, stats.files_open), (1, 1, 1, 1));
            assert_eq!((stats.bytes_read, stats.bytes_written), (4096, 4096));
            assert_eq!((stats.reads_pending, stats.writes_pending, stats.syncs_pending), (0, 0, 0));
        };
        world.block_on(run).unwrap();
        assert_eq!(data.stats().files_open, 0, "the file was dropped");
        assert_eq!(log.stats(), IoStats::default());
    }

    /// A file whose writes end when the test says so.
    #[derive(Default)]
    struct Held(Mutex<Vec<crate::Completer>>);

    impl File for Held {
        fn path(&self) -> &str {
            "held"
        }
        fn read_at(&self, _: u64, _: IoBuf) -> Completion {
            unreachable!("only writes are tested")
        }
        fn write_at(&self, _: u64, _: IoBuf) -> Completion {
            let (completer, completion) = completion();
            self.0.lock().push(completer);
            completion
        }
        fn write_through_at(&self, _: u64, _: IoBuf) -> Completion {
            unreachable!("only writes are tested")
        }
        fn sync(&self) -> SyncCompletion {
            unreachable!("only writes are tested")
        }
        fn sync_all(&self) -> SyncCompletion {
            unreachable!("only writes are tested")
        }
        fn len(&self) -> BoxFuture<'_, Result<u64, IoError>> {
            unreachable!("only writes are tested")
        }
        fn set_len(&self, _: u64) -> BoxFuture<'_, Result<(), IoError>> {
            unreachable!("only writes are tested")
        }
        fn allocate(&self, _: u64) -> BoxFuture<'_, Result<(), IoError>> {
            unreachable!("only writes are tested")
        }
    }

    #[test]
    fn an_operation_nobody_waits_for_is_in_flight_until_it_ends() {
        let held = Arc::new(Held::default());
        let counters = Arc::new(IoCounters::default());
        let file = CountedFile::new(held.clone(), counters.clone());
        drop(file.write_at(0, IoBuf::zeroed(512)));
        assert_eq!(counters.stats().writes_pending, 1);
        let completer = held.0.lock().pop().expect("the write began");
        completer.complete(IoBuf::empty(), Ok(()));
        assert_eq!(counters.stats().writes_pending, 0);
    }
}
