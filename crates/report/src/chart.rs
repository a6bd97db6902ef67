//! A graph over levels instead of seconds: what several servers do with ever more connections.
//!
//! Invariant: levels stand at equal distances, whatever their numbers. Drawn into the page and into pictures.

use crate::marks::{escape, legend, value_lines};
use crate::scale::Scale;

/// Lines over levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    pub title: String,
    pub unit: String,
    /// What the levels count.
    pub across: String,
    pub levels: Vec<String>,
    /// Names and a value for each level.
    pub lines: Vec<(String, Vec<Option<f64>>)>,
}

/// A chart's size in pictures, with its head and foot.
pub(crate) const WIDTH: f64 = 500.0;
pub(crate) const HEIGHT: f64 = 260.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 14.0;
const FOOT: f64 = 40.0;

/// The drawing, without the element that holds it.
pub(crate) fn draw(chart: &Chart, text: &mut String) {
    let unit = if chart.unit.is_empty() { String::new() } else { format!(", {}", chart.unit) };
    text.push_str(&format!(
        "<text x=\"{LEFT}\" y=\"17\" font-weight=\"600\">{}{unit}</text>\n",
        escape(&chart.title)
    ));
    let names: Vec<(&str, usize, usize)> =
        chart.lines.iter().enumerate().map(|(number, (name, _))| (name.as_str(), number, 0)).collect();
    let rows = legend(&names, LEFT, LEFT, 33.0, WIDTH - RIGHT, text);
    let head = 26.0 + 16.0 * rows as f64;
    let height = HEIGHT - head - FOOT;
    let scale = Scale::of(chart.lines.iter().flat_map(|(_, values)| values.iter().flatten().copied()), false);
    let y = |value: f64| head + height * (1.0 - scale.share(value));
    let width = WIDTH - LEFT - RIGHT;
    let x = |level: usize| LEFT + width * (level as f64 + 0.5) / chart.levels.len().max(1) as f64;
    value_lines(&scale, (LEFT, WIDTH - RIGHT), y, text);
    for (place, level) in chart.levels.iter().enumerate() {
        text.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            x(place),
            HEIGHT - FOOT + 16.0,
            escape(level)
        ));
    }
    text.push_str(&format!(
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
        LEFT + width / 2.0,
        HEIGHT - 7.0,
        escape(&chart.across)
    ));
    for (number, (_, values)) in chart.lines.iter().enumerate() {
        let there =
            || values.iter().enumerate().filter_map(|(place, value)| value.map(|value| (place, value)));
        let points: Vec<String> =
            there().map(|(place, value)| format!("{:.1},{:.1}", x(place), y(value))).collect();
        let colour = number % 8;
        text.push_str(&format!(
            "<polyline style=\"stroke:var(--c{colour})\" points=\"{}\"/>\n",
            points.join(" ")
        ));
        for (place, value) in there() {
            text.push_str(&format!(
                "<circle style=\"fill:var(--c{colour})\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/>\n",
                x(place),
                y(value)
            ));
        }
    }
}

/// The chart as an element of a page, which gives it its colours.
pub(crate) fn inline(chart: &Chart) -> String {
    let mut text = format!(
        "<div class=\"graph\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
        escape(&chart.title)
    );
    draw(chart, &mut text);
    text.push_str("</svg></div>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_stand_at_equal_distances_and_a_missing_one_is_left_out() {
        let chart = Chart {
            title: "Transactions <8>".into(),
            unit: "per s".into(),
            across: "connections".into(),
            levels: ["8", "16", "1024"].map(str::to_owned).to_vec(),
            lines: vec![("a".into(), vec![Some(10.0), None, Some(40.0)])],
        };
        let drawn = inline(&chart);
        assert!(drawn.contains("Transactions &lt;8&gt;, per s"), "{drawn}");
        assert_eq!(drawn.matches("<circle").count(), 2);
        let third = LEFT + (WIDTH - LEFT - RIGHT) * 2.5 / 3.0;
        assert!(drawn.contains(&format!("cx=\"{third:.1}\"")), "{drawn}");
    }
}
