//! The binary log of a server as a stream of events: COM_REGISTER_REPLICA, COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID.
//!
//! Invariant: after `begin_dump` nothing else is asked on the connection. Called by whoever follows a server.

use crate::connection::Connection;
use crate::greeting::server_error;
use crate::{Error, Result};

const REGISTER_REPLICA: u8 = 0x15;
const DUMP: u8 = 0x12;
const DUMP_GTID: u8 = 0x1e;
/// The position is not given by the file alone.
const THROUGH_GTID: u16 = 4;
/// Where the events of a file begin.
const FIRST_POSITION: u64 = 4;

/// Begins a confirmation, and what comes before an event that may ask for one.
const CONFIRMATION_MARK: u8 = 0xef;

/// Takes off what comes before an event to a replica that confirms: whether this one is to be confirmed.
pub fn take_confirmation_mark(event: &mut Vec<u8>) -> Result<bool> {
    match event.first_chunk::<2>() {
        Some([CONFIRMATION_MARK, asks @ 0..=1]) => {
            let asks = *asks == 1;
            event.drain(..2);
            Ok(asks)
        }
        _ => Err(Error::Protocol("an event that does not say whether it is to be confirmed")),
    }
}

/// Where a stream begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DumpFrom<'a> {
    /// A file, empty for the first one, and a position in it.
    Position { file: &'a str, position: u64 },
    /// Behind all of these: a set of identifiers as the command has it.
    Executed(&'a [u8]),
}

impl Connection {
    /// Tells the server who is going to ask for events.
    pub async fn register_replica(&mut self, server_id: u32, port: u16) -> Result<()> {
        let at = self.put_command(REGISTER_REPLICA);
        let out = &mut self.stream.out;
        out.extend_from_slice(&server_id.to_le_bytes());
        // Host, user and password are not told.
        out.extend_from_slice(&[0; 3]);
        out.extend_from_slice(&port.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        self.stream.end_packet(at);
        self.flush().await?;
        let range = self.stream.next_packet().await?;
        match self.stream.packet(range) {
            packet if packet.first() == Some(&0xff) => Err(server_error(packet)),
            _ => Ok(()),
        }
    }

    /// Asks for events.
    pub async fn begin_dump(&mut self, server_id: u32, from: &DumpFrom<'_>) -> Result<()> {
        match from {
            DumpFrom::Position { file, position } => {
                let at = self.put_command(DUMP);
                let out = &mut self.stream.out;
                let position = u32::try_from(*position)
                    .map_err(|_| Error::Usage("a position beyond 4 GB cannot be asked for".into()))?;
                out.extend_from_slice(&position.to_le_bytes());
                out.extend_from_slice(&0u16.to_le_bytes());
                out.extend_from_slice(&server_id.to_le_bytes());
                out.extend_from_slice(file.as_bytes());
                self.stream.end_packet(at);
            }
            DumpFrom::Executed(set) => {
                let at = self.put_command(DUMP_GTID);
                let out = &mut self.stream.out;
                out.extend_from_slice(&THROUGH_GTID.to_le_bytes());
                out.extend_from_slice(&server_id.to_le_bytes());
                out.extend_from_slice(&0u32.to_le_bytes());
                out.extend_from_slice(&FIRST_POSITION.to_le_bytes());
                out.extend_from_slice(&(set.len() as u32).to_le_bytes());
                out.extend_from_slice(set);
                self.stream.end_packet(at);
            }
        }
        self.flush().await
    }

    /// The next event as the server has it, with its checksum; false when the server has no more and ends the stream. May be dropped:
    /// the next call goes on. For a replica that confirms, two bytes come before the event ([`take_confirmation_mark`]).
    pub async fn next_event(&mut self, event: &mut Vec<u8>) -> Result<bool> {
        self.stream.next_long(event).await?;
        match event.first() {
            Some(0) => {
                event.remove(0);
                Ok(true)
            }
            Some(0xff) => Err(server_error(event)),
            Some(0xfe) => Ok(false),
            _ => Err(Error::Protocol("a packet that is no event")),
        }
    }

    /// Tells a source of semi-synchronous replication that everything before a place in its files is here. It may have asked for that, in the
    /// midst of its events, which go on.
    pub async fn confirm_events(&mut self, file: &str, position: u64) -> Result<()> {
        self.stream.sequence = 0;
        let at = self.stream.begin_packet();
        self.stream.out.push(CONFIRMATION_MARK);
        self.stream.out.extend_from_slice(&position.to_le_bytes());
        self.stream.out.extend_from_slice(file.as_bytes());
        self.stream.end_packet(at);
        self.flush().await
    }
}
