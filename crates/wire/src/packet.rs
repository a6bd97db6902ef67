//! Framing: a stream of bytes into packets and packets into a stream of bytes.
//!
//! A packet is one or more parts; a part is `length: u24, sequence: u8, length bytes`, and a part of exactly
//! `PACKET_PART_MAX` bytes says that another one follows (perhaps an empty one).
//! Invariant: a limit is checked on the announced length, before a byte of that part is stored, and the buffer
//! only grows by what `feed` brought. Called by `connection` (in) and by every encoder (out).

use std::ops::Range;

use crate::error::ProtocolError;

/// The most bytes that one part can carry.
pub const PACKET_PART_MAX: usize = 0xff_ffff;
/// The most bytes that a client may send as one packet before it is known who it is.
pub const PRE_AUTH_PACKET_MAX: usize = 64 * 1024;

const HEADER_LENGTH: usize = 4;
/// A drained buffer larger than this goes back to the allocator instead of waiting for the next large packet.
const BUFFER_KEPT_MAX: usize = 256 * 1024;
/// The most that a connection keeps while it waits for its client; a typical command fits.
const IDLE_BUFFER_MAX: usize = 1024;

/// Cuts fed bytes into packets.
#[derive(Debug, Default)]
pub struct PacketReader {
    buffer: Vec<u8>,
    /// Where the payload under assembly (or, before its header, the next header) begins.
    start: usize,
    /// Bytes of complete parts of the packet under assembly; they are contiguous from `start`.
    assembled: usize,
    /// Length of the part whose header has been read but whose bytes have not all arrived.
    part: Option<usize>,
    next_sequence: u8,
}

