//! The seconds of a subject, and the values of a name for each.
//!
//! Invariant: a place of the grid has a value only if there was a sample in it (and, for rates, one before it that was
//! not too long ago). Used by `panels` and `dips`.

use recording::Recording;

/// More places than this are not drawn; the step grows instead.
const PLACES_MAX: u64 = 14_400;
/// Samples further apart than so many steps have a gap between them.
const APART_MAX: u64 = 2;

/// Equal steps of time from a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Milliseconds since 1970.
    pub start: u64,
    /// Milliseconds.
    pub step: u64,
    pub places: usize,
}

/// A value for each place of a grid.
pub type Points = Vec<Option<f64>>;

impl Grid {
    /// From the first to the last sample, or the seconds of the run if there is one.
    pub fn of(recording: &Recording) -> Self {
        let times = recording.server_times.iter().chain(&recording.host_times);
        let number = |second: &serde_json::Value| second.get("at").and_then(serde_json::Value::as_u64);
        // A run's second is known by its end.
        let ends: Vec<u64> = recording.seconds.iter().filter_map(number).collect();
        let (first, last) = match (ends.first(), ends.last()) {
            (Some(first), Some(last)) => (first.saturating_sub(1000), *last),
            _ => (times.clone().min().copied().unwrap_or(0), times.max().copied().unwrap_or(0)),
        };
        let seconds = (last.saturating_sub(first) / 1000).max(1);
        let step = seconds.div_ceil(PLACES_MAX) * 1000;
        Self { start: first, step, places: (last.saturating_sub(first)).div_ceil(step).max(1) as usize }
    }

    /// The place of a time.
    pub fn place(&self, time: u64) -> Option<usize> {
        let place = time.checked_sub(self.start)? / self.step;
        (place < self.places as u64).then_some(place as usize)
    }

    /// The last value of a gauge in each place.
    pub fn gauge(&self, recording: &Recording, name: &str, times: &[u64]) -> Points {
        let mut points = vec![None; self.places];
        // A state that nobody is in is not told at all.
        let is_count = name.starts_with("state.");
        if recording.series.contains_key(name) {
            for &time in times {
                if let Some(place) = self.place(time) {
                    points[place] = recording.at(name, time).or(is_count.then_some(0.0));
                }
            }
        }
        points
    }

    /// How much a counter grew per second, place by place.
    pub fn rate(&self, recording: &Recording, name: &str, times: &[u64]) -> Points {
        let mut points = vec![None; self.places];
        let mut counts = vec![0_u32; self.places];
        if !recording.series.contains_key(name) {
            return points;
        }
        for pair in times.windows(2) {
            let Some(place) = self.place(pair[1]) else { continue };
            if pair[1] - pair[0] > APART_MAX * self.step.max(1000) {
                continue;
            }
            if let Some(rate) = recording.rate(name, pair[0], pair[1]) {
                let count = f64::from(counts[place]);
                points[place] = Some((points[place].unwrap_or(0.0) * count + rate) / (count + 1.0));
                counts[place] += 1;
            }
        }
        points
    }
}

/// Place by place, where both have a value.
pub fn combine(left: &Points, right: &Points, with: impl Fn(f64, f64) -> Option<f64>) -> Points {
    left.iter().zip(right).map(|(left, right)| with((*left)?, (*right)?)).collect()
}

/// Each value changed.
pub fn scale(points: &Points, factor: f64) -> Points {
    points.iter().map(|point| point.map(|value| value * factor)).collect()
}

/// The sum of those that have a value.
pub fn sum(all: &[Points], places: usize) -> Points {
    (0..places)
        .map(|place| {
            let there: Vec<f64> = all.iter().filter_map(|points| points[place]).collect();
            (!there.is_empty()).then(|| there.iter().sum())
        })
        .collect()
}

/// The middle value of those that are there.
pub fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// The median, or where most values are zero that of the others: it stands for what is usual while there is work.
pub fn usual(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let middle = median(values.clone())?;
    if middle > 0.0 { Some(middle) } else { median(values.filter(|value| *value > 0.0)).or(Some(middle)) }
}

#[cfg(test)]
mod tests {
    use recording::Values;

    use super::*;

    #[test]
    fn a_gap_is_a_hole_and_a_rate_needs_two_samples() {
        let mut recording = Recording::default();
        for (at, count) in [(1000, 10.0), (2000, 30.0), (3000, 40.0), (8000, 90.0), (9000, 95.0)] {
            recording.add_sample(true, at, Values::from([("Questions".into(), count)]));
        }
        let grid = Grid::of(&recording);
        let points = grid.rate(&recording, "Questions", &recording.server_times);
        assert_eq!(grid.places, 8);
        assert_eq!(points[..3], [None, Some(20.0), Some(10.0)]);
        assert!(points[3..].iter().all(|point| point.is_none() || *point == Some(5.0)), "{points:?}");
        assert_eq!(usual([0.0, 0.0, 0.0, 7.0, 9.0].into_iter()), Some(9.0));
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
    }
}
