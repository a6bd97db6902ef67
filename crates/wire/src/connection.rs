//! The state machine of one connection: from the greeting through TLS and authentication to commands.
//!
//! States and moves (who moves it):
//! 1. `Greeted`: waits for the handshake response. An SSL request moves to `AwaitingTls` (here).
//! 2. `AwaitingTls`: no bytes are accepted until `tls_established` moves to `GreetedInTls` (server).
//! 3. `GreetedInTls`: as `Greeted`, but another SSL request is an error; capabilities are read again.
//! 4. `Authenticating`: every packet is proof data until `authenticated` (server).
//! 5. `Commanding`: one command a packet; COM_CHANGE_USER moves back to `Authenticating` (server).
//! 6. `Closed`: after a fatal protocol error; nothing is decoded any more.
//!
//! Invariant: bytes that arrive before TLS is up are never interpreted as packets inside it. Clients send their
//! first TLS message together with the request for it, so such bytes go into the TLS handshake and nowhere else.

use std::ops::Range;

use crate::capability::Capabilities;
use crate::command::{Command, is_silent};
use crate::error::ProtocolError;
use crate::handshake::{FIXED_PART_LENGTH, Greeting, HandshakeResponse, requested_capabilities};
use crate::packet::{PRE_AUTH_PACKET_MAX, PacketReader, PacketWriter};
use crate::salt::Salt;

/// What the greeting tells every client of this server.
#[derive(Clone, Debug)]
pub struct ConnectionConfig {
    pub version: String,
    pub connection_id: u32,
    pub offers_tls: bool,
    /// Low byte of the server's default collation id.
    pub collation: u8,
    pub plugin: &'static str,
    pub max_allowed_packet: usize,
}

