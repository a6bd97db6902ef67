//! A read, write or sync on the ring: what it needs until it is complete, and what a result means for it.
//!
//! Invariant: an operation that the kernel did in part goes on behind that part, until everything is transferred, the file
//! ends or an error comes. Used by the reactor.

use crate::real::open_file::OpenFile;
use crate::{Completer, IoBuf, IoError, IoErrorKind, IoOp};
use io_uring::{opcode, squeue, types};
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// One transfer of the kernel is at most about 2 GiB; longer operations continue as after a short one.
const TRANSFER_BYTES_MAX: usize = 1 << 30;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Kind {
    Read,
    Write,
    /// Durable at its end.
    WriteThrough,
    Sync,
}

/// Everything that an operation needs until it is complete.
pub(in super::super) struct Operation {
    pub(in super::super) kind: Kind,
    pub(in super::super) file: Arc<OpenFile>,
    pub(in super::super) buffer: IoBuf,
    pub(in super::super) offset: u64,
    pub(in super::super) completer: Completer,
}

/// An operation under way.
pub(super) struct Transfer {
    pub(super) operation: Operation,
    /// Bytes already transferred.
    done: usize,
}

impl Transfer {
    pub(super) fn new(operation: Operation) -> Self {
        Self { operation, done: 0 }
    }

    /// Valid for as long as the operation is neither moved out nor dropped.
    pub(super) fn entry(&self) -> squeue::Entry {
        let operation = &self.operation;
        let descriptor = types::Fd(operation.file.file.as_raw_fd());
        let length = (operation.buffer.len() - self.done).min(TRANSFER_BYTES_MAX) as u32;
        let offset = operation.offset + self.done as u64;
        // The pointer stays inside the buffer because `done <= len`.
        let start = operation.buffer.start().wrapping_add(self.done);
        match operation.kind {
            Kind::Read => opcode::Read::new(descriptor, start, length).offset(offset).build(),
            Kind::Write => opcode::Write::new(descriptor, start, length).offset(offset).build(),
            Kind::WriteThrough => {
                opcode::Write::new(descriptor, start, length).offset(offset).rw_flags(libc::RWF_DSYNC).build()
            }
            Kind::Sync => opcode::Fsync::new(descriptor).flags(types::FsyncFlags::DATASYNC).build(),
        }
    }

    /// Takes a kernel result into account; None when the operation must be submitted again.
    pub(super) fn progress(&mut self, result: i32) -> Option<Result<(), IoError>> {
        let op = match self.operation.kind {
            Kind::Read => IoOp::Read,
            Kind::Write | Kind::WriteThrough => IoOp::Write,
            Kind::Sync => IoOp::Sync,
        };
        let path = &self.operation.file.path;
        let Ok(count) = usize::try_from(result) else {
            return match -result {
                libc::EINTR | libc::EAGAIN => None,
                errno => Some(Err(IoError::from_errno(op, path, errno))),
            };
        };
        if op == IoOp::Sync {
            return Some(Ok(()));
        }
        self.done += count;
        assert!(self.done <= self.operation.buffer.len(), "the kernel transferred too much");
        if self.done == self.operation.buffer.len() {
            return Some(Ok(()));
        }
        if count > 0 && !(op == IoOp::Read && self.operation.file.ends_at(self.done)) {
            return None;
        }
        let kind = if op == IoOp::Read { IoErrorKind::EndOfFile } else { IoErrorKind::Os(libc::EIO) };
        Some(Err(IoError::new(op, path, kind)))
    }
}
