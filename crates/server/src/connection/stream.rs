//! The client's stream: TCP or the socket file, in the clear or inside TLS.
//!
//! Invariants: reads go through one scratch buffer per worker, so a waiting connection holds no read buffer; bytes leave in
//! the order in which they were given, whichever way each goes.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use env::real::uring::Outbox;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::transport::{Detached, Transport};

/// More than one read of a socket brings as a rule, and few enough to stay in the cache.
const SCRATCH_BYTES: usize = 64 * 1024;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH_BYTES]);
}

/// A transport whose first bytes have been read already.
pub(super) struct Prefixed {
    prefix: Vec<u8>,
    /// `None` on the way from one worker to another.
    transport: Option<Transport>,
}

impl Prefixed {
    fn transport(&self) -> io::Result<&Transport> {
        self.transport.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl AsyncRead for Prefixed {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.prefix.is_empty() {
            return this.transport()?.poll_read(context, buffer);
        }
        let count = buffer.remaining().min(this.prefix.len());
        buffer.put_slice(&this.prefix[..count]);
        this.prefix.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Prefixed {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.transport()?.poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.transport()?.shut_down())
    }
}

/// Bytes as the protocol sees them, counted.
pub(super) struct Stream {
    channel: Channel,
    /// Of a plain channel, once something was posted.
    posted: Option<Posted>,
    /// How much of the message that is being written has left. It goes on there, also when its writing was put off.
    written: usize,
    /// A message was given up half-way.
    is_broken: bool,
    received: u64,
    sent: u64,
}

/// What leaves by the worker's ring.
struct Posted {
    outbox: Outbox,
    transport: Rc<Transport>,
    /// What the last message has left behind, and how much of that has been written.
    rest: Vec<u8>,
    written: usize,
}

impl Posted {
    fn new(transport: &Rc<Transport>) -> Posted {
        let outbox = Outbox::new(transport.clone());
        Posted { outbox, transport: transport.clone(), rest: Vec::new(), written: 0 }
    }

    fn has_left(&self) -> bool {
        self.outbox.is_idle() && self.rest.is_empty()
    }

