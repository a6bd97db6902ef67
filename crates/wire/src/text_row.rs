//! Cells of a text-protocol row.
//!
//! Invariant: exactly one call per column, in column order. Called by the result encoder in `server` inside
//! `PacketWriter::packet`.

use std::io::Write;

use crate::field::put_length_encoded_bytes;

const NULL_CELL: u8 = 0xfb;
/// Longest text whose length prefix is one byte.
const SHORT_TEXT_MAX: usize = 250;
const DIGITS_MAX: usize = 20;

/// Appends the cells of one row to a packet.
#[derive(Debug)]
pub struct TextRow<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> TextRow<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    pub fn null(&mut self) {
        self.out.push(NULL_CELL);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        put_length_encoded_bytes(self.out, bytes);
    }

    pub fn signed(&mut self, value: i64) {
        let mut digits = [0; DIGITS_MAX];
        let digits = decimal_digits(value.unsigned_abs(), &mut digits);
        self.out.push(digits.len() as u8 + u8::from(value < 0));
        if value < 0 {
            self.out.push(b'-');
        }
        self.out.extend_from_slice(digits);
    }

    pub fn unsigned(&mut self, value: u64) {
        let mut digits = [0; DIGITS_MAX];
        let digits = decimal_digits(value, &mut digits);
        self.out.push(digits.len() as u8);
        self.out.extend_from_slice(digits);
    }

    /// A cell whose text `format` appends; for values that are formatted straight into the packet.
    pub fn formatted(&mut self, format: impl FnOnce(&mut Vec<u8>)) {
        let prefix = self.out.len();
        self.out.push(0);
        format(self.out);
        let length = self.out.len() - prefix - 1;
        if length <= SHORT_TEXT_MAX {
            self.out[prefix] = length as u8;
        } else {
            let text = self.out.split_off(prefix + 1);
            self.out.truncate(prefix);
            put_length_encoded_bytes(self.out, &text);
        }
    }

    pub fn display(&mut self, value: impl std::fmt::Display) {
        self.formatted(|out| write!(out, "{value}").expect("writing to memory cannot fail"));
    }
}

fn decimal_digits(mut value: u64, buffer: &mut [u8; DIGITS_MAX]) -> &[u8] {
    let mut start = DIGITS_MAX;
    loop {
        start -= 1;
        buffer[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return &buffer[start..];
        }
    }
}
