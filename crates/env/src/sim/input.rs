//! Choices from given bytes instead of a seed: what the fuzz targets' models of logs and pages are made from.

/// The rest of an input; zeros behind its end.
pub struct InputBytes<'a>(pub &'a [u8]);

impl<'a> InputBytes<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// Up to `count` bytes, fewer at the end.
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
