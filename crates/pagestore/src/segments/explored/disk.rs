//! A disk in memory whose operations are tasks of the exploration: they end in any order, whenever the schedule says.
//!
//! Invariant: two operations in flight never overlap if one of them writes. So a segment that is used again under a
//! reader is found out even if the bytes would do.

use env::{
    BoxFuture, Completion, Disk, File, IoBuf, IoError, IoErrorKind, IoOp, OpenOptions, SyncCompletion,
    completion, sync_completion,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

type Shared<T> = Arc<Mutex<T>>;

#[derive(Default)]
struct Content {
    bytes: Vec<u8>,
    /// What is being read, or written (true).
    in_flight: Vec<(Range<usize>, bool)>,
}

#[derive(Clone, Default)]
pub(super) struct MemoryDisk(Shared<BTreeMap<String, Shared<Content>>>);

struct MemoryFile {
    path: String,
    content: Shared<Content>,
}

fn with<T, R>(shared: &Shared<T>, work: impl FnOnce(&mut T) -> R) -> R {
    work(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
}

impl MemoryDisk {
    /// The files as they are, for another store: what a killed process leaves.
    pub(super) fn copy(&self) -> Self {
        let files = with(&self.0, |files| {
            let copy =
                |content: &mut Content| Content { bytes: content.bytes.clone(), in_flight: Vec::new() };
            let files = files.iter().map(|(path, content)| (path.clone(), with(content, copy)));
            files.map(|(path, content)| (path, Arc::new(Mutex::new(content)))).collect()
        });
        Self(Arc::new(Mutex::new(files)))
    }
}

impl Disk for MemoryDisk {
    fn open<'a>(
        &'a self,
        path: &'a str,
        options: OpenOptions,
    ) -> BoxFuture<'a, Result<Arc<dyn File>, IoError>> {
        let content = with(&self.0, |files| match files.get(path) {
            Some(content) => Ok(content.clone()),
            None if options.create => Ok(files.entry(path.to_owned()).or_default().clone()),
            None => Err(IoError::new(IoOp::Open, path, IoErrorKind::NotFound)),
        });
        let opened =
            content.map(|content| Arc::new(MemoryFile { path: path.to_owned(), content }) as Arc<dyn File>);
        Box::pin(std::future::ready(opened))
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        with(&self.0, |files| files.remove(path));
        Box::pin(std::future::ready(Ok(())))
    }

    fn rename<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        unreachable!("the store renames nothing")
    }

    fn list<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<String>, IoError>> {
        unreachable!("the store lists nothing")
    }

    fn create_dir<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn sync_dir<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl MemoryFile {
    /// Does the work in a task of its own, with the range in flight from now until then.
    fn start(
        &self,
        op: IoOp,
        offset: u64,
        mut buffer: IoBuf,
        work: impl FnOnce(&mut Content, &Range<usize>, &mut IoBuf) -> Result<(), IoErrorKind> + Send + 'static,
    ) -> Completion {
        let range = offset as usize..offset as usize + buffer.len();
        let writes = op == IoOp::Write;
        with(&self.content, |content| {
            let meets = |(other, other_writes): &(Range<usize>, bool)| {
                (writes || *other_writes) && range.start < other.end && other.start < range.end
            };
            let other = content.in_flight.iter().find(|other| meets(other));
            assert!(other.is_none(), "{op:?} of {range:?} meets {other:?} in {}", self.path);
            content.in_flight.push((range.clone(), writes));
        });
        let (completer, done) = completion();
        let (content, path) = (self.content.clone(), self.path.clone());
        drop(shuttle::future::spawn(async move {
            let result = with(&content, |content| {
                let own = content.in_flight.iter().position(|other| *other == (range.clone(), writes));
                content.in_flight.swap_remove(own.expect("it was in flight"));
                work(content, &range, &mut buffer)
            });
            completer.complete(buffer, result.map_err(|kind| IoError::new(op, path, kind)));
        }));
        done
    }
}

impl File for MemoryFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn read_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        self.start(IoOp::Read, offset, buffer, |content, range, buffer| {
            let bytes = content.bytes.get(range.clone()).ok_or(IoErrorKind::EndOfFile)?;
            buffer.as_mut_slice().copy_from_slice(bytes);
            Ok(())
        })
    }

    fn write_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        self.start(IoOp::Write, offset, buffer, |content, range, buffer| {
            let length = content.bytes.len().max(range.end);
            content.bytes.resize(length, 0);
            content.bytes[range.clone()].copy_from_slice(buffer.as_slice());
            Ok(())
        })
    }

    fn write_through_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        self.write_at(offset, buffer)
    }

    fn sync(&self) -> SyncCompletion {
        let (completer, done) = sync_completion();
        drop(shuttle::future::spawn(async move { completer.complete(IoBuf::empty(), Ok(())) }));
        done
    }

    fn sync_all(&self) -> SyncCompletion {
        self.sync()
    }

    fn len(&self) -> BoxFuture<'_, Result<u64, IoError>> {
        Box::pin(std::future::ready(Ok(with(&self.content, |content| content.bytes.len() as u64))))
    }

    fn set_len(&self, len: u64) -> BoxFuture<'_, Result<(), IoError>> {
        with(&self.content, |content| content.bytes.resize(len as usize, 0));
        Box::pin(std::future::ready(Ok(())))
    }

    fn allocate(&self, len: u64) -> BoxFuture<'_, Result<(), IoError>> {
        with(&self.content, |content| {
            let length = content.bytes.len().max(len as usize);
            content.bytes.resize(length, 0);
        });
        Box::pin(std::future::ready(Ok(())))
    }
}
