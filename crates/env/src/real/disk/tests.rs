//! The same behaviour on the thread pool and on io_uring.

use super::*;
use crate::local::block_on;
use crate::real::uring::{Outbox, Reactor};
use std::future::Future;
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

/// A directory of its own for each test, removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Beside the build, because temporary directories are often on a file system without O_DIRECT.
        let base = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
        Self(base.join(format!("env-disk-{}-{number}", std::process::id())))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn check_files(disk: &RealDisk) {
    disk.create_dir("d").await.unwrap();
    let missing = disk.open("d/f", OpenOptions::existing()).await.err().unwrap();
    assert_eq!((missing.op, missing.kind), (IoOp::Open, IoErrorKind::NotFound));
    let file = disk.open("d/f", OpenOptions::create_new().direct()).await.unwrap();
    let again = disk.open("d/f", OpenOptions::create_new()).await.err().unwrap();
    assert_eq!(again.kind, IoErrorKind::AlreadyExists);

    file.allocate(64 << 10).await.unwrap();
    assert_eq!(file.len().await.unwrap(), 64 << 10);
    let writes: Vec<_> = (0..16u8)
        .map(|block| file.write_at(u64::from(block) * 4096, IoBuf::copy_of(&[block; 4096])))
        .collect();
    for write in writes {
        write.await.1.unwrap();
    }
    file.sync().await.unwrap();
    let (buffer, result) = file.read_at(4096, IoBuf::zeroed(8192)).await;
    result.unwrap();
    assert_eq!(buffer.as_slice()[..4096], [1; 4096]);
    assert_eq!(buffer.as_slice()[4096..], [2; 4096]);

    file.write_through_at(4096, IoBuf::copy_of(&[7; 8192])).await.1.unwrap();
    let (buffer, result) = file.read_at(4096, buffer).await;
    result.unwrap();
    assert_eq!(buffer.as_slice(), [7; 8192]);

    let (_, past_the_end) = file.read_at(60 << 10, IoBuf::zeroed(8192)).await;
    assert!(past_the_end.unwrap_err().is_end_of_file());
    file.set_len(5000).await.unwrap();
    let (_, odd_end) = file.read_at(0, IoBuf::zeroed(8192)).await;
    assert!(odd_end.unwrap_err().is_end_of_file());

    disk.rename("d/f", "d/g").await.unwrap();
    disk.sync_dir("d").await.unwrap();
    assert_eq!(disk.list("d").await.unwrap(), ["g"]);
    disk.remove("d/g").await.unwrap();
    assert!(disk.list("d").await.unwrap().is_empty());
}

#[test]
fn files_on_the_pool() {
    let directory = Directory::new();
    let disk = RealDisk::open(&directory.0).unwrap();
    block_on(check_files(&disk));
}

/// Drives a reactor the way a worker does, by polling.
fn block_on_ring<F: Future>(reactor: &Reactor, future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        reactor.submit();
        reactor.reap();
    }
}

fn ring(in_flight_max: usize) -> Option<Reactor> {
    match Reactor::new(in_flight_max) {
        Ok(reactor) => Some(reactor),
        Err(error) => {
            println!("skipped: io_uring is not available here ({error})");
            None
        }
    }
}

#[test]
fn files_on_io_uring() {
    // Fewer than the test has in flight, so that operations wait above the ring.
    let Some(reactor) = ring(3) else { return };
    let directory = Directory::new();
    let disk = RealDisk::open(&directory.0).unwrap();
    block_on_ring(&reactor, check_files(&disk));
    assert_eq!(reactor.in_flight(), 0);
}

#[test]
fn dropped_operations_finish_and_release_their_buffers() {
    let Some(reactor) = ring(4) else { return };
    let directory = Directory::new();
    let disk = RealDisk::open(&directory.0).unwrap();
    let file = block_on(disk.open("f", OpenOptions::create().direct())).unwrap();
    let owner: Arc<dyn std::any::Any + Send + Sync> = Arc::new(());
    let mut memory = IoBuf::zeroed(4096 * 10);
    memory.as_mut_slice().fill(5);
    for block in 0..10 {
        let start = std::ptr::NonNull::new(memory.start().wrapping_add(block * 4096)).unwrap();
        // SAFETY: `memory` lives until the reactor has been dropped below and is not touched meanwhile.
        let buffer = unsafe { IoBuf::lend_shared(start, 4096, owner.clone()) };
        drop(file.write_at(block as u64 * 4096, buffer));
    }
    assert_eq!(reactor.in_flight(), 10);
    drop(reactor);
    assert_eq!(Arc::strong_count(&owner), 1);
    let (buffer, result) = block_on(file.read_at(0, IoBuf::zeroed(4096 * 10)));
    result.unwrap();
    assert_eq!(buffer.as_slice(), memory.as_slice());
}

#[test]
fn reads_do_not_wait_for_the_end_of_the_turn_and_messages_do() {
    let Some(reactor) = ring(8) else { return };
    let directory = Directory::new();
    let disk = RealDisk::open(&directory.0).unwrap();
    let file = block_on(disk.open("f", OpenOptions::create().direct())).unwrap();
    block_on_ring(&reactor, file.write_at(0, IoBuf::zeroed(4096 * 2))).1.unwrap();
    let (near, mut far) = UnixStream::pair().unwrap();
    far.set_nonblocking(true).unwrap();
    let outbox = Outbox::new(Rc::new(near));
    assert!(outbox.post(b"answer"));
    let reads = [0, 1].map(|block| file.read_at(block * 4096, IoBuf::zeroed(4096)));
    // Nobody submits, and both end.
    while reactor.in_flight() > 1 {
        reactor.reap();
    }
    let mut received = [0; 16];
    assert_eq!(far.read(&mut received).map_err(|error| error.kind()), Err(ErrorKind::WouldBlock));
    reactor.submit();
    assert_eq!(far.read(&mut received).unwrap(), 6);
    for read in reads {
        block_on_ring(&reactor, read).1.unwrap();
    }
}

#[test]
fn paths_never_leave_the_root() {
    let directory = Directory::new();
    let disk = RealDisk::open(&directory.0).unwrap();
    for path in ["../f", "/etc/passwd", "d/../../f", "./f", "a\0b"] {
        let error = block_on(disk.open(path, OpenOptions::create())).err().unwrap();
        assert_eq!(error.kind, IoErrorKind::InvalidPath, "{path}");
    }
}
