//! The seconds below half of the median, each with what changed most in it.
//!
//! Invariant: what merely fell with the throughput is not named while something rose. Used by `page` and `companion`.

use std::cmp::Ordering;

use crate::causes::Causes;
use crate::grid::{Points, median};
use crate::low_places::{SCORE_MIN, low_places};
use crate::number_text::short;
use crate::panels::panels;
use crate::subject::Subject;

const CHANGES_SHOWN: usize = 3;

/// One low second.
#[derive(Debug, Clone, PartialEq)]
pub struct Dip {
    /// Seconds since the grid's start.
    pub second: f64,
    pub throughput: f64,
    pub median: f64,
    /// The cause, where what was recorded tells it.
    pub cause: Option<String>,
    /// What changed most, in words.
    pub changes: Vec<String>,
}

struct Usual {
    name: String,
    points: Points,
    median: f64,
    spread: f64,
}

/// All low seconds of the measured part.
#[must_use]
pub fn dips(subject: &Subject) -> Vec<Dip> {
    let throughput = subject.throughput();
    let low = low_places(subject);
    if low.is_empty() {
        return Vec::new();
    }
    let others = usual_values(subject);
    let causes = Causes::new(subject);
    let dip = |(place, usual): (usize, f64)| Dip {
        second: place as f64 * subject.grid.step as f64 / 1000.0,
        throughput: throughput[place].unwrap_or(0.0),
        median: usual,
        cause: causes.of(place),
        changes: causes.unanswered(place).into_iter().chain(changes(&others, place)).collect(),
    };
    low.into_iter().map(dip).collect()
}

fn usual_values(subject: &Subject) -> Vec<Usual> {
    let mut usual = Vec::new();
    let hidden = ["Throughput", "Latency", "Statements at the server"];
    for panel in
        panels(std::slice::from_ref(subject)).into_iter().filter(|panel| !hidden.contains(&panel.title))
    {
        for line in panel.lines {
            let values = || line.points.iter().flatten().copied();
            let Some(middle) = median(values()) else { continue };
            let deviation = median(values().map(|value| (value - middle).abs())).unwrap_or(0.0);
            let largest = values().fold(0.0, f64::max);
            // Something that hardly ever moves still needs to move by a share of its size to count.
            let spread = (1.4826 * deviation).max(0.05 * middle.abs()).max(0.02 * largest);
            let unit = if panel.unit.is_empty() { String::new() } else { format!(" ({})", panel.unit) };
            let name = format!("{}: {}{unit}", panel.title, line.name);
            usual.push(Usual { name, points: line.points, median: middle, spread });
        }
    }
    usual
}

fn changes(usual: &[Usual], place: usize) -> Vec<String> {
    let mut found: Vec<(bool, f64, String)> = Vec::new();
    for one in usual {
        let Some(value) = one.points[place] else { continue };
        if one.spread <= 0.0 {
            continue;
        }
        let score = (value - one.median) / one.spread;
        if score.abs() >= SCORE_MIN {
            let text = format!("{} {} → {}", one.name, short(one.median), short(value));
            found.push((score > 0.0, score.abs(), text));
        }
    }
    found.sort_by(|left, right| match right.0.cmp(&left.0) {
        Ordering::Equal => right.1.total_cmp(&left.1),
        other => other,
    });
    found.into_iter().take(CHANGES_SHOWN).map(|(_, _, text)| text).collect()
}

#[cfg(test)]
mod tests {
    use recording::{Recording, Values};

    use super::*;

    #[test]
    fn each_part_is_measured_by_its_own_median() {
        let mut recording = Recording::default();
        let line = |place: u64, events: u64| serde_json::json!({"t": place, "at": (place + 1) * 1000, "events": events, "length": 1.0});
        let events = [100, 100, 40, 100, 1000, 1000, 1000, 400];
        recording.seconds =
            events.iter().enumerate().map(|(place, events)| line(place as u64, *events)).collect();
        let low = |recording: &Recording| low_places(&Subject::new("s", recording.clone()));
        recording.marks = vec![(0, "8".into()), (4000, "64".into())];
        assert_eq!(low(&recording), [(2, 100.0), (7, 1000.0)]);
        recording.marks.clear();
        assert_eq!(low(&recording).len(), 4, "one median of all");
    }

    #[test]
    fn a_dip_names_what_rose() {
        let mut recording = Recording::default();
        let (mut questions, mut reads, mut requests) = (0.0, 0.0, 0.0);
        for second in 0..40_u32 {
            let is_dip = second == 20;
            questions += if is_dip { 100.0 } else { 1000.0 };
            reads += if is_dip { 5000.0 } else { 10.0 + f64::from(second % 3) };
            requests += if is_dip { 5000.0 } else { 10_000.0 };
            let values = [
                ("Questions", questions),
                ("Innodb_buffer_pool_reads", reads),
                ("Innodb_buffer_pool_read_requests", requests),
            ];
            let values = values.map(|(name, value)| (name.to_owned(), value));
            recording.add_sample(true, u64::from(second) * 1000, Values::from(values));
        }
        let found = dips(&Subject::new("x", recording));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].second, 20.0);
        assert!(found[0].changes[0].starts_with("Reads of pages: missed the pool"), "{:?}", found[0]);
    }
}
