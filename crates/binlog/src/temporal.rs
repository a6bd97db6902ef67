//! Moments as the binary log has them: big-endian whole parts, then as many bytes of the fraction as its digits need.
//!
//! Invariant: the bytes of one type order as the moments do. Zero dates are zeros.
use crate::BinlogError;
use crate::bytes::Reader;
use datum::{Date, DateTime, Time, Timestamp};

/// Micros in one unit of the fraction that is kept with so many digits.
fn fraction_unit(fsp: u8) -> u32 {
    match fsp {
        0 => 1_000_000,
        1 | 2 => 10_000,
        3 | 4 => 100,
        _ => 1,
    }
}

fn fraction_bytes(fsp: u8) -> usize {
    usize::from(fsp.div_ceil(2))
}

fn put_fraction(micros: u32, fsp: u8, out: &mut Vec<u8>) {
    let fraction = micros / fraction_unit(fsp);
    out.extend_from_slice(&fraction.to_be_bytes()[4 - fraction_bytes(fsp)..]);
}

fn read_fraction(reader: &mut Reader<'_>, fsp: u8) -> Result<u32, BinlogError> {
    if fsp > 6 {
        return Err(BinlogError::Invalid("number of fractional digits"));
    }
    let fraction = reader.uint_be(fraction_bytes(fsp))? as u32;
    let micros = fraction.checked_mul(fraction_unit(fsp)).filter(|micros| *micros < 1_000_000);
    match fsp {
        0 => Ok(0),
        _ => micros.ok_or(BinlogError::Invalid("fraction of a second")),
    }
}

/// MySQL's packed form of a moment without its fraction.
fn packed_whole(moment: DateTime) -> u64 {
    let date = moment.date();
    let day = (u64::from(date.year()) * 13 + u64::from(date.month())) << 5 | u64::from(date.day());
    day << 17 | u64::from(moment.hour()) << 12 | u64::from(moment.minute()) << 6 | u64::from(moment.second())
}

fn unpacked(whole: u64, micros: u32) -> Result<DateTime, BinlogError> {
    let wrong = BinlogError::Invalid("DATETIME");
    let months = whole >> 22;
    let year = u16::try_from(months / 13).map_err(|_| wrong)?;
    let date = Date::new_lenient(year, (months % 13) as u8, (whole >> 17 & 31) as u8).ok_or(wrong)?;
    let (hour, minute, second) = ((whole >> 12 & 31) as u8, (whole >> 6 & 63) as u8, (whole & 63) as u8);
    DateTime::new(date, hour, minute, second, micros).ok_or(wrong)
}

pub(crate) fn put_datetime(moment: DateTime, fsp: u8, out: &mut Vec<u8>) {
    let whole = packed_whole(moment) + 0x80_0000_0000;
    out.extend_from_slice(&whole.to_be_bytes()[3..]);
    put_fraction(moment.micros(), fsp, out);
}

pub(crate) fn read_datetime(reader: &mut Reader<'_>, fsp: u8) -> Result<DateTime, BinlogError> {
    let whole = reader.uint_be(5)?.checked_sub(0x80_0000_0000).ok_or(BinlogError::Invalid("DATETIME"))?;
    let micros = read_fraction(reader, fsp)?;
    unpacked(whole, micros)
}

pub(crate) fn put_timestamp(instant: Timestamp, fsp: u8, out: &mut Vec<u8>) {
    let micros = instant.to_unix_micros();
    let seconds = u32::try_from(micros / 1_000_000).unwrap_or_default();
    out.extend_from_slice(&seconds.to_be_bytes());
    put_fraction((micros % 1_000_000) as u32, fsp, out);
}

pub(crate) fn read_timestamp(reader: &mut Reader<'_>, fsp: u8) -> Result<Timestamp, BinlogError> {
    let seconds = reader.uint_be(4)? as i64;
    let micros = i64::from(read_fraction(reader, fsp)?);
    Timestamp::from_unix_micros(seconds * 1_000_000 + micros).ok_or(BinlogError::Invalid("TIMESTAMP"))
}

fn packed_seconds(time: Time) -> i64 {
    i64::from(time.hours()) << 12 | i64::from(time.minutes()) << 6 | i64::from(time.seconds())
}

pub(crate) fn put_time(time: Time, fsp: u8, out: &mut Vec<u8>) {
    let bits = fraction_bytes(fsp) * 8;
    let magnitude = packed_seconds(time) << bits | i64::from(time.micros() / fraction_unit(fsp));
    let number = (0x80_0000 << bits) + if time.is_negative() { -magnitude } else { magnitude };
    out.extend_from_slice(&number.to_be_bytes()[5 - fraction_bytes(fsp)..]);
}

pub(crate) fn read_time(reader: &mut Reader<'_>, fsp: u8) -> Result<Time, BinlogError> {
    if fsp > 6 {
        return Err(BinlogError::Invalid("number of fractional digits"));
    }
    let bits = fraction_bytes(fsp) * 8;
    let number = reader.uint_be(3 + fraction_bytes(fsp))? as i64 - (0x80_0000 << bits);
    let magnitude = number.abs();
    let fraction = (magnitude & ((1 << bits) - 1)) as u32;
    let micros = if fsp == 0 { 0 } else { fraction.saturating_mul(fraction_unit(fsp)) };
    time_of(number < 0, (magnitude >> bits) as u64, micros)
}

fn time_of(negative: bool, packed: u64, micros: u32) -> Result<Time, BinlogError> {
    let wrong = BinlogError::Invalid("TIME");
    let hours = u16::try_from(packed >> 12).map_err(|_| wrong)?;
    Time::new(negative, hours, (packed >> 6 & 63) as u8, (packed & 63) as u8, micros).ok_or(wrong)
}

/// Eight bytes, as documents of JSON have DATE and DATETIME.
pub(crate) fn put_packed_datetime(moment: DateTime, out: &mut Vec<u8>) {
    out.extend_from_slice(&(packed_whole(moment) << 24 | u64::from(moment.micros())).to_le_bytes());
}

pub(crate) fn read_packed_datetime(reader: &mut Reader<'_>) -> Result<DateTime, BinlogError> {
    let packed = reader.u64()?;
    unpacked(packed >> 24, (packed & 0xFF_FFFF) as u32)
}

/// Eight bytes, as documents of JSON have TIME.
pub(crate) fn put_packed_time(time: Time, out: &mut Vec<u8>) {
    let magnitude = packed_seconds(time) << 24 | i64::from(time.micros());
    out.extend_from_slice(&(if time.is_negative() { -magnitude } else { magnitude }).to_le_bytes());
}

pub(crate) fn read_packed_time(reader: &mut Reader<'_>) -> Result<Time, BinlogError> {
    let packed = reader.u64()? as i64;
    let magnitude = packed.unsigned_abs();
    time_of(packed < 0, magnitude >> 24, (magnitude & 0xFF_FFFF) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_and_order() {
        for (fsp, unit) in [(0, 1_000_000), (2, 10_000), (4, 100), (6, 1)] {
            let mut before = Vec::new();
            for count in [-3_000_000_001i64, -1_000_000, -999, -1, 0, 1, 59, 1_000_000, 3_000_000_000] {
                let micros = (count * unit).clamp(Time::MIN.to_micros(), Time::MAX.to_micros()) / unit * unit;
                let time = Time::from_micros(micros).unwrap();
                let mut bytes = Vec::new();
                put_time(time, fsp, &mut bytes);
                assert_eq!(read_time(&mut Reader(&bytes), fsp), Ok(time));
                assert!(bytes >= before, "{micros} with {fsp} digits");
                before = bytes;
            }
        }
    }
}
