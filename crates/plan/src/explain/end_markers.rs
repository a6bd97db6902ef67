//! `end_markers_in_json`: comments behind the ends of objects and lists that say which these are.
//!
//! Takes text that has each member on a line of its own, as EXPLAIN and the optimizer trace are printed. Called for the first
//! version of EXPLAIN FORMAT=JSON and for the trace; MySQL leaves the second version as it is.

/// The document with a comment behind each end of a member that has a name.
pub fn with_end_markers(document: &str) -> String {
    let mut open: Vec<&str> = Vec::new();
    let mut marked = String::with_capacity(document.len());
    for (number, line) in document.lines().enumerate() {
        if number > 0 {
            marked.push('\n');
        }
        let content = line.trim();
        let end = content.trim_end_matches(',');
        if matches!(end, "}" | "]") {
            let name = open.pop().unwrap_or_default();
            let (before, comma) = line.split_at(line.len() - (content.len() - end.len()));
            marked.push_str(before);
            if !name.is_empty() {
                marked.push_str(&format!(" /* {name} */"));
            }
            marked.push_str(comma);
            continue;
        }
        if content.ends_with(['{', '[']) {
            let name = content.rsplit_once("\":").and_then(|(name, _)| name.strip_prefix('"'));
            open.push(name.unwrap_or_default());
        }
        marked.push_str(line);
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::with_end_markers;

    #[test]
    fn named_ends_are_marked() {
        let document =
            "{\n  \"steps\": [\n    {\n      \"a\": [\n      ],\n      \"b\": \"{\"\n    },\n    {}\n  ]\n}";
        let marked = "{\n  \"steps\": [\n    {\n      \"a\": [\n      ] /* a */,\n      \"b\": \"{\"\n    },\n    {}\n  ] /* steps */\n}";
        assert_eq!(with_end_markers(document), marked);
    }
}
