//! A client's connection: stream, protocol state and the response under construction.
//!
//! Invariant: `flush` sends everything in the writer in order; a connection that waits holds next to no memory,
//! because response buffers are lent by the worker for the time of a response.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use auth::ClientHost;
use instance::{ConnectionId, KillSwitch};
use wire::{Connection, ConnectionConfig, PacketWriter, Salt};

use super::stream::{DetachedStream, Stream};
use super::transport::Transport;
use crate::shared::Shared;
use crate::version::PROTOCOL_VERSION;

/// Low byte of utf8mb4_0900_ai_ci, which every new session starts from.
const GREETING_COLLATION: u8 = 255;
/// Buffers that a worker keeps for its connections' next responses, and the largest that it keeps.
const SPARE_BUFFER_COUNT: usize = 64;
const SPARE_BUFFER_BYTES_MAX: usize = 128 * 1024;
/// How long and how much of a failed client's remaining bytes is read, so that it can read its error first.
const LINGER_TIME: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 64 << 20;
/// Before a session has told its own limits, and at most after its end.
const WRITE_TIMEOUT_WITHOUT_SESSION: Duration = Duration::from_secs(10);

thread_local! {
    static SPARE_BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// `S`: its stream, which a command writes and beside it is watched for its end, between polls; on the way to another worker what
/// becomes one there.
pub(super) struct Client<S = RefCell<Stream>> {
    pub stream: S,
    pub protocol: Connection,
    pub writer: PacketWriter,
    pub shared: Arc<Shared>,
    pub host: ClientHost,
    pub peer: Option<SocketAddr>,
    pub id: ConnectionId,
    /// The salt of the greeting.
    pub salt: Salt,
    pub write_timeout: Duration,
    /// After a fatal protocol error the client may still be sending; closing at once would destroy the error.
    pub must_linger: bool,
}

impl Client {
    /// Writes the greeting, unsent.
    pub(super) fn new(transport: Transport, peer: Option<SocketAddr>, shared: Arc<Shared>) -> Self {
        let host = peer.map_or(ClientHost::Local, |peer| ClientHost::Address(peer.ip()));
        let id = shared.server.next_connection_id();
        let config = ConnectionConfig {
            version: PROTOCOL_VERSION.to_owned(),
            connection_id: id.0,
            offers_tls: shared.tls().is_some(),
            collation: GREETING_COLLATION,
            plugin: auth::Plugin::default().name(),
            // Until the session says otherwise; before the login a smaller limit holds anyway.
            max_allowed_packet: wire::PRE_AUTH_PACKET_MAX,
        };
        let salt = random_salt();
        let mut writer = PacketWriter::new();
        let protocol = Connection::new(&config, &salt, &mut writer);
        Self {
            stream: RefCell::new(Stream::new(transport)),
            protocol,
            writer,
            shared,
            host,
            peer,
            id,
            salt,
            write_timeout: WRITE_TIMEOUT_WITHOUT_SESSION,
            must_linger: false,
        }
    }

    /// Whether it may leave this worker: everything that was sent has left.
    pub(super) fn can_detach(&self) -> bool {
        self.writer.is_empty() && !self.stream.borrow().has_unsent()
    }

    /// Leaves this worker; `can_detach`.
    pub(super) fn detach(self) -> io::Result<Client<DetachedStream>> {
        self.with_stream(|stream| stream.into_inner().detach())
    }

    /// Reads once; 0 when the client has gone.
    pub(super) async fn read(&mut self) -> io::Result<usize> {
        let Self { stream, protocol, .. } = self;
        poll_fn(|context| stream.get_mut().poll_read_with(context, |bytes| protocol.feed(bytes))).await
    }

    /// Sends the response. A client that does not read for too long is given up.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        flush(&self.stream, &mut self.writer, self.write_timeout, None).await
    }

    /// The same within a session, where a KILL ends the wait for a client that does not read.
    pub(super) async fn flush_unless_killed(&mut self, kill: &KillSwitch) -> io::Result<()> {
        flush(&self.stream, &mut self.writer, self.write_timeout, Some(kill)).await
    }

    /// Lets a short response leave with those of the worker's other clients; false when it, or a rest of the one before,
    /// has to be flushed.
    pub(super) fn post(&mut self) -> bool {
        let stream = self.stream.get_mut();
        if self.writer.is_empty() {
            return !stream.has_unsent();
        }
        let is_posted = stream.post(self.writer.pending());
        if is_posted {
            self.writer.clear();
        }
        is_posted
    }

    /// Gives buffers back while the client thinks.
    pub(super) fn return_buffer(&mut self) {
        self.protocol.release_memory();
        if !self.writer.is_empty() {
            return;
        }
        let buffer = self.writer.replace_buffer(Vec::new());
        if (1..=SPARE_BUFFER_BYTES_MAX).contains(&buffer.capacity()) {
            SPARE_BUFFERS.with_borrow_mut(|spares| {
                if spares.len() < SPARE_BUFFER_COUNT {
                    spares.push(buffer);
                }
            });
        }
    }

    /// Sends what is left and ends the connection.
    pub(super) async fn close(mut self) {
        // Nobody sees this client any more who could end its wait.
        self.write_timeout = self.write_timeout.min(WRITE_TIMEOUT_WITHOUT_SESSION);
        if self.flush().await.is_err() {
            return;
        }
        let shutdown = poll_fn(|context| self.stream.get_mut().poll_shutdown(context));
        let is_shut = matches!(tokio::time::timeout(LINGER_TIME, shutdown).await, Ok(Ok(())));
        if self.must_linger && is_shut {
            let _ = tokio::time::timeout(LINGER_TIME, self.discard_input()).await;
        }
    }

    async fn discard_input(&mut self) {
        let mut discarded = 0;
        while discarded < LINGER_BYTES {
            match poll_fn(|context| self.stream.get_mut().poll_read_with(context, |_| ())).await {
                Ok(count) if count > 0 => discarded += count,
                _ => return,
            }
        }
    }
}