    /// Ready when everything has left.
    fn poll_left(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.rest.is_empty() {
            self.rest = ready!(self.outbox.poll_end(context));
        }
        while self.written < self.rest.len() {
            match ready!(self.transport.poll_write(context, &self.rest[self.written..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
        (self.rest, self.written) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }
}

enum Channel {
    Plain(Rc<Transport>),
    Tls(Box<TlsStream<Prefixed>>),
    /// A TLS handshake failed; there is nothing left to talk to.
    Gone,
}

/// A stream on its way from one worker to another.
pub(super) struct DetachedStream {
    transport: Detached,
    /// Without its transport.
    tls: Option<Box<TlsStream<Prefixed>>>,
    received: u64,
    sent: u64,
}

impl DetachedStream {
    /// Call it on the worker where it is to be used.
    pub(super) fn attach(self) -> io::Result<Stream> {
        let transport = self.transport.attach()?;
        let channel = match self.tls {
            None => Channel::Plain(Rc::new(transport)),
            Some(mut stream) => {
                stream.get_mut().0.transport = Some(transport);
                Channel::Tls(stream)
            }
        };
        Ok(Stream { received: self.received, sent: self.sent, ..Stream::of(channel) })
    }
}

impl Stream {
    pub(super) fn new(transport: Transport) -> Stream {
        Stream::of(Channel::Plain(Rc::new(transport)))
    }

    fn of(channel: Channel) -> Stream {
        Stream { channel, posted: None, written: 0, is_broken: false, received: 0, sent: 0 }
    }

    /// Leaves this worker. Nothing may be unsent.
    pub(super) fn detach(self) -> io::Result<DetachedStream> {
        // Its handle of the transport goes first.
        drop(self.posted);
        let gone = || io::Error::from(io::ErrorKind::NotConnected);
        let (transport, tls) = match self.channel {
            Channel::Plain(transport) => (Rc::try_unwrap(transport).ok(), None),
            Channel::Tls(mut stream) => (stream.get_mut().0.transport.take(), Some(stream)),
            Channel::Gone => (None, None),
        };
        let transport = transport.ok_or_else(gone)?.detach()?;
        Ok(DetachedStream { transport, tls, received: self.received, sent: self.sent })
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
                Channel::Plain(transport) => ready!(transport.poll_read(context, &mut buffer))?,
                Channel::Tls(stream) => ready!(Pin::new(stream).poll_read(context, &mut buffer))?,
                Channel::Gone => return Poll::Ready(Ok(0)),
            }
            self.received += buffer.filled().len() as u64;
            consume(buffer.filled());
            Poll::Ready(Ok(buffer.filled().len()))
        })
    }

    /// Lets a short message leave with those of the worker's other clients; false when it has to be written. `poll_unsent`
    /// tells if something of it is left.
    pub(super) fn post(&mut self, bytes: &[u8]) -> bool {
        let Channel::Plain(transport) = &self.channel else { return false };
        let posted = self.posted.get_or_insert_with(|| Posted::new(transport));
        let is_posted =
            self.written == 0 && !self.is_broken && posted.has_left() && posted.outbox.post(bytes);
        if is_posted {
            self.sent += bytes.len() as u64;
        }
        is_posted
    }

    /// Nothing can be sent any more: what follows half a message would be read as its other half.
    pub(super) fn give_up(&mut self) {
        self.is_broken = true;
    }

    /// Whether a posted message may not have left whole; `poll_write_all`, also of nothing, sees to that.
    pub(super) fn has_unsent(&self) -> bool {
        self.posted.as_ref().is_some_and(|posted| !posted.has_left())
    }

    /// Ready when a posted message is found not to have left whole.
    pub(super) fn poll_unsent(&self, context: &mut Context<'_>) -> Poll<()> {
        self.posted.as_ref().map_or(Poll::Pending, |posted| posted.outbox.poll_rest(context))
    }

    /// Writes a message; ready when all of it has left (or was buffered by the kernel). Until then it may grow, and whoever
    /// calls this again goes on with it.
    pub(super) fn poll_write_all(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<()>> {
        if self.is_broken {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if let Some(posted) = &mut self.posted {
            ready!(posted.poll_left(context))?;
        }
        while self.written < bytes.len() {
            let rest = &bytes[self.written..];
            let count = match &mut self.channel {
                Channel::Plain(transport) => ready!(transport.poll_write(context, rest))?,
                Channel::Tls(stream) => ready!(Pin::new(stream).poll_write(context, rest))?,
                Channel::Gone => 0,
            };
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
            self.sent += count as u64;
        }
        // Only TLS keeps bytes of its own.
        if let Channel::Tls(stream) = &mut self.channel {
            ready!(Pin::new(stream).poll_flush(context))?;
        }
        self.written = 0;
        Poll::Ready(Ok(()))
    }

    /// Ready when the client has closed. To be asked while nothing is read.
    pub(super) fn poll_closed(&self, context: &mut Context<'_>) -> Poll<()> {
        match &self.channel {
            Channel::Plain(transport) => transport.poll_closed(context),
            Channel::Tls(stream) => match stream.get_ref().0.transport() {
                Ok(transport) => transport.poll_closed(context),
                Err(_) => Poll::Ready(()),
            },
            Channel::Gone => Poll::Ready(()),
        }
    }

    pub(super) fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.channel {
            Channel::Plain(transport) => Poll::Ready(transport.shut_down()),
            Channel::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            Channel::Gone => Poll::Ready(Ok(())),
        }
    }

    /// Puts TLS around a plain stream, whose next bytes are `prefix`.
    pub(super) async fn start_tls(&mut self, acceptor: &TlsAcceptor, prefix: Vec<u8>) -> io::Result<()> {
        match std::mem::replace(&mut self.channel, Channel::Gone) {
            Channel::Plain(transport) => {
                // Nothing is posted before the login is over, so nobody else has a handle.
                let transport = Some(Rc::try_unwrap(transport).map_err(|_| io::ErrorKind::InvalidInput)?);
                self.channel = Channel::Tls(Box::new(acceptor.accept(Prefixed { prefix, transport }).await?));
                Ok(())
            }
            Channel::Tls(_) | Channel::Gone => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn tls_connection(&self) -> Option<&rustls::ServerConnection> {
        match &self.channel {
            Channel::Tls(stream) => Some(stream.get_ref().1),
            _ => None,
        }
    }

    /// Of a client that showed one; it has been verified.
    pub(super) fn client_certificate(&self) -> Option<&[u8]> {
        let chain = self.tls_connection()?.peer_certificates()?;
        chain.first().map(|certificate| certificate.as_ref())
    }

    /// Protocol version and cipher, inside TLS.
    pub(super) fn tls_parameters(&self) -> Option<(String, String)> {
        let connection = self.tls_connection()?;
        let version = match connection.protocol_version()? {
            rustls::ProtocolVersion::TLSv1_2 => "TLSv1.2".to_owned(),
            rustls::ProtocolVersion::TLSv1_3 => "TLSv1.3".to_owned(),
            other => format!("{other:?}"),
        };
        let suite = format!("{:?}", connection.negotiated_cipher_suite()?.suite());
        Some((version, openssl_name(&suite)))
    }
}

/// How OpenSSL, and so MySQL, calls a suite: `TLS_AES_256_GCM_SHA384` in TLS 1.3, `ECDHE-RSA-AES128-GCM-SHA256` before.
fn openssl_name(suite: &str) -> String {
    if let Some(rest) = suite.strip_prefix("TLS13_") {
        return format!("TLS_{rest}");
    }
    let name = suite.trim_start_matches("TLS_").replace("_WITH_", "-").replace("AES_", "AES");
    name.replace("POLY1305_SHA256", "POLY1305").replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::openssl_name;

    #[test]
    fn suites_have_openssls_names() {
        for (ours, theirs) in [
            ("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            ("TLS13_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"),
            ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"),
            ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
            ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ] {
            assert_eq!(openssl_name(ours), theirs);
        }
    }
}
