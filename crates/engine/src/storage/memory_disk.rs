//! A disk in memory, for `Engine::in_memory`: every operation completes at once and nothing survives.

use env::{
    BoxFuture, Completion, Disk, File, IoBuf, IoError, IoErrorKind, IoOp, OpenOptions, SyncCompletion,
    completion,
};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct MemoryDisk {
    files: Mutex<BTreeMap<String, Arc<MemoryFile>>>,
}

struct MemoryFile {
    path: String,
    bytes: Mutex<Vec<u8>>,
}

impl MemoryDisk {
    fn find(&self, op: IoOp, path: &str) -> Result<Arc<MemoryFile>, IoError> {
        let found = self.files.lock().get(path).cloned();
        found.ok_or_else(|| IoError::new(op, path, IoErrorKind::NotFound))
    }

    fn open_now(&self, path: &str, options: OpenOptions) -> Result<Arc<dyn File>, IoError> {
        if !options.create {
            return Ok(self.find(IoOp::Open, path)?);
        }
        let mut files = self.files.lock();
        if options.exclusive && files.contains_key(path) {
            return Err(IoError::new(IoOp::Open, path, IoErrorKind::AlreadyExists));
        }
        let new = || Arc::new(MemoryFile { path: path.into(), bytes: Mutex::default() });
        Ok(files.entry(path.into()).or_insert_with(new).clone())
    }

    fn rename_now(&self, from: &str, to: &str) -> Result<(), IoError> {
        let mut files = self.files.lock();
        let missing = || IoError::new(IoOp::Rename, from, IoErrorKind::NotFound);
        let old = files.remove(from).ok_or_else(missing)?;
        let bytes = Mutex::new(std::mem::take(&mut *old.bytes.lock()));
        files.insert(to.into(), Arc::new(MemoryFile { path: to.into(), bytes }));
        Ok(())
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let files = self.files.lock();
        let inside = files.keys().filter_map(|path| path.strip_prefix(&prefix));
        inside.filter(|name| !name.contains('/')).map(String::from).collect()
    }
}

impl Disk for MemoryDisk {
    fn open<'a>(
        &'a self,
        path: &'a str,
        options: OpenOptions,
    ) -> BoxFuture<'a, Result<Arc<dyn File>, IoError>> {
        Box::pin(async move { self.open_now(path, options) })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async move {
            let removed = self.files.lock().remove(path);
            removed.map(drop).ok_or_else(|| IoError::new(IoOp::Remove, path, IoErrorKind::NotFound))
        })
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async move { self.rename_now(from, to) })
    }

    fn list<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<String>, IoError>> {
        Box::pin(async move { Ok(self.names(path)) })
    }

    fn create_dir<'a>(&'a self, _path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async { Ok(()) })
    }

    fn sync_dir<'a>(&'a self, _path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async { Ok(()) })
    }
}

impl File for MemoryFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn read_at(&self, offset: u64, mut buffer: IoBuf) -> Completion {
        let (completer, completion) = completion();
        let bytes = self.bytes.lock();
        let start = offset as usize;
        let result = match bytes.get(start..start + buffer.len()) {
            Some(source) => {
                buffer.as_mut_slice().copy_from_slice(source);
                Ok(())
            }
            None => Err(IoError::new(IoOp::Read, &*self.path, IoErrorKind::EndOfFile)),
        };
        completer.complete(buffer, result);
        completion
    }

    fn write_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        let (completer, completion) = completion();
        let mut bytes = self.bytes.lock();
        let start = offset as usize;
        let end = start + buffer.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[start..end].copy_from_slice(buffer.as_slice());
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
        Box::pin(async { Ok(self.bytes.lock().len() as u64) })
    }

    fn set_len(&self, len: u64) -> BoxFuture<'_, Result<(), IoError>> {
        Box::pin(async move {
            self.bytes.lock().resize(len as usize, 0);
            Ok(())
        })
    }

    fn allocate(&self, len: u64) -> BoxFuture<'_, Result<(), IoError>> {
        Box::pin(async move {
            let mut bytes = self.bytes.lock();
            let longer = bytes.len().max(len as usize);
            bytes.resize(longer, 0);
            Ok(())
        })
    }
}
