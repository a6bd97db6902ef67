//! Events for those who read the binary log: a replica over the protocol, and SHOW BINLOG EVENTS.
//!
//! Invariant: only what the writer has published is read, in the order of the files; a transaction that the reader has
//! already is left out as a whole. A stream holds one file open, and a piece of it in memory.
use crate::SourceError;
use crate::files::{previous_gtids, read, read_events};
use crate::log::{BinaryLog, LogFile, Reading};

use binlog::{
    Checksum, Event, EventHeader, FormatDescription, GtidSet, HEADER_BYTES, MAGIC, RawEvent, event_type,
    header_flag, split_event, write_event,
};
use env::File;
use std::sync::Arc;

/// How much is read at once; an event may be larger.
const READ_BYTES: u64 = 256 << 10;

/// What a reader wants.
#[derive(Clone, Debug, Default)]
pub struct StreamOptions {
    /// Begin where these transactions end, and leave them out.
    pub executed: Option<GtidSet>,
    /// Else begin in this file; the first one if empty.
    pub file: String,
    /// At this byte.
    pub position: u64,
    /// The reader knows no checksums.
    pub without_checksums: bool,
}

/// One event as its reader takes it.
#[derive(Debug)]
pub struct StreamedEvent {
    /// The whole event.
    pub bytes: Vec<u8>,
    /// Where it ends in the present file; 0 for one that is not in a file.
    pub ends_at: u64,
}

impl StreamedEvent {
    fn made_up(bytes: Vec<u8>) -> StreamedEvent {
        StreamedEvent { bytes, ends_at: 0 }
    }
}

/// See the head of this file.
pub struct EventStream {
    log: Arc<BinaryLog>,
    file: Arc<dyn File>,
    reading: Reading,
    number: u64,
    position: u64,
    checksum: Checksum,
    options: StreamOptions,
    /// What a reader is told before the first event.
    opening: Vec<StreamedEvent>,
}

impl EventStream {
    /// Begins where the reader wants it.
    pub async fn open(log: Arc<BinaryLog>, options: StreamOptions) -> Result<EventStream, SourceError> {
        let (number, position) = match &options.executed {
            Some(executed) => (first_file_for(&log, executed).await?, MAGIC.len() as u64),
            None => (named_file(&log, &options.file)?, options.position.max(MAGIC.len() as u64)),
        };
        let reading = Reading::new(log.clone(), number);
        let (file, checksum) = (log.open_file(number).await?, Checksum::Crc32);
        let opening = Vec::new();
        let mut stream = EventStream { log, file, reading, number, position, checksum, options, opening };
        if position > stream.published().map_or(0, |file| file.length) {
            return Err(SourceError::WrongPosition(position));
        }
        stream.announce().await?;
        Ok(stream)
    }

    /// The present file.
    pub fn file_name(&self) -> String {
        self.log.file_name(self.number)
    }

    /// Its number.
    pub fn file_number(&self) -> u64 {
        self.number
    }

    /// Where the next event begins.
    pub fn position(&self) -> u64 {
        self.position
    }

    fn published(&self) -> Option<LogFile> {
        self.log.published.lock().files.iter().find(|file| file.number == self.number).copied()
    }

    /// What a reader has to know of a file in whose midst it begins.
    async fn announce(&mut self) -> Result<(), SourceError> {
        let head = read(&*self.file, 0, self.published().map_or(0, |file| file.length).min(512)).await?;
        let raw = split_event(head.get(MAGIC.len()..).unwrap_or_default(), Checksum::Crc32)?;
        let description = FormatDescription::decode(raw.body)?;
        self.checksum = description.checksum;
        let rotate = Event::Rotate { position: self.position, file: self.file_name() };
        let rotate = self.made_up(&rotate);
        self.opening.push(StreamedEvent::made_up(rotate));
        if self.position > MAGIC.len() as u64 {
            let header = EventHeader { next_position: 0, ..raw.header };
            let event = self.framed(&RawEvent { header, body: raw.body });
            self.opening.push(StreamedEvent::made_up(event));
        }
        Ok(())
    }

    fn made_up(&self, event: &Event) -> Vec<u8> {
        let (mut body, mut out) = (Vec::new(), Vec::new());
        event.encode(&mut body);
        let server_id = (self.log.config.live)().server_id;
        let event_type = event.event_type();
        let header =
            EventHeader { event_type, server_id, flags: header_flag::ARTIFICIAL, ..EventHeader::default() };
        write_event(&header, &body, self.sent_checksum(), &mut out);
        out
    }

