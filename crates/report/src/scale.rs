//! The vertical axis of a drawing: from where to where it goes, and its marks with their texts.
//!
//! Invariant: every value of the lines lies within it, and marks are numbers that people like to read. Used by `svg`
//! and `chart`; the page's script does the same for what one zooms into.

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    low: f64,
    top: f64,
    is_log: bool,
    /// Values and what stands beside them.
    pub marks: Vec<(f64, String)>,
}

impl Scale {
    /// The axis for these values, which are not negative.
    pub fn of(values: impl Iterator<Item = f64> + Clone, is_log: bool) -> Self {
        let top = values.clone().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let low = values.filter(|value| *value > 0.0).fold(top, f64::min);
        if is_log && low < top {
            let (low, top) = (10_f64.powf(low.log10().floor()), 10_f64.powf(top.log10().ceil()));
            let powers = (0..).map(|power| low * 10_f64.powi(power)).take_while(|mark| *mark <= top * 1.01);
            let marks = powers.map(|mark| (mark, power_text(mark))).collect();
            return Self { low, top, is_log, marks };
        }
        let (top, parts) = if top > 0.0 { round_up(top) } else { (1.0, 4) };
        let marks: Vec<f64> = (0..=parts).map(|mark| top * f64::from(mark) / f64::from(parts)).collect();
        let texts = texts(&marks);
        Self { low: 0.0, top, is_log: false, marks: marks.into_iter().zip(texts).collect() }
    }

    /// How high a value lies: 0 is the lower end, 1 the upper one.
    pub fn share(&self, value: f64) -> f64 {
        let share = if self.is_log {
            (value.max(self.low) / self.low).ln() / (self.top / self.low).ln()
        } else {
            value / self.top
        };
        share.clamp(0.0, 1.0)
    }
}

/// The next number with one digit that matters, or a half of it, and into how many parts it divides well.
fn round_up(top: f64) -> (f64, u32) {
    let power = 10_f64.powf(top.log10().floor());
    let steps =
        [(1.0, 4), (1.2, 3), (1.5, 3), (2.0, 4), (2.5, 5), (3.0, 3), (4.0, 4), (5.0, 5), (6.0, 3), (8.0, 4)];
    let (step, parts) = steps.into_iter().find(|(step, _)| step * power >= top).unwrap_or((10.0, 5));
    (step * power, parts)
}

fn power_text(mark: f64) -> String {
    if mark < 1.0 {
        format!("{mark:.*}", (-mark.log10()).round() as usize)
    } else if mark < 1e4 {
        format!("{mark:.0}")
    } else {
        format!("{:.0}k", mark / 1e3)
    }
}

/// Marks of one axis share a unit and as many digits as tell them apart.
fn texts(marks: &[f64]) -> Vec<String> {
    let top = marks.last().copied().unwrap_or(0.0);
    let units = [(1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"), (0.0, 1.0, "")];
    let (_, unit, sign) = units.into_iter().find(|(from, ..)| top >= *from).unwrap_or((0.0, 1.0, ""));
    let is_exact = |digits: &usize| {
        let factor = 10_f64.powi(*digits as i32);
        marks
            .iter()
            .all(|mark| ((mark / unit * factor).round() / factor - mark / unit).abs() <= mark / unit * 1e-9)
    };
    let digits = (0..6).find(is_exact).unwrap_or(6);
    let text = |mark: &f64| match *mark {
        0.0 => "0".to_owned(),
        mark => format!("{:.digits$}{sign}", mark / unit),
    };
    marks.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(values: &[f64], is_log: bool) -> Vec<String> {
        Scale::of(values.iter().copied(), is_log).marks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn marks_are_round_and_values_lie_within() {
        assert_eq!(marks(&[3.0, 341.0], false), ["0", "100", "200", "300", "400"]);
        assert_eq!(marks(&[11_800.0], false), ["0", "4k", "8k", "12k"]);
        assert_eq!(marks(&[0.07], false), ["0", "0.02", "0.04", "0.06", "0.08"]);
        assert_eq!(marks(&[0.4, 25.0, 2500.0], true), ["0.1", "1", "10", "100", "1000", "10k"]);
        assert_eq!(marks(&[], false), ["0", "0.25", "0.50", "0.75", "1.00"]);
        let scale = Scale::of([1.0, 100.0].into_iter(), true);
        assert_eq!(
            [scale.share(1.0), scale.share(10.0), scale.share(100.0), scale.share(0.0)],
            [0.0, 0.5, 1.0, 0.0]
        );
    }
}
