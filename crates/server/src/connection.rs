//! One client: its bytes, its login, its commands and what they are answered.
//!
//! Reading order: `client` moves bytes between the network and the protocol's state machine, `login` finds out
//! who it is, `commands` is the loop of a session, `reply` encodes results.

mod client;
mod commands;
mod context;
mod definition_cache;
mod error_reply;
mod event_stream;
mod idle;
mod login;
mod parameters;
mod reply;
mod stream;
mod transport;
mod value_encoding;

use std::net::SocketAddr;
use std::sync::Arc;

use wire::{Capabilities, PacketWriter};

use crate::shared::{ClientPlace, Shared};
use crate::worker::{Burden, Worker};
use client::Client;
use commands::{Conversation, Departure};
use stream::DetachedStream;
pub(crate) use transport::Transport;
pub(crate) use value_encoding::text_row;

/// What a client takes for as long as it stays.
pub(crate) struct Stay {
    place: ClientPlace,
    _burden: Burden,
}

impl Stay {
    pub(crate) fn new(place: ClientPlace, worker: &Worker) -> Stay {
        Stay { place, _burden: worker.burden() }
    }
}

/// A client from its greeting to its end, or until it moves to another worker. `peer`: unless it came by the socket file.
pub(crate) async fn serve(transport: Transport, peer: Option<SocketAddr>, shared: Arc<Shared>, stay: Stay) {
    let mut client = Box::new(Client::new(transport, peer, shared));
    // Boxed so that the memory of the login is not kept for the life of the session.
    let session = Box::pin(login::log_in(&mut client, &stay.place)).await;
    match session {
        Some(session) => converse(client, Conversation::new(session), stay).await,
        None => {
            client.shared.server.gauges().count_aborted_connect();
            client.close().await;
        }
    }
}

/// The commands of a session, the first ones or those after a move. Client and session are boxed: a task keeps what it is given twice, and
/// once more where that came from.
async fn converse(mut client: Box<Client>, mut conversation: Conversation, stay: Stay) {
    match conversation.serve(&mut client).await {
        Departure::Over => {
            conversation.close().await;
            client.close().await;
            drop(stay);
        }
        Departure::MovesTo(worker) => match client.detach() {
            Ok(client) => go_on(&worker, client, conversation, stay),
            // The system does not let go of the socket: then it is of no more use.
            Err(_) => conversation.abort().await,
        },
    }
}

/// On another worker. One that has stopped closes what it is sent.
fn go_on(worker: &Worker, client: Client<DetachedStream>, conversation: Conversation, stay: Stay) {
    let stay = Stay::new(stay.place, worker);
    client.shared.server.gauges().count_move();
    worker.run(move || {
        crate::worker::spawn(async move {
            match client.attach() {
                Ok(client) => converse(Box::new(client), conversation, stay).await,
                Err(_) => conversation.abort().await,
            }
        });
    });
}

/// Tells a client that there is no place for it. What does not fit the socket's buffer is not worth a wait.
pub(crate) fn refuse_full(transport: Transport, shared: &Shared) {
    shared.server.gauges().count_refused();
    let mut writer = PacketWriter::new();
    crate::connection::error_reply::write_error(
        &mut writer,
        Capabilities::default(),
        &login::too_many_connections(),
    );
    transport.try_send(writer.pending());
}
