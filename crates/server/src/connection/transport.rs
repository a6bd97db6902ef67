//! Bytes as the kernel carries them: a TCP connection or the socket file.
//!
//! Invariant: whoever shares a transport only sends by it; one task alone reads. Only the worker that it is attached to uses
//! it. `stream` puts the protocol's bytes on it.

use std::future::Future;
use std::io::{self, ErrorKind, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::pin;
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::{Interest, ReadBuf, Ready};
use tokio::net::{TcpStream, UnixStream};

pub(crate) enum Transport {
    Tcp(TcpStream),
    Socket(UnixStream),
}

/// A transport on its way from one worker to another: no runtime watches it.
pub(crate) enum Detached {
    Tcp(std::net::TcpStream),
    Socket(std::os::unix::net::UnixStream),
}

impl Detached {
    /// Call it on the worker where it is to be used.
    pub(crate) fn attach(self) -> io::Result<Transport> {
        Ok(match self {
            Self::Tcp(stream) => Transport::Tcp(TcpStream::from_std(stream)?),
            Self::Socket(stream) => Transport::Socket(UnixStream::from_std(stream)?),
        })
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Socket(stream) => stream.as_fd(),
        }
    }
}

impl Transport {
    /// Leaves this worker.
    pub(crate) fn detach(self) -> io::Result<Detached> {
        Ok(match self {
            Self::Tcp(stream) => Detached::Tcp(stream.into_std()?),
            Self::Socket(stream) => Detached::Socket(stream.into_std()?),
        })
    }

    /// Sends what fits at once and forgets the rest.
    pub(crate) fn try_send(&self, bytes: &[u8]) {
        let _ = self.try_write(bytes);
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            Self::Socket(stream) => stream.try_write(bytes),
        }
    }

    fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(context),
            Self::Socket(stream) => stream.poll_read_ready(context),
        }
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_write_ready(context),
            Self::Socket(stream) => stream.poll_write_ready(context),
        }
    }

    /// Reads once, as `AsyncRead` does.
    pub(super) fn poll_read(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_read_ready(context))?;
            match self.try_read(buffer.initialize_unfilled()) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }

    fn try_read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut count = 0;
        let read = || {
            count = (&*SockRef::from(self)).read(bytes)?;
            // The socket is empty, and the runtime shall know: else the next look would cost a system call.
            let is_empty = count > 0 && count < bytes.len();
            if is_empty { Err(ErrorKind::WouldBlock.into()) } else { Ok(()) }
        };
        let result = match self {
            Self::Tcp(stream) => stream.try_io(Interest::READABLE, read),
            Self::Socket(stream) => stream.try_io(Interest::READABLE, read),
        };
        if count > 0 { Ok(count) } else { result.map(|()| 0) }
    }

    /// Writes once, as `AsyncWrite` does.
    pub(super) fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.poll_write_ready(context))?;
            match self.try_write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    /// The client reads an end behind what was sent.
    pub(super) fn shut_down(&self) -> io::Result<()> {
        SockRef::from(self).shutdown(Shutdown::Write)
    }

    /// Ready when the other side has closed, or nothing can be read for another reason. Bytes that have not been read
    /// hide it.
    pub(super) fn poll_closed(&self, context: &mut Context<'_>) -> Poll<()> {
        if ready!(self.poll_read_ready(context)).is_err() {
            return Poll::Ready(());
        }
        // It is ready, so this tells at once for what.
        let kinds: Poll<io::Result<Ready>> = match self {
            Self::Tcp(stream) => pin!(stream.ready(Interest::READABLE)).poll(context),
            Self::Socket(stream) => pin!(stream.ready(Interest::READABLE)).poll(context),
        };
        match kinds {
            Poll::Ready(Ok(kinds)) if !kinds.is_read_closed() => Poll::Pending,
            Poll::Ready(_) => Poll::Ready(()),
            Poll::Pending => Poll::Pending,
        }
    }
}
