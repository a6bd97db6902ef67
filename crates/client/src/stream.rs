//! The bytes of a connection: TCP, a Unix socket, or TLS over TCP, polled or blocking; packets out and packets in.
//!
//! Invariant: `input[start..end]` is what was read and not yet used; a packet's range stays valid until the next
//! read. Called by `connection`.

use std::io::{Read, Write};
use std::ops::Range;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;

use crate::{Error, Result};

/// A packet's body is at most this long; a longer message goes in several.
pub const BODY_MAX: usize = 0xff_ffff;
const FIRST_BYTES: usize = 2048;
const READ_BYTES_MAX: usize = 64 * 1024;

pub enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// TCP or Unix, whose calls hold up the thread (`Connection::block`).
    Blocking(std::net::TcpStream),
    /// Between plain and encrypted.
    Gone,
}

/// A socket with its buffers.
pub struct Stream {
    pub socket: Socket,
    pub out: Vec<u8>,
    input: Vec<u8>,
    start: usize,
    end: usize,
    /// What has come of a message of several packets.
    message: Vec<u8>,
    /// The number that the next packet of this exchange carries.
    pub sequence: u8,
}

impl Stream {
    pub fn new(socket: Socket) -> Self {
        Self {
            socket,
            out: Vec::with_capacity(512),
            input: Vec::new(),
            start: 0,
            end: 0,
            message: Vec::new(),
            sequence: 0,
        }
    }

    /// Begins a packet in `out`; `end_packet` with the answer closes it.
    pub fn begin_packet(&mut self) -> usize {
        let at = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        at
    }

    /// Fills in the header of the packet begun at `at`, and divides what is too long for one.
    pub fn end_packet(&mut self, at: usize) {
        let mut header = at;
        let mut length = self.out.len() - at - 4;
        while length >= BODY_MAX {
            self.put_header(header, BODY_MAX);
            header += 4 + BODY_MAX;
            length -= BODY_MAX;
            let tail = self.out.split_off(header);
            self.out.extend_from_slice(&[0; 4]);
            self.out.extend_from_slice(&tail);
        }
        self.put_header(header, length);
    }

    fn put_header(&mut self, at: usize, length: usize) {
        // Three bytes of a length that was checked.
        let bytes = (length as u32).to_le_bytes();
        self.out[at..at + 3].copy_from_slice(&bytes[..3]);
        self.out[at + 3] = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Sends everything in `out`.
    pub async fn flush(&mut self) -> Result<()> {
        match &mut self.socket {
            Socket::Tcp(socket) => socket.write_all(&self.out).await?,
            Socket::Unix(socket) => socket.write_all(&self.out).await?,
            Socket::Tls(socket) => {
                socket.write_all(&self.out).await?;
                socket.flush().await?;
            }
            Socket::Blocking(socket) => socket.write_all(&self.out)?,
            Socket::Gone => return Err(Error::Protocol("the connection is gone")),
        }
        self.out.clear();
        Ok(())
    }

    /// The next packet's place in `packet(range)`.
    #[inline]
    pub async fn next_packet(&mut self) -> Result<Range<usize>> {
        let part = self.next_part().await?;
        match part.len() {
            BODY_MAX => Err(Error::Protocol("an answer has a row of 16 MB or more")),
            _ => Ok(part),
        }
    }

    /// The next message, of as many packets as it takes, in place of what `message` has. May be dropped: the next call goes on.
    pub async fn next_long(&mut self, message: &mut Vec<u8>) -> Result<()> {
        loop {
            let part = self.next_part().await?;
            let is_last = part.len() < BODY_MAX;
            self.message.extend_from_slice(&self.input[part]);
            if is_last {
                message.clear();
                std::mem::swap(message, &mut self.message);
                return Ok(());
            }
        }
    }

    #[inline]
    async fn next_part(&mut self) -> Result<Range<usize>> {
        loop {
            if self.end - self.start >= 4 {
                let header = &self.input[self.start..self.start + 4];
                let length =
                    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
                if self.end - self.start >= 4 + length {
                    self.sequence = header[3].wrapping_add(1);
                    let begin = self.start + 4;
                    self.start = begin + length;
                    return Ok(begin..begin + length);
                }
            }
            self.read_more().await?;
        }
    }

    pub fn packet(&self, range: Range<usize>) -> &[u8] {
        &self.input[range]
    }

    async fn read_more(&mut self) -> Result<()> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
        if self.end == self.input.len() && self.start > 0 {
            self.input.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.input.len() {
            // Small first: ten thousand idle connections should not hold a large buffer each.
            self.input.resize((self.input.len() * 2).max(FIRST_BYTES), 0);
        }
        let room = &mut self.input[self.end..];
        let length = room.len();
        let count = match &mut self.socket {
            Socket::Tcp(socket) => socket.read(room).await?,
            Socket::Unix(socket) => socket.read(room).await?,
            Socket::Tls(socket) => socket.read(room).await?,
            Socket::Blocking(socket) => read_through_signals(socket, room)?,
            Socket::Gone => 0,
        };
        if count == 0 {
            return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
        }
        self.end += count;
        if count == length && self.input.len() < READ_BYTES_MAX {
            // The server had more to say than fits: the next answer will be like this one.
            self.input.resize(self.input.len() * 4, 0);
        }
        Ok(())
    }
}

/// A signal that another thread deals with may wake this one.
fn read_through_signals(socket: &mut std::net::TcpStream, room: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match socket.read(room) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
