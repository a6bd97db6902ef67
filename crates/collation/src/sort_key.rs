//! Order-preserving sort keys: `memcmp` of two keys gives the order of the strings.
//!
//! Invariant: no key is a prefix of another, so keys may be followed by other key parts.
//!
//! - Bytes without padding: the bytes, 0x00 written as 00 FF, ended by 00 00.
//! - Weights without padding: two bytes each, most significant first, ended by 00 00 (no weight is 0).
//! - With padding (PAD SPACE) a string stands for itself followed by endless spaces. A run of spaces is written as
//!   one space weight and a tag that says how the run ends: 01 and the run's length before something lower than a
//!   space, 02 at the end of the string, 03 and the inverted length before something higher.
use env::LONG_PIECE;

use crate::registry::{CollationId, PadAttribute, Weighing};
use crate::weights::{Weights, for_each_weight};

const TAG_LOWER: u8 = 1;
const TAG_END: u8 = 2;
const TAG_HIGHER: u8 = 3;

impl CollationId {
    pub fn write_sort_key(self, bytes: &[u8], key: &mut Vec<u8>) {
        let collation = self.collation();
        match (collation.weighing, collation.pad) {
            (Weighing::Bytes, PadAttribute::NoPad) => write_escaped(bytes, key),
            (weighing, PadAttribute::NoPad) => {
                key.reserve(bytes.len() * 2 + 2);
                let plain = write_plain_ascii(weighing, bytes, key);
                let mut uncounted = 0;
                for_each_weight(weighing, &bytes[plain..], |weight| {
                    key.extend_from_slice(&weight.to_be_bytes());
                    count_weight(&mut uncounted);
                });
                key.extend_from_slice(&[0, 0]);
            }
            (weighing @ (Weighing::General | Weighing::Uca(_)), PadAttribute::PadSpace) => {
                let weights = Weights::new(weighing, collation.without_padding(bytes));
                write_padded(weights, collation.space_weight(), key, |weight, key| {
                    key.extend_from_slice(&weight.to_be_bytes());
                });
            }
            (Weighing::ByteTable(table), PadAttribute::PadSpace) => {
                let weights =
                    collation.without_padding(bytes).iter().map(|byte| u16::from(table[*byte as usize]));
                let space = u16::from(table[usize::from(b' ')]);
                write_padded(weights, space, key, |weight, key| key.push(weight as u8));
            }
            (_, PadAttribute::PadSpace) => {
                let weights = collation.without_padding(bytes).iter().map(|byte| u16::from(*byte));
                write_padded(weights, u16::from(b' '), key, |weight, key| key.push(weight as u8));
            }
        }
    }
}

impl CollationId {
    /// How many of the bytes are the sort key that they begin with; `None` when they begin with none.
    pub fn sort_key_length(self, key: &[u8]) -> Option<usize> {
        let collation = self.collation();
        let padded = |width: usize, space: u16| padded_length(key, width, space);
        match (collation.weighing, collation.pad) {
            (Weighing::Bytes, PadAttribute::NoPad) => escaped_length(key),
            (_, PadAttribute::NoPad) => {
                let end = key.chunks_exact(2).position(|weight| weight == [0, 0])?;
                Some((end + 1) * 2)
            }
            (Weighing::General | Weighing::Uca(_), PadAttribute::PadSpace) => {
                padded(2, collation.space_weight())
            }
            (Weighing::ByteTable(table), PadAttribute::PadSpace) => {
                padded(1, u16::from(table[usize::from(b' ')]))
            }
            (_, PadAttribute::PadSpace) => padded(1, u16::from(b' ')),
        }
    }
}

fn escaped_length(key: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += key.get(at..)?.iter().position(|byte| *byte == 0)? + 2;
        if key.get(at - 1)? == &0 {
            return Some(at);
        }
    }
}

/// Weights of `width` bytes; behind each space comes a tag.
fn padded_length(key: &[u8], width: usize, space: u16) -> Option<usize> {
    let mut at = 0;
    loop {
        let weight = key.get(at..at + width)?.iter().fold(0, |weight, byte| weight << 8 | u16::from(*byte));
        at += width;
        if weight == space {
            match *key.get(at)? {
                TAG_END => return Some(at + 1),
                TAG_LOWER | TAG_HIGHER => at += 1 + size_of::<u32>(),
                _ => return None,
            }
        }
    }
}

