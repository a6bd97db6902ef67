//! `ScratchDisk`: the files of a directory as they are, and whatever is changed about them in memory only.
//!
//! Invariant: nothing in the directory is written, created or removed, so a check may run a whole recovery on it and
//! leave it as it was. Operations end at once, on the caller's thread; nothing is ever durable. Used by the commands
//! that look at a data directory offline.

use crate::{
    BoxFuture, Completion, Disk, File, IoBuf, IoError, IoErrorKind, IoOp, OpenOptions, SyncCompletion,
    completion,
};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

const BLOCK_BYTES: u64 = 4096;

/// See the module's documentation.
pub struct ScratchDisk {
    root: PathBuf,
    /// Files that were opened, renamed or removed (`None`); the others are as in the directory.
    files: Mutex<BTreeMap<String, Option<Arc<ScratchFile>>>>,
}

struct ScratchFile {
    path: String,
    base: Option<std::fs::File>,
    state: Mutex<FileState>,
}

struct FileState {
    len: u64,
    /// Up to here the directory's file counts, where no block is changed.
    base_len: u64,
    /// Changed blocks; `None` is a block of zeros, which takes no memory.
    blocks: BTreeMap<u64, Option<Box<[u8]>>>,
}

impl ScratchDisk {
    /// The directory must exist; it is not looked at before a file is opened.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), files: Mutex::default() }
    }

    fn open_now(&self, path: &str, options: OpenOptions) -> Result<Arc<ScratchFile>, IoError> {
        let mut files = self.files.lock();
        let absent = match files.get(path) {
            Some(Some(file)) if options.exclusive => {
                return Err(IoError::new(IoOp::Open, &*file.path, IoErrorKind::AlreadyExists));
            }
            Some(Some(file)) => return Ok(file.clone()),
            Some(None) => true,
            None => false,
        };
        let base = if absent { None } else { self.open_base(path)? };
        let (base, len) = match base {
            Some(_) if options.exclusive => {
                return Err(IoError::new(IoOp::Open, path, IoErrorKind::AlreadyExists));
            }
            Some((file, len)) => (Some(file), len),
            None if options.create => (None, 0),
            None => return Err(IoError::new(IoOp::Open, path, IoErrorKind::NotFound)),
        };
        let state = FileState { len, base_len: len, blocks: BTreeMap::new() };
        let file = Arc::new(ScratchFile { path: path.into(), base, state: Mutex::new(state) });
        files.insert(path.into(), Some(file.clone()));
        Ok(file)
    }

    fn open_base(&self, path: &str) -> Result<Option<(std::fs::File, u64)>, IoError> {
        let opened = std::fs::File::open(self.root.join(path)).and_then(|file| {
            let len = file.metadata()?.len();
            Ok((file, len))
        });
        match opened {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(IoError::from_std(IoOp::Open, path, &error)),
        }
    }

    fn rename_now(&self, from: &str, to: &str) -> Result<(), IoError> {
        let old = self.open_now(from, OpenOptions::existing())?;
        let state = std::mem::replace(&mut *old.state.lock(), FileState::empty());
        let base = if state.base_len > 0 { self.open_base(from)?.map(|(file, _)| file) } else { None };
        let moved = ScratchFile { path: to.into(), base, state: Mutex::new(state) };
        let mut files = self.files.lock();
        files.insert(from.into(), None);
        files.insert(to.into(), Some(Arc::new(moved)));
        Ok(())
    }

    fn list_now(&self, path: &str) -> Result<Vec<String>, IoError> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let mut names = BTreeSet::new();
        match std::fs::read_dir(self.root.join(path)) {
            Ok(entries) => {
                names.extend(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(IoError::from_std(IoOp::Open, path, &error)),
        }
        let directory_exists = !names.is_empty();
        for (path, file) in &*self.files.lock() {
            let Some(name) = path.strip_prefix(&prefix).filter(|name| !name.contains('/')) else { continue };
            match file {
                Some(_) => names.insert(name.to_owned()),
                None => names.remove(name),
            };
        }
        if names.is_empty() && !directory_exists {
            return Err(IoError::new(IoOp::Open, path, IoErrorKind::NotFound));
        }
        Ok(names.into_iter().collect())
    }
}

impl Disk for ScratchDisk {
    fn open<'a>(
        &'a self,
        path: &'a str,
        options: OpenOptions,
    ) -> BoxFuture<'a, Result<Arc<dyn File>, IoError>> {
        Box::pin(async move { self.open_now(path, options).map(|file| file as Arc<dyn File>) })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async move {
            self.open_now(path, OpenOptions::existing())?;
            self.files.lock().insert(path.into(), None);
            Ok(())
        })
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async move { self.rename_now(from, to) })
    }

    fn list<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<String>, IoError>> {
        Box::pin(async move { self.list_now(path) })
    }

    fn create_dir<'a>(&'a self, _path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async { Ok(()) })
    }

    fn sync_dir<'a>(&'a self, _path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async { Ok(()) })
    }
}

impl FileState {
    fn empty() -> Self {
        Self { len: 0, base_len: 0, blocks: BTreeMap::new() }
    }
}

impl ScratchFile {
    /// Fills a part of a block.
    fn read_part(&self, state: &FileState, offset: u64, part: &mut [u8]) -> std::io::Result<()> {
        debug_assert!(offset % BLOCK_BYTES + part.len() as u64 <= BLOCK_BYTES, "a part lies in one block");
        let (block, inside) = (offset / BLOCK_BYTES, (offset % BLOCK_BYTES) as usize);
        match state.blocks.get(&block) {
            Some(Some(bytes)) => part.copy_from_slice(&bytes[inside..inside + part.len()]),
            Some(None) => part.fill(0),
            None => {
                let known = state.base_len.saturating_sub(offset).min(part.len() as u64) as usize;
                part[known..].fill(0);
                if let (Some(base), true) = (&self.base, known > 0) {
                    base.read_exact_at(&mut part[..known], offset)?;
                }
            }
        }
        Ok(())
    }

