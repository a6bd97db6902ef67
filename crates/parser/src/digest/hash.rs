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
            self.mix_block(block);
        }
        if !rest.is_empty() {
            let mut block = [0; 16];
            block[..rest.len()].copy_from_slice(rest);
            self.mix_block(&block);
        }
        self.mix(bytes.len() as u64, tag);
    }

    fn mix_block(&mut self, block: &[u8; 16]) {
        let value = u128::from_le_bytes(*block);
        self.mix(value as u64, (value >> 64) as u64);
    }

    pub fn finish(mut self) -> Digest {
        self.mix(self.second, self.first);
        Digest(u128::from(self.first) << 64 | u128::from(self.second))
    }
}
