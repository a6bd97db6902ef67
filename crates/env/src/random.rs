//! Randomness as the engine sees it: the operating system's in production, the seed's in simulation.

/// A source of unpredictable bytes.
pub trait Random: Send + Sync {
    fn fill(&self, bytes: &mut [u8]);

    fn u64(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}
