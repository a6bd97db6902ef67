//! The HTML page: figures, graphs with one zoom, dips, and what the server and its host are.
//!
//! Invariant: the page asks for nothing outside itself, and every text from a server is escaped. Used by `companion`.

use recording::Unseen;
use serde_json::{Value, json};

use crate::chart::{self, Chart};
use crate::dips::{Dip, dips};
use crate::grid::usual;
use crate::low_places::low_places;
use crate::marks::escape;
use crate::number_text::short;
use crate::panels::panels;
use crate::subject::{Subject, extent};

const DIPS_SHOWN: usize = 200;

/// A table of text; all columns but the first are numbers.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pub title: String,
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// What stands above the graphs over time.
#[derive(Debug, Clone, Default)]
pub struct Page<'a> {
    pub title: &'a str,
    /// A sentence that stands first, as of a comparison.
    pub verdict: Option<&'a str>,
    pub charts: &'a [Chart],
    pub tables: &'a [Table],
}

/// The page.
#[must_use]
pub fn html(page: &Page<'_>, subjects: &[Subject]) -> String {
    let Page { title, verdict, charts, tables } = *page;
    let mut body = format!(
        "<header><div><h1>{}</h1><p class=\"note\" id=\"where\"></p></div>\
         <button id=\"theme\" type=\"button\">light / dark</button></header>\n",
        escape(title)
    );
    if let Some(verdict) = verdict {
        body.push_str(&format!("<p class=\"verdict\">{}</p>\n", escape(verdict)));
    }
    if !charts.is_empty() {
        let charts: Vec<String> = charts.iter().map(chart::inline).collect();
        body.push_str(&format!("<section class=\"graphs\">{}</section>\n", charts.concat()));
    }
    for table in tables {
        put_table(table, &mut body);
    }
    for subject in subjects {
        if subjects.len() > 1 {
            body.push_str(&format!("<h2>{}</h2>\n", escape(&subject.name)));
        }
        figures(subject, &mut body);
    }
    body.push_str("<section class=\"graphs\" id=\"graphs\"></section>\n");
    for subject in subjects {
        let name = if subjects.len() > 1 { format!(" of {}", escape(&subject.name)) } else { String::new() };
        dip_table(subject, &name, &mut body);
        kinds(subject, &name, &mut body);
        gaps(subject, &name, &mut body);
        machine(subject, &name, &mut body);
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{}</title>\n\
         <style>{}</style></head>\n<body>\n{body}\n<script>let PAGE = {};\n{}</script>\n</body></html>\n",
        escape(title),
        include_str!("assets/page.css"),
        // A closing tag inside a text would end the script.
        data(subjects).to_string().replace("</", "<\\/"),
        include_str!("assets/page.js"),
    )
}

fn put_table(table: &Table, body: &mut String) {
    body.push_str(&format!("<h2>{}</h2>\n<div class=\"scroll\"><table><tr>", escape(&table.title)));
    let class = |column: usize| if column == 0 { "" } else { " class=\"n\"" };
    for (column, name) in table.head.iter().enumerate() {
        body.push_str(&format!("<th{}>{}</th>", class(column), escape(name)));
    }
    body.push_str("</tr>\n");
    for row in &table.rows {
        body.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            body.push_str(&format!("<td{}>{}</td>", class(column), escape(cell)));
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</table></div>\n");
}

/// A page whose graphs and tables come anew each second from `/data` of whoever serves it.
#[must_use]
pub fn live_html(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{0}</title>\n\
         <style>{1}</style></head>\n<body>\n<header><div><h1>{0}</h1><p class=\"note\" id=\"where\"></p></div>\
         <button id=\"theme\" type=\"button\">light / dark</button></header>\n<p id=\"state\" class=\"verdict\"></p>\n\
         <section class=\"graphs\" id=\"graphs\"></section>\n<div id=\"tables\"></div>\n\
         <script>let PAGE = {2};\n{3}\n{4}</script>\n</body></html>\n",
        escape(title),
        include_str!("assets/page.css"),
        data(&[]),
        include_str!("assets/page.js"),
        include_str!("assets/live.js"),
    )
}