impl PacketReader {
    pub fn feed(&mut self, bytes: &[u8]) {
        self.discard_consumed();
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes that have been fed but not returned as part of a packet.
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Takes the bytes that belong to no packet, because another protocol follows.
    pub fn take_pending(&mut self) -> Vec<u8> {
        let pending = self.buffer.split_off(self.start);
        *self = Self::default();
        pending
    }

    /// The next whole packet as a range for `payload`, and the sequence number that follows it.
    /// `sequence` is what its first part must carry.
    pub fn next_packet(
        &mut self,
        sequence: u8,
        limit: usize,
    ) -> Result<Option<(Range<usize>, u8)>, ProtocolError> {
        if self.assembled == 0 && self.part.is_none() {
            self.next_sequence = sequence;
        }
        loop {
            let Some(length) = self.read_header(limit)? else { return Ok(None) };
            let end = self.start + self.assembled + length;
            if self.buffer.len() < end {
                return Ok(None);
            }
            self.part = None;
            if length == PACKET_PART_MAX {
                self.assembled += length;
                continue;
            }
            let payload = self.start..end;
            self.start = end;
            self.assembled = 0;
            return Ok(Some((payload, self.next_sequence)));
        }
    }

    /// The bytes of a packet; valid until the next `feed`.
    pub fn payload(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// Gives the memory of an idle connection back, but for a little.
    pub fn release_memory(&mut self) {
        if self.pending() == 0 && self.buffer.capacity() > IDLE_BUFFER_MAX {
            self.buffer = Vec::new();
            self.start = 0;
        }
    }

    /// Length of the part at the head, reading and removing its header when that has not happened yet.
    fn read_header(&mut self, limit: usize) -> Result<Option<usize>, ProtocolError> {
        if let Some(length) = self.part {
            return Ok(Some(length));
        }
        let at = self.start + self.assembled;
        let Some(&[low, middle, high, sequence]) = self.buffer[at..].first_chunk::<HEADER_LENGTH>() else {
            return Ok(None);
        };
        if sequence != self.next_sequence {
            return Err(ProtocolError::OutOfOrder);
        }
        let length = usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16;
        if self.assembled + length > limit {
            return Err(ProtocolError::PacketTooLarge);
        }
        self.next_sequence = self.next_sequence.wrapping_add(1);
        if self.assembled == 0 {
            self.start += HEADER_LENGTH;
        } else {
            // A continuation: closing the gap joins the parts in place. What lies behind the header is at most
            // one network read, because a header is looked at as soon as it is complete.
            self.buffer.drain(at..at + HEADER_LENGTH);
        }
        self.part = Some(length);
        Ok(Some(length))
    }

    fn discard_consumed(&mut self) {
        if self.assembled > 0 || self.part.is_some() {
            return;
        }
        if self.start == self.buffer.len() {
            self.start = 0;
            self.buffer.clear();
            if self.buffer.capacity() > BUFFER_KEPT_MAX {
                self.buffer = Vec::new();
            }
        } else if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
    }
}

/// Collects the packets of one response, so that they leave in one write.
#[derive(Debug, Default)]
pub struct PacketWriter {
    buffer: Vec<u8>,
    sequence: u8,
}

impl PacketWriter {
    pub fn new() -> Self {
        Self::default()
    }

    /// The number that the next packet will carry.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Appends one packet whose payload `encode` appends to the buffer it is given. It must not remove anything.
    pub fn packet<T>(&mut self, encode: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let header = self.buffer.len();
        self.buffer.extend_from_slice(&[0; HEADER_LENGTH]);
        let result = encode(&mut self.buffer);
        self.finish_packet(header);
        result
    }

    /// Appends one packet, or nothing at all when `encode` fails.
    pub fn try_packet<T, E>(&mut self, encode: impl FnOnce(&mut Vec<u8>) -> Result<T, E>) -> Result<T, E> {
        let header = self.buffer.len();
        self.buffer.extend_from_slice(&[0; HEADER_LENGTH]);
        let result = encode(&mut self.buffer);
        match result {
            Ok(_) => self.finish_packet(header),
            Err(_) => self.buffer.truncate(header),
        }
        result
    }

    /// Appends already framed packets, giving them the numbers they must have here.
    pub(crate) fn append_framed(&mut self, framed: &[u8], first_sequence: u8, count: usize) {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(framed);
        if self.sequence != first_sequence {
            let mut at = start;
            let mut sequence = self.sequence;
            while at < self.buffer.len() {
                let header = &mut self.buffer[at..at + HEADER_LENGTH];
                header[3] = sequence;
                let length =
                    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
                sequence = sequence.wrapping_add(1);
                at += HEADER_LENGTH + length;
            }
        }
        self.sequence = self.sequence.wrapping_add((count & 0xff) as u8);
    }

    /// What has to go to the client.
    pub fn pending(&self) -> &[u8] {
        &self.buffer
    }

    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether there is memory for a response already.
    pub fn has_buffer(&self) -> bool {
        self.buffer.capacity() > 0
    }

    /// Forgets what was sent, keeping a buffer of ordinary size.
    pub fn clear(&mut self) {
        self.buffer.clear();
        if self.buffer.capacity() > BUFFER_KEPT_MAX {
            self.buffer = Vec::new();
        }
    }

    /// Drops everything after `length`: used to replace a response begun in this buffer by an error.
    pub fn truncate(&mut self, length: usize, sequence: u8) {
        self.buffer.truncate(length);
        self.sequence = sequence;
    }

    /// Exchanges the (empty) buffer, so that idle connections need none and busy ones can share.
    #[must_use]
    pub fn replace_buffer(&mut self, buffer: Vec<u8>) -> Vec<u8> {
        assert!(self.buffer.is_empty() && buffer.is_empty(), "a buffer changes hands between responses");
        std::mem::replace(&mut self.buffer, buffer)
    }

    fn finish_packet(&mut self, header: usize) {
        let length = self.buffer.len() - header - HEADER_LENGTH;
        // Rare: rows of 16 MB. Every further part needs a header between the payload bytes, which move up once, the last part first.
        let further = length / PACKET_PART_MAX;
        self.buffer.resize(self.buffer.len() + further * HEADER_LENGTH, 0);
        for part in (1..=further).rev() {
            let from = header + HEADER_LENGTH + part * PACKET_PART_MAX;
            let bytes = (length - part * PACKET_PART_MAX).min(PACKET_PART_MAX);
            self.buffer.copy_within(from..from + bytes, from + part * HEADER_LENGTH);
            env::tick_long(bytes / 4);
        }
        for part in 0..further {
            self.write_header(header + part * (HEADER_LENGTH + PACKET_PART_MAX), PACKET_PART_MAX);
        }
        self.write_header(
            header + further * (HEADER_LENGTH + PACKET_PART_MAX),
            length - further * PACKET_PART_MAX,
        );
    }

    fn write_header(&mut self, at: usize, length: usize) {
        debug_assert!(length <= PACKET_PART_MAX);
        let [low, middle, high, ..] = length.to_le_bytes();
        self.buffer[at..at + HEADER_LENGTH].copy_from_slice(&[low, middle, high, self.sequence]);
        self.sequence = self.sequence.wrapping_add(1);
    }
}
