//! Random numbers from a seed: xoshiro256++, the same on every machine.
//!
//! Invariant: equal seeds give equal numbers, so that several servers can be given the same work. Used by all files here.

/// A source of random numbers.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The numbers of `seed`; `stream` tells apart those who share a seed.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut mixed = seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let state = std::array::from_fn(|_| {
            mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = mixed;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        });
        Self { state }
    }

    pub fn word(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let answer = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        answer
    }

    /// A number of `0..count`; 0 if there is none.
    pub fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(count)) >> 64) as u64
    }

    /// A number of `low..=high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1).max(1) as u64) as i64
    }

    /// A number of 0.0 up to 1.0.
    pub fn fraction(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether something of this chance happens.
    pub fn happens(&mut self, chance: f64) -> bool {
        self.fraction() < chance
    }

    /// A time between two events that come on average once per unit, independent of each other.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.fraction()).ln()
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// Letters and digits.
    pub fn letters(&mut self, low: i64, high: i64) -> String {
        const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let length = self.between(low, high);
        (0..length).map(|_| char::from(LETTERS[self.below(62) as usize])).collect()
    }

    pub fn digits(&mut self, low: i64, high: i64) -> String {
        let length = self.between(low, high);
        (0..length).map(|_| char::from(b'0' + self.below(10) as u8)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_streams_differ() {
        let words = |seed, stream| {
            let mut random = Random::new(seed, stream);
            std::array::from_fn::<u64, 4, _>(|_| random.word())
        };
        assert_eq!(words(1, 2), words(1, 2));
        assert_ne!(words(1, 2), words(1, 3));
        assert_ne!(words(1, 2), words(2, 2));
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Random::new(7, 0);
        for _ in 0..1000 {
            assert!((3..=5).contains(&random.between(3, 5)));
            assert!((0.0..1.0).contains(&random.fraction()));
            assert!(random.exponential() >= 0.0);
        }
        assert_eq!(random.below(0), 0);
    }
}
