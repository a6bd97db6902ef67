//! The same graphs as one SVG picture, for documents.
//!
//! Invariant: the picture needs nothing outside itself and reads on a light and on a dark page. Used by `companion`.

use crate::chart::{self, Chart};
use crate::marks::{DASHES, ROW};
use crate::marks::{escape, legend, value_lines};
use crate::panels::Panel;
use crate::scale::Scale;
use crate::subject::{Subject, extent};

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 16.0;
const HEIGHT: f64 = 150.0;
const HEAD: f64 = 26.0;
const FOOT: f64 = 24.0;
/// Told apart by those who do not see all colours; the page has the same.
const STYLE: &str = ":root{--ink:#222;--line:#ddd;--paper:#fff;--soft:#777;--c0:#0072b2;--c1:#d98a00;--c2:#009e73;--c3:#d55e00;\
    --c4:#b0568c;--c5:#3a9bd9;--c6:#8a6d00;--c7:#7a7f85}\
    @media(prefers-color-scheme:dark){:root{--ink:#ddd;--line:#3a3f44;--paper:#181a1b;--soft:#999;--c0:#5ab4f0;--c1:#f0b040;\
    --c2:#3fd0a5;--c3:#ff8a4a;--c4:#e39ac4;--c5:#8fd3ff;--c6:#d8c060;--c7:#a9b0b7}}\
    text{fill:var(--ink)}.grid{stroke:var(--line)}.mark{stroke:var(--soft);stroke-dasharray:2 3}.soft{fill:var(--soft)}\
    polyline{fill:none;stroke-width:1.3}";

/// The picture: charts two by two, then the graphs over time one below the other.
#[must_use]
pub fn svg(charts: &[Chart], panels: &[Panel], subjects: &[Subject]) -> String {
    let extent = extent(subjects);
    let mut body = String::new();
    let mut at = 0.0;
    for pair in charts.chunks(2) {
        for (place, one) in pair.iter().enumerate() {
            body.push_str(&format!("<g transform=\"translate({} {at})\">\n", place as f64 * chart::WIDTH));
            chart::draw(one, &mut body);
            body.push_str("</g>\n");
        }
        at += chart::HEIGHT;
    }
    for panel in panels {
        body.push_str(&format!("<g transform=\"translate(0 {at})\">\n"));
        at += draw(panel, extent.places, extent.step, &extent.marks, &mut body);
        body.push_str("</g>\n");
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {at}\" width=\"{WIDTH}\" height=\"{at}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"var(--paper)\"/>\n{body}</svg>\n"
    )
}

/// Draws one; answers its height.
fn draw(panel: &Panel, places: usize, step: f64, marks: &[(f64, String)], text: &mut String) -> f64 {
    let unit = if panel.unit.is_empty() { String::new() } else { format!(", {}", panel.unit) };
    let title = format!("{}{unit}", panel.title);
    text.push_str(&format!("<text x=\"{LEFT}\" y=\"17\" font-weight=\"600\">{}</text>\n", escape(&title)));
    let names: Vec<(&str, usize, usize)> =
        panel.lines.iter().map(|line| (line.name.as_str(), line.colour, line.dash)).collect();
    let first = LEFT + 30.0 + 7.4 * title.chars().count() as f64;
    let rows = legend(&names, first, LEFT, 17.0, WIDTH - RIGHT, text);
    let head = HEAD + ROW * (rows - 1) as f64;
    let scale =
        Scale::of(panel.lines.iter().flat_map(|line| line.points.iter().flatten().copied()), panel.is_log);
    let y = |value: f64| head + HEIGHT * (1.0 - scale.share(value));
    let x = |place: f64| LEFT + (WIDTH - LEFT - RIGHT) * place / (places.max(2) - 1) as f64;
    value_lines(&scale, (LEFT, WIDTH - RIGHT), y, text);
    for (place, name) in marks {
        text.push_str(&format!(
            "<line class=\"mark\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{head}\" y2=\"{1}\"/>\
             <text class=\"soft\" x=\"{2:.1}\" y=\"{3}\" font-size=\"10\">{4}</text>\n",
            x(*place),
            head + HEIGHT,
            x(*place) + 3.0,
            head + 9.0,
            escape(name)
        ));
    }
    let end = (places.max(2) - 1) as f64 * step;
    let apart = distance(end);
    let mut seconds = 0.0;
    while seconds <= end {
        let at = x(seconds / step);
        let anchor = if at > WIDTH - RIGHT - 20.0 { "end" } else { "middle" };
        text.push_str(&format!(
            "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>\n",
            head + HEIGHT + 15.0,
            time_text(seconds, end)
        ));
        seconds += apart;
    }
    for line in &panel.lines {
        for piece in pieces(&line.points) {
            let points: Vec<String> = piece
                .iter()
                .map(|(place, value)| format!("{:.1},{:.1}", x(*place as f64), y(*value)))
                .collect();
            text.push_str(&format!(
                "<polyline style=\"stroke:var(--c{})\" stroke-dasharray=\"{}\" points=\"{}\"/>\n",
                line.colour % 8,
                DASHES[line.dash % DASHES.len()],
                points.join(" ")
            ));
        }
    }
    head + HEIGHT + FOOT
}

/// Seconds from one mark of the axis to the next, so that there are at most eight.
fn distance(end: f64) -> f64 {
    const STEPS: [f64; 15] = [
        1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 14_400.0,
    ];
    STEPS.into_iter().find(|step| end / step <= 8.0).unwrap_or(43_200.0)
}

fn time_text(seconds: f64, end: f64) -> String {
    let whole = seconds as u64;
    if end < 600.0 {
        return format!("{whole} s");
    }
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{rest:02}") } else { format!("{minutes:02}:{rest:02}") }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_divides_a_line() {
        let points = [None, Some(1.0), Some(2.0), None, None, Some(3.0)];
        assert_eq!(pieces(&points), [vec![(1, 1.0), (2, 2.0)], vec![(5, 3.0)]]);
        assert_eq!(escape("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }

    #[test]
    fn marks_of_time_stand_at_round_seconds() {
        assert_eq!([9.0, 119.0, 540.0, 3599.0, 90_000.0].map(distance), [2.0, 20.0, 120.0, 600.0, 14_400.0]);
        assert_eq!(time_text(40.0, 119.0), "40 s");
        assert_eq!([time_text(600.0, 3599.0), time_text(7200.0, 9000.0)], ["10:00", "2:00:00"]);
    }

    #[test]
    fn names_that_do_not_fit_go_into_another_row() {
        let names = [("a long name of a line", 0, 0), ("another one of them", 1, 1)];
        let mut text = String::new();
        assert_eq!(legend(&names, 10.0, 10.0, 17.0, 1000.0, &mut text), 1);
        assert_eq!(legend(&names, 10.0, 10.0, 17.0, 250.0, &mut text), 2);
    }
}
