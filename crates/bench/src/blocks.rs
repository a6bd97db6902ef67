//! How sure a comparison is: the ratio of two servers by blocks of time, with a confidence interval.
//!
//! Invariant: a block is one turn of each server with the same seed, so that what drifts hits both alike. Called by
//! `companion`'s compare.

/// A ratio with its interval of 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    pub blocks: usize,
}

/// Student's t for 95 %, two-sided, by degrees of freedom 1 to 30.
const T95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The geometric mean of `new/old` over the blocks that both have; with one block there is no interval.
#[must_use]
pub fn ratio_of_blocks(new: &[f64], old: &[f64]) -> Option<Estimate> {
    let pairs = new.iter().zip(old).filter(|(new, old)| **new > 0.0 && **old > 0.0);
    let logs: Vec<f64> = pairs.map(|(new, old)| (new / old).ln()).collect();
    if logs.is_empty() {
        return None;
    }
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    if logs.len() == 1 {
        return Some(Estimate { ratio: mean.exp(), low: 0.0, high: f64::INFINITY, blocks: 1 });
    }
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let t = T95.get(logs.len() - 2).copied().unwrap_or(1.96);
    let half = t * (variance / count).sqrt();
    let (ratio, low, high) = (mean.exp(), (mean - half).exp(), (mean + half).exp());
    Some(Estimate { ratio, low, high, blocks: logs.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_ratio_and_narrows_with_blocks() {
        let old = [100.0, 110.0, 90.0, 105.0];
        let new = [202.0, 216.0, 183.0, 208.0];
        let two = ratio_of_blocks(&new[..2], &old[..2]).unwrap();
        let four = ratio_of_blocks(&new, &old).unwrap();
        assert!(four.low < 2.0 && 2.0 < four.high && (four.ratio - 2.0).abs() < 0.01);
        assert!(four.high - four.low < two.high - two.low);
        assert_eq!(ratio_of_blocks(&[], &[]), None);
        assert_eq!(ratio_of_blocks(&[2.0], &[1.0]).unwrap().low, 0.0);
    }
}
