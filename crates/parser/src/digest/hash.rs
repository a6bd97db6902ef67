//! The keyed hash of the digest: two lanes of folded multiplication over 16 bytes at a time.
//!
//! It is no cryptographic hash. Collisions are out of reach because the key is secret and random.
use super::{Digest, DigestSeed};

pub struct Hasher {
    first: u64,
    second: u64,
    first_key: u64,
    second_key: u64,
}

/// The high and the low half of the product, mixed.
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

/// Both ends of 1 to 15 bytes as two words, which overlap when the bytes are few; the length is hashed apart, so every
/// byte still counts. Cheaper than a copy into a padded block.
fn ends(bytes: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)));
    }
    let middle = u64::from(bytes[bytes.len() / 2]);
    (u64::from(bytes[0]) << 8 | middle, u64::from(bytes[bytes.len() - 1]))
}

impl Hasher {
    pub fn new(seed: DigestSeed) -> Hasher {
        // Odd constants without structure: the fraction digits of the square roots of 2, 3, 5 and 7.
        let first_key = fold(seed.0 ^ 0x6A09_E667_F3BC_C909, 0xBB67_AE85_84CA_A73B) ^ seed.1;
        let second_key = fold(seed.1 ^ 0x3C6E_F372_FE94_F82B, 0xA54F_F53A_5F1D_36F1) ^ seed.0.rotate_left(32);
        Hasher { first: seed.0, second: seed.1, first_key, second_key }
    }

    fn mix(&mut self, low: u64, high: u64) {
        self.first = fold(self.first ^ low, self.first_key ^ high);
        self.second = fold(self.second ^ high, self.second_key ^ low.rotate_left(29));
    }

    /// Hashes a piece of text and the tag of what follows it. The length counts, so pieces cannot run together.
    pub fn write(&mut self, bytes: &[u8], tag: u64) {
        let (blocks, rest) = bytes.as_chunks::<16>();
        for block in blocks {
            let value = u128::from_le_bytes(*block);
            self.mix(value as u64, (value >> 64) as u64);
        }
        if !rest.is_empty() {
            let (low, high) = ends(rest);
            self.mix(low, high);
        }
        self.mix(bytes.len() as u64, tag);
    }

    pub fn finish(mut self) -> Digest {
        self.mix(self.second, self.first);
        Digest(u128::from(self.first) << 64 | u128::from(self.second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(bytes: &[u8]) -> Digest {
        let mut hasher = Hasher::new(DigestSeed(1, 2));
        hasher.write(bytes, 3);
        hasher.finish()
    }

    #[test]
    fn every_byte_and_the_length_count() {
        for length in 0..70 {
            let bytes: Vec<u8> = (0..length).collect();
            assert_ne!(hash(&bytes), hash(&[&bytes[..], &[0]].concat()));
            for index in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[index] ^= 0x40;
                assert_ne!(hash(&bytes), hash(&changed), "byte {index} of {length}");
            }
        }
    }

    #[test]
    fn the_border_between_pieces_counts() {
        let mut together = Hasher::new(DigestSeed(1, 2));
        together.write(b"ab", 0);
        together.write(b"c", 0);
        let mut apart = Hasher::new(DigestSeed(1, 2));
        apart.write(b"a", 0);
        apart.write(b"bc", 0);
        assert_ne!(together.finish(), apart.finish());
    }
}
