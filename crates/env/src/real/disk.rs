//! Files of the real file system under one root directory.
//!
//! Invariant: a path never leaves the root. Hot operations go to the thread's ring or to the pool; cold ones
//! always to the pool.

use super::pool::Pool;
use super::uring;
use crate::completion::{completion, sync_completion};
use crate::real::open_file::OpenFile;
use crate::{
    BoxFuture, Completion, Disk, File, IoBuf, IoError, IoErrorKind, IoOp, OpenOptions, SyncCompletion,
};
use parking_lot::Mutex;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A root directory of the real file system.
pub struct RealDisk {
    root: PathBuf,
    pool: Arc<Pool>,
}

struct RealFile {
    open: Arc<OpenFile>,
    pool: Arc<Pool>,
}

impl RealDisk {
    pub fn open(root: &Path) -> Result<Self, IoError> {
        fs::create_dir_all(root)
            .map_err(|error| IoError::from_std(IoOp::CreateDir, root.to_string_lossy(), &error))?;
        Ok(Self { root: root.to_path_buf(), pool: Arc::new(Pool::new()) })
    }

    fn resolve(&self, op: IoOp, path: &str) -> Result<PathBuf, IoError> {
        let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        if !inside || path.contains('\0') {
            return Err(IoError::new(op, path, IoErrorKind::InvalidPath));
        }
        Ok(self.root.join(path))
    }

    /// Runs a blocking operation on the pool.
    fn cold<'a, T: Send + 'static>(
        &'a self,
        op: IoOp,
        path: &'a str,
        work: impl FnOnce(PathBuf) -> io::Result<T> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, IoError>> {
        let resolved = self.resolve(op, path);
        Box::pin(async move {
            let resolved = resolved?;
            let result = on_pool(&self.pool, move || work(resolved)).await;
            result.map_err(|error| IoError::from_std(op, path, &error))
        })
    }
}

/// Runs `work` on the pool and waits for its value.
async fn on_pool<T: Send + 'static>(pool: &Pool, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (completer, done) = sync_completion();
    let slot = Arc::new(Mutex::new(None));
    let filled = slot.clone();
    pool.run(move || {
        *filled.lock() = Some(work());
        completer.complete(IoBuf::empty(), Ok(()));
    });
    done.await.expect("the completer above reports no error");
    let value = slot.lock().take();
    value.expect("the value is stored before the completion")
}

impl Disk for RealDisk {
    fn open<'a>(
        &'a self,
        path: &'a str,
        options: OpenOptions,
    ) -> BoxFuture<'a, Result<Arc<dyn File>, IoError>> {
        Box::pin(async move {
            let (file, direct) = self.cold(IoOp::Open, path, move |path| open_file(&path, options)).await?;
            let open = Arc::new(OpenFile { file, path: path.to_string(), direct });
            let file: Arc<dyn File> = Arc::new(RealFile { open, pool: self.pool.clone() });
            Ok(file)
        })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        self.cold(IoOp::Remove, path, fs::remove_file)
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        match self.resolve(IoOp::Rename, to) {
            Ok(to) => self.cold(IoOp::Rename, from, move |from| fs::rename(from, to)),
            Err(error) => Box::pin(async move { Err(error) }),
        }
    }

    fn list<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<String>, IoError>> {
        self.cold(IoOp::List, path, |path| {
            let mut names = Vec::new();
            for entry in fs::read_dir(path)? {
                names.push(entry?.file_name().to_string_lossy().into_owned());
            }
            names.sort();
            Ok(names)
        })
    }

    fn create_dir<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        self.cold(IoOp::CreateDir, path, fs::create_dir_all)
    }

    fn sync_dir<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        self.cold(IoOp::SyncDir, path, |path| fs::File::open(path)?.sync_all())
    }

    fn canonical<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<String, IoError>> {
        let (root, asked) = (self.root.clone(), self.root.join(path));
        Box::pin(async move {
            let found = on_pool(&self.pool, move || {
                let (root, found) = (fs::canonicalize(root)?, fs::canonicalize(asked)?);
                let outside = || io::Error::from_raw_os_error(libc::EXDEV);
                let inside = found.strip_prefix(root).map_err(|_| outside())?;
                inside.to_str().map(str::to_owned).ok_or_else(outside)
            });
            found.await.map_err(|error| IoError::from_std(IoOp::Open, path, &error))
        })
    }
}

/// Opens for reading and writing; falls back to buffered I/O where the file system refuses O_DIRECT (tmpfs).
fn open_file(path: &Path, options: OpenOptions) -> io::Result<(fs::File, bool)> {
    if options.read_only {
        return open_to_read(path);
    }
    let mut builder = fs::OpenOptions::new();
    builder.read(true).write(true).mode(if options.group_reads { 0o640 } else { 0o600 });
    builder.create(options.create && !options.exclusive).create_new(options.exclusive);
    if options.direct {
        builder.custom_flags(libc::O_DIRECT);
        match builder.open(path) {
            Ok(file) => return Ok((file, true)),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                // A refused O_DIRECT may have created the file already.
                builder.custom_flags(0).create_new(false).create(options.create);
            }
            Err(error) => return Err(error),
        }
    }
    Ok((builder.open(path)?, false))
}

