//! A row of the binary protocol: `0x00`, a NULL bitmap whose first two bits are unused, then the values.
//!
//! Invariant: exactly one call per column, in column order, with the width that the column's type announced.
//! Called by the result encoder in `server` inside `PacketWriter::packet`.

use crate::field::put_length_encoded_bytes;
use crate::parameter::{DateTimeValue, TimeValue};

/// Bits before the first column's bit.
const BITMAP_OFFSET: usize = 2;

/// Appends one row to a packet.
#[derive(Debug)]
pub struct BinaryRow<'a> {
    out: &'a mut Vec<u8>,
    bitmap: usize,
    column: usize,
}

impl<'a> BinaryRow<'a> {
    pub fn new(out: &'a mut Vec<u8>, column_count: usize) -> Self {
        out.push(0);
        let bitmap = out.len();
        out.resize(bitmap + (column_count + BITMAP_OFFSET).div_ceil(8), 0);
        Self { out, bitmap, column: 0 }
    }

    pub fn null(&mut self) {
        let bit = self.column + BITMAP_OFFSET;
        self.out[self.bitmap + bit / 8] |= 1 << (bit % 8);
        self.column += 1;
    }

    /// TINYINT, signed or unsigned: the caller passes the two's complement.
    pub fn integer8(&mut self, value: u8) {
        self.fixed([value]);
    }

    /// SMALLINT and YEAR.
    pub fn integer16(&mut self, value: u16) {
        self.fixed(value.to_le_bytes());
    }

    /// INT and MEDIUMINT.
    pub fn integer32(&mut self, value: u32) {
        self.fixed(value.to_le_bytes());
    }

    pub fn integer64(&mut self, value: u64) {
        self.fixed(value.to_le_bytes());
    }

    pub fn float(&mut self, value: f32) {
        self.fixed(value.to_le_bytes());
    }

    pub fn double(&mut self, value: f64) {
        self.fixed(value.to_le_bytes());
    }

    /// Strings, blobs, DECIMAL, BIT, ENUM, SET, JSON.
    pub fn bytes(&mut self, bytes: &[u8]) {
        put_length_encoded_bytes(self.out, bytes);
        self.column += 1;
    }

    /// DATE: the clock fields are ignored.
    pub fn date(&mut self, value: &DateTimeValue) {
        if value.year == 0 && value.month == 0 && value.day == 0 {
            self.out.push(0);
        } else {
            self.out.push(4);
            self.calendar(value);
        }
        self.column += 1;
    }

    /// DATETIME and TIMESTAMP, in the shortest of the protocol's four lengths.
    pub fn date_time(&mut self, value: &DateTimeValue) {
        let has_clock = value.hour != 0 || value.minute != 0 || value.second != 0;
        if value.microsecond != 0 {
            self.out.push(11);
            self.calendar(value);
            self.out.extend_from_slice(&[value.hour, value.minute, value.second]);
            self.out.extend_from_slice(&value.microsecond.to_le_bytes());
        } else if has_clock {
            self.out.push(7);
            self.calendar(value);
            self.out.extend_from_slice(&[value.hour, value.minute, value.second]);
        } else {
            return self.date(value);
        }
        self.column += 1;
    }

    pub fn time(&mut self, value: &TimeValue) {
        let is_zero = value.days == 0 && value.hours == 0 && value.minutes == 0 && value.seconds == 0;
        if is_zero && value.microsecond == 0 {
            self.out.push(0);
        } else {
            self.out.push(if value.microsecond == 0 { 8 } else { 12 });
            self.out.push(u8::from(value.negative));
            self.out.extend_from_slice(&value.days.to_le_bytes());
            self.out.extend_from_slice(&[value.hours, value.minutes, value.seconds]);
            if value.microsecond != 0 {
                self.out.extend_from_slice(&value.microsecond.to_le_bytes());
            }
        }
        self.column += 1;
    }

    fn calendar(&mut self, value: &DateTimeValue) {
        self.out.extend_from_slice(&value.year.to_le_bytes());
        self.out.extend_from_slice(&[value.month, value.day]);
    }

    fn fixed<const N: usize>(&mut self, bytes: [u8; N]) {
        self.out.extend_from_slice(&bytes);
        self.column += 1;
    }
}
