//! Medians and other places in a list of measurements, and the memory of a process.

use std::time::Duration;

/// The value that `part` (0 to 1) of the values do not exceed; 0 of none.
pub fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len().saturating_sub(1) as f64 * part).round() as usize;
    values.get(place).copied().unwrap_or(0.0)
}

pub fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// What a process of this machine has in memory.
pub fn resident_mib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_of_the_list() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(quantile(&mut [4.0, 1.0, 2.0, 3.0], 1.0), 4.0);
        assert_eq!(quantile(&mut [4.0, 1.0], 0.0), 1.0);
        assert_eq!(median(&mut []), 0.0);
    }
}
