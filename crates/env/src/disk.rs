//! The disk as the engine sees it: files by relative path inside one root directory.
//!
//! Rules that every implementation keeps: short reads and writes are continued inside; a read beyond the end
//! is `EndOfFile`; operations start when called; nothing but what `File::write_through_at` has written is durable before
//! `File::sync` (content and length) and `Disk::sync_dir` (creation, rename, removal) have returned Ok. Space that `allocate` has reserved is written in full
//! and synced with `sync_all` before a `sync` can make anything in it durable.

use crate::{BoxFuture, Completion, IoBuf, IoError, SyncCompletion};
use std::sync::Arc;

/// Offsets and lengths on files opened with `direct` are multiples of this (O_DIRECT on any device).
pub const DIRECT_ALIGNMENT: u64 = 4096;

/// How to open a file. Files are always opened for reading and writing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Create the file when it is absent.
    pub create: bool,
    /// Fail with `AlreadyExists` when it is present; needs `create`.
    pub exclusive: bool,
    /// Bypass the kernel's page cache where the file system allows it.
    pub direct: bool,
    /// Open for reading alone; only regular files can be (`Os(EISDIR)` for others).
    pub read_only: bool,
    /// A file that is created may be read by the group of its owner.
    pub group_reads: bool,
}

impl OpenOptions {
    pub const fn existing() -> Self {
        Self { create: false, exclusive: false, direct: false, read_only: false, group_reads: false }
    }

    pub const fn create() -> Self {
        Self { create: true, ..Self::existing() }
    }

    pub const fn create_new() -> Self {
        Self { exclusive: true, ..Self::create() }
    }

    pub const fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    pub const fn group_reads(self) -> Self {
        Self { group_reads: true, ..self }
    }

    pub const fn direct(self) -> Self {
        Self { direct: true, ..self }
    }
}

/// A root directory. Paths are relative, `/`-separated and must not contain `..`.
pub trait Disk: Send + Sync {
    fn open<'a>(
        &'a self,
        path: &'a str,
        options: OpenOptions,
    ) -> BoxFuture<'a, Result<Arc<dyn File>, IoError>>;
    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>>;
    /// Replaces `to` when it exists, atomically.
    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> BoxFuture<'a, Result<(), IoError>>;
    /// The names (not paths) in a directory, sorted. `""` is the root.
    fn list<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<String>, IoError>>;
    /// Creates a directory; Ok when it exists already.
    fn create_dir<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>>;
    /// Makes creations, renames and removals directly inside the directory durable. `""` is the root.
    fn sync_dir<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>>;
    /// The path of what is there, with links followed and `..` taken away; only here may a path have them.
    fn canonical<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<String, IoError>> {
        Box::pin(async move { Ok(path.to_owned()) })
    }
}

/// An open file. Two operations in flight must not overlap if one of them writes.
#[expect(clippy::len_without_is_empty, reason = "nobody asks a file whether it is empty")]
pub trait File: Send + Sync {
    /// The path it was opened by.
    fn path(&self) -> &str;
    /// Fills the whole buffer from `offset`.
    fn read_at(&self, offset: u64, buffer: IoBuf) -> Completion;
    /// Writes the whole buffer at `offset`, extending the file when needed.
    fn write_at(&self, offset: u64, buffer: IoBuf) -> Completion;
    /// The same inside the file's length, and durable at its end (RWF_DSYNC): on a device that knows FUA without a flush of its whole
    /// cache. It says nothing of other writes, and as little of space that was reserved and never filled as `sync` does.
    fn write_through_at(&self, offset: u64, buffer: IoBuf) -> Completion;
    /// fdatasync: makes every write that completed before this call durable, with the length they need.
    fn sync(&self) -> SyncCompletion;
    /// fsync: the same, and everything that the file system notes about the file. Of reserved space it notes which blocks
    /// have been written, and what it holds for unwritten reads as zeros; fdatasync may leave that note in memory (ext4
    /// without a journal does).
    fn sync_all(&self) -> SyncCompletion;
    fn len(&self) -> BoxFuture<'_, Result<u64, IoError>>;
    /// Cuts or extends (with zeros, sparse) to `len` bytes.
    fn set_len(&self, len: u64) -> BoxFuture<'_, Result<(), IoError>>;
    /// Reserves disk space so that the file has at least `len` bytes; new bytes read as zeros.
    fn allocate(&self, len: u64) -> BoxFuture<'_, Result<(), IoError>>;
}

/// Asserted by every implementation for files opened with `direct`.
pub(crate) fn assert_aligned(path: &str, offset: u64, buffer: &IoBuf) {
    let aligned = offset.is_multiple_of(DIRECT_ALIGNMENT)
        && (buffer.len() as u64).is_multiple_of(DIRECT_ALIGNMENT)
        && (buffer.start() as usize).is_multiple_of(512);
    assert!(aligned, "direct I/O on '{path}' must be aligned: offset {offset}, length {}", buffer.len());
}
