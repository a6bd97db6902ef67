//! All lines of all graphs as one table of comma-separated values, a row for each second.
//!
//! Invariant: a hole is an empty cell. Used by `companion`.

use crate::panels::panels;
use crate::subject::Subject;

/// The table.
#[must_use]
pub fn csv(subjects: &[Subject]) -> String {
    let panels = panels(subjects);
    let lines: Vec<_> =
        panels.iter().flat_map(|panel| panel.lines.iter().map(move |line| (panel, line))).collect();
    let mut text = String::from("second");
    for (panel, line) in &lines {
        let unit = if panel.unit.is_empty() { String::new() } else { format!(" ({})", panel.unit) };
        text.push_str(&format!(",\"{}: {}{unit}\"", panel.title, line.name.replace('"', "'")));
    }
    text.push('\n');
    let places = subjects.iter().map(|subject| subject.grid.places).max().unwrap_or(0);
    let step = subjects.iter().map(|subject| subject.grid.step).max().unwrap_or(1000) as f64 / 1000.0;
    for place in 0..places {
        text.push_str(&format!("{}", place as f64 * step));
        for (_, line) in &lines {
            match line.points.get(place).copied().flatten() {
                Some(value) => text.push_str(&format!(",{}", (value * 1000.0).round() / 1000.0)),
                None => text.push(','),
            }
        }
        text.push('\n');
    }
    text
}
