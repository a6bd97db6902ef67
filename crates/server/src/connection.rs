//! One client: its bytes, its login, its commands and what they are answered.
//!
//! Reading order: `client` moves bytes between the network and the protocol's state machine, `login` finds out
//! who it is, `commands` is the loop of a session, `reply` encodes results.

mod client;
mod commands;
mod definition_cache;
mod idle;
mod login;
mod parameters;
mod reply;
mod stream;
mod transport;
mod value_encoding;

use std::net::SocketAddr;
use std::sync::Arc;

use auth::ClientHost;
use wire::{Capabilities, PacketWriter};

use crate::shared::{Place, Shared};
use client::Client;
pub(crate) use transport::Transport;

/// A client from its greeting to its end.
pub(crate) async fn serve(
    transport: Transport,
    host: ClientHost,
    peer: Option<SocketAddr>,
    shared: Arc<Shared>,
    place: Place,
) {
    let mut client = Client::new(transport, host, peer, shared);
    // Boxed so that the memory of the login is not kept for the life of the session.
    let session = Box::pin(login::log_in(&mut client, &place)).await;
    match session {
        Some(session) => commands::serve_commands(&mut client, session).await,
        None => client.shared.server.gauges().count_aborted_connect(),
    }
    client.close().await;
    drop(place);
}

/// Tells a client that there is no place for it. What does not fit the socket's buffer is not worth a wait.
pub(crate) fn refuse_full(transport: Transport, shared: &Shared) {
    shared.server.gauges().count_refused();
    let mut writer = PacketWriter::new();
    login::write_error(&mut writer, Capabilities::default(), &login::too_many_connections());
    transport.try_send(writer.pending());
}
