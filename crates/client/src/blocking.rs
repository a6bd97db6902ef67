//! A connection that has its thread to itself: its calls wait in the kernel, and no runtime polls for them.
//!
//! Invariant: whoever holds the `Cutter` can end a call that waits, from another thread. Called by `bench`.

use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;

use crate::connection::Connection;
use crate::stream::Socket;
use crate::{Error, Result};

/// Ends what a blocking connection waits for.
#[derive(Debug)]
pub struct Cutter(TcpStream);

impl Cutter {
    /// The call that waits fails, and so does every later one.
    pub fn cut(&self) {
        // It may be closed already.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl Connection {
    /// From now on each call holds up its thread until the server has answered: a statement is one write and one
    /// read, without a wake-up in between. `None` if the connection is encrypted: it stays as it was.
    pub fn block(&mut self) -> Result<Option<Cutter>> {
        let fd: OwnedFd = match std::mem::replace(&mut self.stream.socket, Socket::Gone) {
            Socket::Tcp(socket) => socket.into_std()?.into(),
            Socket::Unix(socket) => socket.into_std()?.into(),
            other @ Socket::Tls(_) => {
                self.stream.socket = other;
                return Ok(None);
            }
            Socket::Blocking(socket) => socket.into(),
            Socket::Gone => return Err(Error::Protocol("the connection is gone")),
        };
        // Its reads and writes are those of any stream socket, also of a Unix one.
        let socket = TcpStream::from(fd);
        socket.set_nonblocking(false)?;
        let cutter = Cutter(socket.try_clone()?);
        self.stream.socket = Socket::Blocking(socket);
        Ok(Some(cutter))
    }
}