impl Client<DetachedStream> {
    /// Goes on with this worker.
    pub(super) fn attach(self) -> io::Result<Client> {
        self.with_stream(|stream| stream.attach().map(RefCell::new))
    }
}

impl<S> Client<S> {
    fn with_stream<T>(self, change: impl FnOnce(S) -> io::Result<T>) -> io::Result<Client<T>> {
        let Self { stream, protocol, writer, shared, host, peer, id, salt, write_timeout, must_linger } =
            self;
        let stream = change(stream)?;
        Ok(Client { stream, protocol, writer, shared, host, peer, id, salt, write_timeout, must_linger })
    }
}

/// Takes a buffer for a response that begins now from the worker. A statement that waits for a lock before its
/// response holds none.
pub(super) fn borrow_buffer(writer: &mut PacketWriter) {
    if writer.is_empty()
        && !writer.has_buffer()
        && let Some(spare) = SPARE_BUFFERS.with_borrow_mut(Vec::pop)
    {
        let _ = writer.replace_buffer(spare);
    }
}

/// A fresh challenge.
pub(super) fn random_salt() -> Salt {
    let mut bytes = [0; Salt::LENGTH];
    aws_lc_rs::rand::fill(&mut bytes).expect("the operating system gives random bytes");
    Salt::from_random(bytes)
}

/// Sends everything in the writer; as a rule one system call and no timer. Gives up when the client does not read
/// for too long, or when the connection is killed while it waits for that; after that nothing can be sent any more.
pub(super) async fn flush(
    stream: &RefCell<Stream>,
    writer: &mut PacketWriter,
    timeout: Duration,
    kill: Option<&KillSwitch>,
) -> io::Result<()> {
    if writer.is_empty() && !stream.borrow().has_unsent() {
        return Ok(());
    }
    let result = send(stream, writer.pending(), timeout, kill).await;
    match result {
        Ok(()) => writer.clear(),
        Err(_) => stream.borrow_mut().give_up(),
    }
    result
}

/// May be dropped: the next call goes on where it was.
async fn send(
    stream: &RefCell<Stream>,
    bytes: &[u8],
    timeout: Duration,
    kill: Option<&KillSwitch>,
) -> io::Result<()> {
    let write = |context: &mut Context<'_>| stream.borrow_mut().poll_write_all(context, bytes);
    if let Poll::Ready(result) = poll_fn(|context| Poll::Ready(write(context))).await {
        return result;
    }
    let rest = async {
        let rest = tokio::time::timeout(timeout, poll_fn(write)).await;
        rest.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    };
    match kill {
        None => rest.await,
        Some(kill) => tokio::select! {
            result = rest => result,
            () = kill.connection_killed() => Err(io::ErrorKind::ConnectionAborted.into()),
        },
    }
}
