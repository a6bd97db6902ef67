//! Accepting clients on TCP and on the socket file, and handing each to the worker with the fewest.
//!
//! Invariant: a client beyond all places is told so (error 1040) before anything is kept for it. Called by
//! `start`; the accept loops run on the first worker.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpSocket, UnixListener};

use crate::connection::{Stay, Transport, refuse_full, serve};
use crate::repeated::Repeated;
use crate::shared::Shared;
use crate::worker::WorkerPool;

const SOCKET_MODE: u32 = 0o660;
/// `EMFILE` and `ENFILE`.
const OUT_OF_FILES: i32 = 24;
const SYSTEM_OUT_OF_FILES: i32 = 23;
/// After an error of `accept` itself, such as too many open files: waiting lets some close.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// The addresses of `bind-address`: a list separated by commas; `*` is every IPv4 address.
pub(crate) fn resolve(bind_address: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let mut addresses = Vec::new();
    for name in bind_address.split(',').map(str::trim) {
        let name = if name == "*" { "0.0.0.0" } else { name };
        let found = (name, port).to_socket_addrs();
        let found = found.map_err(|error| format!("bind-address '{name}': {error}"))?;
        addresses.extend(found.filter(|address| !addresses.contains(address)).collect::<Vec<_>>());
    }
    Ok(addresses)
}

pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Must be called on a worker.
pub(crate) fn bind_tcp(address: SocketAddr, backlog: u32) -> Result<TcpListener, String> {
    let bind = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(backlog)
    };
    bind().map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => format!("cannot listen on {address}: another program does (choose --port)"),
        _ => format!("cannot listen on {address}: {error}"),
    })
}

/// The socket file; removed when dropped.
pub(crate) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Must be called on a worker. A file that nobody listens on any more is replaced.
pub(crate) fn bind_socket(path: &Path) -> Result<(UnixListener, SocketFile), String> {
    let failed = |error: std::io::Error| format!("cannot listen on {}: {error}", path.display());
    if path.exists() {
        match std::os::unix::net::UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path).map_err(failed)?;
            }
            _ => return Err(format!("cannot listen on {}: it is in use", path.display())),
        }
    }
    let listener = StdUnixListener::bind(path).map_err(failed)?;
    let file = SocketFile(path.to_owned());
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(SOCKET_MODE)).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok((UnixListener::from_std(listener).map_err(failed)?, file))
}

pub(crate) async fn accept_tcp(listener: TcpListener, shared: Arc<Shared>, pool: WorkerPool) {
    let mut errors = Repeated::default();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // A response is one write, so waiting to fill a segment could only delay it.
                let _ = stream.set_nodelay(true);
                hand_over(Transport::Tcp(stream), Some(peer), &shared, &pool);
            }
            Err(error) => retry_later(&error, &mut errors).await,
        }
    }
}

pub(crate) async fn accept_socket(listener: UnixListener, shared: Arc<Shared>, pool: WorkerPool) {
    let mut errors = Repeated::default();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => hand_over(Transport::Socket(stream), None, &shared, &pool),
            Err(error) => retry_later(&error, &mut errors).await,
        }
    }
}

async fn retry_later(error: &std::io::Error, errors: &mut Repeated) {
    // The client that gave up while it waited is its own affair.
    if error.kind() != ErrorKind::ConnectionAborted {
        if let Some(count) = errors.count(1, Instant::now()) {
            let hint = match error.raw_os_error() {
                Some(OUT_OF_FILES | SYSTEM_OUT_OF_FILES) => {
                    "; clients wait until others go: lower max_connections or raise the limit of open files (ulimit -n, LimitNOFILE=)"
                }
                _ => "",
            };
            crate::log::error(&format!("cannot accept a connection ({count} times): {error}{hint}"));
        }
        tokio::time::sleep(ACCEPT_RETRY).await;
    }
}

fn hand_over(transport: Transport, peer: Option<SocketAddr>, shared: &Arc<Shared>, pool: &WorkerPool) {
    let Some(place) = shared.take_place() else {
        return refuse_full(transport, shared);
    };
    let Ok(transport) = transport.detach() else { return };
    let worker = pool.least_loaded();
    let stay = Stay::new(place, worker);
    let shared = shared.clone();
    worker.run(move || {
        let Ok(transport) = transport.attach() else { return };
        crate::worker::spawn(serve(transport, peer, shared, stay));
    });
}
