//! What can go wrong with a disk operation, as one typed error that names the operation and the file.
//!
//! Invariant: callers decide on `kind` (`is_no_space`, `is_end_of_file`) and, for syncs, `op` (`is_failed_sync`), never on text.

use std::fmt;

/// The operation that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IoOp {
    Open,
    Read,
    Write,
    Sync,
    Length,
    SetLength,
    Allocate,
    Remove,
    Rename,
    List,
    CreateDir,
    SyncDir,
}

/// Why it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IoErrorKind {
    /// The file system, the quota or the simulated capacity is exhausted.
    NoSpace,
    /// A read reached the end of the file before the buffer was full.
    EndOfFile,
    NotFound,
    AlreadyExists,
    /// The path is absolute, empty or leaves the root directory.
    InvalidPath,
    /// The process has no file descriptor left.
    TooManyFiles,
    /// Any other error number of the operating system.
    Os(i32),
}

/// A failed disk operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoError {
    pub op: IoOp,
    pub path: String,
    pub kind: IoErrorKind,
}

impl IoError {
    pub fn new(op: IoOp, path: impl Into<String>, kind: IoErrorKind) -> Self {
        Self { op, path: path.into(), kind }
    }

    /// Classifies an `errno` value.
    pub fn from_errno(op: IoOp, path: impl Into<String>, errno: i32) -> Self {
        let kind = match errno {
            libc::ENOSPC | libc::EDQUOT => IoErrorKind::NoSpace,
            libc::ENOENT => IoErrorKind::NotFound,
            libc::EEXIST => IoErrorKind::AlreadyExists,
            libc::EMFILE | libc::ENFILE => IoErrorKind::TooManyFiles,
            other => IoErrorKind::Os(other),
        };
        Self::new(op, path, kind)
    }

    /// Classifies an error of the standard library.
    pub fn from_std(op: IoOp, path: impl Into<String>, error: &std::io::Error) -> Self {
        Self::from_errno(op, path, error.raw_os_error().unwrap_or(libc::EIO))
    }

    /// The operating system's number of it.
    pub fn errno(&self) -> i32 {
        match self.kind {
            IoErrorKind::NoSpace => libc::ENOSPC,
            IoErrorKind::EndOfFile => libc::EIO,
            IoErrorKind::NotFound => libc::ENOENT,
            IoErrorKind::AlreadyExists => libc::EEXIST,
            IoErrorKind::InvalidPath => libc::EINVAL,
            IoErrorKind::TooManyFiles => libc::EMFILE,
            IoErrorKind::Os(errno) => errno,
        }
    }

    pub fn is_no_space(&self) -> bool {
        self.kind == IoErrorKind::NoSpace
    }

    /// This process, or the machine, has as many files open as it may: it goes by when others are closed.
    pub fn is_too_many_files(&self) -> bool {
        self.kind == IoErrorKind::TooManyFiles
    }

    /// After it later syncs of the file say nothing, whatever they answer: it must not be written any more.
    pub fn is_failed_sync(&self) -> bool {
        self.op == IoOp::Sync
    }

    pub fn is_not_found(&self) -> bool {
        self.kind == IoErrorKind::NotFound
    }

    pub fn is_end_of_file(&self) -> bool {
        self.kind == IoErrorKind::EndOfFile
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = match self.op {
            IoOp::Open => "open",
            IoOp::Read => "read",
            IoOp::Write => "write",
            IoOp::Sync => "sync",
            IoOp::Length => "measure",
            IoOp::SetLength => "resize",
            IoOp::Allocate => "allocate",
            IoOp::Remove => "remove",
            IoOp::Rename => "rename",
            IoOp::List => "list",
            IoOp::CreateDir => "create directory",
            IoOp::SyncDir => "sync directory",
        };
        write!(f, "cannot {op} '{}': ", self.path)?;
        match self.kind {
            IoErrorKind::NoSpace => write!(f, "no space left on device"),
            IoErrorKind::EndOfFile => write!(f, "unexpected end of file"),
            IoErrorKind::NotFound => write!(f, "no such file or directory"),
            IoErrorKind::AlreadyExists => write!(f, "it exists already"),
            IoErrorKind::InvalidPath => write!(f, "the path leaves the data directory"),
            IoErrorKind::TooManyFiles => write!(f, "too many open files"),
            IoErrorKind::Os(errno) => write!(f, "{}", std::io::Error::from_raw_os_error(errno)),
        }
    }
}

impl std::error::Error for IoError {}
