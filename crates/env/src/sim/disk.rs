//! The simulated machine behind the traits: `Disk`, `File` and `Clock`.

use super::machine::{Machine, MachineState, Pending, Timer, TimerKey, WALL_CLOCK_START_US, Work};
use super::namespace::{FileIndex, Node, parent};
use crate::completion::{completion, sync_completion};
use crate::disk::assert_aligned;
use crate::{
    BoxFuture, Clock, Completion, Disk, File, IoBuf, IoError, IoErrorKind, IoOp, OpenOptions, ProcessorTimes,
    Processors, SyncCompletion,
};
use parking_lot::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

#[derive(Clone)]
pub(super) struct SimMachine(pub(super) Arc<Machine>);

struct SimFile {
    machine: SimMachine,
    index: FileIndex,
    path: String,
    direct: bool,
}

impl SimMachine {
    /// Submits a cold operation and waits for its value.
    fn meta<'a, T: Send + 'static>(
        &'a self,
        op: IoOp,
        path: &'a str,
        changes: bool,
        work: impl FnOnce(&mut MachineState, &str) -> Result<T, IoErrorKind> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, IoError>> {
        let invalid = path.starts_with('/') || path.split('/').any(|part| part == ".." || part == ".");
        let (completer, done) = sync_completion();
        let slot = Arc::new(Mutex::new(None));
        let filled = slot.clone();
        let owned_path = path.to_string();
        let work = Box::new(move |state: &mut MachineState, fault: Option<IoErrorKind>| {
            let result = match fault {
                Some(kind) => Err(kind),
                None if invalid => Err(IoErrorKind::InvalidPath),
                None => work(state, &owned_path),
            };
            *filled.lock() = Some(result);
        });
        let work = Work::Meta { changes, work };
        self.0.state.lock().submit(Pending { op, path: path.into(), work, completer });
        Box::pin(async move {
            done.await?;
            let result = slot.lock().take();
            let result = result.expect("the value is stored before the completion");
            result.map_err(|kind| IoError::new(op, path, kind))
        })
    }
}

impl Disk for SimMachine {
    fn open<'a>(
        &'a self,
        path: &'a str,
        options: OpenOptions,
    ) -> BoxFuture<'a, Result<Arc<dyn File>, IoError>> {
        let work = move |state: &mut MachineState, path: &str| open(state, path, options);
        let opened = self.meta(IoOp::Open, path, options.create, work);
        Box::pin(async move {
            let index = opened.await?;
            let file = SimFile { machine: self.clone(), index, path: path.into(), direct: options.direct };
            let file: Arc<dyn File> = Arc::new(file);
            Ok(file)
        })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        self.meta(IoOp::Remove, path, true, |state, path| match state.disk.names.get(path) {
            Some(Node::File(_)) => {
                state.disk.names.remove(path);
                Ok(())
            }
            Some(Node::Directory) => Err(IoErrorKind::Os(libc::EISDIR)),
            None => Err(IoErrorKind::NotFound),
        })
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        let to = to.to_string();
        self.meta(IoOp::Rename, from, true, move |state, from| {
            let names = &mut state.disk.names;
            let node = names.get(from).ok_or(IoErrorKind::NotFound)?;
            if !names.has_directory(parent(&to)) {
                return Err(IoErrorKind::NotFound);
            }
            if from != to {
                names.rename(from, &to, node);
            }
            Ok(())
        })
    }

    fn list<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<String>, IoError>> {
        self.meta(IoOp::List, path, false, |state, path| {
            let found = state.disk.names.has_directory(path);
            if found { Ok(state.disk.names.list(path)) } else { Err(IoErrorKind::NotFound) }
        })
    }

    fn create_dir<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        self.meta(IoOp::CreateDir, path, true, |state, path| {
            let mut prefix = String::new();
            for part in path.split('/') {
                if !prefix.is_empty() {
                    prefix.push('/');
                }
                prefix.push_str(part);
                match state.disk.names.get(&prefix) {
                    Some(Node::Directory) => {}
                    Some(Node::File(_)) => return Err(IoErrorKind::AlreadyExists),
                    None => state.disk.names.insert(&prefix, Node::Directory),
                }
            }
            Ok(())
        })
    }

    fn sync_dir<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        let through = self.0.state.lock().disk.names.sequence();
        self.meta(IoOp::SyncDir, path, true, move |state, path| {
            if !state.disk.names.has_directory(path) {
                return Err(IoErrorKind::NotFound);
            }
            state.disk.names.sync_through(path, through);
            Ok(())
        })
    }
}