/// Writes the weights of the leading 7-bit characters that all have one, eight at a time; gives how many bytes those are. Less than
/// eight are left to the caller, which takes any.
fn write_plain_ascii(weighing: Weighing, bytes: &[u8], key: &mut Vec<u8>) -> usize {
    let Weighing::Uca(version) = weighing else { return 0 };
    let ascii = version.ascii();
    let mut written = 0;
    for piece in bytes.chunks(LONG_PIECE) {
        let (eights, _) = piece.as_chunks::<8>();
        let start = key.len();
        key.resize(start + eights.len() * 16, 0);
        let (slots, _) = key[start..].as_chunks_mut::<16>();
        let mut count = 0;
        for (slot, eight) in slots.iter_mut().zip(eights) {
            let [low, high] = halves(eight).map(|four| key_of_four(ascii, four));
            if u64::from_le_bytes(*eight) & NOT_ASCII != 0 || has_zero(low) || has_zero(high) {
                break;
            }
            slot[..8].copy_from_slice(&low.to_le_bytes());
            slot[8..].copy_from_slice(&high.to_le_bytes());
            count += 8;
        }
        key.truncate(start + count * 2);
        written += count;
        if count < piece.len() {
            break;
        }
        env::tick_long(count);
    }
    written
}

const NOT_ASCII: u64 = 0x8080_8080_8080_8080;

fn halves(eight: &[u8; 8]) -> [[u8; 4]; 2] {
    let [a, b, c, d, e, f, g, h] = *eight;
    [[a, b, c, d], [e, f, g, h]]
}

/// The weights of four 7-bit characters as their bytes follow each other in a key, the first one lowest.
fn key_of_four(ascii: &[u16; 128], [a, b, c, d]: [u8; 4]) -> u64 {
    let weight = |byte: u8| u64::from(ascii[usize::from(byte & 0x7F)].swap_bytes());
    weight(a) | weight(b) << 16 | weight(c) << 32 | weight(d) << 48
}

/// Whether one of the four numbers of 16 bits is 0.
fn has_zero(four: u64) -> bool {
    four.wrapping_sub(0x0001_0001_0001_0001) & !four & 0x8000_8000_8000_8000 != 0
}

/// Counts the work of a long text in pieces.
fn count_weight(uncounted: &mut usize) {
    *uncounted += 1;
    if *uncounted == LONG_PIECE {
        *uncounted = 0;
        env::tick_long(LONG_PIECE * 2);
    }
}

/// Reads back what the key of a `binary` or `utf8mb4_0900_bin` string holds; the count of key bytes read is the
/// second part. `None` when the bytes are no such key.
pub fn read_escaped(key: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut bytes = Vec::with_capacity(key.len());
    let mut at = 0;
    loop {
        match *key.get(at)? {
            0 => match *key.get(at + 1)? {
                0 => return Some((bytes, at + 2)),
                0xFF => {
                    bytes.push(0);
                    at += 2;
                }
                _ => return None,
            },
            byte => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
}

fn write_escaped(bytes: &[u8], key: &mut Vec<u8>) {
    key.reserve(bytes.len() + 2);
    for piece in bytes.chunks(LONG_PIECE) {
        for byte in piece {
            key.push(*byte);
            if *byte == 0 {
                key.push(0xFF);
            }
        }
        env::tick_long(piece.len());
    }
    key.extend_from_slice(&[0, 0]);
}

fn write_padded(
    weights: impl Iterator<Item = u16>,
    space: u16,
    key: &mut Vec<u8>,
    write: impl Fn(u16, &mut Vec<u8>),
) {
    let mut run = 0u32;
    let mut uncounted = 0;
    for weight in weights {
        count_weight(&mut uncounted);
        if weight == space {
            run += 1;
            continue;
        }
        if run > 0 {
            write(space, key);
            write_run(run, weight < space, key);
            run = 0;
        }
        write(weight, key);
    }
    // Spaces of the table's own making (characters that weigh as a space) may still end the string.
    write(space, key);
    key.push(TAG_END);
}

/// Longer runs are nearer to the endless spaces: higher when followed by less, lower when followed by more.
fn write_run(run: u32, is_before_lower: bool, key: &mut Vec<u8>) {
    if is_before_lower {
        key.push(TAG_LOWER);
        key.extend_from_slice(&run.to_be_bytes());
    } else {
        key.push(TAG_HIGHER);
        key.extend_from_slice(&(!run).to_be_bytes());
    }
}
