//! Latencies in MySQL's 450 buckets: the first up to 10 us, then fifty to each power of ten.
//!
//! Invariant: only buckets that hold something take room; a digest's latencies fall into a few dozen.

pub const BUCKET_COUNT: usize = 450;
/// The end of the first bucket, in picoseconds.
const FIRST_PS: f64 = 1e7;
const BUCKETS_PER_DECADE: f64 = 50.0;

#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Bucket and count, by bucket.
    counts: Vec<(u16, u64)>,
}

/// Where a bucket begins.
pub fn bucket_low_ps(bucket: usize) -> u64 {
    match bucket {
        0 => 0,
        _ => (FIRST_PS * 10f64.powf((bucket - 1) as f64 / BUCKETS_PER_DECADE)).round() as u64,
    }
}

/// Where it ends; the last one never does.
pub fn bucket_high_ps(bucket: usize) -> u64 {
    if bucket + 1 >= BUCKET_COUNT { u64::MAX } else { bucket_low_ps(bucket + 1) }
}

fn bucket_of(elapsed_ns: u64) -> u16 {
    let picoseconds = elapsed_ns as f64 * 1000.0;
    if picoseconds < FIRST_PS {
        return 0;
    }
    // Every third of a bucket's edge is met by rounding only within the error of the logarithm, far below what a clock tells.
    let bucket = ((picoseconds / FIRST_PS).log10() * BUCKETS_PER_DECADE).floor() as usize + 1;
    bucket.min(BUCKET_COUNT - 1) as u16
}

impl Histogram {
    pub fn add(&mut self, elapsed_ns: u64) {
        self.add_to(bucket_of(elapsed_ns), 1);
    }

    fn add_to(&mut self, bucket: u16, count: u64) {
        match self.counts.binary_search_by_key(&bucket, |(of, _)| *of) {
            Ok(place) => self.counts[place].1 += count,
            Err(place) => self.counts.insert(place, (bucket, count)),
        }
    }

    pub fn merge(&mut self, other: &Histogram) {
        other.counts.iter().for_each(|(bucket, count)| self.add_to(*bucket, *count));
    }

    pub fn total(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    pub fn count(&self, bucket: usize) -> u64 {
        let place = self.counts.binary_search_by_key(&bucket, |(of, _)| usize::from(*of));
        place.map_or(0, |place| self.counts[place].1)
    }

    /// The end of the bucket up to which so large a part of all values lies.
    pub fn quantile_ps(&self, part: f64) -> u64 {
        let total = self.total();
        let wanted = (total as f64 * part).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in &self.counts {
            seen += count;
            if seen >= wanted {
                return bucket_high_ps(usize::from(*bucket));
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_mysqls_edges() {
        let edges = [(1, 10_000_000), (2, 10_471_285), (3, 10_964_782), (101, 1_000_000_000)];
        for (bucket, low) in edges {
            assert!(bucket_low_ps(bucket).abs_diff(low) <= 1, "{bucket}: {}", bucket_low_ps(bucket));
        }
        assert_eq!(bucket_high_ps(BUCKET_COUNT - 1), u64::MAX);
    }

    #[test]
    fn a_value_lies_in_its_bucket() {
        for elapsed_ns in [0, 1, 9_999, 10_001, 12_345, 999_999, 77_777_777, 12_345_678_901, u64::MAX / 2000]
        {
            let bucket = usize::from(bucket_of(elapsed_ns));
            let picoseconds = elapsed_ns.saturating_mul(1000);
            assert!(bucket_low_ps(bucket) <= picoseconds + 1, "{elapsed_ns}");
            assert!(picoseconds <= bucket_high_ps(bucket), "{elapsed_ns}");
        }
    }

    #[test]
    fn quantiles_are_the_ends_of_buckets() {
        let mut histogram = Histogram::default();
        (0..99).for_each(|_| histogram.add(5_000));
        histogram.add(1_500_000);
        assert_eq!(histogram.quantile_ps(0.95), 10_000_000);
        assert!(histogram.quantile_ps(0.999) > 1_500_000_000);
        assert_eq!((histogram.total(), histogram.count(0)), (100, 99));
    }
}