fn open(state: &mut MachineState, path: &str, options: OpenOptions) -> Result<FileIndex, IoErrorKind> {
    match state.disk.names.get(path) {
        Some(Node::File(_)) if options.exclusive => Err(IoErrorKind::AlreadyExists),
        Some(Node::File(index)) => Ok(index),
        Some(Node::Directory) => Err(IoErrorKind::Os(libc::EISDIR)),
        None if !options.create || !state.disk.names.has_directory(parent(path)) => {
            Err(IoErrorKind::NotFound)
        }
        None => {
            let index = FileIndex(state.disk.files.len());
            state.disk.files.push(Default::default());
            state.disk.names.insert(path, Node::File(index));
            Ok(index)
        }
    }
}

impl SimFile {
    fn submit(&self, op: IoOp, work: Work, completer: crate::Completer) {
        let mut state = self.machine.0.state.lock();
        state.submit(Pending { op, path: self.path.clone(), work, completer });
    }

    fn check(&self, offset: u64, buffer: &IoBuf) {
        if self.direct {
            assert_aligned(&self.path, offset, buffer);
        }
    }

    fn write_as(&self, through: bool, offset: u64, buffer: IoBuf) -> Completion {
        self.check(offset, &buffer);
        let (completer, completion) = completion();
        let work = Work::Write { file: self.index, offset, buffer, through };
        self.submit(IoOp::Write, work, completer);
        completion
    }

    fn sync_as(&self, all: bool) -> SyncCompletion {
        let (completer, completion) = sync_completion();
        let through = self.machine.0.state.lock().disk.files[self.index.0].sequence();
        self.submit(IoOp::Sync, Work::Sync { file: self.index, through, all }, completer);
        completion
    }
}

impl File for SimFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn read_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        assert!(buffer.is_writable(), "a read needs a buffer that it may fill");
        self.check(offset, &buffer);
        let (completer, completion) = completion();
        self.submit(IoOp::Read, Work::Read { file: self.index, offset, buffer }, completer);
        completion
    }

    fn write_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        self.write_as(false, offset, buffer)
    }

    fn write_through_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        self.write_as(true, offset, buffer)
    }

    fn sync(&self) -> SyncCompletion {
        self.sync_as(false)
    }

    fn sync_all(&self) -> SyncCompletion {
        self.sync_as(true)
    }

    fn len(&self) -> BoxFuture<'_, Result<u64, IoError>> {
        let index = self.index;
        self.machine.meta(
            IoOp::Length,
            &self.path,
            false,
            move |state, _| Ok(state.disk.files[index.0].len()),
        )
    }

    fn set_len(&self, len: u64) -> BoxFuture<'_, Result<(), IoError>> {
        let index = self.index;
        // A sparse extension takes no space on a real disk; here the capacity counts lengths, which is stricter.
        self.machine.meta(IoOp::SetLength, &self.path, true, move |state, _| {
            if !state.fits(index, len) {
                return Err(IoErrorKind::NoSpace);
            }
            state.disk.files[index.0].set_len(len);
            Ok(())
        })
    }

    fn allocate(&self, len: u64) -> BoxFuture<'_, Result<(), IoError>> {
        let index = self.index;
        self.machine.meta(IoOp::Allocate, &self.path, true, move |state, _| {
            if !state.fits(index, len) {
                return Err(IoErrorKind::NoSpace);
            }
            let file = &mut state.disk.files[index.0];
            if file.len() < len {
                file.reserve(len);
            }
            Ok(())
        })
    }
}

impl Processors for SimMachine {
    /// Simulated code takes no time.
    fn times(&self) -> ProcessorTimes {
        ProcessorTimes { idle_us: Some(self.now_us()), own_us: 0, present: 1, usable: 1 }
    }
}

impl Clock for SimMachine {
    fn now_us(&self) -> u64 {
        self.0.state.lock().now_us
    }

    fn unix_us(&self) -> u64 {
        WALL_CLOCK_START_US + self.now_us()
    }

    fn sleep(&self, us: u64) -> BoxFuture<'static, ()> {
        let (key, timer) = self.0.state.lock().add_timer(us);
        Box::pin(SimSleep { machine: self.0.clone(), key, timer })
    }
}

/// One sleep; dropping it early takes its timer away, so the clock never jumps to it.
struct SimSleep {
    machine: Arc<Machine>,
    key: TimerKey,
    timer: Arc<Mutex<Timer>>,
}

impl Future for SimSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut timer = self.timer.lock();
        if timer.over {
            return Poll::Ready(());
        }
        timer.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for SimSleep {
    fn drop(&mut self) {
        self.machine.state.lock().remove_timer(self.key);
    }
}