/// What the script draws.
#[must_use]
pub fn data(subjects: &[Subject]) -> Value {
    let panels: Vec<Value> = panels(subjects)
        .into_iter()
        .map(|panel| {
            let lines: Vec<Value> = panel
                .lines
                .iter()
                .map(|line| {
                    let points: Vec<Value> =
                        line.points.iter().map(|point| point.map_or(Value::Null, rounded)).collect();
                    json!({ "name": line.name, "points": points, "colour": line.colour, "dash": line.dash })
                })
                .collect();
            json!({ "title": panel.title, "unit": panel.unit, "log": panel.is_log, "lines": lines })
        })
        .collect();
    let extent = extent(subjects);
    let gaps: Vec<Value> = subjects
        .iter()
        .flat_map(|subject| {
            let grid = &subject.grid;
            let place = move |time: u64| time.saturating_sub(grid.start) as f64 / grid.step as f64;
            subject.recording.gaps.iter().map(move |gap| json!([place(gap.at), place(gap.until)]))
        })
        .collect();
    json!({
        "places": extent.places, "step": extent.step, "panels": panels, "gaps": gaps, "marks": extent.marks,
    })
}

/// Four digits that matter are enough for a picture.
fn rounded(value: f64) -> Value {
    if value == 0.0 || !value.is_finite() {
        return json!(0);
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    let factor = 10_f64.powi(digits.clamp(-12, 12));
    let value = (value * factor).round() / factor;
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

fn figure(name: &str, value: &str, class: &str, body: &mut String) {
    body.push_str(&format!(
        "<div class=\"figure\"><b class=\"{class}\">{}</b><span>{}</span></div>",
        escape(value),
        escape(name)
    ));
}

fn figures(subject: &Subject, body: &mut String) {
    let recording = &subject.recording;
    if let Some(bench) = &recording.bench {
        let text = |name: &str| bench.get(name).map_or_else(String::new, plain);
        body.push_str(&format!(
            "<p class=\"note\">{} — {} connections, seed {}, {}</p>\n",
            escape(&text("workload")),
            escape(&text("connections")),
            escape(&text("seed")),
            if text("rate").is_empty() {
                "closed loop".into()
            } else {
                format!("open loop at {} per s", escape(&text("rate")))
            }
        ));
    }
    body.push_str("<div class=\"figures\">");
    let throughput = subject.throughput();
    let measured = || throughput.iter().skip(subject.warmup()).flatten().copied();
    let usual = usual(measured()).unwrap_or(0.0);
    let summary = recording.summary.as_ref();
    let number = |name: &str| summary.and_then(|summary| summary.get(name)).and_then(Value::as_f64);
    if let Some(tps) = number("tps") {
        figure("transactions per s", &short(tps), "", body);
    }
    if let Some(figure_value) = number("TpmC") {
        figure("TpmC", &short(figure_value), "", body);
        figure("commits per s", &short(number("commits_per_second").unwrap_or(0.0)), "", body);
    }
    figure(&format!("median {} per s", subject.throughput_name()), &short(usual), "", body);
    for (name, label) in
        [("p50_us", "p50 ms"), ("p95_us", "p95 ms"), ("p99_us", "p99 ms"), ("max_us", "max ms")]
    {
        if let Some(value) = number(name) {
            figure(label, &short(value / 1000.0), "", body);
        }
    }
    let low = low_places(subject).len();
    let class = |count: usize| if count == 0 { "good" } else { "bad" };
    figure("seconds below half the median", &low.to_string(), class(low), body);
    let gap = longest_gap(&throughput[subject.warmup().min(throughput.len())..]);
    figure("longest gap, s", &gap.to_string(), class(gap), body);
    for (name, label) in [("conflicts", "conflicts"), ("errors", "errors")] {
        if let Some(value) = number(name).filter(|value| *value > 0.0) {
            figure(label, &short(value), "", body);
        }
    }
    let server = recording.headers.last().and_then(|header| header.get("server"));
    if let Some(server) = server {
        figure("server", &server.get("version").map_or_else(String::new, plain), "", body);
        let durability = |name: &str| server["durability"].get(name).map_or_else(String::new, plain);
        let triple = format!(
            "{} / {} / {}",
            durability("commit_flush"),
            durability("doublewrite"),
            durability("binlog_sync")
        );
        figure("durability: commit flush / doublewrite / binlog", &triple, "", body);
    }
    body.push_str("</div>\n");
}

/// The longest row of places at zero.
fn longest_gap(points: &[Option<f64>]) -> usize {
    points.split(|point| *point != Some(0.0)).map(<[_]>::len).max().unwrap_or(0)
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn dip_table(subject: &Subject, name: &str, body: &mut String) {
    let found = dips(subject);
    body.push_str(&format!("<h2>Dips{name}</h2>\n"));
    if found.is_empty() {
        body.push_str("<p class=\"note\">No second was below half of the median.</p>\n");
        return;
    }
    body.push_str(
        "<div class=\"scroll\"><table><tr><th class=\"n\">second</th><th class=\"n\">per s</th>\
         <th class=\"n\">of median</th><th>cause</th><th>what changed most (median → then)</th></tr>\n",
    );
    for Dip { second, throughput, median, cause, changes } in found.iter().take(DIPS_SHOWN) {
        let changes: Vec<String> = changes.iter().map(|change| escape(change)).collect();
        let changes =
            if changes.is_empty() { "nothing that was recorded".into() } else { changes.join("<br>") };
        let place = second * 1000.0 / subject.grid.step as f64;
        body.push_str(&format!(
            "<tr class=\"dip\" data-place=\"{place}\"><td class=\"n\">{second}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{:.0} %</td><td>{}</td><td>{changes}</td></tr>\n",
            short(*throughput),
            100.0 * throughput / median.max(1e-9),
            escape(cause.as_deref().unwrap_or("not known"))
        ));
    }
    body.push_str("</table></div>\n");
    if found.len() > DIPS_SHOWN {
        body.push_str(&format!("<p class=\"note\">and {} more</p>\n", found.len() - DIPS_SHOWN));
    }
}

fn kinds(subject: &Subject, name: &str, body: &mut String) {
    let kinds = subject.recording.summary.as_ref().and_then(|summary| summary.get("kinds")?.as_array());
    let Some(kinds) = kinds.filter(|kinds| kinds.len() > 1) else { return };
    body.push_str(&format!(
        "<h2>Kinds of transactions{name}</h2>\n<div class=\"scroll\"><table><tr><th>kind</th><th class=\"n\">number</th>\
         <th class=\"n\">p50 ms</th><th class=\"n\">p95 ms</th><th class=\"n\">p99 ms</th><th class=\"n\">max ms</th></tr>\n"
    ));
    for kind in kinds {
        let ms = |name: &str| short(kind.get(name).and_then(Value::as_f64).unwrap_or(0.0) / 1000.0);
        body.push_str(&format!(
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td></tr>\n",
            escape(&plain(&kind["name"])),
            plain(&kind["events"]),
            ms("p50_us"),
            ms("p95_us"),
            ms("p99_us"),
            ms("max_us")
        ));
    }
    body.push_str("</table></div>\n");
}

fn gaps(subject: &Subject, name: &str, body: &mut String) {
    if subject.recording.gaps.is_empty() {
        return;
    }
    body.push_str(&format!("<h2>Gaps in the recording{name}</h2>\n<ul>"));
    for gap in &subject.recording.gaps {
        let at = gap.at.saturating_sub(subject.grid.start) as f64 / 1000.0;
        let length = gap.until.saturating_sub(gap.at) as f64 / 1000.0;
        body.push_str(&format!("<li>at {at:.0} s for {length:.1} s: {}</li>", escape(&gap.why)));
    }
    body.push_str("</ul>\n");
}

fn machine(subject: &Subject, name: &str, body: &mut String) {
    let Some(header) = subject.recording.headers.last() else { return };
    body.push_str(&format!("<h2>Server and host{name}</h2>\n<div class=\"scroll\"><table>"));
    let mut row = |label: &str, value: String| {
        if !value.is_empty() {
            body.push_str(&format!("<tr><th>{}</th><td>{}</td></tr>", escape(label), escape(&value)));
        }
    };
    let server = &header["server"];
    row("server", format!("{} {}", plain(&server["version"]), plain(&server["comment"])));
    row("address", plain(&header["dsn"]));
    let unseen: Vec<String> =
        Unseen::all_of(server).iter().map(|Unseen { what, why }| format!("{what} ({why})")).collect();
    row("not seen", unseen.join("; "));
    let host = &header["host"];
    if host.is_object() {
        let memory = host["memory_kb"].as_f64().unwrap_or(0.0) / 1_048_576.0;
        row("host", plain(&host["name"]));
        row("processors", format!("{} × {}", plain(&host["processors"]), plain(&host["model"])));
        row("memory", format!("{memory:.1} GiB"));
        row("kernel", plain(&host["kernel"]));
        row("cgroup", plain(&host["cgroup"]));
    }
    body.push_str("</table></div>\n");
    device(&header["device"], body);
    if let Some(variables) = server["variables"].as_object() {
        body.push_str("<details><summary>all settings</summary><div class=\"scroll\"><table>");
        for (name, value) in variables {
            body.push_str(&format!("<tr><td>{}</td><td>{}</td></tr>", escape(name), escape(&plain(value))));
        }
        body.push_str("</table></div></details>\n");
    }
}

fn device(profile: &Value, body: &mut String) {
    let Some(figures) = profile.get("figures").and_then(Value::as_array) else { return };
    body.push_str(&format!(
        "<details><summary>what the disk {} does</summary><div class=\"scroll\"><table><tr><th></th><th class=\"n\">bytes</th>\
         <th class=\"n\">depth</th><th class=\"n\">per s</th><th class=\"n\">MiB/s</th><th class=\"n\">p50 us</th>\
         <th class=\"n\">p99 us</th><th class=\"n\">max us</th></tr>",
        escape(&plain(&profile["block_device"]))
    ));
    for figure in figures {
        let cells: Vec<String> =
            ["bytes", "depth", "per_second", "mib_per_second", "p50_us", "p99_us", "max_us"]
                .iter()
                .map(|name| format!("<td class=\"n\">{}</td>", escape(&plain(&figure[*name]))))
                .collect();
        body.push_str(&format!("<tr><td>{}</td>{}</tr>", escape(&plain(&figure["name"])), cells.concat()));
    }
    body.push_str("</table></div></details>\n");
}

#[cfg(test)]
mod tests {
    use recording::Recording;

    use super::*;

    #[test]
    fn a_page_stands_alone_and_escapes() {
        let mut recording = Recording::default();
        recording
            .headers
            .push(json!({"server": {"version": "9.7<script>", "variables": {"a": "</script>"}}}));
        recording.add_sample(true, 1000, [("Questions".to_owned(), 1.0)].into());
        recording.add_sample(true, 2000, [("Questions".to_owned(), 9.0)].into());
        let page = html(&Page { title: "x & y", ..Page::default() }, &[Subject::new("s", recording)]);
        assert!(!page.contains("9.7<script>") && !page.contains("<td></script>"));
        assert!(!page.contains("http://") && !page.contains("https://"));
        assert_eq!(page.matches("</script>").count(), 1);
        assert_eq!(rounded(123_456.0), json!(123_500));
        assert_eq!(rounded(0.012_345_6), json!(0.01235));
    }
}
