//! The events of a file or of a piece of one, in turn.
//!
//! Invariant: the iterator ends after an error, and at bytes that are not yet a whole event; `position` is where it stands.
use crate::BinlogError;
use crate::event::Event;
use crate::format_description::FormatDescription;
use crate::header::{Checksum, EventHeader, MAGIC, RawEvent, event_type, split_event};

/// See [`Events::of_file`].
pub struct Events<'a> {
    bytes: &'a [u8],
    position: usize,
    checksum: Checksum,
    failed: bool,
}

impl<'a> Events<'a> {
    /// The events of a file from its first byte on.
    pub fn of_file(bytes: &'a [u8]) -> Result<Events<'a>, BinlogError> {
        match bytes.starts_with(&MAGIC) {
            true => Ok(Events { bytes, position: MAGIC.len(), checksum: Checksum::Crc32, failed: false }),
            false => Err(BinlogError::Invalid("beginning of the file")),
        }
    }

    /// Events that begin with the first byte, of a file with these checksums.
    pub fn of_piece(bytes: &'a [u8], checksum: Checksum) -> Events<'a> {
        Events { bytes, position: 0, checksum, failed: false }
    }

    /// The events of [`Event::TransactionPayload`].
    pub fn unpacked(bytes: &'a [u8]) -> Events<'a> {
        Events::of_piece(bytes, Checksum::None)
    }

    /// How many bytes are behind it.
    pub fn position(&self) -> usize {
        self.position
    }

    /// What the events end in, by the last format description.
    pub fn checksum(&self) -> Checksum {
        self.checksum
    }

    fn read(&mut self) -> Result<Option<RawEvent<'a>>, BinlogError> {
        let rest = &self.bytes[self.position..];
        let Some(header) = EventHeader::read(rest) else { return Ok(None) };
        if rest.len() < header.length as usize {
            return Ok(None);
        }
        let raw = split_event(rest, self.checksum)?;
        if header.event_type == event_type::FORMAT_DESCRIPTION {
            self.checksum = FormatDescription::decode(raw.body)?.checksum;
        }
        self.position += header.length as usize;
        Ok(Some(raw))
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<RawEvent<'a>, BinlogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let event = self.read().transpose();
        self.failed = matches!(event, Some(Err(_)));
        event
    }
}

/// Any bytes as a file: for fuzzing. Every event that is read can be written again and is then the same.
///
/// # Panics
/// If encoding and decoding disagree.
pub fn fuzz_one(bytes: &[u8]) {
    let mut tables = Vec::new();
    for raw in Events::of_piece(bytes, Checksum::None).map_while(Result::ok) {
        let Ok(event) = Event::decode(&raw) else { continue };
        let is_only_read = matches!(
            event,
            Event::TransactionPayload(_)
                | Event::Ignored(_)
                | Event::Heartbeat { .. }
                | Event::MariaDbGtid(_)
        );
        if !is_only_read {
            let mut body = Vec::new();
            event.encode(&mut body);
            // Events of older forms and of MariaDB are written as today's.
            let header = EventHeader { event_type: event.event_type(), ..raw.header };
            let again = Event::decode(&RawEvent { header, body: &body });
            assert_eq!(again.as_ref(), Ok(&event), "an event is encoded as it was");
        }
        match event {
            Event::TableMap(map) => tables.push(map),
            Event::Rows(rows) => {
                for table in &tables {
                    rows.changes(table).for_each(drop);
                }
            }
            Event::TransactionPayload(inner) => {
                Events::unpacked(&inner).map_while(Result::ok).for_each(|raw| drop(Event::decode(&raw)));
            }
            _ => {}
        }
    }
}
