//! The events of one connection, each checked and put into the relay.
//!
//! Invariant: the relay gets whole events without checksums, in the order of the source; those that this server has made itself
//! and those of ignored servers never get there.
use std::sync::Arc;
use std::time::Duration;

use binlog::{
    CHECKSUM_BYTES, Checksum, Event, EventHeader, FormatDescription, Gtid, event_type, split_event,
};
use client::{Connection, Error, take_confirmation_mark};
use instance::replication::{AppliedTransaction, Channel, Part};
use instance::{Instance, unix_now_us};

use crate::confirmations::Confirmations;
use crate::greeting::Source;

/// Why a stream has ended.
pub(crate) enum StreamEnd {
    /// The receiver is to stop.
    Stopped,
    /// The applier has begun anew.
    Abandoned,
    /// The source has closed it, or is not heard any more.
    Lost(Error),
}

/// What events of a connection need.
pub(crate) struct Stream {
    pub instance: Arc<Instance>,
    pub channel: Arc<Channel>,
    pub checksum: Checksum,
    pub own_id: u32,
    pub ignored: Vec<u64>,
    /// `None` for a source that is not told what is applied.
    confirmations: Option<Confirmations>,
    /// Of the transaction that comes.
    skips: bool,
    gtid: Option<Gtid>,
    high: u64,
}

impl Stream {
    pub(crate) fn new(
        (instance, channel): (Arc<Instance>, Arc<Channel>),
        source: &Source,
        own_id: u32,
    ) -> Stream {
        let ignored = channel.settings.lock().ignore_server_ids.clone();
        let confirmations = source.is_told.then(Confirmations::default);
        let checksum = source.checksum;
        Stream {
            instance,
            channel,
            checksum,
            own_id,
            ignored,
            confirmations,
            skips: false,
            gtid: None,
            high: 0,
        }
    }

    /// Receives until something ends it; `silence` is how long the source may say nothing.
    pub(crate) async fn run(&mut self, connection: &mut Connection, silence: Duration) -> StreamEnd {
        let mut event = Vec::new();
        loop {
            match self.receive(connection, &mut event, silence).await {
                Ok(true) => {}
                Ok(false) => return StreamEnd::Lost(ended()),
                Err(end) => return end,
            }
            let asks = match self.confirmations.as_ref().map(|_| take_confirmation_mark(&mut event)) {
                None => false,
                Some(Ok(asks)) => asks,
                Some(Err(error)) => return StreamEnd::Lost(error),
            };
            let is_relayed = match self.take(&mut event) {
                Ok(is_relayed) => is_relayed,
                Err(error) => return StreamEnd::Lost(Error::Usage(error.to_string())),
            };
            if asks && let Some(confirmations) = &mut self.confirmations {
                let status = self.channel.status.lock();
                confirmations.ask(self.gtid, (&status.read_file, status.read_position), is_relayed);
            }
            if is_relayed && let Some(end) = self.relay(&event).await {
                return end;
            }
        }
    }

    /// The next event; false when there will be none. Meanwhile the source is told what is applied, if it wants to know.
    async fn receive(
        &mut self,
        connection: &mut Connection,
        event: &mut Vec<u8>,
        silence: Duration,
    ) -> Result<bool, StreamEnd> {
        let (instance, channel) = (self.instance.clone(), self.channel.clone());
        loop {
            let news = channel.relay.news();
            let applied = instance.replication.progress.register();
            if let Some(end) = self.asked_to_end() {
                return Err(end);
            }
            self.confirm(connection).await.map_err(StreamEnd::Lost)?;
            let waits_for_applier = self.confirmations.as_ref().is_some_and(|asked| !asked.is_empty());
            tokio::select! {
                biased;
                received = tokio::time::timeout(silence, connection.next_event(event)) => {
                    return received.unwrap_or_else(|_| Err(silent())).map_err(StreamEnd::Lost);
                }
                () = news => {}
                () = applied, if waits_for_applier => {}
            }
        }
    }