    fn read_now(&self, offset: u64, bytes: &mut [u8]) -> Result<(), IoError> {
        let state = self.state.lock();
        if offset + bytes.len() as u64 > state.len {
            return Err(IoError::new(IoOp::Read, &*self.path, IoErrorKind::EndOfFile));
        }
        for (at, part) in parts(offset, bytes.len()) {
            let read = self.read_part(&state, offset + at as u64, &mut bytes[at..at + part]);
            read.map_err(|error| IoError::from_std(IoOp::Read, &*self.path, &error))?;
        }
        Ok(())
    }

    fn write_now(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        let mut state = self.state.lock();
        for (at, part) in parts(offset, bytes.len()) {
            let (place, source) = (offset + at as u64, &bytes[at..at + part]);
            let block = place / BLOCK_BYTES;
            let mut whole = vec![0; BLOCK_BYTES as usize];
            if part < whole.len() {
                let read = self.read_part(&state, block * BLOCK_BYTES, &mut whole);
                read.map_err(|error| IoError::from_std(IoOp::Write, &*self.path, &error))?;
            }
            let inside = (place % BLOCK_BYTES) as usize;
            whole[inside..inside + part].copy_from_slice(source);
            let is_zero = whole.iter().all(|byte| *byte == 0);
            state.blocks.insert(block, (!is_zero).then(|| whole.into_boxed_slice()));
        }
        state.len = state.len.max(offset + bytes.len() as u64);
        Ok(())
    }
}

/// The pieces of a range that lie in one block each: where in the range, and how long.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let room = (BLOCK_BYTES - (offset + at as u64) % BLOCK_BYTES) as usize;
        let part = room.min(length - at);
        let piece = (at, part);
        at += part;
        (part > 0).then_some(piece)
    })
}

impl File for ScratchFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn read_at(&self, offset: u64, mut buffer: IoBuf) -> Completion {
        let (completer, completion) = completion();
        let result = self.read_now(offset, buffer.as_mut_slice());
        completer.complete(buffer, result);
        completion
    }

    fn write_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        let (completer, completion) = completion();
        let result = self.write_now(offset, buffer.as_slice());
        completer.complete(buffer, result);
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
        Box::pin(async { Ok(self.state.lock().len) })
    }

    fn set_len(&self, len: u64) -> BoxFuture<'_, Result<(), IoError>> {
        Box::pin(async move {
            let mut state = self.state.lock();
            if len < state.len {
                state.base_len = state.base_len.min(len);
                state.blocks.split_off(&len.div_ceil(BLOCK_BYTES));
                if let Some(Some(last)) = state.blocks.get_mut(&(len / BLOCK_BYTES)) {
                    last[(len % BLOCK_BYTES) as usize..].fill(0);
                }
            }
            state.len = len;
            Ok(())
        })
    }

    fn allocate(&self, len: u64) -> BoxFuture<'_, Result<(), IoError>> {
        Box::pin(async move {
            let mut state = self.state.lock();
            state.len = state.len.max(len);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::block_on;

    async fn read(file: &Arc<dyn File>, offset: u64, length: usize) -> Option<Vec<u8>> {
        let (buffer, result) = file.read_at(offset, IoBuf::zeroed(length)).await;
        result.is_ok().then(|| buffer.as_slice().to_vec())
    }

    #[test]
    fn changes_are_seen_and_the_directory_stays_as_it_was() {
        let root = std::env::temp_dir().join(format!("evenkeel-scratch-{}", std::process::id()));
        std::fs::create_dir_all(root.join("in")).expect("a directory");
        std::fs::write(root.join("in/one"), vec![7; 6000]).expect("a file");
        let disk = ScratchDisk::new(&root);
        block_on(async {
            let one = disk.open("in/one", OpenOptions::existing()).await.expect("it exists");
            one.write_at(4000, IoBuf::copy_of(&[1; 200])).await.1.expect("into memory");
            let bytes = read(&one, 3999, 202).await.expect("inside");
            assert_eq!((bytes[0], bytes[1], bytes[200], bytes[201]), (7, 1, 1, 7));
            assert_eq!(read(&one, 5999, 2).await, None, "beyond the end");
            one.set_len(5000).await.expect("a cut");
            one.set_len(9000).await.expect("grown again");
            assert_eq!(read(&one, 4999, 2).await, Some(vec![7, 0]));
            disk.rename("in/one", "in/two").await.expect("renamed");
            assert_eq!(disk.list("in").await.expect("listed"), ["two"]);
            let two = disk.open("in/two", OpenOptions::existing()).await.expect("it exists");
            assert_eq!(read(&two, 4998, 3).await, Some(vec![7, 7, 0]));
            disk.open("in/new", OpenOptions::create_new()).await.expect("made");
            disk.remove("in/two").await.expect("removed");
            assert_eq!(disk.list("in").await.expect("listed"), ["new"]);
            assert!(disk.open("in/one", OpenOptions::existing()).await.is_err());
            assert!(disk.list("nowhere").await.is_err());
        });
        assert_eq!(std::fs::read(root.join("in/one")).expect("still there"), vec![7; 6000]);
        assert_eq!(std::fs::read_dir(root.join("in")).expect("listed").count(), 1);
        std::fs::remove_dir_all(root).expect("removable");
    }
}
