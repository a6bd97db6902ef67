//! A file that is open, and what is done with it by blocking calls. Shared by the disk and the ring's operations.
use crate::disk::assert_aligned;
use crate::{IoBuf, IoError, IoErrorKind, IoOp};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::{fs, io};

/// An open file descriptor, kept open by every operation in flight on it.
pub struct OpenFile {
    pub(super) file: fs::File,
    pub(super) path: String,
    pub(super) direct: bool,
}

impl OpenFile {
    pub(super) fn check(&self, offset: u64, buffer: &IoBuf) {
        if self.direct {
            assert_aligned(&self.path, offset, buffer);
        }
    }

    /// A direct read that stops at an odd length met the end of the file: going on from there is EINVAL.
    pub(super) fn ends_at(&self, done: usize) -> bool {
        self.direct && !done.is_multiple_of(512)
    }

    pub(super) fn fill(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match self.file.read_at(&mut bytes[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if done < bytes.len() && self.ends_at(done) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    pub(super) fn write_through(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let rest = io::IoSlice::new(&bytes[done..]);
            let Ok(position) = libc::off_t::try_from(offset + done as u64) else {
                return Err(io::Error::from_raw_os_error(libc::EFBIG));
            };
            // SAFETY: an `IoSlice` is an iovec, and its bytes are borrowed until the call has returned; the descriptor is
            // open for as long as `self` is borrowed.
            let count = unsafe {
                libc::pwritev2(self.file.as_raw_fd(), (&raw const rest).cast(), 1, position, libc::RWF_DSYNC)
            };
            match usize::try_from(count) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn error(&self, op: IoOp, error: &io::Error) -> IoError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => IoError::new(op, &*self.path, IoErrorKind::EndOfFile),
            _ => IoError::from_std(op, &*self.path, error),
        }
    }
}
