//! The client's stream: TCP or the socket file, in the clear or inside TLS.
//!
//! Invariant: reads go through one scratch buffer per worker, so a waiting connection holds no read buffer.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// More than one read of a socket brings as a rule, and few enough to stay in the cache.
const SCRATCH_BYTES: usize = 64 * 1024;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH_BYTES]);
}

/// Bytes as the kernel carries them.
pub(crate) enum Transport {
    Tcp(TcpStream),
    Socket(UnixStream),
}

impl Transport {
    /// Sends what fits at once and forgets the rest.
    pub(crate) fn try_send(&self, bytes: &[u8]) {
        let _ = match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            Self::Socket(stream) => stream.try_write(bytes),
        };
    }

    /// Ready when the other side has closed, or nothing can be read for another reason. Bytes that have not been read
    /// hide it.
    fn poll_closed(&self, context: &mut Context<'_>) -> Poll<()> {
        let readable = match self {
            Self::Tcp(stream) => stream.poll_read_ready(context),
            Self::Socket(stream) => stream.poll_read_ready(context),
        };
        if ready!(readable).is_err() {
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

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Socket(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Socket(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Socket(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Socket(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

/// A transport whose first bytes have been read already.
pub(super) struct Prefixed {
    prefix: Vec<u8>,
    transport: Transport,
}

impl AsyncRead for Prefixed {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.prefix.is_empty() {
            return Pin::new(&mut this.transport).poll_read(context, buffer);
        }
        let count = buffer.remaining().min(this.prefix.len());
        buffer.put_slice(&this.prefix[..count]);
        this.prefix.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Prefixed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.transport).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_shutdown(context)
    }
}

/// Bytes as the protocol sees them, counted.
pub(super) struct Stream {
    channel: Channel,
    received: u64,
    sent: u64,
}

enum Channel {
    Plain(Transport),
    Tls(Box<TlsStream<Prefixed>>),
    /// A TLS handshake failed; there is nothing left to talk to.
    Gone,
}

impl Stream {
    pub(super) fn new(transport: Transport) -> Stream {
        Stream { channel: Channel::Plain(transport), received: 0, sent: 0 }
    }

    /// Bytes received and sent since the last call.
    pub(super) fn take_traffic(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.received), std::mem::take(&mut self.sent))
    }

    pub(super) fn is_tls(&self) -> bool {
        matches!(self.channel, Channel::Tls(_))
    }

    /// Reads once into the worker's scratch buffer and hands the bytes to `consume`; 0 at the end of the stream.
    pub(super) fn poll_read_with(
        &mut self,
        context: &mut Context<'_>,
        consume: impl FnOnce(&[u8]),
    ) -> Poll<io::Result<usize>> {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut buffer = ReadBuf::new(scratch);
            match &mut self.channel {
                Channel::Plain(stream) => ready!(Pin::new(stream).poll_read(context, &mut buffer))?,
                Channel::Tls(stream) => ready!(Pin::new(stream).poll_read(context, &mut buffer))?,
                Channel::Gone => return Poll::Ready(Ok(0)),
            }
            self.received += buffer.filled().len() as u64;
            consume(buffer.filled());
            Poll::Ready(Ok(buffer.filled().len()))
        })
    }

    /// Writes from `written` on; ready when everything has left (or was buffered by the kernel).
    pub(super) fn poll_write_all(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
        written: &mut usize,
    ) -> Poll<io::Result<()>> {
        while *written < bytes.len() {
            let rest = &bytes[*written..];
            let count = match &mut self.channel {
                Channel::Plain(stream) => ready!(Pin::new(stream).poll_write(context, rest))?,
                Channel::Tls(stream) => ready!(Pin::new(stream).poll_write(context, rest))?,
                Channel::Gone => 0,
            };
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *written += count;
            self.sent += count as u64;
        }
        match &mut self.channel {
            // Only TLS keeps bytes of its own.
            Channel::Tls(stream) => Pin::new(stream).poll_flush(context),
            Channel::Plain(_) | Channel::Gone => Poll::Ready(Ok(())),
        }
    }

    /// Ready when the client has closed. To be asked while nothing is read.
    pub(super) fn poll_closed(&self, context: &mut Context<'_>) -> Poll<()> {
        match &self.channel {
            Channel::Plain(transport) => transport.poll_closed(context),
            Channel::Tls(stream) => stream.get_ref().0.transport.poll_closed(context),
            Channel::Gone => Poll::Ready(()),
        }
    }

    pub(super) fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.channel {
            Channel::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Channel::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            Channel::Gone => Poll::Ready(Ok(())),
        }
    }

    /// Puts TLS around a plain stream, whose next bytes are `prefix`.
    pub(super) async fn start_tls(&mut self, acceptor: &TlsAcceptor, prefix: Vec<u8>) -> io::Result<()> {
        match std::mem::replace(&mut self.channel, Channel::Gone) {
            Channel::Plain(transport) => {
                self.channel = Channel::Tls(Box::new(acceptor.accept(Prefixed { prefix, transport }).await?));
                Ok(())
            }
            Channel::Tls(_) | Channel::Gone => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Protocol version and cipher, inside TLS.
    pub(super) fn tls_parameters(&self) -> Option<(String, String)> {
        let Channel::Tls(stream) = &self.channel else { return None };
        let (_, connection) = stream.get_ref();
        let version = match connection.protocol_version()? {
            rustls::ProtocolVersion::TLSv1_2 => "TLSv1.2".to_owned(),
            rustls::ProtocolVersion::TLSv1_3 => "TLSv1.3".to_owned(),
            other => format!("{other:?}"),
        };
        let suite = format!("{:?}", connection.negotiated_cipher_suite()?.suite());
        Some((version, suite.replace("TLS13_", "TLS_")))
    }
}
