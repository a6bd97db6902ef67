//! The document of the optimizer's trace, written as it is told and cut at a number of bytes.
//!
//! Invariant: no more than the limit is held, whatever is told; what is left out is counted. Called by `trace`.

pub struct TraceText {
    text: String,
    limit: usize,
    missing: usize,
    one_line: bool,
    /// For each open object or list how it ends, and whether it has a member.
    open: Vec<(char, bool)>,
}

impl TraceText {
    pub fn new(limit: usize, one_line: bool) -> TraceText {
        TraceText { text: String::new(), limit, missing: 0, one_line, open: Vec::new() }
    }

    pub fn open_object(&mut self, key: Option<&str>) {
        self.begin(key);
        self.put("{");
        self.open.push(('}', false));
    }

    pub fn open_list(&mut self, key: &str) {
        self.begin(Some(key));
        self.put("[");
        self.open.push((']', false));
    }

    pub fn close(&mut self) {
        let Some((end, _)) = self.open.pop() else { return };
        self.begin_line();
        self.put(end.encode_utf8(&mut [0; 4]));
    }

    pub fn text(&mut self, key: Option<&str>, value: &str) {
        self.begin(key);
        let quoted = quoted(value);
        self.put(&quoted);
    }

    pub fn number(&mut self, key: &str, value: f64) {
        self.begin(Some(key));
        let digits = six_digits(value);
        self.put(&digits);
    }

    pub fn truth(&mut self, key: &str, value: bool) {
        self.begin(Some(key));
        self.put(if value { "true" } else { "false" });
    }

    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Closes what is open beyond a depth: planning may end in an error at any place.
    pub fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            self.close();
        }
    }

    /// The text and how many bytes it lacks.
    pub fn finish(mut self) -> (String, usize) {
        self.close_to(0);
        (self.text, self.missing)
    }

    fn begin(&mut self, key: Option<&str>) {
        if let Some((_, has_member)) = self.open.last_mut()
            && std::mem::replace(has_member, true)
        {
            self.put(",");
        }
        if !self.open.is_empty() {
            self.begin_line();
        }
        if let Some(key) = key {
            let quoted = quoted(key);
            self.put(&quoted);
            self.put(": ");
        }
    }

    fn begin_line(&mut self) {
        if self.one_line {
            return;
        }
        self.put("\n");
        for _ in 0..self.open.len() {
            self.put("  ");
        }
    }

    fn put(&mut self, part: &str) {
        let room = self.limit - self.text.len();
        if self.missing == 0 && part.len() <= room {
            self.text.push_str(part);
            return;
        }
        let mut fits = if self.missing > 0 { 0 } else { room };
        while !part.is_char_boundary(fits) {
            fits -= 1;
        }
        self.text.push_str(&part[..fits]);
        self.missing += part.len() - fits;
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    datum::write_json_string(text, &mut out);
    out
}

/// A number with six digits that count.
fn six_digits(value: f64) -> String {
    if !value.is_finite() {
        return "1e308".to_owned();
    }
    let rounded: f64 = format!("{value:.5e}").parse().expect("a number that was just written");
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(limit: usize, one_line: bool) -> (String, usize) {
        let mut text = TraceText::new(limit, one_line);
        text.open_object(None);
        text.open_list("steps");
        text.open_object(None);
        text.text(Some("table"), "`a\"é`");
        text.number("cost", 1.0 / 3.0);
        text.open_list("ranges");
        text.close();
        text.truth("chosen", true);
        text.finish()
    }

    #[test]
    fn a_document_is_indented_or_stands_in_one_line() {
        let lines = "{\n  \"steps\": [\n    {\n      \"table\": \"`a\\\"é`\",\n      \"cost\": 0.333333,\n      \"ranges\": [\n      ],\n      \"chosen\": true\n    }\n  ]\n}";
        assert_eq!(written(1000, false), (lines.to_owned(), 0));
        let line =
            "{\"steps\": [{\"table\": \"`a\\\"é`\",\"cost\": 0.333333,\"ranges\": [],\"chosen\": true}]}";
        assert_eq!(written(1000, true), (line.to_owned(), 0));
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let (whole, _) = written(1000, true);
        for limit in 0..whole.len() {
            let (text, missing) = written(limit, true);
            assert!(text.len() <= limit && whole.starts_with(&text), "{text}");
            assert_eq!(text.len() + missing, whole.len());
        }
    }
}
