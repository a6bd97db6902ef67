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

/// Writes the weights of the leading 7-bit characters that all have one, eight at a time; gives how many bytes those are. The caller
/// takes what is left, which may begin with some that would have been written here.
fn write_plain_ascii(weighing: Weighing, bytes: &[u8], key: &mut Vec<u8>) -> usize {
    let Weighing::Uca(version) = weighing else { return 0 };
    let weights = version.key_weights();
    let mut written = 0;
    for piece in bytes.chunks(LONG_PIECE) {
        let (eights, rest) = piece.as_chunks::<8>();
        let start = key.len();
        key.resize(start + piece.len() * 2, 0);
        let (slots, _) = key[start..].as_chunks_mut::<16>();
        let mut count = 0;
        for (slot, eight) in slots.iter_mut().zip(eights) {
            let Some(written) = key_of_eight(weights, eight) else { break };
            *slot = written;
            count += 8;
        }
        // The last eight once more, with those that are left.
        if let (true, false, Some(last)) = (count == eights.len() * 8, rest.is_empty(), piece.last_chunk())
            && let Some(written) = key_of_eight(weights, last)
            && let Some(slot) = key.last_chunk_mut()
        {
            *slot = written;
            count = piece.len();
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

/// `None` if one of them is no 7-bit character or has no weight.
fn key_of_eight(weights: &[u16; 256], [a, b, c, d, e, f, g, h]: &[u8; 8]) -> Option<[u8; 16]> {
    let weight = |byte: &u8| u64::from(weights[usize::from(*byte)]);
    let low = weight(a) | weight(b) << 16 | weight(c) << 32 | weight(d) << 48;
    let high = weight(e) | weight(f) << 16 | weight(g) << 32 | weight(h) << 48;
    if has_zero(low) || has_zero(high) {
        return None;
    }
    Some((u128::from(low) | u128::from(high) << 64).to_le_bytes())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::CollationId;

    /// Weight by weight.
    fn plain_key(collation: CollationId, bytes: &[u8]) -> Vec<u8> {
        let weights = Weights::new(collation.collation().weighing, bytes);
        weights.flat_map(u16::to_be_bytes).chain([0, 0]).collect()
    }

    #[test]
    fn keys_of_ascii_are_those_of_its_weights() {
        let collation = CollationId::UTF8MB4_0900_AI_CI;
        let letters: Vec<u8> = (0..10_000).map(|number| b' ' + (number * 7 % 90) as u8).collect();
        for length in (0..40).chain([LONG_PIECE - 1, LONG_PIECE, LONG_PIECE + 3, 9_999]) {
            let mut key = Vec::new();
            collation.write_sort_key(&letters[..length], &mut key);
            assert_eq!(key, plain_key(collation, &letters[..length]), "{length}");
            // Something else at each place: without a weight, of two bytes, invalid.
            for (place, other) in (0..length.min(40)).flat_map(|place| [(place, "\u{1}"), (place, "\u{e4}")])
            {
                let text = [&letters[..place], other.as_bytes(), &letters[place..length]].concat();
                for text in [&text[..], &text[..text.len() - 1]] {
                    let mut key = Vec::new();
                    collation.write_sort_key(text, &mut key);
                    assert_eq!(key, plain_key(collation, text), "{length} {place} {other:?}");
                }
            }
        }
    }
}
