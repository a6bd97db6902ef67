//! The random numbers of a session: the same seed gives the same statements (splitmix64).

pub struct Random(u64);

impl Random {
    /// Sessions of one run have streams of their own.
    pub fn new(seed: u64, session: u32) -> Random {
        Random(seed.wrapping_mul(1_000_003).wrapping_add(u64::from(session)))
    }

    pub fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ (bits >> 31)) % u64::from(limit)) as u32
    }

    pub fn one_in(&mut self, count: u32) -> bool {
        self.below(count) == 0
    }
}