    /// Tells the source what has been applied, once that is durable.
    async fn confirm(&mut self, connection: &mut Connection) -> Result<(), Error> {
        let Some(confirmations) = &mut self.confirmations else { return Ok(()) };
        let Some((file, position)) = confirmations.take_applied(&self.channel) else { return Ok(()) };
        let settled = self.instance.engine().settle_commits().await;
        settled.map_err(|error| Error::Usage(error.to_string()))?;
        connection.confirm_events(&file, position).await
    }

    fn asked_to_end(&self) -> Option<StreamEnd> {
        if !self.channel.is_wanted(Part::Receiver) {
            return Some(StreamEnd::Stopped);
        }
        self.channel.relay.is_abandoned().then_some(StreamEnd::Abandoned)
    }

    /// Waits while the relay is full.
    async fn relay(&self, event: &[u8]) -> Option<StreamEnd> {
        loop {
            let news = self.channel.relay.news();
            if self.channel.relay.offer(event) {
                return None;
            }
            if let Some(end) = self.asked_to_end() {
                return Some(end);
            }
            self.channel.status.lock().receiver_doing =
                "Waiting for the replica SQL thread to free relay log space";
            news.await;
        }
    }

    /// Checks an event and takes its checksum off; whether the applier gets it.
    fn take(&mut self, bytes: &mut Vec<u8>) -> Result<bool, binlog::BinlogError> {
        let raw = split_event(bytes, self.checksum)?;
        let header = raw.header;
        let mut status = self.channel.status.lock();
        match header.event_type {
            event_type::FORMAT_DESCRIPTION => {
                let description = FormatDescription::decode(raw.body)?;
                self.checksum = description.checksum;
                return Ok(false);
            }
            event_type::HEARTBEAT | event_type::HEARTBEAT_V2 => {
                status.heartbeats += 1;
                status.heartbeat_us = unix_now_us();
                return Ok(false);
            }
            event_type::PREVIOUS_GTIDS => return Ok(false),
            event_type::ROTATE => {
                if let Event::Rotate { position, file } = Event::decode(&raw)? {
                    (status.read_file, status.read_position) = (file, position);
                    self.high = position & !u64::from(u32::MAX);
                }
                drop(status);
                return self.strip(bytes);
            }
            event_type::GTID | event_type::ANONYMOUS_GTID | event_type::MARIADB_GTID => {
                self.skips =
                    header.server_id == self.own_id || self.ignored.contains(&u64::from(header.server_id));
                if let Event::Gtid(head) = Event::decode(&raw)? {
                    self.gtid = head.gtid;
                    head.gtid.iter().for_each(|gtid| status.retrieved.add(*gtid));
                    let now = unix_now_us();
                    status.last_queued = AppliedTransaction {
                        gtid: head.gtid,
                        original_commit_us: head.original_commit_us,
                        immediate_commit_us: head.immediate_commit_us,
                        begun_us: now,
                        ended_us: now,
                    };
                }
            }
            _ => {}
        }
        if header.next_position > 0 {
            let moved = self.high | u64::from(header.next_position);
            status.read_position = if moved < status.read_position { moved + (1 << 32) } else { moved };
            self.high = status.read_position & !u64::from(u32::MAX);
        }
        drop(status);
        if self.skips { Ok(false) } else { self.strip(bytes) }
    }

    fn strip(&self, bytes: &mut Vec<u8>) -> Result<bool, binlog::BinlogError> {
        if self.checksum == Checksum::Crc32 {
            let length = bytes.len().saturating_sub(CHECKSUM_BYTES);
            bytes.truncate(length);
            let place = LENGTH_PLACE;
            let field = bytes.get_mut(place..place + 4).ok_or(binlog::BinlogError::Truncated)?;
            field.copy_from_slice(&(length as u32).to_le_bytes());
            debug_assert_eq!(EventHeader::read(bytes).map(|header| header.length as usize), Some(length));
        }
        Ok(true)
    }
}

/// Where a header has the length of its event.
const LENGTH_PLACE: usize = 9;

fn silent() -> Error {
    Error::Io(std::io::Error::from(std::io::ErrorKind::TimedOut))
}

fn ended() -> Error {
    Error::Io(std::io::Error::from(std::io::ErrorKind::UnexpectedEof))
}
