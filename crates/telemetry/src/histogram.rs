//! Latencies in MySQL's 450 buckets: the first up to 10 us, then fifty to each power of ten.
//!
//! Invariant: only powers of ten that hold something take room; a digest's latencies fall into two or three.

use std::sync::LazyLock;

pub const BUCKET_COUNT: usize = 450;
/// The end of the first bucket, in picoseconds.
const FIRST_PS: f64 = 1e7;
const BUCKETS_PER_DECADE: usize = 50;

#[derive(Clone, Debug, Default)]
pub struct Histogram {
    decades: [Option<Box<[u64; BUCKETS_PER_DECADE]>>; BUCKET_COUNT / BUCKETS_PER_DECADE],
}

/// The shortest time of each bucket in nanoseconds, and for each number of bits the bucket of the smallest number that has so many.
struct Edges {
    low_ns: [u64; BUCKET_COUNT],
    first_by_bits: [u16; 65],
}

static EDGES: LazyLock<Edges> = LazyLock::new(|| {
    let low_ns = std::array::from_fn(|bucket| bucket_low_ps(bucket).div_ceil(1000));
    let bucket_of = |ns: u64| low_ns.partition_point(|low| *low <= ns) - 1;
    let first_by_bits =
        std::array::from_fn(|bits| bucket_of(if bits == 0 { 0 } else { 1 << (bits - 1) }) as u16);
    Edges { low_ns, first_by_bits }
});

/// Where a bucket begins.
pub fn bucket_low_ps(bucket: usize) -> u64 {
    match bucket {
        0 => 0,
        _ => (FIRST_PS * 10f64.powf((bucket - 1) as f64 / BUCKETS_PER_DECADE as f64)).round() as u64,
    }
}

/// Where it ends; the last one never does.
pub fn bucket_high_ps(bucket: usize) -> u64 {
    if bucket + 1 >= BUCKET_COUNT { u64::MAX } else { bucket_low_ps(bucket + 1) }
}

fn bucket_of(elapsed_ns: u64) -> usize {
    let edges = &*EDGES;
    let bits = (u64::BITS - elapsed_ns.leading_zeros()) as usize;
    // Buckets from this one to that of twice the time, both included.
    let first = usize::from(edges.first_by_bits[bits]);
    let last = usize::from(edges.first_by_bits[(bits + 1).min(64)]);
    first + edges.low_ns[first + 1..(last + 1).min(BUCKET_COUNT)].partition_point(|low| *low <= elapsed_ns)
}

impl Histogram {
    pub fn add(&mut self, elapsed_ns: u64) {
        let bucket = bucket_of(elapsed_ns);
        let decade = &mut self.decades[bucket / BUCKETS_PER_DECADE];
        decade.get_or_insert_with(|| Box::new([0; BUCKETS_PER_DECADE]))[bucket % BUCKETS_PER_DECADE] += 1;
    }

    pub fn merge(&mut self, other: &Histogram) {
        for (own, other) in self.decades.iter_mut().zip(&other.decades) {
            if let Some(other) = other {
                let own = own.get_or_insert_with(|| Box::new([0; BUCKETS_PER_DECADE]));
                own.iter_mut().zip(other.iter()).for_each(|(all, one)| *all += one);
            }
        }
    }

    pub fn total(&self) -> u64 {
        self.decades.iter().flatten().flat_map(|decade| decade.iter()).sum()
    }

    pub fn count(&self, bucket: usize) -> u64 {
        let decade = self.decades.get(bucket / BUCKETS_PER_DECADE).and_then(Option::as_ref);
        decade.map_or(0, |decade| decade[bucket % BUCKETS_PER_DECADE])
    }

    /// The end of the bucket up to which so large a part of all values lies.
    pub fn quantile_ps(&self, part: f64) -> u64 {
        let total = self.total();
        let wanted = (total as f64 * part).ceil() as u64;
        let mut seen = 0;
        let ends = (0..BUCKET_COUNT).find(|bucket| {
            seen += self.count(*bucket);
            seen >= wanted && seen > 0
        });
        ends.map_or(0, bucket_high_ps)
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
        for elapsed_ns in (0..64)
            .flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + (1 << bits) / 3])
            .chain([12_345])
        {
            let bucket = bucket_of(elapsed_ns);
            let picoseconds = elapsed_ns.saturating_mul(1000);
            assert!(bucket_low_ps(bucket) <= picoseconds, "{elapsed_ns}");
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
