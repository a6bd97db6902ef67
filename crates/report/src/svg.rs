//! The same graphs as one SVG picture, for documents.
//!
//! Invariant: the picture needs nothing outside itself and reads on a light and on a dark page. Used by `companion`.

use crate::dips::short;
use crate::panels::{Panel, panels};
use crate::subject::Subject;

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 16.0;
const HEIGHT: f64 = 150.0;
const HEAD: f64 = 26.0;
const FOOT: f64 = 24.0;
/// Told apart by those who do not see all colours; the page has the same.
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a6d00", "#7f7f7f"];

/// The picture.
#[must_use]
pub fn svg(subjects: &[Subject]) -> String {
    let panels = panels(subjects);
    let places = subjects.iter().map(|subject| subject.grid.places).max().unwrap_or(1);
    let step = subjects.iter().map(|subject| subject.grid.step).max().unwrap_or(1000) as f64 / 1000.0;
    let each = HEAD + HEIGHT + FOOT;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {0}\" width=\"{WIDTH}\" height=\"{0}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <style>:root{{--ink:#222;--line:#ddd;--paper:#fff}}\
         @media(prefers-color-scheme:dark){{:root{{--ink:#ddd;--line:#444;--paper:#181a1b}}}}\
         text{{fill:var(--ink)}}.grid{{stroke:var(--line)}}polyline{{fill:none;stroke-width:1.3}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"var(--paper)\"/>\n",
        each * panels.len() as f64
    );
    for (number, panel) in panels.iter().enumerate() {
        text.push_str(&format!("<g transform=\"translate(0 {})\">\n", number as f64 * each));
        draw(panel, places, step, &mut text);
        text.push_str("</g>\n");
    }
    text.push_str("</svg>\n");
    text
}

fn draw(panel: &Panel, places: usize, step: f64, text: &mut String) {
    let unit = if panel.unit.is_empty() { String::new() } else { format!(", {}", panel.unit) };
    text.push_str(&format!(
        "<text x=\"{LEFT}\" y=\"17\" font-weight=\"600\">{}{unit}</text>\n",
        escape(panel.title)
    ));
    let values = || panel.lines.iter().flat_map(|line| line.points.iter().flatten().copied());
    let top = values().fold(0.0, f64::max).max(1e-9);
    let bottom = if panel.is_log { values().filter(|value| *value > 0.0).fold(top, f64::min) } else { 0.0 };
    let y = |value: f64| {
        let share = if panel.is_log {
            let span = (top / bottom).ln().max(1e-9);
            (value.max(bottom) / bottom).ln() / span
        } else {
            value / top
        };
        HEAD + HEIGHT * (1.0 - share.clamp(0.0, 1.0))
    };
    let x = |place: usize| LEFT + (WIDTH - LEFT - RIGHT) * place as f64 / (places.max(2) - 1) as f64;
    for mark in 0..=2 {
        let share = f64::from(mark) / 2.0;
        let value = if panel.is_log { bottom * (top / bottom).powf(share) } else { top * share };
        text.push_str(&format!(
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{1:.1}\" y2=\"{1:.1}\"/>\
             <text x=\"{2}\" y=\"{3:.1}\" text-anchor=\"end\">{4}</text>\n",
            WIDTH - RIGHT,
            y(value),
            LEFT - 6.0,
            y(value) + 4.0,
            short(value)
        ));
    }
    for mark in 0..=5 {
        let place = (places.max(2) - 1) * mark / 5;
        let anchor = if mark == 5 { "end" } else { "middle" };
        text.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{} s</text>\n",
            x(place),
            HEAD + HEIGHT + 15.0,
            short(place as f64 * step)
        ));
    }
    let mut at = LEFT + 260.0;
    for (number, line) in panel.lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        text.push_str(&format!(
            "<rect x=\"{at}\" y=\"8\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"{}\" y=\"17\">{}</text>\n",
            at + 14.0,
            escape(&line.name)
        ));
        at += 34.0 + 6.6 * line.name.chars().count() as f64;
        for piece in pieces(&line.points) {
            let points: Vec<String> =
                piece.iter().map(|(place, value)| format!("{:.1},{:.1}", x(*place), y(*value))).collect();
            text.push_str(&format!("<polyline stroke=\"{colour}\" points=\"{}\"/>\n", points.join(" ")));
        }
    }
}

/// The points between holes.
fn pieces(points: &[Option<f64>]) -> Vec<Vec<(usize, f64)>> {
    let mut pieces = vec![Vec::new()];
    for (place, point) in points.iter().enumerate() {
        match point {
            Some(value) => pieces.last_mut().expect("there is a first piece").push((place, *value)),
            None if pieces.last().is_some_and(|piece| !piece.is_empty()) => pieces.push(Vec::new()),
            None => {}
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Text as HTML and SVG have it.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_divides_a_line() {
        let points = [None, Some(1.0), Some(2.0), None, None, Some(3.0)];
        assert_eq!(pieces(&points), [vec![(1, 1.0), (2, 2.0)], vec![(5, 3.0)]]);
        assert_eq!(escape("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }
}
