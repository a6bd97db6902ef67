//! Parts that charts and panels share: legends, lines of values, text made safe for SVG.
use crate::scale::Scale;

/// Names with their colours and dashes, in rows up to `right`; answers how many rows. Each is a name, a colour, a dash.
pub(crate) fn legend(
    names: &[(&str, usize, usize)],
    first: f64,
    left: f64,
    y: f64,
    right: f64,
    text: &mut String,
) -> usize {
    let (mut x, mut row) = (first, 0);
    for (name, colour, dash) in names {
        let width = 30.0 + 6.8 * name.chars().count() as f64;
        if x + width > right && x > left {
            (x, row) = (left, row + 1);
        }
        let line = y + ROW * row as f64;
        text.push_str(&format!(
            "<polyline style=\"stroke:var(--c{});stroke-width:3\" stroke-dasharray=\"{}\" points=\"{x:.0},{2} {3:.0},{2}\"/>\
             <text x=\"{4:.0}\" y=\"{line}\">{5}</text>\n",
            colour % 8,
            DASHES[dash % DASHES.len()],
            line - 4.0,
            x + 14.0,
            x + 18.0,
            escape(name)
        ));
        x += width;
    }
    row + 1
}

/// A line across a graph for each mark of its values, with its text before it.
pub(crate) fn value_lines(
    scale: &Scale,
    (left, right): (f64, f64),
    y: impl Fn(f64) -> f64,
    text: &mut String,
) {
    for (value, mark) in &scale.marks {
        text.push_str(&format!(
            "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{0:.1}\" y2=\"{0:.1}\"/>\
             <text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{mark}</text>\n",
            y(*value),
            left - 6.0,
            y(*value) + 4.0,
        ));
    }
}

/// Text as HTML and SVG have it.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Height of one more row of names.
pub const ROW: f64 = 16.0;

/// Dashes and pauses of the second, third .. line of a subject.
pub const DASHES: [&str; 4] = ["", "5 3", "1.5 2.5", "9 3 2 3"];