/// What the server has to act on next.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// Start the TLS handshake now, with `take_tls_bytes` before what the network brings, then call
    /// `tls_established`.
    TlsRequested,
    /// The client introduced itself; decide, then call `authenticated`, or reply with an error and close.
    Introduced(HandshakeResponse<'a>),
    /// The client's next packet of the authentication exchange.
    AuthenticationData(&'a [u8]),
    Command(Command<'a>),
    /// The packet was refused here and the refusal is in the writer; ask for the next event.
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Greeted,
    AwaitingTls,
    GreetedInTls,
    Authenticating,
    Commanding,
    Closed,
}

/// One connection, seen from the server.
#[derive(Debug)]
pub struct Connection {
    reader: PacketReader,
    state: State,
    /// What was offered until the client answered, then what both have.
    capabilities: Capabilities,
    offered: Capabilities,
    max_allowed_packet: usize,
}

impl Connection {
    /// Opens a connection and writes its greeting.
    pub fn new(config: &ConnectionConfig, salt: &Salt, writer: &mut PacketWriter) -> Self {
        let mut offered = Capabilities::SERVER;
        if config.offers_tls {
            offered = offered | Capabilities::SSL;
        }
        let greeting = Greeting {
            version: &config.version,
            connection_id: config.connection_id,
            salt,
            capabilities: offered,
            collation: config.collation,
            plugin: config.plugin,
        };
        writer.set_sequence(0);
        writer.packet(|out| greeting.encode(out));
        Self {
            reader: PacketReader::default(),
            state: State::Greeted,
            capabilities: Capabilities::default(),
            offered,
            max_allowed_packet: config.max_allowed_packet,
        }
    }

    /// What both sides can do; empty until the client has introduced itself.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// COM_SET_OPTION changes this one capability of a live connection.
    pub fn set_multi_statements(&mut self, on: bool) {
        self.capabilities = if on {
            self.capabilities | Capabilities::MULTI_STATEMENTS
        } else {
            self.capabilities.without(Capabilities::MULTI_STATEMENTS)
        };
    }

    pub fn set_max_allowed_packet(&mut self, bytes: usize) {
        self.max_allowed_packet = bytes;
    }

    /// Bytes from the network, cut in any way.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.reader.feed(bytes);
    }

    /// Whether bytes of an unfinished (or not yet asked for) packet are waiting.
    pub fn has_pending_bytes(&self) -> bool {
        self.reader.pending() > 0
    }

    /// What arrived behind the request for TLS: the beginning of the TLS handshake, or an attack that fails there.
    pub fn take_tls_bytes(&mut self) -> Vec<u8> {
        assert_eq!(self.state, State::AwaitingTls, "only a TLS handshake takes raw bytes");
        self.reader.take_pending()
    }

    /// The TLS handshake that `TlsRequested` asked for is done; later bytes come from inside it.
    pub fn tls_established(&mut self) {
        assert_eq!(self.state, State::AwaitingTls, "TLS starts only after the client asked for it");
        assert_eq!(self.reader.pending(), 0, "bytes from before TLS must not be read as if from inside");
        self.state = State::GreetedInTls;
    }

    /// The client proved who it is: commands follow.
    pub fn authenticated(&mut self) {
        assert_eq!(self.state, State::Authenticating, "only a running exchange can succeed");
        self.state = State::Commanding;
    }

    /// COM_CHANGE_USER starts a new exchange.
    pub fn restart_authentication(&mut self) {
        assert_eq!(self.state, State::Commanding, "only a command can restart the exchange");
        self.state = State::Authenticating;
    }

    /// Gives the memory of an idle connection back.
    pub fn release_memory(&mut self) {
        self.reader.release_memory();
    }

    /// The next event in the bytes fed so far. A fatal error is already in the writer: send it, then close.
    pub fn next_event(&mut self, writer: &mut PacketWriter) -> Result<Option<Event<'_>>, ProtocolError> {
        let packet = match self.next_packet(writer) {
            Ok(Some(packet)) => packet,
            Ok(None) => return Ok(None),
            Err(error) => return Err(self.fail(error, writer)),
        };
        match self.state {
            State::Greeted | State::GreetedInTls => self.introduce(packet, writer).map(Some),
            State::Authenticating => Ok(Some(Event::AuthenticationData(self.reader.payload(packet)))),
            State::Commanding => Ok(Some(self.command(packet, writer))),
            State::AwaitingTls | State::Closed => Ok(None),
        }
    }

    fn next_packet(&mut self, writer: &mut PacketWriter) -> Result<Option<Range<usize>>, ProtocolError> {
        let (sequence, limit) = match self.state {
            State::Greeted | State::GreetedInTls | State::Authenticating => {
                (writer.sequence(), PRE_AUTH_PACKET_MAX)
            }
            State::Commanding => (0, self.max_allowed_packet),
            State::AwaitingTls | State::Closed => return Ok(None),
        };
        let Some((packet, next_sequence)) = self.reader.next_packet(sequence, limit)? else {
            return Ok(None);
        };
        writer.set_sequence(next_sequence);
        Ok(Some(packet))
    }

    fn introduce(
        &mut self,
        packet: Range<usize>,
        writer: &mut PacketWriter,
    ) -> Result<Event<'_>, ProtocolError> {
        let requested = match requested_capabilities(self.reader.payload(packet.clone())) {
            Ok(requested) => requested,
            Err(error) => return Err(self.fail(error, writer)),
        };
        self.capabilities = requested & self.offered;
        if packet.len() == FIXED_PART_LENGTH && requested.has(Capabilities::SSL) {
            if self.state == State::GreetedInTls || !self.offered.has(Capabilities::SSL) {
                return Err(self.fail(ProtocolError::BadHandshake, writer));
            }
            self.state = State::AwaitingTls;
            return Ok(Event::TlsRequested);
        }
        if requested.has(Capabilities::SSL) && self.state == State::Greeted {
            // A client that says TLS and goes on in the clear is broken or tampered with.
            return Err(self.fail(ProtocolError::BadHandshake, writer));
        }
        if let Err(error) = HandshakeResponse::decode(self.reader.payload(packet.clone()), self.capabilities)
        {
            return Err(self.fail(error, writer));
        }
        self.state = State::Authenticating;
        HandshakeResponse::decode(self.reader.payload(packet), self.capabilities).map(Event::Introduced)
    }

    fn command(&self, packet: Range<usize>, writer: &mut PacketWriter) -> Event<'_> {
        let payload = self.reader.payload(packet);
        match Command::decode(payload, self.capabilities) {
            Ok(command) => Event::Command(command),
            Err(error) => {
                if !is_silent(payload) {
                    writer.protocol_error(self.capabilities, error);
                }
                Event::Refused
            }
        }
    }

    fn fail(&mut self, error: ProtocolError, writer: &mut PacketWriter) -> ProtocolError {
        self.state = State::Closed;
        if error == ProtocolError::OutOfOrder {
            // The reply continues the numbers of the packet that was wrong; clients look for 1 after a command.
            writer.set_sequence(writer.sequence().max(1));
        }
        writer.protocol_error(self.capabilities, error);
        error
    }
}
