//! Which rows a workload asks for: uniform, special, pareto, zipf, sequential or latest.
//!
//! Invariant: every number drawn is one of `1..=rows`; special and pareto are sysbench 1.0.20's formulas with its
//! default parameters. Used by the sessions of all workloads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::random::Random;

/// The name of a distribution, with its parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// Every row alike.
    Uniform,
    /// Three of four requests go to the one percent of rows in the middle, the others about the middle.
    Special,
    /// A share `0.2` of the rows gets `0.8` of the requests, and so on within it.
    Pareto(f64),
    /// The n-th row is asked for in proportion to `1/n^s`.
    Zipf(f64),
    /// As `Zipf`, with the hot rows spread over the table.
    Scattered(f64),
    /// One after the other, by all sessions together.
    Sequential,
    /// As `Zipf` from the newest row backwards.
    Latest(f64),
}

impl Shape {
    /// Reads `zipf`, `zipf:0.9` and so on.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, parameter) = text.split_once(':').unwrap_or((text, ""));
        let number = |default: f64| match parameter {
            "" => Ok(default),
            text => match text.parse() {
                Ok(number) if number > 0.0 && number < 10.0 => Ok(number),
                _ => Err(format!("{text} is not a parameter of {name}")),
            },
        };
        Ok(match name {
            "uniform" => Self::Uniform,
            "special" => Self::Special,
            "pareto" => Self::Pareto(number(0.2)?.min(0.99)),
            "zipf" | "zipfian" => Self::Zipf(number(0.8)?),
            "scattered" => Self::Scattered(number(0.99)?),
            "sequential" => Self::Sequential,
            "latest" => Self::Latest(number(0.99)?),
            _ => {
                return Err(format!(
                    "{name} is none of uniform, special, pareto, zipf, scattered, sequential, latest"
                ));
            }
        })
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uniform => out.write_str("uniform"),
            Self::Special => out.write_str("special"),
            Self::Pareto(h) => write!(out, "pareto:{h}"),
            Self::Zipf(s) => write!(out, "zipf:{s}"),
            Self::Scattered(s) => write!(out, "scattered:{s}"),
            Self::Sequential => out.write_str("sequential"),
            Self::Latest(s) => write!(out, "latest:{s}"),
        }
    }
}

/// A shape over a number of rows.
#[derive(Debug, Clone)]
pub struct Distribution {
    shape: Shape,
    rows: u64,
    zipf: Option<Zipf>,
    next: Arc<AtomicU64>,
}

impl Distribution {
    #[must_use]
    pub fn new(shape: Shape, rows: u64) -> Self {
        let rows = rows.max(1);
        let zipf = match shape {
            Shape::Zipf(s) | Shape::Scattered(s) | Shape::Latest(s) => Some(Zipf::new(rows, s)),
            _ => None,
        };
        Self { shape, rows, zipf, next: Arc::default() }
    }

    /// A row's number.
    pub fn draw(&self, random: &mut Random) -> i64 {
        self.draw_newest(random, self.rows)
    }

    /// A row's number where rows up to `newest` exist by now (`latest` counts from there).
    pub fn draw_newest(&self, random: &mut Random, newest: u64) -> i64 {
        let rows = self.rows;
        let rank = match self.shape {
            Shape::Uniform => random.below(rows),
            Shape::Special => special(random, rows),
            Shape::Pareto(h) => {
                let power = h.ln() / (1.0 - h).ln();
                (rows as f64 * random.fraction().powf(power)) as u64
            }
            Shape::Sequential => self.next.fetch_add(1, Ordering::Relaxed) % rows,
            Shape::Zipf(_) | Shape::Latest(_) | Shape::Scattered(_) => {
                self.zipf.as_ref().map_or(0, |zipf| zipf.draw(random) - 1)
            }
        };
        let row = match self.shape {
            Shape::Latest(_) => newest.saturating_sub(rank),
            Shape::Scattered(_) => scatter(rank) % rows + 1,
            _ => rank.min(rows - 1) + 1,
        };
        row.max(1) as i64
    }
}

fn special(random: &mut Random, rows: u64) -> u64 {
    const TURNS: u32 = 12;
    let rows = rows as f64;
    let drawn = random.fraction() * rows * 4.0;
    if drawn < rows {
        let sum: f64 = (0..TURNS).map(|_| random.fraction()).sum();
        return (sum * rows / f64::from(TURNS)) as u64;
    }
    let width = (rows / 100.0).max(1.0);
    (drawn % width + rows / 2.0 - width / 2.0).max(0.0) as u64
}

/// FNV-1a of the rank, as YCSB spreads its hot rows.
fn scatter(rank: u64) -> u64 {
    rank.to_le_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Zipf by rejection-inversion (W. Hörmann, G. Derflinger, 1996): no table, a constant time per number.
#[derive(Debug, Clone)]
struct Zipf {
    rows: f64,
    exponent: f64,
    integral_first: f64,
    integral_rows: f64,
    accepted: f64,
}

impl Zipf {
    fn new(rows: u64, exponent: f64) -> Self {
        let mut zipf =
            Self { rows: rows as f64, exponent, integral_first: 0.0, integral_rows: 0.0, accepted: 0.0 };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_rows = zipf.integral(zipf.rows + 0.5);
        zipf.accepted = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.integral_rows + random.fraction() * (self.integral_first - self.integral_rows);
            let place = self.inverse(area);
            let rank = (place + 0.5).floor().clamp(1.0, self.rows);
            if rank - place <= self.accepted || area >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let power = (1.0 - self.exponent) * log;
        if power.abs() < 1e-8 { log } else { power.exp_m1() / power * log }
    }

    fn inverse(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        let share = if t.abs() < 1e-8 { 1.0 } else { t.ln_1p() / t };
        (share * area).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_stays_within_the_table() {
        let names =
            ["uniform", "special", "pareto", "zipf:0.9", "zipf:1", "scattered", "sequential", "latest:1.2"];
        let mut random = Random::new(3, 1);
        for name in names {
            let shape = Shape::parse(name).unwrap();
            assert_eq!(Shape::parse(&shape.to_string()), Ok(shape));
            for rows in [1, 2, 1000] {
                let distribution = Distribution::new(shape, rows);
                for _ in 0..2000 {
                    assert!((1..=rows as i64).contains(&distribution.draw(&mut random)), "{name} of {rows}");
                }
            }
        }
        assert!(Shape::parse("round").is_err());
        assert!(Shape::parse("zipf:x").is_err());
    }

    fn share(name: &str, hot: std::ops::RangeInclusive<i64>) -> f64 {
        let distribution = Distribution::new(Shape::parse(name).unwrap(), 10_000);
        let mut random = Random::new(11, 4);
        let hits = (0..50_000).filter(|_| hot.contains(&distribution.draw(&mut random))).count();
        hits as f64 / 50_000.0
    }

    #[test]
    fn shares_are_what_the_names_promise() {
        assert!((share("uniform", 1..=1000) - 0.1).abs() < 0.01);
        assert!((share("pareto", 1..=2000) - 0.8).abs() < 0.01);
        // 1/H(10000) of the requests go to the first row when s is 1.
        assert!((share("zipf:1", 1..=1) - 0.1022).abs() < 0.005);
        assert!(share("special", 4951..=5050) > 0.75);
        assert!((share("latest:1", 10_000..=10_000) - 0.1022).abs() < 0.005);
    }
}