/// Does not wait for the other end of a pipe: that is no regular file.
fn open_to_read(path: &Path) -> io::Result<(fs::File, bool)> {
    let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok((file, false)),
        false => Err(io::Error::from_raw_os_error(libc::EISDIR)),
    }
}

impl File for RealFile {
    fn path(&self) -> &str {
        &self.open.path
    }

    fn read_at(&self, offset: u64, mut buffer: IoBuf) -> Completion {
        assert!(buffer.is_writable(), "a read needs a buffer that it may fill");
        self.open.check(offset, &buffer);
        let (completer, completion) = completion();
        let operation =
            uring::Operation { kind: uring::Kind::Read, file: self.open.clone(), buffer, offset, completer };
        if let Some(refused) = uring::submit_here(operation) {
            let (completer, open) = (refused.completer, refused.file);
            buffer = refused.buffer;
            self.pool.run(move || {
                let result = open.fill(buffer.as_mut_slice(), offset);
                completer.complete(buffer, result.map_err(|error| open.error(IoOp::Read, &error)));
            });
        }
        completion
    }

    fn write_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        self.write_as(uring::Kind::Write, offset, buffer, move |open, bytes| {
            open.file.write_all_at(bytes, offset)
        })
    }

    fn write_through_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        self.write_as(uring::Kind::WriteThrough, offset, buffer, move |open, bytes| {
            open.write_through(bytes, offset)
        })
    }

    fn sync(&self) -> SyncCompletion {
        let (completer, completion) = sync_completion();
        let buffer = IoBuf::empty();
        let operation = uring::Operation {
            kind: uring::Kind::Sync,
            file: self.open.clone(),
            buffer,
            offset: 0,
            completer,
        };
        if let Some(refused) = uring::submit_here(operation) {
            let (completer, open) = (refused.completer, refused.file);
            self.pool.run(move || {
                let result = open.file.sync_data();
                completer.complete(IoBuf::empty(), result.map_err(|error| open.error(IoOp::Sync, &error)));
            });
        }
        completion
    }

    fn sync_all(&self) -> SyncCompletion {
        let (completer, completion) = sync_completion();
        let open = self.open.clone();
        self.pool.run(move || {
            let result = open.file.sync_all();
            completer.complete(IoBuf::empty(), result.map_err(|error| open.error(IoOp::Sync, &error)));
        });
        completion
    }

    fn len(&self) -> BoxFuture<'_, Result<u64, IoError>> {
        self.cold(IoOp::Length, |file| Ok(file.metadata()?.len()))
    }

    fn set_len(&self, len: u64) -> BoxFuture<'_, Result<(), IoError>> {
        self.cold(IoOp::SetLength, move |file| file.set_len(len))
    }

    fn allocate(&self, len: u64) -> BoxFuture<'_, Result<(), IoError>> {
        self.cold(IoOp::Allocate, move |file| allocate(file, len))
    }
}

impl RealFile {
    /// `write` does it where there is no ring.
    fn write_as(
        &self,
        kind: uring::Kind,
        offset: u64,
        buffer: IoBuf,
        write: impl FnOnce(&OpenFile, &[u8]) -> io::Result<()> + Send + 'static,
    ) -> Completion {
        self.open.check(offset, &buffer);
        let (completer, completion) = completion();
        let operation = uring::Operation { kind, file: self.open.clone(), buffer, offset, completer };
        if let Some(refused) = uring::submit_here(operation) {
            let (completer, open, buffer) = (refused.completer, refused.file, refused.buffer);
            self.pool.run(move || {
                let result = write(&open, buffer.as_slice());
                completer.complete(buffer, result.map_err(|error| open.error(IoOp::Write, &error)));
            });
        }
        completion
    }

    fn cold<T: Send + 'static>(
        &self,
        op: IoOp,
        work: impl FnOnce(&fs::File) -> io::Result<T> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, IoError>> {
        let open = self.open.clone();
        Box::pin(on_pool(&self.pool, move || work(&open.file).map_err(|error| open.error(op, &error))))
    }
}

fn allocate(file: &fs::File, len: u64) -> io::Result<()> {
    if len <= file.metadata()?.len() {
        return Ok(());
    }
    let Ok(signed) = libc::off_t::try_from(len) else {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    };
    loop {
        // SAFETY: the descriptor is open for as long as `file` is borrowed; the call touches no memory of ours.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, signed) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            // Some file systems cannot reserve; a sparse extension is the best they offer.
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => return file.set_len(len),
            _ => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