    /// A heartbeat: this is where the source is.
    pub fn heartbeat(&self) -> Vec<u8> {
        let server_id = (self.log.config.live)().server_id;
        let next_position = self.position as u32;
        let header = EventHeader {
            event_type: event_type::HEARTBEAT,
            server_id,
            next_position,
            ..EventHeader::default()
        };
        let mut out = Vec::new();
        write_event(&header, self.file_name().as_bytes(), self.sent_checksum(), &mut out);
        out
    }

    fn sent_checksum(&self) -> Checksum {
        if self.options.without_checksums { Checksum::None } else { self.checksum }
    }

    /// The event as this reader takes it.
    fn framed(&self, raw: &RawEvent<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        if raw.header.event_type == event_type::FORMAT_DESCRIPTION {
            let mut body = raw.body.to_vec();
            if let Some(checksum) = body.last_mut().filter(|_| self.options.without_checksums) {
                *checksum = 0;
            }
            write_event(&raw.header, &body, Checksum::Crc32, &mut out);
        } else {
            write_event(&raw.header, raw.body, self.sent_checksum(), &mut out);
        }
        out
    }

    /// The next events, whole; none at the end of what is there.
    pub async fn next(&mut self) -> Result<Vec<StreamedEvent>, SourceError> {
        if !self.opening.is_empty() {
            return Ok(std::mem::take(&mut self.opening));
        }
        loop {
            let Some(published) = self.published() else { return Err(SourceError::Purged) };
            if self.position < published.length {
                let events = self.read_events(published.length).await?;
                if !events.is_empty() {
                    return Ok(events);
                }
                continue;
            }
            let next =
                self.log.published.lock().files.iter().map(|file| file.number).find(|one| *one > self.number);
            // The file may have grown before the next one came.
            if self.published().is_some_and(|file| file.length > self.position) {
                continue;
            }
            let Some(next) = next else { return Ok(Vec::new()) };
            let reading = Reading::new(self.log.clone(), next);
            self.file = self.log.open_file(next).await?;
            self.reading = reading;
            (self.number, self.position) = (next, MAGIC.len() as u64);
            self.announce().await?;
            return Ok(std::mem::take(&mut self.opening));
        }
    }

    async fn read_events(&mut self, end: u64) -> Result<Vec<StreamedEvent>, SourceError> {
        let piece = read_events(&*self.file, self.position, end, READ_BYTES).await?;
        let piece = piece.ok_or(SourceError::WrongPosition(self.position))?;
        let (mut events, mut at) = (Vec::new(), 0);
        while let Some(header) = piece.get(at..).and_then(EventHeader::read) {
            let end = at + header.length as usize;
            if header.length < HEADER_BYTES as u32 || end > piece.len() {
                break;
            }
            let raw = split_event(&piece[at..], self.checksum)?;
            match self.left_out(&raw)? {
                Some(bytes) => {
                    self.position += bytes;
                    at += bytes as usize;
                }
                None => {
                    self.position += u64::from(header.length);
                    events.push(StreamedEvent { bytes: self.framed(&raw), ends_at: self.position });
                    at = end;
                }
            }
        }
        Ok(events)
    }

    /// The length of the transaction that begins here, if the reader has it.
    fn left_out(&self, raw: &RawEvent<'_>) -> Result<Option<u64>, SourceError> {
        let Some(executed) = &self.options.executed else { return Ok(None) };
        if raw.header.event_type != event_type::GTID {
            return Ok(None);
        }
        match Event::decode(raw)? {
            Event::Gtid(event) if event.gtid.is_some_and(|gtid| executed.contains(gtid)) => {
                Ok(Some(event.transaction_length.max(u64::from(raw.header.length))))
            }
            _ => Ok(None),
        }
    }

    /// Waits until there is more than `next` has given.
    pub async fn wait(&self) -> Result<(), SourceError> {
        loop {
            let progress = self.log.progress.register();
            {
                let published = self.log.published.lock();
                let last = published.files.last();
                if last.is_none_or(|last| last.number > self.number || last.length > self.position) {
                    return Ok(());
                }
            }
            self.log.check_running()?;
            progress.await;
        }
    }
}

fn named_file(log: &BinaryLog, name: &str) -> Result<u64, SourceError> {
    if name.is_empty() {
        let first = log.files().first().map(|file| file.number);
        return first.ok_or_else(|| SourceError::UnknownFile(name.into()));
    }
    log.file_named(name).ok_or_else(|| SourceError::UnknownFile(name.into()))
}

/// The newest file before which there is nothing that the reader lacks.
async fn first_file_for(log: &BinaryLog, executed: &GtidSet) -> Result<u64, SourceError> {
    for file in log.files().iter().rev() {
        if previous_gtids(log, file.number).await?.is_subset_of(executed) {
            return Ok(file.number);
        }
    }
    Err(SourceError::Purged)
}
