//! The seed's random numbers.

use crate::Random;
use parking_lot::Mutex;

/// A 64-bit counter through a mixing function: fast, and every seed gives a full-period sequence.
#[derive(Debug, Clone)]
pub(super) struct Rng {
    state: u64,
}

pub(super) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: mix(seed ^ 0x5851_f42d_4c95_7f2d) }
    }

    pub(super) fn u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// Uniform in `0..limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        assert!(limit > 0, "nothing to choose from");
        ((u128::from(self.u64()) * limit as u128) >> 64) as usize
    }

    /// True `part` times out of `whole`.
    pub(super) fn chance(&mut self, part: usize, whole: usize) -> bool {
        debug_assert!(part <= whole, "a part is no more than the whole");
        self.below(whole) < part
    }

    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// A `Random` that repeats itself for the same seed.
pub struct SeededRandom {
    rng: Mutex<Rng>,
}

impl SeededRandom {
    pub fn new(seed: u64) -> Self {
        Self { rng: Mutex::new(Rng::new(seed)) }
    }

    /// Uniform in `0..limit`.
    pub fn below(&self, limit: usize) -> usize {
        self.rng.lock().below(limit)
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        self.rng.lock().fill(bytes);
    }
}
